"""What is being typed while a dialog opens is not an answer to it."""

import pytest
from textual._time import get_time
from textual.events import Key, Paste

from paceline.chat.edits.changes import Change
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.screens.dialog import Dialog, GuardingApp
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.screens.setup import SetupScreen
from paceline.tui.themes import defaults
from support.fake_models import FakeModels

MAKE = {
    "review": lambda: ReviewScreen([Change("a.py", "a\n", "b\n", "whole", True)]),
    "setup": lambda: SetupScreen(FakeModels()),
    "models": lambda: ModelsScreen(FakeModels()),
    "confirm": lambda: ConfirmScreen(Question("Really?")),
}


class Guarded(GuardingApp[None]):
    """An app that shows a screen, and keeps its results."""

    def __init__(self, screen):
        super().__init__()
        self.first, self.results = screen, []

    def get_theme_variable_defaults(self):
        return defaults()

    def on_mount(self):
        self.push_screen(self.first, self.results.append)


def typed(key, after):
    """A key that was pressed so many seconds from now."""
    event = Key(key, None)
    event.time = get_time() + after
    return event


@pytest.fixture(autouse=True)
def guard(monkeypatch, keys_count_at_once):
    monkeypatch.setattr(Dialog, "GUARD", 30.0)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("key", ["enter", "escape", "y", "q", "p"])
async def test_keys_that_were_on_their_way_do_nothing(name, key):
    app = Guarded(MAKE[name]())
    async with app.run_test() as pilot:
        app.post_message(typed(key, 0))
        await pilot.pause()
        assert app.results == []
        assert app.screen is app.first
        assert getattr(app.first, "_models", FakeModels()).fetched == []


@pytest.mark.parametrize("name", MAKE)
async def test_keys_pressed_later_count(name):
    app = Guarded(MAKE[name]())
    async with app.run_test() as pilot:
        app.post_message(typed("escape", 31))
        await pilot.pause()
        assert app.results in ([None], [False])


async def test_a_paste_is_no_answer_either():
    app = Guarded(MAKE["confirm"]())
    async with app.run_test():
        assert not app.first.takes(Paste("y"))


async def test_a_name_may_be_typed_at_once():
    app = Guarded(NamingScreen("Save as"))
    async with app.run_test() as pilot:
        await pilot.press("a", "enter")
        assert app.results == ["a"]


async def test_there_is_nothing_that_takes_time_to_wait_for_it():
    app = Guarded(MAKE["confirm"]())
    async with app.run_test() as pilot:
        await pilot.pause()
        timers = [timer for node in app.screen.walk_children(with_self=True) for timer in node._timers]
        assert not [each for each in timers if each._task and not each._task.done() and each._active.is_set()]
