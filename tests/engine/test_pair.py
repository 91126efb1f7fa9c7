"""Does a draft mean the same by its tokens? Texts decide, padding does not matter, and a refusal names the token.

Where it does not, can both speak to each other through text? Those can that give every text back as it was.
"""

from dataclasses import replace

import pytest

from paceline.engine.pair import Fit, compare, fit, universal_fault
from support.scripted import vocabulary_of
from support.text_vocabulary import BYTES, text_vocabulary

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


# --- through text -----------------------------------------------------------------------------------------------------

ANY = text_vocabulary(BYTES)


def reading(change):
    """A tokenizer that changes a text before it reads it."""
    return replace(ANY, encoder=lambda text, special, bos: ANY.encode(change(text)))


def test_vocabularies_that_write_every_text_can_speak_to_each_other():
    words = text_vocabulary(["the", " the", "\n    ", "世", *BYTES])
    assert universal_fault(ANY, words) == ""
    assert universal_fault(words, text_vocabulary(BYTES, space=True)) == "", "one that begins each text with a space"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (str.lower, "'1, Y):\\n\\n' as '1, y):\\n\\n'"),
        (lambda text: text.replace("  ", " "), "'\\n    ret' as '\\n  retur'"),
        (str.lstrip, "' lead' as 'leadi'"),
        (str.rstrip, "'ass  \\n' as 'ass'"),
        (lambda text: text.replace("\t", "    "), "']\\t#"),
        (lambda text: text.encode("ascii", "ignore").decode(), "'Grüße, ' as 'Gre, na'"),
        (lambda text: text.replace("e\u0301", "é"), "as 'café, ½ '"),
        (lambda text: text.replace("🚀", ""), "🚀"),
        (lambda text: text.replace("<|im_end|>", ""), "<|im_"),
    ],
    ids=["case", "spaces", "beginning", "end", "tabs", "ASCII", "accents", "emoji", "control tokens"],
)
@pytest.mark.parametrize("whose", ["target", "draft"])
def test_a_vocabulary_that_loses_something_of_a_text_is_named_with_what_it_loses(change, said, whose):
    pair = (reading(change), ANY) if whose == "target" else (ANY, reading(change))
    found = universal_fault(*pair)
    assert found.startswith(f"the {whose} reads ")
    assert said in found


def test_a_draft_that_never_ends_an_answer_is_refused():
    assert "ends an answer" in universal_fault(ANY, replace(ANY, end_of_generation=frozenset()))


def test_a_pair_drafts_by_its_tokens_or_through_text_or_not_at_all():
    other = text_vocabulary(["another", *BYTES])
    assert fit(ANY, ANY) == Fit()
    assert not fit(ANY, ANY).universal
    through_text = fit(ANY, other)
    assert through_text.universal
    assert "'another' in the draft" in through_text.difference
    refused = fit(ANY, replace(other, encoder=lambda text, special, bos: other.encode(text.lower())))
    assert not refused.universal
    assert "'another' in the draft" in refused.fault
    assert "the draft reads" in refused.fault
