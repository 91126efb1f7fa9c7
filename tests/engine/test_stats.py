"""The numbers add up: what was drafted, what stood, how long it took, and what that means."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from paceline.engine.stats import DrafterStats, Stats
from support.driving import answer, running
from support.fake_backend import FakeBackend


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["auto", "ngram", "draft"]),
    st.integers(1, 80),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
    st.sampled_from([None, 7]),
    st.sampled_from([0.1, 1.0]),
)
def test_every_token_is_either_accepted_or_wasted_or_the_targets_own(speculation, n, temperature, seeded, end, noise):
    with running(FakeBackend(end=end), FakeBackend(end=end, noise=noise)) as engine:
        got = answer(engine, Request([1, 2, 1, 2, 1], n, SamplerSettings(temperature), seeded, speculation=speculation))
    stats, timings = got.stats, got.stats.timings()
    assert stats.predicted_tokens == len(got.tokens) == timings["predicted_n"]
    assert timings["usual_prompt_per_second"] > 0
    assert timings["draft_n"] == timings["draft_n_accepted"] + timings["wasted_n"]
    # Every round, and the prompt's own pass, brings one token of the target's, unless the answer ended inside a draft.
    assert 0 <= 1 + stats.rounds + stats.accepted - stats.predicted_tokens <= 1
    rounds = [each.rounds for each in stats.drafters.values()]  # several may have a part in one
    assert stats.plain_rounds + max(rounds, default=0) <= stats.rounds <= stats.plain_rounds + sum(rounds)
    for each in stats.drafters.values():
        assert sum(each.proposed_at.values()) == each.drafted
        assert sum(each.accepted_at.values()) == each.accepted
        assert each.proposed_at[0] <= each.rounds, "the others begin behind somebody else's token"
        for i in each.accepted_at:
            assert each.accepted_at[i] <= each.proposed_at[i]
    deep = [sum(each.accepted_at[i] for each in stats.drafters.values()) for i in range(80)]
    assert deep == sorted(deep, reverse=True), "a token stands only if the one before it does, whosever that is"


def test_acceptance_by_position_is_the_share_of_drafts_that_reached_it():
    stats = DrafterStats()
    for drafted, accepted in ((3, 3), (3, 1), (1, 0), (2, 1)):
        stats.note(range(drafted), range(accepted))
    assert (stats.drafted, stats.accepted, stats.rounds) == (9, 5, 4)
    assert stats.acceptance_by_position() == [0.75, 0.333, 0.5]


def test_plain_decoding_drafts_nothing_and_counts_its_rounds():
    with running() as engine:
        stats = answer(engine, Request([1, 2], 30, speculation="off")).stats
    assert (stats.drafted, stats.accepted, stats.drafters) == (0, 0, {})
    assert stats.rounds == stats.plain_rounds == 29


def test_times_are_parts_of_the_whole():
    with running(FakeBackend(), FakeBackend(noise=0.3)) as engine:
        stats = answer(engine, Request([1, 2], 200, speculation="draft")).stats
    assert stats.prompt_ms > 0
    parts = (stats.drafting_ms, stats.verifying_ms, stats.sampling_ms)
    assert all(part > 0 for part in parts)
    assert sum(parts) <= stats.predicted_ms + stats.prompt_ms


def test_rates_follow_from_counts_and_times():
    stats = Stats(prompt_tokens=50, cached_tokens=10, prompt_ms=200.0, predicted_tokens=30, predicted_ms=1500.0)
    timings = stats.timings()
    assert timings["usual_prompt_per_second"] is None
    assert timings["prompt_n"] == 40
    assert timings["prompt_per_second"] == 200.0
    assert timings["predicted_per_second"] == 20.0


def test_speed_up_compares_with_as_many_plain_decodes():
    """The first token comes out of the prompt's pass, so n tokens are n - 1 decodes."""
    stats = Stats(predicted_tokens=11, predicted_ms=500.0, usual_plain_ms=100.0)
    assert stats.speed_up == pytest.approx(2.0)


def test_plain_rounds_of_the_same_request_are_the_better_comparison():
    stats = Stats(predicted_tokens=11, predicted_ms=500.0, usual_plain_ms=100.0, plain_rounds=10, plain_ms=500.0)
    assert stats.speed_up == pytest.approx(1.0)


@pytest.mark.parametrize("stats", [Stats(), Stats(predicted_tokens=1, predicted_ms=0.1, usual_plain_ms=9.0)], ids=str)
def test_where_nothing_can_be_said_nothing_is_said(stats):
    assert stats.speed_up is None
    assert stats.timings()["speed_up"] is None


def test_timings_are_plain_data_with_the_names_of_llama_cpps_server():
    with running(FakeBackend(), FakeBackend(noise=0.3)) as engine:
        timings = answer(engine, Request([1, 2, 1, 2], 40)).stats.timings()
    assert json.loads(json.dumps(timings)) == timings
    assert {
        "prompt_n",
        "prompt_ms",
        "prompt_per_second",
        "predicted_n",
        "predicted_ms",
        "predicted_per_second",
        "draft_n",
        "draft_n_accepted",
    } <= timings.keys()


def test_one_requests_numbers_are_not_anothers():
    with running(FakeBackend(), FakeBackend(noise=0.3)) as engine:
        first = answer(engine, Request([1, 2], 50, speculation="draft")).stats
        second = answer(engine, Request([3, 4], 5, speculation="off")).stats
    assert first.drafted > 0
    assert (second.drafted, second.predicted_tokens, second.rounds) == (0, 5, 4)
