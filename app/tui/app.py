"""The terminal app."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.driver import Driver
from textual.filter import LineFilter
from textual.notifications import SeverityLevel

from paceline.chat.services import Services
from paceline.tui import switches
from paceline.tui.keymap import keymap
from paceline.tui.said import Memory, Said, within
from paceline.tui.screens.chat import ChatScreen
from paceline.tui.screens.dialog import GuardingApp
from paceline.tui.signs import needed
from paceline.tui.themes import THEMES, choose, defaults
from paceline.tui.widgets.keys import spelled

AGAIN = "f9"  # shows what was said
LEAVING = 8.0  # seconds in which everything has been kept, an answer that has to end included


class PacelineApp(GuardingApp[None]):
    """Chat with code at hand. All that is not drawing is in paceline.chat."""

    TITLE = "Paceline"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    SUSPENDED_SCREEN_CLASS = "-behind"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = set()  # the palette has the screens' own
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="app.quit"),
        Binding(AGAIN, "said", "Read again what was said", show=False, priority=True, id="app.said"),
    ]

    def __init__(self, services: Services, session: str = "") -> None:
        """session: the one to open; empty: a new one. Raises nothing: what fails is said in the app."""
        self._signs = needed(services.environ, getattr(sys.__stderr__, "encoding", None) or "utf-8")  # drawn through it
        super().__init__(ansi_color=_ansi(services))
        self.services = services
        self._session = session
        self._said = Memory()
        if not services.config.chat.motion:
            switches.let_move(self, False)

    def get_driver_class(self) -> type[Driver]:
        """Textual's for this system; on Linux and macOS one that knows a paste by more than its marks."""
        usual = super().get_driver_class()
        try:
            from paceline.tui.terminal import Terminal
        except ImportError:  # Windows
            return usual
        return Terminal if issubclass(Terminal, usual) else usual  # TEXTUAL_DRIVER may name another

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Variables that Textual's own themes do not have."""
        return defaults(self.current_theme)

    def on_mount(self) -> None:
        """Colours, keys, and the conversation."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, RuntimeError):  # Windows; another thread than the first
            loop.add_signal_handler(signal.SIGTERM, self._leave)
            if hasattr(signal, "SIGHUP"):
                loop.add_signal_handler(signal.SIGHUP, self._hung_up)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = choose(self.services.config.chat.theme, self.services.environ)
        self.set_keymap(dict(keymap(self.services.config.chat.keys)))
        self.push_screen(ChatScreen(self.services, self._session))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Say it for a moment: as much of it as there is room for. All of it can be read again."""
        self._said.add(Said(time.time(), message, wrong=severity == "error"))
        key = keymap(self.services.config.chat.keys).get("app.said", AGAIN).partition(",")[0]
        shown = within(message, *self.size, f"{spelled(self, Binding(key, ''))} shows the rest")
        super().notify(shown, title=title, severity=severity, timeout=timeout, markup=markup)

    def action_said(self) -> None:
        """Show all that was said lately."""
        from paceline.tui.screens.said import SaidScreen

        if not isinstance(self.screen, SaidScreen):
            self.clear_notifications()  # it is there as a whole
            self.push_screen(SaidScreen(self._said.text()))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, and behind them what this terminal needs."""
        return [*super().get_line_filters(), *self._signs]

    async def action_quit(self) -> None:
        """What was written is kept first."""
        self._leave()

    def _hung_up(self) -> None:
        """The terminal may be gone: threads that read and write it wait for ever then, and the process with them."""
        end = threading.Timer(LEAVING, os._exit, (128 + signal.SIGHUP,))
        end.daemon = True
        end.start()
        self._leave()

    def _leave(self) -> None:
        screen = next((each for each in self.screen_stack if isinstance(each, ChatScreen)), None)
        if screen is None:
            self.exit()
        else:
            screen.do(screen.leave())


def _ansi(services: Services) -> bool:
    """Whether the terminal's own colours are left alone."""
    return choose(services.config.chat.theme, services.environ).endswith(("ansi", "plain"))
