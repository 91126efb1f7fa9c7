"""Where a message is written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from textual.message import Message
from textual.widgets import TextArea

PopupKey = Literal["up", "down", "tab", "enter", "escape", "pageup", "pagedown"]


class Prompt(TextArea):
    """Several lines of text. Enter sends them; Shift-Enter, Alt-Enter and Ctrl-J begin a new line."""

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
        """The word that is being typed at the cursor: begins with `@` or `/` (at the very start), or is "" (none)."""

        word: str

    @dataclass
    class Popup(Message):
        """A key for the list that is open above the prompt; see `popup_open`."""

        key: PopupKey

    @dataclass
    class EditorWanted(Message):
        """The person wants to write this in an editor of their own."""

        text: str

    popup_open: bool = False  # up, down, tab, enter, escape then go to Popup messages instead

    def __init__(
        self,
        *,
        previous: Callable[[str], str | None] | None = None,
        following: Callable[[], str | None] | None = None,
        paste_lines: int = 30,
        burst: Callable[[str, float], bool] | None = None,
        id: str | None = None,
    ) -> None:
        """previous, following: the inputs before and after, for up and down at the edges; previous gets what is
        written now. paste_lines: a longer paste is posted as Pasted. burst: told of every key (its character, seconds
        on a clock), says whether it belongs to text that is pasted without brackets.
        """
        super().__init__(id=id)

    def complete(self, replacement: str) -> None:
        """Puts this in the place of the word that is being typed."""
        raise NotImplementedError

    def put(self, text: str) -> None:
        """Puts text at the cursor, as one step that can be undone."""
        raise NotImplementedError

    def replace_all(self, text: str) -> None:
        """The whole text is now this, with the cursor at its end, as one step that can be undone."""
        raise NotImplementedError
