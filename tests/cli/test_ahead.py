"""Reading ahead of whoever prints, and what Ctrl-C makes of it."""

import threading

import pytest

from paceline.client.cancel import Cancel
from paceline.client.events import End, Progress, Text, Usage
from paceline.commands.ahead import read_ahead

END = End("stop", Usage(5, 2, 0))
CANCELLED = End("cancelled", Usage(5, 1, 0))


def until_cancelled(cancel, *rest):
    """An answer that goes on until it is cancelled."""
    asked = threading.Event()
    cancel.when_asked(asked.set)
    yield Progress(5, 5)
    yield Text("a")
    assert asked.wait(10)
    yield from rest


def test_events_come_in_order():
    events = [Text("a"), Text("b"), END]
    assert list(read_ahead((each for each in events), Cancel())) == events


def test_they_are_taken_before_they_are_wanted():
    taken = threading.Event()

    def events():
        yield Text("a")
        yield Text("b")
        taken.set()
        yield END

    coming = read_ahead(events(), Cancel())
    assert next(coming) == Text("a")
    assert taken.wait(10)
    assert list(coming) == [Text("b"), END]


def test_an_error_comes_behind_what_was_said_before_it():
    def events():
        yield Text("a")
        raise ValueError("broken")

    coming = read_ahead(events(), Cancel())
    assert next(coming) == Text("a")
    with pytest.raises(ValueError, match="broken"):
        next(coming)


def test_ctrl_c_cancels_tells_the_rest_and_goes_on():
    cancel = Cancel()
    coming = read_ahead(until_cancelled(cancel, Text("b"), CANCELLED), cancel)
    assert [next(coming), next(coming)] == [Progress(5, 5), Text("a")]
    assert [coming.throw(KeyboardInterrupt()), next(coming)] == [Text("b"), CANCELLED]
    with pytest.raises(KeyboardInterrupt):
        next(coming)


def test_ctrl_c_once_more_ends_it_at_once():
    cancel = Cancel()
    coming = read_ahead(until_cancelled(cancel, Text("b"), CANCELLED), cancel)
    next(coming)
    coming.throw(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        coming.throw(KeyboardInterrupt())
    assert list(coming) == []


@pytest.mark.parametrize("rest", [(), (ValueError("broken"),)])
def test_an_answer_that_has_no_end_gets_one(rest):
    def events():
        yield from until_cancelled(cancel)
        for error in rest:
            raise error

    cancel = Cancel()
    coming = read_ahead(events(), cancel)
    assert next(coming) == Progress(5, 5)
    assert [coming.throw(KeyboardInterrupt()), next(coming)] == [Text("a"), End("cancelled", Usage(5))]


def test_one_that_does_not_end_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr("paceline.commands.ahead.PATIENCE", 0.01)
    never, cancel = threading.Event(), Cancel()

    def events():
        yield Text("a")
        never.wait(10)

    coming = read_ahead(events(), cancel)
    next(coming)
    assert coming.throw(KeyboardInterrupt()) == End("cancelled")
    assert cancel.asked()
    never.set()


def test_leaving_closes_the_answer():
    closed = threading.Event()

    def events():
        try:
            while True:
                yield Text("a")
        finally:
            closed.set()

    coming = read_ahead(events(), Cancel())
    next(coming)
    coming.close()
    assert closed.wait(10)
