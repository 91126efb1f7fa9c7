"""Where a message is written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from paceline.chat.context.mentions import typing
from paceline.chat.pastes import cleaned, line_count

PopupKey = Literal["up", "down", "tab", "enter", "escape", "pageup", "pagedown"]
POPUP_KEYS = ("up", "down", "tab", "enter", "escape", "pageup", "pagedown")
NEWLINES = ("shift+enter", "alt+enter", "ctrl+enter", "ctrl+j")
SETTLED = 0.05  # seconds without a key after which a paste without brackets is over


class Prompt(TextArea):
    """Several lines of text. Enter sends them; Shift-Enter, Alt-Enter and Ctrl-J begin a new line."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z,super+z", "undo", "Undo", show=False),
        Binding("ctrl+y,super+y", "redo", "Redo", show=False),
        Binding("ctrl+g", "editor", "Write in an editor", show=False, id="prompt.editor"),
    ]

    @dataclass
    class Submitted(Message):
        """The person wants this to be sent. The prompt keeps its text until it is cleared."""

        text: str

    @dataclass
    class Pasted(Message):
        """Text was pasted that is longer than a prompt should hold; it is not in the prompt."""

        text: str

    @dataclass
    class Typing(Message):
        """What is being typed at the cursor: a mention from its `@`, a command from its `/`, or "" (neither)."""

        word: str

    @dataclass
    class Popup(Message):
        """A key for the list that is open above the prompt; see `popup_open`."""

        key: PopupKey

    @dataclass
    class EditorWanted(Message):
        """The person wants to write this in an editor of their own."""

        text: str

    @dataclass
    class Paged(Message):
        """Page up (-1) or page down (1), for the conversation: a prompt is too small to page in."""

        by: int

    popup_open: bool = False  # up, down, tab, enter, escape then go to Popup messages instead

    def __init__(
        self,
        *,
        previous: Callable[[str], str | None] | None = None,
        following: Callable[[], str | None] | None = None,
        paste_lines: int = 30,
        burst: Callable[[str, float], bool] | None = None,
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        """previous, following: the inputs before and after, for up and down at the edges; previous gets what is
        written now. paste_lines: a longer paste is posted as Pasted. burst: told of every key (its character, seconds
        on a clock), says whether it belongs to text that is pasted without brackets.
        """
        super().__init__(id=id, compact=True, highlight_cursor_line=False, placeholder=placeholder)
        self.cursor_blink = False  # a blinking cursor wakes the processor twice a second
        self._previous, self._following = previous, following
        self._paste_lines, self._burst = paste_lines, burst
        self._pasting: list[str] = []  # what has come of a paste without brackets
        self._last = 0.0  # when the last key came
        self._settling: Timer | None = None
        self._word = ""

    @property
    def cursor(self) -> int:
        """The characters before the cursor."""
        row, column = self.cursor_location
        return sum(len(self.document.get_line(at)) + 1 for at in range(row)) + column

    @property
    def word(self) -> str:
        """What is being typed at the cursor: a mention from its `@`, a command from its `/`, or ""."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        mention = typing(line, column)
        if mention is not None:
            return line[mention.start : column]
        return line[:column] if row == 0 and line.startswith("/") else ""

    def complete(self, replacement: str) -> None:
        """Puts this in the place of the word that is being typed."""
        row, column = self.cursor_location
        self.history.checkpoint()
        self.replace(replacement, (row, column - len(self.word)), (row, column), maintain_selection_offset=False)
        self.history.checkpoint()

    def put(self, text: str) -> None:
        """Puts text at the cursor, as one step that can be undone."""
        self.history.checkpoint()
        self.replace(text, *self.selection, maintain_selection_offset=False)
        self.history.checkpoint()
        self.scroll_cursor_visible()

    def replace_all(self, text: str, cursor: int | None = None) -> None:
        """The whole text is now this, as one step that can be undone. cursor: characters before it; None: the end."""
        self.history.checkpoint()
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.history.checkpoint()
        before = text if cursor is None else text[:cursor]
        self.move_cursor((before.count("\n"), len(before) - before.rfind("\n") - 1))

    async def _on_key(self, event: events.Key) -> None:
        if self.popup_open and event.key in POPUP_KEYS:
            self.post_message(self.Popup(cast(PopupKey, event.key)))
        elif event.key in NEWLINES:
            self._end_paste()
            self.put("\n")
        elif self._is_pasted(event):
            self._pasting.append("\n" if event.key == "enter" else event.character or "")
            self._wait_for_more()
        elif event.key == "enter":
            self._end_paste()
            self.post_message(self.Submitted(self.text))
        else:
            self._end_paste()
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._end_paste()
        self._paste(event.text)

    def _is_pasted(self, event: events.Key) -> bool:
        """Whether the key is text of a paste that the terminal did not mark as one."""
        character = "\r" if event.key == "enter" else event.character if event.is_printable else None
        if character is None or self._burst is None:
            return False
        gap, self._last = event.time - self._last, event.time
        return self._burst(character, event.time) or (bool(self._pasting) and gap < SETTLED)

    def _paste(self, text: str) -> None:
        text = cleaned(text)
        if line_count(text) > self._paste_lines:
            self.post_message(self.Pasted(text))
        else:
            self.put(text)

    def _wait_for_more(self) -> None:
        if self._settling is None:
            self._settling = self.set_timer(SETTLED, self._look_for_more)
        else:
            self._settling.reset()

    def _look_for_more(self) -> None:
        """The time is over; but keys may have come already that are not handled yet, on a slow machine."""
        self._settling = None
        self.call_later(self._end_paste_of, len(self._pasting))

    def _end_paste_of(self, keys: int) -> None:
        if len(self._pasting) == keys:
            self._end_paste()
        elif self._settling is None:
            self._wait_for_more()

    def _end_paste(self) -> None:
        if self._settling is not None:
            self._settling.stop()
            self._settling = None
        if self._pasting:
            text, self._pasting = "".join(self._pasting), []
            self._paste(text)

    def on_text_area_changed(self) -> None:
        """What is typed at the cursor may be another word."""
        self._tell_word()

    def on_text_area_selection_changed(self) -> None:
        """The cursor may be at another word."""
        self._tell_word()

    def _tell_word(self) -> None:
        if self.word != self._word:
            self._word = self.word
            self.post_message(self.Typing(self._word))

    def action_cursor_up(self, select: bool = False) -> None:
        """One line up; from the first one to the input before."""
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif self._previous is not None and (earlier := self._previous(self.text)) is not None:
            self.replace_all(earlier)

    def action_cursor_down(self, select: bool = False) -> None:
        """One line down; from the last one to the input after."""
        if select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        elif self._following is not None and (later := self._following()) is not None:
            self.replace_all(later)

    def action_cursor_page_up(self) -> None:
        """The conversation's page before."""
        self.post_message(self.Paged(-1))

    def action_cursor_page_down(self) -> None:
        """The conversation's next page."""
        self.post_message(self.Paged(1))

    def action_editor(self) -> None:
        """Asks for an editor."""
        self.post_message(self.EditorWanted(self.text))
