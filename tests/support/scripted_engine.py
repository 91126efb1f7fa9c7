"""An engine that plays a script of a client's events, for commands that show them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from paceline.client.events import Completion, End, Event


class ScriptedEngine:
    """Yields the events, and raises those that are exceptions; remembers what it was asked.

    Ctrl-C comes as it does to the models in this process: the end is told first.
    """

    def __init__(self, *script: Event | BaseException) -> None:
        self.script = script
        self.messages: Sequence[Any] = ()
        self.asked: Any = None  # the options

    def chat(self, messages: Sequence[Any], options: Any, cancel: Any = None) -> Iterator[Event]:
        self.messages, self.asked = messages, options
        for event in self.script:
            if isinstance(event, KeyboardInterrupt):
                yield End("cancelled")
            if isinstance(event, BaseException):
                raise event
            yield event
        yield End("stop")

    def complete(self, prefix: str, suffix: str, options: Any, notice: Any = None) -> Completion:
        self.asked = options
        return Completion("x", "stop")

    def answer_for(self, patch: pytest.MonkeyPatch) -> "ScriptedEngine":
        """Let this engine answer where a command would load the models into its own process."""

        @contextmanager
        def in_process(*_: Any) -> Iterator[ScriptedEngine]:
            yield self

        patch.setattr("paceline.commands.in_process.in_process", in_process)
        return self
