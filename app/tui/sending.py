"""From what stands in the prompt to a message: mentions are read, everything is measured, and then it is sent."""

import asyncio
import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from paceline.chat.context import budget
from paceline.chat.context.attaching import Attaching, KeptBackError
from paceline.chat.context.mentions import Mention, mentions
from paceline.chat.context.running import of_prompt
from paceline.chat.pastes import as_attachment, placeholder
from paceline.chat.slash import Unknown, parse
from paceline.chat.turns import Attached, Draft
from paceline.client.cancel import Cancel
from paceline.client.counting import Counter
from paceline.client.events import Options, Pace, Progress, Text
from paceline.errors import InputError, PacelineError
from paceline.tui.screens.confirm import Question
from paceline.tui.screens.fitting import FittingScreen
from paceline.tui.widgets.footer import reading
from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

TOGETHER = 1.0  # seconds within which what is pasted belongs together


class Sending:
    """One screen's way from the prompt to the conversation."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._counter: Counter | None = None
        self._summary: Cancel | None = None
        self._attaching = Attaching(screen.services.root)
        self._pasted_at = float("-inf")

    def forget(self) -> None:
        """Another engine answers from now on."""
        self._counter = None

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
        found = as_attachment(text, screen.config.chat.paste_lines, [each.name for each in others])
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
            screen.conversation.send_waiting()
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
        conversation, editing, attached = screen.conversation, screen.editing, screen.attached
        screen.on_its_way = text
        self._entered(text)
        screen.show_figures(state="measuring")
        try:
            draft = await self._fitting(text, await self._mentioned(text, attached))
            if draft is not None and conversation is not screen.conversation:
                raise InputError("the message was not sent: another session is open now", "it is in the prompt again")
            if draft is not None and editing is not None:
                conversation.edit(editing, draft)
            elif draft is not None:
                conversation.send(draft)
        except (PacelineError, asyncio.CancelledError):
            self._take_back(text)
            raise
        finally:
            screen.on_its_way = ""
            if not conversation.answering:
                screen.show_figures(state="")
        if draft is None:
            self._take_back(text)
            return
        screen.editing = None
        screen.attach(tuple(each for each in screen.attached if each not in attached))
        screen.keeping.keep()
        screen.output_panel.hide()

    def _take_back(self, text: str) -> None:
        """A message that was not sent is in the prompt again, before what was written since."""
        prompt = self._screen.query_one(Prompt)
        prompt.replace_all(f"{text}\n{prompt.text}" if prompt.text else text)

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
            return await self._overrides(error)
        return True

    async def _overrides(self, error: KeptBackError) -> bool:
        await self._screen.while_nothing_is_typed()
        asked = Question("Show it to the model all the same?", (error.message,), yes="Show", no="Leave it out")
        return await self._screen.ask(asked)

    def stop(self) -> bool:
        """End a summary that is written; whether there was one."""
        if self._summary is None:
            return False
        self._summary()
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
            sizes = await self.sizes(self.draft(screen.query_one(Prompt).text, screen.attached))
            screen.show_figures(used=sizes.used, size=sizes.context or None, about=sizes.estimated)

    def draft(self, text: str, attached: tuple[Attached, ...]) -> budget.Draft:
        """The message as it would be sent now."""
        conversation = self._screen.conversation
        path = conversation.path
        if self._screen.editing is not None:
            path = tuple(turn for turn in path if turn.id < self._screen.editing)
        skipped, summary = conversation.forgotten(path)
        return budget.Draft(conversation.session.system, path, text, attached, skipped, summary)

    async def sizes(self, draft: budget.Draft) -> budget.Sizes:
        """What each part takes. Raises PacelineError where the engine cannot be asked."""
        screen = self._screen
        counter = self._counter = self._counter or Counter(screen.config)
        context = await screen.client.follow(counter.context())
        reserve = screen.config.chat.reserve_tokens
        measured = await budget.sizes(draft, lambda each: screen.client.follow(counter.count(each)), context, reserve)
        if not measured.context:  # it is known once the models are there, and counting has loaded them
            measured = replace(measured, context=await screen.client.follow(counter.context()))
        return measured

    async def _fitting(self, text: str, attached: tuple[Attached, ...]) -> Draft | None:
        """The message, once it fits: the person chooses what is left out. None: it is not to be sent."""
        screen = self._screen
        draft = self.draft(text, attached)
        try:
            measured = await self.sizes(draft)
        except PacelineError:  # asking will say the same, where it is seen and kept
            return Draft(text, attached)
        if not measured.fits:
            fitted = await screen.app.push_screen_wait(FittingScreen(draft, measured, self.sizes, self.summarise))
            if fitted is None:
                return None
            draft = fitted
        known, summary = screen.conversation.forgotten(draft.path)
        changed = (draft.skipped, draft.summary) != (known, summary)
        return Draft(text, draft.attached, draft.skipped if changed else 0, draft.summary if changed else "")

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
                elif isinstance(event, Progress):
                    left = None if event.ms_left is None else event.ms_left / 1000
                    screen.show_figures(state=f"summarising: {reading(event.done, event.total, left)}")
                elif isinstance(event, Pace):
                    screen.show_figures(state=f"summarising: {event.tokens} tokens")
        finally:
            self._summary = None
            screen.show_figures(state="")
        if cancel.asked() or not "".join(pieces).strip():
            raise InputError("there is no summary: it was stopped, or the model said nothing", "try again, or go on")
        return budget.summarised(draft, choice, "".join(pieces).strip())
