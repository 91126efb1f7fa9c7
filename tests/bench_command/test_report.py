"""Tables that fit, an object for programs, and a sentence that says what drafting brings."""

import json
from dataclasses import replace

import pytest

from paceline.console import aligned
from support.bench_runs import measured, report

WORDS = "On this machine drafting "


@pytest.mark.parametrize(
    ("speed_ups", "sentence"),
    [
        ({"edit": 3.394}, "makes edit 3.39x as fast."),
        ({"edit": 3.0, "completion": 1.2}, "makes edit 3.00x and completion 1.20x as fast."),
        ({"code": 1.01}, "makes no clear difference to code (1.01x)."),
        ({"code": 1.01, "prose": 0.99}, "makes no clear difference to code and prose (1.01x and 0.99x)."),
        ({"prose": 0.9}, "slows prose down (0.90x)."),
        (
            {"edit": 2.0, "code": 0.9, "prose": 0.8, "completion": 1.0},
            "makes edit 2.00x as fast, slows code and prose down (0.90x and 0.80x) "
            "and makes no clear difference to completion (1.00x).",
        ),
    ],
)
def test_the_sentence_says_what_drafting_brings(speed_ups, sentence):
    found = report(*(measured(name, ratio, ratio) for name, ratio in speed_ups.items()))
    assert found.summary == WORDS + sentence


def test_the_sentence_is_about_the_default_where_that_was_measured():
    both = measured("edit", 2.0, 2.0, mode="ngram"), measured("edit", 1.5, 1.5)
    assert report(*both).summary == f"{WORDS}makes edit 1.50x as fast."


def test_the_sentence_is_about_the_best_of_other_modes_and_names_it():
    found = report(
        measured("edit", 2.0, 2.0, mode="ngram"),
        measured("code", 0.5, 0.5, mode="ngram"),
        measured("edit", 1.2, 1.2, mode="lookahead"),
        measured("code", 1.2, 1.2, mode="lookahead"),
    )
    assert found.summary == "On this machine drafting by lookahead makes edit 1.20x and code 1.20x as fast."


@pytest.mark.parametrize("ratios", [(0.9, 1.2, 1.3), (1.03, 1.04), (0.8, 0.9, 1.01)])
def test_noise_is_not_taken_for_a_change(ratios):
    """It was faster in one repetition and slower in another, or it hardly differs."""
    assert report(measured("edit", *ratios)).summary.startswith(f"{WORDS}makes no clear difference to edit")


def test_of_a_single_run_less_is_claimed():
    found = report(measured("edit", 2.0))
    assert found.summary == "As far as a single run can tell, drafting makes edit 2.00x as fast."


def test_of_a_busy_machine_less_is_claimed():
    found = report(replace(measured("edit", 2.0), disturbed=True))
    assert found.summary == "As far as a busy machine can tell, drafting makes edit 2.00x as fast."


def test_without_figures_the_sentence_does_not_claim_any():
    assert report(complete=False).summary == "Nothing was measured."


def test_tables_of_the_longest_words_and_numbers_fit_into_80_columns():
    found = report(
        measured("completion", 0.5, 12.34, mode="lookahead", lookahead=[(50_000, 49_999)], difference=(1234, 10.05))
    )
    tables = [aligned(headers, rows, right=True) for headers, rows in (found.speeds(), found.drafts())]
    assert "at 1234 by 10.05" in tables[0] and "99998 of 100000" in tables[1]
    assert max(len(line) for table in tables for line in table.splitlines()) <= 80


def test_a_row_tells_speeds_the_median_ratio_and_its_range():
    headers, rows = report(measured("edit", 1.5, 2.0, 3.0)).speeds()
    assert headers == ("workload", "mode", "plain", "drafts", "speed-up", "range", "differs")
    assert rows == [("edit", "auto", "20.0", "40.0", "2.00x", "1.50-3.00", "no")]


@pytest.mark.parametrize(("difference", "shown"), [((12, 0.0312), "at 12 by 0.03"), ((12, None), "at 12")])
def test_a_text_that_differs_is_told_with_its_place_and_margin_and_what_that_means(difference, shown):
    found = report(measured("edit", 2.0, difference=difference))
    assert found.speeds()[1][0][-1] == shown
    assert "plain decoding" in next(iter(found.notes()))


def test_equal_texts_need_no_explanation():
    assert list(report(measured("edit", 2.0)).notes()) == []


def test_a_drafter_s_row_tells_what_was_kept():
    _, rows = report(measured("edit", 2.0, ngram=[(4, 4), (6, 1)], draft=[(5, 0)])).drafts()
    assert rows == [
        ("edit", "auto", "ngram", "5 of 10", "50%", "2.5", "0.05"),
        ("edit", "auto", "draft", "0 of 5", "0%", "0.0", "0.05"),
    ]


def test_that_nobody_drafted_is_told():
    _, rows = report(measured("prose", 1.0)).drafts()
    assert rows == [("prose", "auto", "nobody", "0 of 0", "", "", "0.00")]


def test_a_reason_with_other_figures_is_the_same_reason():
    notes = [f"draft model not used: it would give {gain}x" for gain in (0.81, 0.92)]
    found = report(*(measured(name, 1.0, notes=[note]) for name, note in zip(("edit", "code"), notes, strict=True)))
    assert len(list(found.notes())) == 1


def test_what_was_left_out_ended_early_or_disturbed_is_told():
    found = report(
        measured("edit", 2.0), complete=False, left_out={"code": "no template"}, warnings=["the machine was busy"]
    )
    notes = "\n".join(found.notes())
    assert "code was left out: no template" in notes
    assert "ended early" in notes
    assert "warning: the machine was busy" in notes


def test_the_heading_says_what_was_measured_on_what():
    heading = "\n".join(report(measured("edit", 2.0, 2.0)).heading())
    for words in ("big.gguf", "small.gguf", "a processor, 2 threads", "2 times each", "up to 400 tokens"):
        assert words in heading


def test_the_object_has_the_same_figures():
    found = report(measured("edit", 1.0, 3.0, ngram=[(4, 2)], difference=(7, 0.01)))
    whole = json.loads(json.dumps(found.to_json()))
    assert whole["summary"] == found.summary and whole["complete"] is True
    assert whole["curves"]["target"]["tokens"] == [1, 2, 4, 8, 16]
    edit = whole["workloads"]["edit"]
    assert (edit["plain_tokens_per_second"], edit["predicted_n"], edit["busy"]) == (20.0, 101, False)
    auto = edit["modes"]["auto"]
    assert (auto["tokens_per_second"], auto["speed_up"], auto["speed_ups"]) == (40.0, 2.0, [1.0, 3.0])
    assert (auto["draft_n"], auto["draft_n_accepted"]) == (8, 4)  # in both runs
    assert auto["drafters"]["ngram"]["acceptance_by_position"] == [1.0, 1.0, 0.0, 0.0]
    assert auto["first_difference"] == {"token": 7, "margin": 0.01}
