"""Git repositories that nobody vouches for: where their parts are, and how to have Git read them and nothing else.

A repository's configuration can name programs, servers and other folders, in more ways than can be looked for. So Git
is never shown one, and never looks for one. It is given a stand-in: an empty repository of ours, which lends the
other's objects and index, and its rules of what is ignored. Settings that say how files are to be compared are copied,
if their values are known ones.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from paceline.errors import InputError
from paceline.workspace import files
from paceline.workspace.formats import Format, format_of

PACKED = 64 * 1024 * 1024  # bytes of the file that has a repository's branches in one
HOPS = 5  # names that stand for another name
EMPTY = {  # an empty folder's hash, by its length; Git knows these without an object
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
HASH = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{40}")
_BRANCH = re.compile(rb"ref:[ \t]*(refs/[^\0\n]+)")
_SETTING = re.compile(
    r"^\s*(?:\[\s*core\s*\]\s*)?(filemode|ignorecase|symlinks|precomposeunicode|autocrlf|eol|trustctime|checkstat)"
    r"\s*=\s*(true|false|input|lf|crlf|native|default|minimal)\b",
    re.MULTILINE | re.IGNORECASE,
)
_LENT = ("info/exclude", "info/attributes")
UNREADABLE = "this Git repository cannot be read"


@dataclass(frozen=True)
class Repository:
    """Where the parts of a repository are. Nothing of it is believed but bytes that are text or hashes."""

    top: Path  # its working tree
    own: Path  # the folder of this working tree: HEAD and the index
    common: Path  # the folder that all working trees share: objects, branches, rules

    @property
    def config(self) -> str:
        """What configures it, byte by byte. To be searched for what does no harm if it is found by mistake."""
        return _configured(self.common / "config")

    @cached_property
    def format(self) -> Format:
        """How it keeps what it has."""
        return format_of(self.config)

    def settings(self) -> tuple[str, ...]:
        """How files are compared here: Git's options for it, of which none can start or reach anything."""
        more = _configured(self.own / "config.worktree") if self.format.own_settings else ""
        return tuple(f"core.{key}={value}" for key, value in _SETTING.findall(f"{self.config}\n{more}"))

    def commit(self) -> str:
        """The hash of what is checked out; with no commit yet, that of an empty folder. Raises InputError.

        Not of one whose branches are stored as a reftable: those only Git can read.
        """
        name = b"HEAD"
        for _ in range(HOPS):
            data = self._pointer(name)
            if data is None:
                if name == b"HEAD":
                    raise InputError(UNREADABLE, "it has no HEAD")
                if (self.common / "reftable").exists():
                    raise InputError(UNREADABLE, "it has a reftable that its configuration does not name")
                return self.nothing
            if HASH.fullmatch(data):
                return data.decode()
            branch = _BRANCH.fullmatch(data)
            if branch is None or b".." in branch[1]:
                break
            name = branch[1]
        raise InputError(UNREADABLE, "see what `git status` says")

    @property
    def nothing(self) -> str:
        """The hash of an empty folder."""
        return EMPTY[64 if self.format.long_hashes else 40]

    def _pointer(self, name: bytes) -> bytes | None:
        """What a name stands for: a hash, or "ref:" and another name; None: nothing."""
        for folder in dict.fromkeys((self.own, self.common)):
            data = files.content(folder / os.fsdecode(name), 1024)
            if data is not None:
                return data.strip()
        if name == b"HEAD":
            return None
        packed = files.content(self.common / "packed-refs", PACKED)
        found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(name) + rb"\r?$", packed or b"", re.MULTILINE)
        return found[1] if found else None


@dataclass(frozen=True)
class StandIn:
    """A repository of ours that shows what another one has."""

    folder: Path
    environment: dict[str, str]  # what Git is to see in place of the person's own
    options: tuple[str, ...]  # of Git, before the command


def opened(top: Path) -> Repository | None:
    """The repository whose working tree this is, wherever its configuration says that is; None if it is none."""
    own = top / ".git"
    pointer = files.content(own, 4096)
    if pointer is not None:  # a further working tree, or a repository in another
        if not pointer.startswith(b"gitdir: "):
            return None
        own = _led(top, pointer.removeprefix(b"gitdir: "))
    shared = files.content(own / "commondir", 4096)
    common = own if shared is None else _led(own, shared)
    if not files.there(own / "HEAD") or not files.there(common / "objects"):
        return None
    return Repository(top, own, common)


@contextmanager
def standing_in(repository: Repository, commit: str) -> Iterator[StandIn]:
    """A stand-in for a repository, as long as it is needed. commit: one of its hashes, which says how long they are.

    Raises InputError where it cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="paceline-git-", ignore_cleanup_errors=True) as made:
            folder = Path(made)
            _fill(folder, repository, Format(long_hashes=len(commit) == max(EMPTY)))
            options = f"--git-dir={folder}", f"--work-tree={repository.top}"
            yield StandIn(folder, environment(folder, repository), options)
    except OSError as error:
        raise InputError("a folder for Git could not be made", error.strerror or str(error)) from error


def _fill(folder: Path, repository: Repository, kept: Format) -> None:
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "config").write_text(kept.config())
    for name in _LENT:
        data = files.content(repository.common / name)
        if data:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)


def _configured(path: Path) -> str:
    return (files.content(path) or b"").decode("latin-1")


def environment(folder: Path, repository: Repository) -> dict[str, str]:
    """What Git is to see in place of the person's own. folder: a stand-in, where there is nothing of the person's."""
    return {
        "GIT_INDEX_FILE": str(repository.own / "index"),
        "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
        # nor the person's own: what a filter in it does may be told by a stranger's files
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }


def _led(start: Path, name: bytes) -> Path:
    """Where a file of a repository leads. A name of another machine is none: to look would tell it who we are."""
    name = name.rstrip(b"\r\n")
    if b"\0" in name or name.replace(b"\\", b"/").startswith(b"//"):
        return start / "\x01"
    return start / os.fsdecode(name)
