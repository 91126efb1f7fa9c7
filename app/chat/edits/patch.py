"""Unified diffs: reading them out of an answer, and applying them by what they say rather than where.

Line numbers and counts are mostly wrong in small models' diffs; so are the blanks before lines that stay, and `@@` may
be missing. https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from paceline.chat.edits import matching, shape
from paceline.chat.edits.shape import File
from paceline.chat.edits.splices import Outcome, Splice, overlap, spliced

MOST = 300  # hunks for one file
FUZZ = 3  # lines at either end of a hunk that may be left out where they are not in the file
NOWHERE = "/dev/null"
_AT = re.compile(r"\s?@@+(?:[ \t]*-(?P<line>\d+)(?:,\d+)?[ \t]+\+\d+(?:,\d+)?)?[ \t]*(?:@@+)?(?P<rest>.*)")
_OLD = re.compile(r"---[ \t]+(?P<name>\S.*)")
_NEW = re.compile(r"\+\+\+[ \t]+(?P<name>\S.*)")
_GIT = re.compile(r"diff --git[ \t]+\"?(?:a/)?(?P<old>\S+?)\"?[ \t]+\"?(?:b/)?(?P<new>\S+?)\"?[ \t]*")
_HEADER = re.compile(
    r"(?:index [0-9a-fA-F]+\.\.|new file mode|deleted file mode|old mode|new mode|similarity index|rename (?:from|to) "
    r"|Index: |={20,}|diff -|\\ No newline)"
)


@dataclass(frozen=True)
class Line:
    """One line of a hunk."""

    sign: str  # " ", "-" or "+"
    text: str
    raw: str  # as it stands in the answer


@dataclass
class Hunk:
    """Lines that stay, go and come. line: where it says that it begins, counted from 1; 0: it does not."""

    line: int = 0
    lines: list[Line] = field(default_factory=list)

    @property
    def changes(self) -> bool:
        """Whether any lines go or come."""
        return any(line.sign != " " for line in self.lines)


@dataclass
class Patch:
    """Hunks for one file."""

    old: str = ""  # as the answer names it; NOWHERE: it is new
    new: str = ""  # NOWHERE: it is deleted
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The file's name after the change, or before it where it is deleted."""
        return self.old if self.new in ("", NOWHERE) else self.new


def is_diff(text: str) -> bool:
    """Whether a block without the language `diff` is one nevertheless: it has headers, or hunks with signs."""
    lines = text.split("\n")
    at = any(line.startswith("@@") for line in lines)
    header = any(_OLD.match(one) and _NEW.match(two) for one, two in itertools.pairwise(lines))
    return (at or header) and any(line.startswith(("+", "-")) and line[:3] not in ("+++", "---") for line in lines)


def patches(text: str) -> list[Patch]:
    """The files of a diff. Lines before the first header or hunk that are neither belong to a hunk without `@@`."""
    found = [Patch()]
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        following = lines[at] if at < len(lines) else ""
        if git := _GIT.fullmatch(line):
            found.append(Patch(_name(git["old"]), _name(git["new"])))
        elif (old := _OLD.fullmatch(line)) and (new := _NEW.fullmatch(following)):
            if found[-1].hunks:
                found.append(Patch())
            found[-1].old, found[-1].new = _name(old["name"]), _name(new["name"])
            at += 1
        elif _HEADER.match(line):
            continue
        elif (mark := _AT.fullmatch(line)) and line.lstrip().startswith("@@"):
            found[-1].hunks.append(Hunk(int(mark["line"] or 0)))
        else:
            if not found[-1].hunks:
                found[-1].hunks.append(Hunk())
            found[-1].hunks[-1].lines.append(_line(line))
    return [patch for patch in found if any(hunk.changes for hunk in patch.hunks) or patch.new == NOWHERE]


def _line(line: str) -> Line:
    if line[:1] in ("+", "-", " "):
        return Line(line[0], line[1:], line)
    return Line(" ", line, line)  # its blank is missing


def _name(given: str) -> str:
    """A name as it stands in a header, without a date behind it and `a/` before it."""
    name = given.split("\t")[0].strip().strip('"')
    name = re.sub(r"\s+\(?\d{4}-\d\d-\d\d.*$", "", name)
    if name == NOWHERE:
        return name
    return name[2:] if name[:2] in ("a/", "b/") else name


