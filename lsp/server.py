"""The language server: what the protocol says, handed to the session; and back.

Handlers only translate. All of them that wait are coroutines, so the reader goes on while an engine computes.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial  # pygls writes attributes on handlers, which methods do not take
from json import JSONDecodeError
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from paceline import __version__
from paceline.config import EditorConfig
from paceline.lsp import fallback, options, untyped
from paceline.lsp.commands import ACCEPT, ACCEPT_LINE, ACCEPT_WORD, EDIT, RESTART, STATUS
from paceline.lsp.documents import Document, Documents
from paceline.lsp.editor import Editor
from paceline.lsp.place import Place
from paceline.lsp.positions import column
from paceline.lsp.protocol import DocumentProtocol
from paceline.lsp.watching import Watch

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader, AsyncWriter, Writer

    from paceline.lsp.completing import Answer
    from paceline.lsp.edits import Edits
    from paceline.lsp.session import Session, Shown

logger = logging.getLogger(__name__)
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithNotebook(notebook="*")], save=False
)
NONSENSE = (JSONDecodeError, UnicodeDecodeError, RecursionError)  # what comes of a message that is no JSON
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")  # that ask the process to end
LAST = 1.0  # seconds for what is to be written by then
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
        self._typed: set[str] = set()  # documents that have changed since a popup was answered there
        self._over = asyncio.Event()
        self._watch: Watch | None = None
        self._closing: asyncio.Task[None] | None = None
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

    async def speak(self, reader: "AsyncReader", writer: "AsyncWriter | Writer") -> None:
        """With the editor at the other end, until it goes, in whatever way, or the process is told to end."""
        self._stop_event = Event()
        self.protocol.set_writer(writer)
        self.protocol.on_exit = self.stop
        loop = asyncio.get_running_loop()
        for name in SIGNALS:
            with suppress(NotImplementedError, AttributeError, ValueError):  # the system does not have it
                loop.add_signal_handler(getattr(signal, name), self.stop)
        reading = run_async(self._stop_event, reader, self.protocol, logger, self.report_server_error)
        speaking = loop.create_task(reading)
        over = loop.create_task(self._over.wait())
        try:
            await asyncio.wait({speaking, over}, return_when=asyncio.FIRST_COMPLETED)
            if speaking.done():
                speaking.result()
        finally:
            for task in (speaking, over):
                task.cancel()
            await self._farewell()
            self.shutdown()  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """End: nobody is there any more."""
        self._over.set()

    async def _farewell(self) -> None:
        """Write what was counted, also where the editor has not said that it goes."""
        if self.protocol.left is None:
            self.protocol.left = 0
        if self._watch is not None:
            self._watch.stop()
        if "_made" in vars(self):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._close(), LAST)

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
        if params.process_id is not None:
            self._watch = Watch(params.process_id, self.stop)
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
        await self.editor.subscribe(options.SECTION)

    async def _reconfigured(self, params: types.DidChangeConfigurationParams) -> None:
        if not await self._pull() and params.settings is not None:
            self.session.configure(_said(params.settings))

    async def _refoldered(self, _: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders have come or gone: documents may lie in others now, which have rules of their own."""
        await self._read_projects()
        for document in list(self.documents.open.values()):
            self._opened(document)
        await self._pull()

    async def _pull(self) -> bool:
        """Ask the editor for its settings, in general and in each folder of the workspace; whether it can be asked."""
        places = {self.documents.located(uri)[1]: uri.removesuffix("/x") for uri in self._folders()}
        places.pop("", None)  # on another machine: nothing tells its documents from others
        found = await self.editor.settings(options.SECTION, [None, *places.values()])
        if found is None:
            return False
        usual, *own = found or [None]
        folders = zip(places, own, strict=False)  # some editors answer the first question only
        self.session.configure(_said(usual), {root: _said(each) for root, each in folders if each not in (None, usual)})
        return True

    async def _shutdown(self, _: object) -> None:
        await self._close()

    async def _close(self) -> None:
        """Once, however many want it."""
        self._closing = self._closing or asyncio.get_running_loop().create_task(self._end())
        await asyncio.shield(self._closing)

    async def _end(self) -> None:
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

    def _changed(self, uri: str, start: int, removed: str, inserted: str, document: Document) -> None:
        def here() -> Place:
            place = self.documents.place(uri, document.position(start + len(inserted)))
            assert place is not None, "a document that changes is open"
            return place

        self._typed.add(uri)
        self.session.changed(uri, document.text, start, removed, inserted, here)

    def _closed(self, document: Document) -> None:
        self._typed.discard(document.uri)
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
        uri = params.text_document.uri
        document = self.documents.document(uri)
        asked = document is not None and self._by_hand(params.context, document)
        shown, where = await self._suggested(uri, params.position, asked=asked, chosen=None)
        if document is None or where is None:
            return fallback.completion_list([])
        self._typed.discard(document.uri)
        items = [fallback.item(each, document, where.start) for each in shown]
        for number, item in enumerate(items[1:], 1):  # the likeliest one stands above the others
            item.sort_text, item.preselect = f"{item.sort_text}{number}", False
        return fallback.completion_list(items)

    def _by_hand(self, context: types.CompletionContext | None, document: Document) -> bool:
        """Whether a person has asked for a popup. Some editors say so of those, too, that they open by themselves.

        They do that when something has been typed. Who wants to see something by hand has seen, mostly, what came of
        typing; nothing has changed since then.
        """
        invoked = context is None or context.trigger_kind == types.CompletionTriggerKind.Invoked
        return invoked and document.uri not in self._typed

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
        if number := untyped.number(arguments):
            self.session.accepted(number)

    async def _accept_word(self, *arguments: object) -> None:
        await self._accept_part(arguments, fallback.first_word)

    async def _accept_line(self, *arguments: object) -> None:
        await self._accept_part(arguments, fallback.first_line)

    async def _accept_part(self, arguments: Sequence[object], part: Callable[[str], str]) -> None:
        """Insert the next part of what is suggested at (uri, position), for editors that cannot do that themselves."""
        uri, at = (*arguments, None, None)[:2]
        position = untyped.position(at)
        document = self.documents.document(uri) if isinstance(uri, str) else None
        if document is None or position is None or document.lost:
            return
        place = self.documents.place(document.uri, position)
        rest = self.session.rest(place) if place is not None else ""
        if place is None or not rest:
            return
        text, shown = part(rest), self.session.showing(place)
        offset = document.offset(position)  # of a position beyond a line's end, that end
        edit = types.TextEdit(document.range(offset, offset), text)
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.workspace_edit and workspace.workspace_edit.document_changes:
            versioned = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
            changes = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(versioned, [edit])])
        else:
            changes = types.WorkspaceEdit(changes={document.uri: [edit]})
        with suppress(JsonRpcException):  # an editor that cannot change documents at a server's request
            done = await self.editor.apply(types.ApplyWorkspaceEditParams(changes, label="Paceline"))
            if done.applied and shown is not None:
                self.session.accepted(shown.number, len(place.before) - len(shown.place.before) + len(text))

    def _seen(self, params: object) -> None:
        if number := untyped.number(untyped.arguments(params)):
            self.session.seen(number)

    def _accepted_part(self, params: object) -> None:
        length, number = untyped.get(params, "acceptedLength"), untyped.number(untyped.arguments(params))
        shown = self.session.shown.get(number)
        if shown is not None and untyped.is_number(length):
            self.session.accepted(number, column(shown.text, length, self.documents.encoding))

    def _focused(self, params: object) -> None:
        document = self.documents.document(str(untyped.get(untyped.get(params, "textDocument"), "uri")))
        if document is not None:
            self.session.focused(document.uri, untyped.lines(untyped.get(params, "visibleRange")))

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


def _said(values: object) -> options.Source:
    return options.given("the editor's settings", values)


def _replaces(where: types.Range, cursor: types.Position, document: Document) -> bool:
    """Whether a popup's choice can stand there: on the cursor's line, around the cursor, in the document."""
    start, end = document.offset(where.start), document.offset(where.end)
    on_one_line = where.start.line == where.end.line == cursor.line
    there = document.range(start, end) == where
    return on_one_line and there and start <= document.offset(cursor) <= end
