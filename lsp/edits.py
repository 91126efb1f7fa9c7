"""Edit with Paceline…: the selected lines, changed by an instruction; computed while the person goes on working.

`Edits.actions` is the code action, `Edits.begin` the command behind it. The instruction is the command's fourth
argument, or a comment in or above the selection: `# paceline: …`. The selection is the draft of the answer.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from paceline.client.events import End, Event, Loading, Message, Options, Text
from paceline.client.events import Progress as Reading
from paceline.errors import InputError, ModelError, PacelineError
from paceline.lsp.commands import EDIT
from paceline.lsp.documents import Document
from paceline.lsp.masking import Mask, mask
from paceline.lsp.telling import Kind
from paceline.prompts import rewriting, rewritten
from paceline.prompts.rewriting import Part, Question
from paceline.workspace.hunks import Hunk, hunks

logger = logging.getLogger(__name__)
TITLE = "Edit with Paceline"
LONGEST = 60  # characters of an instruction in a title
LARGEST = 24_000  # characters of a selection; more are not rewritten in a time that anybody waits
SPARE, MOST_TOKENS = 256, 8192  # tokens of an answer beyond one for each character selected; and of any answer
PAUSE = 0.1  # seconds between two reports of progress
ANNOTATION = "paceline"


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


class Editor(Protocol):
    """What an edit needs of the editor."""

    @property
    def capabilities(self) -> types.ClientCapabilities:
        """What it can do."""
        ...

    def document(self, uri: str) -> Document | None:
        """An open document, as it is now."""
        ...

    def name(self, uri: str) -> str:
        """A document's path in its workspace folder; "" where it has none."""
        ...

    def show(self, kind: Kind, text: str) -> None:
        """A message before the person's eyes."""
        ...

    async def progress(self, title: str, cancel: Callable[[], None]) -> Progress:
        """Show that something is computed. `cancel` is called when the person has had enough of it."""
        ...

    async def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        """Change the document, if the person agrees."""
        ...


@dataclass(frozen=True)
class Wanted:
    """What the command was given."""

    uri: str
    range: types.Range
    version: int | None
    wish: str


@dataclass(frozen=True)
class Task:
    """An edit on its way: what is changed, where it stood, and in which text."""

    uri: str
    part: Part
    wish: str
    text: str  # the document's, when the edit began
    start: int
    end: int

    @property
    def old(self) -> str:
        """What stood there."""
        return self.text[self.start : self.end]


def _as_it_is(text: str) -> str:
    return text


def _goes_on(answer: str, part: Part) -> bool:
    return False


