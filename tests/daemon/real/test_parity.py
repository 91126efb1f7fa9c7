"""What many get from the daemon at the same time is what each would get from an engine of its own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from paceline.engine.scheduler import STARVED
from support.alone import alone
from support.held_call import HeldCall, said

PRIORITIES = ("completion", "chat", "prefetch", "background")
SPECULATION = ("off", "ngram", "draft", "auto")
LONG = 120  # tokens: they meet in many steps
HOW = {
    "greedy": {"temperature": 0.0},
    "seeded": {"temperature": 0.8, "seed": 11, "top_k": 0, "top_p": 1.0},
}


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


KINDS = (  # each with a number, since there are as many of each as a test needs
    lambda n: chat(f"Why {n}?"),
    lambda n: completion(f"def add{n}(a, b):\n    return"),
    lambda n: infill("def area(r):\n    return 3.14 * r\n\n", f"\nprint({n})\n", "def ring(", ["x = 1\n" * 30]),
    lambda n: chat(f"for row in reader {n}:\n" * 40),
    lambda n: continuation(f"in the {n} in the in the"),
    lambda n: infill(f"a{n} = [", "]\n" * 20),
    lambda n: completion(f"class A{n}:\n    def f(self):\n" * 9),
    lambda n: chat(f"What now, {n}?"),
)


class Wishes:
    """Requests whose answers are known, each found once."""

    def __init__(self, engine) -> None:
        self._engine = engine
        self._found = {}

    def of(self, kind, how):
        if (kind, how) not in self._found:
            several = map(KINDS[kind], range(400))
            self._found[kind, how] = self._engine.steady((path, body | HOW[how]) for path, body in several)
        return self._found[kind, how]


@pytest.fixture(scope="module")
def wishes(daemon):
    assert daemon.post("/completion", {"prompt": "x", "n_predict": 1}).status_code == 200  # its costs are measured
    with alone(daemon) as engine:
        yield Wishes(engine)


def ask(daemon, wish, *, stream, tcp, ready, **more):
    """The daemon's text and its figures, from a request that is sent when the others are."""
    ready.wait()
    with HeldCall(daemon, wish.path, {**wish.body, "stream": stream, **more}, tcp=tcp) as call:
        if stream:
            events = call.rest()
        else:
            status, body = call.answer()
            assert status == 200, body
            events = [{**body, "choices": [_as_delta(each) for each in body.get("choices", ())]}]
    timings = next(event["timings"] for event in reversed(events) if "timings" in event)
    return "".join(said(events)), timings


def _as_delta(choice):
    return choice if "text" in choice else {"delta": choice["message"]}


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("count", [1, 4, 8])
def test_everybody_gets_the_answer_of_an_engine_of_their_own(daemon, wishes, count, how, tcp):
    wanted = [wishes.of(kind, how) for kind in range(count)]
    ready = threading.Barrier(count)

    def one(at):
        more = {"speculation": SPECULATION[(at + at // 4) % 4], "priority": PRIORITIES[at % 4]}
        return ask(daemon, wanted[at], stream=at % 2 == 0, tcp=tcp, ready=ready, **more)

    with ThreadPoolExecutor(count) as pool:
        got = list(pool.map(one, range(count)))
    assert [text for text, _ in got] == [wish.expected for wish in wanted]


@pytest.mark.parametrize("speculation", SPECULATION)
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_no_drafter_changes_an_answer_that_is_computed_beside_another(daemon, wishes, kind, speculation):
    wish = wishes.of(kind, "greedy")
    endless = {"prompt": "Once", "n_predict": -1, "stream": True, "speculation": "off", "ignore_eos": True}
    with HeldCall(daemon, "/completion", endless) as other:
        other.read(1)
        text, timings = ask(daemon, wish, stream=False, tcp=False, ready=threading.Barrier(1), speculation=speculation)
        assert text == wish.expected
        # It is not known where steps were shared, and nobody waits for more than STARVED of them.
        assert timings["speed_up"] is None or timings["rounds"] <= STARVED
        other.drain()
        assert not other.ended
    if speculation == "draft":
        assert timings["draft_n"] > 0
