"""One line at the bottom: which model, what it is doing, how fast, and how full the context is."""

from dataclasses import dataclass

from textual.widget import Widget


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
    raise NotImplementedError


def line(figures: Figures, width: int, *, ascii_only: bool = False) -> str:
    """The footer as text of at most `width` cells: the least important parts go first where there is no room."""
    raise NotImplementedError


class Footer(Widget):
    """Draws the figures it was shown last; nothing moves by itself."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)

    def show(self, figures: Figures) -> None:
        """Draws these figures."""
        raise NotImplementedError
