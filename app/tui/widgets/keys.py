"""The keys of a screen in a line, or two of them: as the keymap has them now, the most important first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.events import Click, Resize
from textual.screen import Screen
from textual.widgets import Static

from paceline.tui.signs import are_few

GAP = "  "
ROWS = 2  # at most
MORE = "…"  # there are others


@dataclass(frozen=True)
class Shown:
    """One key, in a row (from 0), from column `start` up to `end`."""

    key: str
    row: int
    start: int
    end: int


class KeyLine(Static):
    """Shows the keys of its screen's own bindings, in their order; those of widgets and of the app are left out."""

    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shown: tuple[Shown, ...] = ()

    def on_mount(self) -> None:
        """Follow what can be done."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_resize(self, event: Resize) -> None:
        """What does not fit in a row goes into another one."""
        self._draw(event.size.width)

    def on_click(self, event: Click) -> None:
        """A click is the key."""
        for shown in self._shown:
            if shown.row == event.y and shown.start <= event.x < shown.end:
                self.app.simulate_key(shown.key)

    def _changed(self, screen: Screen[Any]) -> None:
        if self.is_attached and screen is self.screen:
            self._draw(self.size.width)

    def _draw(self, width: int) -> None:
        found: list[Shown] = []
        rows, column = [Content("")], 0
        for binding in own_bindings(self.screen):
            key, does = spelled(self.app, binding), binding.description
            size = cell_len(key) + 1 + cell_len(does)
            start = column + len(GAP) if column else 0
            if column and start + size > width and len(rows) < ROWS:
                rows, start, column = [*rows, Content("")], 0, 0
            if start + size > width:
                more = "~" if are_few(self.app) else MORE
                rows[-1] += f" {more}" if column + 2 <= width else ""
                break
            found.append(Shown(binding.key, len(rows) - 1, start, start + size))
            rows[-1] += Content.assemble(GAP if column else "", (key, "bold $accent"), f" {does}")
            column = start + size
        self._shown = tuple(found)
        self.update(Content("\n").join(rows))


_NAMES = {
    "escape": "Esc",
    "enter": "⏎",
    "space": "space",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "backspace": "Backspace",
}
_NAMES |= {name: name.capitalize() for name in ("tab", "home", "end", "insert", "delete")}
_NAMES |= {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_IN_WORDS = {name: name.capitalize() for name in ("enter", "up", "down", "left", "right")}


def spelled(app: App[Any], binding: Binding) -> str:
    """A key as it is written wherever a person reads of it: "Ctrl-Z", "Shift-Tab", "F2", "?"."""
    if binding.key_display:
        return binding.key_display
    *modifiers, key = binding.key.split("+")
    if key in _IN_WORDS and are_few(app):
        name = _IN_WORDS[key]
    elif key in _NAMES:
        name = _NAMES[key]
    elif key[:1] == "f" and key[1:].isdigit():
        name = key.upper()
    else:
        name = key if len(key) == 1 else app.get_key_display(Binding(key, "", ""))
        name = name.upper() if modifiers else name
    return "-".join([*(each.capitalize() for each in modifiers), name])


def own_bindings(screen: Screen[Any]) -> tuple[Binding, ...]:
    """What can be done on a screen now, each with the first of its keys."""
    order = {binding.action: at for at, binding in enumerate(screen.BINDINGS) if isinstance(binding, Binding)}
    found: dict[str, Binding] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if active.node is screen and active.enabled and binding.show and binding.action in order:
            first = found.setdefault(binding.action, binding)
            if _place(screen, binding) < _place(screen, first):
                found[binding.action] = binding
    return tuple(sorted(found.values(), key=lambda binding: order[binding.action]))


def _place(screen: Screen[Any], binding: Binding) -> int:
    """Where a key stands among those of its action; one of the keymap stands first."""
    for each in screen.BINDINGS:
        if isinstance(each, Binding) and each.action == binding.action:
            keys = each.key.split(",")
            return keys.index(binding.key) if binding.key in keys else -1
    return -1
