"""Copying, and what is said of it."""

import base64
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat import clipboard
from paceline.chat.clipboard import Copied, copy, sequence, tools


class Desk:
    """A terminal, and tools that write what they are given into files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.sent: list[str] = []
        self.environ = {"PATH": str(self.bin), "TERM": "xterm-256color"}

    def tool(self, name: str, body: str = "") -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\necho \"$@\" > '{self.folder}/{name}.words'\n{body or self._keeps(name)}\n")
        path.chmod(0o755)

    def _keeps(self, name: str) -> str:
        return f"PATH=/usr/bin:/bin; cat > '{self.folder}/{name}.text'"

    def given(self, name: str) -> bytes:
        return (self.folder / f"{name}.text").read_bytes()

    def copy(self, text: str = "a text\n", platform: str = "linux", **environ: str) -> Copied:
        return copy(text, {**self.environ, **environ}, self.sent.append, self.folder / "cache", platform)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def decoded(sent: str) -> str:
    """What a terminal that knows OSC 52 would copy."""
    found = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sent)
    assert found, sent
    return base64.b64decode(found[1]).decode()


@pytest.mark.parametrize(
    ("tool", "environ", "words"),
    [
        ("wl-copy", {"WAYLAND_DISPLAY": "wayland-0"}, ""),
        ("xclip", {"DISPLAY": ":0"}, "-selection clipboard"),
        ("xsel", {"DISPLAY": ":0"}, "--clipboard --input"),
    ],
)
def test_a_tool_of_the_desktop_is_certain(desk, tool, environ, words):
    desk.tool(tool)
    assert desk.copy("ä\n", **environ) == Copied("tool", True, "copied")
    assert desk.given(tool) == "ä\n".encode()
    assert (desk.folder / f"{tool}.words").read_text().strip() == words
    assert not desk.sent
    assert not (desk.folder / "cache").exists()


def test_apples_and_windows_tools_are_used_there(desk):
    desk.tool("pbcopy")
    desk.tool("clip.exe")
    assert desk.copy(platform="darwin").certain
    assert desk.copy("ä", WSL_DISTRO_NAME="Debian").certain
    assert desk.given("clip.exe") == "ä".encode("utf-16-le")


def test_over_ssh_only_an_x_display_leads_back(desk):
    for name in ("pbcopy", "clip.exe", "wl-copy"):
        desk.tool(name)
    ssh = {"SSH_CONNECTION": "1 2 3 4", "WAYLAND_DISPLAY": "w", "WSL_DISTRO_NAME": "x"}
    assert desk.copy(platform="darwin", **ssh).how == "terminal"
    desk.tool("xclip")
    assert desk.copy(**ssh, DISPLAY="localhost:10").certain


@pytest.mark.parametrize("body", ["exit 1", "exec sleep 30"])
def test_a_tool_that_fails_is_not_believed(desk, body, monkeypatch):
    monkeypatch.setattr(clipboard, "SECONDS", 0.2)
    desk.tool("xclip", f"PATH=/usr/bin:/bin; {body}")
    done = desk.copy(DISPLAY=":0")
    assert (done.how, done.certain) == ("terminal", False)


def test_the_next_tool_is_tried(desk):
    desk.tool("xclip", "exit 1")
    desk.tool("xsel")
    assert desk.copy(DISPLAY=":0").certain


def test_a_terminal_is_asked_and_it_is_said_that_nobody_knows(desk):
    done = desk.copy("ä\n")
    assert (done.how, done.certain) == ("terminal", False)
    assert decoded(desk.sent[0]) == "ä\n"
    file = desk.folder / "cache" / "clipboard.txt"
    assert file.read_text() == "ä\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "does not say" in done.message and str(file) in done.message


def test_in_tmux_its_own_buffer_is_filled_and_the_terminal_asked_both_ways(desk):
    desk.tool("tmux")
    done = desk.copy("x", TMUX="/tmp/tmux,1,0")
    assert (desk.folder / "tmux.words").read_text().strip() == "load-buffer -w -"
    assert desk.given("tmux") == b"x"
    wrapped, plain = re.fullmatch(r"\x1bPtmux;(.*?)\x1b\\(\x1b\].*)", desk.sent[0], re.DOTALL).groups()
    assert decoded(wrapped.replace("\x1b\x1b", "\x1b")) == decoded(plain) == "x"
    assert "tmux's buffer" in done.message
    assert not done.certain


@pytest.mark.parametrize("environ", [{"STY": "1.pts"}, {"TERM": "screen"}])
def test_screen_gets_it_in_pieces_that_it_passes_on(desk, environ):
    desk.copy("long " * 2000, **environ)
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", desk.sent[0], re.DOTALL)
    assert all(len(piece) <= 768 for piece in pieces)
    assert desk.sent[0] == "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    assert decoded("".join(pieces)) == "long " * 2000


@pytest.mark.parametrize("term", ["linux", "dumb", ""])
def test_a_terminal_without_a_clipboard_is_not_bothered(desk, term):
    done = desk.copy(TERM=term)
    assert not desk.sent
    assert done.how == "file"
    assert "no clipboard" in done.message


def test_what_is_too_long_for_terminals_goes_into_the_file(desk):
    done = desk.copy("x" * 100_000)
    assert not desk.sent
    assert done.how == "file"
    assert "100,000 bytes" in done.message
    assert (desk.folder / "cache" / "clipboard.txt").read_text() == "x" * 100_000


def test_where_nothing_works_it_is_said(desk):
    (desk.folder / "cache").write_text("in the way")
    done = desk.copy(TERM="linux")
    assert (done.how, done.certain) == ("none", False)
    assert "not copied" in done.message


def test_a_terminal_that_is_gone_is_noticed(desk):
    def broken(text):
        raise OSError

    done = copy("x", desk.environ, broken, desk.folder / "cache", "linux")
    assert done.how == "file"


def test_nothing_is_not_copied(desk):
    assert desk.copy("").how == "none"
    assert not desk.sent


def test_nothing_but_the_sequence_reaches_the_terminal(desk):
    desk.copy("\x1b]0;title\x07\x1b[2J")
    assert decoded(desk.sent[0]) == "\x1b]0;title\x07\x1b[2J"


@given(st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_whatever_is_copied_comes_out_the_same(text):
    sent = sequence(text, {"TERM": "xterm"})
    assert decoded(sent) == text.encode("utf-8", "replace").decode()


def test_without_a_display_there_are_no_tools():
    assert list(tools({}, "linux")) == []
