"""How likely drafted tokens are to be accepted, learned while running."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Bucket = tuple[str, int]  # (what kind of evidence, how strong): one estimate each

STRENGTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
_LEVELS = {str(level): level for level in STRENGTHS}
DECAY = 0.985  # an observation's weight halves after about 46 more in its bucket
PRIOR_WEIGHT = 6.0
UNBIASED = ("draft", "draft-mean", "second", "guess")  # a draft's confidence already depends on the text
STEP = 0.1
BOUND = 2.0
KEPT = 20.0  # observations of a bucket that count in the next run, at most: its texts may be others
MOST = 1e6  # and more than so many are no observations

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
    # with a file at hand that is not in the prompt, with what other requests left behind
    "file": ((0, 0.05), (2, 0.2), (3, 0.3), (4, 0.4), (6, 0.55), (8, 0.7), (12, 0.8), (16, 0.88), (24, 0.95)),
    "past": ((0, 0.03), (2, 0.12), (3, 0.15), (4, 0.3), (6, 0.4), (8, 0.6), (12, 0.7), (16, 0.8), (24, 0.92)),
    # by sixteenths of the share that a continuation with rivals has had, in all cases and one and a half more
    "fork": ((0, 0.03), (1, 0.06), (2, 0.09), (3, 0.12), (4, 0.16), (6, 0.28), (8, 0.4), (12, 0.55)),
    # by tokens copied since a change
    "resume": ((0, 0.3), (1, 0.4), (2, 0.65), (3, 0.8), (4, 0.85), (8, 0.92), (16, 0.96)),
    # by times that the same replacement was made before, less those that it was not
    "swap": ((0, 0.3), (1, 0.6), (2, 0.8), (3, 0.88), (6, 0.94)),
    # lookahead: by position in the n-gram; and its guesses themselves
    "pool": ((0, 0.25), (1, 0.5), (2, 0.6), (3, 0.6)),
    "guess": ((0, 0.05),),
    "second": ((0, 0.05), (1, 0.15), (2, 0.25), (4, 0.4)),  # what the draft nearly chose, by its own probability
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

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """Plain data: {kind: {strength: [accepted, seen]}}. From any thread."""
        found: dict[str, dict[str, list[float]]] = {}
        for (kind, level), (accepted, seen) in sorted(self.counts.copy().items()):
            found.setdefault(kind, {})[str(level)] = _capped(accepted, seen)
        return found

    @classmethod
    def from_json(cls, data: object) -> "AcceptanceTable":
        """The inverse of `to_json`. Buckets that there are no longer are left out; ValueError: the data is broken."""
        counts: dict[Bucket, tuple[float, float]] = {}
        for kind, levels in _items(data):
            for level, pair in _items(levels):
                if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair)) and pair[0] <= pair[1]):
                    raise ValueError(f"not observations: {pair!r}")
                if kind in PRIORS and level in _LEVELS and pair[1]:
                    accepted, seen = _capped(*pair)
                    counts[kind, _LEVELS[level]] = (accepted, seen)
        return cls(counts)


def _capped(accepted: float, seen: float) -> list[float]:
    """The same share of fewer observations."""
    share = min(1.0, KEPT / seen) if seen else 1.0
    return [accepted * share, seen * share]


def _items(data: object) -> Iterable[tuple[str, object]]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ValueError(f"not a table: {data!r}")
    return data.items()


def _is_count(number: object) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and 0 <= number <= MOST


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
