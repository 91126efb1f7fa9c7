"""Who drafted what, explained in a row: each drafter's name in its own look."""

from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

INTRODUCTION = "drafted by: "
DRAFTERS = {  # the name of a style, what a person knows it as, and the same in short
    "ngram": ("texts at hand", "texts"),
    "edit": ("the edited file", "file"),
    "draft": ("small model", "model"),
    "lookahead": ("lookahead", "lookahead"),
}


class Legend(Widget):
    """One row, which takes no room until it is shown."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"legend--{name}" for name in DRAFTERS}

    def __init__(self, *, off: str = "F2 off", id: str | None = None) -> None:
        """off: how the colours, and with them this row, are put away again."""
        super().__init__(id=id)
        self._off = off
        self.display = False

    def show(self) -> None:
        """While the colours are shown."""
        self.display = True

    def hide(self) -> None:
        """They are not shown any more."""
        self.display = False

    def render(self) -> Content:
        """The row."""
        parts = parts_within(self.size.width, self._off)
        looks = {name: self.get_visual_style(f"legend--{name}", partial=True) for name in DRAFTERS}
        return Content.assemble(*((text, looks[name]) if name else text for text, name in parts))


def parts_within(width: int, off: str) -> list[tuple[str, str]]:
    """The row in stretches of text and style (""; none), as much of it as there is room for."""
    for introduction, at in ((INTRODUCTION, 0), ("", 0), ("", 1)):
        parts = [(introduction, "")] if introduction else []
        for number, (name, texts) in enumerate(DRAFTERS.items()):
            parts += [(", ", "")] if number else []
            parts.append((texts[at], name))
        parts.append((f" · {off}", ""))
        if cell_len("".join(text for text, _ in parts)) <= width:
            break
    return parts
