"""What stands in the prompt, is attached, or waits: kept, so that no way of leaving loses it."""

from typing import TYPE_CHECKING

from paceline.chat.turns import Unsent
from paceline.errors import InputError, PacelineError
from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen


class Keeping:
    """One screen's unsent message."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._kept: tuple[str, Unsent] = ("", Unsent())  # of which session, and what
        self._failing = False  # said once

    def now(self) -> Unsent:
        """What is there at this moment."""
        screen = self._screen
        begun = (screen.on_its_way, screen.query_one(Prompt).text)
        text = "\n".join(each for each in begun if each)
        return Unsent(text, screen.attached, screen.editing, screen.conversation.queued)

    def keep(self) -> None:
        """Keep it, unless it is kept already."""
        screen, store = self._screen, self._screen.services.store
        session, unsent = screen.conversation.session, self.now()
        before, kept = self._kept
        try:
            if not before and session.id and kept != Unsent():  # it has begun
                store.keep_unsent(Unsent(), "", session.workspace)
                kept = Unsent()
            if unsent != kept:
                store.keep_unsent(unsent, session.id, session.workspace)
        except InputError:  # the session has been deleted
            pass
        except PacelineError as error:
            if not self._failing:
                screen.tell(f"what is not sent yet is not kept: {error}", error=True)
            self._failing = True
            return
        self._kept = (session.id, unsent)
        self._failing = False

    def of(self, session: str) -> Unsent:
        """What was kept of a session ("": of one that is not begun), which is shown from now on."""
        screen = self._screen
        try:
            found = screen.services.store.unsent(session, str(screen.services.root)) or Unsent()
        except PacelineError as error:
            screen.tell(str(error), error=True)
            found = Unsent()
        self._kept = (session, found)
        return found
