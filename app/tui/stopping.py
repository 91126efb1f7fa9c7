"""Esc and Ctrl-C: what runs is stopped, one thing after the other, and at last the app is left."""

import time
from typing import TYPE_CHECKING

from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

AGAIN = 2.0  # seconds in which a second Ctrl-C leaves


class Stopping:
    """One screen's."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._interrupted = float("-inf")  # when it was, last

    def stop(self) -> None:
        """Stop what runs; otherwise go back to the prompt, and from an edit of an earlier message to a new one."""
        screen, prompt = self._screen, self._screen.query_one(Prompt)
        if screen.acting.stop() or screen.files.stop():
            return
        if screen.conversation.answering:
            screen.conversation.stop()
            return
        if screen.sending.stop():
            return
        if screen.editing is not None:
            screen.end_editing()
            prompt.replace_all("")
            screen.tell("the earlier message stays as it is")
        elif prompt.has_focus:
            screen.output_panel.hide()
        screen.query_one(Transcript).action_unselect()
        prompt.focus()

    def interrupt(self) -> None:
        """Copy what is selected in the prompt; else stop what runs; else leave, at the second time."""
        screen, prompt = self._screen, self._screen.query_one(Prompt)
        if prompt.has_focus and prompt.selected_text:
            screen.do(screen.acting.copy(prompt.selected_text))
        elif screen.get_selected_text():
            screen.do(screen.acting.copy(screen.get_selected_text() or ""))
        elif screen.conversation.answering or screen.acting.running or screen.files.running:
            self.stop()
        elif prompt.text:
            screen.end_editing()
            prompt.replace_all("")
        elif time.monotonic() - self._interrupted < AGAIN:
            screen.do(screen.leave())
        else:
            self._interrupted = time.monotonic()
            screen.tell("Ctrl-C again leaves; everything is saved")
