"""Answers that show a file as a whole: whether they do, and what they leave out of it."""

from collections.abc import Sequence

from paceline.chat.edits import shape
from paceline.chat.edits.definitions import definitions
from paceline.chat.edits.shape import File
from paceline.chat.edits.splices import Outcome

MOST_OF_IT = 0.6  # of a file's lines, how many an answer must have to be the file without some of them
HALF = 0.5  # the same for files that define nothing by which parts could be told
NEAR = 5  # lines at either end in which the file's first and last line are looked for
FEW, SHARE = 3, 0.25  # lines, and part of a file, that an edit usually takes away at most


def is_whole(old: Sequence[str], new: Sequence[str], language: str) -> bool:
    """Whether lines of an answer are meant as the whole file. They are where everything that the file defines is in
    them, or where they begin and end as the file does and have most of it.
    """
    before, after = _filled(old), _filled(new)
    if not before:
        return True
    ends = before[0] in after[:NEAR] and before[-1] in after[-NEAR:]
    names, now = _names(old, language), _names(new, language)
    if names:
        gone, came = names - now, now - names
        return not gone or (len(came) >= len(gone) and ends) or (ends and _share(before, after) >= MOST_OF_IT)
    return (ends and _share(before, after) >= HALF / 2) or _share(before, after) >= HALF


def apply(file: File, new: Sequence[str], language: str) -> Outcome:
    """The file with these lines instead of its own."""
    old = file.bare
    fit = shape.indenting(shape.alike(old, new), old)
    if not fit.sure and (fit.shift or not fit.step):  # code was moved in or out; that is the edit
        fit = shape.AS_IT_IS
    lines = [fit(line) if line.strip() else line for line in new]
    text = file.text(file.spliced(0, len(old), lines))
    before = file.text(file.raw)
    if text == before:  # nothing differs but blanks at the ends of lines: then those are the edit
        text = file.text([line + file.newline for line in lines]) if lines != old else before
    gone = lost(before, text, language)
    return Outcome(text, not gone, (lost_note(gone),) if gone else ())


def lost(old: str, new: str, language: str = "") -> int:
    """How many lines an answer seems to have left out rather than taken away; 0: none that would be suspicious."""
    before, after = shape.file(old).bare, shape.file(new).bare
    names, now = _names(before, language), _names(after, language)
    steps = [each for each in shape.opcodes(_filled(before), _filled(after)) if each[0] != "equal"]
    dropped = [last - first for tag, first, last, _, _ in steps if tag == "delete"]
    total = len(_filled(before))
    ends = sum(last - first for tag, first, last, _, _ in steps if tag == "delete" and (not first or last == total))
    if len(names - now) > len(now - names) and dropped:
        return max(sum(dropped), 1)
    less = total - len(_filled(after))
    if less > FEW and less > SHARE * total:
        return less
    return ends


def lost_note(count: int) -> str:
    """What a person is told about lost lines."""
    if count == 1:
        return "1 line of the file would be lost: the answer leaves it out"
    return f"{count} lines of the file would be lost: the answer leaves them out"


def _filled(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _names(lines: Sequence[str], language: str) -> set[str]:
    return {each.name for each in definitions(lines, language)}


def _share(before: Sequence[str], after: Sequence[str]) -> float:
    """How much of the file's lines the answer has, in order."""
    same = sum(last - first for tag, first, last, _, _ in shape.opcodes(before, after) if tag == "equal")
    return same / len(before)
