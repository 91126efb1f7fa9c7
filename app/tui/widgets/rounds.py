"""How the last rounds went: tokens per second and acceptance, as two small curves."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from paceline.tui.signs import are_few
from paceline.tui.widgets.rows import shorten

STEPS = "▁▂▃▄▅▆▇█"
ASCII_STEPS = "_.-=+*%#"
LABEL = 15  # cells before a curve
USUAL = 0.95  # of the rounds are drawn in proportion; a burst above them is cut


class Rounds(Widget):
    """A panel of two curves. Draws only when it is told of a round."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")

    def __init__(self, *, kept: int = 240, id: str | None = None) -> None:
        """kept: how many rounds are remembered."""
        super().__init__(id=id)
        self._rates: deque[float | None] = deque(maxlen=kept)
        self._accepted: deque[float | None] = deque(maxlen=kept)

    def add(self, tokens_per_second: float, acceptance: float | None) -> None:
        """One more round. acceptance: accepted part of what was drafted, 0 to 1; None: nothing was drafted."""
        self._rates.append(max(0.0, tokens_per_second))
        self._accepted.append(None if acceptance is None else min(1.0, max(0.0, acceptance)))
        if self.display:
            self.refresh()

    def render(self) -> Content:
        """The two curves, or what they will show."""
        width, height = self.size.width, max(1, self.size.height // 2)
        if not self._rates:
            return Content(shorten("tokens/s and acceptance of each round, once an answer is written", width))
        steps = ASCII_STEPS if are_few(self.app) else STEPS
        rates = list(self._rates)[-max(1, width - LABEL) :]
        accepted = list(self._accepted)[-max(1, width - LABEL) :]
        highest = usual(rates)
        known = [each for each in accepted if each is not None]
        average = f"{sum(known) / len(known):.0%}" if known else "-"
        rows = [
            *_labelled(
                curve(rates, highest, height, steps), f"{rates[-1] or 0:.1f} tokens/s", f"scale to {highest:.0f}"
            ),
            *_labelled(curve(accepted, 1.0, height, steps), f"{average} accepted", ""),
        ]
        return Content("\n".join(shorten(row, width) for row in rows))


def usual(values: Sequence[float | None]) -> float:
    """The value that nearly all stay below: one round in which a text at hand was copied says nothing of the others."""
    known = sorted(value for value in values if value is not None)
    return known[int(USUAL * (len(known) - 1))] if known else 0.0


def curve(values: Sequence[float | None], highest: float, height: int, steps: str = STEPS) -> list[str]:
    """Bars, one a column, from the top row to the lowest; None leaves its column empty, 0 is the lowest step."""
    levels = height * len(steps)
    filled = [
        0 if value is None else max(1, min(levels, round(value / highest * levels))) if highest > 0 else 1
        for value in values
    ]
    rows = []
    for row in reversed(range(height)):
        within = [min(len(steps), max(0, each - row * len(steps))) for each in filled]
        rows.append("".join(steps[each - 1] if each else " " for each in within))
    return rows


def _labelled(rows: Sequence[str], *labels: str) -> list[str]:
    told = [*labels, *[""] * len(rows)][: len(rows)]
    return [f"{label[: LABEL - 1]:<{LABEL}}{row}" for label, row in zip(told, rows, strict=True)]