@dataclass
class Edits:
    """Belongs to one event loop. `redact` puts other characters for what no model is to see, one for each."""

    chat: Chat
    editor: Editor
    redact: Callable[[str], str] = _as_it_is
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)  # messages shown while edits are running

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        """The code action for a selection; none where nothing is selected or another kind is asked for."""
        document = self.editor.document(params.text_document.uri)
        chosen, only = params.range, params.context.only
        kind = types.CodeActionKind.RefactorRewrite
        if document is None or chosen.start == chosen.end:
            return []
        if only is not None and not any(_is_below(kind.value, each) for each in only):
            return []
        wish = _task(document, Wanted(document.uri, chosen, None, ""), "").wish
        title = f"{TITLE}: {_shortened(wish)}" if wish else f"{TITLE}…"
        command = types.Command(title, EDIT, arguments=[params.text_document.uri, _plain(chosen), document.version])
        text = self.editor.capabilities.text_document
        support = text.code_action if text is not None else None
        if support is None or support.code_action_literal_support is None:
            return [command]
        return [types.CodeAction(title, kind=kind, command=command)]

    def begin(self, arguments: Sequence[Any]) -> "asyncio.Task[None]":
        """The command: start an edit and return at once, as some editors stand still until a command has ended."""
        task = asyncio.get_running_loop().create_task(self._run(arguments))
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def stop(self) -> None:
        """End all that is computed."""
        for task in self._running:
            task.cancel()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("an edit failed", exc_info=task.exception())
            self._tell("error", "the edit failed; the editor's log of this server says how")
        if not self._running:
            self._told.clear()

    async def _run(self, arguments: Sequence[Any]) -> None:
        """One edit from its beginning to its end. What goes wrong is shown, once where several fail alike."""
        try:
            wanted = wanted_of(arguments)
            document = self.editor.document(wanted.uri)
            if document is None:
                raise InputError("the document is not open")
            _check_known(document)
            if wanted.version is not None and document.version != wanted.version:
                raise InputError("the document has changed since it was selected", "select it again")
            task = _task(document, wanted, self.editor.name(wanted.uri))
            _check(task)
            answer = await self._computed(task)
            await self._apply(task, answer)
        except PacelineError as error:
            self._tell("error", error.message + (f" ({error.hint})" if error.hint else ""))

    def _tell(self, kind: Kind, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.editor.show(kind, f"Paceline: {text}")

    async def _computed(self, task: Task) -> str:
        """What to put in the place of the part. Raises PacelineError."""
        current = asyncio.current_task()
        assert current is not None
        try:
            progress = await self.editor.progress(f"{TITLE}: {_shortened(task.wish)}", lambda: _cancel(current))
        except JsonRpcException:  # it said that it can show this, but does not want to now
            progress = _Unseen()
        try:
            return await self._rewritten(task, progress)
        finally:
            progress.end()

    async def _rewritten(self, task: Task, progress: Progress) -> str:
        """What comes of the model's answer.

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

    async def _apply(self, task: Task, answer: str) -> None:
        """Ask the editor to make the change, where the lines still are what they were. Raises InputError."""
        document = self.editor.document(task.uri)
        if document is None:
            raise InputError("the edit was not made: the document has been closed meanwhile")
        _check_known(document)
        start = moved(task.text, document.text, task.start, task.end)
        if start is None:
            raise InputError("the edit was not made: these lines have changed meanwhile", "select them again")
        changes = hunks(task.old, answer, start)
        if not changes:
            self._tell("info", f"nothing to change for “{_shortened(task.wish)}”")
            return
        edit = workspace_edit(document, changes, task.wish, self.editor.capabilities)
        try:
            result = await self.editor.apply(types.ApplyWorkspaceEditParams(edit, label=TITLE))
        except JsonRpcException as error:
            raise InputError(f"the editor did not make the edit: {error}", "try again") from error
        if result is not None and not result.applied and result.failure_reason:
            raise InputError(f"the editor did not make the edit: {result.failure_reason}", "try again")


class _Unseen:
    """Progress that nobody is shown."""

    def report(self, message: str, percentage: int | None = None) -> None:
        pass

    def end(self) -> None:
        pass


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


def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()


def wanted_of(arguments: Sequence[Any]) -> Wanted:
    """The command's arguments: uri, range, version, instruction; the last two may be missing. Raises InputError."""
    given: tuple[Any, ...] = (*arguments, None, None, None, None)
    uri, chosen, version, wish = given[:4]
    if isinstance(chosen, dict):
        try:
            ends = [types.Position(int(chosen[end]["line"]), int(chosen[end]["character"])) for end in ("start", "end")]
        except (KeyError, TypeError, ValueError, OverflowError):
            chosen = None
        else:
            chosen = types.Range(*ends)
    if not isinstance(uri, str) or not isinstance(chosen, types.Range):
        raise InputError(f"{EDIT} needs a document's URI and a range", "run it as a code action on a selection")
    whole = isinstance(version, int) and not isinstance(version, bool)
    return Wanted(uri, chosen, version if whole else None, wish.strip() if isinstance(wish, str) else "")


def _masked(part: Part, secrets: Mask, before: str, after: str) -> Part:
    """The part as a model may see it."""
    text, focus, frame = map(secrets.hide, (part.text, part.focus, part.frame))
    return replace(part, before=before, text=text, after=after, focus=focus, frame=frame)


def _task(document: Document, wanted: Wanted, name: str) -> Task:
    ends = document.offset(wanted.range.start), document.offset(wanted.range.end)
    part, start, end = rewriting.part_of(
        document.text, min(ends), max(ends), document.language, name, comment=not wanted.wish
    )
    wish = wanted.wish
    if not wish:
        part, wish = part.with_wishes_taken_out()
    return Task(document.uri, part, wish, document.text, start, end)


def _check_known(document: Document) -> None:
    """Raises InputError where the editor's text is another one than ours."""
    if document.lost:
        raise InputError(
            "the edit was not made: the editor's last change of the document could not be read", "open it again"
        )


def _check(task: Task) -> None:
    """Raises InputError."""
    if not task.wish:
        raise InputError(
            "it is not said what to change",
            "write a comment “paceline: rename x to y” in or above the selection, or let the editor pass what you want",
        )
    if task.end - task.start > LARGEST:
        raise InputError(f"{task.end - task.start} characters are selected; {LARGEST} can be edited", "select less")


def moved(old: str, new: str, start: int, end: int) -> int | None:
    """Where the lines [start, end) of the old text begin in the new one; None where they cannot be told any more.

    They are where they were in relation to what stands before or after them, or else in the one place that has them.
    """
    part, shift = old[start:end], len(new) - len(old)
    if new.startswith(old[:end]) and _whole_lines(new, start, part):
        return start
    if start + shift >= 0 and new.endswith(old[start:]) and _whole_lines(new, start + shift, part):
        return start + shift
    if not part.strip():
        return None
    at, places = new.find(part), []
    while at >= 0:
        if _whole_lines(new, at, part):
            places.append(at)
        at = new.find(part, at + 1)
    return places[0] if len(places) == 1 else None


def _whole_lines(text: str, at: int, part: str) -> bool:
    """Whether the part, which stands there, does so from the beginning of a line to the end of one."""
    begins = at == 0 or text[at - 1] in "\r\n"
    return begins and (part.endswith(("\r", "\n")) or text[at + len(part) : at + len(part) + 1] in ("", "\r", "\n"))


def workspace_edit(
    document: Document, changes: Sequence[Hunk], wish: str, capabilities: types.ClientCapabilities
) -> types.WorkspaceEdit:
    """The hunks for the editor, to be confirmed by the person and only for this version where it knows of that."""
    spans = [(document.range(each.start, each.end), each.text) for each in changes]
    support = capabilities.workspace.workspace_edit if capabilities.workspace else None
    if support is None or not support.document_changes:
        return types.WorkspaceEdit(changes={document.uri: [types.TextEdit(span, text) for span, text in spans]})
    target = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
    if support.change_annotation_support is None:
        plain = [types.TextEdit(span, text) for span, text in spans]
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(target, plain)])
    edits = [types.AnnotatedTextEdit(ANNOTATION, span, text) for span, text in spans]
    note = types.ChangeAnnotation(f"{TITLE}: {_shortened(wish)}", needs_confirmation=True, description=wish)
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(target, edits)], change_annotations={ANNOTATION: note}
    )


def _is_below(kind: str, asked: str | types.CodeActionKind) -> bool:
    """Whether a kind is what was asked for, or belongs to it."""
    wide = asked.value if isinstance(asked, types.CodeActionKind) else asked
    return not wide or kind == wide or kind.startswith(f"{wide}.")


def _shortened(wish: str) -> str:
    line = " ".join(wish.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"


def _plain(chosen: types.Range) -> dict[str, dict[str, int]]:
    ends = {"start": chosen.start, "end": chosen.end}
    return {name: {"line": end.line, "character": end.character} for name, end in ends.items()}
