"""Several requests in one context: who runs when, what a step holds, and that nobody feels the others."""

import itertools
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.costs import CostCurve
from paceline.engine.sampler import SamplerSettings
from paceline.engine.scheduler import STARVED
from paceline.engine.sequence import Finished, Prefilled, Request
from paceline.errors import BusyError, EngineError
from support.by_hand import Steps, engine_on
from support.driving import FLAT, answer, collect, running
from support.fake_backend import FakeBackend
from support.scripted import Failing, Gated, Scripted, vocabulary_of

STEEP = CostCurve((1, 2, 64), (10.0, 15.0, 400.0))  # a processor: a second token costs half a decode
LONG = [(7 * i + i // 3) % 7 for i in range(200)]


def alone(request):
    """What a request gets from an engine of its own."""
    with running(FakeBackend()) as engine:
        return answer(engine, request)


# Parity: each answer is the one it would be alone.


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 7), min_size=1, max_size=40),
            st.integers(1, 30),
            st.sampled_from(["completion", "chat", "prefetch", "background"]),
            st.sampled_from(["off", "ngram", "auto", "draft"]),
            st.sampled_from([0.0, 1.0]),
            st.integers(0, 20),  # steps after the one before
        ),
        min_size=1,
        max_size=7,
    ),
    st.sampled_from([48, 120, 4096]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([FLAT, STEEP]),
    st.sampled_from([0, 1 << 20]),
)
def test_every_request_gets_the_answer_it_would_get_alone(wishes, n_ctx, slots, curve, parking):
    target = FakeBackend(n_ctx=n_ctx, n_seq_max=slots, n_batch=16)
    draft = FakeBackend(noise=0.3, n_seq_max=slots, n_batch=16, n_ctx=n_ctx)
    steps = Steps(engine_on(target, draft=draft, curve=curve, parallel=slots, parking=parking))
    requests = {}
    for number, (prompt, max_tokens, priority, speculation, temperature, later) in enumerate(wishes):
        steps.take(later)
        sampler = SamplerSettings(temperature=temperature, seed=number, top_k=0, top_p=1.0)
        how = {"sampler": sampler, "seeded": True, "speculation": speculation, "priority": priority}
        requests[number] = Request(prompt, max_tokens, **how)
        steps.submit(number, requests[number])
    for number in requests:
        end = steps.until(number)
        assert isinstance(end, Finished), end
        expected = alone(Request(**{**vars(requests[number]), "speculation": "off"}))
        most = n_ctx - len(requests[number].prompt)
        assert end.tokens == expected.tokens[:most]
    engine = steps.engine
    held = {cell for slot in engine._slots.slots for cell in slot.held}
    assert engine._slots.cells.used == len(held), "every cell is accounted for"
    assert all(len(slot.held) == len(slot.tokens) for slot in engine._slots.slots)
    assert target.cache == {slot.seq: slot.tokens for slot in engine._slots.slots}
    assert not engine._scheduler.running and not engine._waiting and not engine._streams


@pytest.mark.parametrize("count", [2, 4, 8])
def test_requests_that_run_together_share_decodes(count):
    model = FakeBackend(n_seq_max=8)
    steps = Steps(engine_on(model))
    for number in range(count):
        steps.submit(number, Request([number % 8], 20, speculation="off"))
    for number in range(count):
        steps.until(number)
    assert len(model.decoded) <= 21
    assert max(model.decoded) == count


def test_no_more_run_than_are_allowed_to():
    model = FakeBackend(n_seq_max=8)
    steps = Steps(engine_on(model, parallel=2))
    for number in range(5):
        steps.submit(number, Request([number], 10, speculation="off"))
    for number in range(5):
        steps.until(number)
    assert max(model.decoded) == 2
    assert list(steps.ended) == [0, 1, 2, 3, 4]


# Priorities.


