"""A changed text as the lines that differ, so that an editor keeps cursors, marks and folds everywhere else."""

import difflib
import itertools
from dataclasses import dataclass

from paceline.prompts.lines import line_starts, normalise

MANY = 1000  # lines; with more of them, those that come very often are not tried, which would take very long


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
    before, after = _lines(old), _lines(new)
    starts = list(itertools.accumulate((len(line) for line in before), initial=at))
    keys = [normalise(line) for line in before], [normalise(line) for line in after]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=len(before) > MANY)
    return tuple(
        Hunk(starts[first], starts[last], "".join(after[begin:end]))
        for tag, first, last, begin, end in matcher.get_opcodes()
        if tag != "equal"
    )


def _lines(text: str) -> list[str]:
    starts = [0, *line_starts(text), len(text)]
    return [text[begin:end] for begin, end in itertools.pairwise(starts) if begin < end]
