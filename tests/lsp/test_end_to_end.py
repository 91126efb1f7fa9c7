"""The language server as an editor has it, from the opening of a document to the figures that stay when it has gone."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.lsp_editor import AUTOMATIC, INVOKED, capabilities, lsp_editor, run
from support.real_daemon import RealDaemon

# before the cursor, in its own line too, stand characters of one to four bytes, and of one and two units of UTF-16
TEXT = "name = '\N{GRINNING FACE}é漢'\r\n\r\n\r\ndef total(values):\r\n    return ('\N{CAT FACE}é', |\r\n"


@pytest.fixture
def environment(daemon: RealDaemon, tmp_path: Path) -> dict[str, str]:
    """The daemon's, with figures of the test's own."""
    return {**daemon.environment, "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_DATA_HOME": str(tmp_path / "data")}


def stats(environment: Mapping[str, str]) -> dict[str, Any]:
    """What `paceline stats` tells a person."""
    command = [sys.executable, "-m", "paceline", "stats", "--json"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_suggestion_is_typed_along_accepted_and_counted(environment: dict[str, str], encoding: str) -> None:
    rest = ""

    async def scenario() -> None:
        nonlocal rest
        async with lsp_editor(environment, can=capabilities(encodings=(encoding,))) as editor:
            assert editor.encoding == encoding
            page = editor.open(TEXT)
            page.type("\N{WAVING HAND SIGN}")
            page.delete()
            (first, *_) = await page.ask(INVOKED)
            said = str(first.insert_text)
            assert len(said) > 2

            page.type(said[0])
            (second, *_) = await page.ask(AUTOMATIC)
            rest = str(second.insert_text)
            assert rest == said[1:]
            assert second.range == types.Range(page.position(page.cursor), page.position(page.cursor))
            assert "1 of them without" in await editor.do("paceline.status")

            page.type(rest)  # as the editor does when Tab is pressed
            assert second.command is not None
            await editor.do(second.command.command, *(second.command.arguments or []))
            assert page.text == TEXT.replace("|", said)
            page.type("\r\n    result = ")
            (third, *_) = await page.ask(INVOKED)
            assert third.range == types.Range(page.position(page.cursor), page.position(page.cursor))
            assert editor.shown == []

    run(scenario)
    python = stats(environment)
    counted = python["languages"]["python"]
    assert (counted["whole"], counted["line"], counted["word"]) == (1, 0, 0)
    assert counted["characters"] == len(rest)
    assert python["answers"]["cache"] >= 1
    assert python["answers"]["engine"] >= 1
