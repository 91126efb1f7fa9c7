"""Which lines of two texts differ: as few as possible, and found in a time that their contents have no say in.

The longest common subsequence of the lines, by bits (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004):
a number has a bit for each line of the one text, and takes one addition for each line of the other. Repetitive files,
on which difflib's time grows with the cube, are like all others here.
"""

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from math import isqrt

from paceline.prompts.lines import line_starts

WORK = 1_000_000_000  # pairs of lines, a fraction of a second; 30,000 lines of both, of which none is left out before

Place = tuple[int, int]  # a line that both have: where it stands in the old and in the new ones
Span = tuple[int, int, int, int]  # lines [first, last) of the old ones give way to [begin, end) of the new ones


def lines(text: str) -> tuple[str, ...]:
    r"""The lines with their endings: \n, \r\n, \r and nothing else."""
    starts = [0, *line_starts(text), len(text)]
    return tuple(text[begin:end] for begin, end in itertools.pairwise(starts) if begin < end)


def differences(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Span]:
    """Stretches that differ, in rising order; between two of them there is something that stays.

    They have as few lines as possible. Texts that would need more than WORK comparisons are first taken apart where
    both have a line that they have once; stretches between such lines differ as a whole once the work is used up.
    """
    found = list[Span]()
    at = there = 0
    for one, other in [*_common(old, new), (len(old), len(new))]:
        if (at, there) != (one, other):
            found.append((at, one, there, other))
        at, there = one + 1, other + 1
    return found


def _common(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[Place]:
    """The lines that stay."""
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    last, stop = len(old) - tail, len(new) - tail
    yield from zip(range(head), range(head), strict=True)
    both = set(old[head:last]) & set(new[head:stop])  # what only one of them has stays nowhere
    here = [at for at in range(head, last) if old[at] in both]
    there = [at for at in range(head, stop) if new[at] in both]
    for one, other in _within([old[at] for at in here], [new[at] for at in there]):
        yield here[one], there[other]
    yield from zip(range(last, len(old)), range(stop, len(new)), strict=True)


def _within(first: Sequence[Hashable], second: Sequence[Hashable]) -> Iterator[Place]:
    """Of what stands between the same beginning and the same end."""
    left = WORK
    much = len(first) * len(second) > left
    at = there = 0
    for one, other in [*(_anchors(first, second) if much else []), (len(first), len(second))]:
        size = (one - at) * (other - there)
        if size <= left:
            left -= size
            yield from ((at + begin, there + end) for begin, end in _longest(first[at:one], second[there:other]))
        if one < len(first):
            yield one, other
        at, there = one + 1, other + 1


def _longest(first: Sequence[Hashable], second: Sequence[Hashable]) -> Iterator[Place]:
    """A longest common subsequence, each pair as early as possible.

    Of each row of the table (an item of `second`, from the last one on) only those are kept that stand at the
    beginning of a block, and the others computed again once they are needed: two times the square root of them.
    """
    if not first or not second:
        return
    masks = _masks(first, second)
    size, full = len(first), (1 << len(first)) - 1
    block = isqrt(len(second)) + 1

    def rows(start: int, end: int, row: int) -> list[int]:
        """From the one below `end` on upwards; a bit is 0 where one more item, from the end, makes it longer."""
        found = list[int]()
        for item in reversed(second[start:end]):
            common = row & masks[item]
            row = ((row + common) | (row - common)) & full
            found.append(row)
        return found

    below = {len(second): full}  # the row under each block
    for start in range((len(second) - 1) // block * block, 0, -block):
        end = min(start + block, len(second))
        below[start] = rows(start, end, below[end])[-1]
    at = 0
    for start in range(0, len(second), block):
        end = min(start + block, len(second))
        table = rows(start, end, below[end])
        for there in range(start, end):
            row = table.pop()
            while at < size and first[at] != second[there] and row >> (size - 1 - at) & 1:
                at += 1
            if at < size and first[at] == second[there]:
                yield at, there
                at += 1


def _masks(first: Sequence[Hashable], second: Sequence[Hashable]) -> dict[Hashable, int]:
    """Where each item of `second` stands in `first`, a bit for each, the last one lowest."""
    places: dict[Hashable, list[int]] = {item: [] for item in second}
    for at, item in enumerate(reversed(first)):
        if item in places:
            places[item].append(at)
    masks = dict[Hashable, int]()
    for item, found in places.items():
        bits = bytearray((found[-1] >> 3) + 1 if found else 0)
        for at in found:
            bits[at >> 3] |= 1 << (at & 7)
        masks[item] = int.from_bytes(bits, "little")
    return masks


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Place]:
    """Where lines stand that both texts have once, as many as come in the same order (as of patience diff)."""
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
    found, at = list[Place](), ends[-1] if ends else -1
    while at >= 0:
        found.append(both[at])
        at = before[at]
    return found[::-1]


def _once(lines: Sequence[Hashable]) -> dict[Hashable, int]:
    """Where the lines stand that come once only."""
    counts = Counter(lines)
    return {line: at for at, line in enumerate(lines) if counts[line] == 1}


def _alike(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """How many items both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))
