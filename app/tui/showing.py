"""What happens in a conversation, drawn: text as it comes, figures, what waits."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paceline.chat.happenings import Added, Changed, Grew, Happening, Moved, Queued, Told, Working
from paceline.chat.steps import Steps
from paceline.chat.turns import Turn
from paceline.tui.figures import at_the_end, while_working
from paceline.tui.widgets.footer import Figures, Footer
from paceline.tui.widgets.rounds import Rounds
from paceline.tui.widgets.transcript import Transcript
from paceline.tui.widgets.waiting import Waiting

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen


class Showing:
    """One screen's view of its conversation."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._figures = Figures(hint="? keys")
        self._steps = Steps()

    def happened(self, what: Happening) -> None:
        """Show what the conversation tells."""
        screen = self._screen
        transcript = screen.query_one(Transcript)
        if isinstance(what, Grew):
            transcript.append(what.turn, what.text, what.drafter)
        elif isinstance(what, Working):
            self._work(what)
        elif isinstance(what, Changed):
            transcript.update_turn(what.turn)
            if what.turn.state != "streaming":
                self._end(what.turn)
        elif isinstance(what, Added):
            transcript.add(what.turn, self._branch(what.turn))
        elif isinstance(what, Moved):
            screen.moved()
        elif isinstance(what, Queued):
            self.waiting()
            screen.keeping.keep()
        elif isinstance(what, Told):
            screen.tell(what.text, error=what.error)

    def figures(self, **changed: Any) -> None:  # noqa: ANN401 - fields of Figures
        """Change some of what the footer says."""
        self._figures = replace(self._figures, **changed)
        self._screen.query_one(Footer).show(self._figures)

    def waiting(self) -> None:
        """The messages that wait."""
        drafts = self._screen.conversation.queued
        self._screen.query_one(Waiting).show(drafts)
        self.figures(queued=len(drafts))

    def _branch(self, turn: Turn) -> tuple[int, int]:
        beside = self._screen.conversation.siblings(turn.id)
        return beside.index(turn.id) + 1, len(beside)

    def _work(self, work: Working) -> None:
        self._figures = while_working(self._figures, work)
        self.figures()
        step = self._steps.add(work)
        if step is not None:
            self._screen.query_one(Rounds).add(step.per_second, step.acceptance)

    def _end(self, turn: Turn) -> None:
        self._figures = at_the_end(self._figures, turn)
        self.figures()
        self._screen.measuring.soon()
