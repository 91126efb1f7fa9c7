"""A change as hunks that a person accepts one by one, and as rows to be drawn. Pure data, no drawing.

Rows hold text as it is in the files: what draws it takes control characters out (paceline.text.strip_controls).
"""

import difflib
import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from paceline.chat.edits.changes import Change
from paceline.prompts.lines import line_starts

CONTEXT = 3  # lines shown around a hunk
MANY = 1000  # lines that differ; with more of them, those that come very often are not compared

Kind = Literal["same", "out", "in", "gap"]  # gap: lines that are left out of the view; the text says how many


@dataclass(frozen=True)
class Hunk:
    """Neighbouring lines that give way to others. Lines have their endings."""

    index: int  # counts from 0; what `accepted` is given
    old_start: int  # line of the file as it is, from 0
    old: tuple[str, ...]
    new_start: int  # line of the file as it would be, from 0
    new: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """One line of a view."""

    kind: Kind
    text: str  # without its line ending
    old: int | None = None  # line number as people count, from 1; None: it is not in the old text
    new: int | None = None
    hunk: int | None = None  # index of the hunk that it belongs to
    other: str | None = None  # the line that stands in this one's place on the other side


@dataclass(frozen=True)
class Pair:
    """One line of a side-by-side view; None: nothing stands there. Lines that are the same stand on both sides."""

    left: Row | None
    right: Row | None

    @property
    def hunk(self) -> int | None:
        """Index of the hunk that it belongs to."""
        row = self.left or self.right
        return row.hunk if row else None


def hunks(change: Change) -> tuple[Hunk, ...]:
    """What differs, in rising order; lines that differ in how they are ended differ.

    A file that is made or deleted is a single hunk, also an empty one.
    """
    if change.before == change.after:
        return ()
    old, new = lines(change.before or ""), lines(change.after or "")
    if change.before is None or change.after is None:
        return (Hunk(0, 0, old, 0, new),)
    return tuple(
        Hunk(index, first, old[first:last], begin, new[begin:end])
        for index, (first, last, begin, end) in enumerate(_differences(old, new))
    )


def accepted(change: Change, chosen: Set[int]) -> str | None:
    """The file with the chosen hunks (their indices) and no others; None: it is not there then.

    All of them give `change.after`, none `change.before`.
    """
    parts = hunks(change)
    if change.before is None or change.after is None:
        return change.after if parts and 0 in chosen else change.before
    old = lines(change.before)
    at, result = 0, list[str]()
    for hunk in parts:
        result += old[at : hunk.old_start]
        result += hunk.new if hunk.index in chosen else hunk.old
        at = hunk.old_start + len(hunk.old)
    return _joined([*result, *old[at:]], change.before)


def unified(change: Change, context: int = CONTEXT) -> tuple[Row, ...]:
    """The change as one column: lines that go, then those that come, with lines around them."""
    rows = list[Row]()
    for pairs in _groups(change, context):
        rows += [pair.left for pair in pairs if pair.left]  # of a hunk all that goes, before all that comes
        rows += [pair.right for pair in pairs if pair.right and pair.right.kind == "in"]
    return tuple(rows)


def side_by_side(change: Change, context: int = CONTEXT) -> tuple[Pair, ...]:
    """The change as two columns: as it is, and as it would be."""
    return tuple(itertools.chain.from_iterable(_groups(change, context)))


def lines(text: str) -> tuple[str, ...]:
    r"""The lines with their endings: \n, \r\n, \r and nothing else."""
    starts = [0, *line_starts(text), len(text)]
    return tuple(text[begin:end] for begin, end in itertools.pairwise(starts) if begin < end)


