"""Nothing runs while nobody does anything, and no screen hides a part of Textual by a name of its own."""

import importlib
import inspect
import pkgutil
import re
import sys

import pytest
from textual.dom import DOMNode

import paceline.tui.screens
import paceline.tui.widgets
from paceline.chat.context.budget import Sizes
from paceline.chat.edits.changes import Change
from paceline.chat.store import Store
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.screens.context import ContextScreen
from paceline.tui.screens.help import HelpScreen
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.screens.said import SaidScreen
from paceline.tui.screens.sessions import SessionsScreen
from paceline.tui.screens.setup import SetupScreen
from support.fake_models import FakeModels
from support.screens import showing

SCREENS = {
    "confirm": lambda: ConfirmScreen(Question("Really?")),
    "context": lambda: ContextScreen(Sizes(1, (), (), 1, 1, 1, 10)),
    "help": lambda: HelpScreen([]),
    "models": lambda: ModelsScreen(FakeModels()),
    "review": lambda: ReviewScreen([Change("a.py", "a\n", "b\n", "whole", True)]),
    "said": lambda: SaidScreen("word " * 900),
    "sessions": lambda: SessionsScreen(Store(None)),
    "setup": lambda: SetupScreen(FakeModels()),
}


@pytest.mark.parametrize("name", SCREENS)
async def test_no_timer_runs_on_an_idle_screen(name):
    async with showing(SCREENS[name]()) as seen:
        await seen.press("down", "up")
        await seen.settle()
        running = [
            (node, timer)
            for node in (seen.app, *seen.app.screen.walk_children(with_self=True))
            for timer in node._timers
            if timer._active.is_set() and timer._task is not None and not timer._task.done()
        ]
        assert running == []


def own_classes():
    for package in (paceline.tui.screens, paceline.tui.widgets):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for found in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(found) and issubclass(found, DOMNode) and found.__module__ == module.name:
                    yield found


def test_no_name_of_ours_is_one_that_textual_uses_for_itself():
    """A private name that both use breaks in ways that nobody understands."""
    clashes = []
    for ours in own_classes():
        bases = [base for base in ours.__mro__ if base.__module__.startswith("textual.")]
        theirs = "".join(inspect.getsource(sys.modules[base.__module__]) for base in bases)
        for name in set(re.findall(r"(?:self\.|def )(_[a-z]\w*)", inspect.getsource(ours))):
            assigned = re.search(rf"self\.{name}(?:: [^=\n]+)? = |def {name}\(", inspect.getsource(ours))
            handler = name.startswith("_on_")  # those are overridden on purpose
            if assigned and not handler and re.search(rf"self\.{name}\b|def {name}\(", theirs):
                clashes.append(f"{ours.__name__}.{name}")
    assert clashes == []
