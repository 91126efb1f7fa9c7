"""Who completes while one types: the target wherever it is quick enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.config import CompleteConfig
from paceline.daemon.routing import GAIN, Completer, Route, called, line_ms, route
from paceline.engine.costs import CostCurve

AUTO = CompleteConfig()


def costs(milliseconds):
    return CostCurve((1, 8), (milliseconds, 4 * milliseconds))


@pytest.mark.parametrize(
    ("target", "draft", "chosen"),
    [
        (30.0, 17.0, "target"),  # a line in 0.6 s
        (200.0, 35.0, "draft"),  # in 3.8 s, or in 0.7
        (200.0, 150.0, "target"),  # the draft is no help
    ],
)
def test_the_target_completes_unless_it_is_too_slow_and_the_draft_is_not(target, draft, chosen):
    found = route(AUTO, costs(target), costs(draft), infills=True)
    assert found.model == chosen
    assert " s" in found.reason


def test_a_person_is_told_who_completes_and_why_and_whether_that_was_measured_well():
    kept = route(AUTO, costs(200.0), costs(150.0), infills=True, names=("1.5B", "0.5B"), doubt="the machine was busy")
    assert kept.name == "1.5B"
    assert kept.reason == (
        "a line takes about 3.8 s, more than the 1.5 s wanted; the 0.5B (2.9 s) is hardly quicker"
        " (measured, but the machine was busy: `paceline setup --measure-only`)"
    )
    taken = route(AUTO, costs(200.0), costs(35.0), infills=True, names=("1.5B", "0.5B"))
    assert taken.name == "0.5B"
    assert taken.reason == "a line takes about 0.7 s; the 1.5B (3.8 s) would take more than the 1.5 s wanted"


@pytest.mark.parametrize(
    ("target", "draft", "names"),
    [
        ("qwen2.5-coder-1.5b-instruct-q4_k_m", "qwen2.5-coder-0.5b-instruct-q4_k_m", ("1.5B", "0.5B")),
        ("Qwen2.5-Coder-7B-Instruct-Q4_K_M", "", ("7B", "")),
        ("codestral", "qwen-0.5b", ("target model", "draft model")),
        ("one-1.5b-chat", "two-1.5b-base", ("target model", "draft model")),
    ],
)
def test_models_of_a_pair_are_called_by_their_sizes_where_those_tell_them_apart(target, draft, names):
    assert called(target, draft) == names


@given(st.floats(1, 1000), st.floats(1, 1000), st.floats(1, 10_000))
def test_the_draft_never_completes_within_the_budget_of_the_target(target, draft, budget):
    found = route(CompleteConfig(latency_ms=budget), costs(target), costs(draft), infills=True)
    if found.model == "draft":
        assert line_ms(costs(target)) > budget
        assert line_ms(costs(draft)) <= GAIN * line_ms(costs(target))


@pytest.mark.parametrize("wanted", ["target", "draft"])
def test_the_configuration_decides_where_it_says_something(wanted):
    assert route(CompleteConfig(model=wanted), costs(1.0), costs(1.0), infills=True).model == wanted


@pytest.mark.parametrize(("draft", "infills"), [(None, False), (costs(1.0), False)])
@pytest.mark.parametrize("wanted", ["auto", "draft"])
def test_without_a_draft_that_can_infill_the_target_completes(draft, infills, wanted):
    found = route(CompleteConfig(model=wanted, latency_ms=1), costs(500.0), draft, infills=infills)
    assert found.model == "target"
    assert "draft" in found.reason


def test_the_drafts_engine_is_made_once_and_only_where_it_is_needed():
    made = []

    def make():
        made.append(object())
        return made[-1]

    target = object()
    assert Completer(target, make, Route("target", ""))() is target
    assert not made
    completer = Completer(target, make, Route("draft", ""))
    assert completer.made is None
    assert completer() is completer() is completer.made is made[0]
    assert len(made) == 1
