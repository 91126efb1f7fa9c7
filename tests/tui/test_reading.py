"""Whatever the app says can be read to its end, on the smallest terminal too."""

import pytest

from paceline.chat.context.budget import Draft, Part, Sizes
from paceline.chat.models_port import PairChoice
from paceline.chat.store import Store
from paceline.errors import ResourceError
from paceline.tui.app import PacelineApp
from paceline.tui.said import FEWEST, KEPT, Memory, Said, within
from paceline.tui.screens.context import ContextScreen
from paceline.tui.screens.fitting import FittingScreen
from paceline.tui.screens.help import HelpScreen
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.said import SaidScreen
from paceline.tui.screens.sessions import SessionsScreen
from support.app_services import ScriptedClient, services
from support.fake_models import FakeModels
from support.screens import Seen, showing

SMALL = (40, 12)
FULL = Sizes(120, tuple(Part(f"file{at}.py", 1200) for at in range(12)), (), 33, 4, 1024, 4096)
LONG = "word " * 120 + "and the last"


async def read(seen, *keys):
    """Until it is there, the keys, then far down."""
    await seen.press(*keys, *["pagedown"] * 12)
    for _ in range(500):
        if "the last" in seen.text:
            return
        await seen.pilot.pause(0.01)
    raise AssertionError(f"its end is not to be seen:\n{seen.text}")


async def test_what_helps_to_answer_leaves_room_for_the_answer_and_is_read_to_its_end():
    async with showing(NamingScreen("Which file?", "a.py", LONG), SMALL) as seen:
        assert "a.py" in seen.text and "Esc Never mind" in seen.text and "Tab" in seen.text
        assert seen.app.focused.id == "name"
        await read(seen, "tab")
        await seen.press("tab", "b")
        assert "b" in seen.app.screen.query_one("#name").value


async def test_what_went_wrong_is_read_to_its_end():
    async with showing(NamingScreen("Which file?", "a.py", "", LONG), SMALL) as seen:
        await read(seen, "tab")


async def test_what_went_wrong_with_a_list_is_read_to_its_end_though_the_arrows_are_the_lists():
    async with showing(SessionsScreen(Store(None)), SMALL) as seen:
        seen.app.screen.tell(ResourceError(LONG, ""))
        await seen.pilot.pause()
        await read(seen, "tab")
        seen.app.screen.tell("")
        await seen.press("x")
        assert seen.app.screen.query_one("#query").value == "x"


async def test_facts_of_a_pair_are_read_to_their_end():
    pair = PairChoice("tiny", "tiny-target", "tiny-draft", bytes=1000, here="ready", note=LONG)
    async with showing(ModelsScreen(FakeModels(), [pair]), SMALL) as seen:
        await read(seen, "tab")


async def test_what_does_not_fit_is_told_to_its_end():
    async def measure(_):
        return FULL

    screen = FittingScreen(Draft("", (), "What now?", ()), FULL, measure, measure)
    async with showing(screen, SMALL) as seen:
        figures = screen.query_one("#figures")
        assert "· free" not in seen.text and figures.max_scroll_y > 0
        await seen.press("shift+tab", "end")
        for _ in range(500):
            if "· free" in seen.text:
                break
            await seen.pilot.pause(0.01)
        assert "· free" in seen.text


async def test_a_text_that_has_room_takes_no_focus():
    async with showing(NamingScreen("Which file?", "a.py", "in one of two"), SMALL) as seen:
        await seen.press("tab")
        assert seen.app.focused.id == "name"
        assert "Tab" not in seen.text


@pytest.mark.parametrize("make", [lambda: ContextScreen(FULL), lambda: HelpScreen([])], ids=["context", "help"])
async def test_long_tables_are_read_to_their_end(make):
    async with showing(make(), SMALL) as seen:
        last = None
        for _ in range(40):
            await seen.press("pagedown")
        for _ in range(100):
            await seen.pilot.pause(0.01)
            if seen.text == last:
                break
            last = seen.text
        scrolled = seen.app.focused
        assert scrolled.scroll_offset.y == scrolled.max_scroll_y > 0


async def test_what_is_said_for_a_moment_and_has_no_room_is_read_again_as_a_whole(tmp_path):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        seen = Seen(pilot, app)
        app.notify(f"\x1b[2J[b]{LONG}", severity="error", markup=False)
        app.notify("and another", markup=False)
        for _ in range(500):
            if "and another" in seen.text:
                break
            await pilot.pause(0.01)
        assert "F9 shows the rest" in seen.text and "another" in seen.text
        await seen.press("f9")
        assert isinstance(app.screen, SaidScreen)
        assert "! [b]word word" in seen.text
        await read(seen)
        await seen.press("f9", "escape")
        assert not isinstance(app.screen, SaidScreen)


def test_what_has_room_is_said_as_it_is():
    assert within("saved\nhint: none", 40, 12, "F9") == "saved\nhint: none"


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 3), (40, 12), (200, 50)])
def test_what_is_said_takes_half_of_the_screen_at_most(width, height):
    rows = within("日本 " * 4000, width, height, "F9 shows the rest").splitlines()
    assert len(rows) == max(FEWEST, (height - 4) // 2)
    assert rows[-1].startswith("…")


def test_only_so_much_is_kept_and_the_last_stands_first():
    memory = Memory()
    for number in range(KEPT + 5):
        memory.add(Said(0.0, f"number {number}", wrong=number == 5))
    lines = memory.text().splitlines()
    assert lines[0].endswith(f" number {KEPT + 4}")
    assert lines[-1].endswith(" ! number 5")
