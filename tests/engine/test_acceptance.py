"""Estimates of what will be accepted: careful at first, then what was seen, and recent things count more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.acceptance import PRIORS, STRENGTHS, AcceptanceTable, Forecast, bucket, prior

KEYS = [(kind, level) for kind in PRIORS for level in STRENGTHS]


@given(st.sampled_from(sorted(PRIORS)), st.integers(0, 10_000))
def test_a_strength_falls_into_the_largest_bucket_not_above_it(kind, strength):
    name, level = bucket(kind, strength)
    assert name == kind
    assert level == max(each for each in STRENGTHS if each <= strength)


@pytest.mark.parametrize("kind", sorted(PRIORS))
def test_stronger_evidence_is_never_trusted_less_before_anything_was_seen(kind):
    chances = [prior((kind, level)) for level in STRENGTHS]
    assert chances == sorted(chances)
    assert chances[0] > 0
    assert chances[-1] < 1


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("key", [("copy", 4), ("self", 1), ("draft", 8), ("draft-mean", 0)], ids=str)
def test_what_is_seen_often_enough_is_believed(share, key):
    random = np.random.default_rng(2)
    table = AcceptanceTable()
    for _ in range(500):
        table.observe(key, bool(random.random() < share))
    assert table.chance(key) == pytest.approx(share, abs=0.12)


def test_one_observation_moves_an_estimate_a_little_and_no_other():
    table = AcceptanceTable()
    before = {key: table.chance(key) for key in KEYS}
    table.observe(("copy", 4), False)
    assert before[("copy", 4)] - 0.15 < table.chance(("copy", 4)) < before[("copy", 4)]
    assert all(table.chance(key) == before[key] for key in KEYS if key != ("copy", 4))


def test_a_change_is_followed():
    table = AcceptanceTable()
    for accepted in [True] * 300 + [False] * 150:
        table.observe(("copy", 8), accepted)
    assert table.chance(("copy", 8)) < 0.2


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=200))
def test_a_chance_is_always_between_nought_and_one(seen):
    forecast = Forecast(AcceptanceTable())
    for key, accepted in seen:
        forecast.observe(key, accepted)
    assert all(0 < forecast.chance(key) < 1 for key in KEYS)


def test_what_one_request_is_like_shows_in_its_own_forecast_sooner_than_in_the_next_ones():
    table = AcceptanceTable()
    for _ in range(200):
        table.observe(("self", 4), True)
        table.observe(("self", 8), True)
    unlike = Forecast(table)
    before = unlike.chance(("self", 8))
    for _ in range(8):
        unlike.observe(("self", 4), False)
    assert unlike.chance(("self", 8)) < before - 0.02, "another strength of the same evidence, in the same text"
    assert Forecast(table).chance(("self", 8)) == before
    assert unlike.chance(("copy", 8)) == pytest.approx(prior(("copy", 8))), "another kind of evidence"


def test_a_new_request_begins_with_what_all_the_others_taught():
    table = AcceptanceTable()
    first = Forecast(table)
    for _ in range(100):
        first.observe(("copy", 2), True)
    assert Forecast(table).chance(("copy", 2)) == pytest.approx(table.chance(("copy", 2)))
    assert table.chance(("copy", 2)) > 0.85
