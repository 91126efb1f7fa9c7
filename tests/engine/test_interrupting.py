"""Whose decode is stopped, for whom, and how often: by somebody more urgent, and by those who no longer want it."""

from contextlib import closing

import pytest

from paceline.engine.backend import DecodeAborted
from paceline.engine.engine import INTERRUPTIONS
from paceline.engine.sequence import Request
from paceline.engine.turnstile import Turnstile
from support.by_hand import STEEP, Steps, Watched, engine_on
from support.driving import FLAT, answer, collect, running
from support.fake_backend import FakeBackend
from support.scripted import Gated

LONG = [(7 * i + i // 3) % 7 for i in range(200)]
SHORT = Request([5, 4], 3, priority="completion", speculation="off")


def alone(request):
    with running(FakeBackend()) as engine:
        return answer(engine, request)


def reading(*, curve=STEEP, priority="chat", step_ms=50.0, prompt=LONG, partial_removal=True, **limits):
    """Steps of an engine in which one request reads a long prompt, and the model."""
    model = Watched(n_seq_max=4, n_batch=64, partial_removal=partial_removal)
    steps = Steps(engine_on(model, curve=curve, step_ms=step_ms, **limits))
    steps.submit("reader", Request(prompt, 5, priority=priority, speculation="off"))
    steps.take()
    return steps, model


def stops(model, steps, action):
    """How often the next decode is stopped when that is done in the middle of it."""
    before, model.meanwhile = model.stops, action
    steps.take()
    assert model.meanwhile is None, "there was a decode"
    return model.stops - before


# By somebody more urgent.


@pytest.mark.parametrize("running_one", ["completion", "chat", "prefetch", "background"])
@pytest.mark.parametrize("newcomer", ["completion", "chat", "prefetch", "background"])
def test_a_long_chunk_is_stopped_for_whoever_is_more_urgent_and_for_nobody_else(running_one, newcomer):
    order = ["completion", "chat", "prefetch", "background"]
    steps, model = reading(priority=running_one)
    request = Request([5, 4], 3, priority=newcomer, speculation="off")
    stopped = stops(model, steps, lambda: steps.submit("newcomer", request))
    assert stopped == (order.index(newcomer) < order.index(running_one))
    assert steps.until("newcomer").tokens == alone(request).tokens
    assert steps.until("reader").tokens == alone(Request(LONG, 5)).tokens


def test_the_chunk_that_was_stopped_is_read_again_after_the_newcomer():
    steps, model = reading()
    decodes = len(model.spans)
    stops(model, steps, lambda: steps.submit("newcomer", SHORT))
    assert len(model.spans) == decodes
    steps.take()
    assert [span.seq for span in model.spans[-1]] == [1], "the newcomer alone"
    steps.until("newcomer")
    steps.take()
    assert model.spans[-1][0].seq == 0
    assert model.spans[-1][0].start == 64


@pytest.mark.parametrize(("step_ms", "stopped"), [(399.0, 1), (400.0, 0), (1000.0, 0)])
def test_a_step_that_is_short_enough_is_not_stopped(step_ms, stopped):
    steps, model = reading(step_ms=step_ms)
    assert STEEP.at(64) == 400.0
    assert stops(model, steps, lambda: steps.submit("newcomer", SHORT)) == stopped


def test_a_model_that_cannot_drop_its_tail_is_stopped_for_nobody_else():
    steps, model = reading(partial_removal=False)
    assert stops(model, steps, lambda: steps.submit("newcomer", SHORT)) == 0
    steps.until("reader")
    assert sum(model.decoded) == len(LONG) + 4 + 2 + 2, "nothing was read twice"


def test_a_step_in_which_one_as_urgent_takes_part_is_not_stopped():
    steps, model = reading(curve=FLAT, step_ms=0.1, prompt=LONG * 3)
    steps.submit("completion", Request([3], 50, priority="completion", speculation="off"))
    steps.take(2)
    assert len(model.spans[-1]) == 2, "the reader rides along"
    assert stops(model, steps, lambda: steps.submit("newcomer", SHORT)) == 0


def test_between_two_steps_nothing_is_stopped():
    steps, model = reading()
    steps.submit("newcomer", SHORT)
    assert model.stops == 0
    steps.take()
    assert "newcomer" in steps.first_token


def newcomers(steps, model, times):
    """How often the reader's chunk is stopped when one completion comes after the other, each in the middle of it."""
    stopped = []
    for _ in range(times):
        name = f"newcomer {steps.count}"
        stopped.append(
            stops(model, steps, lambda name=name: steps.submit(name, Request([5], 1, priority="completion")))
        )
        steps.until(name)
    return stopped


def test_a_chunk_is_stopped_twice_and_then_has_its_turn_and_may_be_stopped_again():
    steps, model = reading(prompt=LONG * 3)
    begun = steps.read("reader")[-1]
    assert newcomers(steps, model, INTERRUPTIONS + 1) == [1, 1, 0]
    assert steps.read("reader")[-1] == begun + 64
    assert newcomers(steps, model, INTERRUPTIONS + 1) == [1, 1, 0]
    assert steps.until("reader").tokens == alone(Request(LONG * 3, 5)).tokens


def test_another_engine_on_the_processor_stops_it_too():
    steps, model = reading()
    assert stops(model, steps, lambda: steps.engine.make_way("chat")) == 0
    assert stops(model, steps, lambda: steps.engine.make_way("completion")) == 1
    steps.engine.make_way("completion")
    assert model.stops == 1, "nothing runs"


def test_beside_another_engine_chunks_are_short_enough_not_to_be_stopped():
    turnstile = Turnstile()
    with turnstile.turn("another", 0):
        pass
    model = Watched(n_seq_max=2, n_batch=64)
    steps = Steps(engine_on(model, curve=STEEP, step_ms=110.0, turnstile=turnstile))
    steps.submit("reader", Request(LONG, 5, speculation="off"))
    assert stops(model, steps, lambda: steps.submit("newcomer", SHORT)) == 0
    assert model.decoded == [16]


# By those who no longer want it.


def decoding(count, *, partial_removal=True, **how):
    model = Watched(n_seq_max=8, n_batch=64, partial_removal=partial_removal)
    steps = Steps(engine_on(model, **how))
    streams = [steps.submit(number, Request([number], 30, speculation="off")) for number in range(count)]
    steps.take(3)
    return steps, model, streams


@pytest.mark.parametrize("gone", [0, 1, 2, 3, 4])
def test_a_step_is_stopped_where_most_of_it_is_for_nobody(gone):
    steps, model, streams = decoding(4)

    def leave():
        for stream in streams[:gone]:
            stream.cancel()

    assert stops(model, steps, leave) == max(0, gone - 2)
    steps.take()
    for number in range(4):
        if number < gone:
            assert steps.ended[number].reason == "cancelled"
        else:
            assert steps.until(number).tokens == alone(Request([number], 30)).tokens


def test_it_is_the_tokens_that_count_not_the_heads():
    steps, model, _ = decoding(3)
    reader = steps.submit("reader", Request(LONG, 5, speculation="off"))
    assert stops(model, steps, reader.cancel) == 1
    steps.take()
    assert (steps.ended["reader"].reason, steps.ended["reader"].tokens) == ("cancelled", ())
    for number in range(3):
        assert steps.until(number).tokens == alone(Request([number], 30)).tokens


def test_who_decodes_beside_a_long_chunk_leaves_without_stopping_it():
    steps, model, streams = decoding(1)
    steps.submit("reader", Request(LONG, 5, speculation="off"))
    assert stops(model, steps, streams[0].cancel) == 0
    assert len(steps.read("reader")) == 2, "the chunk was read"


def test_a_model_that_cannot_drop_its_tail_is_stopped_only_where_nobody_is_left():
    steps, model, streams = decoding(3, partial_removal=False)
    assert stops(model, steps, lambda: [streams[0].cancel(), streams[1].cancel()]) == 0
    steps.take()
    assert stops(model, steps, streams[2].cancel) == 1
    steps.take()
    assert [steps.ended[number].reason for number in range(3)] == ["cancelled"] * 3
    assert steps.engine.status().cells_used == 0, "nobody knows how far it came"


def test_what_a_model_that_cannot_drop_its_tail_has_said_to_the_end_stays_in_its_cache():
    steps, _, _ = decoding(1, partial_removal=False)
    steps.until(0)
    assert steps.engine.status().cells_used == 30


def test_who_waits_or_is_done_stops_nothing():
    steps, model, streams = decoding(2, parallel=2)
    waiting = steps.submit("waits", Request([7], 5))
    assert stops(model, steps, waiting.cancel) == 0
    assert steps.ended["waits"].reason == "cancelled"
    steps.until(0)
    steps.until(1)
    last = steps.submit("last", Request(LONG, 5))
    assert stops(model, steps, streams[0].cancel) == 0
    assert [type(event).__name__ for event in steps.events[0]].count("Finished") == 1
    last.cancel()


def test_who_is_cancelled_while_the_step_is_prepared_is_not_decoded_for():
    steps, model, streams = decoding(1)
    decodes = len(model.decoded)
    admit = steps.engine._admit

    def cancelling():
        admit()
        streams[0].cancel()

    steps.engine._admit = cancelling
    steps.take()
    assert len(model.decoded) == decodes
    steps.take()
    assert steps.ended[0].reason == "cancelled"


def test_the_newest_request_for_a_document_stops_the_step_of_the_older_one():
    model = Watched(n_seq_max=4, n_batch=64)
    steps = Steps(engine_on(model))
    steps.submit("old", Request(LONG, 5, priority="completion", supersedes="a.py"))
    new = Request([5], 5, priority="completion", supersedes="a.py")
    assert stops(model, steps, lambda: steps.submit("new", new)) == 1
    steps.take()
    assert steps.ended["old"].reason == "superseded"
    assert steps.until("new").reason == "length"


def test_a_draft_is_stopped_too():
    draft = Watched(n_seq_max=4, noise=0.1)
    model = Watched(n_seq_max=4)
    steps = Steps(engine_on(model, draft=draft))
    stream = steps.submit("it", Request([1, 2, 3], 30, speculation="draft"))
    steps.take()
    decodes = len(model.decoded)
    draft.meanwhile = stream.cancel
    steps.take()
    assert draft.stops == 1
    assert len(model.decoded) == decodes, "a draft that was stopped is not verified"
    steps.take()
    assert steps.ended["it"].reason == "cancelled"


def test_after_a_stop_decodes_run_again():
    steps, model = reading()
    stops(model, steps, lambda: steps.submit("newcomer", SHORT))
    with pytest.raises(DecodeAborted):
        model.decode([])
    with steps.engine._changed:
        steps.engine._reap()
    model.decode([])


# On the engine's own thread.


def test_a_completion_gets_its_answer_while_a_prompts_chunk_hangs():
    model = Gated(n_seq_max=4, n_batch=64)
    with closing(engine_on(model, curve=STEEP, step_ms=50.0)) as engine:
        chat = engine.submit(Request(LONG, 5))
        model.arrive()
        completion = engine.submit(Request([5, 4], 1, priority="completion"))
        model.let_through(1)  # the only decode that is let through is the completion's
        assert collect(completion).tokens == alone(Request([5, 4], 1)).tokens
        assert model.decoded == [2]
        model.open()
        assert collect(chat).tokens == alone(Request(LONG, 5)).tokens


def test_closing_ends_those_that_decode_and_those_that_wait():
    model = Gated(n_seq_max=1)
    engine = engine_on(model)
    streams = [engine.submit(Request([number], 30)) for number in range(3)]
    model.arrive()
    engine.close()
    assert [collect(stream).reason for stream in streams] == ["cancelled"] * 3
    assert model.closed
