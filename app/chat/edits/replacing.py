"""Search/replace blocks: reading them out of an answer, and applying them.

    <<<<<<< SEARCH
    lines as they are
    =======
    lines as they are to be
    >>>>>>> REPLACE

Marks of five to nine signs are taken, with other words behind them or none; a block ends at its last mark, or where the
next begins. They may stand in fences, have fences in them, or none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from paceline.chat.edits import matching, shape
from paceline.chat.edits.shape import File
from paceline.chat.edits.splices import Outcome, Splice, spliced
from paceline.chat.naming import name_above, name_alone

_WORD = r"(?:SEARCH|ORIGINAL|OLD|BEFORE|FIND|HEAD|CURRENT)"
_START = re.compile(
    rf"\s*(?:<{{5,9}}(?!<)[ \t]*(?P<rest>.{{0,200}})|<{{3,9}}[ \t]*{_WORD}\b[ \t]*(?P<more>.{{0,200}}))"
)
_DIVIDER = re.compile(r"\s*={5,9}[ \t]*(?:REPLACE(?:MENT)?|UPDATED|NEW|AFTER)?[ \t]*")
_END = re.compile(r"\s*(?:>{5,9}(?!>).{0,200}|>{3,9}[ \t]*(?:REPLACE|UPDATED|NEW|AFTER|END)\b.{0,200})")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[^`]*")
_COMMENTS = ("#", "//", "/*", "--", ";")
_HALF = re.compile(r"\w\w")
_FIRST_WORD = re.compile(rf"{_WORD}?:?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Replacement:
    """Lines that give way to others. Line numbers are those of the answer."""

    name: str  # the file, as the answer says; "": it does not
    search: tuple[str, ...]
    replace: tuple[str, ...]
    first: int
    last: int  # the line after it
    cut: bool  # the answer ends within it
    unclear: bool = False  # it may have to be divided elsewhere


def replacements(lines: Sequence[str]) -> tuple[list[Replacement], int]:
    """The search/replace blocks among an answer's lines, and how many others are too damaged to be read."""
    found, broken = list[Replacement](), 0
    at, name, last = 0, "", 0
    while at < len(lines):
        start = _START.fullmatch(lines[at])
        if start is None:
            at += 1
            continue
        search, at, divided = _until(lines, at + 1, _DIVIDER)
        if not divided:
            broken += 1
            continue
        replace, end, ended = _until(lines, at + 1, _END)
        if not ended and end == len(lines):
            fence = next((here for here in range(at + 1, end) if _FENCE.fullmatch(lines[here])), end)
            replace, end = list(lines[at + 1 : fence]), fence
        first = at - len(search) - 1
        unclear = False
        if again := [here for here, line in enumerate(replace) if _DIVIDER.fullmatch(line)]:
            search, replace, unclear = _divided(lines[first], [*search, lines[at], *replace], len(search), again)
        name = _named(lines, start, first, last) or name
        at = last = end + 1 if ended else end
        cut = not ended and end >= len(lines)
        search, replace = _unfenced(search), _unfenced(replace)
        found.append(Replacement(name, tuple(search), tuple(replace), first, at, cut, unclear))
    return found, broken


def _divided(start: str, lines: Sequence[str], first: int, again: Sequence[int]) -> tuple[list[str], list[str], bool]:
    """The two parts of a block in which several lines look like its divider, and whether it is not clear which one is.

    It has as many signs as the block's first line; others are text, such as what stands below a title. One more right
    before the end is taken for a slip. first: the first of them; again: the others, counted from the line after it.
    """
    places = [first, *(first + 1 + at for at in again)]
    alike = [at for at in places if lines[at].count("=") == start.count("<")] or places
    at, last = alike[0], len(lines)
    while len(alike) > 1 and alike[-1] == last - 1:
        last = alike.pop()
    return [*lines[:at]], [*lines[at + 1 : last]], len(alike) > 1


def _until(lines: Sequence[str], at: int, mark: re.Pattern[str]) -> tuple[list[str], int, bool]:
    """Lines up to a mark, the mark's number, and whether it is there; up to a block's start, or the end, if not."""
    for here in range(at, len(lines)):
        if mark.fullmatch(lines[here]):
            return list(lines[at:here]), here, True
        if _START.fullmatch(lines[here]) or (mark is _DIVIDER and _END.fullmatch(lines[here])):
            return list(lines[at:here]), here, False
    return list(lines[at:]), len(lines), False


def _named(lines: Sequence[str], start: re.Match[str], first: int, last: int) -> str:
    """The file that a block names: behind its first mark, or in the lines above, where a fence may stand between."""
    rest = start["rest"] if start["rest"] is not None else start["more"] or ""
    if name := name_alone(_FIRST_WORD.sub("", rest, count=1)):
        return name
    above = list[str]()
    for line in reversed(lines[max(last, first - 4) : first]):
        fence = _FENCE.fullmatch(line)
        if fence and (name := name_alone(line.strip().strip("`~").split(" ")[-1])):
            return name
        if not fence and line.strip():
            above.append(line)
    return name_above(above[:1], "")


