"""The person's editor in a real terminal: the app goes on behind it, and nothing reaches what is not meant."""

import os
import signal
import sqlite3
import time

import pytest

from support.cli import PACELINE
from support.terminal import PATIENCE, TMUX, SlowAnswers, Terminal

SHELL = ["env", "PS1=READY ", "bash", "--norc", "--noprofile", "-i"]
pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


@pytest.fixture
def closing():
    opened = []
    yield opened.append
    for each in opened:
        each.close()


@pytest.fixture
def editing(paceline, closing, tmp_path):
    """Opens the app, whose editor is a script: of the editor's own, `$1` is the file."""

    def open_app(script, *, lines=3, pause=0.0, command=None):
        server = SlowAnswers(lines, pause)
        closing(server)
        paceline.config.write_text(f'[engine]\nurl = "{server.url}"\n', encoding="utf-8")
        editor = tmp_path / "my-editor"
        editor.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        editor.chmod(0o755)
        variables = {**paceline.environment, "TERM": "tmux-256color", "EDITOR": str(editor), "VISUAL": ""}
        screen = Terminal(paceline.root, variables, command or PACELINE, (80, 24))
        closing(screen)
        if command is None:
            screen.shows("Ask something")
        return screen

    return open_app


def until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def waiting_for(file):
    """A script that goes on once a file is there."""
    return f"echo EDITING\nwhile [ ! -e {file} ]; do sleep 0.05; done"


def opened_from_the_shell(screen):
    """The app as a person starts it, in a shell that gives the terminal to one job after another."""
    screen.shows("READY")
    screen.press("-l", " ".join(PACELINE) + "\n")
    screen.shows("Ask something")


def kept(paceline):
    """What the database has of the last answer: its state and its text."""
    (found,) = paceline.root.rglob("chat.db")
    with sqlite3.connect(f"file:{found}?mode=ro", uri=True) as database:
        row = database.execute("SELECT state, text FROM turn ORDER BY id DESC LIMIT 1").fetchone()
    return tuple(row)


def test_while_the_editor_is_open_an_answer_is_read_and_kept_and_nothing_is_drawn(editing, paceline, tmp_path):
    screen = editing(f"{waiting_for(tmp_path / 'go')}\necho and more >> $1", lines=40, pause=0.05)
    screen.write("Go on")
    screen.press("Enter")
    screen.shows("line 2")
    screen.press("C-o")
    screen.shows("EDITING")
    until(lambda: "line 40" in kept(paceline)[1] and kept(paceline)[0] != "streaming")
    assert [line for line in screen.screen.splitlines() if line] == ["EDITING"]
    (tmp_path / "go").touch()
    screen.shows("line 39", "line 40", "and more", without="EDITING")


def test_a_message_comes_back_as_it_was_left(editing):
    screen = editing("sed -i s/tea/coffee/ $1")
    screen.write("Make tea")
    screen.press("C-o")
    screen.shows("Make coffee", without="tea")


@pytest.mark.parametrize("key", ["C-c", "C-\\"])
def test_keys_that_end_programs_end_the_editor_and_nothing_else(editing, paceline, key):
    screen = editing("echo EDITING\nexec sleep 60", lines=40, pause=0.05, command=SHELL)
    opened_from_the_shell(screen)
    screen.write("Go on")
    screen.press("Enter")
    screen.shows("line 2")
    screen.press("C-o")
    screen.shows("EDITING")
    screen.press(key)
    screen.shows("was ended by SIG", "line")
    until(lambda: "line 40" in kept(paceline)[1])
    screen.write("/quit")
    screen.press("Enter")
    until(lambda: screen.screen.rstrip().endswith("READY"))


def test_a_terminal_that_changes_its_size_meanwhile_is_drawn_as_a_whole(editing, tmp_path):
    screen = editing(waiting_for(tmp_path / "go"), lines=2)
    screen.write("Hi there")
    screen.press("Enter")
    screen.shows("line 2")
    screen.press("C-o")
    screen.shows("EDITING")
    screen.resize(120, 40)
    (tmp_path / "go").touch()
    screen.shows("line 2", "Hi there", without="EDITING")
    until(lambda: screen.screen.rstrip().count("\n") >= 38)


def test_the_shell_can_have_the_terminal_meanwhile(editing, tmp_path):
    screen = editing(f"{waiting_for(tmp_path / 'go')}\necho and more >> $1", command=SHELL)
    opened_from_the_shell(screen)
    screen.write("Hi")
    screen.press("C-o")
    screen.shows("EDITING")
    screen.press("C-z")
    screen.shows("Stopped")
    screen.press("-l", "echo shell has it; fg\n")
    screen.shows("shell has it", "my-editor" if "my-editor" in screen.screen else "paceline")
    (tmp_path / "go").touch()
    screen.shows("Hi", "and more", without="Stopped")
    screen.write("!")
    screen.shows("!")


def test_an_app_that_is_ended_meanwhile_ends_the_editor_and_keeps_the_message(editing, tmp_path):
    screen = editing(f"echo $$ > {tmp_path}/pid\necho EDITING\nexec sleep 60")
    app = screen.pid
    screen.write("Half a message")
    screen.press("C-o")
    screen.shows("EDITING")
    os.kill(app, signal.SIGTERM)
    screen.shows("ENDED 0")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("words", ["[", "true"])
def test_the_app_is_back_when_the_editor_cannot_be_started(editing, tmp_path, words):
    screen = editing("exit 3")
    (tmp_path / "my-editor").write_text("\x7fELF" if words == "[" else "#!/bin/sh\nexit 3\n", encoding="utf-8")
    screen.press("C-o")
    screen.shows("Ask something", "cannot be started" if words == "[" else "status 3")