def _joined(parts: Sequence[str], before: str) -> str:
    """Lines to a text. A line that was the last one, without an ending, may stand before others now: it gets one."""
    newline = next((line[len(line.rstrip("\r\n")) :] for line in lines(before) if line.endswith(("\n", "\r"))), "\n")
    ended = [line if line.endswith(("\n", "\r")) else line + newline for line in parts[:-1]]
    return "".join([*ended, *parts[-1:]])


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Stretches of lines that differ. What both texts begin and end with is not compared: it is most of them."""
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    last, stop = len(old) - tail, len(new) - tail
    many = max(last, stop) - head > MANY
    anchors = _anchors(old[head:last], new[head:stop]) if many else []
    at, there = head, head
    for one, other in [*((head + one, head + other) for one, other in anchors), (last, stop)]:
        first, second = old[at:one], new[there:other]
        matcher = difflib.SequenceMatcher(None, first, second, autojunk=max(len(first), len(second)) > MANY)
        for tag, start, end, begin, finish in matcher.get_opcodes():
            if tag != "equal":
                yield start + at, end + at, begin + there, finish + there
        at, there = one + 1, other + 1


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Where lines stand that both texts have once, as many as come in the same order (patience, as of patience diff).

    What is left to difflib, whose time grows with the square, are the few lines between them.
    """
    places = _once(new)
    both = [(at, places[line]) for line, at in _once(old).items() if line in places]
    lowest: list[int] = []  # of all rising chains of a length: the lowest place at an end
    ends: list[int] = []  # and which of the pairs that is
    before: list[int] = []  # of each pair: the one before it in its chain
    for at, (_, place) in enumerate(both):
        length = bisect_left(lowest, place)
        before.append(ends[length - 1] if length else -1)
        lowest[length : length + 1] = [place]
        ends[length : length + 1] = [at]
    found, at = list[tuple[int, int]](), ends[-1] if ends else -1
    while at >= 0:
        found.append(both[at])
        at = before[at]
    return found[::-1]


def _once(lines: Sequence[str]) -> dict[str, int]:
    """Where the lines stand that come once only."""
    counts = Counter(lines)
    return {line: at for at, line in enumerate(lines) if counts[line] == 1}


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """How many items both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def _groups(change: Change, context: int) -> Iterator[list[Pair]]:
    """The rows in groups: each hunk is one, and so is what stands between two of them."""
    old = lines(change.before or "")
    at, shift, last = 0, 0, -1
    found = hunks(change)
    for hunk in found:
        yield from _between(old, at, hunk.old_start, shift, context if last >= 0 else 0, context)
        yield _pairs(hunk)
        at, last = hunk.old_start + len(hunk.old), hunk.index
        shift = hunk.new_start + len(hunk.new) - at
    if found:
        yield from _between(old, at, len(old), shift, context, 0)


def _between(old: Sequence[str], start: int, end: int, shift: int, after: int, before: int) -> Iterator[list[Pair]]:
    """Lines [start, end) that stay: the first `after` and the last `before` of them, and a gap for the others."""
    if end - start <= after + before + 1:  # a gap of one line is no gain
        yield [_same(old, at, shift) for at in range(start, end)]
        return
    yield [_same(old, at, shift) for at in range(start, start + after)]
    left_out = end - start - after - before
    gap = Row("gap", f"{left_out} lines")
    yield [Pair(gap, gap)]
    yield [_same(old, at, shift) for at in range(end - before, end)]


def _same(old: Sequence[str], at: int, shift: int) -> Pair:
    row = Row("same", _bare(old[at]), at + 1, at + 1 + shift)
    return Pair(row, row)


def _pairs(hunk: Hunk) -> list[Pair]:
    """A hunk's lines beside each other, in order."""
    found = list[Pair]()
    for at, (old, new) in enumerate(itertools.zip_longest(map(_bare, hunk.old), map(_bare, hunk.new))):
        out = Row("out", old, hunk.old_start + at + 1, None, hunk.index, new) if old is not None else None
        come = Row("in", new, None, hunk.new_start + at + 1, hunk.index, old) if new is not None else None
        found.append(Pair(out, come))
    return found


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
