"""The new text of an edit's lines: what the model is asked and shown, what comes of its answer, and how far it is."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from paceline.client.events import End, Event, Loading, Message, Options, Text
from paceline.client.events import Progress as Reading
from paceline.errors import InputError, ModelError
from paceline.lsp.edit_task import Task
from paceline.lsp.masking import Mask, mask
from paceline.prompts import rewriting, rewritten
from paceline.prompts.rewriting import Part, Question
from paceline.workspace.hunks import hunks

SPARE, MOST_TOKENS = 256, 8192  # tokens of an answer beyond one for each character selected; and of any answer
PAUSE = 0.1  # seconds between two reports of progress


class Chat(Protocol):
    """What computes: the daemon's client."""

    def chat(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[Event, None]:
        """The answer as it comes. Raises PacelineError."""
        ...


class Progress(Protocol):
    """What the editor shows of one edit while it is computed."""

    def report(self, message: str, percentage: int | None = None) -> None:
        """How far it is."""
        ...

    def end(self) -> None:
        """It is over, one way or the other."""
        ...


@dataclass(frozen=True)
class Rewriter:
    """Asks for edits. `redact` puts other characters for what no model is to see, one for each."""

    chat: Chat
    redact: Callable[[str], str]

    async def rewrite(self, task: Task, progress: Progress) -> str:
        """What to put in the place of the part, of the model's answer. Raises PacelineError.

        Small models may take up what stands around the part, or copy the part over all that they read. So where
        nothing else comes of it they are asked again, without what stands around.
        """
        seen = self.redact(task.text)
        secrets = mask(task.old, seen[task.start : task.end])
        part, wish = _masked(task.part, secrets, seen[: task.start], seen[task.end :]), secrets.hide(task.wish)
        answer = await self._asked(rewriting.ask(part, wish), part, progress, stop=rewritten.strays)
        found = rewritten.replacement(answer, part) if answer is not None else None
        if found is None or secrets.lacks(part.text, found) or not hunks(task.old, secrets.restore(found)):
            answer = await self._asked(rewriting.ask_again(part, wish), part, progress, stop=_goes_on)
            assert answer is not None
            found = rewritten.replacement(answer, part)
        if found is None:
            raise ModelError("the model answered with no text", "say it in other words, or select more")
        if secrets.lacks(part.text, found):
            raise ModelError(
                "the edit was not made: a secret in the selection, which the model is not shown, is lost in its answer",
                "select lines without it",
            )
        return secrets.restore(found)

    async def _asked(
        self, question: Question, part: Part, progress: Progress, *, stop: Callable[[str, Part], bool]
    ) -> str | None:
        """The answer to one question; None where it was stopped."""
        shown = part.shown
        most = min(MOST_TOKENS, SPARE + len(shown))
        options = Options(max_tokens=most, temperature=0.0, original=shown)
        messages = [Message("system", question.system), Message("user", question.user)]
        answer, meter = "", _Meter(progress, len(shown))
        async with aclosing(self.chat.chat(messages, options)) as events:
            async for event in events:
                meter.saw(event)
                if isinstance(event, Text):
                    answer += event.text
                    if "\n" in event.text:
                        if stop(answer, part):
                            return None
                        if rewritten.is_complete(answer, part):
                            break
                elif isinstance(event, End) and event.reason == "length":
                    raise InputError(f"the answer is longer than {most} tokens", "select less")
        return answer


def _goes_on(answer: str, part: Part) -> bool:
    return False


@dataclass
class _Meter:
    """Turns what an engine says into reports of progress, not too many of them."""

    progress: Progress
    length: int  # characters that the answer is expected to have
    written: int = 0
    last: float = 0.0

    def saw(self, event: Event) -> None:
        now = asyncio.get_running_loop().time()
        if isinstance(event, Text):
            self.written += len(event.text)
        elif isinstance(event, Loading):
            self.progress.report(event.text)
        if now - self.last < PAUSE:
            return
        if isinstance(event, Reading):
            self.last = now
            self.progress.report(f"reading, {event.done} of {event.total} tokens", 0)
        elif isinstance(event, Text):
            self.last = now
            self.progress.report("writing", min(99, 100 * self.written // max(1, self.length)))


def _masked(part: Part, secrets: Mask, before: str, after: str) -> Part:
    """The part as a model may see it."""
    text, focus, frame = map(secrets.hide, (part.text, part.focus, part.frame))
    return replace(part, before=before, text=text, after=after, focus=focus, frame=frame)
