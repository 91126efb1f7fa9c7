"""Whose rules hold for which document: the person's, a project's, a notebook's; and what an editor may refuse."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from paceline.config import EditorConfig
from support.lsp_wire import INLINE, Wire, until

SETTINGS = {
    **INLINE,
    "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}},
}


@pytest.fixture
def run() -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    return lambda scenario: asyncio.run(asyncio.wait_for(scenario(), 20))


def project(folder: Path, said: str = "") -> Path:
    folder.mkdir()
    if said:
        (folder / ".paceline.toml").write_text(f"[editor]\n{said}\n", encoding="utf-8")
    return folder


async def edit(wire: Wire, uri: str) -> None:
    where = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    await wire.ask("workspace/executeCommand", {"command": "paceline.edit", "arguments": [uri, where, 1, "do"]})
    await asyncio.sleep(0)


def notebook(wire: Wire, folder: Path, *, known: bool = True) -> str:
    """A notebook with one cell is opened; where the editor does not tell of it, its cell alone. The cell's URI."""
    cell = f"vscode-notebook-cell:{folder.as_posix()}/n.ipynb#W0"
    if known:
        document = {"uri": cell, "languageId": "python", "version": 1, "text": "import os\nVALUES = [1, 2]\nvalue = \n"}
        book = {"uri": f"{folder.as_uri()}/n.ipynb", "notebookType": "jupyter", "version": 1}
        cells = [{"kind": 2, "document": cell}]
        wire.notify(
            "notebookDocument/didOpen", {"notebookDocument": {**book, "cells": cells}, "cellTextDocuments": [document]}
        )
    else:
        wire.open(cell)
    return cell


@pytest.mark.parametrize("known", [True, False])
def test_a_cell_of_a_notebook_that_is_to_be_left_alone_is_neither_completed_nor_edited(run, tmp_path, known):
    async def scenario() -> None:
        wire = Wire(tmp_path, EditorConfig(ignore=("private/",)))
        root = project(tmp_path / "a")
        await wire.begin(root)
        cell = notebook(wire, root / "private", known=known)
        assert await wire.suggested(cell) == []
        await edit(wire, cell)
        assert wire.chat.asked == []
        assert "does not edit this file" in "".join(wire.shown)
        assert await wire.suggested(notebook(wire, root / "public", known=known))

    run(scenario)


def test_an_edit_is_refused_however_the_address_of_the_file_is_written(run, tmp_path):
    async def scenario() -> None:
        wire = Wire(tmp_path, EditorConfig(ignore=("private/",)))
        root = project(tmp_path / "a")
        await wire.begin(root)
        wire.open(f"{root.as_uri()}/private/a.py")
        await edit(wire, f"{root.as_uri()}/priv%61te/a.py")
        assert wire.chat.asked == []

    run(scenario)


def test_every_folder_keeps_its_own_rules(run, tmp_path):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        one, two = project(tmp_path / "one", "enabled = false"), project(tmp_path / "two", 'ignore = ["private/"]')
        plain = project(tmp_path / "plain")
        await wire.begin(one, two, plain)
        expected = {(one, "a.py"): False, (two, "a.py"): True, (two, "private/a.py"): False, (plain, "a.py"): True}
        for (root, name), offered in expected.items():
            uri = f"{root.as_uri()}/{name}"
            wire.open(uri)
            assert bool(await wire.suggested(uri)) == offered, uri
        await edit(wire, f"{two.as_uri()}/private/a.py")
        assert wire.chat.asked == []

    run(scenario)