def apply(patch: Patch, file: File) -> Outcome:
    """The patch's hunks in one file. What is not found is left out and said."""
    lines, notes, splices = file.bare, list[str](), list[Splice]()
    hunks = [hunk for hunk in patch.hunks if hunk.changes]
    if len(hunks) > MOST:
        return Outcome(file.text(file.raw), False, (f"the diff has {len(hunks)} hunks; up to {MOST} are read",), False)
    if patch.new == NOWHERE:
        gone = [line.text.strip() for hunk in hunks for line in hunk.lines if line.sign != "+" and line.text.strip()]
        whole = gone == [line.strip() for line in lines if line.strip()]
        said = () if whole else ("the answer does not show all of the file that it deletes",)
        return Outcome(None, whole, said)
    for number, hunk in enumerate(hunks, 1):
        which = "the hunk" if len(hunks) == 1 else f"hunk {number} of {len(hunks)}"
        placed, note = _placed(hunk, lines)
        if placed and overlap([*splices, *placed]):
            placed, note = [], "it is about lines that another one changes"
        splices += placed
        if note:
            notes.append(f"{which}: {note}")
    return Outcome(spliced(file, splices), bool(splices) and not notes, tuple(notes), bool(splices))


def created(patch: Patch) -> str:
    """The text of a new file."""
    return "".join(line.text + "\n" for hunk in patch.hunks for line in hunk.lines if line.sign != "-")


def _placed(hunk: Hunk, lines: Sequence[str]) -> tuple[list[Splice], str]:
    """What a hunk replaces, and what is not sure about that."""
    body = _trimmed(hunk.lines)
    old = [line.text for line in body if line.sign != "+"]
    if not any(line.strip() for line in old):
        return _inserted(hunk, lines)
    found = matching.find(old, lines)
    if found is not None and found.grade != "similar":
        start, end, several = _nearest(found.places, hunk.line)
        new, sure = _rebuilt(body, lines, start, end)
        note = "" if sure else "its indentation was guessed"
        if several:
            note = f"its lines stand in {len(found.places)} places; the nearest to where it says was taken"
        elif found.grade == "loose":
            note = "its lines are not quite those of the file"
        return [Splice(start, end, new)], note
    once = _unrepeated(body)
    found = matching.find([line.text for line in once if line.sign != "+"], lines) if once != body else None
    if found is not None and found.good and len(found.places) == 1:
        start, end = found.places[0]
        new, _ = _rebuilt(once, lines, start, end)
        return [Splice(start, end, new)], "lines that it takes away and shows again stay"
    if placed := _scattered(body, lines):
        return placed, "lines around its changes are not those of the file"
    for less in range(1, FUZZ + 1):
        if placed := _less(body, lines, less):
            return placed, "lines around its changes are not those of the file"
    return [], "its lines are not in the file"


def _trimmed(body: Sequence[Line]) -> list[Line]:
    """A hunk's lines without empty ones that stay at its ends."""
    filled = [at for at, line in enumerate(body) if line.text.strip() or line.sign != " "]
    return list(body[filled[0] : filled[-1] + 1]) if filled else []


def _nearest(places: Sequence[tuple[int, int]], line: int) -> tuple[int, int, bool]:
    """The place that is nearest to a line counted from 1, and whether that says nothing certain."""
    start, end = min(places, key=lambda place: abs(place[0] + 1 - line)) if line else places[0]
    return start, end, len(places) > 1 and start + 1 != line


def _inserted(hunk: Hunk, lines: Sequence[str]) -> tuple[list[Splice], str]:
    """A hunk that has nothing but new lines: only its number says where they go."""
    new = [line.text for line in hunk.lines if line.sign == "+"]
    if not any(line.strip() for line in lines):
        return [Splice(0, len(lines), new)], ""
    if not 0 < hunk.line <= len(lines) + 1:
        return [], "it does not say where its lines go"
    return [Splice(hunk.line - 1, hunk.line - 1, new)], "only its line number says where it goes"


def _rebuilt(body: Sequence[Line], lines: Sequence[str], start: int, end: int) -> tuple[list[str], bool]:
    """The lines that stand there then: those that stay as the file has them, new ones with its indentation."""
    place = [at for at in range(start, end) if lines[at].strip()]
    old = [line for line in body if line.sign != "+" and line.text.strip()]
    exact = len(place) == len(old)
    gone = [(line.text, lines[at]) for line, at in zip(old, place, strict=False) if line.sign == "-"]
    kept = [(line.text, line.raw, lines[at]) for line, at in zip(old, place, strict=False) if line.sign == " "]
    # where blanks before lines that stay are missing, those lines say nothing about new ones
    skewed = sum(raw == there for _, raw, there in kept) > sum(text == there for text, _, there in kept)
    pairs = gone or ([] if skewed else [(text, there) for text, _, there in kept])
    fit = shape.AS_IT_IS if skewed and not gone else shape.indenting(pairs, lines)
    result, at = list[str](), start
    numbers = iter(place)
    for line in body:
        if line.sign == "+":
            result.append(fit(line.text))
            continue
        if not line.text.strip():
            if line.sign == " " and at < end and not lines[at].strip():
                result.append(lines[at])
                at += 1
            elif line.sign == "-" and at < end and not lines[at].strip():
                at += 1
            continue
        here = next(numbers, end)
        result += [lines[each] for each in range(at, here) if not lines[each].strip()]
        at = here + 1
        if line.sign == " " and here < end:
            result.append(lines[here])
    return result, fit.sure and exact


