"""Mentions in a prompt. Pure.

@path, @"path with blanks", @path:10-40, @symbol, @path:symbol, @diff, @output. What is quoted may have any characters
but line ends; a quotation mark is doubled there.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_MENTION = re.compile(
    r"""(?<![\w@`])@(?:
        "(?P<quoted>(?:[^"\n]|""){1,1024})"(?::(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?)?
      | (?P<plain>[^\s"'`@<>|]{1,1024})
    )""",
    re.VERBOSE,
)
_RANGE = re.compile(r":(\d{1,7})(?:-(\d{1,7}))?$")
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
_TYPING = re.compile(r"""(?<![\w@`])@(?:"(?P<quoted>(?:[^"\n]|"")*)|(?P<plain>[^\s"'`@<>|]*))\Z""")
_DECORATED = re.compile(r"[^\n]*\n[ \t]*(?:@|(?:async[ \t]+)?(?:def|class|func|function|export|public|private)\b)")
_BLANKS = re.compile(r"[\s\"'`@<>|]")
_NAMES = re.compile(r"[\w./~+-]+(?::[\w.$]+)?")  # what is told to be nothing's name; less usual ones are let alone
_CLOSING = ".,;:!?)]}'*_"  # what ends a sentence, and no name that is mentioned; tried with it first
ENDINGS = 12  # of those characters, that may stand behind a name
SEEN = 1024  # characters before the cursor in which a mention that is being typed begins


@dataclass(frozen=True)
class Mention:
    """A place in a prompt that names something. Offsets in characters; lines from 1, 0: all of it."""

    start: int
    end: int
    name: str
    first: int = 0
    last: int = 0
    resolved: bool = True  # False: it looks like one, and nothing has this name


@dataclass(frozen=True)
class Typing:
    """A mention that is being typed: from the @ to the cursor."""

    start: int
    end: int
    query: str
    quoted: bool = False


def mentions(text: str, resolves: Callable[[str], bool]) -> tuple[Mention, ...]:
    """The mentions of a prompt, in order. resolves: whether something has this name.

    An @ inside of a word (as in e-mail addresses) is none. What stands in code, or looks like a decorator, is one only
    if it resolves and has a path's look; elsewhere, what looks like a path or is quoted is one though it resolves to
    nothing, so that a person can be told.
    """
    code = _code(text)
    starts = [start for start, _ in code]
    found: list[Mention] = []
    for match in _MENTION.finditer(text):
        at = bisect_right(starts, match.start()) - 1
        inside = at >= 0 and match.start() < code[at][1]
        mention = _mention(text, match, resolves, inside=inside)
        if mention is not None:
            found.append(mention)
    return tuple(found)


def typing(text: str, cursor: int) -> Typing | None:
    """The mention that ends at the cursor; None where none is being typed."""
    begin = max(0, cursor - SEEN)
    found = _TYPING.search(text[:cursor], begin)
    if found is None:
        return None
    quoted = found["quoted"] is not None
    return Typing(found.start(), cursor, _undoubled(found["quoted"]) if quoted else found["plain"], quoted)


def completed(text: str, typed: Typing, mention: str) -> tuple[str, int]:
    """The text with a mention instead of what was typed of it, and a blank behind it; and where the cursor is then."""
    after = _after(text, typed)
    blank = " " if needs_blank(text, typed) else ""
    return text[: typed.start] + mention + blank + after, typed.start + len(mention) + 1


def needs_blank(text: str, typed: Typing) -> bool:
    """Whether completing it puts a blank behind it: there is none yet."""
    return _after(text, typed)[:1] not in {" ", "\n"}


def written(name: str, first: int = 0, last: int = 0) -> str:
    """How something is mentioned: quoted where its name could be misread."""
    unsure = _BLANKS.search(name) or name[-1:] in _CLOSING or _RANGE.search(name)
    lines = f":{first}" + (f"-{last}" if last > first else "") if first else ""
    return '@"' + name.replace('"', '""') + f'"{lines}' if unsure else f"@{name}{lines}"


def named(word: str) -> str:
    """What a mention as it is written names, without its lines; also one that is still being typed."""
    if not word.startswith('@"'):
        return word.removeprefix("@")
    found = _MENTION.match(word)
    return _undoubled(found["quoted"] if found is not None else word[2:])


def of_symbol(path: str, name: str) -> str:
    """What something is called that a file defines, where other files may have it too."""
    return f"{path}:{name}"


def symbol_readings(name: str) -> Iterator[tuple[str, str]]:
    """The ways to read a name as (path, symbol); neither is empty. Most have none."""
    for found in re.finditer(":", name):
        if 0 < found.start() < len(name) - 1:
            yield name[: found.start()], name[found.end() :]


def _after(text: str, typed: Typing) -> str:
    after = text[typed.end :]
    return after.removeprefix('"') if typed.quoted else after


def _mention(text: str, match: "re.Match[str]", resolves: Callable[[str], bool], *, inside: bool) -> Mention | None:
    if match["quoted"] is not None:
        first, last = _lines(match["first"], match["last"])
        name = _undoubled(match["quoted"])
        known = resolves(name)
        found = Mention(match.start(), match.end(), name, first, last, known)
        return found if known or not inside else None
    plain = match["plain"]
    if plain.strip(_CLOSING + "(") == "":
        return None
    for name, first, last, length in _readings(plain):
        if resolves(name):
            if inside and not _like_path(name):
                return None
            return Mention(match.start(), match.start() + 1 + length, name, first, last)
    name, first, last, length = _readings(plain)[-1]
    if inside or not _like_path(name) or not _NAMES.fullmatch(name) or _decorator(text, match):
        return None
    return Mention(match.start(), match.start() + 1 + length, name, first, last, resolved=False)


def _readings(plain: str) -> list[tuple[str, int, int, int]]:
    """Ways to read what stands behind the @: (name, first, last, length), the longest name first."""
    found: list[tuple[str, int, int, int]] = []
    rest = plain
    for _ in range(ENDINGS):
        if rest:
            found.append((rest, 0, 0, len(rest)))
            lines = _RANGE.search(rest)
            if lines is not None and lines.start():
                found.append((rest[: lines.start()], *_lines(lines[1], lines[2]), len(rest)))
        if not rest or rest[-1] not in _CLOSING:
            break
        rest = rest[:-1]
    return found


def _lines(first: str | None, last: str | None) -> tuple[int, int]:
    """A range as written: one line stands for itself, and the ends may be swapped."""
    begin = int(first or 0)
    end = int(last) if last else begin
    return min(begin, end), max(begin, end)


def _undoubled(quoted: str) -> str:
    return quoted.replace('""', '"')


def _like_path(name: str) -> bool:
    return "/" in name or re.search(r"\w\.\w", name) is not None


def _decorator(text: str, match: "re.Match[str]") -> bool:
    """Whether it stands alone at a line's start, above something that can be decorated, or is called."""
    line = text.rfind("\n", 0, match.start()) + 1
    if text[line : match.start()].strip():
        return False
    return "(" in match["plain"] or _DECORATED.match(text, match.end()) is not None


def _code(text: str) -> list[tuple[int, int]]:
    """Where code stands: fenced blocks, and what is between backticks on a line. In order."""
    blocks: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]):
            blocks.append((opened.start(), fence.end()))
            opened = None
    if opened is not None:
        blocks.append((opened.start(), len(text)))
    spans = [each.span() for each in _TICKS.finditer(text)]
    spans = [span for span in spans if not any(begin <= span[0] < end for begin, end in blocks)]
    return sorted([*blocks, *spans])
