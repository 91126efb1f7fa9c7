"""The acceptance rules: which drafted tokens stand, and what comes after them.

Speculative sampling (Leviathan, Kalman and Matias 2023, algorithm 1; Chen et al. 2023). With p the target's final
distribution at a position and q the draft's, both after temperature, filters, penalties and masks:

    accept x ~ q with probability min(1, p(x) / q(x));
    at the first rejection draw from normalised max(0, p - q), and stop;
    when every token stands, draw one more from p.

What comes out has distribution p, whatever q is. A deterministic drafter has q(x) = 1: x is accepted with probability
p(x) and otherwise the token is drawn from p without x. That is the same as drawing y ~ p and accepting when y = x, and
in this form the outcome does not depend on the draft at all: only on seed and position.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paceline.engine.noise import uniform
from paceline.engine.sampler import Distribution

CHOICE, ACCEPTANCE, RESIDUAL = 0, 1, 2  # streams of randomness that must not meet


@dataclass(frozen=True)
class Verdict:
    """The first `accepted` drafted tokens stand and `token` follows them."""

    accepted: int
    token: int


def acceptance(p: Distribution, q: Distribution, token: int) -> float:
    """min(1, p(x) / q(x)) for a token that was drawn from q."""
    drawn = q.of(token)
    assert drawn > 0.0, "a drafted token has a positive draft probability"
    return min(1.0, p.of(token) / drawn)


def residual(p: Distribution, q: Distribution) -> Distribution:
    """Normalised max(0, p - q). Where p = q nothing can have been rejected; p itself then stands in."""
    rest = np.maximum(0.0, p.probabilities - np.array([q.of(int(token)) for token in p.ids]))
    total = rest.sum()
    if total <= 0.0:
        return p
    kept = rest > 0.0
    return Distribution(p.ids[kept], rest[kept] / total)


def verify(
    draft: Sequence[int],
    drawn_from: Sequence[Distribution] | None,
    target: Callable[[int], Distribution],
    seed: int,
    position: int,
) -> Verdict:
    """Decide over a draft.

    `drawn_from`: the distributions the draft was drawn from, None for a deterministic drafter. `target(i)`: the
    target's final distribution after the first i drafted tokens, asked for only as far as needed. `position`: index in
    the sequence of the first drafted token.
    """
    for i, token in enumerate(draft):
        p = target(i)
        if drawn_from is None:
            choice = p.choose(seed, position + i, CHOICE)
            if choice != token:
                return Verdict(i, choice)
            continue
        if uniform(seed, position + i, ACCEPTANCE) >= acceptance(p, drawn_from[i], token):
            return Verdict(i, residual(p, drawn_from[i]).choose(seed, position + i, RESIDUAL))
    return Verdict(len(draft), target(len(draft)).choose(seed, position + len(draft), CHOICE))
