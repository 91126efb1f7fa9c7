"""The acceptance rules: which drafted tokens stand, and what comes after them.

Speculative sampling (Leviathan, Kalman and Matias 2023, algorithm 1; Chen et al. 2023) and, where a draft branches, its
extension to several candidates (SpecInfer, Miao et al. 2024, multi-step speculative sampling). With p the target's
final distribution at a position, after temperature, filters, penalties and masks, and x1, x2, ... the candidates there,
each drawn from its q given those before it:

    accept xi with probability min(1, p(xi) / qi(xi));
    otherwise replace p by normalised max(0, p - qi) and go on to the next candidate;
    when none is accepted draw from what p has become, and stop;
    when a path is accepted to its end, draw one more from p.

What comes out has distribution p, whatever the q are. A deterministic candidate has q(x) = 1: x is accepted with
probability p(x), and otherwise p goes on without x. For all deterministic candidates of a position together that is
the same as drawing y ~ p and accepting the one that equals y. In this form the outcome does not depend on the draft at
all: only on seed and position.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paceline.engine.noise import uniform
from paceline.engine.sampler import Distribution
from paceline.engine.tree import ROOT, Parents, children

CHOICE, ACCEPTANCE, RESIDUAL = 0, 1, 2  # streams of randomness that must not meet
SIBLING = 16  # from one candidate's stream to that of the next at the same position


@dataclass(frozen=True)
class Verdict:
    """The drafted tokens on `path` (indices, from the first on) stand, and `token` follows them."""

    path: Sequence[int]
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
    tokens: Sequence[int],
    tree: Parents,
    drawn_from: Sequence[Distribution | None],
    target: Callable[[Sequence[int]], Distribution],
    seed: int,
    position: int,
) -> Verdict:
    """Decide over a draft.

    `tree`: the parents of the tokens (engine.tree). `drawn_from[i]`: what token i was drawn from given its elder
    siblings, None where it was not drawn. `target(path)`: the target's final distribution behind the drafted tokens on
    this path, asked for only as far as needed. `position`: index in the sequence of the first drafted token.
    """
    after, path = children(tree), list[int]()
    while True:
        here, at = after.get(path[-1] if path else ROOT, []), position + len(path)
        accepted, token = choose_among(here, tokens, drawn_from, target(path), seed, at)
        if accepted is None:
            return Verdict(path, token)
        path.append(accepted)


def choose_among(
    candidates: Sequence[int],
    tokens: Sequence[int],
    drawn_from: Sequence[Distribution | None],
    p: Distribution,
    seed: int,
    position: int,
) -> tuple[int | None, int]:
    """(accepted candidate or None, the token at this position): one step of the rule."""
    drawn = [node for node in candidates if drawn_from[node] is not None]
    for number, node in enumerate(drawn):
        q = drawn_from[node]
        assert q is not None, "only drawn candidates are looked at"
        if uniform(seed, position, ACCEPTANCE + SIBLING * number) < acceptance(p, q, tokens[node]):
            return node, tokens[node]
        p = residual(p, q)
    token = p.choose(seed, position, RESIDUAL if drawn else CHOICE)
    fixed = (node for node in candidates if drawn_from[node] is None and tokens[node] == token)
    return next(fixed, None), token
