"""All conversations: found, opened, renamed, copied, written to files, deleted."""

import time
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from paceline.chat import tree
from paceline.chat.store import Store, Summary
from paceline.chat.words import ago, many
from paceline.errors import InputError, PacelineError
from paceline.tui.exporting import Exporting
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.screens.dialog import Dialog, Line, marked, one_line
from paceline.tui.widgets.choices import Choices
from paceline.tui.widgets.notes import Notes

_WITH_ONE = ("open", "rename", "fork", "export", "delete")  # what is done with the chosen session


class SessionsScreen(Dialog[str | None]):
    """The result is the id of the session to open, or None: stay where we are."""

    CSS_PATH: ClassVar = ["dialog.tcss", "sessions.tcss"]
    HEADING = "Sessions"
    AUTO_FOCUS = "#query"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="sessions.open", priority=True),
        Binding("enter", "retitle", "Rename", id="sessions.open", priority=True),
        Binding("f2,ctrl+r", "rename", "Rename", id="sessions.rename", priority=True),
        Binding("f3,ctrl+f", "fork", "Fork", id="sessions.fork", priority=True),
        Binding("f4,ctrl+x", "export", "Export", id="sessions.export", priority=True),
        Binding("f8,ctrl+d", "delete", "Delete", id="sessions.delete", priority=True),
        Binding("escape", "leave", "Back", id="sessions.back", priority=True),
        Binding("up,ctrl+p", "move('cursor_up')", "Up", show=False, priority=True),
        Binding("down,ctrl+n", "move('cursor_down')", "Down", show=False, priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, priority=True),
    ]

    def __init__(self, store: Store, current: str = "", query: str = "", folder: Path | None = None) -> None:
        """current: the id of the session that is open, which cannot be deleted here. folder: where exports go."""
        super().__init__()
        self._store = store
        self._current = current
        self._query = query
        self._folder = folder or Path.cwd()
        self._found: tuple[Summary, ...] = ()
        self._searching = False  # a search is due at the next refresh
        self._naming = False  # whether another title is asked for

    def body(self) -> ComposeResult:
        """What is looked for, and what is found."""
        yield Input(self._query, placeholder="search titles and messages", id="query", select_on_focus=False)
        yield Choices(id="found", markup=False)

    def below(self) -> ComposeResult:
        """A title that is asked for."""
        yield Line("New title:", id="asked")
        yield Input(id="name", select_on_focus=False)

    def on_mount(self) -> None:
        """The newest sessions, or what is looked for already."""
        for field in self.query(Input):
            field.cursor_blink = False
        self.query_one("#found", OptionList).can_focus = False
        self._ask_title(False)
        self._search()

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        """Several keys between two refreshes are one search."""
        self._query = event.value
        if not self._searching:
            self._searching = True
            self.call_after_refresh(self._search)

    def _search(self, highlight: str = "") -> None:
        self._searching = False
        keep = highlight or (self._chosen.session.id if self._chosen else "")
        try:
            self._found = self._store.list(self._query)
        except PacelineError as error:
            self.tell(error)
            return
        listed = self.query_one("#found", OptionList)
        now = time.time()
        listed.set_options(_option(summary, summary.session.id == self._current, now) for summary in self._found)
        ids = [summary.session.id for summary in self._found]
        listed.highlighted = (ids.index(keep) if keep in ids else 0) if ids else None
        self.head(f"Sessions ({len(ids)}{' found' if self._query.strip() else ''})")
        self.tell("" if ids else "Nothing is found." if self._query.strip() else "There are no sessions yet.")

    @property
    def _chosen(self) -> Summary | None:
        at = self.query_one("#found", OptionList).highlighted
        return self._found[at] if at is not None and at < len(self._found) else None

    def action_move(self, how: str) -> None:
        """Another session."""
        if not self._naming:
            getattr(self.query_one("#found", OptionList), f"action_{how}")()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a title is asked for, only what is done with it; while a text is read, the arrows are its own."""
        if action == "move":
            return not isinstance(self.focused, Notes)
        return self._naming == (action == "retitle") if action in (*_WITH_ONE, "retitle") else True

    def action_open(self) -> None:
        """Open the chosen session."""
        if self._chosen:
            self.dismiss(self._chosen.session.id)

    @on(OptionList.OptionSelected, "#found")
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        if not self._naming:
            self.dismiss(self._found[event.option_index].session.id)

    def action_leave(self) -> None:
        """Back: from a title to the list, from the list to where we came from."""
        if self._naming:
            self._ask_title(False)
        else:
            self.dismiss(None)

    # --- what can be done with one ------------------------------------------------------------------------------------

    def action_rename(self) -> None:
        """Ask for another title."""
        if self._chosen:
            self._ask_title(True)

    def action_retitle(self) -> None:
        """Take the title that is written."""
        if self._chosen is None:
            return
        try:
            self._store.rename(self._chosen.session.id, self.query_one("#name", Input).value)
        except PacelineError as error:
            self.tell(error)
            return
        self._ask_title(False)
        self._search()

    @work
    async def action_export(self) -> None:
        """Write it to a file that the person names."""
        if self._chosen:
            try:
                turns = self._store.turns(self._chosen.session.id)
                session = self._chosen.session
                await Exporting(session, turns, tree.path(turns, session.leaf), self._folder).ask(self.app)
            except PacelineError as error:
                self.tell(error)

    def _ask_title(self, naming: bool) -> None:
        self._naming = naming
        asked, name = self.query_one("#asked", Line), self.query_one("#name", Input)
        asked.display = name.display = naming
        name.value = one_line(self._chosen.session.title).plain if naming and self._chosen else ""
        name.action_end()
        (name if naming else self.query_one("#query", Input)).focus()
        self.refresh_bindings()
        self.tell("")

    def action_fork(self) -> None:
        """A copy of what is shown of it, to go on with in another way."""
        if not self._chosen:
            return
        session = self._chosen.session
        try:
            if session.leaf is None:
                raise InputError("there is nothing in this session to copy")
            copy = self._store.fork(session.id, session.leaf)
        except PacelineError as error:
            self.tell(error)
            return
        self._search(copy.id)

    def action_delete(self) -> None:
        """Delete it, after a question."""
        if not self._chosen:
            return
        chosen = self._chosen
        if chosen.session.id == self._current:
            self.tell("This session is open: begin or open another one, then it can be deleted.")
            return
        lines = (chosen.session.title or "(no title)", many(chosen.turns, "turn"), "", "It cannot be brought back.")

        def answered(yes: bool | None) -> None:
            if not yes:
                return
            try:
                self._store.delete(chosen.session.id)
            except PacelineError as error:
                self.tell(error)
                return
            self._search()

        self.app.push_screen(ConfirmScreen(Question("Delete this session?", lines, yes="Delete", no="Keep")), answered)


def _option(summary: Summary, current: bool, now: float) -> Option:
    """Two lines: the title; when and how long, then what was found in it, or how it ended."""
    session = summary.session
    of = f"{summary.shown:,} of " if summary.shown != summary.turns else ""  # the rest is on other branches
    facts = f"  {'open now, ' if current else ''}{ago(session.updated, now)}, {of}{many(summary.turns, 'turn')}: "
    below = marked(summary.snippet, summary.marks) if summary.snippet else one_line(summary.preview)
    title = marked(session.title or "(no title)", summary.title_marks)
    return Option(Content.assemble(title, "\n", (facts, "$text-muted"), below), id=session.id)
