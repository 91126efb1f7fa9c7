"""Edit with Paceline…: the selected lines, changed by an instruction; computed while the person goes on working.

`Edits.actions` is the code action, `Edits.begin` the command behind it. The instruction is the command's fourth
argument, or a comment in or above the selection: `# paceline: …`. The selection is the draft of the answer.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from paceline.errors import InputError, PacelineError
from paceline.lsp.commands import EDIT
from paceline.lsp.documents import Document
from paceline.lsp.edit_task import Task, Wanted, check, moved, task_of, wanted_of
from paceline.lsp.rewriter import Chat, Progress, Rewriter
from paceline.lsp.telling import Kind
from paceline.workspace.hunks import Hunk, hunks

logger = logging.getLogger(__name__)
TITLE = "Edit with Paceline"
LONGEST = 60  # characters of an instruction in a title
ANNOTATION = "paceline"


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


def _as_it_is(text: str) -> str:
    return text


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
        wish = task_of(document, Wanted(document.uri, chosen, None, ""), "").wish
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
            task = task_of(document, wanted, self.editor.name(wanted.uri))
            check(task)
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
            return await Rewriter(self.chat, self.redact).rewrite(task, progress)
        finally:
            progress.end()

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
        if result is not None and not result.applied and result.failure_reason is not None:  # None: the person said no
            why = result.failure_reason or "it gives no reason"
            raise InputError(f"the editor did not make the edit: {why}", "try again")


class _Unseen:
    """Progress that nobody is shown."""

    def report(self, message: str, percentage: int | None = None) -> None:
        pass

    def end(self) -> None:
        pass


def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()


def _check_known(document: Document) -> None:
    """Raises InputError where the editor's text is another one than ours."""
    if document.lost:
        raise InputError(
            "the edit was not made: the editor's last change of the document could not be read", "open it again"
        )


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
