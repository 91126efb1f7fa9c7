"""What the app says for a moment covers neither the prompt nor the footer, and has room for paths."""

import pytest

from paceline.tui.app import PacelineApp
from paceline.tui.widgets.prompt import Prompt
from support.app_services import ScriptedClient, services
from support.screens import Seen

SAID = "written to /home/someone/a/long/path/to/it.md"


async def row_of(seen, pilot, word):
    """Where it stands, once it is there."""
    for _ in range(100):
        if word in seen.text:
            break
        await pilot.pause(0.02)
    return seen.column_of(word)[1]


async def test_it_stands_above_the_prompt_in_one_piece(tmp_path):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=(80, 20), notifications=True) as pilot:
        app.notify(SAID, markup=False)
        assert await row_of(Seen(pilot, app), pilot, SAID) < app.screen.query_one(Prompt).region.y


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40)])
async def test_it_stays_above_a_prompt_that_grows(tmp_path, size):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=size, notifications=True) as pilot:
        seen, prompt = Seen(pilot, app), app.screen.query_one(Prompt)
        app.notify("saved", markup=False)
        before = await row_of(seen, pilot, "saved")
        prompt.replace_all("\n".join(f"line {number}" for number in range(20)))
        await pilot.pause(0.1)
        assert prompt.region.height > 2
        assert await row_of(seen, pilot, "saved") < min(before, prompt.region.y)
        prompt.replace_all("")
        await pilot.pause(0.1)
        assert await row_of(seen, pilot, "saved") == before
