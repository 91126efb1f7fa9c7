"""What edits and messages need of the editor, through the server's connection to it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from paceline.lsp.documents import Document
from paceline.lsp.protocol import DocumentProtocol
from paceline.lsp.telling import Kind

KINDS: dict[Kind, types.MessageType] = {
    "error": types.MessageType.Error,
    "warning": types.MessageType.Warning,
    "info": types.MessageType.Info,
}


class Editor:
    """The client of one connection. Belongs to one event loop, `log` aside, which any thread may call."""

    def __init__(self, server: LanguageServer, protocol: DocumentProtocol) -> None:
        self._server = server
        self._protocol = protocol
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def capabilities(self) -> types.ClientCapabilities:
        """What it can do. There is none before `initialize`."""
        return self._server.client_capabilities

    def document(self, uri: str) -> Document | None:
        """An open document, as it is now."""
        return self._protocol.documents.document(uri)

    def text(self, uri: str) -> str | None:
        """An open document's text."""
        document = self.document(uri)
        return document.text if document is not None else None

    def name(self, uri: str) -> str:
        """A document's path in its workspace folder; "" where it has none."""
        return self._protocol.documents.home(uri)[0]

    def connected(self) -> None:
        """It has said who it is: from now on it may be written to."""
        self._loop = asyncio.get_running_loop()

    def show(self, kind: Kind, text: str) -> None:
        """A message before the person's eyes."""
        self._server.window_show_message(types.ShowMessageParams(KINDS[kind], text))

    def log(self, text: str) -> None:
        """A line for its log."""
        if self._loop is not None and not self._loop.is_closed():
            message = types.LogMessageParams(types.MessageType.Log, text)
            self._loop.call_soon_threadsafe(self._server.window_log_message, message)

    def notify(self, method: str, params: object) -> None:
        """A notification that the protocol does not know; editors without our plug-in leave it alone."""
        self._server.protocol.notify(method, params)

    async def settings(self, section: str, scopes: Sequence[str | None]) -> list[object] | None:
        """Its settings for each of these places, None standing for none in particular; None if it cannot be asked."""
        workspace = self.capabilities.workspace
        if workspace is None or not workspace.configuration:
            return None
        items = [types.ConfigurationItem(scope_uri=scope, section=section) for scope in scopes]
        try:
            found = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
        except JsonRpcException:  # it said that it can be asked, but does not want to now
            return None
        return list(found)

    async def subscribe(self, section: str) -> None:
        """Ask to be told when settings change; an editor may refuse that."""
        workspace = self.capabilities.workspace
        changes = workspace.did_change_configuration if workspace is not None else None
        if changes is not None and changes.dynamic_registration:
            name = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            wanted = types.Registration("paceline-configuration", name, {"section": section})
            with suppress(JsonRpcException):
                await self._server.client_register_capability_async(types.RegistrationParams([wanted]))

    async def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        """Change documents, if the person agrees."""
        return await self._server.workspace_apply_edit_async(params)

    async def progress(self, title: str, cancel: Callable[[], None]) -> "Progress":
        """Show that something is computed, where the editor can. `cancel`: the person has had enough of it."""
        window = self.capabilities.window
        if window is None or not window.work_done_progress:
            return Progress(self._server, None)
        token = f"paceline-{uuid4().hex}"
        shown = self._server.work_done_progress
        await shown.create_async(token)
        shown.begin(token, types.WorkDoneProgressBegin(title, cancellable=True))
        stopped = shown.tokens[token]
        stopped.add_done_callback(lambda future: cancel() if future.cancelled() else None)
        return Progress(self._server, token)


class Progress:
    """What the editor shows of one piece of work."""

    def __init__(self, server: LanguageServer, token: str | None) -> None:
        self._server = server
        self._token = token

    def report(self, message: str, percentage: int | None = None) -> None:
        """How far it is."""
        if self._token is not None:
            report = types.WorkDoneProgressReport(message=message, percentage=percentage)
            self._server.work_done_progress.report(self._token, report)

    def end(self) -> None:
        """It is over, one way or the other."""
        if self._token is not None:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())
            self._server.work_done_progress.tokens.pop(self._token, None)
            self._token = None
