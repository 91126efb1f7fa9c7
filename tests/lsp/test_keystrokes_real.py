"""Keys over stdio to a real server process, a model behind it: what is shown is what belongs to the text as it is."""

from collections.abc import Iterator

import pytest

from support.cli import TinyModels
from support.lsp_editor import AUTOMATIC, LspEditor, Page, lsp_editor, run
from support.real_daemon import RealDaemon, real_daemon

ABOVE = "import os\nimport sys\n\nVALUES = [1, 2, 3]\n"
BELOW = "\n\nprint(VALUES, os.name)\nraise SystemExit(len(sys.argv) - 1)\n"
NOTE = "seen = VALUES[0] + len(os.name)\n"


@pytest.fixture(scope="module")
def daemon(tiny: TinyModels) -> Iterator[RealDaemon]:
    """Whatever the tiny model says is shown, and near-ties are decided alike however it is asked."""
    tables = "[editor]\nthreshold = -1000\nprefetch = false\nother_files = false\nlatency_ms = 1e9"
    with real_daemon(tiny.target, engine="context = 8192\nstrict = true", tables=tables) as running:
        yield running


class Witness:
    """Says what a model without any memory would say, by opening the text as a document that nobody has seen."""

    def __init__(self, editor: LspEditor) -> None:
        self._editor = editor
        self._known = dict[tuple[str, str], str]()

    async def says(self, before: str, after: str) -> str:
        if (before, after) not in self._known:
            page = self._editor.open(f"{before}|{after}", name=f"fresh{len(self._known)}.py")
            found = await page.ask(AUTOMATIC)
            page.close()
            self._known[(before, after)] = found[0].insert_text if found else ""  # type: ignore[assignment]
        return self._known[(before, after)]

    async def agrees(self, page: Page, text: str) -> bool:
        """Whether the text is right at the cursor: said there, or what is left of what was said earlier in the line."""
        before, after = page.text[: page.cursor], page.text[page.cursor :]
        for length in range(len(before) - before.rfind("\n")):
            typed = before[len(before) - length :]
            if await self.says(before[: len(before) - length], after) == typed + text:
                return True
        return False


async def look(page: Page, witness: Witness) -> str:
    """What is shown at the cursor, if it is right."""
    found = await page.ask(AUTOMATIC)
    for item in found:
        where = page.position(page.cursor)
        assert item.range is not None
        assert (item.range.start, item.range.end) == (where, where)
        assert await witness.agrees(page, str(item.insert_text)), (page.text[: page.cursor], item.insert_text)
    return str(found[0].insert_text) if found else ""


def test_what_is_shown_belongs_to_the_text_that_is_there(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            witness, shown = Witness(editor), list[str]()
            for number, line in enumerate(("total = sum", "name = os", "first = VALUES")):
                # a document for each: in a later line the model is shown the same text in other parts
                page = editor.open(f"{ABOVE}|{BELOW}", name=f"a{number}.py")
                for char in line:
                    page.type(char)
                    if char in "= sm":
                        shown.append(await look(page, witness))
                ghost = await look(page, witness)
                for char in ghost[:3].partition("\n")[0]:  # typed as it says, then something else in its place
                    page.type(char)
                    shown.append(await look(page, witness))
                page.type("Q")
                shown.append(await look(page, witness))
                page.delete(1 + len(ghost[:3].partition("\n")[0]))
                at = page.cursor
                page.replace(at + 1, at + 1, NOTE)  # below, and back: the same text before the cursor
                page.cursor = at
                shown.append(await look(page, witness))
                page.replace(at + 1, at + 1 + len(NOTE), "")
                page.cursor = at
                shown.append(await look(page, witness))
            assert len([each for each in shown if each]) > 15

    run(scenario)
