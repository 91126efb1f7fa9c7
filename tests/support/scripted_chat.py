"""Answers chats as its script says, when it is let; remembers what it was asked. In the place of a client."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from paceline.client.cancel import Cancel
from paceline.client.events import AS_CONFIGURED, End, Event, Message, Options, Text
from paceline.errors import PacelineError

Script = Callable[[Sequence[Message], Options], Sequence[Event | str]]


@dataclass
class AskedChat:
    messages: Sequence[Message]
    options: Options
    cancelled: bool = False
    closed: bool = False

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(each.role, each.content) for each in self.messages]


def answer(messages: Sequence[Message], options: Options) -> Sequence[Event | str]:
    return ["Hello ", "you."]


@dataclass
class ScriptedChat:
    """`says`: events for a conversation; strings are text. An End is added where there is none. `gate`: while it is
    closed, nothing comes behind the first event."""

    says: Script = answer
    error: PacelineError | None = None  # instead of the end
    model: str = "scripted"
    asked: list[AskedChat] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()

    async def chat(
        self, messages: Sequence[Message], options: Options = AS_CONFIGURED, cancel: Cancel | None = None
    ) -> AsyncGenerator[Event, None]:
        asked = AskedChat(messages, options)
        self.asked.append(asked)
        cancel = cancel or Cancel()
        stopped = asyncio.Event()
        cancel.when_asked(stopped.set)
        try:
            for at, event in enumerate(self.says(messages, options)):
                if at:
                    await self._let(stopped)
                if stopped.is_set():
                    break
                yield Text(event) if isinstance(event, str) else event
                if isinstance(event, End):
                    return
            await self._let(stopped)
            asked.cancelled = stopped.is_set()
            if self.error is not None and not asked.cancelled:
                raise self.error
            yield End("cancelled" if asked.cancelled else "stop", model=self.model)
        finally:
            asked.closed = True
            cancel.over()

    async def _let(self, stopped: asyncio.Event) -> None:
        """Wait for the gate, or for being stopped."""
        await asyncio.sleep(0)
        waits = [asyncio.ensure_future(self.gate.wait()), asyncio.ensure_future(stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
