"""Models of other kinds: what they cannot do is known before work starts, and said."""

import pytest

from paceline.engine.backend import DecodeAborted
from paceline.engine.controller import Controller
from paceline.engine.costs import CostCurve, CostModel, measure
from paceline.engine.engine import Engine, Limits
from paceline.engine.llama import LlamaBackend
from paceline.engine.sequence import Delta, Prefilled, Request
from paceline.errors import ModelError
from paceline.plan import LoadOptions
from support.driving import FLAT, answer, collect, running
from support.odd_models import write_embedding_model, write_recurrent_model

OPTIONS = LoadOptions(n_ctx=1024, n_batch=64, n_threads=1)


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory):
    return write_recurrent_model(tmp_path_factory.mktemp("odd") / "mamba.gguf")


def test_a_recurrent_model_answers_without_speculation_and_says_why(recurrent):
    with running(LlamaBackend(recurrent, OPTIONS)) as engine:
        got = answer(engine, Request(list(range(200)), max_tokens=20, speculation="auto"))
    assert got.stats.drafted == 0
    assert any("recurrent" in note for note in got.stats.notes)
    assert 0 < len(got.tokens) <= 20


def test_a_recurrent_model_goes_on_from_a_prompt_that_only_grew(recurrent):
    prompt = list(range(150))
    with running(LlamaBackend(recurrent, OPTIONS)) as engine:
        first = answer(engine, Request(prompt, max_tokens=5, speculation="off"))
        longer = [*prompt, *first.tokens, 7, 8]
        again = answer(engine, Request(longer, max_tokens=5, speculation="off"))
    with running(LlamaBackend(recurrent, OPTIONS)) as engine:
        fresh = answer(engine, Request(longer, max_tokens=5, speculation="off"))
    assert again.tokens == fresh.tokens
    assert again.stats.cached_tokens >= len(prompt)


@pytest.mark.parametrize("until", [Prefilled, Delta])
def test_after_a_cancelled_request_a_recurrent_model_answers_as_if_it_had_never_been(recurrent, until):
    request = Request([3, 1, 4, 1, 5] * 20, max_tokens=10, speculation="off")
    with running(LlamaBackend(recurrent, OPTIONS)) as engine:
        for event in engine.submit(Request([i % 250 for i in range(300)], max_tokens=500, speculation="off")):
            if isinstance(event, until):
                break  # leaving early cancels
        after = answer(engine, request)
    with running(LlamaBackend(recurrent, OPTIONS)) as engine:
        assert answer(engine, request).tokens == after.tokens


def test_the_cost_of_one_token_is_measured_where_more_are_never_verified(recurrent):
    backend = LlamaBackend(recurrent, OPTIONS)
    curve = measure(backend, context=64, repetitions=2)
    backend.close()
    assert isinstance(curve, CostCurve)
    assert curve.sizes == (1,)


def test_an_embedding_model_is_refused_for_what_it_is(tmp_path):
    path = write_embedding_model(tmp_path / "bert.gguf")
    with pytest.raises(ModelError, match="cannot generate text") as refused:
        LlamaBackend(path, OPTIONS)
    assert refused.value.hint


def test_loading_ends_when_it_is_told_to(recurrent):
    with pytest.raises(DecodeAborted):
        LlamaBackend(recurrent, OPTIONS, keep_going=lambda: False)


def test_recurrent_models_serve_many_at_a_time_and_remember_who_said_what(recurrent):
    wishes = [Request([(i * 7 + j) % 250 for j in range(60 + i)], 15, speculation="off") for i in range(6)]
    with running(LlamaBackend(recurrent, OPTIONS, n_seq_max=1)) as engine:
        expected = [answer(engine, wish).tokens for wish in wishes]
    backend = LlamaBackend(recurrent, OPTIONS, n_seq_max=3)
    engine = Engine(backend, Controller(CostModel(FLAT)), None, Limits())
    streams = [engine.submit(wish) for wish in wishes]
    gone = engine.submit(Request(list(range(200)), 400, speculation="off", priority="completion"))
    gone.cancel()
    assert [collect(stream).tokens for stream in streams] == expected
    longer = Request([*wishes[0].prompt, *expected[0], 9], 5, speculation="off")
    again = answer(engine, longer)
    engine.close()
    with running(LlamaBackend(recurrent, OPTIONS, n_seq_max=1)) as engine:
        assert answer(engine, longer).tokens == again.tokens
