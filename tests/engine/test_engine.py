"""The engine's thread: who gets what, what is refused, what is cancelled, and how failures stay where they belong."""

import threading

import pytest

from paceline.engine.controller import Controller
from paceline.engine.costs import CostModel
from paceline.engine.drafters.model import DraftModel
from paceline.engine.engine import Engine, random_seed
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Delta, Finished, Prefilled, Request
from paceline.errors import ContextOverflowError, EngineError, ModelError
from support.driving import CHEAP, FLAT, answer, collect, running
from support.fake_backend import FakeBackend
from support.scripted import Failing, Gated

PROMPT = [1, 2, 3, 4]


def plain(prompt, max_tokens, **request):
    """What the model says by itself."""
    with running(FakeBackend()) as engine:
        return answer(engine, Request(prompt, max_tokens, speculation="off", **request))


# What is refused.


@pytest.mark.parametrize(("n_ctx", "length", "over"), [(16, 16, 1), (16, 40, 25)])
def test_a_prompt_that_does_not_fit_is_refused_with_both_numbers(n_ctx, length, over):
    with running(FakeBackend(n_ctx=n_ctx)) as engine:
        with pytest.raises(ContextOverflowError, match=f"{length} tokens, {over} more than the {n_ctx - 1}") as caught:
            engine.submit(Request([1] * length, 5))
        assert (caught.value.needed, caught.value.available) == (length, n_ctx - 1)
        assert caught.value.hint
        assert len(answer(engine, Request([1] * (n_ctx - 1), 5)).tokens) == 1


def test_an_empty_prompt_is_refused():
    with running() as engine, pytest.raises(EngineError, match="empty"):
        engine.submit(Request([], 5))


def test_a_prompt_with_a_token_that_is_none_fails_alone():
    with running() as engine:
        with pytest.raises(EngineError, match="vocabulary"):
            answer(engine, Request([1, 99], 5))
        assert answer(engine, Request(PROMPT, 5)).tokens == plain(PROMPT, 5).tokens


# Prefill.


def test_a_long_prompt_goes_in_chunks_and_says_how_far_it_is():
    model = FakeBackend(n_batch=16)
    with running(model) as engine:
        got = answer(engine, Request([1, 2, 3, 4, 5] * 10, 3, speculation="off"))
    assert [each.done for each in got.prefilled] == [0, 16, 32, 48, 50]
    assert {each.total for each in got.prefilled} == {50}
    assert model.decoded[:4] == [16, 16, 16, 2]


# Cancelling.


def test_cancelling_during_prefill_stops_inside_the_running_decode():
    model = Gated(n_batch=8)
    with running(model) as engine:
        stream = engine.submit(Request(list(range(8)) * 10, 50))
        model.let_through(3)
        stream.cancel()
        got = collect(stream)
        assert (got.reason, got.tokens, got.text) == ("cancelled", (), "")
        assert len(model.decoded) == 3, "the fourth chunk was stopped, and none came after it"
        assert got.stats.predicted_tokens == 0


@pytest.mark.parametrize("speculation", ["off", "ngram", "auto"])
def test_cancelling_during_decoding_keeps_what_was_said(speculation):
    model = Gated()
    with running(model) as engine:
        stream = engine.submit(Request(PROMPT, 1000, speculation=speculation))
        model.let_through(5)
        stream.cancel()
        got = collect(stream)
        assert got.reason == "cancelled"
        expected = plain(PROMPT, 100)
        assert got.tokens == expected.tokens[: len(got.tokens)]
        assert got.text == expected.text[: len(got.text)]
        assert got.stats.predicted_tokens == len(got.tokens) >= 5
        model.open()
        assert answer(engine, Request(PROMPT, 20)).tokens == expected.tokens[:20], "the next request is right"


def test_cancelling_while_the_draft_model_works_stops_it_too():
    target, draft = FakeBackend(), Gated(noise=0.2)
    with running(target, draft) as engine:
        stream = engine.submit(Request(PROMPT, 1000, speculation="draft"))
        draft.let_through(7)
        stream.cancel()
        got = collect(stream)
        assert got.reason == "cancelled"
        assert not got.stats.notes, "being stopped is no failure"
        draft.open()
        again = answer(engine, Request(PROMPT, 30, speculation="draft"))
        assert again.tokens == plain(PROMPT, 30).tokens
        assert again.stats.accepted > 0


