"""Tables of Markdown, in columns as wide as the screen allows. Nothing here draws."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from paceline.tui.widgets.drafted import Shown
from paceline.tui.widgets.inline import inline
from paceline.tui.widgets.rows import Row, Span, measure, wrap

NARROWEST = 3  # cells of a column; where not all columns have that the table is shown as it was written
GAP = 2  # cells between columns
_BAR = re.compile(r"(?<!\\)\|")


def table(lines: Sequence[str], width: int, drafted: Sequence[Shown] = ()) -> list[Row]:
    """The rows of a table. lines: the head, the line below it that says how columns are aligned, the others.

    drafted: the lines again, where the styles are those of who drafted them.
    """
    head, delimiters, *others = lines
    aligned = [_alignment(cell) for cell in _cells(delimiters)]
    count = max(1, len(aligned))
    content = [[inline(cell) for cell in (*_cells(line), *[""] * count)[:count]] for line in (head, *others)]
    widths = fit([max(measure(row[at]) for row in content) for at in range(count)], width - GAP * (count - 1))
    if not widths:
        whole = (
            [shown.paint([(line, ("literal",))]) for line, shown in zip(lines, drafted, strict=True)] if drafted else []
        )
        return [Row(part) for line in whole or [[(line, ())] for line in lines] for part in wrap(line, width)]
    bold = [[(text, (*names, "strong")) for text, names in cell] for cell in content[0]]
    if drafted:
        shown = [drafted[0], *drafted[2:]]
        content = [[line.paint(cell) for cell in row] for line, row in zip(shown, content, strict=True)]
        bold = content[0]
    rule = Row((((" " * GAP).join("─" * each for each in widths), ("frame",)),))
    rows = [*_laid(bold, widths, aligned), rule]
    for row in content[1:]:
        rows += _laid(row, widths, aligned)
    return rows


def fit(natural: Sequence[int], room: int) -> list[int]:
    """Widths of columns: what they need, or, where there is less room, the widest ones less. Empty: no way."""
    if room < NARROWEST * len(natural):
        return []
    widths = [max(each, 1) for each in natural]
    over = sum(widths) - room
    while over > 0:
        widest = max(widths)
        among = [at for at, each in enumerate(widths) if each == widest]
        below = max((each for each in widths if each < widest), default=NARROWEST)
        less = max(1, min(widest - max(below, NARROWEST), -(-over // len(among))))
        for at in among:
            taken = min(less, over)
            widths[at] -= taken
            over -= taken
    return widths


def _laid(cells: Sequence[Sequence[Span]], widths: Sequence[int], aligned: Sequence[str]) -> list[Row]:
    columns = [wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    rows = []
    for parts in zip_longest(*columns, fillvalue=()):
        spans: list[Span] = []
        for at, part in enumerate(parts):
            blank = max(0, widths[at] - measure(part))
            left = {"right": blank, "centre": blank // 2}.get(aligned[at], 0)
            spans += [(" " * left, ()), *part, (" " * (blank - left + (GAP if at + 1 < len(parts) else 0)), ())]
        rows.append(Row(tuple(span for span in spans if span[0])))
    return rows


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def _alignment(cell: str) -> str:
    return {(True, True): "centre", (False, True): "right"}.get((cell.startswith(":"), cell.endswith(":")), "left")
