"""Logits to the final distribution: the fast way gives what the slow one gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paceline.engine.sampler import NEAR, Distribution, SamplerSettings, distribution, penalised
from paceline.errors import EngineError
from support.naive_sampler import naive_distribution

OFF = SamplerSettings(temperature=1.0, top_k=0, top_p=1.0)


def as_dict(found: Distribution) -> dict[int, float]:
    assert list(found.ids) == sorted(set(found.ids.tolist())), "ids rise"
    assert found.probabilities.sum() == pytest.approx(1.0)
    return {int(i): float(p) for i, p in zip(found.ids, found.probabilities, strict=True) if p > 0}


def near_a_border(logits, how, recent=(), allowed=None):
    """Whether top-p or min-p is decided by the last digits, where two ways to add up may differ."""
    return any(
        naive_distribution(logits, replace(how, temperature=1.0, **moved), recent, allowed).keys()
        != naive_distribution(logits, replace(how, temperature=1.0), recent, allowed).keys()
        for moved in (
            {"top_p": how.top_p * (1 - 1e-6)},
            {"top_p": min(1.0, how.top_p * (1 + 1e-6))} if how.top_p < 1 else {},
            {"min_p": how.min_p * (1 - 1e-5)},
            {"min_p": min(1.0, how.min_p * (1 + 1e-5))},
        )
    )


def same_as_naive(logits, how, recent=(), allowed=None):
    """Nothing is reported for cases that the last digits decide."""
    expected = naive_distribution(logits, how, recent, allowed)
    found = as_dict(distribution(logits, how, recent, None if allowed is None else np.array(allowed, np.int32)))
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


# Steps of 1/8 make ties common and keep single precision exact; the wide ones leave the window around the maximum.
levels = st.integers(-240, 240).map(lambda step: step / 8)
rows = st.lists(st.one_of(levels, st.sampled_from([-np.inf, 0.0, 1.0, -100.0])), min_size=1, max_size=40).filter(
    lambda row: max(row) > -np.inf
)
how_to_sample = st.builds(
    SamplerSettings,
    temperature=st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5, 10.0]),
    top_k=st.sampled_from([0, 0, 1, 2, 3, 10, 39, 40, 1000]),
    top_p=st.one_of(st.just(1.0), st.sampled_from([0.0, 0.3, 0.95, 0.9999999]), st.floats(0.01, 0.99)),
    min_p=st.one_of(st.just(0.0), st.sampled_from([1e-9, 1e-7, 0.05, 0.3, 1.0])),
    repetition_penalty=st.sampled_from([1.0, 1.0, 1.25, 2.0, 0.5]),
    repetition_window=st.sampled_from([64, 64, 64, 0]),
    presence_penalty=st.sampled_from([0.0, 0.0, 0.5, 2.0, -1.0]),
    frequency_penalty=st.sampled_from([0.0, 0.0, 0.25, 1.5, -0.1]),
    logit_bias=st.one_of(
        st.just(()),
        st.lists(
            st.tuples(st.integers(-2, 45), st.one_of(levels, st.sampled_from([-np.inf, 100.0, -100.0]))), max_size=6
        ).map(tuple),
    ),
)


@settings(max_examples=600, deadline=None)
@given(row=rows, how=how_to_sample, data=st.data())
def test_any_row_and_any_settings_give_what_the_slow_way_gives(row, how, data):
    logits = np.array(row, np.float32)
    ids = st.integers(0, len(row) - 1)
    recent = data.draw(st.lists(ids, max_size=8))
    allowed = data.draw(st.one_of(st.none(), st.lists(ids, min_size=1, max_size=20, unique=True)))
    banned = {token for token, bias in how.logit_bias if bias == -np.inf}
    assume({*np.flatnonzero(logits > -np.inf).tolist()} & {*(range(len(row)) if allowed is None else allowed)} - banned)
    assume(not near_a_border(logits, how, recent, allowed))
    same_as_naive(logits, how, recent, allowed)


HUGE = 30_000


@pytest.mark.parametrize("spread", [0.01, 1.0, 4.0, 30.0])
@pytest.mark.parametrize(
    "how",
    [
        {"top_k": 40},
        {"top_k": 2000},
        {"top_p": 0.95},
        {"top_p": 0.9999},
        {"min_p": 0.05},
        {"min_p": 1e-9},
        {"top_p": 0.9, "min_p": 1e-8},
        {"top_k": 500, "top_p": 0.999, "min_p": 1e-4, "temperature": 0.7},
        {"repetition_penalty": 1.3, "top_p": 0.8, "temperature": 1.5},
        {"presence_penalty": 0.7, "frequency_penalty": 0.3, "top_k": 40},
        {"logit_bias": ((3, 40.0), (29_999, -np.inf), (30_000, 5.0)), "top_p": 0.95},
    ],
    ids=str,
)
def test_a_large_vocabulary_gives_what_the_slow_way_gives(how, spread):
    random = np.random.default_rng(7)
    logits = random.normal(0, spread, HUGE).astype(np.float32)
    same_as_naive(logits, replace(OFF, **how), recent=random.integers(0, HUGE, 64).tolist())


@pytest.mark.parametrize(
    "how", [{"top_p": 0.5, "min_p": 1e-7}, {"top_p": 0.9}, {"min_p": 0.05}, {"min_p": 1e-7}, {"top_k": 3}], ids=str
)
def test_a_token_that_is_nearly_certain_hides_the_others_only_where_the_settings_say_so(how):
    logits = np.full(2000, -float(NEAR) - 2, np.float32)
    logits[1234] = 0
    same_as_naive(logits, replace(OFF, **how))


def test_the_lower_id_wins_a_tie():
    logits = np.array([0, 3, 3, 1, 3], np.float32)
    assert as_dict(distribution(logits, SamplerSettings())) == {1: 1.0}
    assert as_dict(distribution(logits, replace(OFF, top_k=2))).keys() == {1, 2}


def test_temperature_comes_last_so_that_top_p_and_min_p_keep_the_same_tokens_at_any():
    logits = np.random.default_rng(3).normal(0, 3, 50).astype(np.float32)
    how = replace(OFF, top_p=0.8, min_p=0.02)
    kept = [set(as_dict(distribution(logits, replace(how, temperature=t)))) for t in (0.2, 1.0, 5.0)]
    assert kept[0] == kept[1] == kept[2]


def test_greedy_looks_at_penalty_and_mask_alone():
    logits = np.array([1.0, 4.0, 3.0, 2.5], np.float32)
    greedy = SamplerSettings(top_k=1, top_p=0.01, min_p=1.0, repetition_penalty=2.0)
    assert as_dict(distribution(logits, greedy, recent=[1])) == {2: 1.0}
    assert as_dict(distribution(logits, greedy, recent=[1], allowed=np.array([3, 0], np.int32))) == {3: 1.0}


def test_a_penalty_never_makes_a_token_likelier_nor_changes_the_row_it_was_given():
    logits = np.array([-2.0, -1.0, 0.0, 1.0, 2.0], np.float32)
    before = logits.copy()
    after = penalised(logits, [0, 1, 2, 3, 4, 4, 4], SamplerSettings(repetition_penalty=1.5))
    assert (after <= before).all()
    assert after.tolist() == pytest.approx([-3.0, -1.5, 0.0, 1 / 1.5, 2 / 1.5])
    assert (logits == before).all()


def test_presence_counts_once_and_frequency_each_time_after_repetition_was_divided():
    how = SamplerSettings(repetition_penalty=2.0, presence_penalty=0.5, frequency_penalty=0.25)
    after = penalised(np.array([4.0, 4.0, -1.0, 4.0], np.float32), [0, 1, 1, 1, 2], how)
    assert after.tolist() == [2.0 - 0.75, 2.0 - 1.25, -2.0 - 0.75, 4.0]


def test_a_bias_comes_before_the_penalties():
    how = SamplerSettings(repetition_penalty=2.0, logit_bias=((0, 3.0),), temperature=1.0, top_k=0, top_p=1.0)
    found = as_dict(distribution(np.array([1.0, 0.0], np.float32), how, recent=[0]))
    assert found[0] / found[1] == pytest.approx(np.exp((1.0 + 3.0) / 2.0))


def test_a_banned_token_never_comes_and_a_pushed_one_does():
    logits = np.array([5.0, 1.0, 0.0, -3.0], np.float32)
    before = logits.copy()
    assert as_dict(distribution(logits, replace(OFF, logit_bias=((0, -np.inf),)))).keys() == {1, 2, 3}
    assert as_dict(distribution(logits, SamplerSettings(logit_bias=((0, -np.inf),)))) == {1: 1.0}
    assert as_dict(distribution(logits, SamplerSettings(logit_bias=((3, 4.0), (3, 4.5))))) == {3: 1.0}, "they add up"
    assert (logits == before).all()


def test_a_bias_outside_the_vocabulary_changes_nothing():
    logits = np.array([2.0, 1.0], np.float32)
    plain = as_dict(distribution(logits, OFF))
    assert as_dict(distribution(logits, replace(OFF, logit_bias=((-1, 9.0), (2, 9.0), (10**9, -np.inf))))) == plain


def test_banning_all_that_the_mask_allows_is_an_error_that_names_the_bias():
    banning = SamplerSettings(logit_bias=((1, -np.inf), (2, -np.inf)))
    with pytest.raises(EngineError, match="no token is allowed") as caught:
        distribution(np.zeros(4, np.float32), banning, allowed=np.array([1, 2], np.int32))
    assert "logit_bias" in caught.value.hint


@pytest.mark.parametrize(
    "how", [{"repetition_penalty": 1.1}, {"presence_penalty": 0.1}, {"frequency_penalty": -0.1}], ids=str
)
def test_settings_look_back_where_a_penalty_is_on_and_the_window_is_not_empty(how):
    assert SamplerSettings(**how).looks_back
    assert not SamplerSettings(**how, repetition_window=0).looks_back
    assert not SamplerSettings().looks_back


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("bad", [np.nan, np.inf, "nothing"])
@pytest.mark.parametrize(
    "how", [{}, {"top_k": 0, "top_p": 1.0}, {"top_k": 0}, {"top_k": 0, "top_p": 1.0, "min_p": 0.1}]
)
def test_logits_that_are_no_numbers_are_an_error_and_never_a_token(temperature, bad, how):
    logits = np.zeros(100, np.float32)
    logits[17] = np.nan if bad == "nothing" else bad
    if bad == "nothing":
        logits[:] = -np.inf
    with pytest.raises(EngineError, match="logits"):
        distribution(logits, SamplerSettings(temperature=temperature, **how))


def test_nothing_allowed_is_an_error_and_never_a_token():
    with pytest.raises(EngineError):
        distribution(np.zeros(5, np.float32), SamplerSettings(), allowed=np.array([], np.int32))


@given(st.lists(st.tuples(st.integers(0, 300), st.floats(0.01, 1)), min_size=1, max_size=20), st.integers(0, 300))
@settings(deadline=None)
def test_the_probability_of_any_token_can_be_asked_for(pairs, token):
    weights = dict(pairs)
    ids = np.array(sorted(weights), np.int32)
    values = np.array([weights[int(i)] for i in ids])
    found = Distribution(ids, values / values.sum())
    assert found.of(token) == pytest.approx(weights.get(token, 0.0) / values.sum())


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**63), st.integers(0, 10_000), st.integers(0, 10))
def test_a_choice_depends_on_seed_and_position_alone_and_has_a_probability(seed, position, row):
    logits = np.random.default_rng(row).normal(0, 2, 50).astype(np.float32)
    found = distribution(logits, replace(OFF, top_k=7))
    chosen = found.choose(seed, position)
    assert chosen == distribution(logits.copy(), replace(OFF, top_k=7)).choose(seed, position)
    assert found.of(chosen) > 0
