"""What drafters share: their protocol, what they propose, and what a round makes of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from paceline.engine.acceptance import Bucket
from paceline.engine.backend import Logits
from paceline.engine.costs import Costs
from paceline.engine.sampler import Distribution
from paceline.engine.tree import Parents, chain

Worth = Callable[[Sequence[Bucket]], bool]  # given the buckets of a draft so far: is one more token worth drafting?


@dataclass(frozen=True)
class Proposal:
    """Tokens that may come next: a chain or, with `parents`, a tree (engine.tree).

    `buckets[i]` says what the acceptance of token i is estimated by, given that those it follows were accepted.
    `drawn_from` holds the distributions of a stochastic drafter: what token i was drawn from, given its elder siblings.
    None: a deterministic drafter. `milliseconds`: what making it cost. `whole`: it is verified as it is or not at all.
    `future`: tokens that verifying it will bring in later rounds, where it serves to find them.
    """

    drafter: str
    tokens: Sequence[int]
    buckets: Sequence[Bucket]
    drawn_from: Sequence[Distribution] | None = field(default=None, repr=False)
    milliseconds: float = 0.0
    parents: Parents = ()
    whole: bool = False
    future: float = 0.0


@dataclass(frozen=True)
class Draft:
    """What a round verifies: tokens, as a chain or a tree, each with the drafter that it came from.

    `drawn_from[i]`: the distribution token i was drawn from, None: it was chosen without chance.
    """

    tokens: Sequence[int]
    drafters: Sequence[str]
    drawn_from: Sequence[Distribution | None] = field(repr=False)
    parents: Parents = ()  # empty: a chain
    milliseconds: float = 0.0  # what making it cost
    maker: str = ""  # the drafter whose time that was

    @classmethod
    def of(cls, proposal: Proposal, length: int | None = None) -> "Draft":
        """A proposal's first `length` tokens."""
        tokens = proposal.tokens[:length]
        drawn: Sequence[Distribution | None] = proposal.drawn_from or [None] * len(tokens)
        parents, n = proposal.parents[:length], len(tokens)
        return cls(tokens, [proposal.drafter] * n, drawn[:n], parents, proposal.milliseconds)

    def cut(self, length: int) -> "Draft":
        """Its first `length` tokens."""
        if length >= len(self.tokens):
            return self
        drafters, drawn, parents = self.drafters[:length], self.drawn_from[:length], self.parents[:length]
        return Draft(self.tokens[:length], drafters, drawn, parents, self.milliseconds, self.maker)

    @property
    def tree(self) -> Parents:
        """The parents, a chain's too."""
        return self.parents or chain(len(self.tokens))


NO_DRAFT = Draft((), (), ())


@dataclass(frozen=True)
class Outcome:
    """What a round's decode showed, for drafters that learn from it. The arrays are views: copy what is kept.

    `rows` (1 + tokens of the draft, n_vocab): logits after the last committed token, then after each drafted one.
    `hidden` (as many rows, n_embd): the target's last hidden states, where a drafter of the request needs them.
    `path`: the drafted tokens that were accepted; the committed ones are theirs and one more.
    """

    draft: Draft
    rows: Logits = field(repr=False)
    hidden: NDArray[np.float32] | None = field(repr=False)
    path: Sequence[int]


class Drafter:
    """One request's drafter. It is told of every committed token, in order, and proposes what may follow.

    This one never has an idea; others replace what they need.
    """

    name = ""  # for statistics and settings: "ngram", "draft"
    costs: Costs | None = None  # of one decode of its own; None: proposing costs next to nothing
    needs_hidden = False  # whether `see` must have the target's hidden states

    @property
    def backlog(self) -> int:
        """Tokens that one which decodes would have to read before it can draft."""
        return 0

    @property
    def loading_ms(self) -> float:
        """About what it takes to load what it needs; 0: it is loaded."""
        return 0.0

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were committed: the prompt at first, then what each round brought."""

    def catch_up(self) -> None:
        """A step goes by, be it that the prompt is read or a round: do a piece of what was put off."""

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """Up to `limit` tokens that may follow, in alternatives; empty where it has no idea.

        A drafter that decodes asks `worth` before each further token. Raises PacelineError: it cannot go on, and is
        turned off; DecodeAborted.
        """
        return ()

    def see(self, outcome: Outcome) -> None:
        """A round has ended; `extend` with its tokens follows."""

    def rest(self) -> None:
        """The request has to wait: give back what others need, and go on afterwards as if nothing had been."""

    def close(self) -> None:
        """The request is over."""
