"""What `paceline doctor` asks of an engine: a few words, and the rest of a line, as editors ask for it."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from paceline.errors import ModelError, PacelineError

if TYPE_CHECKING:
    from paceline.client.client import Client
    from paceline.client.events import Event

Verdict = Literal["ok", "warning", "problem"]
BEFORE, AFTER = "def add(a, b):\n    return ", "\n"
TOKENS = 16
QUESTION = "Say hello."
OTHER_MODEL = "choose a model made for completions, such as Qwen2.5-Coder: `paceline setup`, or engine.model elsewhere"


def shown(text: str, seconds: float, *, loaded: bool = False) -> tuple[bool, str]:
    """Whether a completion is one, and a sentence about it. loaded: the models had to be loaded for it."""
    took = f"{seconds:.1f} s" + (", loading the models included" if loaded else "")
    if not text.strip():
        return False, f"asked how `return ` goes on in `def add(a, b):`, the model said nothing, in {took}"
    first = " ".join(text.split())
    return True, f"`return ` in `def add(a, b):` goes on with `{first}`; it took {took}"


def answered(client: "Client") -> str:
    """A sentence about a tiny answer. Raises PacelineError."""
    from paceline.client.events import End, Message, Options, Text

    tokens = 0
    with closing(client.chat([Message("user", QUESTION)], Options(max_tokens=8, temperature=0.0))) as events:
        for event in events:
            if isinstance(event, Text):
                tokens += 1
            elif isinstance(event, End):
                tokens = event.usage.completion_tokens or tokens
    return f"{client.engine.name} made an answer of {tokens} tokens"


def completed(client: "Client") -> tuple[bool, str]:
    """Whether the engine completes code, and a sentence about it. Raises PacelineError; ModelError if it cannot."""
    from paceline.client.events import Loading, Options

    loading: list[Event] = []

    def notice(event: "Event") -> None:
        if isinstance(event, Loading):
            loading.append(event)

    began = time.monotonic()
    done = client.complete(BEFORE, AFTER, Options(single_line=True, max_tokens=TOKENS, temperature=0.0), notice)
    return shown(done.text, time.monotonic() - began, loaded=bool(loading))


def reasons(ask: Callable[[], tuple[bool, str]]) -> Iterator[tuple[Verdict, str, str]]:
    """Verdict, finding and next step of a completion that is asked for."""
    try:
        good, sentence = ask()
    except ModelError as error:
        yield "warning", f"no completions: {error.message}", error.hint or OTHER_MODEL
    except PacelineError as error:
        yield "problem", f"no completions: {error.message}", error.hint or "`paceline logs` says more"
    else:
        yield ("ok", sentence, "") if good else ("warning", sentence, OTHER_MODEL)
