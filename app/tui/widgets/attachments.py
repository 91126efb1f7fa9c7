"""What goes with the next message, above the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message
from textual.widget import Widget

from paceline.chat.turns import Attached


class AttachmentBar(Widget, can_focus=True):
    """The attached things, each of which can be taken away again. Takes no room while there are none."""

    @dataclass
    class Removed(Message):
        """The person wants this one away: its place in what was shown. The bar changes when it is shown the rest."""

        index: int
        attached: Attached

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)

    def show(self, attached: Sequence[Attached]) -> None:
        """Shows these."""
        raise NotImplementedError
