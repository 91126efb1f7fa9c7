"""What fills the context: a bar, and a table of its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from paceline.chat.context.budget import Sizes
from paceline.text import strip_controls
from paceline.tui.widgets.rows import breaks

NAME = 38  # columns of a name at most
FREE = "·"
HISTORY = "▒"


@dataclass(frozen=True)
class Slice:
    """A part of the context. Tokens."""

    sign: str  # fills the bar, so that parts differ without colours, too
    name: str
    tokens: int
    parts: tuple[tuple[str, int], ...] = ()  # what it is made of


def slices(sizes: Sizes) -> tuple[Slice, ...]:
    """The parts in the order in which the model reads them, then what is kept free for the answer."""
    attachments = tuple((part.name, part.tokens) for part in sizes.attachments)
    history = tuple((part.name, part.tokens) for part in sizes.history)
    return (
        Slice("█", "system prompt", sizes.system - sizes.summary),
        *([Slice("▚", "summary of turns that are not sent", sizes.summary)] if sizes.summary else []),
        Slice(HISTORY, "earlier turns", sum(tokens for _, tokens in history), history),
        Slice("▓", "attachments", sum(tokens for _, tokens in attachments), attachments),
        Slice("▄", "this message", sizes.message + sizes.frame),
        Slice("░", "kept for the answer", sizes.reserve),
    )


def bar(sizes: Sizes, width: int) -> str:
    """Every part in proportion, to a whole of `width` cells. What is over is not drawn: the words tell it.

    A part that is there has at least one cell, as far as there is room.
    """
    whole = max(sizes.context, sizes.used, 1)
    cells = ""
    for part in slices(sizes):
        wanted = max(1, round(part.tokens * width / whole)) if part.tokens else 0
        cells += part.sign * wanted
    return cells[:width].ljust(width, FREE)


def summary(sizes: Sizes) -> str:
    """In a sentence."""
    about = "about " if sizes.estimated else ""
    taken = f"{sizes.prompt:,} + {sizes.reserve:,} kept for the answer"
    if not sizes.context:
        return f"{about}{taken} tokens; how many there are is not known yet"
    if sizes.over:
        return f"{about}{sizes.over:,} too many: {taken}, of {sizes.context:,} tokens"
    return f"{about}{taken}, of {sizes.context:,} tokens; {sizes.left:,} free"


def table(sizes: Sizes, *, details: bool) -> tuple[tuple[str, int], ...]:
    """Rows of name and tokens; details: also what parts are made of."""
    return tuple(_rows(sizes, details=details))


def _rows(sizes: Sizes, *, details: bool) -> Iterator[tuple[str, int]]:
    for part in slices(sizes):
        if part.tokens or not part.parts:
            yield f"{part.sign} {part.name}", part.tokens
        if details:
            yield from ((f"    {name}", tokens) for name, tokens in part.parts)
            if part.sign == HISTORY and sizes.files:
                yield "    of these, files", sizes.files
    if sizes.context:
        yield f"{FREE} free", sizes.left
    if sizes.cached and details:
        yield "already read by the engine", sizes.cached


def aligned(rows: Sequence[tuple[str, int]], width: int) -> str:
    """Rows as lines of text: names to the left, tokens to the right, at most `width` columns."""
    shown = [(" ".join(strip_controls(name).split("\n")), f"{tokens:,}") for name, tokens in rows]
    numbers = max((len(number) for _, number in shown), default=0)
    names = min(max((cell_len(name) for name, _ in shown), default=0), NAME, max(1, width - numbers - 2))
    return "\n".join(f"{_short(name, names)}  {number:>{numbers}}" for name, number in shown)


def _short(text: str, width: int) -> str:
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


class Meter(Widget):
    """Bar, sentence, table; fitted to its own width."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")

    def __init__(self, sizes: Sizes, *, details: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sizes = sizes
        self._details = details

    def show(self, sizes: Sizes) -> None:
        """Show these figures instead."""
        self._sizes = sizes
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are."""
        return self._text(width).count("\n") + 1

    def render(self) -> Content:
        """All lines."""
        return Content(self._text(self.content_size.width))

    def _text(self, width: int) -> str:
        rows = table(self._sizes, details=self._details)
        told = summary(self._sizes)
        lines = (told[start:end] for start, end in breaks(told, width))
        return "\n".join((bar(self._sizes, width), *lines, aligned(rows, width)))
