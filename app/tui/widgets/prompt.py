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
from paceline.chat.pastes import HOLD, LAG, Burst, around, cleaned, is_long

PopupKey = Literal["up", "down", "tab", "enter", "escape", "pageup", "pagedown"]
POPUP_KEYS = ("up", "down", "tab", "enter", "escape", "pageup", "pagedown")
NEWLINES = ("shift+enter", "alt+enter", "ctrl+enter", "ctrl+j")


class Prompt(TextArea):
    """Several lines of text. Enter sends them; Shift-Enter, Alt-Enter and Ctrl-J begin a new line."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text(encoding="utf-8")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z,super+z", "undo", "Undo", show=False),
        Binding("ctrl+y,super+y", "redo", "Redo", show=False),
        Binding("ctrl+g", "editor", "Write in $EDITOR", show=False, id="prompt.editor"),
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

    wholes: tuple[str, ...] = ()  # pieces of text that are deleted as one, such as what stands for a paste
    popup_open: bool = False  # up, down, tab, enter, escape then go to Popup messages instead

    def __init__(
        self,
        *,
        previous: Callable[[str], str | None] | None = None,
        following: Callable[[], str | None] | None = None,
        paste_lines: int = 30,
        placeholder: str = "",
        id: str | None = None,
    ) -> None:
        """previous, following: the inputs before and after, for up and down at the edges; previous gets what is
        written now. paste_lines: a longer paste is posted as Pasted.
        """
        super().__init__(id=id, compact=True, highlight_cursor_line=False, placeholder=placeholder)
        self.cursor_blink = False  # a blinking cursor wakes the processor twice a second
        self._previous, self._following = previous, following
        self._paste_lines = paste_lines
        self._burst = Burst()
        self._sending: Timer | None = None  # an Enter that waits for what may follow it
        self._pasting: list[str] = []  # what has come of a paste without brackets
        self._settling: Timer | None = None
        self._word = ""
        self._giving_way: tuple[str, str, int] | None = None  # before which key a blank goes, in which text, where

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

    def blank_gives_way(self, to: str) -> None:
        """The blank before the cursor goes if this character is typed next."""
        self._giving_way = to, self.text, self.cursor

    def _give_way(self, character: str | None) -> None:
        if self._giving_way == (character, self.text, self.cursor):
            row, column = self.cursor_location
            self.delete((row, column - 1), (row, column), maintain_selection_offset=False)
        self._giving_way = None

    async def _on_key(self, event: events.Key) -> None:
        if self.popup_open and event.key in POPUP_KEYS and not self._pasting:
            self.post_message(self.Popup(cast(PopupKey, event.key)))
        elif event.key in NEWLINES:
            self._end_paste()
            self.put("\n")
        elif (character := _character(event)) is None or not self._takes(character, event.time):
            self._end_paste()
            self._give_way(character)
            return
        event.stop()
        event.prevent_default()

    def _takes(self, character: str, now: float) -> bool:
        """Whether a key is done with: it is Enter, or text of a paste that the terminal did not mark as one."""
        what = self._burst.key(character, now)
        if what == "typed":
            return False
        if what == "held":
            self._end_paste()
            self._sending = self.set_timer(HOLD, self._send)
            return True
        self._take_back()
        self._pasting.append("\n" if character == "\r" else character)
        self._wait_for_more()
        return True

    def _take_back(self) -> None:
        """What was typed last was the beginning of a paste; an Enter in it sends nothing."""
        if self._sending is not None:
            self._sending.stop()
            self._sending = None
        if begun := self._burst.beginning():
            row, column = self.cursor_location
            start = max(0, column - len(begun.removesuffix("\n")))
            self.delete((row, start), (row, column), maintain_selection_offset=False)
            self._pasting.append(begun)

    def _send(self) -> None:
        self._sending = None
        self.post_message(self.Submitted(self.text))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._sending is None:
            self._end_paste()
        else:  # right behind an Enter: it would be sent, too
            self._take_back()
        self._pasting.append(event.text)
        self._end_paste()

    def _paste(self, text: str) -> None:
        text = cleaned(text)
        if is_long(text, self._paste_lines):
            self.post_message(self.Pasted(text))
        else:
            self.put(text)

    def _wait_for_more(self) -> None:
        if self._settling is None:
            self._settling = self.set_timer(LAG, self._look_for_more)
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

    def _delete_whole(self, *, before: bool, blanks: bool = False) -> bool:
        """Delete the piece that goes as one before or behind the cursor; whether there is one. blanks: also where
        they are between them.
        """
        row, column = self.cursor_location
        line, at = self.document.get_line(row), column
        if blanks:
            at = len(line[:column].rstrip()) if before else len(line) - len(line[column:].lstrip())
        found = around(line, at, self.wholes, before=before)
        if found is None or not self.selection.is_empty:
            return False
        first, last = min(found[0], column), max(found[1], column)
        self.history.checkpoint()
        self.delete((row, first), (row, last), maintain_selection_offset=False)
        self.history.checkpoint()
        return True

    def action_delete_left(self) -> None:
        """A character, or a piece that goes as one."""
        if not self._delete_whole(before=True):
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """The same, behind the cursor."""
        if not self._delete_whole(before=False):
            super().action_delete_right()

    def action_delete_word_left(self) -> None:
        """A word, or a piece that goes as one."""
        if not self._delete_whole(before=True, blanks=True):
            super().action_delete_word_left()

    def action_delete_word_right(self) -> None:
        """The same, behind the cursor."""
        if not self._delete_whole(before=False, blanks=True):
            super().action_delete_word_right()

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


def _character(event: events.Key) -> str | None:
    """What a key writes; None for one that does something else."""
    return "\r" if event.key == "enter" else event.character if event.is_printable else None
