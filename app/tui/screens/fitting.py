"""A message that does not fit into the context: what takes how much, and what may be left out of it."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from paceline.chat.context import budget
from paceline.chat.context.budget import Choice, Draft, Sizes
from paceline.errors import PacelineError
from paceline.tui.screens.dialog import Dialog, Line, one_line
from paceline.tui.widgets.choices import Choices
from paceline.tui.widgets.meter import Meter
from paceline.tui.widgets.passage import Passage

Measure = Callable[[Draft], Awaitable[Sizes]]
Summarise = Callable[[Draft, Choice], Awaitable[Draft]]


class FittingScreen(Dialog[Draft | None]):
    """The result is a draft that fits, or None: it is not to be sent. Nothing is left out but what is chosen here."""

    CSS_PATH: ClassVar = ["dialog.tcss", "fitting.tcss"]
    AUTO_FOCUS = "#choices"
    HEADING = "This does not fit into the context"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "take", "Do this", id="fitting.take", priority=True),
        Binding("u,backspace", "undo", "Undo", id="fitting.undo"),
        Binding("enter", "send", "Send", id="fitting.send", priority=True),
        Binding("escape,q", "leave", "Back", id="fitting.back"),
    ]

    def __init__(self, draft: Draft, sizes: Sizes, measure: Measure, summarise: Summarise) -> None:
        """measure: what a draft takes. summarise: the draft after a choice of the kind "summarise"; asks the model."""
        super().__init__()
        self._steps = [(draft, sizes)]  # the last one is what would be sent
        self._measure_draft = measure
        self._summarise_draft = summarise
        self._offered: tuple[Choice, ...] = ()
        self._busy = False

    def body(self) -> ComposeResult:
        """The meter, and what can be done."""
        with Passage(id="figures"):
            yield Meter(self._steps[-1][1])
        yield Line(id="done")
        yield Choices(id="choices", markup=False)

    def on_mount(self) -> None:
        """What does not fit."""
        self._show()

    def _show(self) -> None:
        draft, sizes = self._steps[-1]
        self.query_one(Meter).show(sizes)
        self._offered = budget.fit(sizes, draft)
        listed = self.query_one("#choices", OptionList)
        at = listed.highlighted or 0
        listed.set_options(map(_option, self._offered))
        listed.highlighted = min(at, len(self._offered) - 1) if self._offered else None
        self.head("It fits: Enter sends it" if sizes.fits else self.HEADING)
        done = self.query_one("#done", Line)
        done.display = len(self._steps) > 1
        freed = self._steps[0][1].used - sizes.used
        done.say(f"{len(self._steps) - 1} done, {freed:,} tokens freed; u takes the last one back")
        self.tell("" if sizes.fits or self._offered else "Nothing more can be left out: write less, or attach less.")
        self.refresh_bindings()

    @on(OptionList.OptionSelected, "#choices")
    def _clicked(self) -> None:
        self.action_take()

    def action_take(self) -> None:
        """Do the highlighted thing, and measure again."""
        at = self.query_one("#choices", OptionList).highlighted
        if at is not None and not self._busy:
            self._take(self._offered[at])

    @work(exclusive=True)
    async def _take(self, choice: Choice) -> None:
        self._busy = True
        self.head("the model writes a summary …" if choice.kind == "summarise" else "measuring …")
        try:
            draft, sizes = self._steps[-1]
            if choice.kind == "summarise":
                after = await self._summarise_draft(draft, choice)
            else:
                after = budget.apply(draft, choice)
            measured = await self._measure_draft(after)
        except PacelineError as error:
            self._show()
            self.tell(error)
            return
        finally:
            self._busy = False
        self._steps.append((after, measured))
        self._show()
        if measured.used >= sizes.used:
            self.tell("That has freed nothing.")

    def action_undo(self) -> None:
        """Take the last one back."""
        if len(self._steps) > 1 and not self._busy:
            self._steps.pop()
            self._show()

    def action_send(self) -> None:
        """Send it as it is now, if it fits."""
        draft, sizes = self._steps[-1]
        if self._busy:
            return
        if sizes.fits:
            self.dismiss(draft)
        else:
            self.tell(f"It is still {sizes.over:,} tokens too long: space does what is marked in the list.")

    def action_leave(self) -> None:
        """Back to the prompt."""
        self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Undo needs something that was done."""
        return len(self._steps) > 1 if action == "undo" else True


def _option(choice: Choice) -> Option:
    """What it frees stands first: narrow screens cut the rest."""
    about = "about " if choice.estimated else ""
    return Option(Content.assemble((f"frees {about}{choice.frees:,}: ", "bold"), one_line(choice.label)))
