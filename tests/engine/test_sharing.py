"""A step that several share: what it costs each, who may draft in it, what is learned from it, and who is told what."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.controller import Controller, best_length, expected_tokens
from paceline.engine.costs import CostCurve, CostModel, SharedCosts
from paceline.engine.drafters.base import Drafter, Proposal
from paceline.engine.logprobs import chosen
from paceline.engine.pilot import Pilot
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Chosen, Delta, Finished, Request
from support.by_hand import STEEP, Clock, Steps, Watched, engine_on
from support.driving import FLAT, answer, running
from support.fake_backend import FakeBackend
from support.scripted import Scripted, vocabulary_of

LONG = [(7 * i + i // 3) % 7 for i in range(200)]
COPYING = [1, 2, 3, 4, 5, 6, 7] * 6  # lookup has something to draft at once
FIVES = CostCurve((1, 2, 3, 64), (10.0, 15.0, 20.0, 325.0))


# What a round costs its request.


@st.composite
def shares(draw):
    """(curve that does not fall, base, others)."""
    rises = draw(st.lists(st.floats(0.0, 30.0), min_size=4, max_size=4))
    costs = [draw(st.floats(1.0, 50.0))]
    for rise in rises:
        costs.append(costs[-1] + rise)
    others = draw(st.integers(0, 7))
    base = draw(st.integers(others, 30)) if others else 0
    return CostCurve((1, 2, 8, 16, 64), tuple(costs)), base, others


chances = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20)


@given(shares(), st.integers(1, 40))
def test_alone_a_round_costs_what_it_costs_and_shared_a_plain_one_its_part(share, m):
    curve, base, others = share
    assert SharedCosts(curve, 0, 0).at(m) == pytest.approx(curve.at(m))
    assert SharedCosts(curve, base, others).at(1) * (others + 1) == pytest.approx(curve.at(base + 1))


@given(shares(), st.integers(1, 40))
def test_a_draft_costs_what_it_adds_to_the_step(share, m):
    curve, base, others = share
    costs = SharedCosts(curve, base, others)
    assert costs.at(m) - costs.at(1) == pytest.approx(curve.at(base + m) - curve.at(base + 1), abs=1e-9)


def part(costs, m, milliseconds):
    """Of a step with m tokens of its own that took so long."""
    return costs.of_step(m, milliseconds)


@given(shares(), st.integers(1, 40))
def test_a_step_that_takes_as_long_as_it_should_costs_as_much_as_it_should(share, m):
    curve, base, others = share
    costs = SharedCosts(curve, base, others)
    assert part(costs, m, curve.at(base + m)) == pytest.approx(costs.at(m))


@settings(max_examples=300)
@given(shares(), chances)
def test_the_chosen_length_is_the_best_and_pays_just_where_it_pays_for_all_together(share, chances):
    curve, base, others = share
    costs, totals = SharedCosts(curve, base, others), expected_tokens(chances)

    def together(k):
        """Tokens per millisecond of everybody in the step."""
        return (others + totals[k]) / curve.at(base + k + 1)

    length, rate = best_length(chances, costs)
    assert rate == pytest.approx(max(totals[k] / costs.at(k + 1) for k in range(1, len(totals))))
    if rate * costs.at(1) > 1:
        assert together(length) >= together(0) * (1 - 1e-9)
    else:
        assert all(together(k) <= together(0) * (1 + 1e-9) for k in range(1, len(totals)))


class Knowing(Drafter):
    """Always proposes so many tokens of a copied text."""

    name = "ngram"

    def __init__(self, strengths):
        self.offer = Proposal("ngram", [0] * len(strengths), [("copy", strength) for strength in strengths])

    def propose(self, limit, worth):
        return [replace(self.offer, tokens=self.offer.tokens[:limit], buckets=self.offer.buckets[:limit])]


@settings(max_examples=200)
@given(shares(), st.lists(st.sampled_from([0, 1, 2, 3, 4, 8, 16]), min_size=1, max_size=30))
def test_what_a_request_drafts_beside_others_never_lowers_the_speed_of_all(share, strengths):
    curve, base, others = share
    pilot = Pilot.of(Controller(CostModel(curve)))
    drafter = Knowing(strengths)
    taken = len(pilot.choose([drafter], 40, SharedCosts(curve, base, others)).tokens)
    totals = expected_tokens([pilot.forecast.chance(key) for key in drafter.offer.buckets])
    assert (others + totals[taken]) / curve.at(base + taken + 1) >= (others + 1) / curve.at(base + 1) * (1 - 1e-9)


def test_what_pays_alone_may_not_pay_beside_others():
    curve = CostCurve((1, 2, 8, 9, 64), (10.0, 11.0, 12.0, 30.0, 90.0))
    pilot = Pilot.of(Controller(CostModel(curve)))
    assert pilot.choose([Knowing([8, 8])], 40).tokens
    assert not pilot.choose([Knowing([8, 8])], 40, SharedCosts(curve, 7, 7)).tokens


# What a step is told to have cost.


def clocked(monkeypatch, curve, *, n=8, **how):
    """(steps of an engine whose decodes take what the curve says, the model, the clock)."""
    clock = Clock.in_place(monkeypatch)
    model = Watched(n_seq_max=n, clock=clock, curve=curve, **how)
    return Steps(engine_on(model, curve=curve)), model, clock


@pytest.mark.parametrize("count", [1, 2, 3])
def test_those_who_share_a_step_share_its_time(monkeypatch, count):
    steps, _, _ = clocked(monkeypatch, FIVES)
    for number in range(count):
        steps.submit(number, Request([number, 1], 21, speculation="off"))
    for number in range(count):
        stats = steps.until(number).stats
        assert stats.rounds == stats.plain_rounds == 20, "the first token came with the prompt"
        assert bool(stats.shared_rounds) == (count > 1)
        assert stats.verifying_ms == pytest.approx(20 * FIVES.at(count) / count)
        assert stats.plain_ms == pytest.approx(stats.verifying_ms)


def test_who_goes_on_alone_pays_all_of_it_from_then_on(monkeypatch):
    steps, _, _ = clocked(monkeypatch, FIVES)
    steps.submit("short", Request([1, 1], 11, speculation="off"))
    steps.submit("long", Request([2, 1], 31, speculation="off"))
    assert steps.until("short").stats.verifying_ms == pytest.approx(10 * 7.5)
    stats = steps.until("long").stats
    assert stats.verifying_ms == pytest.approx(10 * 7.5 + 20 * 10.0)
    assert stats.speed_up is None, "the machine was shared"


def test_a_draft_is_paid_by_who_made_it(monkeypatch):
    steps, model, _ = clocked(monkeypatch, FIVES)
    steps.submit("drafts", Request(COPYING, 30, speculation="ngram", draft_length=3))
    steps.submit("plain", Request([2], 200, speculation="off"))
    while "drafts" not in steps.first_token:
        steps.take()
    before = len(model.spans)
    stats = steps.until("drafts").stats
    drafted = [span for spans in model.spans[before:] for span in spans if span.seq == 0]
    shared = [len(spans) > 1 for spans in model.spans[before:]]
    assert any(len(span.tokens) > 1 for span in drafted)
    assert all(shared)
    assert stats.verifying_ms == pytest.approx(sum(7.5 + 5.0 * (len(span.tokens) - 1) for span in drafted))


def test_an_undisturbed_machine_is_known_as_what_it_is_after_any_number_of_shared_steps(monkeypatch):
    steps, _, _ = clocked(monkeypatch, FIVES)
    for number in range(5):
        steps.submit(number, Request([*COPYING, number], 20, speculation="ngram"))
    for number in range(5):
        steps.until(number)
    costs = steps.engine.controller.costs
    assert costs.observed > 5
    assert [costs.at(m) for m in range(1, 40)] == pytest.approx([FIVES.at(m) for m in range(1, 40)])


def observed(steps):
    """What the cost model is told from now on: (tokens, milliseconds)."""
    told, costs = [], steps.engine.controller.costs
    costs.observe = lambda m, milliseconds: told.append((m, round(milliseconds, 6)))
    return told


def test_only_steps_that_read_no_prompt_tell_what_a_step_costs(monkeypatch):
    steps, model, _ = clocked(monkeypatch, STEEP, n_batch=64)
    told = observed(steps)
    steps.submit("first", Request([1], 60, speculation="off"))
    steps.take(1)
    assert told == [(1, 10.0)], "a prompt of one token is read by a plain step"
    steps.take(2)
    steps.submit("second", Request(LONG, 5, speculation="off"))
    while "second" not in steps.first_token:
        steps.take()
    assert told == [(1, 10.0)] * 3, "nothing while the second was reading, nor when it said its first"
    steps.take()
    assert told[3:] == [(2, 15.0)]
    assert len(model.spans) > 5


def test_what_a_request_learns_it_learns_from_the_same_steps(monkeypatch):
    steps, _, _ = clocked(monkeypatch, STEEP, n_batch=64)
    steps.submit("first", Request([1], 500, speculation="off"))
    steps.take(3)
    steps.submit("second", Request(LONG, 1, speculation="off"))
    steps.until("second")
    first = steps.engine._scheduler.running[0].stats
    assert (first.rounds, first.verifying_ms) == (3, pytest.approx(30.0))
    assert steps.ended["second"].stats.rounds == 0


def test_a_step_that_was_shared_with_a_reader_was_shared(monkeypatch):
    steps, _, _ = clocked(monkeypatch, STEEP, n_batch=64)
    steps.submit("first", Request([1], 40, speculation="off"))
    steps.take(3)
    steps.submit("second", Request(LONG, 1, speculation="off"))
    stats = steps.until("first").stats
    assert "second" in steps.ended
    assert stats.speed_up is None


@settings(deadline=None)
@given(shares(), st.integers(1, 40), st.floats(0.3, 3.0))
def test_a_step_of_any_length_costs_each_something_and_nobody_more_than_all_of_it(share, m, pace):
    curve, base, others = share
    milliseconds = curve.at(base + m) * pace
    assert 0 < part(SharedCosts(curve, base, others), m, milliseconds) <= milliseconds * (1 + 1e-9)


# Who drafts.


def test_nobody_drafts_in_a_step_that_reads_a_prompt():
    model = Watched(n_seq_max=4)
    steps = Steps(engine_on(model, curve=STEEP))
    steps.submit("drafts", Request(COPYING, 900, speculation="ngram"))
    steps.take(10)
    steps.submit("reads", Request(LONG, 1, speculation="off"))
    before = len(model.spans)
    steps.until("reads")
    beside = [{span.seq: len(span.tokens) for span in spans} for spans in model.spans[before:]]
    assert len(beside) > 5
    assert all(set(lengths) == {0, 1} and lengths[0] == 1 for lengths in beside)
    steps.take(10)
    assert max(len(span.tokens) for spans in model.spans[-10:] for span in spans) > 1, "and then it does again"


def test_a_less_urgent_one_that_rides_along_does_not_draft():
    model = Watched(n_seq_max=4)
    steps = Steps(engine_on(model, curve=FLAT))
    steps.submit("chat", Request(COPYING, 500, speculation="ngram"))
    steps.take(5)
    steps.submit("completion", Request([5], 20, speculation="off", priority="completion"))
    before = len(model.spans)
    steps.until("completion")
    assert all([len(span.tokens) for span in spans] == [1, 1] for spans in model.spans[before:])
    steps.take(10)
    assert max(map(len, (span.tokens for spans in model.spans[-10:] for span in spans))) > 1


def test_each_draft_is_weighed_against_all_that_is_in_the_step_already(monkeypatch):
    weighed = []
    choose = Pilot.choose

    def watched(pilot, drafters, limit, costs, *more):
        proposal = choose(pilot, drafters, limit, costs, *more)
        weighed.append((costs.base, costs.others, limit, len(proposal.tokens)))
        return proposal

    monkeypatch.setattr(Pilot, "choose", watched)
    model = Watched(n_seq_max=4, n_batch=16)
    steps = Steps(engine_on(model, curve=FLAT))
    for number in range(3):
        steps.submit(number, Request([*COPYING, number], 200, speculation="ngram", draft_length=6))
    while not all(number in steps.first_token for number in range(3)):
        steps.take()
    weighed.clear()
    steps.take(20)
    assert any(taken for _, _, _, taken in weighed)
    for first, second, third in zip(weighed[::3], weighed[1::3], weighed[2::3], strict=True):
        assert [first[0], second[0], third[0]] == [2, 2 + first[3], 2 + first[3] + second[3]]
        assert [each[1] for each in (first, second, third)] == [2, 2, 2]
        left = [13, 13 - first[3], 13 - first[3] - second[3]]
        assert [each[2] for each in (first, second, third)] == [min(6, room) for room in left]


def test_drafts_stay_within_the_cells_that_are_left():
    model = Watched(n_seq_max=2, n_ctx=120)
    steps = Steps(engine_on(model, curve=FLAT))
    for number in range(2):
        steps.submit(number, Request([*COPYING[:40], number], 40, speculation="ngram"))
    for number in range(2):
        end = steps.until(number)
        assert isinstance(end, Finished), end
        assert end.stats.drafted
        assert len(end.tokens) == 40


# Time limits.

LETTERS = vocabulary_of([*(bytes([97 + i]) for i in range(26)), b"\n"])
NEWLINE = 26


def spoken(monkeypatch, script, **request):
    """The answer of a model that takes a second for each token."""
    clock = Clock.in_place(monkeypatch)

    class Slow(Scripted):
        def decode(self, spans, *, hidden=False):
            clock.now += 1
            return super().decode(spans)

    letters = [NEWLINE if letter == "\n" else ord(letter) - 97 for letter in script]
    steps = Steps(engine_on(Slow(LETTERS, letters, prompt=1)))
    steps.submit("it", Request([1], len(script), speculation="off", **request))
    return steps.until("it"), steps.text["it"]


def test_an_answer_whose_time_is_over_ends_once_a_line_is_complete(monkeypatch):
    end, text = spoken(monkeypatch, "ab\ncdefgh", predict_seconds=3.5)
    assert (end.reason, text) == ("length", "ab\ncd"), "the first letter stands at second 0, d at second 4"
    assert any("time" in note for note in end.stats.notes)


def test_a_first_line_is_finished_however_long_it_takes(monkeypatch):
    end, text = spoken(monkeypatch, "abcdefgh\nij", predict_seconds=2.0)
    assert (end.reason, text) == ("length", "abcdefgh\n")


def test_an_answer_within_its_time_is_whole_and_has_no_note(monkeypatch):
    end, text = spoken(monkeypatch, "ab\ncd", predict_seconds=4.0)
    assert (text, end.stats.notes) == ("ab\ncd", [])


def test_the_time_of_the_answer_does_not_run_while_the_prompt_is_read(monkeypatch):
    clock = Clock.in_place(monkeypatch)
    model = Watched(n_batch=16, clock=clock, curve=CostCurve((1,), (1000.0,)))
    steps = Steps(engine_on(model))
    steps.submit("it", Request(LONG, 3, speculation="off", predict_seconds=2.0, prompt_seconds=1000.0))
    assert (steps.until("it").reason, len(steps.ended["it"].tokens)) == ("length", 3)
    assert steps.ended["it"].stats.notes == []


def test_a_prompt_whose_time_is_over_is_read_no_further(monkeypatch):
    clock = Clock.in_place(monkeypatch)
    model = Watched(n_batch=16)
    steps = Steps(engine_on(model))
    steps.submit("late", Request(LONG, 5, speculation="off", prompt_seconds=500.0))
    steps.take(3)
    clock.now += 1000
    decoded = sum(model.decoded)
    end = steps.until("late")
    assert (end.reason, end.tokens, sum(model.decoded)) == ("length", (), decoded)
    assert any("time" in note for note in end.stats.notes)


def test_once_the_answer_has_begun_the_prompts_time_is_no_matter(monkeypatch):
    clock = Clock.in_place(monkeypatch)
    steps = Steps(engine_on(FakeBackend()))
    steps.submit("it", Request([1, 2], 5, speculation="off", prompt_seconds=500.0))
    steps.take(2)
    clock.now += 1000
    assert len(steps.until("it").tokens) == 5


# Log-probabilities.


@pytest.mark.parametrize("speculation", ["off", "ngram", "draft"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_each_token_is_told_in_order_with_what_the_model_thought_of_it(speculation, temperature):
    model = FakeBackend(n_seq_max=3, end=7)
    steps = Steps(engine_on(model, draft=FakeBackend(n_seq_max=3, noise=0.3, end=7)))
    prompts = {number: [*COPYING[:-1], number] for number in range(3)}
    for number, prompt in prompts.items():
        sampler = SamplerSettings(temperature=temperature, seed=number)
        steps.submit(number, Request(prompt, 40, sampler, speculation=speculation, logprobs=number))
    for number, prompt in prompts.items():
        end = steps.until(number)
        assert end.tokens
        told, events = steps.chosen(number), steps.events[number]
        assert tuple(each.token for each in told) == end.tokens
        for i, each in enumerate(told):
            expected = chosen(model.row([*prompt, *end.tokens[:i]]), each.token, number)
            assert each.logprob == pytest.approx(expected.logprob)
            assert [token for token, _ in each.alternatives] == [token for token, _ in expected.alternatives]
            assert len(each.alternatives) == number
        assert isinstance(events[-1], Finished)
    if speculation != "off":
        assert any(steps.ended[number].stats.drafted for number in prompts)


def test_who_did_not_ask_for_them_is_told_none():
    steps = Steps(engine_on(FakeBackend(n_seq_max=2)))
    steps.submit("asks", Request([1], 5, logprobs=0))
    steps.submit("does not", Request([1], 5))
    steps.until("does not")
    assert steps.chosen("does not") == []
    assert [each.alternatives for each in steps.chosen("asks")] == [()] * 5


def test_a_token_is_told_in_the_step_in_which_its_text_is_sent():
    steps = Steps(engine_on(FakeBackend()))
    steps.submit("it", Request([1], 5, speculation="off", logprobs=0))
    steps.until("it")
    kinds = [type(event) for event in steps.events["it"] if isinstance(event, (Delta, Chosen))]
    assert kinds == [Delta, Chosen] * 5


def test_streams_bring_them_too():
    with running() as engine:
        events = list(engine.submit(Request([1, 2], 4, logprobs=2)))
        assert sum(isinstance(event, Chosen) for event in events) == 4
        assert all(math.isfinite(event.logprob) for event in events if isinstance(event, Chosen))
        assert len(answer(engine, Request([1, 2], 4)).tokens) == 4
