"""A model's tokens as llama.cpp reads them from a file, and whether two files mean the same by them."""

import threading

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paceline.engine.llama import LlamaBackend, read_vocabulary
from paceline.engine.pair import compare
from paceline.engine.readers import Readers
from paceline.errors import ModelError
from paceline.plan import LoadOptions
from support.tiny_model import FIM, SPARE, SPECIALS, special, write_tiny_model


@pytest.fixture(scope="module")
def vocabulary(tiny):
    return read_vocabulary(tiny)


ROUND_TRIP = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ROUND_TRIP
@given(st.one_of(st.text(), st.text("def for the return\n\t =€😀", max_size=60)))
@example("")
@example("\x00\x01\r\n\t  \u00a0\u2028\ufeff")
@example(" " * 300)
@example("é\u0301👩\u200d👩\u200d👧🏽" * 5)
@example("".join(SPECIALS))
def test_text_becomes_tokens_whose_pieces_are_its_bytes(vocabulary, text):
    tokens = vocabulary.encode(text)
    assert b"".join(map(vocabulary.piece, tokens)) == text.encode()
    assert all(0 <= token < vocabulary.n_tokens for token in tokens)
    assert not vocabulary.control.intersection(tokens), "text never becomes a control token unless that is asked for"


@ROUND_TRIP
@given(st.text(), st.sampled_from(SPECIALS), st.text())
def test_control_tokens_in_a_text_are_read_only_where_that_is_asked_for(vocabulary, before, name, after):
    token = special(name)
    tokens = vocabulary.encode(before + name + after, special=True)
    assert token in tokens
    assert token not in vocabulary.encode(before + name + after)
    at = tokens.index(token)
    assert vocabulary.piece(token) == b""
    if name not in before:
        assert b"".join(map(vocabulary.piece, tokens[:at])) == before.encode()


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud800" * 20])
def test_half_a_surrogate_pair_does_no_harm(vocabulary, text):
    assert isinstance(vocabulary.encode(text), list)


def test_merges_are_used(vocabulary):
    assert len(vocabulary.encode("for the")) == 2


def test_the_special_tokens_are_known(vocabulary):
    assert vocabulary.control == {special(name) for name in SPECIALS}
    assert special("<|im_end|>") in vocabulary.end_of_generation
    assert vocabulary.eos == special("<|im_end|>")
    assert vocabulary.bos is None, "this model wants none in front"
    assert set(vocabulary.special_texts()) == set(SPECIALS)
    assert vocabulary.text_of(special("<|im_end|>")) == "<|im_end|>"
    assert vocabulary.text_of(None) == ""
    assert "im_start" in vocabulary.chat_template


def test_infilling_markers_are_read_from_the_vocabulary(vocabulary, tmp_path):
    fim = vocabulary.fim()
    assert (fim.prefix, fim.suffix, fim.middle) == tuple(special(name) for name in FIM)
    assert fim.markers <= vocabulary.end_of_generation  # no answer goes on behind one
    without = read_vocabulary(write_tiny_model(tmp_path / "plain.gguf", fim=False, template=False))
    assert without.fim() is None
    assert without.chat_template is None


def test_pieces_are_listed_for_every_token(vocabulary):
    assert len(vocabulary.pieces) == vocabulary.n_tokens
    assert sorted(vocabulary.pieces[:256]) == [bytes([i]) for i in range(256)]


def test_the_vocabulary_alone_is_the_one_of_the_whole_model(vocabulary, tiny):
    backend = LlamaBackend(tiny, LoadOptions(n_ctx=256))
    assert backend.vocabulary.fingerprint() == vocabulary.fingerprint()
    assert compare(backend.vocabulary, vocabulary) is None
    backend.close()


# Pairs.


@pytest.mark.parametrize("extra", [1, 3, 64])
def test_padding_makes_no_difference_to_a_pair(vocabulary, tmp_path, extra):
    padded = read_vocabulary(write_tiny_model(tmp_path / "padded.gguf", extra_tokens=extra))
    assert padded.n_tokens == vocabulary.n_tokens + extra
    assert compare(vocabulary, padded) is None
    assert compare(padded, vocabulary) is None
    assert padded.fingerprint() != vocabulary.fingerprint()


def test_a_changed_token_is_refused_by_name(vocabulary, tmp_path):
    other = read_vocabulary(write_tiny_model(tmp_path / "other.gguf", token_changes={SPARE: "changed"}))
    reason = compare(vocabulary, other).reason
    assert str(SPARE) in reason
    assert "'spare'" in reason
    assert "'changed'" in reason


def test_other_special_tokens_are_refused_by_name(vocabulary, tmp_path):
    other = read_vocabulary(write_tiny_model(tmp_path / "plain.gguf", fim=False))
    assert FIM[0] in compare(vocabulary, other).reason


def test_a_model_is_not_freed_under_the_hands_of_somebody_who_tokenizes():
    readers, order = Readers(), []
    inside, leave = threading.Event(), threading.Event()

    def read():
        with readers.reading():
            inside.set()
            leave.wait(20)
            order.append("read")

    def close():
        readers.close()
        order.append("closed")

    threads = [threading.Thread(target=read), threading.Thread(target=close)]
    threads[0].start()
    assert inside.wait(20)
    threads[1].start()
    while not readers.closed:
        pass
    with pytest.raises(ModelError, match="closed"), readers.reading():
        pass
    leave.set()
    for thread in threads:
        thread.join(20)
    assert order == ["read", "closed"]


@ROUND_TRIP
@given(st.lists(st.one_of(st.text(), st.text("the \n", max_size=300)), max_size=4))
def test_texts_never_have_fewer_tokens_than_is_told_without_tokenizing(vocabulary, texts):
    assert vocabulary.least_tokens(texts) <= sum(len(vocabulary.encode(text)) for text in texts)


def test_a_text_that_is_far_too_long_is_known_to_be(vocabulary):
    assert vocabulary.least_tokens(["the " * 100_000]) > 10_000
