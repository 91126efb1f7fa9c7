"""Estimates of what will be accepted: careful at first, then what was seen, and recent things count more."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.acceptance import KEPT, PRIORS, STRENGTHS, AcceptanceTable, Forecast, bucket, prior

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
    for accepted in [True] * 300 + [False] * 600:
        table.observe(("copy", 8), accepted)
    assert table.chance(("copy", 8)) < 0.2


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=200))
def test_a_chance_is_always_between_nought_and_one(seen):
    forecast = Forecast(AcceptanceTable())
    for key, accepted in seen:
        forecast.observe(key, accepted)
    assert all(0 <= forecast.chance(key) < 1 for key in KEYS)


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


# --- kept across runs -------------------------------------------------------------------------------------------------

OBSERVATIONS = st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=300)


def table_of(observations):
    table = AcceptanceTable()
    for key, accepted in observations:
        table.observe(key, accepted)
    return table


def through_a_file(table):
    return AcceptanceTable.from_json(json.loads(json.dumps(table.to_json())))


@settings(deadline=None)
@given(OBSERVATIONS)
def test_what_comes_back_is_what_was_learned_with_no_more_weight_than_a_new_text_can_move(observations):
    table = table_of(observations)
    known = through_a_file(table)
    assert known.counts.keys() == table.counts.keys()
    for key, (accepted, seen) in known.counts.items():
        assert seen == pytest.approx(min(KEPT, table.counts[key][1]))
        assert accepted / seen == pytest.approx(table.counts[key][0] / table.counts[key][1])
        assert 0 < known.chance(key) < 1


def test_a_few_surprises_move_what_an_earlier_run_learned_further_than_what_this_one_did():
    key = ("draft", 8)
    table = table_of([(key, True)] * 400)
    known = through_a_file(table)
    assert known.chance(key) > 0.9
    for each in (table, known):
        for _ in range(10):
            each.observe(key, False)
    assert known.chance(key) < table.chance(key) - 0.1


def test_buckets_that_there_are_no_longer_are_left_out():
    data = {"draft": {"8": [3.0, 4.0], "7": [1.0, 1.0]}, "oracle": {"0": [1.0, 1.0]}, "copy": {"4": [0.0, 0.0]}}
    assert AcceptanceTable.from_json(data).counts == {("draft", 8): (3.0, 4.0)}


@pytest.mark.parametrize(
    "pair",
    [
        [2.0, 1.0],
        [-1.0, 1.0],
        [math.nan, 1.0],
        [1.0, math.inf],
        [1.0],
        [1.0, 2.0, 3.0],
        [True, 1.0],
        ["1", "2"],
        [1, 10**400],
        [[1.0], [2.0]],
        {"0": 1.0},
        None,
        3,
    ],
    ids=ascii,
)
def test_what_cannot_be_observations_is_refused(pair):
    with pytest.raises(ValueError, match="observations"):
        AcceptanceTable.from_json({"draft": {"8": pair}})


@pytest.mark.parametrize(
    "data", [None, [], 3, "draft", {"draft": None}, {"draft": [[1.0, 2.0]]}, {"draft": 1}], ids=ascii
)
def test_what_is_no_table_is_refused(data):
    with pytest.raises(ValueError, match="table"):
        AcceptanceTable.from_json(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["draft", "copy", "8", "x"]), inner),
    max_leaves=12,
)


@given(JSON)
def test_whatever_was_kept_it_is_refused_or_a_usable_table(data):
    try:
        table = AcceptanceTable.from_json(data)
    except ValueError:
        return
    assert all(0 < table.chance(key) < 1 for key in KEYS)