def test_an_edit_is_asked_for_by_hand_and_stays_possible_where_completions_are_off(run, tmp_path):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        root = project(tmp_path / "a", "enabled = false")
        await wire.begin(root)
        uri = f"{root.as_uri()}/a.py"
        wire.open(uri)
        assert await wire.suggested(uri) == []
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        offered = await wire.ask(
            "textDocument/codeAction", {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
        )
        assert offered["result"]
        await edit(wire, uri)
        await until(lambda: wire.chat.asked)

    run(scenario)


def test_a_folder_that_comes_later_brings_its_rules_also_for_what_is_open(run, tmp_path):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        one, later = project(tmp_path / "one"), project(tmp_path / "later", 'ignore = ["private/"]')
        uri = f"{later.as_uri()}/private/a.py"
        await wire.begin(one)
        wire.open(uri)
        assert await wire.suggested(uri)
        added = {"added": [{"uri": later.as_uri(), "name": "later"}], "removed": []}
        wire.notify("workspace/didChangeWorkspaceFolders", {"event": added})
        await asyncio.sleep(0)
        assert await wire.suggested(uri) == []
        await edit(wire, uri)
        assert wire.chat.asked == []

    run(scenario)


def test_a_projects_file_that_nobody_can_read_keeps_the_editors_settings_from_nothing(run, tmp_path):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        wire.replies["workspace/configuration"] = lambda params: {"result": [{"enabled": False}]}
        root = project(tmp_path / "a", f"max_lines = {'9' * 5000}")
        await wire.begin(root, can=SETTINGS)
        await until(lambda: not wire.server.session.settings.enabled)
        assert len(wire.shown) == 1
        assert ".paceline.toml" in wire.shown[0]

    run(scenario)


@pytest.mark.parametrize("answer", [{"error": {"code": -32601, "message": "no"}}, None])
def test_an_editor_that_refuses_to_tell_of_changes_is_asked_for_its_settings_all_the_same(run, tmp_path, answer):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        wire.replies["client/registerCapability"] = lambda params: answer
        wire.replies["workspace/configuration"] = lambda params: {"result": [{"enabled": False}]}
        await wire.begin(can=SETTINGS)
        await until(lambda: not wire.server.session.settings.enabled)
        assert wire.shown == []

    run(scenario)


@pytest.mark.parametrize("answer", [{"error": {"code": -32601, "message": "no"}}, {"result": "x"}, {"result": None}])
def test_an_editor_that_does_not_tell_its_settings_keeps_those_that_it_began_with(run, tmp_path, answer):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        asked = []
        wire.replies["workspace/configuration"] = lambda params: asked.append(1) or answer
        await wire.begin(can=SETTINGS, options={"candidates": 2})
        await until(lambda: asked)
        for count in (2, 3):
            wire.notify("workspace/didChangeConfiguration", {"settings": None})
            await until(lambda count=count: len(asked) == count)
        await asyncio.sleep(0.01)
        assert wire.server.session.settings.candidates == 2
        assert wire.shown == []

    run(scenario)


def test_what_an_editor_sends_along_holds_where_it_refuses_to_be_asked(run, tmp_path):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        wire.replies["workspace/configuration"] = lambda params: {"error": {"code": -32601, "message": "no"}}
        await wire.begin(can=SETTINGS)
        wire.notify("workspace/didChangeConfiguration", {"settings": {"paceline": {"enabled": False}}})
        await until(lambda: not wire.server.session.settings.enabled)

    run(scenario)


@pytest.mark.parametrize(("declared", "form"), [(True, "documentChanges"), (False, "changes")])
def test_the_next_word_is_inserted_in_the_form_that_the_editor_knows(run, tmp_path, declared, form):
    async def scenario() -> None:
        wire = Wire(tmp_path)
        edits = []
        wire.replies["workspace/applyEdit"] = lambda params: edits.append(params["edit"]) or {"result": None}
        await wire.begin(can={**INLINE, "workspace": {"workspaceEdit": {"documentChanges": declared}}})
        wire.open("file:///w/a.py")
        assert await wire.suggested("file:///w/a.py")
        where = {"line": 3, "character": 8}
        taking = {"command": "paceline.acceptWord", "arguments": ["file:///w/a.py", where]}
        await wire.ask("workspace/executeCommand", taking)
        assert [list(each) for each in edits] == [[form]]

    run(scenario)


@pytest.mark.parametrize(("folder", "seen"), [("private", False), ("public", True)])
def test_a_cell_of_a_notebook_that_is_to_be_left_alone_is_not_shown_in_other_documents(run, tmp_path, folder, seen):
    async def scenario() -> None:
        wire = Wire(tmp_path, EditorConfig(ignore=("private/",)))
        root = project(tmp_path / "a")
        await wire.begin(root)
        cell, other = notebook(wire, root / folder), f"{root.as_uri()}/other.py"
        wire.open(other, "import sys\nprint(VALUES)\n")
        around = wire.server.session.surroundings
        around.visible(cell, 0, 2)
        place = wire.server.documents.place(other, types.Position(2, 0))
        assert place is not None
        around.refresh(place)
        assert ("VALUES = [1, 2]" in str(around.gather(place, 4000))) == seen

    run(scenario)
