"""The acceptance rules on hand-made distributions: whatever was drafted, what comes out has the target's."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.sampler import Distribution
from paceline.engine.tree import chain as links
from paceline.engine.verify import acceptance, residual
from paceline.engine.verify import verify as verify_tree
from support.chi_square import REFUSED, agreement

SAMPLES = 4000
DRAW = 9  # a stream of randomness that the rules do not use


def verify(draft, drawn_from, target, seed, position):
    """A chain, with `target(i)` the distribution behind its first i tokens."""
    drawn = drawn_from or [None] * len(draft)
    return verify_tree(draft, links(len(draft)), drawn, lambda path: target(len(path)), seed, position)


def made(chances: dict[int, float]) -> Distribution:
    ids = sorted(chances)
    return Distribution(np.array(ids, np.int32), np.array([chances[i] for i in ids]) / sum(chances.values()))


# name: (target, draft)
PAIRS = {
    "like each other": ({0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.4, 1: 0.4, 2: 0.2}),
    "equal": ({0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.5, 1: 0.3, 2: 0.2}),
    "opposed": ({0: 0.9, 1: 0.08, 2: 0.02}, {0: 0.02, 1: 0.08, 2: 0.9}),
    "the draft says more than the target can": ({1: 0.7, 3: 0.3}, {0: 0.3, 1: 0.2, 2: 0.3, 3: 0.2}),
    "the target says more than the draft can": ({0: 0.3, 1: 0.2, 2: 0.3, 3: 0.2}, {1: 0.7, 3: 0.3}),
    "nothing in common": ({0: 0.6, 1: 0.4}, {2: 0.5, 3: 0.5}),
    "the draft is sure and right": ({0: 1.0}, {0: 1.0}),
    "the draft is sure": ({0: 0.4, 1: 0.6}, {0: 1.0}),
    "the target is sure": ({2: 1.0}, {1: 0.5, 2: 0.5}),
    "both are sure and differ": ({1: 1.0}, {2: 1.0}),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("stochastic", [True, False], ids=["drawn", "fixed"])
def test_one_token_has_the_targets_distribution(name, stochastic):
    target, draft = map(made, PAIRS[name])
    out = []
    for seed in range(SAMPLES):
        drafted = draft.choose(seed, 5, DRAW) if stochastic else int(draft.ids[-1])
        verdict = verify([drafted], [draft] if stochastic else None, lambda i: target, seed, 5)
        out.append(drafted if verdict.path else verdict.token)
    assert agreement(out, PAIRS[name][0]) > REFUSED


@pytest.mark.parametrize("name", PAIRS)
def test_as_many_drawn_tokens_stand_as_the_two_distributions_overlap(name):
    target, draft = PAIRS[name]
    overlap = sum(min(target.get(i, 0), draft[i]) for i in draft)
    p, q = made(target), made(draft)
    stood = [len(verify([q.choose(seed, 5, DRAW)], [q], lambda i: p, seed, 5).path) for seed in range(SAMPLES)]
    assert agreement(stood, {1: overlap, 0: 1 - overlap}) > REFUSED


def chain(seed: int, n: int = 4, spread: float = 1.0) -> dict[tuple[int, ...], Distribution]:
    """A distribution over n tokens after every beginning of at most three."""
    random = np.random.default_rng(seed)
    beginnings = [()]
    for length in range(3):
        beginnings += [(*b, t) for b in list(beginnings) if len(b) == length for t in range(n)]
    chances = np.exp(random.normal(0, spread, (len(beginnings), n)))
    chances[random.random(chances.shape) < 0.2] = 0.0
    chances[:, 0] += 0.05
    return {
        b: Distribution(np.flatnonzero(row).astype(np.int32), row[row > 0] / row.sum())
        for b, row in zip(beginnings, chances, strict=True)
    }


def three_tokens(target, draft, seed, *, stochastic, reach=3):
    """Three tokens in as many rounds as it takes; a fixed drafter takes the likeliest."""
    out: tuple[int, ...] = ()
    while len(out) < 3:
        drafted: tuple[int, ...] = ()
        drawn = []
        for i in range(min(reach, 3 - len(out))):
            q = draft[out + drafted]
            token = q.choose(seed, 10 + len(out) + i, DRAW) if stochastic else int(q.ids[np.argmax(q.probabilities)])
            drafted += (token,)
            drawn.append(q)
        verdict = verify(
            drafted,
            drawn if stochastic else None,
            lambda i, out=out, drafted=drafted: target[(out + drafted[:i])[:3]],
            seed,
            10 + len(out),
        )
        out += (*drafted[: len(verdict.path)], verdict.token)
    return out[:3]


@pytest.mark.parametrize("stochastic", [True, False], ids=["drawn", "fixed"])
@pytest.mark.parametrize("reach", [1, 2, 3])
def test_three_tokens_together_have_the_targets_distribution(stochastic, reach):
    target, draft = chain(1), chain(2)
    exact = {
        (a, b, c): target[()].of(a) * target[(a,)].of(b) * target[(a, b)].of(c)
        for a in range(4)
        for b in range(4)
        for c in range(4)
    }
    out = [three_tokens(target, draft, seed, stochastic=stochastic, reach=reach) for seed in range(SAMPLES)]
    assert agreement(out, exact) > REFUSED


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=2, max_size=5))
def test_with_a_fixed_drafter_the_answer_does_not_depend_on_the_draft(seed, drafts):
    target = chain(seed % 7)
    answers = set()
    for draft in drafts:
        verdict = verify(draft, None, lambda i, draft=draft: target[tuple(draft[:i])], seed, 3)
        out = [*draft[: len(verdict.path)], verdict.token]
        while len(out) < 4:  # go on without drafts
            out.append(verify((), None, lambda i, out=out: target[tuple(out)], seed, 3 + len(out)).token)
        answers.add(tuple(out[:4]))
    assert len(answers) == 1


def test_no_position_behind_a_rejected_token_is_looked_at():
    sure = made({1: 1.0})
    asked = []

    def target(i):
        asked.append(i)
        return sure

    assert len(verify([1, 1, 0, 1, 1], None, target, 0, 0).path) == 2
    assert asked == [0, 1, 2]
    asked.clear()
    assert len(verify([1, 0, 1], [made({0: 0.5, 1: 0.5})] * 3, target, 0, 0).path) == 1
    assert asked == [0, 1]


def test_a_fully_accepted_draft_brings_one_token_more():
    verdict = verify([4, 5], None, lambda i: made({4 + i: 1.0}), 0, 0)
    assert (len(verdict.path), verdict.token) == (2, 6)


weights = st.dictionaries(st.integers(0, 6), st.floats(1e-3, 1.0), min_size=1, max_size=7)


@settings(deadline=None)
@given(weights, weights)
def test_acceptance_and_residual_add_up_to_the_target(p_weights, q_weights):
    p, q = made(p_weights), made(q_weights)
    accepted = {int(x): q.of(int(x)) * acceptance(p, q, int(x)) for x in q.ids}
    rejected = 1.0 - sum(accepted.values())
    rest = residual(p, q)
    for token in range(7):
        after_rejection = rejected * rest.of(token) if rejected > 1e-12 else 0.0
        assert accepted.get(token, 0.0) + after_rejection == pytest.approx(p.of(token), abs=1e-9)


@settings(deadline=None)
@given(weights, weights)
def test_the_residual_is_a_distribution_over_the_targets_tokens(p_weights, q_weights):
    p, q = made(p_weights), made(q_weights)
    rest = residual(p, q)
    assert set(rest.ids.tolist()) <= set(p.ids.tolist())
    assert (rest.probabilities > 0).all()
    assert rest.probabilities.sum() == pytest.approx(1.0)


def test_a_rejected_token_is_never_said_instead():
    p, q = made({0: 0.2, 1: 0.8}), made({0: 0.9, 1: 0.1})
    verdicts = [verify([0], [q], lambda i: p, seed, 0) for seed in range(500)]
    assert Counter(v.token for v in verdicts if not v.path).keys() == {1}
