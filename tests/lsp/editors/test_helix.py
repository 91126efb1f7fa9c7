"""Paceline in a real Helix in a terminal of its own. Run with: pytest -m editors

Needs hx (Debian: hx); 25.01 sends changes that follow each other at once in a wrong order, so 25.07 or later.
"""

import os
import re
import select
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import SECONDS, Script

pty = pytest.importorskip("pty", reason="this system has no such terminals")
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
pytestmark = [pytest.mark.editors, pytest.mark.timeout(120)]
WHOLE = 'def area(width, height):\n    """The area of a rectangle."""\n    return width * height'
NEXT = "\x0e"  # Ctrl-n
ESCAPE = "\x1b"
_DRAWING = re.compile(rb"\x1b\[[0-9;:?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>78]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class Helix:
    """One in a terminal; what it has drawn is kept as text, in the order in which it came."""

    def __init__(self, binary: str, document: Path) -> None:
        self.document = document
        self.raw = b""
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
        self.process = subprocess.Popen(
            [binary, str(document)],
            cwd=document.parent,
            env={**os.environ, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def keys(self, typed: str) -> None:
        """Key by key, as a person does it: each is drawn before the next one comes."""
        for key in typed:
            os.write(self.terminal, key.encode())
            self.rest(0.06)

    def rest(self, seconds: float) -> None:
        """Read what it draws for this long, at the least."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                self.raw += os.read(self.terminal, 65536)

    def drawn(self) -> str:
        return _DRAWING.sub(b"", self.raw).decode("utf-8", "replace")

    def until(self, fact: Callable[[], object], what: str) -> None:
        """Wait for something, and go on reading: a terminal that nobody reads stands still."""
        until = time.monotonic() + SECONDS
        while not fact():
            assert time.monotonic() < until, f"{what} does not happen: {self.drawn()[-2000:]}"
            self.rest(0.05)

    def leave(self) -> None:
        """Insert mode. A key that comes at once would be one with Alt."""
        before = len(self.raw)
        self.keys(ESCAPE)
        self.until(lambda: b"NOR" in self.raw[before:], "leaving")

    def saved(self) -> str:
        """The document, written by the editor."""
        before = self.document.stat().st_mtime_ns
        self.leave()
        self.keys(":w\r")
        self.until(lambda: self.document.stat().st_mtime_ns != before, "saving")
        return self.document.read_text("utf-8")


@pytest.fixture
def helix(editor_program, script: Script, folders, monkeypatch) -> Iterator[Helix]:
    """Helix with an empty Python file, once the server has it."""
    binary = editor_program("hx")
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if tuple(map(int, said.split(".")[:2])) < (25, 7):
        pytest.skip(f"Helix {said} is too old")
    programs, work = folders / "bin", folders / "work"
    for folder in (programs, work):
        folder.mkdir()
    starter = programs / "paceline"
    starter.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in script.command) + "\n")
    starter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    script.write_configuration("helix")
    languages = folders / "config/helix/languages.toml"
    alone = re.sub(r"(language-servers =) .*", r'\1 ["paceline"]', languages.read_text())
    languages.write_text(alone)  # other servers, where they are here, have entries and actions of their own
    document = work / "new.py"
    document.write_text("")
    running = Helix(binary, document)
    try:
        running.until(lambda: script.heard("open"), "opening")
        yield running
    finally:
        running.end()


def test_a_suggestion_stands_first_in_helix_s_list_and_is_taken_with_all_its_lines(helix, script):
    helix.keys("idef are")
    helix.until(lambda: "height):" in helix.drawn(), "the list")
    helix.keys(NEXT + "\r")
    assert helix.saved().rstrip("\n") == WHOLE
    assert not script.heard("initialize")[0]["inline"]


def test_columns_are_right_behind_characters_of_several_units(helix, script):
    helix.keys('iprint("é😀", ')  # a space asks; Helix closes the parenthesis
    behind = {"line": 0, "character": len('print("é??", ')}  # 😀 has two units
    helix.until(lambda: behind in [asked["position"] for asked in script.heard("popup")], "asking there")
    assert script.heard("text")[-1]["text"].rstrip("\n") == 'print("é😀", )'


def test_the_selection_is_offered_for_an_edit(helix, script):
    helix.keys("ifirst\rsecond")
    helix.leave()
    helix.keys("% a")
    helix.until(lambda: "Edit with Paceline" in helix.drawn(), "the menu")
    helix.keys("\r")
    helix.until(lambda: script.heard("command"), "sending")
    (sent,) = script.heard("command")
    assert sent["command"] == "paceline.edit"
    assert sent["arguments"][1]["start"] == {"line": 0, "character": 0}
