"""An editor for tests: a real `paceline lsp` process over stdio, and what a person does in a document."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client

from paceline.lsp.positions import Encoding, LineIndex, position_of

PATIENCE = 60.0  # seconds after which something hangs
ROOT = "file:///work/project"
INVOKED, AUTOMATIC = types.InlineCompletionTriggerKind.Invoked, types.InlineCompletionTriggerKind.Automatic


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """A scenario from beginning to end, or an error when it hangs."""
    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))


def capabilities(
    *, encodings: tuple[str, ...] = (), inline: bool = True, configuration: bool = False, notebooks: bool = False
) -> types.ClientCapabilities:
    inline_completion = types.InlineCompletionClientCapabilities() if inline else None
    markdown = types.ClientCompletionItemOptions(documentation_format=[types.MarkupKind.Markdown])
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(
            position_encodings=[types.PositionEncodingKind(each) for each in encodings] or None
        ),
        text_document=types.TextDocumentClientCapabilities(
            inline_completion=inline_completion,
            completion=types.CompletionClientCapabilities(completion_item=markdown),
        ),
        workspace=types.WorkspaceClientCapabilities(
            configuration=configuration, apply_edit=True, workspace_folders=True
        ),
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities())
        if notebooks
        else None,
        window=types.WindowClientCapabilities(work_done_progress=True),
    )


class Page:
    """A document that is open in the editor, and its cursor, which is an offset of characters."""

    def __init__(self, client: LanguageClient, uri: str, text: str, cursor: int, encoding: Encoding) -> None:
        self.client, self.uri, self.text, self.cursor, self.encoding = client, uri, text, cursor, encoding
        self.version = 1

    def position(self, offset: int) -> types.Position:
        return types.Position(*position_of(self.text, LineIndex(self.text), offset, self.encoding))

    def replace(self, start: int, end: int, text: str) -> None:
        """Tell the server of an edit, and make it; the cursor goes behind it."""
        where = types.Range(self.position(start), self.position(end))
        self.text = self.text[:start] + text + self.text[end:]
        self.version += 1
        self.cursor = start + len(text)
        self._tell(types.TextDocumentContentChangePartial(where, text))

    def type(self, text: str) -> None:
        self.replace(self.cursor, self.cursor, text)

    def delete(self, count: int = 1) -> None:
        self.replace(self.cursor - count, self.cursor, "")

    def set(self, text: str, cursor: int) -> None:
        """The whole text anew, as editors do that do not know edits."""
        self.text, self.cursor = text, cursor
        self.version += 1
        self._tell(types.TextDocumentContentChangeWholeDocument(text))

    def _tell(self, change: types.TextDocumentContentChangeEvent) -> None:
        which = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(which, [change]))

    async def ask(
        self,
        kind: types.InlineCompletionTriggerKind = INVOKED,
        chosen: types.SelectedCompletionInfo | None = None,
        at: int | None = None,
    ) -> list[types.InlineCompletionItem]:
        position = self.position(self.cursor if at is None else at)
        context = types.InlineCompletionContext(kind, chosen)
        asked = types.InlineCompletionParams(context, types.TextDocumentIdentifier(self.uri), position)
        found = await self.client.text_document_inline_completion_async(asked)
        assert isinstance(found, types.InlineCompletionList)
        return list(found.items)

    async def popup(self) -> types.CompletionList:
        asked = types.CompletionParams(types.TextDocumentIdentifier(self.uri), self.position(self.cursor))
        found = await self.client.text_document_completion_async(asked)
        assert isinstance(found, types.CompletionList)
        return found

    def close(self) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri)))


class LspEditor:
    """The editor. `client.messages` is what was shown, `client.log_messages` what was logged."""

    def __init__(self, client: LanguageClient, result: types.InitializeResult) -> None:
        self.client, self.result = client, result
        encoding = result.capabilities.position_encoding or "utf-16"
        self.encoding: Encoding = str(getattr(encoding, "value", encoding))  # type: ignore[assignment]

    def open(
        self, text: str, *, name: str = "a.py", language: str = "python", uri: str = "", cursor: int | None = None
    ) -> Page:
        """A document whose text has `|` where the cursor is, unless that is said."""
        if cursor is None:
            cursor = text.index("|")
            text = text.replace("|", "", 1)
        page = Page(self.client, uri or f"{ROOT}/{name}", text, cursor, self.encoding)
        item = types.TextDocumentItem(page.uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return page

    async def do(self, command: str, *arguments: Any) -> Any:
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command, arguments=list(arguments))
        )

    def send(self, method: str, params: object, **more: object) -> None:
        """A notification that may be against the protocol; with an `id`, a request whose answer is not looked at."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.client._server is not None
        assert self.client._server.stdin is not None
        self.client._server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    @property
    def shown(self) -> list[str]:
        return [each.message for each in self.client.messages]

    @property
    def logged(self) -> list[str]:
        return [each.message for each in self.client.log_messages]

    @property
    def pid(self) -> int:
        assert self.client._server is not None
        return self.client._server.pid


@asynccontextmanager
async def lsp_editor(
    environment: Mapping[str, str],
    *,
    options: object = None,
    settings: Mapping[str, object] | None = None,
    root: str = ROOT,
    arguments: tuple[str, ...] = (),
    can: types.ClientCapabilities | None = None,
) -> AsyncIterator[LspEditor]:
    """A server process that is spoken to. options: initializationOptions; settings: what the editor has for it."""
    client = make_test_lsp_client()
    if settings is not None:
        client.set_configuration({"paceline": dict(settings)})
    can = can or capabilities(configuration=settings is not None)
    environment = {**environment, "PYTHONFAULTHANDLER": "1"}
    await client.start_io(sys.executable, "-m", "paceline", "lsp", *arguments, env=environment)
    try:
        params = types.InitializeParams(
            capabilities=can,
            process_id=os.getpid(),
            root_uri=root,
            workspace_folders=[types.WorkspaceFolder(root, "project")],
            initialization_options=options,
        )
        yield LspEditor(client, await client.initialize_session(params))
        await client.shutdown_session()
    finally:
        process = client._server
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
        await client.stop()
