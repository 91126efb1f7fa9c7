"""The list that opens beside the prompt for `@` and `/`. The prompt keeps the focus and sends the keys here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from paceline.tui.screens.dialog import marked, one_line
from paceline.tui.widgets.choices import Choices

Key = Literal["up", "down", "tab", "enter", "escape", "pageup", "pagedown"]


@dataclass(frozen=True)
class Choice:
    """One line of the list."""

    text: str
    value: str  # what stands in the prompt when it is picked
    positions: tuple[int, ...] = ()  # characters of the text that match what is typed
    detail: str = ""  # beside it, such as a help text


class Finder(Choices, can_focus=False):
    """Closed until it is given choices. Never takes the focus; the mouse may click on a choice."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")

    @dataclass
    class Picked(Message):
        """A choice was made; the list is closed. tab: with the Tab key, as one does who goes on typing."""

        choice: Choice
        tab: bool = False

    @dataclass
    class Closed(Message):
        """The person wants no list; it is closed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._choices: tuple[Choice, ...] = ()
        self._note = ""
        self.display = False

    @property
    def open(self) -> bool:
        """Whether keys are for it."""
        return self.display and bool(self._choices)

    @property
    def current(self) -> Choice | None:
        """The choice that Enter picks."""
        at = self.highlighted
        return self._choices[at - self._above] if self.open and at is not None else None

    @property
    def _above(self) -> int:
        """Lines before the first choice."""
        return 1 if self._note else 0

    def offer(self, choices: Sequence[Choice], note: str = "") -> None:
        """Show these, the first one highlighted; none: close. note: above them, also where there are none."""
        if (tuple(choices), note) != (self._choices, self._note):
            self._choices, self._note = tuple(choices), note
            above = [Option(Content.styled(one_line(note).plain, "$text-muted"), disabled=True)] if note else []
            self.set_options([*above, *map(_option, self._choices)])
        self.display = bool(self._choices) or bool(note)
        self.highlighted = self._above if self._choices else None
        self.scroll_home(animate=False)

    def close(self) -> None:
        """Show nothing."""
        self.offer(())

    def key(self, key: Key) -> None:
        """A key that the prompt got while the list was open."""
        if not self.open:
            return
        if key == "escape":
            self.close()
            self.post_message(self.Closed())
        elif key in ("tab", "enter"):
            self._pick(tab=key == "tab")
        else:
            step = {"up": -1, "down": 1, "pageup": -self._page, "pagedown": self._page}[key]
            self._move(step, wrap=key in ("up", "down"))

    @property
    def _page(self) -> int:
        return max(1, self.size.height - 1)

    def _move(self, step: int, *, wrap: bool) -> None:
        count, at = len(self._choices), (self.highlighted or 0) - self._above + step
        self.highlighted = self._above + (at % count if wrap else min(max(at, 0), count - 1))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self.highlighted = event.option_index
        self._pick(tab=False)

    def _pick(self, *, tab: bool) -> None:
        choice = self.current
        if choice is not None:
            self.close()
            self.post_message(self.Picked(choice, tab))


def _option(choice: Choice) -> Option:
    text = marked(choice.text, [(at, at + 1) for at in choice.positions])
    return Option(text + Content.styled(f"  {one_line(choice.detail).plain}", "$text-muted") if choice.detail else text)
