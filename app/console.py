"""What belongs to the terminal: lines, questions, tables. Text is cleared of terminal controls before it is shown."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from paceline.text import strip_controls

GAP = "  "  # between the columns of a plain table


def say(text: str) -> None:
    """A line on stderr: all that is not the answer."""
    _write(text, sys.stderr)


def out(text: str) -> None:
    """A line on stdout: what was asked for."""
    _write(text, sys.stdout)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the other end. A closed or missing stream is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def can_ask() -> bool:
    """Whether a question would reach a person: asked on stderr, answered on stdin."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def ask_yes_no(question: str, default: bool) -> bool:
    """Ask on the terminal; Enter means the default, an end of input means no. Without a terminal: the default."""
    if not can_ask():
        return default
    choice = "[Y/n]" if default else "[y/N]"
    while True:
        sys.stderr.write(f"{strip_controls(question)} {choice} ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no") or not line:
            return False
        if not answer:
            return default
        say("please answer y or n")


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """A table as plain text: columns as wide as their widest cell, also where characters are two cells wide.

    `right`: cells are set to the right, as numbers are.
    """
    from rich.cells import cell_len

    lines = [[_one_line(cell) for cell in row] for row in ([headers] if any(headers) else []) + list(rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]

    def padded(cell: str, width: int) -> str:
        space = " " * (width - cell_len(cell))
        return space + cell if right else cell + space

    whole = (GAP.join(padded(cell, width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in whole)


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on stdout: drawn and wrapped to the width of a terminal, plain elsewhere. NO_COLOR is respected."""
    if not is_terminal(sys.stdout):
        out(aligned(headers, rows))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    columns = (Column(Text(_one_line(header))) for header in headers)
    table = Table(*columns, box=box.SIMPLE_HEAD, header_style="", pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text(_one_line(cell)) for cell in row))
    Console(file=sys.stdout, highlight=False).print(table)


def coloured(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour, where the stream shows colours and nobody asked for none (NO_COLOR)."""
    import os

    import click

    plain = not is_terminal(stream) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else click.style(text, fg=colour)


@contextmanager
def share_bar() -> Iterator[Callable[[str, float], None]]:
    """Progress in shares of one on stderr: `bar(label, 0.4)`. Elsewhere than on a terminal, a line for each label."""
    if not is_terminal(sys.stderr):
        seen: set[str] = set()

        def tell(label: str, share: float) -> None:
            if label not in seen:
                seen.add(label)
                say(label)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(file=sys.stderr)) as bars:
        tasks = {}

        def draw(label: str, share: float) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=1.0)
            bars.update(tasks[label], completed=share)

        yield draw


def _one_line(text: str) -> str:
    return " ".join(strip_controls(text).split())


def _write(text: str, stream: TextIO | None) -> None:
    """What the stream's encoding cannot say is written as an escape, which is better than no message at all."""
    if stream is None:  # closed before the start: there is nobody to tell, and print would take stdout instead
        return
    shown = strip_controls(text)
    try:
        print(shown, file=stream, flush=True)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        print(shown.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
