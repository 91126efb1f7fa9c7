"""A transcript in an app of its own, and what a person sees of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

from paceline.chat.turns import Turn
from paceline.tui.themes import THEMES, defaults
from paceline.tui.widgets.transcript import Transcript


class Stage(App[None]):
    """Shows widgets, and keeps the messages they post."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget, theme: str = "paceline-dark") -> None:
        super().__init__(ansi_color=theme.endswith(("ansi", "plain")))
        self.shown = widgets
        self.posted: list[Message] = []
        self._theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return defaults()

    def compose(self) -> ComposeResult:
        yield from self.shown

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._theme

    def keep(self, message: Message) -> None:
        if not any(message is each for each in self.posted):
            self.posted.append(message)

    def kept(self, kind: type) -> list[Any]:
        """Messages of a kind, in the order in which they were posted."""
        return [message for message in self.posted if isinstance(message, kind)]


@asynccontextmanager
async def talking(
    *turns: Turn, size: tuple[int, int] = (60, 20), branches: Any = None, theme: str = "paceline-dark", **more: Any
) -> AsyncIterator[tuple[Transcript, Pilot[None]]]:
    transcript = Transcript(**more)
    app = Stage(transcript, theme=theme)
    async with app.run_test(size=size, message_hook=app.keep) as pilot:
        transcript.show(turns, branches)
        await pilot.pause()
        yield transcript, pilot


def seen(widget: Widget) -> list[str]:
    """What is on the screen where this widget is, without colours."""
    region = widget.region
    strips = widget.app.screen._compositor.render_strips()[region.y : region.bottom]
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def answer(text: str, id: int = 2, state: Any = "done", **more: Any) -> Turn:
    return Turn(id, id - 1, "assistant", text, state=state, model="a-model", **more)


def question(text: str, id: int = 1, **more: Any) -> Turn:
    return Turn(id, None, "user", text, **more)


def pieces(text: str, sizes: Sequence[int]) -> list[str]:
    """The text, cut into pieces of these sizes, over and over."""
    found, at, turn = [], 0, 0
    while at < len(text):
        size = max(1, sizes[turn % len(sizes)])
        found.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return found