def test_cancelling_one_that_waits_leaves_the_running_one_alone():
    model = Gated()
    with running(model) as engine:
        first = engine.submit(Request(PROMPT, 10))
        model.arrive()
        second, third = engine.submit(Request([7], 10)), engine.submit(Request([6], 10))
        second.cancel()
        assert [type(event) for event in second] == [Finished], "it hears at once, though another runs"
        model.open()
        assert collect(first).tokens == plain(PROMPT, 10).tokens
        assert collect(third).tokens == plain([6], 10).tokens


def test_cancelling_the_running_one_lets_the_next_one_run():
    model = Gated()
    with running(model) as engine:
        first = engine.submit(Request(PROMPT, 1000))
        model.let_through(2)
        second = engine.submit(Request([6, 5], 10))
        first.cancel()
        assert collect(first).reason == "cancelled"
        model.open()
        got = collect(second)
        assert (got.reason, got.tokens) == ("length", plain([6, 5], 10).tokens)


def test_cancelling_between_waiting_and_running_stops_before_the_first_decode():
    model = FakeBackend()
    with running(model) as engine:
        streams = []
        ready = threading.Event()

        class Cancelling(tuple):
            """Stop strings that are looked at when the request is about to run."""

            def __iter__(self):
                ready.wait(20)
                streams[0].cancel()
                return super().__iter__()

        streams.append(engine.submit(Request(PROMPT, 100, stop=Cancelling(("no",)))))
        ready.set()
        assert collect(streams[0]).reason == "cancelled"
        assert model.decoded == []
        assert len(answer(engine, Request(PROMPT, 5)).tokens) == 5


def test_leaving_the_loop_cancels():
    model = Gated()
    with running(model) as engine:
        stream = engine.submit(Request(PROMPT, 1000))
        model.let_through(1)
        for event in stream:
            if isinstance(event, Prefilled):
                break
        assert stream.cancelled
        model.open()
        got = answer(engine, Request([5], 8))
        assert got.tokens == plain([5], 8).tokens
        assert len(model.decoded) < 50, "the thousand tokens were not computed"


def test_an_exception_in_the_loop_cancels_too():
    model = Gated()
    with running(model) as engine:
        stream = engine.submit(Request(PROMPT, 1000))
        model.let_through(2)
        with pytest.raises(ZeroDivisionError):
            for event in stream:
                if isinstance(event, Delta):
                    raise ZeroDivisionError
        assert stream.cancelled


def test_cancelling_twice_or_after_the_end_disturbs_nobody():
    model = Gated()
    with running(model) as engine:
        first = engine.submit(Request(PROMPT, 3))
        model.open()
        assert collect(first).reason == "length"
        model._open = False
        second = engine.submit(Request([6], 5))
        model.arrive()
        first.cancel()
        first.cancel()
        model.open()
        got = collect(second)
        assert (got.reason, got.tokens) == ("length", plain([6], 5).tokens)
        second.cancel()
        assert answer(engine, Request([5], 5)).reason == "length"


def test_however_often_requests_are_cancelled_the_next_answer_is_right():
    with running(FakeBackend(n_batch=8), FakeBackend(noise=0.3)) as engine:
        for i in range(40):
            stream = engine.submit(Request([*PROMPT, *range(i % 8)] * 3, 10_000, speculation=("auto", "draft")[i % 2]))
            for seen, _ in enumerate(stream):
                if seen >= i % 11:
                    break
        got = answer(engine, Request(PROMPT, 50, speculation="draft"))
    assert got.tokens == plain(PROMPT, 50).tokens


# Failures.


def test_a_failing_decode_reaches_its_owner_and_the_engine_goes_on():
    model = Failing(EngineError("out of order", "call somebody"), [2])
    with running(model) as engine:
        with pytest.raises(EngineError, match="out of order"):
            answer(engine, Request(PROMPT, 10))
        assert answer(engine, Request(PROMPT, 10)).tokens == plain(PROMPT, 10).tokens


