"""Keys and commands, as they are now."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from paceline.chat.slash import COMMANDS, SlashCommand
from paceline.tui.screens.dialog import Dialog, Line, one_line
from paceline.tui.widgets.keys import spelled

GAP = 2  # columns between the two
WIDEST = 24  # columns of the first


# what Textual calls its own
OURS = {
    "palette": "Find a command",
    "Focus Next": "Go to the next part of the screen",
    "Focus Previous": "Go to the part before",
}


@dataclass(frozen=True)
class Keys:
    """What some keys do, and where."""

    keys: tuple[str, ...]  # as a person reads them
    does: str


def keys_of(screen: Screen[Any]) -> tuple[Keys, ...]:
    """The keys that work on a screen with the widget that has the focus there, changes of the keymap included.

    The screen's own stand first, in its own order, then the app's and its widgets', then what Textual adds.

    Those without a description, and how a text is edited in any program, are left out.
    """
    order: dict[str, int] = {}
    for each in type(screen).BINDINGS:
        if isinstance(each, Binding):
            order.setdefault(each.action, len(order))
    found: list[tuple[int, Binding]] = []
    for active in screen.active_bindings.values():
        binding = active.binding
        if not binding.description or binding.system or _is_usual(active.node, binding):
            continue
        if active.node is screen and binding.action in order:
            found.append((order[binding.action], binding))
        elif active.node is screen.app or binding.id is not None:
            found.append((len(order), binding))
        else:  # of Textual
            found.append((len(order) + 1, binding))
    return _grouped(screen.app, [binding for _, binding in sorted(found, key=itemgetter(0))])


def keys_in(widget: Widget) -> tuple[Keys, ...]:
    """The keys of a widget that has not got the focus now."""
    bindings = [each for found in widget._bindings.key_to_bindings.values() for each in found]
    return _grouped(widget.app, [each for each in bindings if each.description and each.id])


def _is_usual(node: DOMNode, binding: Binding) -> bool:
    """Whether it is of a field for text, and ours in nothing."""
    return isinstance(node, (TextArea, Input)) and binding.id is None


def _grouped(app: App[Any], bindings: Iterable[Binding]) -> tuple[Keys, ...]:
    found: dict[str, list[str]] = {}
    for binding in bindings:
        found.setdefault(binding.description, []).append(spelled(app, binding))
    return tuple(Keys(tuple(dict.fromkeys(keys)), OURS.get(does, does)) for does, keys in found.items())


class HelpScreen(Dialog[None]):
    """Two tables that scroll."""

    CSS_PATH: ClassVar = ["dialog.tcss", "help.tcss"]
    HEADING = "Help"
    AUTO_FOCUS = SCROLLED = "#tables"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "dismiss", "Back", id="help.back"),
        Binding("down,j", "scroll_text(1)", "Down", show=False),
        Binding("up,k", "scroll_text(-1)", "Up", show=False),
    ]

    def __init__(
        self,
        keys: Sequence[Keys],
        commands: Iterable[SlashCommand] = COMMANDS,
        command: str = "",
        turns: Sequence[Keys] = (),
    ) -> None:
        """keys: see `keys_of`, to be asked before this screen is shown. command: only this one is explained.

        turns: the keys of the conversation, which are others.
        """
        super().__init__()
        self._turns = tuple(turns)
        self._keys = tuple(keys)
        self._commands = [each for each in commands if command in ("", each.name, *each.aliases)]
        self._only = bool(command)

    def body(self) -> ComposeResult:
        """Keys, then commands, then what else can be written into the prompt."""
        with VerticalScroll(id="tables"):
            if not self._only:
                yield Line("Keys", classes="title")
                yield Static(_table([(", ".join(each.keys), each.does) for each in self._keys]))
                yield Line("In the prompt", classes="title")
                yield Static(_table(PROMPT))
                if self._turns:
                    yield Line("In the conversation (Ctrl-↑)", classes="title")
                    yield Static(_table([(", ".join(each.keys), each.does) for each in self._turns]))
            yield Line("Commands", classes="title")
            yield Static(_table([(each.usage, _with_aliases(each)) for each in self._commands]))


PROMPT = (
    ("Enter", "send the message"),
    ("Shift-Enter, Ctrl-J", "begin a new line; so does Alt-Enter"),
    ("↑, ↓", "earlier inputs, from the first line; a message that waits is taken back first"),
    ("Shift-Tab, then x", "remove an attachment; the arrow keys choose which"),
    ("@name", "attach a file, a folder or a symbol; @name:10-40 only these lines, @file:name a symbol"),
    ("@diff", "attach what has changed since the last commit"),
    ("@output", "attach the output of the last command"),
    ("!command", "run a command, after asking, and attach its output"),
)


def _with_aliases(command: SlashCommand) -> str:
    also = " ".join(f"/{alias}" for alias in command.aliases)
    return f"{command.help} (also {also})" if also else command.help


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    """Two columns, as wide as their screen."""
    table = Table.grid(padding=(0, GAP, 0, 0))
    table.add_column(max_width=WIDEST)
    table.add_column(ratio=1)
    for first, second in rows:
        table.add_row(Text(one_line(first).plain, "bold"), Text(one_line(second).plain))
    return table
