"""One line at the bottom: which model, what it is doing, how fast, and how full the context is."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from paceline.text import strip_controls
from paceline.tui.signs import are_few
from paceline.tui.widgets.rows import shorten

BAR = 8  # cells of the context's bar
GAP = " · "
READING = "reading "  # in the state while a prompt is read
REPLACING = ("editing an earlier message (Esc: never mind)", "editing an earlier message", "editing")
PAST = 10  # more than any part's rank: what is of the answer before goes behind the others
MODEL = 24  # cells of the model's name at most, where other parts would have no room


@dataclass(frozen=True)
class Figures:
    """What the footer says. None and "": not known, and left out."""

    model: str = ""
    state: str = ""  # "loading", "reading 1,200 of 3,400 tokens, 12 s left", "writing", "" (idle)
    rate: float | None = None  # tokens per second
    acceptance: float | None = None  # part of the drafted tokens that were accepted, 0 to 1
    speedup: float | None = None  # against decoding one by one
    used: int | None = None  # tokens of the context that are taken, the reserve for the answer included
    size: int | None = None  # tokens of the context
    about: bool = False  # the tokens are an estimate
    queued: int = 0  # messages that wait
    hint: str = ""  # such as "? keys"
    replaces: bool = False  # the next message takes the place of an earlier one


def reading(done: int, total: int, seconds_left: float | None = None) -> str:
    """The state while the prompt is read: tokens, and how long it will take where that is known."""
    told = f"{READING}{done:,} of {total:,} tokens"
    if seconds_left is None:
        return told
    if seconds_left < 90:
        return f"{told}, {max(1, round(seconds_left))} s left"
    return f"{told}, {round(seconds_left / 60)} min left"


def line(figures: Figures, width: int, *, ascii_only: bool = False) -> str:
    """The footer as text of at most `width` cells: the least important parts go first where there is no room.

    What stays longest: state, what is edited, context, tokens per second, queue, model, acceptance, speed-up, hint.
    While a prompt is read, the figures of the answer before get what room the others leave.
    """
    parts = list(_parts(figures, width, ascii_only))
    gap = " | " if ascii_only else GAP
    chosen: dict[int, str] = {}

    def fits(at: int, text: str) -> bool:
        tried = {**chosen, at: text}
        return cell_len(gap.join(tried[each] for each in sorted(tried))) <= width

    ranked = sorted(range(len(parts)), key=lambda at: parts[at][0])
    for _, group in groupby(ranked, key=lambda at: parts[at][0] >= PAST):
        alike = list(group)
        for at in alike:  # as many as there is room for, in their shortest form
            if not fits(at, parts[at][1][-1]):
                break
            chosen[at] = parts[at][1][-1]
        for at in alike:  # then as long as there is room for
            if at in chosen:
                chosen[at] = next(text for text in parts[at][1] if fits(at, text))
    if not chosen and parts:
        return shorten(parts[ranked[0]][1][-1], width, "~" if ascii_only else "…")
    return gap.join(chosen[at] for at in sorted(chosen))


class Footer(Widget):
    """Draws the figures it was shown last; nothing moves by itself."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._figures = Figures()

    def show(self, figures: Figures) -> None:
        """Draws these figures."""
        if figures != self._figures:
            self._figures = figures
            self.refresh()

    def render(self) -> Content:
        """The line."""
        return Content(line(self._figures, self.size.width, ascii_only=are_few(self.app)))


def _parts(figures: Figures, width: int, ascii_only: bool) -> Iterator[tuple[int, list[str]]]:
    """How important each part is (0: most), and its texts, the longest first; from left to right."""
    state = _line(figures.state)
    past = PAST if READING in state else 0
    if figures.model:
        name = _line(figures.model)
        mark = "~" if ascii_only else "…"
        yield 4, [name, shorten(name, MODEL, mark), shorten(name, MODEL // 2, mark)]
    if state:
        yield 0, _state(state, width)
    if figures.replaces:
        yield 1, list(REPLACING)
    if figures.rate is not None:
        yield past + 2, [f"{figures.rate:.1f} tokens/s", f"{figures.rate:.0f} t/s"]
    if figures.acceptance is not None:
        yield past + 5, [f"{figures.acceptance:.0%} accepted"]
    if figures.speedup is not None:
        yield past + 6, [f"{figures.speedup:.2f}x speed-up", f"{figures.speedup:.1f}x"]
    if figures.used is not None and figures.size:
        yield 1, _context(figures.used, figures.size, figures.about, ascii_only)
    if figures.queued:
        yield 3, [f"{figures.queued} waiting"]
    if figures.hint:
        yield 7, [_line(figures.hint)]


def _state(state: str, width: int) -> list[str]:
    """Whole, and shorter: a number is never cut."""
    if READING not in state:
        return [state, state.partition(", ")[0]]
    terse = state.replace(" tokens", "")
    short = terse.partition(", ")[0]
    if cell_len(short) > width:
        return [READING.strip()]
    return [state, terse] if cell_len(terse) <= width * 2 // 3 else [state, terse, short]


def _context(used: int, size: int, about: bool, ascii_only: bool) -> list[str]:
    part = used / size
    filled = min(BAR, max(1 if used else 0, round(part * BAR)))
    full, empty = "#-" if ascii_only else "█░"
    bar = full * filled + empty * (BAR - filled)
    tilde = "~" if about else ""
    over = " over!" if used > size else ""
    short = f"{tilde}{part:.0%}{over}"
    return [
        f"{bar} {tilde}{used:,}/{size:,}{over}",
        f"{bar} {short}",
        f"context {short}",
        f"{tilde}{part:.0%} full{over}",
    ]


def _line(text: str) -> str:
    return " ".join(strip_controls(text).split())
