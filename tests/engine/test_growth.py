"""Growing a draft out of what several drafters offer: the best tree of all that are allowed."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.costs import CostCurve
from paceline.engine.drafters.base import Proposal
from paceline.engine.growth import Candidates, affordable, best_tree
from paceline.engine.sampler import Distribution
from paceline.engine.tree import ROOT, depths, leaves

FLAT = CostCurve((1, 64), (10.0, 10.2))
FREE = float("inf")


def offer(tokens, parents=(), drafter="ngram", drawn=None):
    return Proposal(drafter, tokens, [("copy", 4)] * len(tokens), drawn, parents=parents)


def grown(offers, costs=FLAT, **limits):
    candidates = Candidates()
    for each, chances in offers:
        candidates.add(each, chances)
    how = {"depth": 63, "room": 63, "leaves": 8, "stake": FREE, **limits}
    return best_tree(candidates, costs, **how), candidates


def test_one_chain_stays_a_chain():
    found, _ = grown([(offer([5, 6, 7]), [0.9, 0.9, 0.9])])
    assert list(found.draft.tokens) == [5, 6, 7]
    assert found.draft.parents == ()


def test_two_continuations_share_what_they_have_in_common_and_part_where_they_differ():
    found, _ = grown([(offer([5, 6, 7]), [0.9, 0.6, 0.6]), (offer([5, 8, 9], drafter="edit"), [0.9, 0.5, 0.5])])
    assert sorted(found.draft.tokens) == [5, 6, 7, 8, 9]
    tree = dict(zip(found.draft.tokens, found.draft.tree, strict=True))
    at = {token: node for node, token in enumerate(found.draft.tokens)}
    assert tree == {5: ROOT, 6: at[5], 8: at[5], 7: at[6], 9: at[8]}
    assert dict(zip(found.draft.tokens, found.draft.drafters, strict=True))[8] == "edit"


def test_no_more_ends_than_there_are_sequences():
    offers = [(offer([n, 10 + n]), [0.4, 0.5]) for n in range(6)]
    for most in range(1, 6):
        found, _ = grown(offers, leaves=most)
        assert len(leaves(found.draft.tree)) == most


def test_no_deeper_and_no_larger_than_allowed():
    offers = [(offer(list(range(n, n + 20))), [0.9] * 20) for n in (0, 100)]
    found, _ = grown(offers, depth=3)
    assert max(depths(found.draft.tree)) == 3
    found, _ = grown(offers, room=5)
    assert len(found.draft.tokens) == 5


def test_drawn_tokens_are_all_there_in_the_order_in_which_they_were_drawn_whatever_their_chances():
    q = Distribution(np.array([1, 2], np.int32), np.array([0.5, 0.5]))
    drawn = offer([1, 2, 9], (ROOT, ROOT, 1), drafter="draft", drawn=[q, q, q])
    steep = CostCurve((1, 64), (10.0, 640.0))
    found, _ = grown([(drawn, [0.001, 0.5, 0.001]), (offer([2, 7]), [0.9, 0.9])], steep)
    nodes = [i for i, source in enumerate(found.draft.drawn_from) if source is not None]
    assert [found.draft.tokens[i] for i in nodes] == [1, 2, 9]
    assert {found.draft.drafters[i] for i in nodes} == {"draft"}, "the same token, offered later, is no other one"


@st.composite
def several_offers(draw):
    found = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 4))
        parents = [draw(st.integers(ROOT, i - 1)) for i in range(n)] if draw(st.booleans()) else ()
        tokens = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
        chances = draw(st.lists(st.floats(0.05, 0.95), min_size=n, max_size=n))
        found.append((offer(tokens, parents), chances))
    return found


def promise(candidates, nodes):
    """Expected tokens of these candidates, by the definition: each elder sibling that is there was wrong."""
    total = 1.0
    for node in nodes:
        reach, at = 1.0, node
        while at != ROOT:
            elders = [
                each
                for each in candidates.children[candidates.parents[at]]
                if (-candidates.chances[each], candidates.children[candidates.parents[at]].index(each))
                < (-candidates.chances[at], candidates.children[candidates.parents[at]].index(at))
            ]
            reach *= candidates.chances[at]
            for elder in elders:
                reach *= 1 - candidates.chances[elder]
            at = candidates.parents[at]
        total += reach
    return total


@settings(max_examples=150, deadline=None)
@given(several_offers(), st.lists(st.floats(1.0, 60.0), min_size=13, max_size=13))
def test_it_is_the_best_of_all_trees(offers, costs):
    """Slow twin: every set of candidates that holds the parents of its own."""
    curve = CostCurve(tuple(range(1, 14)), tuple(sorted(costs)))
    found, candidates = grown(offers, curve)
    n = len(candidates.tokens)
    best = 0.0
    for size in range(1, n + 1):
        for nodes in combinations(range(n), size):
            if all(candidates.parents[node] in (ROOT, *nodes) for node in nodes):
                best = max(best, promise(candidates, nodes) / curve.at(size + 1))
    assert found.rate >= best * (1 - 1e-9) or found.rate == pytest.approx(best, rel=0.02), "FAINT ones are left out"


@given(st.floats(0.0, 1.0), st.integers(1, 20), st.floats(1.0, 20.0), st.floats(-5.0, 5.0))
def test_a_draft_that_may_lose_more_than_the_stake_and_four_is_never_affordable(chance, k, cost, stake):
    totals = [sum(chance**i for i in range(j + 1)) for j in range(k + 1)]
    if cost - 1 > stake + 4:
        assert not affordable(totals, k, cost, stake)


def test_a_nearly_sure_win_is_affordable_also_after_losses_and_a_coin_toss_is_not():
    sure = [sum(0.99**i for i in range(j + 1)) for j in range(17)]
    even = [sum(0.5**i for i in range(j + 1)) for j in range(3)]
    assert affordable(sure, 16, 5.0, stake=0.0)
    assert affordable(sure, 16, 4.0, stake=-0.5)
    assert not affordable(even, 2, 1.8, stake=-0.5)
