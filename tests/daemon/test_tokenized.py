"""Texts that come with one request after the other: tokenized once, cut where no context holds them, and bounded."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.daemon import tokenized
from paceline.daemon.tokenized import CHARACTERS, Tokenized
from support.fake_service import bytes_vocabulary

MOST = 10


class Counting:
    """A vocabulary of bytes that remembers what it was asked to tokenize."""

    def __init__(self):
        self.asked = []
        self._bytes = bytes_vocabulary()

    def encode(self, text, **how):
        assert how == {}, "plain text has no control tokens and no beginning"
        self.asked.append(text)
        return self._bytes.encode(text)


@pytest.fixture
def vocabulary():
    return Counting()


def test_a_text_is_tokenized_once_for_as_long_as_it_is_remembered(vocabulary):
    texts = Tokenized(MOST)
    first = texts.tokens("abc", vocabulary)
    assert list(first) == [97, 98, 99]
    assert texts.tokens("abc", vocabulary) is first
    assert vocabulary.asked == ["abc"]


def test_every_vocabulary_has_its_own_tokens(vocabulary):
    texts, other = Tokenized(MOST), Counting()
    texts.tokens("abc", vocabulary)
    texts.tokens("abc", other)
    assert other.asked == ["abc"]


def test_a_text_is_cut_where_no_context_holds_it_and_not_even_read_far_beyond(vocabulary):
    texts = Tokenized(MOST)
    assert list(texts.tokens("x" * 10_000, vocabulary)) == [120] * MOST
    assert [len(text) for text in vocabulary.asked] == [MOST * CHARACTERS]


def test_half_characters_and_empty_texts_do_no_harm(vocabulary):
    texts = Tokenized(MOST)
    assert bytes(texts.tokens("a\udce9", vocabulary)).decode() == "a\ufffd"
    assert list(texts.tokens("", vocabulary)) == []
    assert vocabulary.asked == ["a\ufffd"]


def test_what_was_not_asked_for_longest_is_forgotten_first(vocabulary, monkeypatch):
    monkeypatch.setattr(tokenized, "KEPT_TOKENS", 2 * (5 + tokenized.ENTRY))
    texts = Tokenized(MOST)
    for text in ("aaaaa", "bbbbb", "aaaaa", "ccccc", "aaaaa", "bbbbb"):
        texts.tokens(text, vocabulary)
    assert vocabulary.asked == ["aaaaa", "bbbbb", "ccccc", "bbbbb"]


@given(st.lists(st.text("ab", max_size=30), max_size=40))
def test_what_is_remembered_stays_within_its_bound_and_is_never_wrong(asked):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenized, "KEPT_TOKENS", 300)
        texts, plain = Tokenized(MOST), bytes_vocabulary()
        for text in asked:
            assert list(texts.tokens(text, plain)) == plain.encode(text)[:MOST]
            kept = sum(len(tokens) + tokenized.ENTRY for tokens in texts._known.values())
            assert kept == texts._size <= 300


def test_threads_that_ask_for_the_same_texts_get_the_same_tokens():
    texts, plain, gate = Tokenized(MOST), bytes_vocabulary(), threading.Barrier(8)

    def ask(number):
        gate.wait(10)
        return [tuple(texts.tokens(f"{at}", plain)) for at in range(50)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert answers == [[tuple(f"{at}".encode()) for at in range(50)]] * 8
    assert texts._size == sum(len(tokens) + tokenized.ENTRY for tokens in texts._known.values())


# --- several together -------------------------------------------------------------------------------------------------


def test_texts_together_get_as_much_room_as_one(vocabulary):
    found = Tokenized(MOST).together([("a", "x" * 6), ("b", "y" * 6), ("c", "z")], vocabulary)
    assert [(name, bytes(tokens)) for name, tokens in found] == [("a", b"x" * 6), ("b", b"y" * 4)]
    assert "z" not in vocabulary.asked


def test_empty_texts_and_repetitions_are_left_out(vocabulary):
    found = Tokenized(MOST).together([("a", ""), ("b", "x"), ("b", "x"), ("c", "x")], vocabulary)
    assert [name for name, _ in found] == ["b", "c"]


def test_pieces_of_one_file_are_told_apart_by_their_content_whatever_their_order(vocabulary):
    texts = Tokenized(MOST)
    pieces = [("a.py", "one"), ("b.py", "two"), ("a.py", "six")]
    names = {bytes(tokens): name for name, tokens in texts.together(pieces, vocabulary)}
    assert names[b"two"] == "b.py"
    assert names[b"one"] != names[b"six"]
    assert names[b"one"].startswith("a.py#")
    assert {bytes(tokens): name for name, tokens in texts.together(pieces[::-1], vocabulary)} == names
