"""A suggestion of which the next word or line is taken by a command counts as accepted."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from paceline.lsp.figures_store import Store
from support.lsp_wire import TEXT, Wire

URI = "file:///work/a.py"
CAN = {"textDocument": {"inlineCompletion": {}}, "workspace": {"applyEdit": True}}


class Taking(Wire):
    """An editor that cannot take parts itself, and does what the server asks it to do."""

    def apply(self, params: Any) -> dict[str, Any]:
        (edit,) = params["edit"]["changes"][URI]
        change = {"range": edit["range"], "text": edit["newText"]}
        which = {"textDocument": {"uri": URI, "version": 7}, "contentChanges": [change]}
        self.notify("textDocument/didChange", which)
        return {"result": {"applied": True}}

    async def take(self, command: str) -> None:
        text = self.server.documents.open[URI].text
        at = {"line": 3, "character": len(text.split("\n")[3])}
        await self.ask("workspace/executeCommand", {"command": command, "arguments": [URI, at]})

    def counted(self) -> dict[str, int]:
        told = Store(self._folder / "figures.sqlite3").read()
        names = ("shown", "accepted", "ignored", "rejected", "characters")
        return {name: sum(count for (_, _, what), count in told.items() if what == name) for name in names}


@pytest.mark.parametrize("asks_again", [False, True], ids=["asks once", "asks after each part"])
def test_what_is_taken_word_by_word_is_accepted(tmp_path: Path, asks_again: bool):
    async def scenario() -> None:
        editor = Taking(tmp_path)
        editor.replies["workspace/applyEdit"] = editor.apply
        await editor.begin(can=CAN)
        editor.open(URI)
        assert await editor.suggested(URI) == ["len(VALUES)"]
        for rest in ("(VALUES)", "VALUES)", ")"):
            await editor.take("paceline.acceptWord")
            if asks_again:
                assert await editor.suggested(URI) in ([rest], [])
        await editor.take("paceline.acceptLine")
        assert "value = len(VALUES)\n" in editor.server.documents.open[URI].text
        await editor.ask("shutdown", None)
        assert editor.counted() == {"shown": 1, "accepted": 1, "ignored": 0, "rejected": 0, "characters": 11}

    asyncio.run(asyncio.wait_for(scenario(), 20))


@pytest.mark.parametrize("reply", [{"result": {"applied": False}}, {"error": {"code": -1, "message": "no"}}])
def test_what_the_editor_does_not_insert_is_not_accepted(tmp_path: Path, reply: dict[str, Any]):
    async def scenario() -> None:
        editor = Taking(tmp_path)
        editor.replies["workspace/applyEdit"] = lambda params: reply
        await editor.begin(can=CAN)
        editor.open(URI)
        assert await editor.suggested(URI)
        await editor.take("paceline.acceptLine")
        assert editor.server.documents.open[URI].text == TEXT
        await editor.ask("shutdown", None)
        assert editor.counted() == {"shown": 1, "accepted": 0, "ignored": 1, "rejected": 0, "characters": 0}

    asyncio.run(asyncio.wait_for(scenario(), 20))
