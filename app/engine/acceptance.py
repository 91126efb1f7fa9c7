"""How likely drafted tokens are to be accepted, learned while running."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Bucket = tuple[str, int]  # (what kind of evidence, how strong): one estimate each

STRENGTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
DECAY = 0.985  # an observation's weight halves after about 46 more in its bucket
PRIOR_WEIGHT = 6.0
UNBIASED = ("draft", "draft-mean")  # a draft's confidence already depends on the text
STEP = 0.1
BOUND = 2.0

# Before anything is known. Kept below what is usually seen: an optimistic start would be paid for in speed.
PRIORS: Mapping[str, Sequence[tuple[int, float]]] = {
    # by length of the match: with the prompt (a text being copied), with the answer so far (a text repeating itself)
    "copy": (
        (0, 0.05),
        (1, 0.2),
        (2, 0.4),
        (3, 0.55),
        (4, 0.7),
        (6, 0.8),
        (8, 0.9),
        (12, 0.94),
        (16, 0.97),
        (24, 0.98),
    ),
    "self": (
        (0, 0.05),
        (1, 0.15),
        (2, 0.35),
        (3, 0.45),
        (4, 0.55),
        (6, 0.65),
        (8, 0.75),
        (12, 0.82),
        (24, 0.9),
        (48, 0.97),
    ),
    # by tokens copied since a change
    "resume": ((0, 0.3), (1, 0.4), (2, 0.65), (3, 0.8), (4, 0.85), (8, 0.92), (16, 0.96)),
    "draft": ((0, 0.2), (3, 0.4), (6, 0.65), (8, 0.8), (12, 0.95)),  # twelfths of the draft's own probability
    "draft-mean": ((0, 0.65),),
}


def bucket(kind: str, strength: int) -> Bucket:
    """The bucket for a strength: the largest listed one not above it."""
    return kind, max(level for level in STRENGTHS if level <= strength)


def prior(key: Bucket) -> float:
    """The acceptance assumed before anything was seen."""
    kind, strength = key
    return max(chance for level, chance in PRIORS[kind] if level <= strength)


@dataclass
class AcceptanceTable:
    """An exponentially weighted Beta estimate per bucket: (prior + accepted) / (prior weight + seen)."""

    counts: dict[Bucket, tuple[float, float]] = field(default_factory=dict)  # accepted, seen

    def chance(self, key: Bucket) -> float:
        """Estimated probability that a token in this bucket is accepted, given all before it were."""
        accepted, seen = self.counts.get(key, (0.0, 0.0))
        return (prior(key) * PRIOR_WEIGHT + accepted) / (PRIOR_WEIGHT + seen)

    def observe(self, key: Bucket, accepted: bool) -> None:
        """A token of this bucket was, or was not, what the target chose."""
        hits, seen = self.counts.get(key, (0.0, 0.0))
        self.counts[key] = (hits * DECAY + accepted, seen * DECAY + 1.0)


@dataclass
class Forecast:
    """The table as one request sees it: some texts repeat themselves more than others.

    A leaning is a number on the log-odds scale for each kind of evidence, moved by stochastic gradient steps of the
    log-likelihood (online logistic regression with the table's estimate as offset).
    """

    table: AcceptanceTable
    leanings: dict[str, float] = field(default_factory=dict)  # by kind of evidence

    def chance(self, key: Bucket) -> float:
        """The table's estimate, moved by the leaning."""
        if key[0] in UNBIASED:
            return self.table.chance(key)
        p = min(max(self.table.chance(key), 1e-3), 1 - 1e-3)
        return 1.0 / (1.0 + (1.0 - p) / p * math.exp(-self.leanings.get(key[0], 0.0)))

    def observe(self, key: Bucket, accepted: bool) -> None:
        """Learn for this request and for all."""
        if key[0] not in UNBIASED:
            moved = self.leanings.get(key[0], 0.0) + STEP * (accepted - self.chance(key))
            self.leanings[key[0]] = min(max(moved, -BOUND), BOUND)
        self.table.observe(key, accepted)
