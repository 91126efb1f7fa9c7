"""Pieces of other files that may be shown: which of them, and in which order.

What is shown before the text around the cursor has to be read anew whenever it changes, and all that follows with it.
So what has been chosen stays, as it was shown, until something else is clearly better or it has become wrong.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from paceline.workspace.outline import identifiers

Kind = Literal["signatures", "diff", "chunk", "region"]

ORDER: dict[Kind, int] = {"signatures": 0, "diff": 1, "chunk": 2, "region": 3}  # what changes rarely comes first
WEIGHT: dict[Kind, float] = {"signatures": 1.0, "region": 0.9, "chunk": 0.6, "diff": 0.4}
SHARE: dict[Kind, float] = {"signatures": 0.6, "region": 0.6, "chunk": 0.4, "diff": 0.25}  # of the budget, at most
FREE = 0.9  # of the budget that a new choice fills: the rest keeps it valid when the budget shrinks a little
BETTER = 1.35  # times as good has another choice to be
LEAST = 0.06  # score below which a piece helps nobody
AROUND = 16  # characters that a piece takes beside its name and text


@dataclass(frozen=True)
class Piece:
    """A part of one file."""

    key: str  # what it shows, the same when that changes: "region:file:///a.py"
    kind: Kind
    name: str  # of the file, as the model reads it
    text: str
    source: Hashable  # of what the text was made; another one means that the text is out of date
    prior: float = 1.0  # how likely it helps, by its age or distance; 0 to 1
    needed: frozenset[str] = frozenset()  # names that the text should have,
    named: frozenset[str] = frozenset()  # and that it has

    def size(self) -> int:
        """Characters of the budget that it takes."""
        return len(self.text) + len(self.name) + AROUND

    def still(self, now: "Piece") -> bool:
        """Whether this, shown before, does as well as what would be shown now."""
        return self.source == now.source and now.needed <= self.named


@lru_cache(maxsize=512)
def words(text: str) -> frozenset[str]:
    """The identifiers in a text."""
    return identifiers(text)


def scores(pieces: Sequence[Piece], query: frozenset[str]) -> dict[str, float]:
    """How much each piece helps where these identifiers stand: what few pieces have counts more."""
    common = Counter(word for piece in pieces for word in words(piece.text) & query)
    weight = {word: 1 / (1 + math.log2(common.get(word, 1))) for word in query}
    whole = sum(sorted(weight.values(), reverse=True)[:24]) or 1.0
    return {
        piece.key: WEIGHT[piece.kind]
        * piece.prior
        * _near(sum(weight[word] for word in words(piece.text) & query) / whole)
        for piece in pieces
    }


def _near(overlap: float) -> float:
    return 0.1 + 0.9 * min(1.0, overlap * 2)


def choose(
    pieces: Iterable[Piece], query: frozenset[str], budget: int, shown: Sequence[Piece] = ()
) -> tuple[Piece, ...]:
    """The pieces to show, in order, within the budget in characters. shown: the last answer for the same document."""
    now = {piece.key: piece for piece in pieces}
    kept = [one for one in shown if one.key in now and one.still(now[one.key])]
    held = {one.key: one for one in kept}
    candidates = [held.get(key, piece) for key, piece in now.items()]
    value = scores(candidates, query)
    best = _fill(candidates, value, int(budget * FREE))
    again = {key: score * (BETTER if key in held else 1) for key, score in value.items()}
    if len(kept) == len(shown) and sum(map(Piece.size, kept)) <= budget:
        good, better = (sum(value[one.key] for one in each) for each in (kept, best))
        if better <= good * BETTER and (kept or not best):
            return tuple(kept)
    best = _fill(candidates, again, int(budget * FREE))  # something changes: as little as possible
    place = {one.key: at for at, one in enumerate(kept)}
    return tuple(sorted(best, key=lambda one: (ORDER[one.kind], place.get(one.key, len(place)), one.name, one.key)))


def _fill(pieces: Iterable[Piece], value: dict[str, float], budget: int) -> list[Piece]:
    """The most valuable pieces that fit; of no kind more than its share."""
    chosen: list[Piece] = []
    left = budget
    of: Counter[Kind] = Counter()
    for piece in sorted(pieces, key=lambda one: (-value[one.key], one.key)):
        if value[piece.key] < LEAST:
            break
        size = piece.size()
        if size <= left and of[piece.kind] + size <= SHARE[piece.kind] * budget:
            chosen.append(piece)
            left -= size
            of[piece.kind] += size
    return chosen
