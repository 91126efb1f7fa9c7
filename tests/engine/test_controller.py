"""Which drafter, how far, or none: what pays by the costs, and never more at stake than was won."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.acceptance import PRIORS, bucket, prior
from paceline.engine.controller import MARGIN, Controller, best_length, expected_tokens
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.drafters.base import NO_DRAFT, Drafter, Proposal
from paceline.engine.growth import EDGE, RISK, WORST, expected_loss
from paceline.engine.pilot import ALLOWANCE, GRANT, LONGEST, Pilot
from paceline.engine.rivals import marked

FLAT = CostCurve((1, 64), (10.0, 10.1))
PROPORTIONAL = CostCurve((1, 64), (10.0, 640.0))
SLOW_DRAFT = CostCurve((1, 64), (9.0, 500.0))
FAST_DRAFT = CostCurve((1, 64), (0.5, 5.0))
CHEAP = CostCurve((1,), (0.1,))


class Offering(Drafter):
    """A drafter that proposes what it is told to."""

    def __init__(self, name="ngram", kind="copy"):
        self.name, self.kind = name, kind
        self.next: list[tuple[int, int]] = []  # (tokens, strength of the first) of each alternative
        self.first = [0, 0, 0]  # token of each alternative
        self.asked: list[int] = []

    def extend(self, tokens):
        pass

    def close(self):
        pass

    def propose(self, limit, worth):
        self.asked.append(limit)
        return [
            Proposal(self.name, list(range(t, t + n))[:limit], [bucket(self.kind, s + i) for i in range(n)][:limit])
            for (n, s), t in zip(self.next, self.first, strict=False)
            if n
        ]


class Drafting(Offering):
    """A draft model: goes on as long as it is worth it, each token costing `each` milliseconds."""

    def __init__(self, each, strength=9):
        super().__init__("draft", "draft")
        self.costs = CostCurve((1,), (each,))
        self.each, self.strength = each, strength

    def propose(self, limit, worth):
        self.asked.append(limit)
        buckets = [bucket("draft", self.strength)]
        while len(buckets) < limit and worth(buckets):
            buckets.append(buckets[0])
        return [Proposal("draft", list(range(len(buckets))), buckets, milliseconds=self.each * len(buckets))]


def played(pilot, curve, drafters, right, limit=LONGEST):
    """One round in which the first `right` tokens of every offer are what the target says: (drafted, accepted, ms)."""
    chosen = pilot.choose(drafters, limit)
    accepted = min(right, len(chosen.tokens))
    committed = [*range(accepted), accepted if accepted < right else 10_000]
    spent = curve.at(len(chosen.tokens) + 1)
    pilot.learn(chosen, range(accepted), committed, spent)
    return len(chosen.tokens), accepted, spent + chosen.milliseconds


# What pays.

chances = st.lists(st.floats(0, 1), max_size=20)


@given(chances)
def test_expected_tokens_are_what_the_chances_say(given_chances):
    totals = expected_tokens(given_chances)
    assert totals[0] == 1.0
    for k in range(1, len(totals)):
        by_hand = 1.0
        for length in range(1, k + 1):
            product = 1.0
            for chance in given_chances[:length]:
                product *= chance
            by_hand += product
        assert totals[k] == pytest.approx(by_hand)


def loss_by_hand(given_chances, cost):
    """Every number of accepted tokens, how likely it is, and what the round then loses."""
    loss, reached = 0.0, 1.0
    for accepted, chance in enumerate([*given_chances, 0.0]):
        loss += reached * (1 - chance) * max(0.0, cost - accepted - 1)
        reached *= chance
    return loss


@given(chances, st.floats(0.5, 30))
def test_the_expected_loss_is_what_the_chances_say(given_chances, cost):
    totals = expected_tokens(given_chances)
    for k in range(1, len(totals)):
        assert expected_loss(totals, k, cost) == pytest.approx(loss_by_hand(given_chances[:k], cost), abs=1e-9)


def test_where_only_long_drafts_pay_a_sure_one_is_drafted_at_once():
    costs = (1.0, 1.95, 2.8, 3.6, 5.2, 8.0, 10.0, 12.0, 17.5, 22.0)  # of plain decodes: two tokens cost nearly two
    curve = CostCurve((1, 2, 3, 4, 6, 8, 12, 16, 24, 32), costs)
    pilot, drafter = Pilot.of(Controller(CostModel(curve))), Offering()
    drafter.next = [(40, 48)]
    assert len(pilot.choose([drafter], 40).tokens) >= 2


@settings(deadline=None)
@given(chances, st.lists(st.floats(0.1, 100), min_size=21, max_size=21), st.floats(0, 20))
def test_the_best_length_is_the_best_of_all_that_the_stake_allows(given_chances, costs, stake):
    model = CostModel(CostCurve(tuple(range(1, 22)), tuple(costs)))
    totals = expected_tokens(given_chances)

    def allowed(k):
        cost = costs[k] / costs[0]
        loss, gain = loss_by_hand(given_chances[:k], cost), totals[k] - cost
        return cost - 1 <= stake + WORST and loss <= max(stake, EDGE * gain) and gain >= RISK * loss

    rates = [totals[k] / costs[k] for k in range(1, len(totals)) if allowed(k)]
    length, rate = best_length(given_chances, model, stake)
    if not rates:
        assert (length, rate) == (0, 0.0)
    else:
        assert allowed(length)
        assert rate == pytest.approx(max(rates))
        assert rate == pytest.approx(totals[length] / costs[length])


def test_where_verifying_costs_as_much_as_decoding_nothing_is_drafted():
    pilot, drafter = Pilot.of(Controller(CostModel(PROPORTIONAL))), Offering()
    drafter.next = [(40, 48)]
    for _ in range(100):
        assert played(pilot, PROPORTIONAL, [drafter], right=40)[0] == 0


def test_where_verifying_costs_nothing_everything_is_drafted():
    pilot, drafter = Pilot.of(Controller(CostModel(FLAT))), Offering()
    drafter.next = [(40, 48)]
    assert list(pilot.choose([drafter], LONGEST).tokens) == list(range(40))


def test_a_gain_within_the_error_of_the_estimates_is_left_alone():
    almost = CostCurve((1, 2), (10.0, 10.0 * 1.98 / (MARGIN - 0.01)))
    more = CostCurve((1, 2), (10.0, 10.0 * 1.98 / (MARGIN + 0.01)))
    drafter = Offering()
    drafter.next = [(1, 24)]  # accepted with 98 %
    assert Pilot.of(Controller(CostModel(almost))).choose([drafter], 1) is NO_DRAFT
    assert len(Pilot.of(Controller(CostModel(more))).choose([drafter], 1).tokens) == 1


def test_a_draft_stops_before_a_cliff_and_never_on_the_dear_side_of_it():
    cliff = CostCurve((1, 2, 3, 4, 5, 6, 64), (10.0, 10.1, 10.2, 10.3, 100.0, 100.1, 106.0))
    pilot, drafter = Pilot.of(Controller(CostModel(cliff))), Offering()
    drafter.next = [(40, 8)]
    for _ in range(50):
        assert played(pilot, cliff, [drafter], right=3)[0] == 3


def test_a_draft_reaches_over_a_bump_to_the_cheap_size_behind_it():
    bump = CostCurve((1, 2, 3, 4, 5), (10.0, 25.0, 34.0, 14.0, 90.0))
    drafter = Offering()
    drafter.next = [(40, 48)]
    assert len(Pilot.of(Controller(CostModel(bump))).choose([drafter], LONGEST).tokens) == 3


def test_the_better_of_several_offers_is_taken():
    drafter = Offering()
    drafter.next = [(20, 1), (20, 48), (20, 2)]
    drafter.first = [10, 20, 30]
    chosen = Pilot.of(Controller(CostModel(FLAT))).choose([drafter], LONGEST)
    assert chosen.tokens[0] == 20


@settings(deadline=None)
@given(st.integers(-2, 100), st.booleans())
def test_a_draft_is_never_longer_than_may_be(limit, forced):
    drafter = Offering()
    drafter.next = [(200, 48)]
    chosen = Pilot.of(Controller(CostModel(FLAT)), forced=forced).choose([drafter], limit)
    assert len(chosen.tokens) <= max(0, min(limit, LONGEST))


def test_forced_drafting_drafts_where_it_does_not_pay():
    drafter = Offering()
    drafter.next = [(5, 0)]
    pilot = Pilot.of(Controller(CostModel(PROPORTIONAL)), forced=True)
    for _ in range(30):
        assert played(pilot, PROPORTIONAL, [drafter], right=0)[0] > 0


# Learning.


def test_drafts_that_are_always_rejected_end_and_ones_that_are_accepted_grow():
    curve = CostCurve((1, 2, 64), (10.0, 12.0, 60.0))
    controller, drafter = Controller(CostModel(curve)), Offering()
    drafter.next = [(30, 3)]
    for right, low, high in ((0, 0, 0), (30, 20, LONGEST)):
        for _ in range(3):  # requests
            pilot = Pilot.of(controller)
            lengths = [played(pilot, curve, [drafter], right)[0] for _ in range(80)]
        assert low <= lengths[-1] <= high


def test_offers_that_were_not_taken_are_learned_from_too():
    controller, drafter = Controller(CostModel(PROPORTIONAL)), Offering()
    drafter.next = [(10, 2)]
    pilot = Pilot.of(controller)
    for _ in range(100):
        assert played(pilot, PROPORTIONAL, [drafter], right=10)[0] == 0
    assert controller.acceptance.chance(("copy", 2)) > 0.85


def test_a_token_behind_a_wrong_one_teaches_nothing():
    controller, drafter = Controller(CostModel(FLAT)), Offering()
    drafter.next = [(4, 3)]
    played(Pilot.of(controller), FLAT, [drafter], right=1)
    assert set(controller.acceptance.counts) == {("copy", 3), ("copy", 4)}


# The stake.

OFFERS = st.lists(st.tuples(st.integers(0, 63), st.sampled_from([0, 1, 2, 4, 8, 24, 48])), max_size=2)


@st.composite
def fixed_curves(draw):
    """Any costs: rising, with cliffs and bumps, or falling."""
    sizes = sorted(draw(st.sets(st.integers(2, 64), max_size=7)))
    return CostCurve((1, *sizes), (10.0, *(draw(st.floats(1.0, 2000.0)) for _ in sizes)))


@settings(max_examples=300, deadline=None)
@given(
    fixed_curves(),
    st.lists(st.tuples(OFFERS, st.one_of(st.just(0), st.integers(0, 63))), min_size=1, max_size=120),
    st.sampled_from(["copy", "self", "resume"]),
)
def test_no_sequence_of_offers_and_outcomes_costs_a_request_more_than_the_grant_and_the_allowance(curve, rounds, kind):
    """The balance never falls below -GRANT - WORST, as a draft is made only where the stake covers all but WORST of its
    cost. It rises by what drafts save, by ALLOWANCE in every round without one, and by what forbidden drafts would have
    saved. So the time is never above plain x (tokens + GRANT + WORST + ALLOWANCE x rounds without a draft + on paper),
    at any moment."""
    pilot, drafter = Pilot.of(Controller(CostModel(curve))), Offering(kind=kind)
    plain, time, tokens, undrafted = curve.at(1), 0.0, 0, 0
    for offers, right in rounds:
        drafter.next = offers
        drafted, accepted, spent = played(pilot, curve, [drafter], right)
        time += spent
        tokens += accepted + 1
        undrafted += drafted == 0
        most = tokens + GRANT + WORST + ALLOWANCE * undrafted + pilot.on_paper
        assert time <= plain * most * (1 + 1e-9)
        assert pilot.balance >= -GRANT - WORST - 1e-9


@pytest.mark.parametrize(
    "curve", [FLAT, CostCurve((1, 2, 64), (10.0, 12.0, 60.0)), CostCurve((1, 8, 64), (10.0, 60.0, 200.0))]
)
def test_a_text_that_turns_against_the_drafts_whenever_they_are_trusted_loses_next_to_nothing(curve):
    controller, drafter = Controller(CostModel(curve)), Offering()
    time = tokens = 0.0
    for _ in range(5):
        pilot = Pilot.of(controller)
        for i in range(200):
            drafter.next = [(40, 12)]
            _, accepted, spent = played(pilot, curve, [drafter], right=40 if i % 40 < 10 and i < 40 else 0)
            time, tokens = time + spent, tokens + accepted + 1
    assert time <= 10.0 * (tokens + 5 * (GRANT + WORST + ALLOWANCE * 200))


def test_what_one_request_lost_is_not_held_against_the_next():
    curve = CostCurve((1, 2), (10.0, 15.0))
    controller, drafter = Controller(CostModel(curve)), Offering()
    drafter.next = [(1, 48)]
    first = Pilot.of(controller)
    while played(first, curve, [drafter], right=0)[0]:
        pass
    assert first.balance < 0
    for _ in range(200):
        controller.acceptance.observe(("copy", 48), True)
    assert len(Pilot.of(controller).choose([drafter], 5).tokens) == 1


def test_a_text_that_turns_for_the_better_is_drafted_again_after_losses():
    curve = CostCurve((1, 2, 8, 64), (10.0, 16.0, 50.0, 160.0))
    pilot, drafter = Pilot.of(Controller(CostModel(curve))), Offering()
    drafter.next = [(40, 16)]
    while pilot.balance > -1.5:
        played(pilot, curve, [drafter], right=0)
    pilot.forecast.table.counts.clear()
    pilot.forecast.misses.clear()
    text = iter(range(10_000))
    at, drafted = 0, []
    for _ in range(60):  # from here on every token is what was offered
        drafter.first = [at]
        chosen = pilot.choose([drafter], LONGEST)
        n = len(chosen.tokens)
        pilot.learn(chosen, range(n), [next(text) for _ in range(n + 1)], curve.at(n + 1))
        at += n + 1
        drafted.append(n)
    assert drafted[0] == 0 or pilot.balance > 0
    assert max(drafted) > 15
    assert sum(drafted) > 200


# Offers that contradict each other.


def test_a_token_that_another_offer_contradicts_is_estimated_apart_from_others():
    one = Proposal("a", [1, 2, 3], [("copy", 4), ("copy", 6), ("copy", 6)])
    other = Proposal("b", [1, 9], [("self", 2), ("self", 3)])
    first, second = marked([one, other])
    assert first.buckets == [("copy", 4), ("copy?", 6), ("copy", 6)]
    assert second.buckets == [("self", 2), ("self?", 3)]
    assert prior(("copy?", 6)) < prior(("copy", 6))


def test_offers_that_agree_and_trees_and_replacements_are_left_as_they_are():
    one = Proposal("a", [1, 2, 3], [("copy", 4)] * 3)
    longer = Proposal("b", [1, 2, 3, 4], [("self", 2)] * 4)
    tree = Proposal("c", [5, 6], [("pool", 0)] * 2, parents=[-1, -1])
    assert marked([one, longer, tree]) == [one, longer, tree]
    swap = Proposal("d", [7], [("swap", 2)])
    assert marked([one, swap])[1] == swap


# The draft model.


def test_a_draft_model_as_slow_as_the_target_is_never_asked():
    controller = Controller(CostModel(FLAT), CostModel(CostCurve((1,), (20.0,))))
    pilot, drafter = Pilot.of(controller), Drafting(20.0)
    for _ in range(500):
        played(pilot, FLAT, [drafter], right=16)
    assert drafter.asked == []
    assert controller.outlook(1.0) < 1.0


def test_a_fast_and_good_draft_model_is_used():
    controller = Controller(CostModel(FLAT), CostModel(FAST_DRAFT))
    pilot, drafter = Pilot.of(controller), Drafting(0.5)
    rounds = [played(pilot, FLAT, [drafter], right=16) for _ in range(60)]
    assert all(drafted > 0 for drafted, *_ in rounds)
    assert sum(ms for *_, ms in rounds) < 0.5 * 10.0 * sum(accepted + 1 for _, accepted, _ in rounds)


def test_a_draft_model_that_is_mostly_wrong_is_left_alone_but_for_rare_probes():
    curve, draft_curve = CostCurve((1, 64), (10.0, 80.0)), CostCurve((1, 64), (2.0, 20.0))
    controller, drafter = Controller(CostModel(curve), CostModel(draft_curve)), Drafting(2.0)
    for _ in range(5):
        pilot = Pilot.of(controller)
        rounds = [played(pilot, curve, [drafter], right=0) for _ in range(200)]
    assert sum(ms for *_, ms in rounds) < 1.03 * 10.0 * len(rounds)


def test_a_draft_model_that_became_good_is_found_out():
    curve, draft_curve = CostCurve((1, 64), (10.0, 40.0)), CostCurve((1, 64), (1.0, 10.0))
    controller, drafter = Controller(CostModel(curve), CostModel(draft_curve)), Drafting(1.0)
    pilot = Pilot.of(controller)
    for _ in range(300):
        played(pilot, curve, [drafter], right=0)
    rounds = [played(pilot, curve, [drafter], right=16) for _ in range(3000)]
    assert all(drafted > 0 for drafted, *_ in rounds[-50:])


def test_without_a_draft_model_there_is_no_outlook():
    assert Controller(CostModel(FLAT)).outlook(1.0) == 0.0
    assert not Controller(CostModel(FLAT)).may_probe(CHEAP)


def test_the_outlook_is_the_best_that_any_length_gives():
    controller = Controller(CostModel(CostCurve((1, 2, 3), (10.0, 12.0, 14.0))), CostModel(CostCurve((1,), (4.0,))))
    by_hand = max((1 + 0.5) / (4 + 12), (1 + 0.5 + 0.25) / (8 + 14), 0)
    assert controller.outlook(0.5, limit=2) == pytest.approx(10 * by_hand)


def test_a_draft_model_that_has_to_read_more_than_it_can_bring_in_is_not_asked():
    class Behind(Drafting):
        backlog = 500

    controller = Controller(CostModel(FLAT), CostModel(FAST_DRAFT))
    reading = CostCurve((1, 2, 64), (0.5, 1.0, 32.0))
    for wanted, asked in ((8, False), (4000, True)):
        drafter = Behind(0.5)
        drafter.costs = reading
        pilot = Pilot.of(controller)
        pilot.choose([drafter], wanted)
        assert bool(drafter.asked) == asked


def test_lookup_is_preferred_where_the_draft_model_gives_less():
    controller = Controller(CostModel(FLAT), CostModel(SLOW_DRAFT))
    lookup, draft = Offering(), Drafting(9.0)
    lookup.next = [(30, 48)]
    assert set(Pilot.of(controller).choose([lookup, draft], LONGEST).drafters) == {"ngram"}
    assert draft.asked == []


@pytest.mark.parametrize("kind", sorted(PRIORS))
def test_every_kind_of_evidence_can_be_offered(kind):
    drafter = Offering(kind=kind)
    drafter.next = [(8, 12)]
    assert len(Pilot.of(Controller(CostModel(FLAT))).choose([drafter], LONGEST).tokens) <= 8
