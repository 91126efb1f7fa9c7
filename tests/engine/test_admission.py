"""Who is let in beside whom, who makes way, and who has waited long enough."""

import pytest

from paceline.engine.engine import AGEING, HEADROOM
from paceline.engine.sequence import Finished, Prefilled, Request
from paceline.errors import EngineError
from support.by_hand import Clock, Steps, Watched, engine_on
from support.driving import answer, running
from support.fake_backend import FakeBackend

LONG = [(7 * i + i // 3) % 7 for i in range(200)]


def alone(request):
    with running(FakeBackend()) as engine:
        return answer(engine, request)


def plain(prompt, max_tokens=10, **how):
    return Request(prompt, max_tokens, speculation="off", **how)


class Bounded(Steps):
    """Gives up where the engine does not come to an end of letting in."""

    def submit(self, name, request):
        stream = super().submit(name, request)
        tell, seen = stream.sink, []

        def sink(event):
            tell(event)
            seen.append(isinstance(event, Prefilled))
            assert sum(seen) < 50, f"{name} is let in again and again"

        stream.sink = sink
        return stream


# Room.


@pytest.mark.parametrize(("length", "max_tokens", "beside"), [(30, 10, 1), (31, 10, 0), (30, 11, 0)])
def test_a_request_runs_beside_others_where_its_prompt_and_its_answer_have_room(length, max_tokens, beside):
    model = Watched(n_seq_max=4, n_ctx=100)
    steps = Steps(engine_on(model))
    steps.submit("first", plain([1] * 58, 30))
    steps.take(3)
    assert steps.engine.status().cells_used == 60
    steps.submit("second", plain([2] * length, max_tokens))
    steps.take()
    assert steps.engine.status().waiting == 1 - beside
    assert steps.until("first").tokens == alone(plain([1] * 58, 30)).tokens
    assert steps.until("second").tokens == alone(plain([2] * length, max_tokens)).tokens


def test_of_a_long_answer_only_its_beginning_must_have_room():
    steps = Steps(engine_on(Watched(n_seq_max=4, n_ctx=100 + HEADROOM)))
    steps.submit("first", plain([1] * 48, 30))
    steps.take(2)
    steps.submit("second", plain([2] * 50, 5000))
    steps.take()
    assert steps.engine.status().running == 2 - (49 + 50 > 100)


def test_who_had_to_make_way_comes_back_when_all_that_it_has_said_has_room():
    model = Watched(n_seq_max=2, n_ctx=200)
    steps = Steps(engine_on(model))
    steps.submit("first", plain([1] * 20, 150))
    steps.submit("second", plain([2] * 20, 150))
    steps.take()
    while not steps.engine.status().waiting:
        steps.take()
    decodes = sum(model.decoded)
    steps.take(5)
    assert steps.engine.status().waiting == 1
    assert sum(model.decoded) == decodes + 5, "it does not come and go"
    for name, token in (("first", 1), ("second", 2)):
        assert steps.until(name).tokens == alone(plain([token] * 20, 150)).tokens


def test_who_had_to_make_way_can_be_cancelled_and_says_what_it_had():
    steps = Steps(engine_on(Watched(n_seq_max=1)))
    chat = steps.submit("chat", plain([1], 50))
    steps.take(5)
    steps.submit("completion", plain([2], 5, priority="completion"))
    steps.take()
    chat.cancel()
    assert steps.ended["chat"].reason == "cancelled"
    assert steps.ended["chat"].tokens == alone(plain([1], 50)).tokens[:5]
    assert steps.until("completion").reason == "length"
    assert not steps.engine.status().waiting


def test_who_is_cancelled_and_has_to_make_way_in_the_same_step_does_not_wait_again():
    steps = Steps(engine_on(Watched(n_seq_max=1)))
    chat = steps.submit("chat", plain([1], 50))
    steps.take(5)
    steps.submit("completion", plain([2], 5, priority="completion"))
    chat.cancel()
    steps.engine.step()
    assert steps.ended["chat"].reason == "cancelled"
    assert (steps.engine.status().running, steps.engine.status().waiting) == (1, 0)


def test_what_was_found_in_the_cache_is_told_once_and_not_when_it_comes_back():
    steps = Steps(engine_on(Watched(n_seq_max=1)))
    steps.submit("chat", plain([1, 2, 3], 50))
    steps.take(5)
    steps.submit("completion", plain([2], 5, priority="completion"))
    assert steps.until("chat").stats.cached_tokens == 0
    assert steps.read("chat") == [0, 3]


def test_a_request_that_cannot_begin_leaves_its_sequence_to_the_next(monkeypatch):
    model = Watched(n_seq_max=1)
    engine = engine_on(model)
    steps = Steps(engine)
    with monkeypatch.context() as patch:
        patch.setattr("paceline.engine.drafters.team.LookupDrafter", lambda: 1 / 0)
        steps.submit("bad", Request([1, 2], 5, speculation="ngram"))
        steps.take()
    assert isinstance(steps.ended["bad"], EngineError)
    steps.submit("good", plain([1, 2], 5))
    assert steps.until("good").tokens == alone(plain([1, 2], 5)).tokens


def test_the_time_in_the_queue_is_told(monkeypatch):
    clock = Clock.in_place(monkeypatch)
    steps = Steps(engine_on(Watched(n_seq_max=1)))
    steps.submit("first", plain([1], 5)).arrived = clock.now
    steps.submit("second", plain([2], 5)).arrived = clock.now
    steps.take()
    clock.now += 7
    assert steps.until("second").stats.queued_ms == pytest.approx(7000)
    assert steps.ended["first"].stats.queued_ms == 0


# Order.


def let_in(monkeypatch, waits, seconds):
    """The order in which those who wait, by name and class, are served, when the first has waited so long."""
    clock = Clock.in_place(monkeypatch)
    steps = Bounded(engine_on(Watched(n_seq_max=1)))
    steps.submit("running", plain([1], 5, priority="completion"))
    steps.take()
    for number, priority in enumerate(waits):
        stream = steps.submit(number, plain([number], 3, priority=priority))
        stream.arrived = clock.now - (seconds if number == 0 else 0)
    for number in range(len(waits)):
        steps.until(number)
    return sorted(range(len(waits)), key=steps.first_token.__getitem__)


def test_those_who_wait_are_let_in_by_class_and_then_as_they_came(monkeypatch):
    order = let_in(monkeypatch, ["background", "chat", "completion", "chat", "prefetch", "completion"], 0)
    assert order == [2, 5, 1, 3, 4, 0]


@pytest.mark.parametrize(
    ("old", "newer", "ages", "first"),
    [
        ("background", "prefetch", 0.9, False),
        ("background", "prefetch", 1.1, True),
        ("background", "chat", 1.9, False),
        ("background", "chat", 2.1, True),
        ("prefetch", "chat", 0.9, False),
        ("prefetch", "chat", 1.1, True),
        ("background", "completion", 2.9, False),
        ("background", "completion", 3.1, True),
        ("chat", "completion", 0.9, False),
        ("chat", "completion", 1.1, True),
    ],
)
def test_a_long_wait_makes_a_request_more_urgent(monkeypatch, old, newer, ages, first):
    order = let_in(monkeypatch, [old, newer], ages * AGEING)
    assert order == ([0, 1] if first else [1, 0])


def test_who_has_waited_long_drives_nobody_out(monkeypatch):
    clock = Clock.in_place(monkeypatch)
    steps = Steps(engine_on(Watched(n_seq_max=1)))
    steps.submit("chat", plain([1], 30))
    steps.take(3)
    steps.submit("old", plain([2], 3, priority="background")).arrived = clock.now - 1000
    steps.take(3)
    assert (steps.engine.status().running, "old" in steps.first_token) == (1, False)
    assert len(steps.text["chat"]) == 6


def test_the_last_of_the_least_urgent_makes_way():
    steps = Steps(engine_on(Watched(n_seq_max=3)))
    for name, priority in (("old", "background"), ("new", "background"), ("chat", "chat")):
        steps.submit(name, plain([1], 30, priority=priority))
    steps.take(2)
    steps.submit("completion", plain([2], 3, priority="completion"))
    steps.take()
    running_now = {slot.priority for slot in steps.engine.status().slots}
    assert running_now == {"background", "chat", "completion"}
    assert [each.number for each in steps.engine._scheduler.running] == [4, 3, 1]


def test_an_equal_makes_way_for_nobody():
    steps = Steps(engine_on(Watched(n_seq_max=1)))
    steps.submit("first", plain([1], 10))
    steps.take()
    steps.submit("second", plain([2], 10))
    steps.until("second")
    assert list(steps.ended) == ["first", "second"]


@pytest.mark.parametrize(("old", "newer"), [("background", "chat"), ("prefetch", "chat"), ("background", "prefetch")])
def test_one_that_has_run_for_long_makes_way_once_and_not_again_and_again(monkeypatch, old, newer):
    clock = Clock.in_place(monkeypatch)
    steps = Bounded(engine_on(Watched(n_seq_max=1, n_batch=16)))
    steps.submit("old", plain(LONG, 5, priority=old)).arrived = clock.now
    steps.take(2)
    clock.now += 1000
    steps.submit("newer", plain([2], 3, priority=newer)).arrived = clock.now
    assert steps.until("newer").reason == "length"
    assert isinstance(steps.until("old"), Finished)
    assert list(steps.ended) == ["newer", "old"]


def test_one_that_has_waited_long_does_not_keep_a_background_job_from_making_way(monkeypatch):
    clock = Clock.in_place(monkeypatch)
    steps = Bounded(engine_on(Watched(n_seq_max=1)))
    steps.submit("running", plain([1], 100, priority="background")).arrived = clock.now
    steps.take(3)
    steps.submit("old", plain([2], 5, priority="background")).arrived = clock.now - 1000
    steps.submit("chat", plain([3], 5)).arrived = clock.now
    steps.take(2)
    assert steps.first_token.keys() & {"chat", "old"}


def test_nobody_makes_way_in_vain():
    steps = Steps(engine_on(Watched(n_seq_max=4, n_ctx=200)))
    steps.submit("completion", plain([1] * 100, 60, priority="completion"))
    steps.submit("background", plain([2], 40, priority="background"))
    steps.take(3)
    steps.submit("large", plain([3] * 99, 60, priority="chat"))
    steps.take(3)
    status = steps.engine.status()
    assert (status.running, status.waiting) == (2, 1)


def test_a_newer_request_ends_an_older_one_that_is_just_being_let_in():
    class Saving(Watched):
        def save(self, seq):
            action, self.meanwhile = self.meanwhile, None
            if action is not None:
                action()
            return super().save(seq)

    model = Saving(n_seq_max=1)
    steps = Steps(engine_on(model))
    steps.submit("before", plain(LONG, 2))
    steps.until("before")
    steps.submit("old", plain([1, 2], 30, supersedes="a.py"))
    model.meanwhile = lambda: steps.submit("new", plain([1, 2, 3], 5, supersedes="a.py"))
    steps.take(2)
    assert "new" in steps.text
    assert steps.until("old").reason == "superseded"
    assert steps.until("new").reason == "length"
