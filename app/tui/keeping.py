"""What stands in the prompt, is attached, or waits: kept, so that no way of leaving loses it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from paceline.chat.turns import Unsent
from paceline.errors import InputError, PacelineError
from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

DELETED = "this conversation was deleted in another window; what is not sent yet is kept for a new one in this folder"


class Keeping:
    """One screen's unsent message."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._kept: tuple[str, Unsent] = ("", Unsent())  # of which session, and what
        self._failing = False  # said once
        self._deleted = ""  # the session of which that was said
        self._closed = False
        self._held: dict[str, Unsent] = {}  # by session: what could not be kept, while this window is open

    def now(self) -> Unsent:
        """What is there at this moment, messages that are measured included."""
        screen = self._screen
        going = [each for each in screen.going if each.conversation is screen.conversation]
        texts = (*(each.text for each in going), screen.query_one(Prompt).text)
        attached = (*(one for each in going for one in each.attached), *screen.attached)
        editing = next((each.editing for each in going if each.editing is not None), screen.editing)
        text = "\n".join(each for each in texts if each)
        return Unsent(text, tuple(dict.fromkeys(attached)), editing, screen.conversation.queued)

    def keep(self, *, leaving: bool = False) -> None:
        """Keep it, unless it is kept already. leaving: another session is shown next, and whoever comes may take it."""
        if self._closed:
            return
        screen = self._screen
        session, unsent = screen.conversation.session, self.now()
        try:
            self._keep(session.id, session.workspace, unsent, leaving=leaving)
        except InputError:
            if unsent != Unsent() and session.id != self._deleted:
                screen.tell(DELETED, error=True)
                self._deleted = session.id
            self._safely(lambda: self._keep("", session.workspace, unsent, leaving=leaving))
        except PacelineError as error:
            if not self._failing:
                screen.tell(f"what is not sent yet is not kept: {error}", error=True)
            self._failing = True
            if leaving:
                self._held[session.id] = unsent
            return
        self._kept = (session.id, unsent)
        self._failing = False

    def close(self) -> None:
        """Keep it for the last time: what happens from now on is the end of the app."""
        self.keep(leaving=True)
        self._closed = True

    def of(self, session: str) -> Unsent:
        """What was kept of a session ("": of one that is not begun), which is shown from now on."""
        screen = self._screen
        found = self._held.pop(session, None)
        if found is None:
            try:
                found = screen.services.store.unsent(session, str(screen.services.root))
            except PacelineError as error:
                screen.tell(str(error), error=True)
        self._kept = (session, found or Unsent())
        return found or Unsent()

    def _keep(self, session: str, workspace: str, unsent: Unsent, *, leaving: bool) -> None:
        store, (before, kept) = self._screen.services.store, self._kept
        if session and not before and kept != Unsent():  # it has begun
            store.keep_unsent(Unsent(), "", workspace)
            kept = Unsent()
        if unsent != kept or (leaving and unsent != Unsent()):
            store.keep_unsent(unsent, session, workspace, shown=not leaving)

    def _safely(self, keep: Callable[[], None]) -> None:
        try:
            keep()
        except PacelineError as error:
            self._screen.tell(str(error), error=True)


def joined(first: Unsent, second: Unsent) -> Unsent:
    """Both, the first one first."""
    return Unsent(
        "\n".join(each.text for each in (first, second) if each.text),
        tuple(dict.fromkeys((*first.attached, *second.attached))),
        first.editing if second.editing is None else second.editing,
        (*first.waiting, *second.waiting),
    )
