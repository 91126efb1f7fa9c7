"""Chunks of text that a person has just left, cut or pasted: as useful as what is on a clipboard."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

KEPT = 16
LINES = 64  # of one chunk at most
SHORTEST = 3  # lines that have something on them
CHARACTERS = 4000
ALIKE = 0.9  # of two chunks, so alike, the newer stays


@dataclass(frozen=True)
class Chunk:
    """A piece of a document as it was."""

    number: int
    uri: str  # of the document it is from
    name: str
    text: str
    lines: frozenset[str]


@dataclass
class Chunks:
    """The newest chunks, no two of them nearly alike."""

    _kept: deque[Chunk] = field(default_factory=lambda: deque(maxlen=KEPT))
    _number: int = 0

    def add(self, uri: str, name: str, text: str) -> None:
        """Remember a piece, if it is long enough to say something and short enough to be shown."""
        piece = "\n".join(text.split("\n", LINES)[:LINES]) if text.count("\n", 0, 4 * CHARACTERS) > LINES else text
        lines = line_set(piece)
        if len(lines) < SHORTEST or len(piece) > CHARACTERS:
            return
        self._number += 1
        fresh = [each for each in self._kept if alike(each.lines, lines) <= ALIKE]
        self._kept = deque([*fresh, Chunk(self._number, uri, name, piece, lines)], maxlen=KEPT)

    def __iter__(self) -> Iterator[Chunk]:
        """Newest first."""
        return reversed(list(self._kept))


def line_set(text: str) -> frozenset[str]:
    """The lines of a text that have something on them, without indentation."""
    return frozenset(stripped for line in text.split("\n") if (stripped := line.strip()))


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets of lines have in common (Jaccard index)."""
    return len(one & other) / (len(one | other) or 1)


def inside(part: frozenset[str], whole: frozenset[str]) -> float:
    """How much of a set of lines stands in another one."""
    return len(part & whole) / (len(part) or 1)
