"""The app in a real terminal on the real daemon: a model is loaded, answers are written, stopped and gone on with.

The model has a token for every byte, so that a text has the same tokens whether it was written or is read, and never
ends an answer; its steps take long enough for a person to stop one.
"""

import re
import time
from pathlib import Path

import pytest

from paceline.chat.store import Store
from support.cli import PACELINE
from support.real_daemon import RealDaemon, real_daemon, until
from support.slow_model import write_slow_model
from support.terminal import TMUX, Terminal

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
CONTEXT, RESERVE, SHORT = 16384, 512, 24  # tokens
SYSTEM = "Be brief."
APART = 0.5  # seconds between a text and Enter, on a busy machine
NEVER = ("de f",)  # a merge that no text has: nothing makes its first half
TABLES = f"""[sampling]
temperature = 0.0
[ask]
system = "{SYSTEM}"
max_tokens = {{}}
[chat]
reserve_tokens = {RESERVE}
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    return write_slow_model(tmp_path_factory.mktemp("endless") / "endless.gguf", merges=NEVER, endless=True)


def daemon_of(model):
    return real_daemon(model, engine=f"context = {CONTEXT}\nspeculation = 'off'")


@pytest.fixture(scope="module")
def daemon(endless):
    with daemon_of(endless) as running:
        yield running


@pytest.fixture
def fresh(endless):
    """A daemon that has loaded nothing yet."""
    with daemon_of(endless) as running:
        yield running


class Talk:
    """The app over a daemon, and what it has kept."""

    def __init__(self, daemon: RealDaemon, project: Path, *words: str, most: int = 0) -> None:
        """most: tokens of an answer; 0: as many as there is room for."""
        self.daemon, self.project = daemon, project
        head, _, _ = daemon.settings.read_text("utf-8").partition("[sampling]")
        daemon.settings.write_text(head + TABLES.format(most or CONTEXT), encoding="utf-8")
        variables = {**daemon.environment, "TERM": "tmux-256color", "COLORTERM": "truecolor"}
        self.terminal = Terminal(project, variables, [*PACELINE, *words], (120, 30))

    def ask(self, text: str) -> None:
        self.terminal.write(text)
        self.terminal.shows(text)
        self.enter()

    def enter(self) -> None:
        """Not in one piece with what was typed: that would be a paste."""
        time.sleep(APART)
        self.terminal.press("Enter")

    def turns(self):
        """The branch that is shown, as it is kept."""
        store = Store(self.daemon.root / "data" / "paceline" / "chat.db")
        try:
            session = store.latest(str(self.project))
            return store.turns(session.id) if session else ()
        finally:
            store.close()

    def ended(self, count: int, state: str):
        """The turns, once there are so many and the last one is in this state."""
        until(lambda: [turn.state for turn in self.turns()][count - 1 :] == [state], f"turn {count} is {state}")
        return self.turns()

    def measured(self, tokens: int) -> None:
        """The footer says that so many tokens are taken."""
        self.terminal.shows(f" {tokens:,}/{CONTEXT:,}")

    def leave(self) -> None:
        self.terminal.press("C-q")
        self.terminal.shows("ENDED 0")
        self.terminal.close()


@pytest.fixture
def talk(tmp_path):
    """Opens the app over a daemon, in a folder of the test's."""
    opened = []

    def open_app(daemon, *words, **more):
        opened.append(Talk(daemon, tmp_path, *words, **more))
        opened[-1].terminal.shows("? keys")
        return opened[-1]

    yield open_app
    for each in opened:
        each.terminal.close()
        each.daemon.settle()


def prompt_tokens(daemon, *texts):
    """How long the prompt of a conversation is for the engine: its turns, the question last."""
    roles = ("user", "assistant")
    turns = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    asked = {"messages": [{"role": "system", "content": SYSTEM}, *turns]}
    prompt = daemon.post("/apply-template", asked).json()["prompt"]
    return len(daemon.post("/tokenize", {"content": prompt, "parse_special": True}).json()["tokens"])


def word(text):
    """The longest one of an answer, which is drawn as it is whatever signs stand around it."""
    return max(re.findall("[A-Za-z0-9]+", text), key=len)


def test_models_are_loaded_when_the_first_question_comes_and_it_is_said(fresh, talk, tmp_path):
    here = talk(fresh, most=SHORT)
    assert fresh.status["models"] == []
    here.terminal.record(tmp_path / "drawn")
    here.ask("Why?")
    turns = here.ended(2, "length")
    here.terminal.shows(word(turns[1].text), "token limit")
    assert len(turns[1].text) == SHORT
    assert "loading the models" in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", (tmp_path / "drawn").read_text("utf-8"))
    assert turns[1].model
    assert turns[1].timings["predicted_n"] == SHORT


def test_the_meter_says_what_the_engine_reads(daemon, talk):
    here = talk(daemon, most=SHORT)
    here.terminal.write("Why is that?")
    expected = prompt_tokens(daemon, "Why is that?")
    here.measured(expected + RESERVE)
    here.enter()
    first = here.ended(2, "length")[1]
    assert first.timings["prompt_n"] + first.timings["cache_n"] == expected
    here.terminal.write("And this?")
    expected = prompt_tokens(daemon, "Why is that?", first.text, "And this?")
    here.measured(expected + RESERVE)
    here.enter()
    second = here.ended(4, "length")[3]
    assert second.timings["prompt_n"] + second.timings["cache_n"] == expected


def test_a_second_question_reads_only_its_own_tokens(daemon, talk):
    here = talk(daemon, most=SHORT)
    here.ask("Why is that so?")
    first = here.ended(2, "length")[1]
    here.ask("And how?")
    second = here.ended(4, "length")[3]
    known = prompt_tokens(daemon, "Why is that so?") + len(first.text) - 1  # the last one that is chosen is not read
    assert second.timings["cache_n"] == known
    assert second.timings["prompt_n"] == prompt_tokens(daemon, "Why is that so?", first.text, "And how?") - known


def test_escape_stops_the_engine_and_the_answer_can_go_on(daemon, talk):
    here = talk(daemon)
    here.ask("Go on and on")
    here.terminal.shows("writing")
    until(lambda: daemon.status["active"] == 1, "the answer is written")
    here.terminal.press("Escape")
    stopped = here.ended(2, "stopped")[1]
    here.terminal.shows("stopped")
    daemon.settle()
    computed = sum(slot["tokens"] for slot in daemon.slots)
    assert stopped.text
    assert computed < CONTEXT
    time.sleep(0.3)  # a loop that still runs would have gone on
    assert sum(slot["tokens"] for slot in daemon.slots) == computed
    assert daemon.quiet()

    here.ask("/continue")
    until(lambda: len(here.turns()[1].text) > len(stopped.text), "it goes on")
    here.terminal.press("Escape")
    went_on = here.ended(2, "stopped")[1]
    assert went_on.text.startswith(stopped.text)
    assert went_on.timings["prompt_n"] <= 2  # what was said is not read again
    daemon.settle()


def test_leaving_keeps_the_daemon_and_continue_goes_on_where_it_was(daemon, talk):
    here = talk(daemon, most=SHORT)
    here.ask("How is this done?")
    first = here.ended(2, "length")[1]
    here.leave()
    assert daemon.quiet()
    assert daemon.process.poll() is None
    again = talk(daemon, "--continue", most=SHORT)
    again.terminal.shows("How is this done?", word(first.text))
    again.ask("And then?")
    second = again.ended(4, "length")[3]
    known = prompt_tokens(daemon, "How is this done?") + len(first.text) - 1
    assert second.timings["cache_n"] == known
    again.terminal.shows("And then?")
