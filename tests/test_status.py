"""The transient line: on a terminal only, and gone before anything else is written."""

import io
import sys

import pytest

from paceline.status import Status

ERASED = "\r\x1b[K"  # to the beginning of the line, then erase to its end


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def visible(written: str) -> str:
    """What a terminal's one line shows in the end."""
    assert written.startswith(ERASED)
    return written.rsplit(ERASED, 1)[-1]


def test_each_text_replaces_the_one_before():
    terminal = Terminal()
    status = Status(terminal)
    status.show("a long line of text")
    status.show("short")
    assert visible(terminal.getvalue()) == "short"


def test_nothing_is_left_after_clearing_or_at_the_end():
    terminal = Terminal()
    with Status(terminal) as status:
        status.show("reading")
        status.clear()
        assert visible(terminal.getvalue()) == ""
        status.show("again")
    assert visible(terminal.getvalue()) == ""


def test_the_line_is_gone_when_something_fails():
    terminal = Terminal()
    with pytest.raises(ValueError, match="broken"), Status(terminal) as status:
        status.show("reading")
        raise ValueError("broken")
    assert visible(terminal.getvalue()) == ""


def test_clearing_what_was_never_shown_writes_nothing():
    terminal = Terminal()
    with Status(terminal) as status:
        status.clear()
    assert terminal.getvalue() == ""


def test_on_anything_but_a_terminal_nothing_is_written():
    stream = io.StringIO()
    with Status(stream) as status:
        status.show("reading")
    assert stream.getvalue() == ""


def test_without_any_stderr_nothing_happens(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Status() as status:
        status.show("reading")


def test_the_stream_is_stderr_unless_another_is_named(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    Status().show("reading")
    assert visible(terminal.getvalue()) == "reading"


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_knows_no_sequences_is_sent_none(monkeypatch, kind):
    monkeypatch.setenv("TERM", kind)
    terminal = Terminal()
    with Status(terminal) as status:
        status.show("reading")
    assert terminal.getvalue() == ""
