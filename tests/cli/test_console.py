"""What belongs to the terminal: questions that never wait, tables, and text that cannot steer it."""

import io
import sys

from paceline import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def answer(monkeypatch, typed: str, default: bool) -> bool:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", Terminal())
    return console.ask_yes_no("Go on?", default)


def test_a_question_is_answered_with_a_word_its_first_letter_or_enter(monkeypatch):
    for typed, default, meant in (
        ("y\n", False, True), ("YES\n", False, True), ("n\n", True, False), ("No\n", True, False),
        ("\n", True, True), ("\n", False, False), ("maybe\ny\n", False, True),
    ):  # fmt: skip
        assert answer(monkeypatch, typed, default) is meant, (typed, default)


def test_an_end_of_input_means_no(monkeypatch):
    assert answer(monkeypatch, "", True) is False


def test_without_a_terminal_the_default_is_taken_and_nothing_is_read(monkeypatch):
    for stdin, stderr in ((io.StringIO("n\n"), Terminal()), (Terminal("n\n"), io.StringIO()), (None, Terminal())):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        assert console.ask_yes_no("Go on?", True) is True
        assert stdin is None or stdin.tell() == 0


def test_a_closed_stream_is_no_terminal():
    stream = io.StringIO()
    stream.close()
    assert not console.is_terminal(stream) and not console.is_terminal(None)


def test_columns_line_up_also_with_wide_characters():
    lines = console.aligned(("name", "n"), [("模型", "1"), ("a", "22")]).splitlines()
    assert lines == ["name  n", "模型  1", "a     22"]


def test_numbers_are_set_to_the_right():
    assert console.aligned(("a", "b"), [("1", "10"), ("100", "2")], right=True).splitlines() == [
        "  a   b", "  1  10", "100   2",
    ]  # fmt: skip


def test_cells_are_one_line_without_terminal_sequences(monkeypatch, capsys):
    assert console.aligned(("",), [("a\n\x1b[2Jb",)]) == "a b"
    console.out("x\x1b]0;title\x07y")
    console.say("x\x9b2Jy")
    shown = capsys.readouterr()
    assert shown.out == "xy\n" and shown.err == "xy\n"


def test_on_a_terminal_a_table_is_drawn_without_colour_where_nobody_wants_it(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    console.show_table(("model", "size"), [("[bold]tiny[/bold]", "1 MB")])
    shown = screen.getvalue()
    assert (
        "\x1b" not in shown
        and "[bold]tiny[/bold]" in shown
        and "model" in shown
        and all(len(line) <= 60 for line in shown.splitlines())
    )


def test_on_a_terminal_names_of_columns_are_no_markup_and_steer_nothing(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    console.show_table(("", "[bold]a", "b[/i]", "c\x1b[2J\nd"), [("1", "2", "3", "4")])
    shown = screen.getvalue()
    assert "\x1b" not in shown and all(name in shown for name in ("[bold]a", "b[/i]", "c d"))


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert console.coloured("ok", "green", Terminal()) != "ok" == console.coloured("ok", "green", io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.coloured("ok", "green", Terminal()) == "ok"


def test_what_an_encoding_cannot_say_is_escaped(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    console.out("größe \udcff")
    assert raw.getvalue() == b"gr\\xf6\\xdfe \\udcff\n"


def test_shares_are_one_line_for_each_label_where_nobody_watches(capsys):
    with console.share_bar() as bar:
        for share in (0.0, 0.5, 1.0):
            bar("measuring", share)
    assert capsys.readouterr().err == "measuring\n"
