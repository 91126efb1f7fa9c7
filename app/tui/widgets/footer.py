"""One line at the bottom: which model, what it is doing, how fast, and how full the context is."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from paceline.text import strip_controls
from paceline.tui.widgets.rows import shorten

BAR = 8  # cells of the context's bar
GAP = " · "
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


def reading(done: int, total: int, seconds_left: float | None = None) -> str:
    """The state while the prompt is read: tokens, and how long it will take where that is known."""
    told = f"reading {done:,} of {total:,} tokens"
    if seconds_left is None:
        return told
    if seconds_left < 90:
        return f"{told}, {max(1, round(seconds_left))} s left"
    return f"{told}, {round(seconds_left / 60)} min left"


def line(figures: Figures, width: int, *, ascii_only: bool = False) -> str:
    """The footer as text of at most `width` cells: the least important parts go first where there is no room.

    What stays longest: state, context, tokens per second, queue, model, acceptance, speed-up, hint.
    """
    parts = list(_parts(figures, ascii_only))
    gap = " | " if ascii_only else GAP
    chosen: dict[int, str] = {}

    def fits(at: int, text: str) -> bool:
        tried = {**chosen, at: text}
        return cell_len(gap.join(tried[each] for each in sorted(tried))) <= width

    ranked = sorted(range(len(parts)), key=lambda at: parts[at][0])
    for at in ranked:  # as many as there is room for, in their shortest form
        if not fits(at, parts[at][1][-1]):
            break
        chosen[at] = parts[at][1][-1]
    for at in ranked:  # then as long as there is room for
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
        return Content(line(self._figures, self.size.width, ascii_only=self.app.console.options.ascii_only))


def _parts(figures: Figures, ascii_only: bool) -> Iterator[tuple[int, list[str]]]:
    """How important each part is (0: most), and its texts, the longest first; from left to right."""
    if figures.model:
        name = _line(figures.model)
        mark = "~" if ascii_only else "…"
        yield 4, [name, shorten(name, MODEL, mark), shorten(name, MODEL // 2, mark)]
    if figures.state:
        state = _line(figures.state)
        yield 0, [state, state.removeprefix("reading ").replace(" tokens", ""), state.partition(",")[0]]
    if figures.rate is not None:
        yield 2, [f"{figures.rate:.1f} tokens/s", f"{figures.rate:.0f} t/s"]
    if figures.acceptance is not None:
        yield 5, [f"{figures.acceptance:.0%} accepted"]
    if figures.speedup is not None:
        yield 6, [f"{figures.speedup:.2f}x speed-up", f"{figures.speedup:.1f}x"]
    if figures.used is not None and figures.size:
        yield 1, _context(figures.used, figures.size, figures.about, ascii_only)
    if figures.queued:
        yield 3, [f"{figures.queued} waiting"]
    if figures.hint:
        yield 7, [_line(figures.hint)]


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
