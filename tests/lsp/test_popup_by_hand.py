"""In an editor that has a list only, what is asked for by hand can be told from what the list asks for by itself."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from support.lsp_wire import Wire

URI = "file:///work/a.py"
LIST = {"textDocument": {"completion": {}}}
BY_HAND, BY_A_CHARACTER, GOING_ON = {"triggerKind": 1}, {"triggerKind": 2}, {"triggerKind": 3}
COMMENT = "import os\nimport sys\nVALUES = [1, 2]\n# sums up the \n"


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


class Listing(Wire):
    """An editor with a list. What is asked by hand is computed in a comment, too, and several times."""

    async def start(self, text: str) -> None:
        self.infiller.says = lambda prefix, suffix, options: f"values {options.seed or 0}"
        await self.begin(can=LIST)
        self.open(URI, text)

    async def listed(self, context: object) -> list[dict[str, Any]]:
        """The entries for the end of the text's last line but one."""
        text = self.server.documents.open[URI].text
        line = text.count("\n") - 1
        at = {"line": line, "character": len(text.split("\n")[line])}
        asked = {"textDocument": {"uri": URI}, "position": at, **({"context": context} if context else {})}
        found = await self.ask("textDocument/completion", asked)
        return list(found["result"]["items"])

    def type(self, text: str) -> None:
        before = self.server.documents.open[URI].text
        changes = [{"text": before.removesuffix("\n") + text + "\n"}]
        which = {"uri": URI, "version": len(before)}
        self.notify("textDocument/didChange", {"textDocument": which, "contentChanges": changes})


@pytest.mark.parametrize("context", [BY_HAND, None], ids=["said", "not said"])
def test_what_is_asked_for_where_nothing_has_changed_is_asked_for_by_hand(tmp_path: Path, context: object):
    async def scenario() -> None:
        editor = Listing(tmp_path)
        await editor.start(COMMENT)
        found = await editor.listed(context)
        assert [each["insertText"] for each in found] == ["values 0", "values 1", "values 2"]
        assert sorted(found, key=lambda each: each["sortText"]) == found
        assert len({each["sortText"] for each in found}) == 3
        assert [each["preselect"] for each in found] == [True, False, False]

    run(scenario)


@pytest.mark.parametrize("context", [BY_A_CHARACTER, GOING_ON])
def test_what_an_editor_asks_for_by_itself_is_not_asked_for_by_hand(tmp_path: Path, context: object):
    async def scenario() -> None:
        editor = Listing(tmp_path)
        await editor.start(COMMENT)
        assert await editor.listed(context) == []

    run(scenario)


def test_an_editor_that_says_by_hand_whenever_something_was_typed_is_seen_through(tmp_path: Path):
    async def scenario() -> None:
        editor = Listing(tmp_path)
        await editor.start(COMMENT)
        for _ in range(3):
            editor.type("x")
            assert await editor.listed(BY_HAND) == []
        assert await editor.listed(BY_HAND)
        editor.type("y")
        assert await editor.listed(BY_HAND) == []

    run(scenario)


def test_the_same_text_asked_for_by_hand_after_typing_offers_several(tmp_path: Path):
    async def scenario() -> None:
        editor = Listing(tmp_path)
        await editor.start("import os\nimport sys\nVALUES = [1, 2]\nvalue =\n")
        editor.type(" ")
        assert len(await editor.listed(BY_HAND)) == 1
        assert len(await editor.listed(BY_HAND)) == 3

    run(scenario)
