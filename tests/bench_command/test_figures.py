"""What runs amount to: ratios within repetitions, medians, whose drafts were kept."""

import pytest

from paceline.bench.figures import acceptance, figures, speed
from paceline.bench.runner import Difference
from support.bench_runs import measured, ran, record


def test_the_first_token_belongs_to_the_prompt_and_is_not_timed():
    run = ran(50.0, range(11))
    assert run.stats.predicted_ms == pytest.approx(200.0)
    assert speed(run) == pytest.approx(50.0)


@pytest.mark.parametrize("tokens", [0, 1])
def test_an_answer_without_a_second_token_has_no_speed(tokens):
    assert speed(ran(50.0, range(tokens))) is None


def test_speeds_are_compared_within_a_repetition_so_that_a_slower_machine_changes_no_ratio():
    plain, fast = [ran(20.0), ran(10.0), ran(18.0)], [ran(40.0), ran(20.0), ran(36.0)]
    found = figures(record("edit", plain, auto=fast))
    assert found.modes[0].speed_ups == pytest.approx((2.0, 2.0, 2.0))
    assert (found.plain, found.modes[0].speed) == pytest.approx((18.0, 36.0))


def test_the_speed_up_is_the_median_so_that_one_stall_changes_nothing():
    found = figures(record("edit", [ran(20.0)] * 3, auto=[ran(30.0), ran(2.0), ran(31.0)]))
    assert found.modes[0].speed_up == pytest.approx(1.5)


def test_a_repetition_that_was_broken_off_does_not_count():
    found = figures(record("edit", [ran(20.0)], auto=[ran(30.0), ran(90.0)]))
    assert found.modes[0].speed_ups == pytest.approx((1.5,))


def test_without_a_whole_repetition_there_are_no_figures():
    assert figures(record("edit", [])) is None
    assert figures(record("edit", [ran(20.0)])) is None
    assert figures(record("edit", [], auto=[ran(20.0)])) is None
    assert figures(record("edit", [ran(20.0)], auto=[ran(20.0, [1])])) is None


def test_a_mode_that_was_not_reached_is_left_out():
    found = figures(record("edit", [ran(20.0)], auto=[ran(30.0)], ngram=[]))
    assert [mode.mode for mode in found.modes] == ["auto"]


def test_each_drafter_has_its_part_in_all_runs():
    runs = [ran(30.0, ngram=[(4, 4), (4, 1)], draft=[(2, 0)]), ran(30.0, ngram=[(2, 2)])]
    mode = figures(record("edit", [ran(20.0)] * 2, auto=runs)).modes[0]
    ngram, draft = mode.drafters
    assert (ngram.name, ngram.rounds, ngram.drafted, ngram.accepted) == ("ngram", 3, 10, 7)
    assert ngram.mean_length == pytest.approx(7 / 3)
    assert ngram.by_position == ((3, 3), (3, 2), (2, 1), (2, 1))
    assert (draft.name, draft.rounds, draft.drafted, draft.accepted, draft.mean_length) == ("draft", 1, 2, 0, 0.0)
    assert mode.rounds == 202 - 7
    assert mode.mean_length == pytest.approx(7 / 195)


def test_acceptance_by_position_is_over_all_workloads():
    edit, code = measured("edit", 2.0, ngram=[(2, 2), (2, 1)]), measured("code", 1.0, ngram=[(1, 0)], draft=[(1, 1)])
    shares = acceptance(mode for each in (edit, code) for mode in each.modes)
    assert shares == {"ngram": pytest.approx([2 / 3, 1 / 2]), "draft": [1.0]}


def test_texts_that_were_not_looked_at_more_closely_still_differ_somewhere():
    found = figures(record("edit", [ran(20.0, [1, 2, 3])] * 2, auto=[ran(20.0, [1, 2, 3]), ran(20.0, [1, 2, 4])]))
    assert found.modes[0].difference == Difference(2)


def test_a_reason_that_every_run_gives_is_told_once():
    found = measured("edit", 1.0, 1.0, notes=["no draft model is set"])
    assert found.modes[0].notes == ("no draft model is set",)
