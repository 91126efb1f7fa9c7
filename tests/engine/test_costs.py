"""What a decode costs: between and beyond the measured sizes, from a file, and as the machine changes."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.costs import CAUTIOUS, SIZES, CostCurve, CostModel, implausible, measure
from support.fake_backend import FakeBackend

CURVE = CostCurve((1, 2, 4, 8, 16), (10.0, 18.0, 20.0, 36.0, 60.0))

curves = st.lists(st.tuples(st.integers(1, 80), st.floats(1e-3, 1e4)), min_size=1, max_size=8).map(
    lambda points: CostCurve(*zip(*sorted(dict(points).items()), strict=True))
)


@settings(deadline=None)
@given(curves)
def test_measured_sizes_cost_what_was_measured(curve):
    assert [curve.at(m) for m in curve.sizes] == pytest.approx(list(curve.milliseconds))


@settings(deadline=None)
@given(curves)
def test_between_measured_sizes_costs_lie_on_the_line(curve):
    inside = range(curve.sizes[0], curve.sizes[-1] + 1)
    expected = np.interp(list(inside), curve.sizes, curve.milliseconds)
    assert [curve.at(m) for m in inside] == pytest.approx(expected.tolist())


def test_beyond_the_last_size_the_last_line_goes_on():
    assert CURVE.at(24) == pytest.approx(84.0)
    assert CURVE.at(32) == pytest.approx(108.0)


@settings(deadline=None)
@given(curves, st.integers(1, 500))
def test_every_size_costs_something_and_beyond_the_last_never_less_than_it(curve, m):
    """Also where noise made the last measured size cheaper than the one before."""
    assert curve.at(m) > 0
    if m > curve.sizes[-1]:
        assert curve.at(m) >= curve.milliseconds[-1]


@settings(deadline=None)
@given(curves)
def test_a_curve_survives_json(curve):
    assert CostCurve.from_json(json.loads(json.dumps(curve.to_json()))) == curve


GOOD = {"tokens": [1, 2, 4], "ms": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": []},
        {"tokens": [], "ms": []},
        {"tokens": [1, 2]},
        {"tokens": [1, 2, 2]},
        {"tokens": [2, 1, 4]},
        {"tokens": [0, 1, 2]},
        {"tokens": [-1, 1, 2]},
        {"tokens": [1, 2.5, 4]},
        {"tokens": [1, 2, math.inf]},
        {"tokens": [1, 2, math.nan]},
        {"tokens": [1, 2, None]},
        {"tokens": "124"},
        {"tokens": 3},
        {"tokens": None},
        {"ms": [1.0, 0.0, 2.0]},
        {"ms": [1.0, -2.0, 2.0]},
        {"ms": [math.nan, 2.0, 3.0]},
        {"ms": [1.0, math.nan, 3.0]},
        {"ms": [1.0, math.inf, 3.0]},
        {"ms": [1.0, "fast", 3.0]},
        {"ms": "123"},
        {"ms": None},
        {"ms": {"1": 2}},
    ],
    ids=str,
)
def test_what_is_not_a_curve_is_refused(change):
    with pytest.raises((KeyError, TypeError, ValueError)):
        CostCurve.from_json({**GOOD, **change})


@pytest.mark.parametrize("missing", ["tokens", "ms"])
def test_half_a_curve_is_refused(missing):
    with pytest.raises(KeyError):
        CostCurve.from_json({key: value for key, value in GOOD.items() if key != missing})


def test_the_guess_for_an_unmeasured_machine_hardly_lets_verification_pay():
    for k in range(1, 32):
        assert CAUTIOUS.at(k + 1) > 0.5 * (k + 1) * CAUTIOUS.at(1)


# The running correction. Factors say how much slower than measured the machine is.


def after(readings):
    """A model that has seen (size, factor) readings."""
    model = CostModel(CURVE)
    for m, factor in readings:
        model.observe(m, CURVE.at(m) * factor)
    return model


def test_a_machine_that_keeps_its_pace_keeps_its_curve():
    model = after([(m, 1.0) for m in (1, 5, 2, 16, 3) * 20])
    assert [model.at(m) for m in range(1, 20)] == pytest.approx([CURVE.at(m) for m in range(1, 20)])


@pytest.mark.parametrize("stall", [0.001, 10.0, 1e6])
@pytest.mark.parametrize("size", [1, 4, 11])
def test_one_odd_reading_bends_no_cost_by_more_than_a_few_percent(stall, size):
    model = after([(size, stall)])
    for m in range(1, 32):
        assert 0.93 < model.at(m) / CURVE.at(m) < 1.07


@pytest.mark.parametrize("factor", [0.4, 1.5, 3.0, 8.0])
def test_a_lasting_change_of_pace_is_followed_at_every_size(factor):
    model = after([(m, factor) for m in (1, 4, 1, 2, 8, 16) * 30])
    for m in (1, 2, 3, 4, 8, 12, 16):
        assert model.at(m) == pytest.approx(factor * CURVE.at(m), rel=0.1)


def test_a_size_that_alone_became_dear_is_known_as_dear_and_the_others_as_they_are():
    model = after([(m, 1.8 if m == 4 else 1.0) for m in (1, 4, 1, 2, 8, 16) * 60])
    assert model.at(4) > 1.5 * CURVE.at(4)
    for m in (1, 2, 8, 16):
        assert model.at(m) == pytest.approx(CURVE.at(m), rel=0.15)


def test_noise_around_the_curve_leaves_it_where_it_is():
    random = np.random.default_rng(1)
    model = after(
        [(int(m), float(f)) for m, f in zip(random.integers(1, 17, 400), random.lognormal(0, 0.1, 400), strict=True)]
    )
    for m in (1, 2, 4, 8, 16):
        assert model.at(m) == pytest.approx(CURVE.at(m), rel=0.15)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 64), st.floats(0, 1e9)), max_size=60))
def test_costs_stay_positive_numbers_whatever_is_read(readings):
    model = CostModel(CURVE)
    for m, milliseconds in readings:
        model.observe(m, milliseconds)
    assert all(0 < model.at(m) < math.inf for m in range(1, 70))


def test_how_fast_a_prompt_is_read_follows_from_the_largest_batch_and_from_the_pace():
    model = after([(m, 3.0) for m in (1, 2, 4, 8, 16) * 30])
    assert CostModel(CURVE).reading == pytest.approx(16 / 0.060)
    assert model.reading == pytest.approx(16 / 0.180, rel=0.1)


def test_small_batches_do_not_tell_how_fast_a_prompt_is_read():
    assert CostModel(CostCurve((1, 2, 8), (10.0, 18.0, 36.0))).reading is None


# Measuring.


def test_a_curve_is_measured_at_every_size_that_fits_and_the_cache_is_left_empty():
    model = FakeBackend(n_ctx=300, n_batch=40)
    curve = measure(model, context=256, repetitions=2)
    assert curve.sizes == tuple(m for m in SIZES if m <= 40)
    assert all(cost > 0 for cost in curve.milliseconds)
    assert model.cache[0] == []


@pytest.mark.parametrize("n_ctx", [4, 60, 256, 260])
def test_a_small_context_is_measured_with_less_before_it(n_ctx):
    curve = measure(FakeBackend(n_ctx=n_ctx), repetitions=1)
    assert curve.sizes[0] == 1
    assert len(curve.sizes) > 1


def test_one_lucky_reading_is_not_believed(monkeypatch):
    clock = iter(np.cumsum([0, 1, 0, 50, 0, 40, 0, 45]).tolist())  # readings 1, 50, 40, 45
    monkeypatch.setattr("paceline.engine.costs.time.perf_counter", lambda: next(clock))
    curve = measure(FakeBackend(), context=8, repetitions=4, sizes=[1])
    assert curve.milliseconds == pytest.approx((40_000.0,))


SOUND = CostCurve((1, 2, 4, 16), (30.0, 50.0, 80.0, 150.0))


@pytest.mark.parametrize(
    ("target", "draft", "fault"),
    [
        (SOUND, None, ""),
        (SOUND, CostCurve((1, 2, 24), (20.0, 37.0, 130.0)), ""),
        (SOUND, CostCurve((1, 2, 24), (203.0, 300.0, 137.0)), "24 tokens of the draft"),
        (SOUND, CostCurve((1, 2), (31.0, 60.0)), "a token of the draft"),
        (CostCurve((1, 2, 4), (30.0, 50.0, 20.0)), None, "4 tokens of the target"),
        (CostCurve((1, 2), (30.0, 130.0)), None, "more than twice"),
        (CostCurve((1, 2), (0.3, 0.1)), None, ""),  # nothing but noise
    ],
)
def test_costs_that_no_undisturbed_machine_has_are_recognised(target, draft, fault):
    found = implausible(target, draft)
    assert fault in found
    assert bool(found) == bool(fault)
