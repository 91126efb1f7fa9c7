"""What `git diff` prints, taken apart: one part for each file. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from paceline.workspace.redaction import redact

_FILE = re.compile(r"^diff --git (.*)$", re.MULTILINE)
_RAW = re.compile(r"^:\d+ \d+ \S+ \S+ [A-Z]\d*\t(?:[^\t\n]*\t)?([^\t\n]+)$", re.MULTILINE)
_UNMERGED = re.compile(r"^\* Unmerged path .*\n?", re.MULTILINE)  # no line of a hunk begins so
_SAID = re.compile(r"^(rename from|rename to|---|\+\+\+) (.+?)\t?$", re.MULTILINE)
_HASHES = re.compile(r"^index [0-9a-f.]+( \d+)?\n", re.MULTILINE)
_ESCAPE = re.compile(r"\\([abtnvfr\"\\]|[0-7]{3})")
_ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_NOWHERE = "/dev/null"
_MARK = re.compile(r"^[-+]", re.MULTILINE)
_NUMBERS = re.compile(r"^(@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)[^\n]*", re.MULTILINE)
_PARTS = re.compile(r"^(?=@@ -|diff --git )", re.MULTILINE)
_KEY_FOOT = re.compile(r"-----END [A-Z0-9 ]{0,40}KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[ \t\"'+]{0,40}=?[0-9A-Za-z+/*]{1,80}={0,2}(?:\\r)?(?:\\n)?[\"',;]{0,3}[ \t+.\\]{0,8}\r?")
_VISIBLE = re.compile(r"\S")
_SUBMODULE = re.compile(r"^(?:index [0-9a-f.]+ 160000|(?:new|deleted) file mode 160000)$", re.MULTILINE)


@dataclass(frozen=True)
class FileDiff:
    """One file that has changed."""

    name: str  # as it is called now; of a deleted one, as it was called
    old: str  # as it was called before; the same, unless it was renamed
    head: str  # whole lines, as Git has them, but without hashes: renamed, another mode, binary, the two names
    hunks: str  # whole lines, without what Git says behind their numbers; "" where no line of text has changed
    deleted: bool = False
    submodule: bool = False  # the hunk has hashes of commits, and the name is a folder's


def parsed(diff: str) -> Iterator[FileDiff]:
    """The files of a diff, made with the prefixes a/ and b/, in its order. What differs in nothing is left out."""
    text = _UNMERGED.sub("", diff)
    heads = [*_FILE.finditer(text)]
    for line, after in zip_longest(heads, heads[1:]):
        part = text[line.start() : after.start() if after else len(text)]
        if (found := _parsed(line[1], part)) is not None:
            yield found


def listed(diff: str) -> list[str]:
    """The names that stand in front of a diff, made with --raw: also those of files that it does not reach."""
    front = diff[: found.start()] if (found := _FILE.search(diff)) else diff
    return [_unquoted(name) for name in _RAW.findall(front)]


def redacted(diff: str) -> str:
    """A diff, or hunks of one, without secrets; see redact. A line's mark would hide how a secret begins.

    Each file's head and each hunk is a text of its own. What follows a hunk's numbers is cut: it is any line above.
    """
    return "".join(map(_redacted, _PARTS.split(_NUMBERS.sub(r"\1", diff))))


def _redacted(part: str) -> str:
    plain = _MARK.sub(" ", part)
    lines = zip(part.split("\n"), _without_end_of_key(redact(plain)).split("\n"), strict=True)
    return "\n".join(was[0] + now[1:] if was.startswith(("-", "+")) else now for was, now in lines)


def _without_end_of_key(text: str) -> str:
    """The text without what stands above the foot of a key: its head may be above the hunk."""
    lines = text.split("\n")
    for foot in [at for at, line in enumerate(lines) if _KEY_FOOT.search(line)]:
        at = foot - 1
        while at >= 0 and _KEY_LINE.fullmatch(lines[at]):
            lines[at] = _VISIBLE.sub("*", lines[at])
            at -= 1
    return "\n".join(lines)


def _parsed(names: str, part: str) -> FileDiff | None:
    first = part.find("\n@@ ")
    head, hunks = (part, "") if first < 0 else (part[: first + 1], part[first + 1 :])
    said = {word: _unquoted(name) for word, name in _SAID.findall(head)}
    rest = head.partition("\n")[2]
    if not rest.strip() or (not hunks and "---" in said):  # only its time differs; the diff ends here
        return None
    both = _unquoted(names[: (len(names) - 1) // 2]).removeprefix("a/")  # unless the two differ
    before, now = said.get("---", ""), said.get("+++", "")
    old = said.get("rename from") or (before.removeprefix("a/") if before not in ("", _NOWHERE) else "")
    new = said.get("rename to") or (now.removeprefix("b/") if now not in ("", _NOWHERE) else "")
    deleted = rest.startswith("deleted file mode ")
    name = new or old or both
    return FileDiff(
        name,
        old or name,
        _HASHES.sub("", head),
        _NUMBERS.sub(r"\1", hunks),
        deleted,
        submodule=_SUBMODULE.search(rest) is not None,
    )


def _unquoted(name: str) -> str:
    """A name as it is; Git quotes those with characters that a line or a quoted name could not hold."""
    if len(name) < 2 or not name[0] == name[-1] == '"':
        return name
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1]) or chr(int(found[1], 8)), name[1:-1])
