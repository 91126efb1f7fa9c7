"""The language server: what the protocol says, handed to the session; and back.

Handlers only translate. All of them that wait are coroutines, so the reader goes on while an engine computes.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial  # pygls writes attributes on handlers, which methods do not take
from json import JSONDecodeError
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeGuard

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from paceline import __version__
from paceline.config import EditorConfig
from paceline.lsp import fallback, options
from paceline.lsp.commands import ACCEPT, ACCEPT_LINE, ACCEPT_WORD, EDIT, RESTART, STATUS
from paceline.lsp.documents import Document, Documents
from paceline.lsp.editor import Editor
from paceline.lsp.place import Place
from paceline.lsp.positions import column
from paceline.lsp.protocol import DocumentProtocol

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader

    from paceline.lsp.completing import Answer
    from paceline.lsp.edits import Edits
    from paceline.lsp.session import Session, Shown

logger = logging.getLogger(__name__)
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithNotebook(notebook="*")], save=False
)
NONSENSE = (JSONDecodeError, UnicodeDecodeError, RecursionError)  # what comes of a message that is no JSON
LARGEST = 2**31 - 1  # of the protocol's unsigned numbers
REWRITE = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.RefactorRewrite])


class Server(LanguageServer):
    """One editor's connection. `behind` makes what is behind it, once the editor has got its first answer."""

    protocol: DocumentProtocol

    def __init__(self, usual: EditorConfig, behind: "Callable[[Editor], tuple[Session, Edits]]") -> None:
        super().__init__("paceline", __version__, notebook_document_sync=NOTEBOOKS, protocol_cls=DocumentProtocol)
        self.editor = Editor(self, self.protocol)
        self._usual = usual
        self._behind = behind
        self._given = options.given("", None)
        self._state: dict[str, str] = {}
        self.feature(types.INITIALIZE)(partial(self._initialize))
        self.feature(types.INITIALIZED)(partial(self._initialized))
        self.feature(types.SHUTDOWN)(partial(self._shutdown))
        self.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(partial(self._reconfigured))
        self.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(partial(self._refoldered))
        self.feature(types.TEXT_DOCUMENT_DID_SAVE)(partial(self._saved))
        self.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())(partial(self._inline))
        self.feature(types.TEXT_DOCUMENT_CODE_ACTION, REWRITE)(partial(self._actions))
        self.feature("textDocument/didShowCompletion")(partial(self._seen))
        self.feature("textDocument/didPartiallyAcceptCompletion")(partial(self._accepted_part))
        self.feature("textDocument/didFocus")(partial(self._focused))
        self.command(ACCEPT)(partial(self._accept))
        self.command(ACCEPT_WORD)(partial(self._accept_word))
        self.command(ACCEPT_LINE)(partial(self._accept_line))
        self.command(RESTART)(partial(self._restart))
        self.command(STATUS)(partial(self._status))
        self.command(EDIT)(partial(self._edit))

    async def speak(self, reader: "AsyncReader", writer: asyncio.StreamWriter) -> None:
        """With the editor at the other end, until it goes."""
        self._stop_event = Event()
        self.protocol.set_writer(writer)
        try:
            await run_async(self._stop_event, reader, self.protocol, logger, self.report_server_error)
        finally:
            self.shutdown()  # type: ignore[no-untyped-call]

    @property
    def documents(self) -> Documents:
        """What is open."""
        return self.protocol.documents

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """A fault of our own. It is told once, and not again for every key; one in a request is its answer."""
        if source is not FeatureRequestError and not isinstance(error, NONSENSE):
            self.session.telling.once("error", f"Paceline stumbled: {type(error).__name__}; please report this")

    @property
    def session(self) -> "Session":
        """What answers."""
        return self._made[0]

    @property
    def edits(self) -> "Edits":
        """What rewrites."""
        return self._made[1]

    @cached_property
    def _made(self) -> "tuple[Session, Edits]":
        session, edits = self._behind(self.editor)
        session.heard = self._heard
        session.configure(self._given)
        return session, edits

    # what begins and ends

    def _initialize(self, params: types.InitializeParams) -> None:
        self.editor.connected()
        self._given = options.given("the editor's initializationOptions", params.initialization_options)
        self.documents.on_open = self._opened
        self.documents.on_change = self._changed
        self.documents.on_close = self._closed
        self.documents.on_lost = self._lost
        text = params.capabilities.text_document
        inline = text is not None and text.inline_completion is not None
        popup = options.merge([self._given], self._usual).editor.popup
        if popup == "on" or (popup == "auto" and not inline):
            self.feature(types.TEXT_DOCUMENT_COMPLETION, fallback.OPTIONS)(partial(self._popup))

    async def _initialized(self, _: types.InitializedParams) -> None:
        """Get to know the settings. A step that fails keeps none of the others."""
        failed = []
        for step in (self._read_projects, self._pull, self._subscribe):
            try:
                await step()
            except Exception as error:
                failed.append(error)
        if failed:
            raise failed[0]

    async def _read_projects(self) -> None:
        roots = [root for _, root in map(self.documents.located, self._folders())]
        await self.session.read_projects([Path(root) for root in roots if root])

    async def _subscribe(self) -> None:
        """Ask to be told when the settings change; an editor may refuse that."""
        workspace = self.client_capabilities.workspace
        changes = workspace.did_change_configuration if workspace is not None else None
        if changes is not None and changes.dynamic_registration:
            name = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            wanted = types.Registration("paceline-configuration", name, {"section": options.SECTION})
            with suppress(JsonRpcException):
                await self.client_register_capability_async(types.RegistrationParams([wanted]))

    async def _reconfigured(self, params: types.DidChangeConfigurationParams) -> None:
        if not await self._pull() and params.settings is not None:
            self._configure(params.settings)

    async def _refoldered(self, _: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders have come or gone: documents may lie in others now, which have rules of their own."""
        await self._read_projects()
        for document in list(self.documents.open.values()):
            self._opened(document)

    async def _pull(self) -> bool:
        """Ask the editor for its settings; whether it can be asked."""
        workspace = self.client_capabilities.workspace
        if workspace is None or not workspace.configuration:
            return False
        items = [types.ConfigurationItem(section=options.SECTION)]
        try:
            found = await self.workspace_configuration_async(types.ConfigurationParams(items))
        except JsonRpcException:  # it said that it can be asked, but does not want to now
            return False
        self._configure(found[0] if found else None)
        return True

    def _configure(self, values: object) -> None:
        self.session.configure(options.given("the editor's settings", values))

    async def _shutdown(self, _: object) -> None:
        self.edits.stop()
        await self.session.close()

    def _folders(self) -> list[str]:
        """A document's URI in each of the workspace's folders."""
        roots = [folder.uri for folder in self.documents.folders.values()] or [self.documents.root_uri or ""]
        return [f"{root.rstrip('/')}/x" for root in roots if root]

    # documents

    def _opened(self, document: Document) -> None:
        path, root = self.documents.home(document.uri)
        self.session.opened(document.uri, path, root, document.language, document.text)

    def _changed(self, uri: str, start: int, end: int, inserted: str, document: Document) -> None:
        def here() -> Place:
            place = self.documents.place(uri, document.position(start + len(inserted)))
            assert place is not None, "a document that changes is open"
            return place

        self.session.changed(uri, document.text, start, end, inserted, here)

    def _closed(self, document: Document) -> None:
        self.session.closed(document.uri)

    def _lost(self, document: Document) -> None:
        self.session.lost(document.uri)

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        self.session.saved(params.text_document.uri)

    # completions

    async def _inline(self, params: types.InlineCompletionParams) -> types.InlineCompletionList:
        asked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
        chosen = params.context.selected_completion_info
        document = self.documents.document(params.text_document.uri)
        if chosen is not None and (document is None or not _replaces(chosen.range, params.position, document)):
            chosen = None
        shown, where = await self._suggested(params.text_document.uri, params.position, asked, chosen)
        ahead = chosen.text if chosen is not None else ""
        items = [
            types.InlineCompletionItem(
                ahead + each.text, range=where, command=types.Command("Accept", ACCEPT, arguments=[each.number])
            )
            for each in shown
        ]
        return types.InlineCompletionList(items)

    async def _popup(self, params: types.CompletionParams) -> types.CompletionList:
        uri = params.text_document.uri  # editors say of every request of a popup that it was asked for by hand
        shown, where = await self._suggested(uri, params.position, asked=False, chosen=None)
        document = self.documents.document(uri)
        if document is None or where is None:
            return fallback.completion_list([])
        return fallback.completion_list([fallback.item(each, document, where.start) for each in shown])

    async def _suggested(
        self, uri: str, position: types.Position, asked: bool, chosen: types.SelectedCompletionInfo | None
    ) -> "tuple[Sequence[Shown], types.Range | None]":
        """What to show, and the range that it replaces: empty, or what the popup's choice would replace.

        Nothing where the document has changed meanwhile: its next request will find what has been computed.
        """
        document = self.documents.document(uri)
        if document is None:
            return (), None
        text, where = document.text, types.Range(position, position) if chosen is None else chosen.range
        start, end = self.documents.place(uri, where.start), self.documents.place(uri, where.end)
        assert start is not None and end is not None, "the document is open"
        before = start.before + (chosen.text if chosen is not None else "")
        place = replace(start, before=before, after=end.after)
        shown = await self.session.suggest(place, asked=asked, chosen=chosen is not None)
        if self.documents.document(uri) is not document or document.text != text or document.lost:
            return (), None
        return shown, document.range(document.offset(where.start), document.offset(where.end))

    # what a person does with them

    def _accept(self, *arguments: object) -> None:
        if number := _number(arguments):
            self.session.accepted(number)

    async def _accept_word(self, *arguments: object) -> None:
        await self._accept_part(arguments, fallback.first_word)

    async def _accept_line(self, *arguments: object) -> None:
        await self._accept_part(arguments, fallback.first_line)

    async def _accept_part(self, arguments: Sequence[object], part: Callable[[str], str]) -> None:
        """Insert the next part of what is suggested at (uri, position), for editors that cannot do that themselves."""
        uri, at = (*arguments, None, None)[:2]
        position = _position(at)
        document = self.documents.document(uri) if isinstance(uri, str) else None
        if document is None or position is None or document.lost:
            return
        place = self.documents.place(document.uri, position)
        rest = self.session.rest(place) if place is not None else ""
        if not rest:
            return
        offset = document.offset(position)  # of a position beyond a line's end, that end
        edit = types.TextEdit(document.range(offset, offset), part(rest))
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.workspace_edit and workspace.workspace_edit.document_changes:
            versioned = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            changes = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(versioned, [edit])])
        else:
            changes = types.WorkspaceEdit(changes={document.uri: [edit]})
        with suppress(JsonRpcException):  # an editor that cannot change documents at a server's request
            await self.editor.apply(types.ApplyWorkspaceEditParams(changes, label="Paceline"))

    def _seen(self, params: object) -> None:
        if number := _number(_arguments(params)):
            self.session.seen(number)

    def _accepted_part(self, params: object) -> None:
        length, number = _get(params, "acceptedLength"), _number(_arguments(params))
        shown = self.session.shown.get(number)
        if shown is not None and _is_number(length):
            self.session.accepted(number, column(shown.text, length, self.documents.encoding))

    def _focused(self, params: object) -> None:
        document = self.documents.document(str(_get(_get(params, "textDocument"), "uri")))
        if document is not None:
            self.session.focused(document.uri)

    async def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        await self.session.ready()
        document = self.documents.document(params.text_document.uri)
        if document is None or document.lost or self._excluded(document):
            return []
        return self.edits.actions(params)

    async def _edit(self, *arguments: object) -> None:
        await self.session.ready()
        uri = next(iter(arguments), None)
        document = self.documents.document(uri) if isinstance(uri, str) else None
        if document is not None and self._excluded(document):
            why = "it is secret, or your rules exclude it"
            self.session.telling.once("warning", f"Paceline does not edit this file: {why}")
        else:
            self.edits.begin(arguments)

    def _excluded(self, document: Document) -> bool:
        """Whether no model may be shown a document."""
        return self.session.excluded(document.uri, *self.documents.home(document.uri))

    # the engine

    def _restart(self, *_: object) -> None:
        self.session.restart()

    def _status(self, *_: object) -> str:
        return self.session.status()

    def _heard(self, answer: "Answer") -> None:
        """Tell our own plug-ins what to show in a status bar, when that changes."""
        state = {"model": self.session.engine.model, "silence": answer.silence}
        if state != self._state and answer.silence != "superseded":
            self._state = state
            self.editor.notify("paceline/status", state)


def _arguments(params: object) -> Sequence[object]:
    """Of the command that the item in a notification carries."""
    found = _get(_get(_get(params, "item"), "command"), "arguments")
    return found if isinstance(found, (list, tuple)) else ()


def _number(arguments: Sequence[object]) -> int:
    """The suggestion's; 0 where there is none."""
    first = arguments[0] if arguments else 0
    return first if _is_number(first) else 0


def _is_number(value: object) -> TypeGuard[int]:
    """Whether it may count something. Python takes a truth value for a number."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _position(at: object) -> types.Position | None:
    """The position that a command was given as plain data; None for anything else."""
    line, character = _get(at, "line"), _get(at, "character")
    return types.Position(line, character) if _is_number(line) and _is_number(character) else None


def _replaces(where: types.Range, cursor: types.Position, document: Document) -> bool:
    """Whether a popup's choice can stand there: on the cursor's line, around the cursor, in the document."""
    start, end = document.offset(where.start), document.offset(where.end)
    on_one_line = where.start.line == where.end.line == cursor.line
    there = document.range(start, end) == where
    return on_one_line and there and start <= document.offset(cursor) <= end


def _get(data: object, name: str) -> object:
    """A field of what came without a type of its own: pygls makes objects of some and leaves others as they are."""
    return data.get(name) if isinstance(data, dict) else getattr(data, name, None)
