"""Cutting a document to a budget of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.cut import cut_head, cut_tail

TEXT = st.lists(st.sampled_from(["", "a", "some words here", "x" * 60]), max_size=40).map("\n".join)
BUDGET = st.integers(0, 60)


def per_three(text):
    """A tokenizer that makes a token of every three characters."""
    return -(-len(text) // 3)


@given(TEXT, BUDGET)
def test_what_is_left_of_the_head_fits(text, budget):
    at = cut_head(text, budget, per_three)
    assert per_three(text[at:]) <= budget
    assert (at == 0) == (per_three(text) <= budget)


@given(TEXT, BUDGET)
def test_what_is_left_of_the_tail_fits_and_no_further_line_would(text, budget):
    at = cut_tail(text, budget, per_three)
    assert per_three(text[:at]) <= budget
    assert (at == len(text)) == (per_three(text) <= budget)
    next_line = text.find("\n", at) + 1 or len(text)
    assert at == len(text) or per_three(text[:next_line]) > budget


@given(TEXT.filter(lambda text: "x" not in text), st.integers(20, 60))
def test_lines_that_are_not_long_are_cut_whole(text, budget):
    head, tail = cut_head(text, budget, per_three), cut_tail(text, budget, per_three)
    assert head in (0, len(text)) or text[head - 1] == "\n"
    assert tail in (0, len(text)) or text[tail - 1] == "\n"


def test_most_of_the_budget_is_used():
    text = "some line of code\n" * 200
    assert per_three(text[cut_head(text, 100, per_three) :]) > 55


def test_the_cut_stays_where_it_is_while_somebody_types_on():
    text = "some line of code\n" * 200
    cuts = [cut_head(text + "another line\n" * more, 100, per_three) for more in range(24)]
    assert len(set(cuts)) <= 5
    assert cuts == sorted(cuts)


@pytest.mark.parametrize("budget", [1, 5, 17])
def test_a_single_endless_line_is_cut_within(budget):
    text = "x" * 10_000
    assert 0 < len(text) - cut_head(text, budget, per_three) <= 3 * budget
    assert cut_tail(text, budget, per_three) == 3 * budget


def test_no_cut_falls_between_carriage_return_and_newline():
    text = "ab\r\n" * 200
    for budget in range(1, 120):
        at = cut_head(text, budget, per_three)
        assert text[at - 1 : at + 1] != "\r\n"


def test_little_of_a_large_document_is_ever_tokenized():
    seen = []

    def count(text):
        seen.append(len(text))
        return per_three(text)

    text = "a line of text\n" * 100_000
    cut_head(text, 100, count)
    cut_tail(text, 100, count)
    assert max(seen) <= 1000
    assert sum(seen) <= 20_000
