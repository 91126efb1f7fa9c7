"""What a cancelled request still computes, and how soon an urgent one begins: counted in steps, on a slow model.

The daemon stands still while a test counts what it has told so far and leaves; then it meets all of that at once.
"""

import itertools
import math
import select
from collections.abc import Iterator

import pytest

from support.alone import alone
from support.held_call import HeldCall, connect, request_bytes, said
from support.real_daemon import SECONDS, RealDaemon, real_daemon, until

ENDLESS = {"n_predict": -1, "ignore_eos": True, "speculation": "off", "return_tokens": True}
LINE = "x = 1\n"  # five tokens
NUMBERS = range(500)
ATTEMPTS = 20


@pytest.fixture(scope="module")
def daemon(slow) -> Iterator[RealDaemon]:
    with real_daemon(slow, engine="context = 16384\nparking_mb = 0") as running:
        assert running.post("/completion", {"prompt": "x", "n_predict": 1}).status_code == 200  # loaded, and measured
        yield running


@pytest.fixture(scope="module")
def engine(daemon):
    with alone(daemon) as found:
        yield found


@pytest.fixture(scope="module")
def neighbour(engine):
    """Somebody whose answer must not change, whatever happens to others."""
    bodies = ({"prompt": f"in the {n} for", "n_predict": 60, "temperature": 0.0} for n in NUMBERS)
    return engine.steady(("/completion", body) for body in bodies)


def call(daemon, wish, **more):
    plain = {"stream": True, "return_tokens": True, "speculation": "off"}
    return HeldCall(daemon, wish.path, {**wish.body, **plain, **more})


def produced(events):
    """Tokens that a stream has told, one by one; a chat tells them with their log-probabilities."""
    told = [event.get("tokens", ()) for event in events]
    choices = [choice for event in events for choice in event.get("choices", ())]
    return sum(map(len, told + [choice["logprobs"]["content"] for choice in choices if choice.get("logprobs")]))


def slot_of(daemon, prompt_tokens):
    """The place in which a prompt of so many tokens is worked on."""
    return next((slot for slot in daemon.slots if slot["prompt_tokens"] == prompt_tokens), None)


def length(daemon, text):
    return len(daemon.post("/tokenize", {"content": text}).json()["tokens"])


def computed(daemon, slot, prompt_tokens):
    """Tokens of the answer that were computed in a place that is at rest: the last one chosen is not in the cache."""
    until(lambda: daemon.slots[slot["id"]]["state"] == "idle", "nobody computes there")
    return daemon.slots[slot["id"]]["tokens"] - prompt_tokens + 1


def within(steps, attempt):
    """Whether it takes no more than these steps. A busy machine can only add some, as one of the daemon's threads then
    waits for a core while the engine's has one: the best of many attempts counts.
    """
    return any(attempt() <= steps for _ in range(ATTEMPTS))


def test_leaving_a_stream_stops_it_within_a_step_and_changes_nothing_for_others(daemon, neighbour):
    prompt = "for a in b:\n"
    size = length(daemon, prompt)

    def untold_tokens():
        with call(daemon, neighbour) as other:
            other.read(1)
            with HeldCall(daemon, "/completion", {**ENDLESS, "prompt": prompt, "stream": True}) as leaving:
                leaving.read(6)
                slot = slot_of(daemon, size)
                with daemon.frozen():
                    told = produced(leaving.drain())
                    leaving.close()
            found = computed(daemon, slot, size) - told
            assert "".join(said(other.rest())) == neighbour.expected
            return found

    assert within(2, untold_tokens)  # one may have been chosen and not told yet, and a step was under way


def test_leaving_without_having_heard_anything_stops_it_too(daemon, neighbour):
    prompt = "while a or b:\n"
    size, theirs = length(daemon, prompt), length(daemon, neighbour.body["prompt"])

    def later_tokens():
        with call(daemon, neighbour) as other:  # in each step both get a token: it counts the steps
            other.read(1)
            with HeldCall(daemon, "/completion", {**ENDLESS, "prompt": prompt}) as leaving:
                until(lambda: (slot_of(daemon, size) or {}).get("state") == "decode", "the answer has begun")
                slots = {slot["prompt_tokens"]: slot for slot in daemon.slots}
                own, others = (slots[each]["next_token"]["n_decoded"] for each in (size, theirs))
                with daemon.frozen():
                    steps = produced(other.drain()) - others
                    leaving.close()
            found = computed(daemon, slots[size], size) - own - steps
            assert "".join(said(other.rest())) == neighbour.expected
            return found

    assert within(3, later_tokens)  # beside the two above: they are counted when only one of them has its token


