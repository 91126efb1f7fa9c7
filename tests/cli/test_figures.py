"""`--stats`: what was drafted by whom, and what it brought, in a person's words."""

import pytest

from paceline.client.events import Usage
from paceline.commands.figures import figures
from paceline.engine.stats import DrafterStats, Stats

USAGE = Usage(9, 200, 4)
NGRAM = {
    "rounds": 12, "draft_n": 150, "draft_n_accepted": 120, "acceptance_by_position": [1.0, 0.75], "drafting_ms": 2.6,
}  # fmt: skip


def lines(timings, usage=USAGE):
    """What is told, by its first word."""
    found = [line.split(maxsplit=1) for line in figures(usage, timings)]
    assert len({name for name, _ in found}) == len(found)
    return dict(found)


def test_each_drafter_is_told_with_its_share_of_the_answer_and_what_that_saved():
    edit = {"rounds": 2, "draft_n": 40, "draft_n_accepted": 30, "acceptance_by_position": [0.5], "drafting_ms": 0.2}
    told = lines({"drafters": {"ngram": NGRAM, "edit": edit}})
    assert told["ngram"] == (
        "120 of 150 accepted in 12 drafts, 60% of the answer, 120 decodes of the target saved, 3 ms drafting, "
        "by position 100% 75%"
    )
    assert told["edit"].startswith("30 of 40 accepted in 2 drafts, 15% of the answer, 30 decodes of the target saved")


def test_an_engine_that_does_not_time_its_drafters_is_told_without_it():
    untimed = {name: value for name, value in NGRAM.items() if name != "drafting_ms"}
    assert "drafting" not in lines({"drafters": {"ngram": untimed}})["ngram"]


def test_a_drafter_that_never_drafted_says_so_instead_of_dividing_by_nothing():
    idle = {"rounds": 0, "draft_n": 0, "draft_n_accepted": 0, "acceptance_by_position": []}
    assert lines({"drafters": {"draft": idle}})["draft"] == "drafted nothing"


@pytest.mark.parametrize(("tokens", "share"), [(None, ""), (0, ""), (119, "100% of the answer")])
def test_a_share_is_never_more_than_all_of_it_and_needs_an_answer(tokens, share):
    told = lines({"drafters": {"ngram": NGRAM}}, Usage(9, tokens, 4))["ngram"]
    assert share in told
    assert ("of the answer" in told) == bool(share)


def test_near_ties_are_told_where_there_were_some():
    assert lines({"strict_n": 3})["strict"].startswith("3 near-ties decided again")
    assert lines({"strict_n": 1})["strict"].startswith("1 near-tie decided again")
    assert "strict" not in lines({"strict_n": 0}) | lines({})


def test_reasons_come_last():
    told = list(figures(USAGE, {"notes": ["the draft model does not pay here"], "drafters": {"ngram": NGRAM}}))
    assert told[-1] == "note        the draft model does not pay here"


def test_what_the_engine_counts_is_what_is_told():
    stats = Stats(prompt_tokens=9, predicted_tokens=10, predicted_ms=100.0, rounds=4)
    stats.drafters["lookahead"] = DrafterStats(drafted=8, accepted=5, rounds=3)
    told = lines(stats.timings(), Usage(9, 10, 0))
    assert told["lookahead"].startswith("5 of 8 accepted in 3 drafts, 50% of the answer, 5 decodes of the target saved")
    assert told["rounds"].endswith("3 drafted tokens wasted")
