"""Drafting from what was read before, and picking a copy up again behind a change."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.acceptance import PRIORS, STRENGTHS
from paceline.engine.drafters.lookup import LookupDrafter

SOURCE = list(range(100, 140))  # no token twice, so that where a copy stands is never in doubt


def drafts(seen, limit=8):
    """The token lists proposed after these were seen: a prompt, then single tokens."""
    prompt, *rest = seen
    drafter = LookupDrafter()
    drafter.extend(prompt)
    for token in rest:
        drafter.extend([token])
    return [list(proposal.tokens) for proposal in drafter.propose(limit, lambda _: True)]


def test_a_copy_is_continued():
    assert drafts([[*SOURCE, 0], *SOURCE[:5]]) == [SOURCE[5:13]]


def test_a_copy_inside_the_prompt_is_continued_from_its_first_token_on():
    assert drafts([[*SOURCE, 0, *SOURCE[:5]]]) == [SOURCE[5:13]]


def test_nothing_is_proposed_where_nothing_was_seen():
    assert drafts([SOURCE]) == []
    assert drafts([[*SOURCE, 0], 1]) == []


def test_behind_another_name_drafting_resumes_at_once():
    copied = SOURCE[:10]
    assert SOURCE[11:19] in drafts([[*SOURCE, 0], *copied, 1])


def test_behind_a_deleted_token_drafting_resumes_at_once():
    assert SOURCE[12:20] in drafts([[*SOURCE, 0], *SOURCE[:10], SOURCE[11]])


def test_behind_an_inserted_token_drafting_resumes_when_the_source_goes_on():
    assert SOURCE[11:19] in drafts([[*SOURCE, 0], *SOURCE[:10], 1, SOURCE[10]])


def test_a_name_of_several_tokens_for_a_shorter_one_is_bridged():
    assert SOURCE[12:20] in drafts([[*SOURCE, 0], *SOURCE[:10], 1, 2, 3, SOURCE[11]])


def test_a_shorter_name_for_one_of_several_tokens_is_bridged():
    assert SOURCE[14:22] in drafts([[*SOURCE, 0], *SOURCE[:10], 1, SOURCE[13]])


def test_every_change_of_a_name_is_bridged_not_only_the_first():
    seen = [[*SOURCE, 0], *SOURCE[:10], 1, *SOURCE[11:20], 1, *SOURCE[21:27], 1]
    assert SOURCE[28:36] in drafts(seen)


def test_the_last_changes_new_name_is_followed_by_what_followed_in_the_source_not_by_the_copy():
    """After the second renaming a match with the copy itself exists too; both are proposed."""
    seen = [[*SOURCE, 0], *SOURCE[:10], 1, *SOURCE[11:20], 1]
    assert SOURCE[11:19] in drafts(seen), "what followed the new name last time"
    assert SOURCE[21:29] in drafts(seen), "what followed the old name in the source"


def test_a_text_that_went_elsewhere_is_given_up():
    assert drafts([[*SOURCE, 0], *SOURCE[:10], *range(1, 30)]) == []


def test_a_short_chance_match_is_not_taken_for_a_copy_with_a_change():
    assert drafts([[*SOURCE, 0], *SOURCE[:2], 1]) == []


def test_a_copy_can_reach_the_end_of_its_source_and_start_over():
    seen = [SOURCE[:6], *SOURCE[:6]]
    assert [SOURCE[0:6]] == [proposal[:6] for proposal in drafts(seen)]


def test_a_match_with_the_prompt_counts_as_a_copy_and_one_with_the_answer_as_repetition():
    drafter = LookupDrafter()
    drafter.extend([1, 2, 3, 4, 0])
    drafter.extend([1, 2])
    assert drafter.propose(3, lambda _: True)[0].buckets[0] == ("copy", 2)
    drafter.extend([8, 9, 7, 8, 9])
    assert drafter.propose(3, lambda _: True)[0].buckets[0] == ("self", 2)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=12),
    st.integers(1, 40),
)
def test_proposals_go_on_as_the_text_did_once_and_are_no_longer_than_asked_for_with_an_estimate_for_each_token(
    portions, limit
):
    drafter, seen = LookupDrafter(), []
    for portion in portions:
        drafter.extend(portion)
        seen += portion
        for proposal in drafter.propose(limit, lambda _: True):
            tokens = list(proposal.tokens)
            assert 1 <= len(tokens) <= limit
            assert len(proposal.buckets) == len(tokens)
            assert proposal.drawn_from is None
            for kind, strength in proposal.buckets:
                assert kind in PRIORS
                assert strength in STRENGTHS
            assert any(continuation(seen, i, len(tokens)) == tokens for i in range(len(seen)))


def continuation(seen, start, length):
    """What follows `start`; where the text ends, what stands there repeats itself."""
    return [seen[start + i % (len(seen) - start)] for i in range(length)]


def test_a_text_that_repeats_itself_is_drafted_beyond_its_end():
    drafter = LookupDrafter()
    drafter.extend([9])
    drafter.extend([1, 2, 3, 1, 2, 3, 1, 2, 3])
    assert list(drafter.propose(7, lambda _: True)[0].tokens) == [1, 2, 3, 1, 2, 3, 1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 60))
def test_looking_changes_nothing(tokens, every):
    quiet, asked = LookupDrafter(), LookupDrafter()
    for i, token in enumerate(tokens):
        quiet.extend([token])
        asked.extend([token])
        if i % every == 0:
            asked.propose(5, lambda _: True)
    assert list(quiet.propose(9, lambda _: True)) == list(asked.propose(9, lambda _: True))


@settings(max_examples=100, deadline=None)
@given(
    at=st.integers(8, 20),
    kind=st.sampled_from(["substitution", "insertion", "deletion"]),
    size=st.integers(1, 3),
)
def test_any_small_change_is_bridged_within_two_tokens(at, kind, size):
    new = list(range(1, 1 + size))
    behind = at if kind == "insertion" else at + size
    said = SOURCE[:at] + (new if kind != "deletion" else [])
    drafter = LookupDrafter()
    drafter.extend([*SOURCE, 0])
    drafter.extend(said)
    drafter.extend(SOURCE[behind : behind + 2])
    proposed = [list(proposal.tokens) for proposal in drafter.propose(6, lambda _: True)]
    assert SOURCE[behind + 2 : behind + 8] in proposed


@pytest.mark.parametrize("limit", [1, 3, 63])
def test_text_that_repeats_itself_is_drafted(limit):
    proposed = drafts([[5, 6, 7] * 30], limit)
    assert proposed
    assert proposed[0] == ([5, 6, 7] * 30)[: len(proposed[0])]