def test_a_completion_beside_a_chat_gets_its_first_token_as_soon_as_alone():
    for curve in (STEEP, FLAT):
        lonely = Steps(engine_on(FakeBackend(n_seq_max=4, n_batch=64), curve=curve))
        lonely.submit("completion", Request(LONG, 5, priority="completion"))
        lonely.until("completion")
        steps = Steps(engine_on(FakeBackend(n_seq_max=4, n_batch=64), curve=curve))
        steps.submit("chat", Request([1, 2, 3], 500))
        steps.take(20)
        steps.submit("completion", Request(LONG, 5, priority="completion"))
        steps.until("completion")
        assert steps.first_token["completion"] - 20 <= lonely.first_token["completion"] + 2


def test_a_completion_during_the_reading_of_a_long_prompt_goes_first():
    model = FakeBackend(n_seq_max=4, n_batch=16)
    steps = Steps(engine_on(model, curve=STEEP))
    steps.submit("chat", Request(LONG, 5))
    steps.take(3)
    steps.submit("completion", Request([5, 4], 5, priority="completion"))
    steps.take(2)
    assert "completion" in steps.first_token
    assert "chat" not in steps.first_token
    assert steps.until("chat").tokens == alone(Request(LONG, 5)).tokens


def test_a_chat_that_was_passed_over_goes_on_with_its_cache():
    model = FakeBackend(n_seq_max=4)
    steps = Steps(engine_on(model, curve=STEEP))
    steps.submit("chat", Request([1, 2, 3], 60, speculation="off"))
    steps.take(10)
    steps.submit("completion", Request([5, 4], 10, priority="completion", speculation="off"))
    end = steps.until("chat")
    assert sum(model.decoded) == 3 + 59 + 2 + 9, "nothing was decoded twice"
    assert end.stats.cached_tokens == 0


