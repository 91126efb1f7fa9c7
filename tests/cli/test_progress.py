"""The progress of a transfer on stderr: a bar on a terminal, few plain lines elsewhere."""

import io

from paceline.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_elsewhere_there_is_a_line_at_the_start_for_each_tenth_and_at_the_end():
    out = io.StringIO()
    clock = Clock()
    bar = ProgressBar("model", out, clock)
    bar.start(1_000_000_000, 0)
    for _ in range(1000):
        clock.now += 0.01
        bar.advance(1_000_000)
    bar.stop()
    lines = out.getvalue().splitlines()
    assert lines[0] == "model: 1000 MB" and lines[1] == "model: 10 %, 100.0 MB/s, 9 s left"
    assert lines[-1] == "model: done after 10 s" and len(lines) == 11


def test_elsewhere_a_slow_transfer_is_heard_of_every_half_minute():
    out = io.StringIO()
    clock = Clock()
    bar = ProgressBar("model", out, clock)
    bar.start(1_000_000_000, 0)
    for _ in range(61):
        clock.now += 1
        bar.advance(1000)
    bar.stop()
    assert len(out.getvalue().splitlines()) == 4 and "stopped at 0 MB" in out.getvalue()


def test_what_was_here_before_does_not_count_for_the_rate():
    out = io.StringIO()
    clock = Clock()
    bar = ProgressBar("model", out, clock)
    bar.start(1_000_000_000, 890_000_000)
    clock.now += 10
    bar.advance(20_000_000)
    assert "model: 1000 MB, 890 MB are here" in out.getvalue() and "91 %, 2.0 MB/s, 45 s left" in out.getvalue()


def test_on_a_terminal_there_is_a_bar_and_notes_are_not_markup():
    out = Terminal()
    bar = ProgressBar("model [1/2]", out)
    bar.start(2_000_000, 500_000)
    bar.note("the Hub [red]does not[/red] answer")
    bar.advance(1_500_000)
    bar.stop()
    bar.stop()
    shown = out.getvalue()
    assert "model [1/2]" in shown and "[red]does not[/red]" in shown and "2.0/2.0 MB" in shown


def test_elsewhere_no_control_sequence_is_written():
    out = io.StringIO()
    bar = ProgressBar("model", out)
    bar.start(100, 0)
    bar.note("a note")
    bar.advance(100)
    bar.stop()
    assert "\x1b" not in out.getvalue() and "\r" not in out.getvalue() and "a note\n" in out.getvalue()


def test_without_any_stderr_nothing_is_said_and_nothing_fails(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", None)
    bar = ProgressBar("model")
    bar.note("the Hub does not answer")
    bar.start(100, 0)
    bar.advance(100)
    bar.stop()
    assert capsys.readouterr().out == ""
