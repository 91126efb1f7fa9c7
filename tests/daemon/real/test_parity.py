"""What many get from the daemon at the same time is what each would get from an engine of its own."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from support.alone import alone
from support.held_call import HeldCall, said

PRIORITIES = ("completion", "chat", "prefetch", "background")
SPECULATION = ("off", "ngram", "draft", "auto")
LONG = 200  # tokens: they meet in many steps
HOW = {"greedy": {"temperature": 0.0}, "seeded": {"temperature": 0.8, "seed": 11}}


def chat(text):
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": text}], "max_tokens": LONG}


def completion(text):
    return "/v1/completions", {"prompt": text, "max_tokens": LONG}


def continuation(text):
    return "/completion", {"prompt": text, "n_predict": LONG}


def infill(prefix, suffix, typed="", extra=()):
    files = [{"filename": f"{at}.py", "text": text} for at, text in enumerate(extra)]
    hole = {"input_prefix": prefix, "input_suffix": suffix, "prompt": typed, "input_extra": files}
    return "/infill", {**hole, "n_predict": LONG}


KINDS = (
    chat("Why?"),
    completion("def add(a, b):\n    return"),
    infill("def area(r):\n    return 3.14 * r\n\n", "\nprint(area(2))\n", "def ring(", ["x = 1\n" * 30]),
    chat("for row in the reader:\n" * 40),
    continuation("in the in the in the"),
    infill("a = [", "]\n" * 20),
    completion("class A:\n    def f(self):\n" * 9),
    chat("What now?"),
)


@dataclass(frozen=True)
class Wish:
    """One request: its route and body, and whether the answer is wanted as a stream."""

    path: str
    body: dict
    stream: bool


def wishes(count, how):
    """So many, each another kind with another priority and drafter; both ways to read an answer."""
    for at in range(count):
        path, body = KINDS[at]
        turn = at + at // 4
        more = {"speculation": SPECULATION[turn % 4], "priority": PRIORITIES[at % 4], **how}
        yield Wish(path, {**body, **more, "stream": at % 2 == 0}, at % 2 == 0)


def ask(daemon, wish, tcp, ready):
    """The daemon's text and what it says of the work, from a request that is sent when the others are."""
    ready.wait()
    with HeldCall(daemon, wish.path, wish.body, tcp=tcp) as call:
        if wish.stream:
            events = call.rest()
        else:
            status, body = call.answer()
            assert status == 200, body
            events = [{**body, "choices": [_as_delta(each) for each in body.get("choices", ())]}]
    timings = next(event["timings"] for event in reversed(events) if "timings" in event)
    return "".join(said(events)), timings


def _as_delta(choice):
    return choice if "text" in choice else {"delta": choice["message"]}


@pytest.fixture(scope="module")
def expected(daemon):
    """What the engine alone answers, asked once."""
    known = {}
    with alone(daemon) as engine:

        def answer(wish):
            key = (wish.path, repr(sorted((key, value) for key, value in wish.body.items() if key != "stream")))
            if key not in known:
                known[key] = engine.answer(wish.path, wish.body)
            return known[key]

        yield answer


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("count", [1, 4, 8])
def test_everybody_gets_the_answer_of_an_engine_of_their_own(daemon, expected, count, how, tcp):
    wanted = list(wishes(count, HOW[how]))
    ready = threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        got = list(pool.map(lambda wish: ask(daemon, wish, tcp, ready), wanted))
    for wish, (text, _) in zip(wanted, got, strict=True):
        assert text == expected(wish), (wish.path, wish.body["speculation"])


@pytest.mark.parametrize("speculation", SPECULATION)
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_no_drafter_changes_an_answer_that_is_computed_beside_another(daemon, expected, kind, speculation):
    path, body = KINDS[kind]
    endless = {"prompt": "Once", "n_predict": -1, "stream": True, "speculation": "off", "ignore_eos": True}
    with HeldCall(daemon, "/completion", endless) as other:
        other.read(1)
        wish = Wish(path, {**body, "speculation": speculation, "temperature": 0.0}, stream=False)
        text, timings = ask(daemon, wish, False, threading.Barrier(1))
        assert text == expected(wish)
        assert timings["speed_up"] is None  # it is not known, as the steps were shared
        assert not other.ended
    if speculation == "draft":
        assert timings["draft_n"] > 0
