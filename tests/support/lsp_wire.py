"""The language server in this process, with a scripted engine behind it, spoken to message by message."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paceline.config import Config, EditorConfig
from paceline.lsp.context.gather import Context, redacted
from paceline.lsp.editor import Editor
from paceline.lsp.edits import Edits
from paceline.lsp.engine import Engine
from paceline.lsp.figures import Figures
from paceline.lsp.figures_store import Store
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.server import Server
from paceline.lsp.session import Session
from paceline.lsp.telling import Telling
from support.scripted_infiller import ScriptedInfiller

TEXT = "import os\nimport sys\nVALUES = [1, 2]\nvalue = \n"
INLINE: Mapping[str, Any] = {"textDocument": {"inlineCompletion": {}}}
Reply = Callable[[Any], Mapping[str, Any] | None]  # for a request's parameters: {"result": …} or {"error": …}


class NoChat:
    """Answers no question, and remembers that one was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def chat(self, messages: Any, options: Any) -> Any:
        self.asked.append(messages)
        raise AssertionError("nothing was to be asked")


class Wire:
    """An editor's end. `replies`: how it answers the server's requests, by method; any other is left waiting."""

    def __init__(self, folder: Path, usual: EditorConfig | None = None) -> None:
        self.said: list[dict[str, Any]] = []
        self.replies: dict[str, Reply] = {}
        self.infiller = ScriptedInfiller(lambda prefix, suffix, options: "len(VALUES)")
        self.chat = NoChat()
        self._usual, self._folder = usual or EditorConfig(), folder
        self.server = Server(self._usual, self._behind)
        self.server.protocol.set_writer(self, include_headers=False)

    def _behind(self, editor: Editor) -> tuple[Session, Edits]:
        context = Context()
        context.configure(self._usual)
        store = Store(self._folder / "figures.sqlite3")
        figures, telling = Figures(store, editor.text), Telling(editor.show)
        config = Config(editor=self._usual)
        session = Session(config, Engine(self.infiller), context, telling, figures, editor.log)
        return session, Edits(self.chat, editor, redacted)

    def write(self, data: bytes) -> None:
        message = json.loads(data)
        self.said.append(message)
        reply = self.replies.get(message.get("method", ""))
        if reply is not None and "id" in message and (said := reply(message.get("params"))) is not None:
            asyncio.get_running_loop().call_soon(lambda: self.send({"id": message["id"], **said}))

    def close(self) -> None: ...

    def send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message})
        self.server.protocol.handle_message(json.loads(data, object_hook=self.server.protocol.structure_message))

    def notify(self, method: str, params: object) -> None:
        self.send({"method": method, "params": params})

    async def ask(self, method: str, params: object) -> dict[str, Any]:
        number = len(self.said) + 1000
        self.send({"id": number, "method": method, "params": params})
        return await until(lambda: next((each for each in self.said if each.get("id") == number), None))

    async def begin(self, *roots: Path, can: Mapping[str, Any] = INLINE, options: object = None) -> None:
        folders = [{"uri": each.as_uri(), "name": each.name} for each in roots]
        params = {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": can}
        await self.ask("initialize", {**params, "initializationOptions": options})
        self.notify("initialized", {})

    def open(self, uri: str, text: str = TEXT) -> None:
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}},
        )
        self.server.session.completer.desk(uri).rhythm = Rhythm(latency=0.0)

    async def suggested(self, uri: str) -> list[str]:
        """What is suggested at the end of the text's last line but one."""
        text = self.server.documents.open[uri].text
        line = text.count("\n") - 1
        at = {"line": line, "character": len(text.split("\n")[line])}
        asked = {"textDocument": {"uri": uri}, "position": at, "context": {"triggerKind": 2}}
        found = await self.ask("textDocument/inlineCompletion", asked)
        return [each["insertText"] for each in found["result"]["items"]]

    @property
    def shown(self) -> list[str]:
        return [each["params"]["message"] for each in self.said if each.get("method") == "window/showMessage"]


async def until(condition: Callable[[], Any]) -> Any:
    """What it gives as soon as it gives something."""
    while not (found := condition()):
        await asyncio.sleep(0.002)
    return found
