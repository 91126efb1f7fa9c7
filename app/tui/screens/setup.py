"""The first time: nothing is set up yet, and the pair that suits this machine is offered."""

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from paceline.chat import labels
from paceline.chat.models_port import Models, PairChoice
from paceline.chat.words import size
from paceline.errors import PacelineError
from paceline.tui.screens.dialog import Line
from paceline.tui.screens.fetching import FetchingDialog
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.widgets.fetching import Fetching


class SetupScreen(FetchingDialog):
    """The result is the id of the pair that is written into the configuration now, or None: later."""

    CSS_PATH: ClassVar = ["dialog.tcss", "setup.tcss"]
    GUARDED: ClassVar = True
    HEADING = "Nothing is set up yet"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fetch", "Fetch", id="setup.fetch"),
        Binding("p", "pause", "Pause", id="setup.pause"),
        Binding("o", "others", "Other models", id="setup.others"),
        Binding("escape,q", "leave", "Later", id="setup.later"),
    ]

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models
        self._pairs: Sequence[PairChoice] = ()
        self._pair: PairChoice | None = None

    def body(self) -> ComposeResult:
        """What is offered."""
        yield Line("looking at this machine …", id="offer")

    def below(self) -> ComposeResult:
        """How far a download is."""
        yield Fetching(self._models)

    def on_mount(self) -> None:
        """Ask what suits this machine."""
        self.query_one(Fetching).display = False
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        try:
            self._pairs = await self._models.pairs()
        except PacelineError as error:
            self.query_one("#offer", Line).say("Enter tries again.")
            self.tell(error)
            return
        self._pair = next((pair for pair in self._pairs if pair.recommended), None) or next(iter(self._pairs), None)
        self.query_one("#offer", Line).say(offer(self._pair) if self._pair else "The catalogue has no models.")

    def action_fetch(self) -> None:
        """Fetch what is offered, or go on, or ask again what there is."""
        fetching = self.query_one(Fetching)
        if fetching.pair:
            return
        self.tell("")
        if self._pair is None:
            self._ask()
            return
        fetching.display = True
        fetching.start(self._pair.id)
        self.refresh_bindings()

    def action_others(self) -> None:
        """Choose from all pairs."""

        def chosen(pair: str | None) -> None:
            if pair:
                self.dismiss(pair)

        if not self.query_one(Fetching).pair:
            self.app.push_screen(ModelsScreen(self._models, self._pairs), chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What can be done while a download runs, and when none does."""
        running = bool(self.is_mounted and self.query_one(Fetching).pair)
        return {"pause": running, "fetch": not running, "others": not running}.get(action, True)


def offer(pair: PairChoice) -> str:
    """What would be fetched, in words."""
    name, into = pair.called or labels.model(pair.target), f" into {pair.folder}" if pair.folder else ""
    facts = ", ".join(filter(None, (size(pair.bytes) if pair.bytes else "", pair.licence)))
    ask = {
        "ready": f"Use {name}? It is here already.",
        "part": f"Go on with {size(pair.bytes - pair.missing)} of {size(pair.bytes)} of {name} ({pair.licence}){into}?",
        "missing": f"Fetch {name} ({facts}){into}?",
    }[pair.here]
    lines = [
        f"Paceline needs a language model, which then runs on this machine. {ask}{_with_draft(pair, name)}",
        f"! {pair.misfit}" if pair.misfit else "",
        pair.note,
    ]
    return "\n\n".join(filter(None, lines))


def _with_draft(pair: PairChoice, name: str) -> str:
    """The second model, by its size alone where it is of the same family."""
    if not pair.draft:
        return ""
    family, _, small = labels.model(pair.draft).rpartition(" ")
    return f" With it comes the small {small if name.startswith(family) else pair.draft}, which makes it faster."
