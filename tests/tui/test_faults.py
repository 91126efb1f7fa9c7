"""A fault in Paceline costs no more than it has to: a turn's looks, or the app, but no conversation."""

import sys

import pytest

from paceline.commands import chat as command
from paceline.errors import ExitCode
from paceline.tui.widgets import layout, message
from paceline.tui.widgets.message import AS_WRITTEN, Entry
from support.terminal import TMUX, Terminal
from support.transcripts import answer, question, seen, talking


class Boom(ValueError):
    """A fault of ours."""


def boom(*_, **__):
    raise Boom("not enough [b]values")


def told(transcript):
    return [note.message for note in transcript.app._notifications]


FAULTS = [
    (message.Reader, "feed"),
    (message.Reader, "finish"),
    (message.Reader, "hanging"),
    (layout.LaidFence, "grow"),
    (layout.LaidFence, "row"),
    (message.Colouring, "work"),
    (message.Colouring, "add"),
]


@pytest.mark.parametrize(("owner", "name"), FAULTS)
async def test_an_answer_that_cannot_be_shown_as_markdown_is_shown_as_it_was_written(owner, name, monkeypatch):
    text = "a **b**\x1b[2J\n```py\nx = 1\n```\n"
    streaming = [answer(text, state="streaming")] if name == "hanging" else []
    monkeypatch.setattr(owner, name, boom)
    turns = [question("How?"), *(streaming or [answer(text)]), question("Why?", id=3)]
    async with talking(*turns, size=(70, 30)) as (transcript, pilot):
        await pilot.pause(0.3)
        shown = seen(transcript)
        assert {"  a **b**", "  ```py", "  x = 1", "  How?", "  Why?"} <= set(shown)
        assert sum(AS_WRITTEN in line for line in shown) == 1
        assert told(transcript) == [f"{AS_WRITTEN}. Please report this fault: Boom: not enough [b]values"]
        for key in ("k", "k", "k", "j", "f2"):
            await pilot.press(key)
        assert transcript.app.is_running


async def test_a_fault_while_it_streams_loses_nothing_that_comes(monkeypatch):
    async with talking(question("How?"), answer("", state="streaming"), size=(60, 12)) as (transcript, pilot):
        transcript.append(2, "one\n")
        await pilot.pause(0.2)
        monkeypatch.setattr(message.Reader, "feed", boom)
        transcript.append(2, "tw")
        await pilot.pause(0.2)
        transcript.append(2, "o\nthree")
        await pilot.pause(0.2)
        transcript.update_turn(answer("one\ntwo\nthree"))
        await pilot.pause(0.2)
        assert [line.strip() for line in seen(transcript)][3:7] == ["a-model", "one", "two", "three"]
        assert len(told(transcript)) == 1


def test_where_nothing_can_be_laid_out_the_text_is_there_all_the_same(monkeypatch):
    for name in ("lay", "wrap", "shorten"):
        monkeypatch.setattr(message, name, boom)
    entry = Entry(answer("a\tb" * 20 + "\nc\x1b[2J"))
    for _ in range(2):
        entry.lay(30)
        rows = ["".join(text for text, _ in entry.row(at).spans) for at in range(entry.height)]
        assert "".join(rows[1:4]) == "a b" * 20 + "c"
        assert max(map(len, rows)) <= 30
    assert entry.blocks() == 0


class TestTheApp:
    """When it has broken down."""

    def test_its_exit_status_says_so_and_what_to_do_is_said(self):
        error = command.fault(kept=True)
        assert error.exit_code == ExitCode.FAILURE
        assert "conversation is kept" in error.message
        assert "`paceline --continue`" in error.hint
        assert "report" in error.hint

    def test_nothing_is_promised_where_nothing_is_kept(self):
        error = command.fault(kept=False)
        assert "kept" not in str(error)
        assert "--continue" not in str(error)

    @pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
    def test_in_a_terminal(self, paceline):
        program = (
            "from paceline.tui.screens.chat import ChatScreen;"
            "ChatScreen.compose = lambda screen: 1 / 0;"
            "from paceline.cli import main; main()"
        )
        paceline.config.write_text('[engine]\nurl = "http://127.0.0.1:9"\n', encoding="utf-8")
        variables = {**paceline.environment, "TERM": "tmux-256color"}
        screen = Terminal(paceline.root, variables, [sys.executable, "-c", program], (100, 50))
        try:
            screen.shows("ZeroDivisionError", "the conversation is kept", "paceline --continue", "ENDED 1")
        finally:
            screen.close()
