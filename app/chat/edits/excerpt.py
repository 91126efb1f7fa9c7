"""Answers that show some lines of a file in their context, changed ones among them."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from paceline.chat.edits import elisions, matching, shape
from paceline.chat.edits.shape import File
from paceline.chat.edits.splices import Outcome, Splice, spliced

_START = re.compile(r"[\w.$ ]{5,}[(=:]")  # what a statement begins with
CLOSE = 0.6  # of a line's text, how much is the same where it only changed a little
LONGEST = 2000  # characters of lines that are compared letter by letter
ENOUGH = 0.5  # of an excerpt's lines, how many must be the file's


def apply(file: File, lines: Sequence[str]) -> Outcome | None:
    """The file with the answer's lines instead of its own, from the one that they begin with to the one that they end
    with; None: they are not found in it.
    """
    old, new = file.bare, matching.trimmed(lines)
    if not new:
        return None
    marks = {at for at, line in enumerate(new) if elisions.is_mark(line, {each.strip() for each in old})}
    if marks:
        return _with_marks(file, new, marks)
    if len(new) == 1:
        return _line(file, new[0])
    keys = [line.strip() for line in old]
    first, last = new[0].strip(), new[-1].strip()
    if len(new) < 2 or keys.count(first) != 1:
        return None
    start = keys.index(first)
    ends = [at for at in range(start, len(keys)) if keys[at] == last] or _changed_end(keys, new, start)
    if not ends:
        return None
    end = _end_of(old, new, start, ends)
    part = old[start : end + 1]
    pairs = shape.alike(part, new)
    if len(pairs) < ENOUGH * min(len(new), len([line for line in part if line.strip()])) or not matching.telling(new):
        return None
    fit = shape.fitting(new, old, (new[0], old[start]))
    outcome = spliced(file, [Splice(start, end + 1, [fit(line) for line in new])])
    return Outcome(outcome, False, (f"the answer was taken for lines {start + 1} to {end + 1} of the file",))


def _line(file: File, new: str) -> Outcome | None:
    """A single line: in the place of the only one that begins alike, up to what it calls or sets."""
    start = _START.match(new.strip())
    if start is None:
        return None
    found = [at for at, line in enumerate(file.bare) if line.strip().startswith(start[0])]
    if len(found) != 1 or file.bare[found[0]].strip() == new.strip():
        return None
    line = shape.blanks(file.bare[found[0]]) + new.strip()
    text = spliced(file, [Splice(found[0], found[0] + 1, [line])])
    return Outcome(text, False, (f"the answer was taken for line {found[0] + 1} of the file",))


def _changed_end(keys: Sequence[str], new: Sequence[str], start: int) -> list[int]:
    """The line that an excerpt's last one has become, if that is the one after the excerpt's last but one."""
    before = new[-2].strip()
    places = [at for at in range(start, len(keys) - 1) if keys[at] == before]
    if len(places) != 1 or not before:
        return []
    lines = keys[places[0] + 1], new[-1].strip()
    if max(map(len, lines)) > LONGEST:
        return []
    ratio = SequenceMatcher(None, *lines, autojunk=False).ratio()
    return [places[0] + 1] if ratio >= CLOSE else []


def _end_of(old: Sequence[str], new: Sequence[str], start: int, ends: Sequence[int]) -> int:
    """Of the lines that an excerpt may end with, the one that is indented as its last line, from its first one."""
    depth = len(shape.blanks(new[-1])) - len(shape.blanks(new[0]))
    same = [at for at in ends if len(shape.blanks(old[at])) - len(shape.blanks(old[start])) == depth]
    return (same or ends)[0]


def _with_marks(file: File, new: Sequence[str], marks: set[int]) -> Outcome | None:
    """A text with marks that stand for other parts of the file."""
    old = file.bare
    fit = shape.fitting(new, old)
    found = elisions.filled(old, [fit(line) for line in new], marks)
    if found is None:
        return Outcome(
            file.text(file.raw), False, ("what the answer leaves out could not be filled in",), applied=False
        )
    lines, sure = found
    notes = () if sure else ("what the answer leaves out was filled in by guessing",)
    return Outcome(spliced(file, [Splice(0, len(old), lines)]), sure, notes)


def has_marks(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether lines of an answer have marks that stand for others."""
    texts = {line.strip() for line in old}
    return any(elisions.is_mark(line, texts) for line in new)
