"""How a repository keeps what it has, as its configuration says. Pure.

Only known words are taken out of a configuration, and Git is told of them in words of our own: nothing that stands in a
configuration ever reaches Git as it is there.
"""

import re
from dataclasses import dataclass

_SECTION = re.compile(r'\s*\[\s*([^\]"]*?)\s*("(?:[^"\\]|\\.)*"\s*)?\]')
_ENTRY = re.compile(r'\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*("?)([^"\s]*)\2\s*)?')
_COMMENT = re.compile(r"[#;].*")
_HASHES = {"sha1": False, "sha256": True}
_BRANCHES = {"files": False, "reftable": True}
_TRUE = ("true", "yes", "on", "1")
_CORE = "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n"
_EXTENSIONS = "[extensions]\n"


@dataclass(frozen=True)
class Format:
    """What Git has to know of a repository to read it."""

    long_hashes: bool = False  # SHA-256
    reftable: bool = False  # its branches are in a reftable
    own_settings: bool = False  # each of its working trees may have settings besides
    unknown: bool = False  # it has hashes or branches of a kind that is not known

    def config(self) -> str:
        """The same as a configuration: one of four texts."""
        lines = "\tobjectFormat = sha256\n" * self.long_hashes + "\trefStorage = reftable\n" * self.reftable
        return _CORE.format(version=int(bool(lines))) + (_EXTENSIONS + lines if lines else "")


def format_of(config: str) -> Format:
    """The format that a configuration names. What is said last counts, as for Git."""
    said = dict(_extensions(config))
    hashes = _HASHES.get(said.get("objectformat", "sha1"))
    branches = _BRANCHES.get(said.get("refstorage", "files"))
    return Format(
        bool(hashes),
        bool(branches),
        said.get("worktreeconfig", "").lower() in _TRUE,
        unknown=hashes is None or branches is None,
    )


def _extensions(config: str) -> list[tuple[str, str]]:
    """What stands in the section of that name; a key is in lower case, and one without a value is true."""
    found, section = list[tuple[str, str]](), ""
    for whole in config.split("\n"):
        line = whole
        while (head := _SECTION.match(line)) is not None:
            section = head[1].lower() if head[2] is None else ""
            line = line[head.end() :]
        entry = _ENTRY.fullmatch(_COMMENT.sub("", line))
        if section == "extensions" and entry is not None:
            found.append((entry[1].lower(), "true" if entry[3] is None else entry[3]))
    return found
