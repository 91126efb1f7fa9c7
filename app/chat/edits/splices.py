"""Lines of a file that give way to others, and what comes of them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from paceline.chat.edits.shape import File


@dataclass(frozen=True)
class Splice:
    """New lines, without endings, for lines [start, end) of a file."""

    start: int
    end: int
    new: Sequence[str]


@dataclass(frozen=True)
class Outcome:
    """What becomes of a file."""

    text: str | None  # None: it is deleted
    sure: bool
    notes: tuple[str, ...] = ()
    applied: bool = True  # False: nothing of it could be
    foreign: bool = False  # what was applied has nothing that the file had: it may be an example


def spliced(file: File, splices: Sequence[Splice]) -> str:
    """The file's text with all of them; they do not overlap."""
    raw, at = list[str](), 0
    for each in sorted(splices, key=lambda one: (one.start, one.end)):
        raw += file.raw[at : each.start]
        raw += file.spliced(each.start, each.end, each.new)
        at = max(at, each.end)
    return file.text([*raw, *file.raw[at:]])


def overlap(splices: Sequence[Splice]) -> bool:
    """Whether two of them are about the same lines."""
    ordered = sorted(splices, key=lambda one: (one.start, one.end))
    return any(one.end > other.start for one, other in itertools.pairwise(ordered))