def _unrepeated(body: Sequence[Line]) -> list[Line]:
    """A hunk that takes lines away and shows them again behind new ones, as staying: they do stay, after those."""
    result, at = list[Line](), 0
    while at < len(body):
        ends = [at, at, at]
        for step, sign in enumerate("-+ "):
            end = ends[step]
            while end < len(body) and body[end].sign == sign:
                end += 1
            ends[step:] = [end] * (3 - step)
        goes, comes, stays = body[at : ends[0]], body[ends[0] : ends[1]], body[ends[1] : ends[2]]
        count = len(goes)
        again = [line.text.strip() for line in stays[:count]] == [line.text.strip() for line in goes]
        result += [*comes, *stays] if count and comes and again else [*goes, *comes, *stays]
        at = ends[2]
    return result


def unmarked(text: str) -> list[str]:
    """The code of a diff that marks no line as new or gone: its lines without headers, and without the blank before
    lines that stay, where all of them have it.
    """
    lines = [line for line in text.split("\n") if not _HEADER.match(line) and not _GIT.fullmatch(line)]
    lines = [
        line for line in lines if not (_OLD.fullmatch(line) or _NEW.fullmatch(line) or line.lstrip().startswith("@@"))
    ]
    filled = [line for line in lines if line.strip()]
    if filled and all(line[0] == " " for line in filled):
        return [line[1:] for line in lines]
    for at, line in enumerate(lines):  # the first few may have it, until it was forgotten
        if line.strip() and line[0] != " ":
            return [each[1:] for each in lines[:at]] + lines[at:] if all(_one(each) for each in lines[:at]) else lines
    return lines


def _one(line: str) -> bool:
    """Whether a line has one blank before it, or nothing."""
    return not line.strip() or (line[0] == " " and line[1:2] != " ")


def _less(body: Sequence[Line], lines: Sequence[str], less: int) -> list[Splice]:
    """The hunk without some lines that stay at its ends: a place for what is left of it, if there is just one."""
    head = sum(1 for _ in _staying(body))
    tail = sum(1 for _ in _staying(body[::-1]))
    for front, back in {(min(less, head), 0), (0, min(less, tail)), (min(less, head), min(less, tail))}:
        part = _trimmed(body[front : len(body) - back])
        old = [line.text for line in part if line.sign != "+"]
        if (front, back) == (0, 0) or not matching.telling(old):
            continue
        found = matching.find(old, lines)
        if found is not None and found.good and len(found.places) == 1:
            start, end = found.places[0]
            return [Splice(start, end, _rebuilt(part, lines, start, end)[0])]
    return []


def _staying(body: Sequence[Line]) -> Iterator[Line]:
    for line in body:
        if line.sign != " ":
            return
        yield line


def _scattered(body: Sequence[Line], lines: Sequence[str]) -> list[Splice]:
    """A hunk whose context is wrong, or leaves lines of the file out: each run of changes by itself, in their order.

    Lines that go, or the one that stays before those that come, must be found once after the run before.
    """
    splices, at = list[Splice](), 0
    for before, run in _runs(body):
        for part in ([*before, *run], run):
            old = [line.text for line in part if line.sign != "+"]
            found = matching.find(old, lines[at:]) if matching.telling(old) else None
            if found is not None and found.good and len(found.places) == 1:
                start, end = (each + at for each in found.places[0])
                splices.append(Splice(start, end, _rebuilt(part, lines, start, end)[0]))
                at = end
                break
        else:
            return []
    return splices


def _runs(body: Sequence[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """Changes, each with the line that stays right before it."""
    at = 0
    while at < len(body):
        if body[at].sign == " ":
            at += 1
            continue
        end = at
        while end < len(body) and body[end].sign != " ":
            end += 1
        yield list(body[at - 1 : at]) if at else [], list(body[at:end])
        at = end
