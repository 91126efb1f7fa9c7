"""The protocol of drafters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from paceline.engine.acceptance import Bucket
from paceline.engine.sampler import Distribution

Worth = Callable[[Sequence[Bucket]], bool]  # given the buckets of a draft so far: is one more token worth drafting?


@dataclass(frozen=True)
class Proposal:
    """Tokens that may come next, likeliest continuation first to last.

    `buckets[i]` says what the acceptance of token i is estimated by. `drawn_from` holds the distributions of a
    stochastic drafter, None for a deterministic one. `milliseconds`: what making it cost.
    """

    drafter: str
    tokens: Sequence[int]
    buckets: Sequence[Bucket]
    drawn_from: Sequence[Distribution] | None = field(default=None, repr=False)
    milliseconds: float = 0.0

    def cut(self, length: int) -> "Proposal":
        """Its first `length` tokens."""
        drawn = None if self.drawn_from is None else self.drawn_from[:length]
        return Proposal(self.drafter, self.tokens[:length], self.buckets[:length], drawn, self.milliseconds)


NOTHING = Proposal("none", (), ())


class Drafter(Protocol):
    """One request's drafter. It sees every committed token, in order, and proposes what may follow."""

    @property
    def name(self) -> str:
        """For statistics and settings: "ngram", "draft"."""
        ...

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were committed: the prompt at first, then what each round brought."""
        ...

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """Up to `limit` tokens that may follow, in alternatives; empty where it has no idea."""
        ...

    def close(self) -> None:
        """The request is over."""
        ...
