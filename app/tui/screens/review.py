"""What an answer would change, to be accepted hunk by hunk before anything is written."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from paceline.chat.edits.changes import Change
from paceline.chat.edits.journal import Accepted
from paceline.chat.hidden import reveal
from paceline.chat.reviewing import Reviewing
from paceline.tui.screens.dialog import Dialog, one_line
from paceline.tui.signs import are_few
from paceline.tui.widgets.choices import Choices
from paceline.tui.widgets.diff import DiffView
from paceline.tui.widgets.notes import Notes
from paceline.tui.widgets.passage import Passage

Diff = Literal["auto", "unified", "split"]
WIDE = 110  # columns from which two sides stand beside each other


class ReviewScreen(Dialog[tuple[Accepted, ...] | None]):
    """The result is what to write, or None: nothing. Changes that are not certain begin unaccepted."""

    CSS_PATH: ClassVar = ["dialog.tcss", "review.tcss"]
    GUARDED: ClassVar = True
    AUTO_FOCUS = "DiffView"
    HEADING = "Review"
    MORE: ClassVar = ""  # a key of its own is shown: Tab is for files
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_hunk", "Hunk", id="review.hunk"),
        Binding("enter", "apply", "Apply", id="review.apply", priority=True),
        Binding("escape,q", "leave", "Cancel", id="review.cancel"),
        Binding("v", "read", "Notes", id="review.read"),
        Binding("a", "take(True)", "All", id="review.all"),
        Binding("n", "take(False)", "None", id="review.none"),
        Binding("j,right_square_bracket", "hunk(1)", "Next", id="review.next_hunk"),
        Binding("k,left_square_bracket", "hunk(-1)", "Previous", show=False, id="review.previous_hunk"),
        Binding("tab", "file(1)", "File", id="review.next_file", priority=True),
        Binding("shift+tab", "file(-1)", "Previous file", show=False, id="review.previous_file", priority=True),
        Binding("s", "split", "Split", id="review.split"),
    ]

    def __init__(self, changes: Sequence[Change] | Reviewing, diff: Diff = "auto", trouble: str = "") -> None:
        """changes: at least one; or with what has been accepted of them. diff: side by side, in one column, or as there
        is room. trouble: why what was accepted could not be written.
        """
        super().__init__()
        self._review = changes if isinstance(changes, Reviewing) else Reviewing(changes)
        assert self._review.changes, "there is something to review"
        self._trouble = trouble
        self._diff = diff
        self._at = 0

    def body(self) -> ComposeResult:
        """Files, notes, the change."""
        with Horizontal(id="columns"):
            yield Choices(*map(self._option, range(len(self._review.changes))), id="files", markup=False)
            with Vertical(id="change"):
                yield Notes(id="notes")
                yield DiffView(id="diff")

    def on_mount(self) -> None:
        """Begin with the first file."""
        files = self.query_one("#files", OptionList)
        files.display = len(self._review.changes) > 1
        files.can_focus = False
        self._lay_out(self.app.size.width)
        self._show(0)
        self.tell(self._trouble)

    @on(Resize)
    def _arrange(self, event: Resize) -> None:
        self._lay_out(event.size.width)

    def action_toggle_hunk(self) -> None:
        """Accept the hunk the cursor is on, or no longer."""
        hunk = self.query_one(DiffView).hunk
        if hunk is not None:
            self._review.toggle(self._at, hunk)
            self._refresh()

    @on(DiffView.Toggled)
    def _clicked(self, event: DiffView.Toggled) -> None:
        self._review.toggle(self._at, event.hunk)
        self._refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Other files are there only with several, and notes are read on only where they have no room."""
        if action == "read":
            return self.is_mounted and (self._reading or self.query_one("#notes", Notes).overflows)
        return len(self._review.changes) > 1 if action == "file" else True

    @property
    def _reading(self) -> bool:
        return self.query_one("#notes").has_focus

    def action_read(self) -> None:
        """Give the notes room, and the keys that scroll; or the change again."""
        self.query_one("#diff" if self._reading else "#notes").focus()

    @on(Passage.Changed)
    def _notes_overflow(self) -> None:
        self.refresh_bindings()

    def action_take(self, everything: bool) -> None:
        """Accept all of this file, or nothing."""
        self._review.take(self._at, everything=everything)
        self._refresh()

    def action_hunk(self, step: int) -> None:
        """Go to another hunk; beyond the last one, to the next file."""
        if not self.query_one(DiffView).go(step):
            self.action_file(step, wrap=False)

    def action_file(self, step: int, wrap: bool = True) -> None:
        """Go to another file."""
        count, there = len(self._review.changes), self._at + step
        if count > 1 and (wrap or 0 <= there < count):
            self._show(there % count, last=step < 0 and not wrap)

    @on(OptionList.OptionSelected, "#files")
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self._show(event.option_index)
        self.query_one(DiffView).focus()

    def action_split(self) -> None:
        """The other way to show a change."""
        self._diff = "unified" if self.query_one(DiffView).split else "split"
        self._lay_out(self.size.width)

    def action_apply(self) -> None:
        """Write what is accepted; with nothing accepted, say so."""
        if self._review.total:
            self.dismiss(self._review.result())
        else:
            self.tell("Nothing is accepted: space accepts a hunk, a the whole file, Esc leaves everything as it is.")

    def action_leave(self) -> None:
        """Write nothing."""
        self.dismiss(None)

    def _lay_out(self, width: int) -> None:
        self.query_one(DiffView).split = self._diff == "split" or (self._diff == "auto" and width >= WIDE)

    def _show(self, at: int, *, last: bool = False) -> None:
        self._at = at
        change = self._review.changes[at]
        notes = self.query_one("#notes", Notes)
        if notes.has_focus:
            self.action_read()
        notes.say(_notes(change))
        notes.display = bool(change.notes) or not change.certain
        self.query_one(DiffView).show(change, self._review.chosen(at), last=last)
        self._refresh()

    def _refresh(self) -> None:
        """Show what is accepted now."""
        self.tell("")
        files, at = self.query_one("#files", OptionList), self._at
        files.replace_option_prompt_at_index(at, self._option(at).prompt)
        files.highlighted = at
        self.query_one(DiffView).chosen = self._review.chosen(at)
        change = self._review.changes[at]
        what = "new file " if change.before is None else "DELETES " if change.after is None else ""
        total, whole = self._review.total, sum(self._review.counts)
        self.head(f"{what}{self._path(change)}  ({total} of {whole} hunk{'s' * (whole != 1)} accepted)")

    def _option(self, at: int) -> Option:
        change, count = self._review.changes[at], self._review.counts[at]
        chosen = len(self._review.chosen(at))
        mark = "[x]" if count and chosen == count else "[~]" if chosen else "[ ]" if count else " ! "
        doubt = "" if change.certain else " ?"
        return Option(Content(f"{mark}{doubt} ") + one_line(self._path(change)))

    def _path(self, change: Change) -> str:
        return reveal(change.path, ascii_only=are_few(self.app))


def _notes(change: Change) -> str:
    """What to know before accepting, in words: colours alone would not do."""
    lines = [] if change.certain else ["UNCERTAIN: look at this change before you accept it."]
    if not change.changes:
        lines = ["Nothing of this can be applied."]
    return "\n".join([*lines, *(f"! {note}" for note in change.notes)])
