"""The suffix automaton against a search through all the text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paceline.engine.drafters.suffix import SuffixAutomaton


def longest_repeated_suffix(tokens):
    """Length of the longest suffix that occurs earlier (it may overlap itself)."""
    n = len(tokens)
    return max((k for k in range(1, n) if any(tokens[e - k : e] == tokens[n - k :] for e in range(k, n))), default=0)


texts = st.one_of(
    st.lists(st.integers(0, 1), max_size=60),
    st.lists(st.integers(0, 3), max_size=60),
    st.lists(st.integers(0, 50), max_size=60),
    # repetitive: a short piece over and over, with a few changes
    st.builds(
        lambda piece, times, changes: [changes.get(i, token) for i, token in enumerate(piece * times)],
        st.lists(st.integers(0, 2), min_size=1, max_size=5),
        st.integers(1, 20),
        st.dictionaries(st.integers(0, 90), st.integers(0, 3), max_size=4),
    ),
)


@settings(max_examples=150, deadline=None)
@given(texts)
@example([0] * 80)
@example([0, 1] * 40 + [0, 0])
def test_after_every_token_the_match_is_the_longest_and_truly_stood_there(tokens):
    index = SuffixAutomaton()
    for n, token in enumerate(tokens, start=1):
        index.extend([token])
        length, end = index.match
        assert length == longest_repeated_suffix(tokens[:n])
        if length:
            assert length <= end < n, "an earlier place, with a token behind it"
            assert tokens[end - length : end] == tokens[n - length : n]
    assert index.tokens == tokens


@settings(deadline=None)
@given(texts, st.integers(0, 60))
def test_tokens_may_come_in_any_portions(tokens, cut):
    at_once, in_two = SuffixAutomaton(), SuffixAutomaton()
    at_once.extend(tokens)
    in_two.extend(tokens[:cut])
    in_two.extend(iter(tokens[cut:]))
    assert at_once.match == in_two.match


def test_of_several_places_the_latest_is_taken():
    index = SuffixAutomaton()
    index.extend([7, 8, 1, 7, 8, 2, 7, 8, 3, 7, 8])
    assert index.match == (2, 8)


def test_nothing_repeated_is_no_match():
    index = SuffixAutomaton()
    assert index.match == (0, 0)
    index.extend(range(50))
    assert index.match == (0, 0)


@pytest.mark.parametrize("period", [1, 2, 7])
def test_the_work_for_each_token_stays_bounded_on_repetitive_text(period):
    """Counted in states, of which a suffix automaton has fewer than two for each token."""
    index = SuffixAutomaton()
    index.extend(i % period for i in range(5000))
    assert index.match == (5000 - period, 5000 - period)
    assert len(index._length) < 2 * 5000
