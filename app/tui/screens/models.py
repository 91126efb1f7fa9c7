"""Choosing a pair of models: what there is, what it takes, what it gives here; and fetching it."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from paceline.chat.models_port import Models, PairChoice
from paceline.chat.words import size
from paceline.errors import PacelineError
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.screens.dialog import one_line
from paceline.tui.screens.fetching import FetchingDialog
from paceline.tui.widgets.choices import Choices
from paceline.tui.widgets.fetching import Fetching
from paceline.tui.widgets.notes import Notes


class ModelsScreen(FetchingDialog):
    """The result is the id of the pair that is written into the configuration now, or None: nothing was chosen."""

    CSS_PATH: ClassVar = ["dialog.tcss", "models.tcss"]
    GUARDED: ClassVar = True
    HEADING = "Models"
    AUTO_FOCUS = "#pairs"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Use", id="models.use", priority=True),
        Binding("p", "pause", "Pause", id="models.pause"),
        Binding("p", "go_on", "Go on", id="models.pause"),
        Binding("escape,q", "leave", "Back", id="models.back"),
    ]

    def __init__(self, models: Models, pairs: Sequence[PairChoice] = ()) -> None:
        """pairs: what is known already; otherwise it is asked for."""
        super().__init__()
        self._models = models
        self._pairs = tuple(pairs)
        self._agreed: set[str] = set()  # pairs whose download the person has said yes to

    def body(self) -> ComposeResult:
        """The pairs."""
        yield Choices(id="pairs", markup=False)

    def below(self) -> ComposeResult:
        """What is to be known of the chosen one, and the download."""
        yield Notes(id="facts")
        yield Fetching(self._models)

    def on_mount(self) -> None:
        """Ask for the pairs."""
        self.query_one(Fetching).display = False
        if self._pairs:
            self._show()
        else:
            self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        facts = self.query_one("#facts", Notes)
        facts.say("looking at this machine …")
        self.tell("")
        try:
            self._pairs = tuple(await self._models.pairs())
        except PacelineError as error:
            facts.say("Enter tries again.")
            self.tell(error)
            return
        self._show()

    def _show(self) -> None:
        listed = self.query_one("#pairs", OptionList)
        marks, names = list(map(_mark, self._pairs)), [one_line(pair.id).plain for pair in self._pairs]
        columns = max(map(cell_len, marks), default=0), max(map(cell_len, names), default=0)
        listed.set_options(Option(_title(pair, columns), id=pair.id) for pair in self._pairs)
        wanted = [at for at, pair in enumerate(self._pairs) if pair.in_use] or [
            at for at, pair in enumerate(self._pairs) if pair.recommended
        ]
        listed.highlighted = wanted[0] if wanted else 0
        if not self._pairs:
            self.query_one("#facts", Notes).say("The catalogue has no pairs.")

    @on(OptionList.OptionHighlighted, "#pairs")
    def _look(self, event: OptionList.OptionHighlighted) -> None:
        self.query_one("#facts", Notes).say(_facts(self._pairs[event.option_index]))
        if not self.query_one(Fetching).pair:
            self.tell("")

    @on(OptionList.OptionSelected, "#pairs")
    def _clicked(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        """Use the chosen pair; what is missing of it is fetched first. Without pairs: look again."""
        if not self._pairs:
            self._ask()
            return
        at, fetching = self.query_one("#pairs", OptionList).highlighted, self.query_one(Fetching)
        if at is None or fetching.pair:
            return
        pair = self._pairs[at]
        if pair.barred:
            self.tell(f"{pair.id} is not here, and {pair.barred}")
            return
        if pair.here == "ready" or pair.recommended or pair.id in self._agreed:
            self._fetch(pair.id)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._fetch(pair.id)

        self.app.push_screen(ConfirmScreen(_about(pair)), answered)

    def _fetch(self, pair: str) -> None:
        self._agreed.add(pair)
        self.tell("")
        fetching = self.query_one(Fetching)
        fetching.display = True
        fetching.start(pair)
        self.refresh_bindings()


def _mark(pair: PairChoice) -> str:
    """Whether it is here, or what is missing of it."""
    if pair.here == "ready":
        return "here"
    return f"fetch {size(pair.missing)}" if pair.missing else "fetch"


def _title(pair: PairChoice, columns: tuple[int, int]) -> Content:
    """One line: is it here, how large, does it fit. columns: how wide those before its size are."""
    mark, name = map(set_cell_size, (_mark(pair), one_line(pair.id).plain), columns)
    words = [size(pair.bytes) if pair.bytes else "size unknown"]
    words += [one_line(pair.purpose).plain] if pair.purpose else []
    words += ["in use"] if pair.in_use else []
    words += ["recommended here"] if pair.recommended else []
    words += ["does not fit"] if pair.misfit else []
    words += [f"{pair.speed:.0f} tokens/s"] if pair.speed else []
    title = Content.styled(f"{mark} {name}", "bold")
    return title + Content.styled(f"  {', '.join(words)}", "$text-muted")


def _about(pair: PairChoice) -> Question:
    """Whether to begin with a download that was not offered."""
    much = size(pair.missing) if pair.missing else "a file of unknown size"
    into = f"into {pair.folder}" if pair.folder else ""
    lines = (f"{pair.target}{f' + {pair.draft}' if pair.draft else ''}", f"licence: {pair.licence or 'unknown'}", into)
    return Question(
        f"Fetch {much}?", tuple(filter(None, lines)), (pair.misfit,) if pair.misfit else (), "Fetch", "Don't fetch"
    )


def _facts(pair: PairChoice) -> str:
    """Everything else, in words."""
    here = {
        "ready": "here",
        "part": f"{size(pair.missing)} still to be downloaded",
        "missing": f"to be downloaded: {size(pair.missing)}" if pair.missing else "to be downloaded",
    }[pair.here]
    speed = f"; {pair.speed:.1f} tokens/s here, one at a time" if pair.speed else ""
    lines = [
        f"{pair.target} + {pair.draft or 'no draft'}",
        f"{here}; {pair.licence}{speed}",
        f"! {pair.misfit}" if pair.misfit else "",
        pair.note,
    ]
    return "\n".join(filter(None, lines))
