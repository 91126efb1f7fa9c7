"""A change that cannot be read leaves the document's text unknown: nothing is suggested or edited until it is whole."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from paceline.lsp import changes, quiet
from paceline.lsp.session import LOST
from support.lsp_editor import LspEditor, Page, lsp_editor, run
from support.lsp_wire import TEXT, Wire, until
from support.real_daemon import RealDaemon

FUNCTION = "import os\n\n\ndef total(values):\n    result = |\n    return result\n"
DID_CHANGE = "textDocument/didChange"
AT = {"line": 4, "character": 13}
INSERTED = {"range": {"start": AT, "end": AT}, "text": "a"}


def shaped(*, uri: str, version: object = 2, edits: object = (INSERTED,)) -> dict[str, Any]:
    told = list(edits) if isinstance(edits, tuple) else edits
    return {"textDocument": {"uri": uri, "version": version}, "contentChanges": told}


def ranged(start: object, end: object) -> dict[str, Any]:
    return {"range": {"start": start, "end": end}, "text": "a"}


def unreadable(uri: str) -> Iterator[dict[str, Any]]:
    """Parameters of a change that tell which document they are about, and not what has become of it."""
    far, negative = {"line": 900, "character": 0}, {"line": -1, "character": 0}
    for edits in (
        None,
        3,
        "x",
        {},
        [None],
        [3],
        [[]],
        [{}],
        [{"text": None}],
        [{"text": 5}],
        [{"range": INSERTED["range"]}],
    ):
        yield shaped(uri=uri, edits=edits)
    for start, end in (
        (far, far),
        (negative, AT),
        (AT, None),
        (None, AT),
        ({"line": 4}, AT),
        ({**AT, "line": "4"}, AT),
    ):
        yield shaped(uri=uri, edits=(ranged(start, end),))
    for odd in (True, 1.5, 2**31, 10**40, float("inf")):
        yield shaped(uri=uri, edits=(ranged({"line": 4, "character": odd}, AT),))
    yield shaped(uri=uri, edits=({**INSERTED, "range": []},))
    yield shaped(uri=uri, edits=({**INSERTED, "rangeLength": "x"},))
    yield shaped(uri=uri, edits=(INSERTED, {"text": None}))
    yield {"textDocument": {"uri": uri, "version": 2}}


async def silence(editor: LspEditor) -> str:
    """The last reason why nothing was suggested."""
    return str(await editor.do("paceline.status"))


def test_after_a_change_that_cannot_be_read_nothing_is_suggested_and_one_message_says_so(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            for number, params in enumerate(unreadable("")):
                page = editor.open(FUNCTION, name=f"a{number}.py")
                params["textDocument"]["uri"] = page.uri
                editor.send(DID_CHANGE, params)
                assert await page.ask() == [], params
            assert await editor.open(FUNCTION, name="other.py").ask()
            assert editor.shown == [LOST]
            assert quiet.REASONS["unread"] in await silence(editor)

    run(scenario)


def test_a_whole_text_or_opening_it_again_mends_that(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            first, second = editor.open(FUNCTION), editor.open(FUNCTION, name="b.py")
            for page in (first, second):
                editor.send(DID_CHANGE, shaped(uri=page.uri, edits=[{"text": 5}]))
                page.version = 2
                page.type("va")
                assert await page.ask() == []
            first.set(first.text, first.cursor)
            assert await first.ask()
            first.type("lu")
            assert await first.ask()
            second.close()
            assert await editor.open(FUNCTION, name="b.py").ask()
            assert editor.shown == [LOST]

    run(scenario)


@pytest.mark.parametrize("params", [None, [], "x", 3, {}, {"textDocument": None}, {"textDocument": {"uri": 3}}])
def test_a_change_of_nobody_knows_which_document_may_be_of_any(daemon: RealDaemon, params: object):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            pages = [editor.open(FUNCTION, name=name) for name in ("a.py", "b.py")]
            editor.send(DID_CHANGE, params)
            assert [await page.ask() for page in pages] == [[], []]
            assert editor.shown == [LOST]

    run(scenario)


def test_what_the_protocol_gives_a_meaning_to_is_read(daemon: RealDaemon):
    top = {"line": 0, "character": 0}
    told = [
        ranged(AT, {**AT, "character": 99}),  # behind the line's end
        ranged({"line": 6, "character": 0}, {"line": 99, "character": 0}),  # behind the last line
        ranged({"line": 7, "character": 0}, {"line": 7, "character": 0}),  # as some editors append
        ranged(AT, {**AT, "character": 4}),  # its end before its start
        ranged({"line": 4.0, "character": 13.0}, AT),
        ranged(AT, {**AT, "character": 2**31 - 1}),
        {**ranged(top, top), "rangeLength": 0, "more": 1},
        {"range": None, "rangeLength": None, "text": FUNCTION.replace("|", "a")},
    ]

    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            for number, change in enumerate(told):
                page = editor.open(FUNCTION, name=f"a{number}.py")
                editor.send(DID_CHANGE, shaped(uri=page.uri, version=1, edits=[change]))
                assert await actions(page), change
            page = editor.open(FUNCTION, name="old.py")
            editor.send(DID_CHANGE, shaped(uri=page.uri, version=0, edits=[told[0]]))
            assert await actions(page), "an older version"
            assert editor.shown == []

    run(scenario)


async def actions(page: Page) -> list[types.Command]:
    """Code actions of the first two lines."""
    whole = types.Range(types.Position(0, 0), types.Position(2, 0))
    asked = types.CodeActionParams(types.TextDocumentIdentifier(page.uri), whole, types.CodeActionContext([]))
    found = await page.client.text_document_code_action_async(asked)
    return [each for each in found or [] if isinstance(each, types.Command)]


def test_no_edit_is_offered_or_made_and_the_person_learns_why(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            assert await actions(page)
            editor.send(DID_CHANGE, shaped(uri=page.uri, edits=None))
            assert await actions(page) == []
            await editor.do("paceline.edit", page.uri, {"start": AT, "end": AT}, 1, "rename it")
            for _ in range(200):
                if len(editor.shown) > 1:
                    break
                await asyncio.sleep(0.01)
            assert "last change of the document could not be read" in editor.shown[-1]

    run(scenario)


def test_what_is_computed_already_is_not_shown_either(tmp_path: Path):
    uri = "file:///work/a.py"

    async def scenario() -> None:
        wire = Wire(tmp_path)
        await wire.begin()
        wire.open(uri)
        assert await wire.suggested(uri)
        wire.notify(DID_CHANGE, {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": TEXT * 2}]})
        wire.infiller.gate.clear()
        waiting = asyncio.ensure_future(wire.suggested(uri))
        await until(lambda: len(wire.infiller.completions) > 1)
        wire.notify(DID_CHANGE, shaped(uri=uri, edits=None))
        wire.infiller.gate.set()
        assert await waiting == []
        at = {"line": 3, "character": 8}  # where something has been suggested before
        await wire.ask("workspace/executeCommand", {"command": "paceline.acceptWord", "arguments": [uri, at]})
        assert not [each for each in wire.said if each.get("method") == "workspace/applyEdit"]
        assert wire.shown == [LOST]

    run(scenario)


def test_an_opening_without_a_text_is_none(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            again = {"uri": page.uri, "languageId": "python", "version": 1}
            for text in ({}, {"text": None}, {"text": 5}):
                editor.send("textDocument/didOpen", {"textDocument": {**again, **text}})
            assert await page.ask() == []
            editor.send("textDocument/didOpen", {"textDocument": {**again, "text": page.text}})
            assert await page.ask()
            assert editor.shown == [LOST]

    run(scenario)


@pytest.mark.parametrize(
    ("cells", "readable"),
    [
        (None, True),
        ({"textContent": None}, True),
        ({"textContent": [{"document": {"uri": "x"}, "changes": [{"text": "a"}]}]}, True),
        ({"textContent": 3}, False),
        ({"textContent": [{"document": {"uri": 3}, "changes": []}]}, False),
        ({"textContent": [{"document": {"uri": "x"}, "changes": [{"text": 3}]}]}, False),
        ({"textContent": [{"document": {"uri": "x"}}]}, False),
    ],
)
def test_texts_of_a_notebook_s_cells_are_looked_at_alike(cells: object, readable: bool):
    assert changes.is_readable_notebook({"notebookDocument": {"uri": "n"}, "change": {"cells": cells}}) == readable