def _unfenced(lines: Sequence[str]) -> list[str]:
    """Lines without a fence around all of them."""
    bare = matching.trimmed(lines)
    if len(bare) > 1 and _FENCE.fullmatch(bare[0]) and bare[-1].strip().strip("`~") == "":
        return bare[1:-1]
    return list(lines)


def apply(edits: Sequence[Replacement], file: File) -> Outcome:
    """The edits in one file. What is not found is left out and said."""
    splices, notes, sure = list[Splice](), list[str](), True
    lines = file.bare
    for number, edit in enumerate(edits, 1):
        which = "the replacement" if len(edits) == 1 else f"replacement {number} of {len(edits)}"
        result, note = _placed(edit, lines, [(each.start, each.end) for each in splices])
        if result is not None:
            splices.append(result)
        if edit.unclear:
            note = note or "it is not clear where what it looks for ends; the first mark was taken"
        if edit.cut:
            note = note or "the answer ends within it"
        if note:
            sure = False
            notes.append(f"{which}: {note}")
    return Outcome(spliced(file, splices), sure and bool(splices), tuple(notes), bool(splices))


def _placed(edit: Replacement, lines: Sequence[str], taken: Sequence[tuple[int, int]]) -> tuple[Splice | None, str]:
    """Where the edit goes and what it puts there, and what is not sure about that."""
    search = matching.trimmed(edit.search)
    replace = list(edit.replace)
    if not search:
        if any(line.strip() for line in lines):
            return None, "it does not say which lines are to be replaced"
        return Splice(0, len(lines), replace), ""
    found = matching.find(search, lines)
    if (found is None or not found.good) and (within := _within(search, replace, lines)):
        return within
    if found is None:
        again = matching.find(matching.trimmed(replace), lines) if any(line.strip() for line in replace) else None
        done = again is not None and again.grade == "exact"
        return None, "the file has the new lines already" if done else "the lines that it looks for are not in the file"
    places = [place for place in found.places if not any(place[0] < end and start < place[1] for start, end in taken)]
    if not places:
        return None, "the lines that it looks for are replaced by another one already"
    start, end = places[0]
    if found.grade == "similar" and not any(line.strip() for line in replace):
        return None, "the lines that it would remove are not in the file as it has them"
    new, sure = _fitted(search, matching.trimmed(replace), lines, start, end)
    if not sure and (within := _within(search, replace, lines)):
        return within
    note = ""
    if len(places) > 1:
        note = f"the lines that it looks for stand in {len(places)} places; the first was taken"
    elif found.grade in ("loose", "similar"):
        note = "the lines that it looks for are not quite those of the file"
    elif not sure:
        note = "its indentation was guessed"
    return Splice(start, end, new), note


def _within(search: Sequence[str], replace: Sequence[str], lines: Sequence[str]) -> tuple[Splice, str] | None:
    """The replacement of a text that begins or ends within lines, where the file has it once, and what is not sure."""
    text, wanted = "\n".join(lines), "\n".join(search)
    if text.count(wanted) != 1 or not matching.telling(search):
        return None
    at = text.index(wanted)
    if _HALF.match(text[max(0, at - 1) : at + 1]) or _HALF.match(text[at + len(wanted) - 1 : at + len(wanted) + 1]):
        return None  # it would begin or end within a word
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at + len(wanted))
    end = len(text) if end < 0 else end
    rest = text[at + len(wanted) : end].strip()
    note = "" if not rest or rest.startswith(_COMMENTS) else "it replaces a part of a line; the rest of that stays"
    new = text[start:at] + "\n".join(matching.trimmed(replace)) + text[at + len(wanted) : end]
    first = text.count("\n", 0, start)
    return Splice(first, first + text.count("\n", start, end) + 1, new.split("\n")), note


def _fitted(
    search: Sequence[str], replace: Sequence[str], lines: Sequence[str], start: int, end: int
) -> tuple[list[str], bool]:
    """The new lines with the file's indentation."""
    pairs = shape.alike(lines[start:end], search)
    fit = shape.indenting(pairs, lines)
    return [fit(line) if line.strip() else "" for line in replace], fit.sure


def finds(edit: Replacement, lines: Sequence[str]) -> bool:
    """Whether the lines that an edit looks for are among these."""
    found = matching.find(edit.search, lines)
    return found is not None and found.grade != "similar"


def is_mark(line: str) -> bool:
    """Whether a line is the first or the last mark of a block; a divider may be something else."""
    return _START.fullmatch(line) is not None or _END.fullmatch(line) is not None
