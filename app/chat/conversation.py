"""One conversation: what has been said, what is being answered, what waits. Knows no screen.

Everything that happens is told as one of the `Happening`s, in order, on the event loop that calls it.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from paceline.chat.answering import Answering
from paceline.chat.happenings import Added, Changed, Grew, Happening, Moved, Queued, Tell, Told, Working
from paceline.chat.keeper import Keeper
from paceline.chat.persisting import Persisting
from paceline.chat.tree import branches, leaf_below, path, siblings
from paceline.chat.turns import Draft, Session, Turn
from paceline.client.cancel import Cancel
from paceline.client.events import End, Event, Extra, Message, Options
from paceline.errors import InputError, PacelineError, ResourceError


class Engine(Protocol):
    """Who answers: client.async_client.AsyncClient."""

    def chat(
        self, messages: Sequence[Message], options: Options = ..., cancel: Cancel | None = ...
    ) -> AsyncGenerator[Event, None]:
        """An answer as it comes."""
        ...


AGAIN = 0.7  # temperature
ENDING = 5.0  # seconds that an answer has to end by itself when it is no longer wanted


class Conversation:
    """A session that can be talked to. Belongs to one event loop."""

    def __init__(
        self,
        session: Session,
        store: Keeper,
        engine: Engine,
        tell: Tell,
        waiting: Sequence[Draft] = (),
        due: Callable[[], None] | None = None,
    ) -> None:
        """waiting: messages that wait already. They are sent behind the next answer, or by `send_waiting`.

        due: called when an answer is complete and the first of them may go; it sends it. None: it goes as it is.
        """
        self._session = session
        self._store = store
        self._engine = engine
        self._listener: Tell | None = tell
        self._due = due or self.send_waiting
        self._persisting = Persisting(store, self._tell)
        self._settling: asyncio.Task[None] | None = None
        self._turns = {turn.id: turn for turn in store.turns(session.id)} if session.id else {}
        self._queue: deque[Draft] = deque(waiting)
        self._answering: Answering | None = None
        self._task: asyncio.Task[None] | None = None
        self.options = Options(tell_drafts=True, tell_pace=True, priority="chat")  # for every answer
        self.again = replace(self.options, temperature=AGAIN)  # for another one: the likeliest would be the same

    # --- what there is ----------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """What is kept of it; without an id as long as nothing has been said."""
        return self._session

    def keep(self) -> Session:
        """The session, which is kept from now on."""
        if not self._session.id:
            begun = self._session
            self._session = self._store.create(begun.workspace, begun.system, begun.title)
        return self._session

    @property
    def path(self) -> tuple[Turn, ...]:
        """The turns of the branch that is shown, the first one first."""
        return path(self._turns.values(), self._session.leaf)

    @property
    def answering(self) -> bool:
        """Whether an answer is being written."""
        return self._task is not None

    @property
    def queued(self) -> tuple[Draft, ...]:
        """Messages that wait."""
        return tuple(self._queue)

    def turn(self, id: int | None) -> Turn | None:
        """A turn of any branch; None where there is none of that number."""
        return None if id is None else self._turns.get(id)

    def siblings(self, turn: int) -> tuple[int, ...]:
        """The turns that stand in the same place, in the order they were made."""
        return siblings(self._turns.values(), turn)

    def branches(self) -> Mapping[int, tuple[int, int]]:
        """For every turn, which it is of those that stand in its place (from 1), and how many there are."""
        beside = branches(self._turns.values())
        return {turn: (each.index(turn) + 1, len(each)) for turn, each in beside.items()}

    def forgotten(self, turns: Sequence[Turn]) -> tuple[int, str]:
        """How many of a branch's first turns the model is no longer shown, and what stands for them."""
        return next(((turn.skipped, turn.summary) for turn in reversed(turns) if turn.skipped), (0, ""))

    def messages(self, turns: Sequence[Turn]) -> list[Message]:
        """What the model is shown of these turns. The same turns are the same text always, so that a cache knows it."""
        from paceline.chat.context import budget

        skipped, summary = self.forgotten(turns)
        begun = turns[-1:] if turns[-1].role == "assistant" else ()  # the answer that goes on
        *before, asked = turns[: len(turns) - len(begun)]
        draft = budget.Draft(self._session.system, tuple(before), asked.text, asked.attached, skipped, summary)
        return [*budget.messages(draft), *(Message(turn.role, turn.text) for turn in begun)]

    # --- what a person does -----------------------------------------------------------------------------------------

    def send(self, draft: Draft) -> None:
        """Ask; behind the answer that is being written, if there is one."""
        if self.answering:
            self._queue.append(draft)
            self._tell(Queued(len(self._queue)))
            return
        self._ask(draft, self._session.leaf)

    def send_waiting(self, draft: Draft | None = None) -> bool:
        """Send the first that waits, now that nothing is being answered; whether there was one. draft: in its place."""
        if self.answering or not self._queue:
            return False
        try:
            self._ask(draft or self._queue[0], self._session.leaf)
        except PacelineError as error:  # it waits on
            self._tell(Told(str(error), error=True))
            return False
        self._queue.popleft()
        self._tell(Queued(len(self._queue)))
        return True

    def unqueue(self) -> Draft | None:
        """Take the last message that waits back."""
        if not self._queue:
            return None
        draft = self._queue.pop()
        self._tell(Queued(len(self._queue)))
        return draft

    def drop_waiting(self) -> None:
        """What waits is not to be sent after all."""
        if self._queue:
            self._queue.clear()
            self._tell(Queued(0))

    def note(self, asked: str, done: str, end: End | None = None) -> None:
        """Something was done beside the conversation, which it should know of. Not while an answer is written.

        end: of the answer that it took, so that its figures count; None: it took none.
        """
        model, timings = ("", {}) if end is None else (end.model, dict(end.timings))
        if not self.answering:
            question = self._add(Turn(0, self._session.leaf, "user", asked))
            self._add(Turn(0, question.id, "assistant", done, model=model, timings=timings))

    def stop(self) -> None:
        """End the answer that is being written: the engine stops computing. What waits behind it is kept waiting."""
        if self._answering is not None:
            self._answering.cancel()

    def retry(self, turn: int) -> None:
        """Another answer beside this one. Raises InputError while one is written, or where there is no question."""
        self._free("generate another answer")
        found = self._turns[turn]
        question = found if found.role == "user" else self._turns.get(found.parent or -1)
        if question is None:
            raise InputError("there is no question to answer again", "choose an answer")
        known = found.role == "assistant" and found.state in ("done", "length")
        self._select(question.id)
        self._answer(question.id, self.again if known else self.options)

    def edit(self, turn: int, draft: Draft) -> None:
        """Another message in this one's place, and go on from there; the old branch is kept. Raises InputError."""
        self._free("go on from an earlier message")
        found = self._turns[turn]
        if found.role != "user":
            raise InputError("only messages of your own can be edited", "choose one of them")
        self._select(found.parent)
        self._ask(draft, found.parent)

    def go_on(self) -> None:
        """Continue the last answer where it was cut or stopped.

        Raises InputError where there is none, or another window is writing it.
        """
        self._free("continue an answer")
        last = self._as_kept(self._session.leaf)
        if last is None or last.role != "assistant" or last.state == "done":
            raise InputError("the last answer is complete", "ask for more instead")
        if last.state == "streaming":
            raise InputError("this answer is being written in another window", "look at it there, or wait for its end")
        if not last.text:
            self.retry(last.id)
            return
        self._write(last, replace(self.options, go_on=True))

    def switch(self, turn: int, by: int) -> None:
        """Show the branch of a sibling, so many further. Raises InputError while an answer is written."""
        self._free("switch branches")
        found = self.siblings(turn)
        at = found.index(turn) + by
        if not 0 <= at < len(found):
            return
        self._select(leaf_below(self._turns.values(), found[at]))

    def forget(self, skipped: int, summary: str) -> None:
        """From now on the model is not shown so many of the first turns; the summary stands for them.

        It is kept with the first turn that is shown, so that another answer there goes without them, too. Raises
        InputError while an answer is written, ResourceError where it cannot be kept.
        """
        self._free("shorten a conversation")
        turns = self.path
        turn = replace(turns[min(skipped, len(turns) - 1)], skipped=skipped, summary=summary)
        self._store.shorten(turn)
        self._changed(turn)

    def set_system(self, text: str) -> None:
        """Another system prompt from now on; the next turn reads the whole conversation again."""
        if self._session.id:
            self._store.set_system(self._session.id, text)
        self._session = replace(self._session, system=text)

    def renamed(self, title: str) -> None:
        """The session has another title now."""
        self._session = replace(self._session, title=title)

    async def close(self) -> None:
        """Stop, and wait until what was written is kept. Nothing is told any more afterwards."""
        self._queue.clear()
        self.stop()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=ENDING)
        await _end(self._task)  # an engine that hangs does not even end when it is told to
        await _end(self._settling)
        self._persisting.settle()
        self._listener = None

    # --- how it is done ---------------------------------------------------------------------------------------------

    def _tell(self, what: Happening) -> None:
        if self._listener is not None:
            self._listener(what)

    def _as_kept(self, id: int | None) -> Turn | None:
        """A turn as it is now: another window may have gone on with it. Raises InputError where all of it is gone."""
        known = self.turn(id)
        if known is None or self._store.owing:  # what is here is newer
            return known
        try:
            kept = next((each for each in self._store.turns(self._session.id) if each.id == id), None)
        except ResourceError:
            return known
        if kept is not None and (kept.text, kept.state) != (known.text, known.state):
            self._changed(kept)
        return kept or known

    def _free(self, what: str) -> None:
        if self.answering:
            raise InputError(f"cannot {what} while an answer is written", "stop it first, or wait")

    def _ask(self, draft: Draft, parent: int | None) -> None:
        turn = Turn(0, parent, "user", draft.text, draft.attached, skipped=draft.skipped, summary=draft.summary)
        self._answer(self._add(turn).id, self.options)

    def _answer(self, question: int, options: Options) -> None:
        self._write(self._add(Turn(0, question, "assistant", "", state="streaming")), options)

    def _write(self, answer: Turn, options: Options) -> None:
        answer = replace(answer, state="streaming", error="")
        if options.go_on:
            with contextlib.suppress(ResourceError):  # it is tried again, and said if it goes on to fail
                self._store.update(answer)
        self._changed(answer)
        turns = self.path[: None if options.go_on else -1]
        self._answering = Answering(answer, self._persisting, self._changed, self._grew, self._tell)
        events = self._engine.chat(self.messages(turns), _quoting(options, turns), self._answering.cancel)
        self._task = asyncio.get_running_loop().create_task(self._run(self._answering, events))

    async def _run(self, answering: Answering, events: AsyncGenerator[Event, None]) -> None:
        try:
            await answering.run(events)
        finally:
            self._answering = self._task = None
            self._tell(Working())
            if self._store.owing and self._settling is None:
                self._settling = asyncio.get_running_loop().create_task(self._settle())
        if answering.turn.state in ("done", "length") and self._queue:
            self._due()

    async def _settle(self) -> None:
        try:
            await self._persisting.settled()
        finally:
            self._settling = None

    def _grew(self, turn: Turn, text: str, drafter: str) -> None:
        self._turns[turn.id] = turn
        self._tell(Grew(turn.id, text, drafter))

    def _changed(self, turn: Turn) -> None:
        self._turns[turn.id] = turn
        self._tell(Changed(turn))

    def _add(self, turn: Turn) -> Turn:
        turn = self._store.add(self.keep().id, replace(turn, created=time.time()))
        self._turns[turn.id] = turn
        self._session = replace(self._session, leaf=turn.id)
        self._tell(Added(turn))
        return turn

    def _select(self, leaf: int | None) -> None:
        self._store.select(self.keep().id, leaf)
        self._session = replace(self._session, leaf=leaf)
        self._tell(Moved())


async def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait([task], timeout=1)


def _quoting(options: Options, turns: Sequence[Turn]) -> Options:
    """With the texts that the answer may repeat: what is attached to the newest message first."""
    found: dict[str, str] = {}
    for turn in reversed(turns):
        for each in turn.attached:
            if each.kind in ("file", "symbol", "paste", "diff"):
                found.setdefault(each.name, each.text)
    return replace(options, references=tuple(Extra(name, text) for name, text in found.items()))
