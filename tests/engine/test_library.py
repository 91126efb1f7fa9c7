"""Texts that are kept between requests: found again, gone on with, replaced, forgotten."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.drafters.library import AT_ONCE, FOLLOWED, MOST, PORTION, Library
from paceline.engine.drafters.suffix import Cursor

TALK = list(range(100, 200))
FILE = list(range(1000, 1100))


def left_behind(library, *texts):
    """The indexes of requests that had these texts and ended, in this order."""
    indexes = [library.checkout(text) for text in texts]
    for index in indexes:
        library.give_back(index)
    return indexes


def follows(index, tokens):
    """What the index knows to follow these tokens."""
    cursor = Cursor(index)
    for token in tokens:
        cursor.advance(token)
    return index.walk(cursor.state, 3).tokens if cursor.length == len(tokens) else None


def test_a_conversation_goes_on_with_its_index():
    library = Library()
    [first] = left_behind(library, TALK)
    second = library.checkout([*TALK, 1, 2, 3])
    assert second is first
    assert list(second.text) == list(second.tokens) == [*TALK, 1, 2, 3], "only the rest was indexed"


def test_what_the_answer_added_belongs_to_the_conversation():
    library = Library()
    index = library.checkout(TALK)
    index.extend([7, 8])
    library.give_back(index)
    assert library.checkout([*TALK, 7, 8, 9]) is index


def test_an_index_in_use_is_nobody_elses():
    library = Library()
    left_behind(library, TALK)
    first, second = library.checkout(TALK), library.checkout(TALK)
    assert first is not second
    first.extend([1])
    assert list(second.text) == TALK


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_conversations_the_one_that_has_most_in_common_is_gone_on_with(order):
    library = Library()
    short, long = left_behind(library, *[TALK[:40], TALK][::order])[::order]
    assert library.checkout([*TALK, 5]) is long
    assert library.checkout([*TALK, 5]) is short, "the other one is in use"
    assert list(short.text) == [*TALK, 5]


def test_a_text_of_its_own_gets_an_index_of_its_own():
    library = Library()
    [other] = left_behind(library, TALK)
    index = library.checkout([1, *TALK])
    assert index is not other
    assert list(index.tokens) == [1, *TALK]


def test_a_text_whose_end_was_taken_back_goes_on_with_its_index_too():
    library = Library()
    [index] = left_behind(library, [*TALK, 1, 2, 3])
    assert library.checkout([*TALK, 4]) is index
    assert list(index.text) == [*TALK, 4]
    assert len(index.tokens) < len(TALK) + 3 + index.OVERLAP + 2
    assert follows(index, [198, 199, 1]) == [2, 3], "what was taken back is still known"


def test_a_text_that_lacks_more_than_its_end_gets_a_new_index():
    library = Library()
    left_behind(library, TALK)
    new = [*TALK[:50], *range(60)]
    assert list(library.checkout(new).tokens) == new


def test_an_index_does_not_fill_up_with_what_was_taken_back():
    library = Library()
    for number in range(200):
        left_behind(library, [*TALK, number, number, number])
    assert len(library.checkout([*TALK, 0]).tokens) < 3 * len(TALK)


def test_the_least_recently_used_text_goes_first_when_there_are_too_many_tokens():
    library = Library(limit=250)
    old, new = left_behind(library, TALK, [x + 500 for x in TALK])
    library.give_back(library.checkout([*TALK, 1]))  # used again
    left_behind(library, FILE)
    assert library.n_tokens <= 250
    assert library.checkout([*TALK, 1]) is old
    assert library.checkout([x + 500 for x in TALK]) is not new


def test_files_and_conversations_are_evicted_in_one_order():
    library = Library(limit=250)
    file = library.reference("a.py", FILE)
    left_behind(library, TALK)
    assert library.reference("a.py", FILE) is file
    left_behind(library, [x + 500 for x in TALK])
    assert library.reference("a.py", FILE) is file, "the conversation before it went"
    left_behind(library, [1] * 100, [2] * 100)
    assert library.reference("a.py", FILE) is not file


def test_there_are_never_too_many_texts_however_short():
    library = Library()
    left_behind(library, *[[n, n + 1] for n in range(0, 3 * MOST, 2)])
    first = library.sources()[0][1]
    assert list(first.tokens) == [3 * MOST - 2, 3 * MOST - 1]
    assert library.n_tokens == 2 * MOST
    assert library.nbytes > 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.lists(st.integers(0, 3), max_size=40)), max_size=25),
    st.integers(0, 100),
)
def test_whatever_is_kept_no_more_is_kept_than_allowed_and_every_text_is_the_one_asked_for(uses, limit):
    library = Library(limit)
    for is_file, name, tokens in uses:
        if is_file:
            assert list(library.reference(str(name), tokens).text) == tokens
        else:
            index = library.checkout(tokens)
            assert list(index.text) == tokens
            library.give_back(index)
        assert library.n_tokens <= limit


def test_a_file_is_indexed_once():
    library = Library()
    first = library.reference("a.py", FILE)
    assert library.reference("a.py", list(FILE)) is first
    assert list(first.tokens) == FILE


def test_a_file_that_grew_is_extended():
    library = Library()
    first = library.reference("a.py", FILE)
    assert library.reference("a.py", [*FILE, 1, 2]) is first
    assert list(first.tokens) == [*FILE, 1, 2]


def test_a_file_that_changed_is_replaced():
    library = Library()
    left_behind(library, TALK)
    library.reference("a.py", FILE)
    second = library.reference("a.py", [1, *FILE[1:]])
    assert list(second.tokens) == [1, *FILE[1:]]
    assert library.n_tokens == len(FILE) + len(TALK), "the old one is gone"


def test_a_file_whose_end_changed_keeps_its_index():
    library = Library()
    first = library.reference("a.py", FILE)
    assert library.reference("a.py", [*FILE[:-3], 1]) is first
    assert list(first.text) == [*FILE[:-3], 1]


def test_a_prompt_that_begins_like_a_file_leaves_the_file_alone():
    library = Library()
    file = library.reference("a.py", FILE)
    assert library.checkout([*FILE, 1]) is not file
    assert library.reference("a.py", FILE) is file


def test_a_large_file_is_read_bit_by_bit():
    library, large = Library(), list(range(AT_ONCE + PORTION + 5))
    index = library.reference("a.py", large)
    assert list(index.text) == large[:AT_ONCE]
    library.read_on()
    assert list(index.text) == large[: AT_ONCE + PORTION]
    library.read_on()
    assert list(index.text) == large
    library.read_on()
    assert list(index.text) == large


def test_a_file_that_changes_while_it_is_read_is_read_as_it_is_now():
    library, large = Library(), list(range(AT_ONCE + 10))
    library.reference("a.py", large)
    index = library.reference("a.py", [7, *large])
    for _ in range(3):
        library.read_on()
    assert list(index.text) == [7, *large]


def test_a_file_that_became_short_while_it_was_read_is_the_short_one():
    library = Library()
    library.reference("a.py", range(AT_ONCE + 10))
    index = library.reference("a.py", [7])
    library.read_on()
    assert list(index.tokens) == [7]


def test_a_file_that_was_evicted_while_it_was_read_is_not_read_on():
    library = Library(limit=AT_ONCE + 50)
    index = library.reference("a.py", range(AT_ONCE + 10))
    left_behind(library, TALK)
    library.read_on()
    assert len(index.tokens) == AT_ONCE
    assert library.n_tokens == len(TALK)


def test_a_request_looks_into_its_files_and_into_what_others_left_behind_the_latest_first():
    library = Library()
    old, new = left_behind(library, TALK, [1, 2, 3])
    library.reference("b.py", [9])
    sources = library.sources([("a.py", FILE)])
    assert sources == [("file", library.reference("a.py", FILE)), ("past", new), ("past", old)]


def test_a_request_follows_few_texts_at_a_time():
    library = Library()
    left_behind(library, *[[n] for n in range(20)])
    files = [(f"{n}.py", [n]) for n in range(3)]
    assert [kind for kind, _ in library.sources(files)] == ["file"] * 3 + ["past"] * (FOLLOWED - 3)
    assert [kind for kind, _ in library.sources(files * 5)] == ["file"] * FOLLOWED


def test_of_all_files_together_no_more_is_read_at_once_than_of_one():
    library = Library()
    files = [(f"{n}.py", [n] * (AT_ONCE // 2 + 7)) for n in range(3)]
    indexes = [index for _, index in library.sources(files)]
    assert [len(index.tokens) for index in indexes] == [AT_ONCE // 2 + 7, AT_ONCE // 2 - 7, 0]
    for _ in range(len(files)):
        library.read_on()
    assert [list(index.text) for index in indexes] == [tokens for _, tokens in files]