def test_what_was_said_before_a_failure_arrives_before_it():
    seen = []
    with running(Failing(EngineError("out of order"), [3])) as engine:
        stream = engine.submit(Request(PROMPT, 10, speculation="off"))
        with pytest.raises(EngineError):
            for event in stream:
                seen.append(event)
    assert "".join(e.text for e in seen if isinstance(e, Delta)) == plain(PROMPT, 3).text


def test_a_bug_in_a_backend_becomes_an_error_that_names_it():
    model = Failing(ZeroDivisionError("by nought"), [1])
    with running(model) as engine:
        with pytest.raises(EngineError, match=r"ZeroDivisionError.*by nought"):
            answer(engine, Request(PROMPT, 10))
        assert answer(engine, Request(PROMPT, 10)).tokens == plain(PROMPT, 10).tokens


def test_a_failure_hits_only_the_request_that_runs():
    model = Failing(EngineError("out of order"), [3])
    with running(model) as engine:
        streams = [engine.submit(Request(PROMPT, 10, speculation="off")) for _ in range(3)]
        with pytest.raises(EngineError):
            collect(streams[0])
        assert collect(streams[1]).tokens == collect(streams[2]).tokens == plain(PROMPT, 10).tokens


def test_a_listener_that_fails_fails_its_own_request():
    def until(text):
        raise RuntimeError("deaf")

    with running() as engine:
        with pytest.raises(EngineError, match="deaf"):
            answer(engine, Request(PROMPT, 10, until=until))
        assert answer(engine, Request(PROMPT, 10)).tokens == plain(PROMPT, 10).tokens


def test_logits_that_are_no_numbers_end_in_an_error():
    model = FakeBackend()
    model.table[...] = float("nan")
    with running(model) as engine:
        for temperature in (0.0, 1.0):
            with pytest.raises(EngineError, match="logits"):
                answer(engine, Request(PROMPT, 5, SamplerSettings(temperature=temperature)))


@pytest.mark.parametrize("speculation", ["draft", "auto"])
@pytest.mark.parametrize("decodes", [[0], [3], [4, 5], range(100)], ids=["first", "fourth", "two", "all"])
@pytest.mark.parametrize("seeded", [True, False])
def test_a_failing_draft_model_is_turned_off_with_a_note_and_the_answer_is_the_plain_one(speculation, decodes, seeded):
    draft = Failing(EngineError("no more memory"), decodes)
    with running(FakeBackend(), draft) as engine:
        got = answer(engine, Request(PROMPT, 60, speculation=speculation, seeded=seeded))
    expected = plain(PROMPT, 60)
    assert (got.tokens, got.text) == (expected.tokens, expected.text)
    assert sum("turned off" in note and "no more memory" in note for note in got.stats.notes) == 1


def test_after_a_passing_failure_the_next_request_drafts_again():
    with running(FakeBackend(), Failing(EngineError("a hiccup"), [2])) as engine:
        answer(engine, Request(PROMPT, 30, speculation="draft"))
        got = answer(engine, Request(PROMPT, 30, speculation="draft"))
    assert got.stats.notes == []
    assert got.stats.accepted > 0
    assert got.tokens == plain(PROMPT, 30).tokens


def test_a_draft_model_that_cannot_be_loaded_is_reported_and_not_loaded_again_for_each_request():
    loads = []

    def load():
        loads.append(1)
        raise ModelError("the file is damaged", "download it again")

    with running(FakeBackend(), load) as engine:
        for _ in range(3):
            got = answer(engine, Request(PROMPT, 20, speculation="draft"))
            assert any("the file is damaged" in note for note in got.stats.notes)
            assert got.tokens == plain(PROMPT, 20).tokens
    assert len(loads) == 1


def test_a_draft_model_is_loaded_when_it_is_first_needed_and_only_then():
    model = DraftModel(lambda: FakeBackend(noise=0.2))
    engine = Engine(FakeBackend(), Controller(CostModel(FLAT), CostModel(CHEAP)), model)
    try:
        for speculation in ("off", "ngram"):
            answer(engine, Request(PROMPT, 10, speculation=speculation))
            assert model.loading_ms > 0
        answer(engine, Request(PROMPT, 10, speculation="draft"))
        assert model.loading_ms == 0
    finally:
        engine.close()
    assert model.loading_ms > 0


