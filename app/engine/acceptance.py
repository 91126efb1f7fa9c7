"""How likely drafted tokens are to be accepted, learned while running."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

Bucket = tuple[str, int]  # (what kind of evidence, how strong): one estimate each

STRENGTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
_LEVELS = {str(level): level for level in STRENGTHS}
DECAY = 0.995  # an observation's weight halves after about 140 more in its bucket
PRIOR_WEIGHT = 20.0
UNBIASED = ("draft", "draft-mean", "second", "guess")  # a draft's confidence already depends on the text
FIRM = 4.0  # misses that a request's own rate has to make up for, to count as much as all that was seen before
KEPT = 40.0  # observations of a bucket that count in the next run, at most: its texts may be others
MOST = 1e6  # and more than so many are no observations

SURE = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)  # borders between strengths
DISPUTED = "?"  # behind a kind: another drafter says something else here
DOUBT = 0.5  # what remains of a chance then, before it is known

# Before anything is known. Kept below what is usually seen: an optimistic start would be paid for in speed.
PRIORS: Mapping[str, Sequence[tuple[int, float]]] = {
    # by length of the match: with the prompt, with the prompt where it is known to hold what is being changed, with the
    # answer so far
    "copy": (
        (0, 0.05),
        (1, 0.2),
        (2, 0.45),
        (3, 0.55),
        (4, 0.65),
        (6, 0.78),
        (8, 0.82),
        (12, 0.93),
        (16, 0.95),
        (24, 0.98),
    ),
    "edited": ((0, 0.05), (1, 0.2), (2, 0.75), (3, 0.86), (4, 0.9), (6, 0.95), (8, 0.96), (12, 0.98), (24, 0.985)),
    "self": (
        (0, 0.05),
        (1, 0.2),
        (2, 0.38),
        (3, 0.48),
        (4, 0.57),
        (6, 0.7),
        (8, 0.75),
        (12, 0.9),
        (16, 0.94),
        (48, 0.97),
    ),
    # with a file at hand that is not in the prompt, with what other requests left behind
    "file": ((0, 0.05), (2, 0.2), (3, 0.3), (4, 0.4), (6, 0.55), (8, 0.7), (12, 0.8), (16, 0.88), (24, 0.95)),
    "past": ((0, 0.03), (2, 0.12), (3, 0.15), (4, 0.3), (6, 0.4), (8, 0.6), (12, 0.7), (16, 0.8), (24, 0.92)),
    # by sixteenths of the share that a continuation with rivals has had, in all cases and one and a half more
    "fork": ((0, 0.03), (1, 0.06), (2, 0.09), (3, 0.12), (4, 0.16), (6, 0.28), (8, 0.4), (12, 0.55)),
    # by tokens copied since a change: of what may be an original, of one that is known to be it
    "resume": ((0, 0.2), (1, 0.5), (2, 0.58), (3, 0.68), (4, 0.75), (6, 0.8), (8, 0.86), (12, 0.93), (16, 0.96)),
    "known": ((0, 0.15), (1, 0.8), (2, 0.84), (3, 0.91), (4, 0.93), (8, 0.95), (12, 0.97), (24, 0.985)),
    # by times that the same replacement was made before, less those that it was not
    "swap": ((0, 0.4), (1, 0.7), (2, 0.85), (3, 0.9), (6, 0.95)),
    # lookahead: by position in the n-gram; and its guesses themselves
    "pool": ((0, 0.25), (1, 0.5), (2, 0.6), (3, 0.6)),
    "guess": ((0, 0.05),),
    # by tokens of the answer before a known original has begun to be copied
    "begin": ((0, 0.3), (1, 0.05), (3, 0.8), (4, 0.05)),
    # by the draft's own probability (`sureness`): its token, the one that it nearly chose, any first token
    "draft": (
        (0, 0.05),
        (1, 0.2),
        (2, 0.4),
        (3, 0.55),
        (4, 0.65),
        (6, 0.76),
        (8, 0.86),
        (12, 0.93),
        (16, 0.965),
        (24, 0.98),
        (32, 0.99),
        (48, 0.995),
    ),
    "second": ((0, 0.05), (1, 0.2), (2, 0.35), (3, 0.4)),
    "draft-mean": ((0, 0.75),),
}


_disputed: Mapping[Bucket, Bucket] = {
    (kind, level): (kind + DISPUTED, level) for kind in PRIORS if kind != "swap" for level in STRENGTHS
}


def bucket(kind: str, strength: int) -> Bucket:
    """The bucket for a strength: the largest listed one not above it."""
    return kind, max(level for level in STRENGTHS if level <= strength)


def sureness(probability: float) -> int:
    """A strength for a draft model's own probability of a token."""
    return STRENGTHS[bisect_right(SURE, probability)]


def disputed(key: Bucket) -> Bucket:
    """The bucket for a token that another drafter contradicts. A replacement is contradicted by what it replaces."""
    return _disputed.get(key, key)


@lru_cache(maxsize=1024)
def prior(key: Bucket) -> float:
    """The acceptance assumed before anything was seen."""
    kind, strength = key
    base = kind.removesuffix(DISPUTED)
    chance = max(chance for level, chance in PRIORS[base] if level <= strength)
    return chance if base == kind else chance * DOUBT


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
                if kind.removesuffix(DISPUTED) in PRIORS and level in _LEVELS and pair[1]:
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

    A kind's tokens are wrong `ratio` times as often here as the table says: observed over expected misses, both with
    FIRM more to begin with (a Gamma-Poisson estimate with mean 1).
    """

    table: AcceptanceTable
    misses: dict[str, tuple[float, float]] = field(default_factory=dict)  # by kind of evidence: observed, expected

    def ratio(self, kind: str) -> float:
        """How often this request's tokens of a kind are wrong, over how often all are."""
        observed, expected = self.misses.get(kind, (0.0, 0.0))
        return (observed + FIRM) / (expected + FIRM)

    def chance(self, key: Bucket) -> float:
        """The table's estimate, moved by the ratio."""
        chance = self.table.chance(key)
        if key[0] in UNBIASED:
            return chance
        return 1.0 - min(1.0, (1.0 - chance) * self.ratio(key[0]))

    def observe(self, key: Bucket, accepted: bool) -> None:
        """Learn for this request and for all."""
        if key[0] not in UNBIASED:
            observed, expected = self.misses.get(key[0], (0.0, 0.0))
            self.misses[key[0]] = observed + (not accepted), expected + 1.0 - self.table.chance(key)
        self.table.observe(key, accepted)
