"""A change as hunks that a person accepts one by one, and as rows to be drawn. Pure data, no drawing.

Rows hold text as it is in the files: what draws it makes visible what would not be seen (paceline.chat.hidden).
"""

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from paceline.chat.edits.changes import Change, Hunk
from paceline.prompts.lines import line_ending
from paceline.workspace.differences import lines

CONTEXT = 3  # lines shown around a hunk

Kind = Literal["same", "out", "in", "gap"]  # gap: lines that are left out of the view; the text says how many


@dataclass(frozen=True)
class Row:
    """One line of a view."""

    kind: Kind
    text: str  # without its line ending
    old: int | None = None  # line number as people count, from 1; None: it is not in the old text
    new: int | None = None
    hunk: int | None = None  # index of the hunk that it belongs to
    other: str | None = None  # the line that stands in this one's place on the other side
    ending: str | None = (
        None  # how it is ended, where that is worth telling: the other line, or the file, ends otherwise
    )


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


def accepted(change: Change, chosen: Set[int]) -> str | None:
    """The file with the chosen hunks (their indices) and no others; None: it is not there then.

    All of them give `change.after`, none `change.before`.
    """
    parts = change.hunks
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


def _joined(parts: Sequence[str], before: str) -> str:
    """Lines to a text. A line that was the last one, without an ending, may stand before others now: it gets one."""
    newline = next((line[len(line.rstrip("\r\n")) :] for line in lines(before) if line.endswith(("\n", "\r"))), "\n")
    ended = [line if line.endswith(("\n", "\r")) else line + newline for line in parts[:-1]]
    return "".join([*ended, *parts[-1:]])


def _groups(change: Change, context: int) -> Iterator[list[Pair]]:
    """The rows in groups: each hunk is one, and so is what stands between two of them."""
    old = lines(change.before or "")
    at, shift, last = 0, 0, -1
    found, usual = change.hunks, line_ending(change.before or change.after or "")
    for hunk in found:
        yield from _between(old, at, hunk.old_start, shift, context if last >= 0 else 0, context)
        yield _pairs(hunk, usual)
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


def _pairs(hunk: Hunk, usual: str) -> list[Pair]:
    """A hunk's lines beside each other, in order. usual: how the lines of the file are ended."""
    found = list[Pair]()
    for at, (old, new) in enumerate(itertools.zip_longest(hunk.old, hunk.new)):
        out = come = None
        if old is not None:
            ending = _telling(old, new, usual)
            out = Row("out", _bare(old), hunk.old_start + at + 1, None, hunk.index, _bared(new), ending)
        if new is not None:
            ending = _telling(new, old, usual)
            come = Row("in", _bare(new), None, hunk.new_start + at + 1, hunk.index, _bared(old), ending)
        found.append(Pair(out, come))
    return found


def _telling(line: str, other: str | None, usual: str) -> str | None:
    """How a line is ended; None: as the line in its place, or as the others where there is none."""
    ending = line[len(_bare(line)) :]
    return ending if ending != (usual if other is None else other[len(_bare(other)) :]) else None


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _bared(line: str | None) -> str | None:
    return None if line is None else _bare(line)
