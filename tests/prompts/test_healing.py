"""The constraint that makes an answer begin with the bytes that were typed."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.healing import Constraint, VocabularyTrie
from support.toy_tokenizer import ToyTokenizer

PIECES = st.lists(st.binary(max_size=4).map(lambda data: bytes(b"a\xffb"[byte % 3] for byte in data)), max_size=30)
FORCED = st.lists(st.sampled_from([b"a", b"b", b"\xff"]), max_size=6).map(b"".join)


def naively_allowed(pieces, remaining):
    return [
        token
        for token, piece in enumerate(pieces)
        if piece and (piece.startswith(remaining) or remaining.startswith(piece))
    ]


@given(PIECES, FORCED.filter(bool))
def test_allowed_tokens_are_those_a_walk_over_the_whole_vocabulary_finds(pieces, forced):
    allowed = Constraint(VocabularyTrie(pieces), forced).allowed()
    expected = naively_allowed(pieces, forced)
    assert (allowed is None) if not expected else allowed.tolist() == expected


@given(PIECES, FORCED)
def test_tokens_with_a_beginning_are_found_by_it(pieces, prefix):
    found = VocabularyTrie(pieces).starting_with(prefix)
    assert sorted(found) == [token for token, piece in enumerate(pieces) if piece and piece.startswith(prefix)]


@given(PIECES, FORCED, st.randoms(use_true_random=False))
def test_whatever_allowed_tokens_are_chosen_the_text_begins_as_forced(pieces, forced, choice: random.Random):
    pieces = [*pieces, b"a", b"b", b"\xff"]
    constraint, spelt = Constraint(VocabularyTrie(pieces), forced), b""
    while (allowed := constraint.allowed()) is not None:
        token = choice.choice(allowed.tolist())
        constraint.advance(token)
        spelt += pieces[token]
    assert spelt.startswith(forced)
    assert not constraint.gave_up


def test_a_token_longer_than_what_is_forced_may_be_chosen_whole():
    tokenizer = ToyTokenizer()
    trie = VocabularyTrie(tokenizer.pieces)
    constraint = Constraint(trie, b" re")
    assert {trie.piece(token) for token in constraint.allowed()} == {b" ", b" return"}
    constraint.advance(tokenizer.pieces.index(b" "))
    assert constraint.remaining == b"re"
    assert {trie.piece(token) for token in constraint.allowed()} == {b"r", b"return"}
    constraint.advance(tokenizer.pieces.index(b"return"))
    assert constraint.allowed() is None


def test_a_cut_character_is_healed_byte_by_byte():
    trie = VocabularyTrie([bytes([byte]) for byte in range(256)])
    constraint = Constraint(trie, "é".encode())
    assert constraint.allowed().tolist() == [0xC3]
    constraint.advance(0xC3)
    assert constraint.allowed().tolist() == [0xA9]


def test_control_tokens_are_never_allowed_while_something_is_forced():
    tokenizer = ToyTokenizer()
    allowed = Constraint(VocabularyTrie(tokenizer.pieces), b"<|fim").allowed()
    assert max(allowed) < tokenizer.first_control


def test_a_copy_is_left_alone_by_what_the_original_does():
    constraint = Constraint(VocabularyTrie([b"a", b"ab"]), b"aab")
    constraint.advance(0)
    copy = constraint.copy()
    constraint.advance(1)
    assert constraint.allowed() is None
    assert copy.remaining == b"ab"
    assert copy.allowed().tolist() == [0, 1]


def test_where_no_token_fits_the_constraint_gives_up():
    constraint = Constraint(VocabularyTrie([b"a", b""]), b"xyz")
    assert constraint.allowed() is None
    assert constraint.gave_up
    assert constraint.remaining == b""


def test_a_token_that_does_not_fit_ends_the_constraint():
    constraint = Constraint(VocabularyTrie([b"a", b"b", b""]), b"aa")
    constraint.advance(2)
    assert constraint.gave_up
    assert constraint.allowed() is None


def test_nothing_forced_allows_everything():
    constraint = Constraint(VocabularyTrie([b"a"]), b"")
    assert constraint.allowed() is None
    assert not constraint.gave_up


def test_tokens_with_the_same_bytes_are_all_allowed():
    allowed = Constraint(VocabularyTrie([b"a", b"b", b"a"]), b"ab").allowed()
    assert allowed.tolist() == [0, 2]
    assert allowed.dtype == np.int32
