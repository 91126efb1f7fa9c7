"""What the app says for a moment covers neither the prompt nor the footer, and has room for paths."""

from paceline.tui.app import PacelineApp
from paceline.tui.widgets.prompt import Prompt
from support.app_services import ScriptedClient, services
from support.screens import Seen

SAID = "written to /home/someone/a/long/path/to/it.md"


async def test_it_stands_above_the_prompt_in_one_piece(tmp_path):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=(80, 20), notifications=True) as pilot:
        app.notify(SAID, markup=False)
        for _ in range(100):
            if SAID in Seen(pilot, app).text:
                break
            await pilot.pause(0.02)
        _, row = Seen(pilot, app).column_of(SAID)
        assert row < app.screen.query_one(Prompt).region.y
