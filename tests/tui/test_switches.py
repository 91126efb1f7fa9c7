"""What can be turned on and off while the app runs."""

import pytest

from paceline.config import ChatConfig, Config
from support.app_driving import chat, told, until, write
from support.cli import PACELINE
from support.terminal import TMUX, SlowAnswers, Terminal


@pytest.mark.parametrize(("motion", "level"), [(True, "full"), (False, "none")])
async def test_things_move_as_the_configuration_says(app, motion, level):
    async with app(config=Config(chat=ChatConfig(motion=motion))).run_test() as pilot:
        assert pilot.app.animation_level == level


@pytest.mark.parametrize(("command", "levels"), [("off", ["none"] * 2), ("on", ["full"] * 2), ("", ["none", "full"])])
async def test_motion_is_switched(app, command, levels):
    async with app().run_test() as pilot:
        for level in levels:
            await write(pilot, f"/motion {command}".strip())
            assert pilot.app.animation_level == level
        assert "moves" in told(pilot)


async def test_a_word_that_is_neither_is_said_and_switches_nothing(app):
    async with app().run_test() as pilot:
        await write(pilot, "/motion perhaps")
        await until(pilot, lambda: "neither on nor off" in told(pilot))
        assert pilot.app.animation_level == "full"


async def test_where_nothing_moves_a_page_is_where_it_goes_at_once(app, client):
    client.says = lambda *_: ["line\n\n" * 200]
    async with app().run_test(size=(80, 24)) as pilot:
        await write(pilot, "/motion off")
        await write(pilot, "Count")
        transcript = chat(pilot).query_one("#transcript")
        end = transcript.scroll_offset.y
        transcript.scroll_page_up()
        await pilot.pause()
        assert transcript.scroll_offset.y <= end - transcript.size.height + 2


@pytest.mark.skipif(TMUX is None, reason="tmux is not installed")
@pytest.mark.parametrize("wanted", [True, False])
def test_the_mouse_is_whose_it_is_said_to_be(paceline, wanted):
    server = SlowAnswers(2, 0.0)
    there = f'[engine]\nurl = "{server.url}"\n[chat]\nmouse = {str(wanted).lower()}\n'
    paceline.config.write_text(there, encoding="utf-8")
    variables = {**paceline.environment, "TERM": "tmux-256color", "EDITOR": "true", "VISUAL": ""}
    screen = Terminal(paceline.root, variables, PACELINE, (80, 24))
    try:
        screen.shows("Ask something")
        assert has_mouse(screen) is wanted
        for on in (not wanted, wanted, not wanted):
            screen.write(f"/mouse {'on' if on else 'off'}")
            screen.press("Enter")
            screen.shows("the mouse is the app's" if on else "the terminal selects text", without="/mouse")
            assert has_mouse(screen) is on
        screen.press("C-o")  # and it is the same behind an editor
        screen.shows("Ask something")
        screen.write("back")
        screen.shows("back")
        assert has_mouse(screen) is not wanted
    finally:
        screen.close()
        server.close()


def has_mouse(screen):
    return screen.tmux("display-message", "-p", "#{mouse_any_flag}").strip() == "1"
