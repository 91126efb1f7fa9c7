"""Does a draft mean the same by its tokens? Texts decide, padding does not matter, and a refusal names the token."""

from dataclasses import replace

import pytest

from paceline.engine.pair import compare
from support.scripted import vocabulary_of

PIECES = [b"a", b"b", b"c", b"d", b"<end>"]
BASE = vocabulary_of(PIECES, end=4)


def with_texts(*pieces, end=4):
    return vocabulary_of([*pieces], end=end)


def test_equal_vocabularies_fit():
    assert compare(BASE, with_texts(*PIECES)) is None


@pytest.mark.parametrize("padding", [b"[PAD5]", b"<|reserved_5|>", b"<unused0>", b"", b"<|extra_3|>", b"[UNUSED_9]"])
def test_padding_behind_either_vocabulary_is_no_difference(padding):
    padded = with_texts(*PIECES, padding, padding)
    assert compare(BASE, padded) is None
    assert compare(padded, BASE) is None


@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_token_with_another_text_is_refused_by_name(at):
    changed = list(PIECES)
    changed[at] = b"other"
    reason = compare(BASE, with_texts(*changed)).reason
    assert f"token {at} " in reason
    assert repr(PIECES[at].decode()) in reason
    assert "'other'" in reason


def test_exchanged_tokens_are_refused():
    assert compare(BASE, with_texts(b"b", b"a", *PIECES[2:])) is not None


@pytest.mark.parametrize(("target", "draft", "whose"), [(1, 0, "target"), (0, 1, "draft")])
def test_a_used_token_that_only_one_has_is_refused_by_name(target, draft, whose):
    reason = compare(with_texts(*PIECES, *[b"more"] * target), with_texts(*PIECES, *[b"more"] * draft)).reason
    assert f"only the {whose} has token 5" in reason
    assert "'more'" in reason


def test_another_end_of_an_answer_is_refused():
    other = replace(BASE, end_of_generation=frozenset({3, 4}))
    assert "token 3" in compare(BASE, other).reason
    assert "token 3" in compare(other, BASE).reason


def test_an_end_that_is_padding_in_the_other_is_no_difference():
    padded = with_texts(*PIECES, b"[PAD5]")
    assert compare(BASE, replace(padded, end_of_generation=frozenset({4, 5}))) is None


@pytest.mark.parametrize("change", [{"bos": 1}, {"eos": 3}])
def test_another_begin_or_end_of_text_is_refused(change):
    assert "begin and end" in compare(BASE, replace(BASE, **change)).reason


def test_fingerprints_are_equal_just_for_equal_texts():
    assert BASE.fingerprint() == with_texts(*PIECES).fingerprint()
    assert BASE.fingerprint() != with_texts(b"ab", b"", *PIECES[2:]).fingerprint(), "the same bytes, cut otherwise"
    assert BASE.fingerprint() != with_texts(b"b", b"a", *PIECES[2:]).fingerprint()
