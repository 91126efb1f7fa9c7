"""Which conversation is shown: a new one, or another session; what was not sent in it comes back."""

from typing import TYPE_CHECKING

from paceline.chat.conversation import Conversation
from paceline.chat.happenings import Happening
from paceline.chat.turns import Session, Unsent
from paceline.tui.keeping import joined
from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen


class Opening:
    """One screen's way from a session to the next one."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._done = False  # whether there is a conversation yet

    def begin(self, title: str = "") -> None:
        """A new session, kept once something is said. What is in the prompt goes along."""
        screen = self._screen
        prompt = screen.query_one(Prompt)
        along = Unsent(prompt.text, screen.attached)
        prompt.replace_all("")
        screen.attached = ()
        begun = Session("", title, str(screen.services.root), 0.0, 0.0, screen.config.ask.system)
        self.open(begun, along if along != Unsent() else None)

    def open(self, session: Session, along: Unsent | None = None) -> None:
        """Show a session, and what was not sent in it. The one before is stopped; what was not sent there is kept."""
        screen = self._screen
        first, self._done = not self._done, True
        if not first:
            screen.keeping.keep(leaving=True)
            screen.conversation.stop()
        found = joined(screen.keeping.of(session.id), along or Unsent())

        def happened(what: Happening) -> None:  # a session that is no longer shown ends by itself
            if screen.conversation is conversation:
                screen.showing.happened(what)

        def due() -> None:
            if screen.conversation is conversation:
                screen.do(screen.sending.send_waiting())

        conversation = Conversation(session, screen.services.store, screen.reaching, happened, found.waiting, due)
        screen.conversation = conversation
        screen.editing = None
        screen.show_figures(state="", rate=None, acceptance=None, speedup=None)
        self._put(found)
        screen.showing.waiting()
        screen.moved()
        if first and found != Unsent():
            screen.tell("what was not sent yet is here again")

    def _put(self, unsent: Unsent) -> None:
        """Into the prompt, and above it."""
        screen = self._screen
        edited = screen.conversation.turn(unsent.editing)
        if edited is not None:
            if edited not in screen.conversation.path:
                screen.conversation.switch(edited.id, 0)  # to its branch
            screen.begin_editing(edited)
        screen.output = next((each for each in unsent.attached if each.kind == "output"), screen.output)
        screen.attach(unsent.attached)
        prompt = screen.query_one(Prompt)
        prompt.replace_all(unsent.text)
        prompt.history.clear()  # undoing is for what is done here