def test_asking_for_a_draft_model_where_there_is_none_is_answered_with_a_note():
    with running(FakeBackend()) as engine:
        got = answer(engine, Request(PROMPT, 10, speculation="draft"))
    assert got.stats.notes == ["no draft model is set"]
    assert got.tokens == plain(PROMPT, 10).tokens


@pytest.mark.parametrize("n_ctx", [1, 2, 5, 12, 30])
def test_a_draft_model_with_a_small_context_drafts_as_far_as_it_reaches(n_ctx):
    with running(FakeBackend(), FakeBackend(n_ctx=n_ctx, noise=0.1)) as engine:
        got = answer(engine, Request(PROMPT, 40, speculation="draft"))
    assert got.tokens == plain(PROMPT, 40).tokens
    assert not any("turned off" in note for note in got.stats.notes)
    assert (got.stats.drafted > 0) == (n_ctx >= 12)


# Closing.


def test_closing_while_it_runs_ends_everything_as_cancelled_and_frees_the_models():
    target, draft = Gated(), FakeBackend()
    model = DraftModel(lambda: draft)
    assert model.backend is draft
    engine = Engine(target, Controller(CostModel(FLAT), CostModel(CHEAP)), model)
    streams = [engine.submit(Request(PROMPT, 1000)) for _ in range(3)]
    target.let_through(2)
    engine.close()
    assert [collect(stream).reason for stream in streams] == ["cancelled"] * 3
    assert target.closed
    assert draft.closed


def test_closing_twice_or_before_anything_ran_is_fine_and_a_closed_engine_takes_no_request():
    engine = Engine(FakeBackend(), Controller(CostModel(FLAT)))
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.submit(Request(PROMPT, 1))


def test_no_thread_is_left_behind():
    before = threading.active_count()
    with running() as engine:
        answer(engine, Request(PROMPT, 5))
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


# Many at a time.


def test_requests_from_many_threads_each_get_their_own_answer():
    prompts = [[a, b, a] for a in range(8) for b in range(8)]
    got = {}

    def ask(mine):
        for i in mine:
            got[i] = answer(engine, Request(prompts[i], 12, SamplerSettings(temperature=0.8, seed=i), seeded=True))

    with running(FakeBackend(), FakeBackend(noise=0.4)) as engine:
        threads = [threading.Thread(target=ask, args=(range(k, 64, 8),)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(got) == 64
    with running(FakeBackend()) as engine:
        for i, prompt in enumerate(prompts):
            how = SamplerSettings(temperature=0.8, seed=i)
            assert got[i].tokens == answer(engine, Request(prompt, 12, how, speculation="off")).tokens


def test_requests_are_served_in_the_order_they_came():
    model, order = Gated(), []
    with running(model) as engine:
        streams = [engine.submit(Request(PROMPT, 3, until=lambda _, i=i: bool(order.append(i)))) for i in range(4)]
        model.open()
        for stream in streams:
            collect(stream)
    assert order == sorted(order)
    assert set(order) == {0, 1, 2, 3}


def test_cancelling_from_many_threads_leaves_the_others_right():
    with running(FakeBackend(n_batch=8), FakeBackend(noise=0.3)) as engine:
        streams = [engine.submit(Request([i % 8, 1, 2] * 5, 40 if i % 3 else 5000)) for i in range(30)]
        cancelling = [threading.Thread(target=streams[i].cancel) for i in range(0, 30, 3)]
        for thread in cancelling:
            thread.start()
        answers = [collect(stream) for stream in streams]
        for thread in cancelling:
            thread.join(20)
    for i, got in enumerate(answers):
        if i % 3:
            assert got.reason == "length"
            assert got.tokens == plain([i % 8, 1, 2] * 5, 40).tokens
        else:
            assert got.reason == "cancelled"


def test_seeds_nobody_chose_differ():
    seeds = {random_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)
