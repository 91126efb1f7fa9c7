"""Settings that an editor has for single folders of a workspace hold there, and only there."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from paceline.lsp.options import PROJECT_FILE
from support.lsp_wire import Wire, until

CAN = {"textDocument": {"inlineCompletion": {}}, "workspace": {"configuration": True, "workspaceFolders": True}}
OFF, ON = {"enabled": False}, {"enabled": True}


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


class Settings:
    """What the editor says for each place, None being none in particular; what it says for others is null."""

    def __init__(self, said: dict[str | None, object]) -> None:
        self.said = said
        self.asked = 0

    def __call__(self, params: Any) -> dict[str, Any]:
        self.asked += 1
        return {"result": [self.said.get(each.get("scopeUri")) for each in params["items"]]}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    found = tmp_path / "one", tmp_path / "two"
    for each in found:
        each.mkdir()
    return found


async def editor(tmp_path: Path, settings: Settings, *roots: Path) -> Wire:
    wire = Wire(tmp_path)
    wire.replies["workspace/configuration"] = settings
    await wire.begin(*roots, can=CAN)
    await until(lambda: settings.asked)
    await wire.ask("workspace/executeCommand", {"command": "paceline.status"})  # by then the answer has been read
    return wire


async def suggests(wire: Wire, folder: Path) -> bool:
    uri = (folder / "a.py").as_uri()
    if uri not in wire.server.documents.open:
        wire.open(uri)
    return bool(await wire.suggested(uri))


def test_a_folders_settings_hold_in_that_folder_alone(tmp_path: Path, folders: tuple[Path, Path]):
    one, two = folders

    async def scenario() -> None:
        wire = await editor(tmp_path, Settings({None: ON, one.as_uri(): OFF, two.as_uri(): ON}), one, two)
        assert not await suggests(wire, one)
        assert await suggests(wire, two)
        assert await suggests(wire, tmp_path / "elsewhere")

    run(scenario)


def test_a_folder_that_the_editor_says_nothing_of_has_what_holds_everywhere(tmp_path: Path, folders: tuple[Path, Path]):
    one, two = folders

    async def scenario() -> None:
        wire = await editor(tmp_path, Settings({None: OFF, two.as_uri(): ON}), one, two)
        assert not await suggests(wire, one)
        assert await suggests(wire, two)

    run(scenario)


def test_an_editor_that_answers_one_question_only_is_understood(tmp_path: Path, folders: tuple[Path, Path]):
    class Short(Settings):
        def __call__(self, params: Any) -> dict[str, Any]:
            return {"result": super().__call__(params)["result"][:1]}

    async def scenario() -> None:
        wire = await editor(tmp_path, Short({None: OFF}), *folders)
        assert not await suggests(wire, folders[0])
        assert wire.shown == []

    run(scenario)


def test_settings_that_change_are_asked_for_again_for_each_folder(tmp_path: Path, folders: tuple[Path, Path]):
    one, two = folders

    async def scenario() -> None:
        settings = Settings({None: ON, one.as_uri(): OFF})
        wire = await editor(tmp_path, settings, one, two)
        assert not await suggests(wire, one)
        settings.said = {None: ON, two.as_uri(): OFF}
        wire.notify("workspace/didChangeConfiguration", {"settings": None})
        await until(lambda: settings.asked == 2)
        await wire.ask("workspace/executeCommand", {"command": "paceline.status"})
        assert await suggests(wire, one)
        assert not await suggests(wire, two)

    run(scenario)


def test_a_folder_that_comes_later_brings_its_settings(tmp_path: Path, folders: tuple[Path, Path]):
    one, two = folders

    async def scenario() -> None:
        settings = Settings({None: ON, two.as_uri(): OFF})
        wire = await editor(tmp_path, settings, one)
        added = {"added": [{"uri": two.as_uri(), "name": "two"}], "removed": []}
        wire.notify("workspace/didChangeWorkspaceFolders", {"event": added})
        await until(lambda: settings.asked == 2)
        await wire.ask("workspace/executeCommand", {"command": "paceline.status"})
        assert not await suggests(wire, two)

    run(scenario)


def test_a_projects_file_still_only_hides_more_than_the_editor_does(tmp_path: Path, folders: tuple[Path, Path]):
    one, two = folders
    (one / PROJECT_FILE).write_text('[editor]\nignore = ["a.py"]\nenabled = true\n')

    async def scenario() -> None:
        wire = await editor(tmp_path, Settings({one.as_uri(): {"candidates": 1}, two.as_uri(): OFF}), one, two)
        assert not await suggests(wire, one)
        wire.open((one / "b.py").as_uri())
        assert await wire.suggested((one / "b.py").as_uri())
        assert not await suggests(wire, two)

    run(scenario)


def test_a_wrong_setting_that_holds_everywhere_is_told_once(tmp_path: Path, folders: tuple[Path, Path]):
    async def scenario() -> None:
        wrong = {"candidates": "many"}
        said = {None: wrong, **{each.as_uri(): {**wrong, "comments": True} for each in folders}}
        wire = await editor(tmp_path, Settings(said), *folders)
        assert await suggests(wire, folders[0])
        assert len(wire.shown) == 1

    run(scenario)
