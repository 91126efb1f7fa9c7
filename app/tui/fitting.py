"""Messages that do not fit into the context: the person chooses what goes, and the model tells older turns in short."""

import contextlib
from typing import TYPE_CHECKING

from paceline.chat.context import budget
from paceline.chat.happenings import working
from paceline.chat.turns import Draft
from paceline.client.cancel import Cancel
from paceline.client.events import Options, Text
from paceline.errors import InputError, PacelineError
from paceline.tui.figures import changed_by
from paceline.tui.screens.fitting import FittingScreen

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen


class Fitting:
    """One screen's."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._summary: Cancel | None = None

    def stop(self) -> bool:
        """End a summary that is written; whether there was one."""
        if self._summary is None:
            return False
        self._summary()
        return True

    async def made(self, draft: budget.Draft, ready: str = "") -> budget.Draft | None:
        """The draft, once it fits: the person chooses what is left out. None: it is not to be sent.

        ready: what it is, in words, where the person is doing something else.
        """
        screen, measured = self._screen, None
        with contextlib.suppress(PacelineError):  # asking will say the same, where it is seen and kept
            measured = await screen.sending.sizes(draft)
        if measured is None or measured.fits:
            return draft
        if ready:
            await screen.ready.wait(ready)
        return await screen.app.push_screen_wait(FittingScreen(draft, measured, screen.sending.sizes, self.summarise))

    def to_send(self, draft: budget.Draft) -> Draft:
        """What is sent of it: what goes without saying is not said again."""
        known = self._screen.conversation.forgotten(draft.path)
        skipped, summary = (0, "") if (draft.skipped, draft.summary) == known else (draft.skipped, draft.summary)
        return Draft(draft.question, draft.attached, skipped, summary)

    async def shortened(self, draft: budget.Draft, at: int, keep: str = "") -> budget.Draft:
        """The draft with a summary in the place of so many of its first turns: made at once, or, where that is too much
        to be asked for, piece by piece. Raises PacelineError.
        """
        while draft.skipped < at:
            step = at
            with contextlib.suppress(PacelineError):  # asking will say the same
                step = budget.summarisable(await self._screen.sending.sizes(draft), draft, at, keep)
            if not step:
                raise InputError("the context has no room for a summary of the first messages", "begin a new session")
            draft = await self.summarise(draft, budget.Choice("summarise", "", 0, step, budget.SUMMARY), keep)
        return draft

    async def summarise(self, draft: budget.Draft, choice: budget.Choice, keep: str = "") -> budget.Draft:
        """The draft with its oldest turns told in short by the model. Raises PacelineError."""
        pieces = []
        screen = self._screen
        asked = budget.summary_messages(draft, choice, keep)
        options = Options(max_tokens=choice.tokens or None, tell_pace=True)
        cancel = self._summary = Cancel()
        screen.show_figures(state="summarising")
        try:
            async for event in screen.client.chat(asked, options, cancel):
                if isinstance(event, Text):
                    pieces.append(event.text)
                elif (work := working(event)) is not None:
                    doing = changed_by(work, f"{work.tokens} tokens")["state"]
                    screen.show_figures(state=f"summarising: {doing}")
        finally:
            self._summary = None
            screen.show_figures(state="")
        if cancel.asked() or not "".join(pieces).strip():
            raise InputError("there is no summary: it was stopped, or the model said nothing", "try again, or go on")
        return budget.summarised(draft, choice, "".join(pieces).strip())
