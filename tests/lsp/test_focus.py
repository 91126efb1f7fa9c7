"""Where a person looks, as an editor says it: `textDocument/didFocus`, with the range of lines that can be seen."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from paceline.lsp.place import Place
from support.lsp_wire import Wire

LINES = "".join(f"line_{number} = derailleur\n" for number in range(300))


def shown(folder: Path, said: dict[str, Any]) -> str:
    """What of another file helps, after an editor has said that a person looks at it."""
    found: list[str] = []

    async def scenario() -> None:
        wire = Wire(folder)
        await wire.begin(folder)
        other, main = ((folder / name).as_uri() for name in ("other.py", "main.py"))
        wire.open(other, LINES)
        wire.open(main, "derailleur = None\n")
        wire.notify("textDocument/didFocus", {"textDocument": {"uri": other}, **said})
        context = wire.server.session.surroundings
        place = Place(main, "python", 1, "derailleur = None\n", "", "main.py", str(folder))
        context.refresh(place)
        found.extend(each.text for each in context.gather(place, 2000))
        await wire.server.session.close()

    asyncio.run(asyncio.wait_for(scenario(), 20))
    return "\n".join(found)


def test_the_lines_that_can_be_seen_are_shown(tmp_path):
    text = shown(tmp_path, {"visibleRange": {"start": {"line": 100}, "end": {"line": 130}}})
    assert "line_115 = " in text
    assert "line_20 = " not in text


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"visibleRange": None},
        {"visibleRange": []},
        {"visibleRange": {"start": {"line": "x"}, "end": {"line": 5}}},
        {"visibleRange": {"start": {"line": -1}, "end": {"line": 10**12}}},
    ],
    ids=str,
)
def test_an_editor_that_does_not_say_which_shows_the_beginning(tmp_path, said):
    assert "line_20 = " in shown(tmp_path, said)


def test_lines_that_the_document_does_not_have_do_no_harm(tmp_path):
    shown(tmp_path, {"visibleRange": {"start": {"line": 10**6}, "end": {"line": 5}}})
