"""Patterns as in .gitignore, matched in a time that grows with path and pattern and no faster: rules come with other
people's repositories, and a regular expression made of one with many stars would try for hours.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONGEST = 1024  # characters of a part with wildcards; no file's name needs as many
WILD = 2000  # patterns with wildcards in one set of rules; with more, everything is hidden
_SPECIAL = re.compile(r"[*?\[\\]")
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r"\ \t",
    "xdigit": "0-9a-fA-F",
    "punct": r"!-/:-@\[-`{-~",
}
_ITEM = re.compile(r"\[:(\w+):\]|(\\.|[^\\])-(\\.|[^\\\]])|(\\.|[^\\])", re.DOTALL)
_ANY = re.compile(r".+", re.DOTALL)

Part = str | re.Pattern[str] | None  # of a path; None: any number of parts


@dataclass(frozen=True)
class Pattern:
    """One line."""

    hides: bool  # or shows again
    folders: bool  # it is about folders alone
    anywhere: bool  # it is about a name, in whatever folder
    parts: tuple[Part, ...]

    def matches(self, parts: Sequence[str], *, folder: bool) -> bool:
        """Whether it is about this file or folder, itself."""
        if self.folders and not folder:
            return False
        return _is(self.parts[0], parts[-1]) if self.anywhere else _aligned(self.parts, parts)


@dataclass(frozen=True)
class Patterns:
    """The lines of one set of rules, in their order."""

    patterns: tuple[Pattern, ...]
    everything: bool = False  # is hidden

    def says(self, path: str) -> bool | None:
        """Whether a path, a folder's with "/" at its end, is hidden; None where nothing is about it. Folders that it
        lies in are not looked at.
        """
        if self.everything:
            return True
        parts = path.rstrip("/").split("/")
        found = (each for each in reversed(self.patterns) if each.matches(parts, folder=path.endswith("/")))
        pattern = next(found, None)
        return pattern.hides if pattern is not None else None

    def hide(self, path: str) -> bool:
        """Whether a path, or a folder that it lies in, is hidden."""
        inner = path.rstrip("/")
        ends = [at for at, char in enumerate(inner) if char == "/" and at]
        return any(self.says(inner[: at + 1]) for at in ends) or bool(self.says(path))


def compiled(lines: Iterable[str]) -> Patterns:
    """The lines as rules; those that are no patterns are left out, as Git does."""
    found = tuple(pattern for line in lines if (pattern := _pattern(line)) is not None)
    wild = sum(any(isinstance(part, re.Pattern) for part in each.parts) for each in found)
    return Patterns(found, everything=wild > WILD)


def _pattern(line: str) -> Pattern | None:
    text = line.rstrip("\r\n")
    bare = text.rstrip(" \t")
    text = bare + text[len(bare) : len(bare) + 1] if bare.endswith("\\") else bare  # a blank may be escaped
    if text.startswith("#"):
        return None
    hides = not text.startswith("!")
    text = text.removeprefix("!")
    folders = text.endswith("/")
    text = text.removesuffix("/")
    names = text.removeprefix("/").split("/")
    if not any(names):
        return None
    try:
        if "/" not in text:
            return Pattern(hides, folders, True, (_part(names[0]),))
        parts = [None if name == "**" else _part(name) for name in names]
    except ValueError:
        return None
    return Pattern(hides, folders, False, (*parts, _ANY) if parts[-1] is None else tuple(parts))


def _part(name: str) -> str | re.Pattern[str]:
    """What matches one part of a path. Raises ValueError for what matches none.

    Each piece between two stars is taken where it stands first: there is no need to try a later one. A group in a
    lookahead is never tried again.
    """
    if not _SPECIAL.search(name):
        return name
    pieces = _pieces(name)
    if len(name) > LONGEST:
        raise ValueError("no name is as long")
    first, *inner = pieces
    last = inner.pop() if inner else None
    middle = "".join(f"(?=(?P<g{at}>.*?{piece}))(?P=g{at})" for at, piece in enumerate(inner) if piece)
    return re.compile(first + middle + (f".*{last}" if last is not None else ""), re.DOTALL)


def _pieces(name: str) -> list[str]:
    """Regular expressions for what stands between stars. Raises ValueError."""
    pieces, at = [""], 0
    while at < len(name):
        char = name[at]
        if char == "*":
            pieces += [""] if at == 0 or name[at - 1] != "*" or pieces[-1] else []
        elif char == "?":
            pieces[-1] += "."
        elif char == "[":
            expression, at = _class(name, at)
            pieces[-1] += expression
            continue
        else:
            at += char == "\\"
            if at == len(name):
                raise ValueError("a backslash escapes nothing")
            pieces[-1] += re.escape(name[at])
        at += 1
    return pieces


def _class(name: str, at: int) -> tuple[str, int]:
    """A set of characters that begins here, and where it ends. Raises ValueError where it does not."""
    at += 1
    negated = name[at : at + 1] in ("!", "^")
    at += negated
    items, first = "", True
    while first or name[at : at + 1] != "]":
        found = _ITEM.match(name, at)
        if found is None:
            raise ValueError("a bracket is not closed")
        known, low, high, single = found.groups()
        if known is not None:
            items += _CLASSES.get(known, "")
        elif low is not None:
            low, high = low[-1], high[-1]
            items += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        else:
            items += re.escape(single[-1])
        at, first = found.end(), False
    if not items:
        return ("." if negated else "(?!)"), at + 1
    return (f"[^{items}]" if negated else f"[{items}]"), at + 1


def _is(part: Part, name: str) -> bool:
    return part == name if isinstance(part, str) else part is None or part.fullmatch(name) is not None


def _aligned(parts: Sequence[Part], names: Sequence[str]) -> bool:
    """Whether the parts are these names. What follows "**" is taken where it stands first."""
    at = done = 0
    star, begun = -1, 0
    while done < len(names):
        if at < len(parts) and parts[at] is None:
            star, begun, at = at, done, at + 1
        elif at < len(parts) and _is(parts[at], names[done]):
            at, done = at + 1, done + 1
        elif star >= 0:
            begun += 1
            at, done = star + 1, begun
        else:
            return False
    return all(each is None for each in parts[at:])
