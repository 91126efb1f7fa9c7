"""What the app says for a moment covers neither the prompt nor the footer, and has room for paths."""

import pytest

from paceline.tui.app import PacelineApp
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.screens.help import HelpScreen
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


LONG = f"copied (310 characters): your terminal may have taken it; it is also in {SAID.split()[-1]}"


@pytest.mark.parametrize("columns", [41, 42, 49, 63, 71, 79, 80, 81, 104, 109, 110])
async def test_a_long_message_is_there_to_its_end(tmp_path, columns):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=(columns, 24), notifications=True) as pilot:
        app.notify(LONG, markup=False)
        seen = Seen(pilot, app)
        await row_of(seen, pilot, "copied")
        assert "".join(LONG.split()) in "".join(seen.text.replace("▌", "").split())


async def test_while_a_dialog_is_open_it_is_said_once(tmp_path):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        seen = Seen(pilot, app)
        app.notify("saved", markup=False)
        await row_of(seen, pilot, "saved")
        await app.push_screen(ConfirmScreen(Question("Really?")))
        await pilot.pause(0.1)
        await row_of(seen, pilot, "saved")
        assert seen.text.count("saved") == 1
        app.notify("another one", markup=False)
        await row_of(seen, pilot, "another one")
        await pilot.press("escape")
        await row_of(seen, pilot, "another one")
        assert (seen.text.count("saved"), seen.text.count("another one")) == (1, 1)


async def test_a_dialog_on_a_small_terminal_makes_room_for_it(tmp_path):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=(40, 12), notifications=True) as pilot:
        seen = Seen(pilot, app)
        await app.push_screen(HelpScreen([], command="regenerate"))
        app.notify("saved", markup=False)
        row = await row_of(seen, pilot, "saved")
        assert row == 11
        assert seen.column_of("╰")[1] < row
        app.notify(LONG, markup=False)
        await row_of(seen, pilot, "copied")
        assert "Esc" in seen.text
        assert [line[:1] for line in seen.lines].index("╰") >= 5
        assert "/retry" in seen.text  # that is explained
