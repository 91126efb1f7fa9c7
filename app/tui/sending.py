"""From what stands in the prompt to a message: mentions are read, everything is measured, and then it is sent."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paceline.chat.context import budget
from paceline.chat.context.attaching import Attaching, KeptBackError
from paceline.chat.context.growing import Growing
from paceline.chat.context.mentions import Mention, mentions
from paceline.chat.context.running import of_prompt
from paceline.chat.pastes import as_attachment, placeholder
from paceline.chat.slash import Unknown, parse
from paceline.chat.turns import Attached, Draft
from paceline.client.counting import Counter
from paceline.errors import InputError, PacelineError, ResourceError
from paceline.tui.figures import STATES
from paceline.tui.fitting import Fitting
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.chat.conversation import Conversation
    from paceline.tui.screens.chat import ChatScreen

PATIENCE = 5.0  # seconds for another process that writes
TOGETHER = 1.0  # seconds within which what is pasted belongs together


class _NeverMindError(Exception):
    """The person does not want it sent after all."""


@dataclass(eq=False)
class Going:
    """A message that is on its way: entered, and not said yet."""

    text: str
    attached: tuple[Attached, ...]
    editing: int | None
    conversation: "Conversation"
    task: "asyncio.Task[Any] | None"


class Sending:
    """One screen's way from the prompt to the conversation."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._counter: Counter | None = None
        self._growing = Growing()
        self.fitting = Fitting(screen)
        self._attaching = Attaching(screen.services.root)
        self._turn = asyncio.Lock()
        self._pasted_at = float("-inf")

    def forget(self) -> None:
        """Another engine answers from now on."""
        self._counter, self._growing = None, Growing()

    def pasted(self, text: str) -> None:
        """Attach what was pasted where it is long, else put it into the prompt."""
        screen, now = self._screen, time.monotonic()
        prompt, others = screen.query_one(Prompt), screen.attached
        last = others[-1] if others else None
        if last is not None and last.kind == "paste" and now - self._pasted_at < TOGETHER:
            mark = placeholder(last)
            if prompt.text.endswith(mark):  # a busy machine brings one paste in several pieces
                text, others = last.text + text, others[:-1]
                prompt.replace_all(prompt.text.removesuffix(mark))
        self._pasted_at = now
        found = as_attachment(
            text, screen.config.chat.paste_lines, [*(each.name for each in others), *screen.placeholders.names]
        )
        if found is None:
            prompt.put(text)
            return
        prompt.put(placeholder(found))
        screen.attach((*others, found))

    # --- sending ------------------------------------------------------------------------------------------------------

    async def submit(self, text: str) -> None:
        """What Enter does: a command of the app, one of the shell, or a message. Raises PacelineError."""
        screen = self._screen
        if not text.strip():
            await self.send_waiting()
            return
        found = parse(text)
        if isinstance(found, Unknown):
            near = f"did you mean {' or '.join(f'/{each}' for each in found.near)}?" if found.near else ""
            hint = near or "/help lists them; begin with a blank to send it"
            raise InputError(f"there is no command /{found.word}", hint)
        if found is not None:
            self._entered(text)
            await screen.commands.obey(found)
        elif of_prompt(text):
            self._entered(text)
            await screen.acting.run(of_prompt(text))
        else:
            await self._message(text)

    async def _message(self, text: str) -> None:
        screen = self._screen
        if not screen.services.is_set_up(screen.config):
            await screen.commands.set_up_now()
            if not screen.services.is_set_up(screen.config):
                return  # the message stays in the prompt
        going = Going(text, screen.attached, screen.editing, screen.conversation, asyncio.current_task())
        screen.going.append(going)
        screen.editing = None
        screen.attach(())
        self._entered(text)
        try:
            async with self._turn:  # in the order in which they were entered
                sent = await self._sent(going)
        except (PacelineError, asyncio.CancelledError):
            self._take_back(going)
            raise
        finally:
            screen.going.remove(going)
            if not screen.conversation.answering:
                screen.show_figures(state="")
        if sent:
            screen.output_panel.hide()
        else:
            self._take_back(going)
        screen.keeping.keep()

    async def _sent(self, going: "Going") -> bool:
        """Whether the person wants it sent. Raises PacelineError."""
        screen, conversation = self._screen, going.conversation
        await self._with_output(going)
        screen.show_figures(state="measuring")
        try:
            draft = await self._fitting(going, await self._mentioned(going.text, going.attached))
        except _NeverMindError:
            return False
        if draft is None:
            return False
        if conversation is not screen.conversation:
            raise InputError("the message was not sent: another session is open now", "it is in that session's prompt")
        await self.free()
        if going.editing is not None:
            conversation.edit(going.editing, draft)
        else:
            conversation.send(draft)
        return True

    async def send_waiting(self) -> None:
        """Send the first message that waits, if it still fits. Raises PacelineError."""
        screen, conversation = self._screen, self._screen.conversation
        async with self._turn:  # before what is entered from now on
            if conversation.answering or not conversation.queued:
                return
            first = conversation.queued[0]
            draft = self.draft(first.text, first.attached)
            if first.skipped:
                draft = replace(draft, skipped=first.skipped, summary=first.summary)
            fitted = await self.fitting.made(draft, "what does not fit of a message that waits")
            await self.free()
            if conversation is not screen.conversation or conversation.path != draft.path:
                return
            if conversation.answering or conversation.queued[:1] != (first,):
                return
            if fitted is None:
                screen.tell("the message waits on, as it does not fit; Enter shows again what can be left out")
            else:
                conversation.send_waiting(self.fitting.to_send(fitted))

    async def retry(self, turn: int) -> None:
        """Ask for another answer. Where its question fits no more, it becomes another one. Raises PacelineError."""
        screen, conversation = self._screen, self._screen.conversation
        found = conversation.turn(turn)
        question = found if found is None or found.role == "user" else conversation.turn(found.parent)
        await self.free()
        if question is not None and not conversation.answering:
            draft = self.draft(question.text, question.attached, question.id)
            fitted = await self.fitting.made(draft)
            if fitted is None or conversation is not screen.conversation:
                return
            if fitted != draft:
                conversation.edit(question.id, self.fitting.to_send(fitted))
                return
        conversation.retry(turn)

    async def free(self) -> None:
        """Wait until no other process writes, while the app goes on. Raises ResourceError where that takes long."""
        store, end = self._screen.services.store, time.monotonic() + PATIENCE
        while not store.free():
            if time.monotonic() > end:
                raise ResourceError("another program is writing into the file of the sessions", "try again in a moment")
            await asyncio.sleep(PATIENCE / 50)

    async def _with_output(self, going: "Going") -> None:
        """A command that runs already prints for this message."""
        screen = self._screen
        if not screen.acting.running:
            return
        screen.show_figures(state="waiting for the command (Esc ends it)")
        await screen.acting.finished()
        output = tuple(each for each in screen.attached if each.kind == "output")
        going.attached = (*(each for each in going.attached if each.kind != "output"), *output)
        screen.attach(tuple(each for each in screen.attached if each.kind != "output"))

    def _take_back(self, going: "Going") -> None:
        """A message that was not sent is in the prompt again, before what was written since."""
        screen = self._screen
        if going.conversation is not screen.conversation:
            return  # it was kept with the other one
        prompt = screen.query_one(Prompt)
        prompt.replace_all(f"{going.text}\n{prompt.text}" if prompt.text else going.text)
        screen.attach(tuple(dict.fromkeys((*going.attached, *screen.attached))))
        if going.editing is not None and screen.editing is None:
            screen.editing = going.editing

    def _entered(self, text: str) -> None:
        """It is on its way: the prompt is empty again."""
        self._screen.services.history.add(text)
        prompt = self._screen.query_one(Prompt)
        prompt.replace_all("")
        prompt.history.clear()  # undoing is for what is done now

    async def may_be_shown(self, name: str) -> bool:
        """Whether a file may be shown to the model; where rules are against it, the person is asked. InputError."""
        try:
            await asyncio.to_thread(self._attaching.file, name)
        except KeptBackError as error:
            if not error.may_override:
                raise
            try:
                return await self._overrides(error)
            except _NeverMindError:
                return False
        return True

    async def _overrides(self, error: KeptBackError) -> bool:
        screen = self._screen
        if screen.query_one(Prompt).text.strip():
            await screen.ready.wait("a question")
        asked = Question("Show it to the model all the same?", (error.message,), yes="Show", no="Leave it out")
        answer = await screen.app.push_screen_wait(ConfirmScreen(asked))
        if answer is None:
            raise _NeverMindError
        if not answer:
            screen.tell(f"left out: {error.message}")
        return answer

    def stop(self) -> bool:
        """End a summary that is written, or take back what is measured; whether there was anything."""
        if self.fitting.stop():
            return True
        last = self._screen.going[-1] if self._screen.going else None
        if last is None or last.task is None:
            return False
        last.task.cancel()
        return True

    async def _mentioned(self, text: str, attached: tuple[Attached, ...]) -> tuple[Attached, ...]:
        """What is attached, and what the text mentions. Raises InputError where that cannot be."""
        screen = self._screen
        finder = screen.suggesting.workspace
        if "@" in text:
            await screen.suggesting.ready()
        found = list(attached)
        for mention in mentions(text, lambda name: finder.resolve(name) is not None):
            if not mention.resolved:
                raise InputError(f"there is no {mention.name!r} here", "leave the @ out, or choose from the list")
            read = await self._read(mention)
            if read is not None and all(each.name != read.name for each in found):
                found.append(read)
        return tuple(found)

    async def _named_in(self, text: str) -> tuple[Attached, ...]:
        """What the text mentions, as far as nobody has to be asked; while it is still being written."""
        if "@" not in text:
            return ()
        screen = self._screen
        finder, output = screen.suggesting.workspace, screen.output
        found = []
        for mention in mentions(text, lambda name: finder.resolve(name) is not None):
            if mention.resolved:
                with contextlib.suppress(InputError):
                    found.append(await asyncio.to_thread(self._attaching.mention, mention, finder, output))
        return tuple(found)

    async def _read(self, mention: Mention) -> Attached | None:
        """None: the person does not want it after all. Raises InputError."""
        screen = self._screen
        finder, output = screen.suggesting.workspace, screen.output
        try:
            return await asyncio.to_thread(self._attaching.mention, mention, finder, output)
        except KeptBackError as error:
            if not error.may_override:
                raise
            if not await self._overrides(error):
                return None
        return await asyncio.to_thread(self._attaching.mention, mention, finder, output, override=True)

    # --- measuring ----------------------------------------------------------------------------------------------------

    async def show(self) -> None:
        """The meter in the footer. Whatever prevents it will be said when something is sent."""
        screen = self._screen
        if not screen.services.is_set_up(screen.config):
            return
        with contextlib.suppress(PacelineError):
            sizes = await self.sizes(await self.begun(), self._growing)
            screen.show_figures(used=sizes.used, size=sizes.context or None, about=sizes.estimated)

    async def begun(self) -> budget.Draft:
        """What stands in the prompt, as it would be sent now, with what it mentions."""
        screen = self._screen
        text = screen.query_one(Prompt).text
        attached = dict.fromkeys((*screen.attached, *await self._named_in(text)))
        return self.draft(text, tuple(attached), screen.editing)

    def draft(self, text: str, attached: tuple[Attached, ...], editing: int | None = None) -> budget.Draft:
        """The message as it would be sent now. editing: the turn that it takes the place of."""
        conversation = self._screen.conversation
        path = conversation.path
        shown = path if editing is None else tuple(turn for turn in path if turn.id <= editing)
        skipped, summary = conversation.forgotten(shown)  # another message goes without what the first went without
        if editing is not None:
            path = tuple(turn for turn in path if turn.id < editing)
        return budget.Draft(conversation.session.system, path, text, attached, skipped, summary)

    async def sizes(self, draft: budget.Draft, growing: Growing | None = None) -> budget.Sizes:
        """What each part takes. growing: it is still typed. Raises PacelineError where the engine cannot be asked."""
        screen = self._screen
        counter = self._counter = self._counter or Counter(screen.config)
        context = await screen.client.follow(counter.context())
        if not context and growing is None and not screen.config.engine.url:
            screen.show_figures(state=STATES["loading"])
        reserve = screen.config.chat.reserve_tokens
        measure = budget.sizes if growing is None else growing.sizes
        measured = await measure(draft, lambda each: screen.client.follow(counter.count(each)), context, reserve)
        if not measured.context:  # it is known once the models are there, and counting has loaded them
            measured = replace(measured, context=await screen.client.follow(counter.context()))
        return measured

    async def _fitting(self, going: "Going", attached: tuple[Attached, ...]) -> Draft | None:
        """The message, once it fits. None: it is not to be sent."""
        fitted = await self.fitting.made(self.draft(going.text, attached, going.editing))
        return None if fitted is None else self.fitting.to_send(fitted)
