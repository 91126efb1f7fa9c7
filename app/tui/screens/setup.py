"""The first time: nothing is set up yet, and the pair that suits this machine is offered."""

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

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
    SCROLLED: ClassVar = "#text"
    HEADING = "Nothing is set up yet"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fetch", "Fetch", id="setup.fetch"),
        Binding("enter", "use", "Use", id="setup.fetch"),
        Binding("enter", "look", "Look again", id="setup.fetch"),
        Binding("enter", "go_on", "Go on", id="setup.fetch"),
        Binding("p", "pause", "Pause", id="setup.pause"),
        Binding("p", "go_on", "Go on", show=False, id="setup.pause"),
        Binding("o", "others", "Other models", id="setup.others"),
        Binding("escape,q", "leave", "Later", id="setup.later"),
        Binding("up,k", "scroll_text(-1)", "Up", show=False, id="setup.up"),
        Binding("down,j", "scroll_text(1)", "Down", show=False, id="setup.down"),
    ]

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models
        self._pairs: Sequence[PairChoice] = ()
        self._pair: PairChoice | None = None

    def body(self) -> ComposeResult:
        """What is offered, below what went wrong."""
        with VerticalScroll(id="text", can_focus=False):
            yield Line(id="wrong")
            yield Line("looking at this machine …", id="offer")

    def below(self) -> ComposeResult:
        """How far a download is."""
        yield Fetching(self._models)

    def tell(self, trouble: PacelineError | str) -> None:
        """Errors, which may be long, where the text scrolls; the rest above the keys."""
        wrong, error = self.query_one("#wrong", Line), isinstance(trouble, PacelineError)
        wrong.say(str(trouble) if error else "")
        wrong.display = error
        super().tell("" if error else trouble)
        self.query_one("#text").scroll_home(animate=False)

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
        self.refresh_bindings()

    def action_fetch(self) -> None:
        """Fetch what is offered."""
        assert self._pair is not None, "otherwise there is nothing to fetch"
        self.tell("")
        fetching = self.query_one(Fetching)
        fetching.display = True
        fetching.start(self._pair.id)
        self.refresh_bindings()

    def action_use(self) -> None:
        """Take what is offered, and here."""
        self.action_fetch()

    def action_look(self) -> None:
        """Ask again what there is, and whether it may be fetched."""
        self.tell("")
        self._ask()

    def action_others(self) -> None:
        """Choose from all pairs."""

        def chosen(pair: str | None) -> None:
            if pair:
                self.dismiss(pair)

        self.app.push_screen(ModelsScreen(self._models, self._pairs), chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One of four things can be done with Enter, and only one thing while a download runs."""
        fetching = self.query_one(Fetching) if self.is_mounted else None
        running, halted = bool(fetching and fetching.pair), bool(fetching and fetching.halted)
        pair, free = self._pair, not running and not halted
        can = {
            "fetch": free and pair is not None and pair.here != "ready" and not pair.barred,
            "use": free and pair is not None and pair.here == "ready",
            "look": free and (pair is None or bool(pair.barred)),
            "others": not running,
        }
        return can[action] if action in can else super().check_action(action, parameters)


def offer(pair: PairChoice) -> str:
    """What would be fetched, in words."""
    name = pair.called or labels.model(pair.target)
    lines = [
        f"Paceline needs a language model, which then runs on this machine. {_asked(pair, name)}",
        f"! {pair.misfit}" if pair.misfit else "",
        pair.note,
    ]
    return "\n\n".join(filter(None, lines))


def _asked(pair: PairChoice, name: str) -> str:
    """What Enter would do; where nothing may be downloaded, what to do about that."""
    into = f" into {pair.folder}" if pair.folder else ""
    facts = ", ".join(filter(None, (size(pair.bytes) if pair.bytes else "", pair.licence)))
    if pair.barred:
        return f"{name} ({facts}) suits it, but {pair.barred}. Lift that, or put the files{into} by hand."
    ask = {
        "ready": f"Use {name}? It is here already.",
        "part": f"Go on with {size(pair.bytes - pair.missing)} of {size(pair.bytes)} of {name} ({pair.licence}){into}?",
        "missing": f"Fetch {name} ({facts}){into}?",
    }[pair.here]
    return ask + _with_draft(pair, name)


def _with_draft(pair: PairChoice, name: str) -> str:
    """The second model, by its size alone where it is of the same family, and what it is good for."""
    if not pair.draft:
        return ""
    family, _, small = labels.model(pair.draft).rpartition(" ")
    called = small if name.startswith(family) else pair.draft
    brings = "may make it faster, and completes in editors where the large one is too slow"
    return f" With it comes the small {called}, which {brings}."
