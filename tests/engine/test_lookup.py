"""Drafting from what was read before, in the request's own text and in others at hand."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.acceptance import PRIORS, STRENGTHS, bucket, prior
from paceline.engine.drafters.library import AT_ONCE, PORTION, Library
from paceline.engine.drafters.lookup import ALIKE, NEAR, LookupDrafter

SOURCE = list(range(100, 140))  # no token twice, so that where a copy stands is never in doubt


def drafter_of(seen, library=None, references=()):
    """A drafter that was told of these: a prompt, then single tokens."""
    prompt, *rest = seen
    drafter = LookupDrafter(library, references)
    drafter.extend(prompt)
    for token in rest:
        drafter.extend([token])
    return drafter


def offers(drafter, limit=8):
    """What it proposes now."""
    return list(drafter.propose(limit, lambda _: True))


def drafts(seen, limit=8):
    """The token lists proposed after these were seen."""
    return [list(offer.tokens) for offer in offers(drafter_of(seen), limit)]


def library_with(*texts):
    """A library in which requests with these texts were left behind."""
    library = Library()
    for index in [library.checkout(text) for text in texts]:
        library.give_back(index)
    return library


def test_a_copy_is_continued():
    assert drafts([[*SOURCE, 0], *SOURCE[:5]]) == [SOURCE[5:13]]


def test_a_copy_inside_the_prompt_is_continued_from_its_first_token_on():
    assert drafts([[*SOURCE, 0, *SOURCE[:5]]]) == [SOURCE[5:13]]


def test_nothing_is_proposed_where_nothing_was_seen():
    assert drafts([SOURCE]) == []
    assert drafts([[*SOURCE, 0], 1]) == []
    assert offers(LookupDrafter()) == []


def test_a_copy_can_reach_the_end_of_its_source_and_start_over():
    seen = [SOURCE[:6], *SOURCE[:6]]
    assert [SOURCE[0:6]] == [proposal[:6] for proposal in drafts(seen)]


def test_a_match_with_the_prompt_counts_as_a_copy_and_one_with_the_answer_as_repetition():
    drafter = drafter_of([[1, 2, 3, 4, 0], 1, 2])
    assert offers(drafter)[0].buckets[0] == ("copy", 2)
    drafter.extend([8, 9, 7, 8, 9])
    assert offers(drafter)[0].buckets[0] == ("self", 2)
    assert offers(drafter_of([[1, 2], 3, 1, 2]))[0].buckets[0] == ("self", 2), "the answer's first token follows"


def test_each_further_token_of_a_copy_has_one_more_token_behind_it():
    [offer] = offers(drafter_of([[*SOURCE, 0], *SOURCE[:3]]), limit=20)
    assert list(offer.buckets) == [bucket("copy", 3 + i) for i in range(20)]


def test_what_always_followed_alike_is_trusted_more_than_what_followed_once():
    once = offers(drafter_of([[1, 2, 3, 0, 1, 2]]))[0]
    often = offers(drafter_of([[1, 2, 3, 0, 1, 2, 3, 4, 1, 2, 3, 5, 1, 2]]))[0]
    assert once.tokens[0] == often.tokens[0] == 3
    assert prior(often.buckets[0]) > prior(once.buckets[0])


def test_the_answer_goes_on_like_the_last_time():
    assert drafts([[5, 1, 6, 5, 2, 7, 5, 1, 8, 5, 3, 9, 5]])[0][0] == 3


def test_unless_something_else_is_far_more_usual():
    assert drafts([[*[x for i in range(5) for x in (5, 1, 20 + i)], 5, 3, 9, 5]])[0][0] == 1


def test_two_ways_to_go_on_are_both_proposed_the_other_one_second():
    first, second = offers(drafter_of([[*SOURCE[:9], 50, *SOURCE[:5], 70, 71, 72, 0, *SOURCE[:5]]]), limit=4)
    assert list(first.tokens) == [70, 71, 72, 0]
    assert list(second.tokens) == SOURCE[5:9]
    assert first.buckets[0] == second.buckets[0] == bucket("fork", int(1 / 3.5 * 16)), "once each, in two cases"
    assert first.buckets[1] == second.buckets[1] == bucket("copy", 6)


def test_a_rival_further_on_shares_what_comes_before_it():
    seen = [*SOURCE[:9], 50, *SOURCE[3:6], 70, 71, 72, 0, *SOURCE[3:5]]
    first, second = offers(drafter_of([seen]), limit=4)
    assert list(first.tokens) == [SOURCE[5], 70, 71, 72]
    assert list(second.tokens) == SOURCE[5:9]
    assert first.buckets[0] == second.buckets[0]
    assert first.buckets[0][0] == "copy"
    assert first.buckets[1][0] == second.buckets[1][0] == "fork"


def test_a_rival_too_far_on_is_left_for_later():
    seen = [*SOURCE[:20], 50, *SOURCE[:12], 70, 71, 72, 0, *SOURCE[: 12 - NEAR]]
    assert len(drafts([seen], 20)) == 1
    assert len(drafts([[*seen, SOURCE[12 - NEAR]]], 20)) == 2


def test_a_rival_that_hardly_ever_followed_is_not_proposed():
    common = [x for i in range(20) for x in (5, 1, 20 + i)]
    assert len(drafts([[5, 3, 0, *common, 5]])) == 1


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=12),
    st.integers(1, 40),
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=12), max_size=3),
    st.lists(st.integers(0, 4), max_size=12),
)
def test_proposals_are_few_and_differ_and_no_longer_than_asked_for_with_an_estimate_for_each_token(
    portions, limit, others, file
):
    drafter, seen = LookupDrafter(library_with(*others), [("a.py", file)]), []
    for portion in portions:
        drafter.extend(portion)
        seen += portion
        made = offers(drafter, limit)
        assert len(made) <= 4
        assert len({tuple(offer.tokens[:ALIKE]) for offer in made}) == len(made)
        for offer in made:
            assert 1 <= len(offer.tokens) <= limit
            assert len(offer.buckets) == len(offer.tokens)
            assert offer.drawn_from is None
            assert not offer.parents
            for kind, strength in offer.buckets:
                assert kind in PRIORS
                assert strength in STRENGTHS


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=12), min_size=1, max_size=8))
def test_every_proposed_token_stood_somewhere_behind_the_one_before_it(portions):
    drafter, seen = LookupDrafter(), []
    for portion in portions:
        drafter.extend(portion)
        seen += portion
        for offer in offers(drafter):
            pairs = set(pairwise(seen))
            text = [seen[-1], *offer.tokens]
            assert set(pairwise(text)) <= pairs


def test_a_text_that_repeats_itself_is_drafted_beyond_its_end():
    assert drafts([[9], 1, 2, 3, 1, 2, 3, 1, 2, 3], 7)[0] == [1, 2, 3, 1, 2, 3, 1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 60))
def test_looking_changes_nothing(tokens, every):
    quiet, asked = LookupDrafter(), LookupDrafter()
    for i, token in enumerate(tokens):
        quiet.extend([token])
        asked.extend([token])
        if i % every == 0:
            offers(asked)
    assert offers(quiet, 9) == offers(asked, 9)


@pytest.mark.parametrize("limit", [1, 3, 63])
def test_text_that_repeats_itself_is_drafted(limit):
    proposed = drafts([[5, 6, 7] * 30], limit)
    assert proposed
    assert proposed[0] == ([5, 6, 7] * 30)[: len(proposed[0])]
    assert len(proposed[0]) == limit


def test_what_another_request_left_behind_is_drafted_from():
    [offer] = offers(drafter_of([[1, 2], *SOURCE[:6]], library_with(SOURCE)))
    assert list(offer.tokens) == SOURCE[6:14]
    assert offer.buckets[0] == ("past", 6)


def test_a_file_at_hand_is_drafted_from():
    [offer] = offers(drafter_of([[1, 2], *SOURCE[:6]], references=[("a.py", SOURCE)]))
    assert list(offer.tokens) == SOURCE[6:14]
    assert offer.buckets[0] == ("file", 6)


def test_the_place_in_other_texts_is_found_from_the_prompt_on():
    [offer] = offers(drafter_of([[1, 2, *SOURCE[:6]]], library_with(SOURCE)))
    assert list(offer.tokens) == SOURCE[6:14]


def test_one_token_in_common_with_another_text_is_not_enough():
    assert offers(drafter_of([[1, SOURCE[0]]], library_with(SOURCE))) == []


def test_of_equally_frequent_ways_to_go_on_in_another_text_the_latest_is_taken_and_else_the_most_frequent():
    even = [1, 2, 3, 0, 1, 2, 4, 0]
    assert offers(drafter_of([[9, 1, 2]], library_with(even)))[0].tokens[0] == 4
    odd = [1, 2, 3, 0, 1, 2, 3, 5, 1, 2, 4, 0]
    assert offers(drafter_of([[9, 1, 2]], library_with(odd)))[0].tokens[0] == 3


def test_a_longer_match_elsewhere_is_proposed_beside_the_one_in_the_own_text_and_a_shorter_is_not():
    own = [*SOURCE[3:6], 70, 0]
    longer = offers(drafter_of([own, *SOURCE[:6]], library_with(SOURCE)))
    assert [list(offer.tokens[:1]) for offer in longer] == [[70], [SOURCE[6]]]
    shorter = offers(drafter_of([[*SOURCE[:6], 70, 0], *SOURCE[:6]], library_with(SOURCE[3:])))
    assert [list(offer.tokens[:1]) for offer in shorter] == [[70]]


def test_what_two_texts_agree_on_is_proposed_once():
    assert len(offers(drafter_of([[*SOURCE, 0], *SOURCE[:6]], library_with(SOURCE)))) == 1
    almost = [*SOURCE[: 6 + ALIKE], 70, 71]
    assert len(offers(drafter_of([[*SOURCE, 0], *SOURCE[:6]], library_with(almost)), limit=20)) == 1


def test_of_many_texts_those_with_the_longest_matches_are_drafted_from():
    others = [[*SOURCE[6 - length : 6], 70 + length] for length in (2, 4, 3, 5)]
    made = offers(drafter_of([[1], *SOURCE[:6]], library_with(*others)))
    assert [offer.tokens for offer in made] == [[75], [74]]


def test_where_another_text_ends_nothing_is_made_up():
    assert offers(drafter_of([[9, 3, 1, 2]], library_with([1, 2, 3, 1, 2]))) == []


def test_the_next_request_of_a_conversation_drafts_from_the_whole_of_it():
    library = Library()
    first = drafter_of([[1, 2], *SOURCE], library)
    first.close()
    second = drafter_of([[1, 2, *SOURCE, 3, *SOURCE[:2]]], library)
    assert library.n_tokens == 0, "it has taken the conversation out"
    [offer] = offers(second)
    assert list(offer.tokens) == SOURCE[2:10]
    assert offer.buckets[0] == ("copy", 2)
    second.close()
    assert library.n_tokens == 2 + len(SOURCE) + 3


def test_the_same_prompt_once_more_is_answered_with_the_last_answer_as_draft():
    library = Library()
    drafter_of([[*range(300)], *SOURCE], library).close()
    [offer] = offers(drafter_of([[*range(300)]], library))
    assert list(offer.tokens) == SOURCE[:8]


def test_closing_twice_leaves_the_text_once():
    library = Library()
    drafter = drafter_of([SOURCE], library)
    drafter.close()
    drafter.close()
    assert library.n_tokens == len(SOURCE)


def test_a_large_file_is_read_on_while_the_answer_comes():
    library, large = Library(), list(range(10_000))
    drafter = drafter_of([[1]], library, [("a.py", large)])
    before = library.n_tokens
    drafter.catch_up()
    assert before < library.n_tokens < len(large)


def test_a_long_prompt_is_indexed_a_piece_a_step_and_drafted_from_once_it_all_is():
    prompt = [*SOURCE, *range(1000, 1000 + AT_ONCE + PORTION), *SOURCE[:3]]
    drafter = drafter_of([prompt])
    assert offers(drafter) == []
    drafter.catch_up()
    drafter.extend(SOURCE[3:5])
    assert offers(drafter) == []
    drafter.catch_up()
    assert [list(offer.tokens) for offer in offers(drafter)] == [SOURCE[5:13]]


def test_what_stands_where_the_index_ends_is_not_taken_for_the_end_of_the_text():
    drafter = drafter_of([[1, 2, 3] * AT_ONCE])
    assert offers(drafter) == []
    for _ in range(2 * AT_ONCE // PORTION + 1):
        drafter.catch_up()
    assert offers(drafter)[0].tokens[:3] == [1, 2, 3]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_indexed_in_pieces_gives_the_drafts_of_what_is_indexed_at_once(data):
    rises = st.lists(st.integers(0, 3), max_size=30)
    before, prompt, answer = data.draw(rises), data.draw(rises), data.draw(st.lists(rises, max_size=6))
    twins = []
    for at_once, portion in ((2, 3), (10_000, 10_000)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("paceline.engine.drafters.lookup.AT_ONCE", at_once)
            patch.setattr("paceline.engine.drafters.lookup.PORTION", portion)
            library = library_with(before)
            drafter = drafter_of([prompt], library)
            for tokens in answer:
                drafter.catch_up()
                drafter.extend(tokens)
            for _ in range(sum(map(len, [prompt, *answer]))):
                drafter.catch_up()
            first = offers(drafter)
            drafter.extend([1, 2, 1])
            second = offers(drafter)
            drafter.close()
            twins.append((first, second, [list(index.text) for _, index in library.sources()]))
    assert twins[0] == twins[1]


def test_a_request_that_ends_before_its_prompt_is_indexed_leaves_the_beginning():
    library, prompt = Library(), list(range(AT_ONCE + 10))
    drafter_of([prompt, 7], library).close()
    [(_, index)] = library.sources()
    assert list(index.text) == prompt[:AT_ONCE]
    again = drafter_of([[*prompt, 7, 8]], library)
    again.close()
    assert list(index.text) == [*prompt, 7, 8]