@pytest.mark.parametrize("low", ["chat", "prefetch", "background"])
def test_nobody_starves_while_completions_never_end(low):
    model = FakeBackend(n_seq_max=4, n_batch=32)
    steps = Steps(engine_on(model, curve=STEEP))
    steps.submit("low", Request(LONG[:64], 5, priority=low, speculation="off"))
    for number in itertools.count():
        name = f"completion {number}"
        steps.submit(name, Request([number % 8, 1], 10, priority="completion", speculation="off"))
        steps.until(name)
        if "low" in steps.ended:
            break
        assert number < 100
    assert steps.count <= (64 // 16 + 5 + 2) * (STARVED + 2)


def test_where_another_token_costs_next_to_nothing_all_go_on_together():
    model = FakeBackend(n_seq_max=4)
    steps = Steps(engine_on(model, curve=FLAT))
    steps.submit("chat", Request([1, 2, 3], 60, speculation="off"))
    steps.take(5)
    steps.submit("completion", Request([5, 4], 10, priority="completion", speculation="off"))
    before = len(steps.text["chat"])
    steps.until("completion")
    assert len(steps.text["chat"]) >= before + 9


def test_a_more_urgent_request_takes_the_sequence_of_a_less_urgent_one():
    model = FakeBackend(n_seq_max=1)
    steps = Steps(engine_on(model))
    steps.submit("chat", Request(LONG, 50, speculation="off"))
    steps.take(20)
    steps.submit("completion", Request([5, 4], 10, priority="completion"))
    steps.take(2)
    assert "completion" in steps.first_token
    assert steps.until("completion").tokens == alone(Request([5, 4], 10)).tokens
    model.decoded.clear()
    assert steps.until("chat").tokens == alone(Request(LONG, 50)).tokens
    assert sum(model.decoded) <= 50, "it was parked, and came back without reading again"


def test_without_memory_to_park_it_reads_again_and_is_right():
    model = FakeBackend(n_seq_max=1)
    steps = Steps(engine_on(model, parking=0))
    steps.submit("chat", Request(LONG, 50))
    steps.take(10)
    steps.submit("completion", Request([5, 4], 10, priority="completion"))
    assert steps.until("chat").tokens == alone(Request(LONG, 50)).tokens


def test_steps_stay_short_while_somebody_waits_for_their_end():
    model = FakeBackend(n_seq_max=4, n_batch=64)
    steps = Steps(engine_on(model, curve=STEEP, step_ms=120.0))
    steps.submit("first", Request([1], 60, speculation="off"))
    steps.take(3)
    model.decoded.clear()
    steps.submit("second", Request(LONG, 5, speculation="off"))
    while "second" not in steps.first_token:
        steps.take()
    assert max(model.decoded) <= 17, "at most the least chunk and the other's token"
    assert len(steps.text["first"]) > len(model.decoded) - 2, "the first goes on in every step"


def test_a_prompt_that_nobody_waits_beside_is_read_in_large_chunks():
    model = FakeBackend(n_seq_max=4, n_batch=64)
    steps = Steps(engine_on(model, curve=STEEP))
    steps.submit("only", Request(LONG, 2, speculation="off"))
    steps.until("only")
    assert model.decoded[:3] == [64, 64, 64]


# Drafts in shared steps.


def text_of(n):
    """Tokens of which no two follow each other twice, and the beginning once more."""
    return [*range(1, n), *range(1, 9)]


@pytest.mark.parametrize("known", [False, True])
def test_a_prompt_is_indexed_in_pieces_while_it_is_read_and_in_rounds_where_it_is_known(monkeypatch, known):
    monkeypatch.setattr("paceline.engine.drafters.lookup.AT_ONCE", 8)
    monkeypatch.setattr("paceline.engine.drafters.lookup.PORTION", 16)
    prompt, pieces = text_of(200), [b"x"] * 200
    model = Scripted(vocabulary_of(pieces), range(9, 109), prompt=len(prompt), n_ctx=512, n_batch=32)
    steps = Steps(engine_on(model, curve=FLAT))
    if known:  # what it said is in the cache, and nothing of it in the library
        steps.submit("before", Request(prompt, 1, speculation="off"))
        steps.until("before")
    steps.submit("only", Request(prompt, 100, speculation="ngram"))
    stats = steps.until("only").stats
    assert stats.cached_tokens > 150 if known else stats.cached_tokens == 0
    pieces_left = (len(prompt) - 8) / 16 - (0 if known else len(prompt) // 32)
    assert pieces_left - 2 <= stats.plain_rounds <= max(0, pieces_left) + 3
    assert stats.accepted > 60


def test_drafts_of_several_requests_are_verified_in_one_decode():
    model = FakeBackend(n_seq_max=4)
    steps = Steps(engine_on(model, curve=FLAT))
    for number in range(3):
        steps.submit(number, Request([1, 2, 3, 4, 5, 6, 7, number] * 6, 60, speculation="ngram"))
    ends = [steps.until(number) for number in range(3)]
    assert sum(end.stats.drafted for end in ends) > 20
    assert max(model.decoded) > 6


def test_a_batch_never_holds_more_than_it_may_however_much_is_drafted():
    model = FakeBackend(n_seq_max=8, n_batch=16)
    steps = Steps(engine_on(model, curve=FLAT))
    for number in range(8):
        steps.submit(number, Request([1, 2, 3, 4, 5, 6, 7, number] * 6, 40, speculation="ngram"))
    for number in range(8):
        assert isinstance(steps.until(number), Finished)
    assert max(model.decoded) <= 16


@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_request_may_bound_its_drafts(length):
    steps = Steps(engine_on(FakeBackend(n_seq_max=1)))
    steps.submit("bounded", Request([1, 2, 3, 4] * 10, 60, speculation="ngram", draft_length=length))
    stats = steps.until("bounded").stats
    assert max(stats.drafters["ngram"].proposed_at, default=-1) == length - 1 if length else not stats.drafted


# Newest wins.


def test_a_newer_request_for_the_same_document_ends_the_older_one():
    steps = Steps(engine_on(FakeBackend(n_seq_max=4)))
    steps.submit("old", Request([1, 2], 500, supersedes="file.py"))
    steps.submit("other", Request([3], 10, supersedes="other.py"))
    steps.take(3)
    steps.submit("new", Request([1, 2, 3], 10, supersedes="file.py"))
    steps.take()
    assert steps.ended["old"].reason == "superseded"
    assert steps.ended["old"].tokens
    assert steps.until("new").reason == steps.until("other").reason == "length"


def test_one_that_waits_is_superseded_too():
    steps = Steps(engine_on(FakeBackend(n_seq_max=1)))
    steps.submit("running", Request([7], 50))
    steps.take()
    steps.submit("old", Request([1, 2], 5, supersedes="file.py"))
    steps.submit("new", Request([1, 2, 3], 5, supersedes="file.py"))
    assert steps.ended["old"].reason == "superseded"
    assert steps.until("new").reason == "length"


def test_an_empty_key_supersedes_nothing():
    steps = Steps(engine_on(FakeBackend(n_seq_max=4)))
    steps.submit("a", Request([1, 2], 5))
    steps.submit("b", Request([1, 2], 5))
    assert steps.until("a").reason == steps.until("b").reason == "length"


# Cancelling.


def test_cancelling_one_touches_no_other():
    model = FakeBackend(n_seq_max=4)
    steps = Steps(engine_on(model))
    streams = [steps.submit(number, Request([number, 1], 30, speculation="off")) for number in range(4)]
    steps.take(5)
    streams[1].cancel()
    steps.take()
    assert steps.ended[1].reason == "cancelled"
    decoded = sum(model.decoded)
    for number in (0, 2, 3):
        assert steps.until(number).tokens == alone(Request([number, 1], 30)).tokens
    assert sum(model.decoded) - decoded <= 3 * 30


def test_cancelling_one_of_many_that_decode_stops_it_within_a_step_and_the_others_keep_their_step():
    model = Gated(n_seq_max=4)
    with engine_closing(engine_on(model)) as engine:
        streams = [engine.submit(Request([number, 1], 30, speculation="off")) for number in range(3)]
        model.let_through(4)
        streams[0].cancel()
        model.let_through(1)
        assert collect(streams[0]).reason == "cancelled"
        decodes = len(model.decoded)
        model.open()
        for number in (1, 2):
            assert collect(streams[number]).tokens == alone(Request([number, 1], 30)).tokens
        assert len(model.decoded) > decodes


def test_cancelling_a_long_chunk_stops_it_at_once_though_another_rides_along():
    model = Gated(n_seq_max=4, n_batch=64)
    with engine_closing(engine_on(model)) as engine:
        chat = engine.submit(Request([1], 30, speculation="off"))
        model.let_through(3)
        completion = engine.submit(Request(LONG, 5, priority="completion"))
        model.let_through(1)
        completion.cancel()
        assert collect(completion).reason == "cancelled"
        model.open()
        assert collect(chat).tokens == alone(Request([1], 30)).tokens


def test_somebody_more_urgent_stops_a_long_chunk():
    model = Gated(n_seq_max=4, n_batch=64)
    with engine_closing(engine_on(model, curve=STEEP, step_ms=50.0)) as engine:
        chat = engine.submit(Request(LONG, 5))
        model.let_through(1)
        completion = engine.submit(Request([5, 4], 3, priority="completion"))
        model.let_through(1)
        assert model.decoded[1] <= 18, "not the chunk that stood at the gate"
        model.open()
        assert collect(completion).tokens == alone(Request([5, 4], 3)).tokens
        assert collect(chat).tokens == alone(Request(LONG, 5)).tokens


def test_a_prompt_is_not_stopped_for_ever():
    model = Gated(n_seq_max=4, n_batch=64)
    with engine_closing(engine_on(model, curve=STEEP, step_ms=50.0)) as engine:
        chat = engine.submit(Request(LONG, 5))
        model.arrive()
        for _ in range(20):
            completion = engine.submit(Request([5, 4], 1, priority="completion"))
            model.let_through(1)
            while not completion.events.qsize():
                model.let_through(1)
            assert collect(completion).reason == "length"
            if any(isinstance(event, Prefilled) for event in drained(chat)):
                break
        else:
            pytest.fail("the chat never got on")
        model.open()


def drained(stream):
    return [stream.events.get() for _ in range(stream.events.qsize())]


def test_a_model_that_cannot_drop_its_tail_is_not_stopped_for_somebody_else():
    model = Gated(n_seq_max=2, n_batch=64, partial_removal=False)
    with engine_closing(engine_on(model, curve=STEEP)) as engine:
        chat = engine.submit(Request(LONG, 5))
        model.let_through(1)
        completion = engine.submit(Request([5, 4], 3, priority="completion"))
        model.open()
        assert collect(completion).tokens == alone(Request([5, 4], 3)).tokens
        assert collect(chat).tokens == alone(Request(LONG, 5)).tokens
    assert sum(model.decoded) == len(LONG) + 4 + 2 + 2


# Failures.


def test_what_fails_together_is_tried_one_by_one_and_only_the_guilty_one_fails():
    class Picky(FakeBackend):
        def decode(self, spans, *, hidden=False):
            if any(span.seq == 1 and len(self.cache[1]) >= 8 for span in spans):
                raise EngineError("sequence 1 is cursed")
            return super().decode(spans)

    steps = Steps(engine_on(Picky(n_seq_max=4)))
    for number in range(3):
        steps.submit(number, Request([number, 1], 30, speculation="off"))
    ends = [steps.until(number) for number in range(3)]
    assert isinstance(ends[1], EngineError)
    for number in (0, 2):
        assert ends[number].tokens == alone(Request([number, 1], 30)).tokens


def test_a_passing_failure_of_a_shared_decode_costs_nobody_an_answer():
    steps = Steps(engine_on(Failing(EngineError("hiccup"), [5], n_seq_max=4)))
    for number in range(3):
        steps.submit(number, Request([number, 1], 30, speculation="off"))
    for number in range(3):
        assert steps.until(number).tokens == alone(Request([number, 1], 30)).tokens


def test_a_listener_that_fails_fails_alone():
    steps = Steps(engine_on(FakeBackend(n_seq_max=4)))

    def deaf(text):
        raise ZeroDivisionError

    steps.submit("bad", Request([1], 30, until=deaf))
    steps.submit("good", Request([2], 30))
    assert isinstance(steps.until("bad"), EngineError)
    assert steps.until("good").reason == "length"


# The cache.


def test_the_context_never_overflows_however_many_long_requests_come():
    model = FakeBackend(n_ctx=64, n_seq_max=8, n_batch=16)
    steps = Steps(engine_on(model))
    for number in range(6):
        steps.submit(number, Request([number] * 20, 200, speculation="off"))
    for number in range(6):
        end = steps.until(number)
        assert end.stats.context_full
        assert end.tokens == alone(Request([number] * 20, 44)).tokens


def test_requests_that_begin_alike_share_their_beginning():
    model = FakeBackend(n_seq_max=4)
    steps = Steps(engine_on(model))
    steps.submit("a", Request([*LONG, 1], 10, speculation="off"))
    steps.take(8)
    before = sum(model.decoded)
    steps.submit("b", Request([*LONG, 2], 10, speculation="off"))
    end = steps.until("b")
    assert end.stats.cached_tokens == len(LONG)
    assert sum(model.decoded) - before < 30
    assert end.tokens == alone(Request([*LONG, 2], 10)).tokens


def test_another_conversation_with_the_same_beginning_does_not_cost_the_first_its_cache():
    model = FakeBackend(n_seq_max=3)
    steps = Steps(engine_on(model))
    system = LONG[:40]
    first, second = [*system, *[1] * 100], [*system, *[2] * 100]
    for name, prompt in (("first", first), ("second", second), ("again", [*first, 5])):
        steps.submit(name, Request(prompt, 2, speculation="off"))
        steps.until(name)
    assert steps.ended["second"].stats.cached_tokens == 40
    assert steps.ended["again"].stats.cached_tokens >= len(first)


def test_a_parked_conversation_comes_back_without_being_read():
    model = FakeBackend(n_ctx=300, n_seq_max=2)
    steps = Steps(engine_on(model))
    for name, prompt in (("a", LONG), ("b", [3] * 200), ("c", [4] * 200)):
        steps.submit(name, Request(prompt, 2, speculation="off"))
        steps.until(name)
    assert steps.engine.status().parked >= 1
    model.decoded.clear()
    steps.submit("again", Request([*LONG, *steps.ended["a"].tokens, 6], 2, speculation="off"))
    assert steps.until("again").stats.cached_tokens >= len(LONG)
    assert sum(model.decoded) <= 4


def test_parking_stays_within_its_budget():
    model = FakeBackend(n_ctx=300, n_seq_max=2)
    steps = Steps(engine_on(model, parking=2000))
    for number in range(8):
        steps.submit(number, Request([number % 8, *LONG], 2, speculation="off"))
        steps.until(number)
        assert steps.engine.status().parked_bytes <= 2000
    assert steps.engine.status().parked == 2, "each takes about 800 bytes"


def test_a_state_that_cannot_be_restored_is_read_again():
    class Forgetful(FakeBackend):
        def restore(self, seq, state):
            raise EngineError("no such state")

    model = Forgetful(n_ctx=300, n_seq_max=1)
    steps = Steps(engine_on(model))
    for name, prompt in (("a", LONG), ("b", [3] * 200), ("again", [*LONG, 1])):
        steps.submit(name, Request(prompt, 2, speculation="off"))
        steps.until(name)
    assert steps.ended["again"].tokens == alone(Request([*LONG, 1], 2)).tokens


# The queue.


def test_a_full_queue_refuses_with_a_hint():
    steps = Steps(engine_on(FakeBackend(n_seq_max=1), queue=2))
    steps.submit("running", Request([1], 50))
    steps.take()
    for name in ("a", "b"):
        steps.submit(name, Request([2], 5))
    with pytest.raises(BusyError, match="2 requests are waiting") as caught:
        steps.submit("c", Request([3], 5))
    assert caught.value.hint
    assert steps.until("b").reason == "length"


def test_the_status_tells_who_does_what():
    steps = Steps(engine_on(FakeBackend(n_seq_max=3, n_batch=16), parallel=2, branches=0))
    steps.submit("a", Request([1, 2, 3], 50, speculation="off"))
    steps.take(5)
    steps.submit("b", Request(LONG, 50, speculation="off", priority="background"))
    steps.submit("c", Request([3], 50, speculation="off"))
    steps.take(1)
    status = steps.engine.status()
    assert (status.running, status.waiting, status.parallel) == (2, 0, 2) or status.waiting == 1
    assert [slot.id for slot in status.slots] == [0, 1, 2]
    assert {slot.state for slot in status.slots} >= {"decode", "idle"}
    assert status.cells == 4096
    assert status.cells_used == sum(slot.tokens for slot in status.slots) > 7


# Time limits.


def test_a_prompt_that_takes_too_long_ends_with_an_empty_answer_and_a_note():
    steps = Steps(engine_on(FakeBackend(n_seq_max=1, n_batch=16)))
    steps.submit("late", Request(LONG, 50, prompt_seconds=0.0))
    end = steps.until("late")
    assert (end.reason, end.tokens) == ("length", ())
    assert any("time" in note for note in end.stats.notes)


def engine_closing(engine):
    return closing(engine)


def test_a_full_queue_takes_a_newer_request_in_place_of_its_older_one_and_refuses_nobody_for_it():
    steps = Steps(engine_on(FakeBackend(n_seq_max=1), queue=1))
    steps.submit("old", Request([1], 50, supersedes="doc"))
    steps.take(2)
    steps.submit("other", Request([2], 5))
    steps.submit("new", Request([3], 5, supersedes="doc"))
    with pytest.raises(BusyError):
        steps.submit("more", Request([4], 5, supersedes="another"))
    assert steps.until("old").reason == "superseded"
    assert steps.until("new").reason == steps.until("other").reason == "length"
