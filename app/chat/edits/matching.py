"""Where lines of an answer stand in a file, though the model did not copy them quite right."""

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

ALIKE = 0.8  # of the text, how much must be the same in lines that are similar
FEWEST = 3  # lines with text that are looked for by similarity
MOST = 400  # lines that are looked for by similarity; more take too long
LEAST = 8  # letters and digits in lines that are looked for

# how well lines match: as they are; but for blanks at either end; but for empty lines; but for blanks within; about
Grade = Literal["exact", "indented", "spaced", "loose", "similar"]


@dataclass(frozen=True)
class Found:
    """Places where lines stand, all of one grade, in rising order: first line, and the line after the last."""

    grade: Grade
    places: tuple[tuple[int, int], ...]

    @property
    def good(self) -> bool:
        """Whether nothing but blanks differs."""
        return self.grade in ("exact", "indented", "spaced")


def find(wanted: Sequence[str], lines: Sequence[str]) -> Found | None:
    """The places of the best grade. Lines without text around those wanted do not count. Linear, but for similarity."""
    wanted = trimmed(wanted)
    if not wanted:
        return None
    exact = occurrences([line.rstrip() for line in wanted], [line.rstrip() for line in lines])
    if exact:
        return Found("exact", tuple((at, at + len(wanted)) for at in exact))
    bare = occurrences([line.strip() for line in wanted], [line.strip() for line in lines])
    if bare:
        return Found("indented", tuple((at, at + len(wanted)) for at in bare))
    filled = [at for at, line in enumerate(lines) if line.strip()]
    keys: tuple[tuple[Grade, Callable[[str], str]], ...] = (("spaced", str.strip), ("loose", _squeezed))
    for grade, key in keys:
        needle = [key(line) for line in wanted if line.strip()]
        places = occurrences(needle, [key(lines[at]) for at in filled])
        if places:
            return Found(grade, tuple((filled[at], filled[at + len(needle) - 1] + 1) for at in places))
    return _similar(wanted, lines)


def trimmed(lines: Sequence[str]) -> list[str]:
    """The lines without those at both ends that have no text."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def occurrences(needle: Sequence[Hashable], hay: Sequence[Hashable]) -> list[int]:
    """Where a sequence stands in another, without overlaps; by Knuth, Morris and Pratt, so in linear time."""
    if not needle or len(needle) > len(hay):
        return []
    borders = [0] * len(needle)
    length = 0
    for at in range(1, len(needle)):
        while length and needle[at] != needle[length]:
            length = borders[length - 1]
        length += needle[at] == needle[length]
        borders[at] = length
    found, length = list[int](), 0
    for at, item in enumerate(hay):
        while length and item != needle[length]:
            length = borders[length - 1]
        length += item == needle[length]
        if length == len(needle):
            found.append(at + 1 - length)
            length = 0
    return found


def _squeezed(line: str) -> str:
    """A line without blanks, and with one kind of quotation marks."""
    return "".join(line.split()).replace("'", '"').rstrip(",;")


def _similar(wanted: Sequence[str], lines: Sequence[str]) -> Found | None:
    """The one place that has most of the lines, and about the same text."""
    needle = [line.strip() for line in wanted if line.strip()]
    filled = [at for at, line in enumerate(lines) if line.strip()]
    hay = [lines[at].strip() for at in filled]
    if not FEWEST <= len(needle) <= MOST or len(hay) < len(needle) or len(hay) > 50 * MOST:
        return None
    counted = Counter(needle)
    scores = list(itertools.accumulate((line in counted for line in hay), initial=0))
    width = len(needle)
    starts = sorted(range(len(hay) - width + 1), key=lambda at: scores[at] - scores[at + width])[:5]
    rated = sorted(((_ratio(needle, hay[at : at + width]), at) for at in starts), reverse=True)
    (best, at), second = rated[0], rated[1][0] if len(rated) > 1 else 0.0
    if best < ALIKE or best - second < 0.02:
        return None
    return Found("similar", ((filled[at], filled[at + width - 1] + 1),))


def _ratio(one: Sequence[str], other: Sequence[str]) -> float:
    same = sum(map(len, (first for first, second in zip(one, other, strict=True) if first == second)))
    total = sum(map(len, one)) + sum(map(len, other))
    if 2 * same + 4000 < total:
        return 2 * same / total
    return SequenceMatcher(None, "\n".join(one), "\n".join(other), autojunk=False).ratio()


def telling(lines: Sequence[str]) -> bool:
    """Whether lines have enough text that finding them once means something."""
    return sum(char.isalnum() for line in lines for char in line) >= LEAST
