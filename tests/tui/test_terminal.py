"""The app in a real terminal: tmux sends the keys and shows the screen."""

import os
import signal
import time

import psutil
import pytest

from support.cli import PACELINE
from support.terminal import PATIENCE, TMUX, SlowAnswers, Terminal

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


@pytest.fixture
def answers():
    opened = []

    def make(lines=3, pause=0.0):
        opened.append(SlowAnswers(lines, pause))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def app(paceline):
    """Opens the app against a server, in a terminal."""
    opened = []

    def open_app(server, *words, size=(80, 24), **environment):
        paceline.config.write_text(f'[engine]\nurl = "{server.url}"\n', encoding="utf-8")
        variables = {**paceline.environment, "TERM": "tmux-256color", "COLORTERM": "truecolor", **environment}
        opened.append(Terminal(paceline.root, variables, [*PACELINE, *words], size))
        return opened[-1]

    yield open_app
    for each in opened:
        each.close()


def test_an_answer_streams_and_ends(app, answers):
    server = answers(lines=3)
    screen = app(server)
    screen.shows("Ask something")
    screen.write("Hi there")
    screen.press("Enter")
    screen.shows("Hi there", "line 1", "line 3")
    assert server.asked[0][-1] == {"role": "user", "content": "Hi there"}


def test_escape_stops_the_server_too(app, answers):
    server = answers(lines=5000, pause=0.02)
    screen = app(server)
    screen.shows("Ask something")
    screen.write("Go on")
    screen.press("Enter")
    screen.shows("line 9")
    screen.press("Escape")
    shown = screen.shows("stopped")
    assert server.left.wait(10)
    time.sleep(0.3)
    assert screen.screen == shown


def test_a_window_that_changes_its_size_while_text_arrives_stays_whole(app, answers):
    screen = app(answers(lines=400, pause=0.01))
    screen.shows("Ask something")
    screen.write("Go on")
    screen.press("Enter")
    screen.shows("line 2")
    for width, height in ((40, 12), (120, 40), (20, 6), (80, 24)):
        screen.resize(width, height)
        time.sleep(0.1)
    screen.shows("line 399", "line 400")


@pytest.mark.parametrize("bracketed", [True, False])
def test_a_paste_of_5000_lines_becomes_an_attachment_and_sends_nothing(app, answers, bracketed):
    server = answers()
    screen = app(server)
    screen.shows("Ask something")
    screen.paste("".join(f"pasted {number}\n" for number in range(5000)), bracketed=bracketed)
    screen.shows("[pasted text, 5,000 lines]")
    assert server.asked == []
    screen.write(" why?")
    screen.shows("why?")
    time.sleep(1)
    screen.press("Enter")
    screen.shows("line 3")
    content = server.asked[0][-1]["content"]
    assert "pasted 0\n" in content
    assert "pasted 4999" in content


def test_keys_that_come_all_at_once_are_typed_where_they_are_a_line_and_a_paste_where_they_are_more(app, answers):
    server = answers()
    screen = app(server)
    screen.shows("Ask something")
    screen.press("What is 你好?", "Enter")
    screen.shows("line 3")
    assert server.asked[0][-1]["content"] == "What is 你好?"
    screen.press("-l", "".join(f"pasted {number}\n" for number in range(500)))
    screen.shows("[pasted text, 500 lines]")
    screen.press("-l", "two\nlines\n")
    screen.shows("[pasted text, 500 lines]two\n lines")
    assert len(server.asked) == 1


def test_what_was_written_until_it_was_killed_is_there_again(app, answers):
    screen = app(answers(lines=5000, pause=0.02))
    screen.shows("Ask something")
    screen.write("Count")
    screen.press("Enter")
    screen.shows("line 160")  # more than two seconds of it
    os.kill(screen.pid, signal.SIGKILL)
    screen.shows("ENDED 137")
    again = app(answers(lines=2), "--continue")
    again.shows("stopped")
    again.press("C-Home")
    again.press("C-Up")
    again.shows("line", "stopped")
    again.press("Escape")
    again.write("/continue")
    again.press("Enter")
    again.shows("line 2", without="stopped")


def test_what_was_not_sent_when_it_was_killed_is_there_again(app, answers):
    screen = app(answers(lines=2))
    screen.shows("Ask something")
    screen.write("!echo made of words")
    screen.press("Enter")
    screen.shows("Run")
    time.sleep(1)
    screen.press("y")
    screen.shows("exited 0")
    screen.write("What does it say")
    time.sleep(2)
    os.kill(screen.pid, signal.SIGKILL)
    screen.shows("ENDED 137")
    again = app(answers(lines=2))
    again.shows("What does it say", "$ echo made of words")


@pytest.mark.parametrize(
    "variables",
    [
        {"TERM": "linux", "COLORTERM": ""},
        {"TERM": "screen", "COLORTERM": ""},
        {"NO_COLOR": "1"},
        {"TERM": "xterm", "COLORTERM": ""},
    ],
)
def test_it_can_be_read_in_terminals_with_few_colours(app, answers, variables):
    screen = app(answers(), **variables)
    screen.shows("Ask something")
    screen.write("Hi")
    screen.press("Enter")
    screen.shows("line 3")
    coloured = screen.tmux("capture-pane", "-p", "-e")
    assert "38;2;" not in coloured
    if "NO_COLOR" in variables:
        assert not any(f"\x1b[{code}m" in coloured for code in (*range(30, 38), *range(40, 48), *range(90, 98)))


def test_leaving_gives_the_terminal_back(app, answers):
    screen = app(answers())
    screen.shows("Ask something")
    screen.press("C-c")
    screen.shows("again")
    screen.press("C-c")
    screen.shows("ENDED 0", without="Ask something")


@pytest.mark.parametrize("writing", [False, True])
def test_a_terminal_that_closes_ends_the_app(app, answers, writing):
    screen = app(answers(lines=5000, pause=0.001))
    screen.shows("Ask something")
    if writing:
        screen.write("Hi there")
        screen.press("Enter")
        screen.shows("line 40")
    pid = screen.pid
    screen.close()
    until = time.monotonic() + PATIENCE
    while psutil.pid_exists(pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not psutil.pid_exists(pid)


def test_a_paste_that_holds_the_end_of_one_and_an_enter_sends_nothing(app, answers):
    server = answers()
    screen = app(server)
    screen.shows("Ask something")
    screen.press("-l", "\x1b[200~safe \x1b[201~!evil message\r")
    screen.shows("safe !evil message")
    time.sleep(0.5)
    assert server.asked == []
    screen.press("Enter")
    screen.shows("line 3")
    assert server.asked[0][-1]["content"].strip() == "safe !evil message"


def test_a_paste_without_its_end_is_there_in_the_end_and_control_and_c_leaves(app, answers):
    screen = app(answers())
    screen.shows("Ask something")
    screen.press("-l", "\x1b[200~half of it")
    screen.shows("half of it")
    screen.press("-l", "\x1b[200~")
    time.sleep(0.5)
    screen.press("C-c")
    screen.shows("Ask something", without="half of it")
    screen.press("C-c")
    screen.shows("again")
    screen.press("C-c")
    screen.shows("ENDED 0")
