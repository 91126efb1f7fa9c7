"""llama.cpp behind the protocol, on a tiny model: what is decoded, what is cut, what is refused instead of fatal."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from paceline.engine import llama
from paceline.engine.backend import DecodeAborted, Span
from paceline.engine.costs import measure
from paceline.engine.llama import LlamaBackend
from paceline.errors import EngineError, ModelError, ResourceError
from paceline.plan import LoadOptions
from support.tiny_model import write_tiny_model

TOKENS = list(
    b"for row in reader:\n    return the rows and the other"
)  # ids of bytes are not their values; any will do
CLOSE = {"rtol": 0, "atol": 2e-2}


@pytest.fixture
def load(tiny):
    """Opens backends and closes them after the test."""
    opened = []

    def opener(path=tiny, *, n_seq_max=1, **options):
        how = {"n_ctx": 256, "n_batch": 64, "n_threads": 1, **options}
        opened.append(LlamaBackend(path, LoadOptions(**how), n_seq_max=n_seq_max))
        return opened[-1]

    yield opener
    for each in opened:
        each.close()


def rows(backend, tokens, *, seq=0, start=0, step=None):
    """Logits after each of the tokens, decoded `step` at a time."""
    step = step or len(tokens)
    found = []
    for at in range(0, len(tokens), step):
        chunk = tokens[at : at + step]
        found.append(backend.decode([Span(seq, start + at, chunk, outputs=len(chunk))]).copy())
    return np.concatenate(found)


def same(a, b):
    np.testing.assert_allclose(a, b, **CLOSE)
    assert (a.argmax(axis=1) == b.argmax(axis=1)).all()


# Decoding.


@pytest.mark.parametrize("step", [2, 3, 7, 16, 52])
@pytest.mark.parametrize("flash_attention", [True, False])
def test_tokens_together_have_the_logits_they_have_one_by_one(load, step, flash_attention):
    how = {"flash_attention": flash_attention}
    same(rows(load(**how), TOKENS, step=step), rows(load(**how), TOKENS, step=1))


def test_only_the_rows_asked_for_come_and_they_are_the_last_ones(load):
    backend = load()
    every = rows(backend, TOKENS)
    for outputs in (0, 1, 5):
        backend.truncate(0, 0)
        got = backend.decode([Span(0, 0, TOKENS, outputs)])
        assert got.shape == (outputs, backend.vocabulary.n_tokens)
        np.testing.assert_allclose(got, every[len(TOKENS) - outputs :], **CLOSE)


def test_sequences_in_one_batch_do_not_see_each_other(load):
    alone, together = load(), load(n_seq_max=3)
    first, second = TOKENS[:10], TOKENS[20:27]
    got = together.decode([Span(0, 0, first, 2), Span(2, 0, second, 3)]).copy()
    same(got[:2], rows(alone, first)[-2:])
    alone.truncate(0, 0)
    same(got[2:], rows(alone, second)[-3:])


def test_a_cut_sequence_goes_on_as_if_the_rest_had_never_been(load):
    backend, fresh = load(), load()
    rows(backend, TOKENS)
    backend.truncate(0, 20)
    same(rows(backend, [7, 8, 9], start=20), rows(fresh, [*TOKENS[:20], 7, 8, 9])[-3:])
    backend.truncate(0, 0)
    same(rows(backend, [7, 8, 9]), rows(load(), [7, 8, 9]))


def test_a_saved_sequence_goes_on_in_any_sequence_of_any_context(load):
    backend, other = load(n_seq_max=2), load()
    rows(backend, TOKENS[:30])
    state = backend.save(0)
    expected = rows(backend, TOKENS[30:], start=30)
    rows(backend, TOKENS[5:15], seq=1)
    backend.restore(1, state)
    same(rows(backend, TOKENS[30:], seq=1, start=30), expected)
    other.restore(0, state)
    same(rows(other, TOKENS[30:], start=30), expected)


@pytest.mark.parametrize("length", [1, 12, 30])
def test_a_copied_sequence_holds_the_beginning_and_goes_its_own_way(load, length):
    backend = load(n_seq_max=2)
    rows(backend, TOKENS[:30])
    rows(backend, TOKENS[10:14], seq=1)
    backend.copy(0, 1, length)
    same(rows(backend, [7, 8], seq=1, start=length), rows(load(), [*TOKENS[:length], 7, 8])[-2:])
    same(rows(backend, [9], start=30), rows(load(), [*TOKENS[:30], 9])[-1:])


# Stopping.


def test_a_stopped_decode_leaves_the_sequence_where_it_was(load):
    backend = load()
    rows(backend, TOKENS[:10])
    backend.abort(True)
    for _ in range(2):
        with pytest.raises(DecodeAborted):
            rows(backend, TOKENS[10:20], start=10)
    backend.abort(False)
    same(rows(backend, TOKENS[10:20], start=10), rows(load(), TOKENS[:20])[10:])


def test_a_stopped_decode_of_several_sequences_leaves_them_all_where_they_were(load):
    backend = load(n_seq_max=2)
    rows(backend, TOKENS[:10])
    rows(backend, TOKENS[:5], seq=1)
    backend.abort(True)
    with pytest.raises(DecodeAborted):
        backend.decode([Span(0, 10, [1, 2], 1), Span(1, 5, [3, 4], 1)])
    backend.abort(False)
    same(rows(backend, [1, 2], start=10), rows(load(), [*TOKENS[:10], 1, 2])[-2:])
    same(rows(backend, [3, 4], seq=1, start=5), rows(load(), [*TOKENS[:5], 3, 4])[-2:])


def test_another_thread_can_stop_decoding(load):
    backend, began = load(n_batch=256), threading.Event()

    def decode_for_ever():
        while True:
            began.set()
            backend.decode([Span(0, 0, TOKENS * 4, 1)])
            backend.truncate(0, 0)

    def stop():
        began.wait(20)
        backend.abort(True)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(DecodeAborted):
        decode_for_ever()
    thread.join(20)
    backend.abort(False)
    same(rows(backend, TOKENS), rows(load(), TOKENS))


# What is refused, and changes nothing.


@pytest.mark.parametrize(
    "span",
    [
        Span(0, 10, [1] * 65, 1),
        Span(0, 10, [], 0),
        Span(0, 10, [-1], 1),
        Span(0, 10, [5, 10_000], 1),
        Span(0, 10, [2**31], 1),
        Span(0, 10, [2**70], 1),
        Span(0, 10, [1, 2], 3),
        Span(0, 10, [1, 2], -1),
        Span(0, 12, [1], 1),
        Span(0, 9, [1], 1),
        Span(0, 0, [1, 2], 1),
        Span(1, 0, [1], 1),
        Span(-1, 0, [1], 1),
        Span(1000, 0, [1], 1),
    ],
    ids=lambda span: f"{span.seq},{span.start},{len(span.tokens)}x{span.tokens[-1:]},{span.outputs}",
)
def test_a_decode_that_cannot_be_is_an_error_and_the_sequence_stays_as_it_was(load, span):
    backend = load()
    rows(backend, TOKENS[:10])
    with pytest.raises(EngineError):
        backend.decode([span])
    same(rows(backend, [7, 8], start=10), rows(load(), [*TOKENS[:10], 7, 8])[-2:])


def test_a_decode_of_nothing_is_an_error(load):
    with pytest.raises(EngineError):
        load().decode([])


def test_a_full_context_is_an_error_and_what_fits_still_does(load):
    backend = load()
    n_ctx = backend.capabilities.n_ctx
    held = 0
    while held + 50 <= n_ctx:
        rows(backend, TOKENS[:50], start=held)
        held += 50
    left = n_ctx - held
    assert 0 < left < 50
    with pytest.raises(EngineError, match="no room"):
        rows(backend, TOKENS[: left + 1], start=held)
    assert rows(backend, TOKENS[:left], start=held).shape[0] == left
    with pytest.raises(EngineError, match="no room"):
        rows(backend, [1], start=n_ctx)
    backend.truncate(0, 5)
    same(rows(backend, [7], start=5), rows(load(), [*TOKENS[:50][:5], 7])[-1:])


def test_the_context_is_shared_by_all_sequences(load):
    backend = load(n_seq_max=2)
    for start in range(0, 200, 50):
        rows(backend, TOKENS[:50], start=start)
    rows(backend, TOKENS[:50], seq=1)
    with pytest.raises(EngineError, match="no room"):
        rows(backend, TOKENS[:10], seq=1, start=50)


@pytest.mark.parametrize(
    "damage", [lambda s: b"", lambda s: b"nonsense", lambda s: s[:-50], lambda s: b"\xff" * len(s)]
)
def test_a_state_that_is_none_is_refused(load, damage):
    backend = load()
    rows(backend, TOKENS[:10])
    with pytest.raises(EngineError, match="restore"):
        backend.restore(0, damage(backend.save(0)))
    backend.truncate(0, 0)
    same(rows(backend, TOKENS[:10]), rows(load(), TOKENS[:10]))


# Loading.


@pytest.mark.parametrize("kept", [0, 3, 4, 30, 1000, 20_000, -1000, -1])
def test_a_cut_off_file_is_refused_with_what_llama_cpp_says_of_it(tmp_path, load, kept):
    path = write_tiny_model(tmp_path / "cut.gguf", truncate=kept)
    with pytest.raises(ModelError, match=r"cut\.gguf.*(magic|header|key-value|bounds|read)"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"GGUF" + b"\xff" * 100, b"\x00" * 5000])
def test_what_is_not_a_model_is_refused(tmp_path, load, content):
    path = tmp_path / "other.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"other\.gguf") as caught:
        load(path)
    assert caught.value.hint
    with pytest.raises(ModelError, match=r"other\.gguf"):
        llama.read_vocabulary(path)


@pytest.mark.parametrize("name", ["missing.gguf", "no\udcffunicode.gguf", "."])
def test_what_is_no_file_is_refused(tmp_path, load, name):
    with pytest.raises(ModelError):
        load(tmp_path / name)


def test_a_name_that_is_no_ascii_is_no_obstacle(tmp_path, load):
    path = write_tiny_model(tmp_path / "größe 模型.gguf")
    assert rows(load(path), TOKENS[:3]).shape[0] == 3


def test_a_context_that_cannot_be_is_refused_with_the_reason(load):
    with pytest.raises(ResourceError, match=r"context of 256 tokens.*q8_0") as caught:
        load(kv_type="q8_0")  # the tiny model's heads are too narrow for it
    assert "kv_type" in caught.value.hint
    assert rows(load(), TOKENS[:3]).shape[0] == 3


def test_a_batch_is_never_larger_than_the_context_asked_for(load):
    assert load(n_ctx=256, n_batch=1024).capabilities.n_batch <= 256


def test_capabilities_are_what_was_loaded(load):
    found = load(n_seq_max=4, n_ctx=512, n_batch=32).capabilities
    assert (found.n_ctx, found.n_batch, found.n_seq_max, found.partial_removal) == (512, 32, 4, True)


def test_closing_twice_is_fine(tiny):
    backend = LlamaBackend(tiny, LoadOptions(n_ctx=256))
    backend.close()
    backend.close()


def test_costs_can_be_measured(load):
    backend = load(n_ctx=512)
    curve = measure(backend, context=32, repetitions=2, sizes=(1, 2, 8))
    assert curve.sizes == (1, 2, 8)
    assert rows(backend, TOKENS[:3]).shape[0] == 3, "the cache is empty again"


def test_the_build_describes_itself_and_devices_can_be_listed():
    assert "llama-cpp-python" in llama.build_info()
    assert isinstance(llama.supports_gpu(), bool)
    for device in llama.devices():
        assert device.name
        assert device.memory_total > 0


@pytest.mark.parametrize(
    ("set_by_the_person", "expected"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_threads_that_wait_do_not_take_the_cores_from_those_they_wait_for(set_by_the_person, expected):
    code = "import os, paceline.engine.llama; print(os.environ.get('GOMP_SPINCOUNT'))"
    clean = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=clean | set_by_the_person, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == expected
