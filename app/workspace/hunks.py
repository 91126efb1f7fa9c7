"""A changed text as the lines that differ, so that an editor keeps cursors, marks and folds everywhere else."""

import itertools
from dataclasses import dataclass

from paceline.prompts.lines import normalise
from paceline.workspace.differences import differences, lines


@dataclass(frozen=True)
class Hunk:
    """What stands between two offsets, in characters, gives way to a text."""

    start: int
    end: int
    text: str


def hunks(old: str, new: str, at: int = 0) -> tuple[Hunk, ...]:
    """What turns one text into the other, by whole lines, in rising order. at: where the old one begins.

    Lines that differ in nothing but how they are ended are the same.
    """
    before, after = lines(old), lines(new)
    starts = list(itertools.accumulate((len(line) for line in before), initial=at))
    keys = [normalise(line) for line in before], [normalise(line) for line in after]
    return tuple(
        Hunk(starts[first], starts[last], "".join(after[begin:end])) for first, last, begin, end in differences(*keys)
    )
