"""Drafting an edit: follow the copy, find back behind every change, make again the replacements made before."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.drafters.edit import COPYING, PATIENCE, EditDrafter

TEXT = list(range(100, 400))  # every token once, so that each place is unmistakable


def follow(original, answer, prompt=(1, 2, 3)):
    """What is proposed first before each token of the answer: lists of tokens."""
    drafter = EditDrafter(original)
    drafter.extend(prompt)
    drafts = []
    for token in answer:
        offers = drafter.propose(16, lambda _: True)
        drafts.append(list(offers[0].tokens) if offers else [])
        drafter.extend([token])
    return drafts


def right(drafts, answer):
    """How many tokens of each draft are what came."""
    found = []
    for at, draft in enumerate(drafts):
        n = 0
        while n < len(draft) and at + n < len(answer) and draft[n] == answer[at + n]:
            n += 1
        found.append(n)
    return found


def test_an_original_is_drafted_from_the_first_token_on():
    drafts = follow(TEXT, TEXT)
    assert drafts[0] == TEXT[:16]
    assert drafts[150] == TEXT[150:166]


CHANGES = {
    "one token became another": (100, 1, [5]),
    "one token became four": (100, 1, [5, 6, 7, 8]),
    "four tokens became one": (100, 4, [5]),
    "three became three others": (100, 3, [5, 6, 7]),
    "forty tokens were put in": (100, 0, list(range(500, 540))),
    "forty tokens were left out": (100, 40, []),
    "a passage was rewritten": (100, 30, list(range(500, 560))),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("known", [True, False], ids=["original", "in the prompt"])
def test_two_tokens_after_any_change_the_draft_is_the_original_again(name, known):
    at, left_out, put_in = CHANGES[name]
    answer = [*TEXT[:at], *put_in, *TEXT[at + left_out :]]
    drafts = follow(TEXT, answer) if known else follow([], answer, prompt=[1, 2, 3, *TEXT, 4])
    good = right(drafts, answer)
    behind = at + len(put_in) + 2
    assert good[at - 10] >= 10 or not known
    assert all(n == min(16, len(answer) - i) for i, n in enumerate(good) if behind <= i < behind + 20), good[at:]


def test_text_before_an_original_such_as_a_sentence_and_a_fence_does_no_harm():
    answer = [7, 8, 9, 7, 8, *TEXT]
    good = right(follow(TEXT, answer), answer)
    assert good[7] == 16


RENAMED = [100, 101, 50, 102, 103, 104, 50, 105, 106, 50, 107, 108, 109, 110, 50, 111, 112]


def test_a_renamed_variable_is_renamed_in_the_draft_the_next_time():
    answer = [60 if token == 50 else token for token in RENAMED]
    good = right(follow(RENAMED, answer), answer)
    assert good[5] == len(answer) - 5, "the draft goes through every later occurrence"


def test_a_replacement_by_several_tokens_is_made_again_as_a_whole():
    answer = []
    for token in RENAMED:
        answer += [60, 61, 62] if token == 50 else [token]
    good = right(follow(RENAMED, answer), answer)
    second = answer.index(104)
    assert good[second] == 16 <= len(answer) - second


def test_a_replacement_that_is_no_longer_made_is_not_proposed_for_ever():
    text = [100, 50, 101, 102, 103] * 12
    renamed = [100, 60, 101, 102, 103] * 2
    answer = [*renamed, *text[len(renamed) :]]
    good = right(follow(text, answer), answer)
    assert good[-20] >= 16


def test_both_the_old_and_the_new_are_offered_so_that_a_tree_can_hold_them():
    answer = [60 if token == 50 else token for token in RENAMED]
    drafter = EditDrafter(RENAMED)
    drafter.extend([1])
    drafter.extend(answer[:5])
    swapped, plain = drafter.propose(8, lambda _: True)
    assert swapped.tokens[1] == 60
    assert plain.tokens[1] == 50


def test_without_an_original_nothing_is_proposed_before_a_copy_was_left():
    assert not any(follow([], TEXT[:50], prompt=TEXT)), "the suffix index does this"


def test_where_the_prompt_was_not_copied_a_change_is_none():
    answer = list(range(600, 700))
    assert not any(follow([], answer, prompt=TEXT))


def test_a_copy_that_ended_is_given_up():
    answer = [*TEXT[:20], *range(600, 600 + PATIENCE + 10), *TEXT[20 : 20 + COPYING]]
    drafts = follow([], answer, prompt=TEXT)
    assert not any(drafts[30:])


words = st.lists(st.integers(0, 9), max_size=60)


@settings(deadline=None)
@given(words, words, words, st.integers(1, 20))
def test_whatever_is_said_drafts_are_short_enough_and_every_token_has_a_bucket(original, prompt, answer, limit):
    drafter = EditDrafter(original)
    drafter.extend(prompt)
    for token in answer:
        for offer in drafter.propose(limit, lambda _: True):
            assert 0 < len(offer.tokens) <= limit
            assert len(offer.buckets) == len(offer.tokens)
            assert not offer.parents
        drafter.extend([token])


@pytest.mark.parametrize("seed", range(5))
def test_of_a_real_edit_nearly_everything_is_drafted(seed):
    """A text of frequent words with some replaced throughout, lines put in and left out."""
    chance = random.Random(seed)
    text = [chance.choice([*range(20), *range(100, 200)]) for _ in range(400)]
    answer = []
    for at, token in enumerate(text):
        if at % 67 == 66:
            answer += [chance.randrange(300, 400) for _ in range(6)]
        if at % 59 != 58:
            answer.append({7: 70, 8: 80}.get(token, token))
    drafter = EditDrafter(text)
    drafter.extend([1])
    at = rounds = 0
    while at < len(answer):
        offers = drafter.propose(16, lambda _: True)
        n = max((right([list(offer.tokens)], answer[at:])[0] for offer in offers), default=0)
        drafter.extend(answer[at : at + n + 1])
        at += n + 1
        rounds += 1
    assert rounds < 0.22 * len(answer)