def test_who_is_cancelled_by_name_gets_no_more_than_the_step_under_way(daemon):
    body = {**ENDLESS, "prompt": "with open as f:\n", "stream": True}

    def later_tokens():
        with HeldCall(daemon, "/completion", body, name="mine") as running, connect(daemon) as control:
            running.read(4)
            with daemon.frozen():
                told = produced(running.drain())
                control.sendall(request_bytes("/paceline/cancel", {"id": "mine"}))
            assert control.recv(4096).startswith(b"HTTP/1.1 202 ")
            events = running.rest()
        assert events[-1]["stop_type"] == "cancelled"
        assert produced(events) == events[-1]["tokens_predicted"]
        return produced(events) - told

    assert within(2, later_tokens)


def test_leaving_while_a_prompt_is_read_stops_the_reading_and_keeps_what_was_read(daemon, engine):
    bodies = ({"prompt": f"y{n} = 2\n{LINE * 240}", "n_predict": 8, "temperature": 0.0} for n in NUMBERS)
    asked = (("/completion", body) for body in bodies)

    def later_chunks():
        wish = engine.steady(asked)
        size = length(daemon, wish.body["prompt"])
        with call(daemon, wish, return_progress=True) as leaving:
            leaving.read(2)
            slot = slot_of(daemon, size)
            with daemon.frozen():
                told = [event["prompt_progress"]["processed"] for event in leaving.drain()]
                leaving.close()
        until(lambda: daemon.slots[slot["id"]]["state"] == "idle", "nobody reads there")
        read, chunk = daemon.slots[slot["id"]]["tokens"], max(b - a for a, b in itertools.pairwise(told))
        assert told[-1] <= read < size
        again = daemon.post(wish.path, wish.body).json()
        assert again["content"] == wish.expected
        assert again["timings"]["cache_n"] == read
        return (read - told[-1]) / chunk

    assert within(1, later_chunks)


def test_leaving_while_a_prompt_is_read_without_having_heard_anything_stops_the_reading(daemon):
    prompt = "z = 3\n" + LINE * 900
    size = length(daemon, prompt)
    with HeldCall(daemon, "/completion", {"prompt": prompt, "n_predict": 1}) as leaving:
        until(lambda: (slot_of(daemon, size) or {"tokens": 0})["tokens"] > 0, "the reading has begun")
        slot = slot_of(daemon, size)
        with daemon.frozen():
            leaving.close()
    until(lambda: daemon.slots[slot["id"]]["state"] == "idle", "nobody reads there")
    assert daemon.slots[slot["id"]]["tokens"] < size // 2


def steps_meanwhile(daemon, running, count, body):
    """How many steps somebody has, at least, between the moment somebody else asks and the first token of theirs."""
    with connect(daemon) as connection:

        def answered(seconds=0.0):
            return select.select([connection, *([running.connection] if seconds else [])], [], [], seconds)[0]

        with daemon.frozen():
            before = steps = count(running.drain())
            connection.sendall(request_bytes("/completion", {**body, "n_predict": 1}))
        while connection not in answered(SECONDS):
            told = count(running.drain())
            if answered():  # nobody knows whether that was before or after it
                break
            steps = told
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
        return steps - before


@pytest.mark.parametrize("typed", ["def f", LINE * 30])
def test_a_completion_during_a_chat_begins_at_most_two_steps_later_than_alone(daemon, typed):
    chat = {"messages": [{"role": "user", "content": "Why?"}], "ignore_eos": True, "max_tokens": 4000}
    with HeldCall(
        daemon, "/v1/chat/completions", {**chat, "stream": True, "logprobs": True, "speculation": "off"}
    ) as running:
        running.read(5)
        numbers = itertools.count()

        def steps():
            wish = {"prompt": f"{next(numbers)} {typed}", "priority": "completion", "speculation": "off"}
            return steps_meanwhile(daemon, running, produced, wish)

        assert within(1 + 2, steps)  # alone it takes one step
        assert not running.ended


def test_a_completion_while_a_prompt_is_read_begins_at_most_two_steps_later_than_alone(daemon, engine):
    texts = (f"Say {n}. " + "for each of them in order " * 80 for n in NUMBERS)
    bodies = ({"messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0.0} for text in texts)
    asked = (("/v1/chat/completions", body) for body in bodies)

    def steps():
        wish = engine.steady(asked)
        with call(daemon, wish, return_progress=True) as running:
            running.read(2)
            urgent = {"prompt": "def g", "priority": "completion", "speculation": "off"}
            found = steps_meanwhile(daemon, running, len, urgent)
            still_read = not any(event["choices"][0]["delta"] for event in running.events)
            events = running.rest()
        assert "".join(said(events)) == wish.expected
        progress = [event["prompt_progress"]["processed"] for event in events if "prompt_progress" in event]
        assert progress == sorted(set(progress)), "nothing was read twice"
        return found if still_read else math.inf

    assert within(1 + 2, steps)
