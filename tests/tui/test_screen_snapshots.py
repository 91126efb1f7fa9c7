"""Pictures of the screens: `pytest --snapshot-update` makes them anew, to be looked at before they are kept."""

import pytest

from paceline.chat.context.budget import Part, Sizes
from paceline.chat.edits.changes import Change
from paceline.tui.screens.confirm import ConfirmScreen, about_files
from paceline.tui.screens.context import ContextScreen
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.screens.review import ReviewScreen
from support.fake_models import FakeModels
from support.screens import Alone

BEFORE = '"""Greetings."""\n\n\ndef greet(name):\n    print("Hello, " + name)\n\n\ndef part(name):\n    print("Bye")\n'
AFTER = BEFORE.replace("greet(name):", "greet(name: str) -> None:").replace('"Hello, " + name', 'f"Hello, {name}"')
CHANGES = (
    Change("app/greetings.py", BEFORE, AFTER.replace('    print("Bye")', '    print(f"Bye, {name}")'), "whole", True),
    Change("README.md", "# Hi\n", "# Hello\n", "replace", False, ("1 of 2 replacements was found",)),
)
SIZES = Sizes(120, (Part("app/cli.py", 1200),), (Part("you: hi", 20), Part("answer", 800)), 33, 4, 1024, 4096, 900)


PICTURES = {
    "review-wide": (lambda: ReviewScreen(CHANGES), (120, 24), "paceline-dark"),
    "review-small": (lambda: ReviewScreen(CHANGES), (40, 12), "paceline-light"),
    "review-ansi": (lambda: ReviewScreen(CHANGES), (80, 24), "paceline-ansi"),
    "models": (lambda: ModelsScreen(FakeModels()), (80, 24), "paceline-contrast"),
    "confirm": (
        lambda: ConfirmScreen(about_files("Write?", ["a.py", "/etc/x"], ["/etc/x"])),
        (60, 14),
        "paceline-plain",
    ),
    "context": (lambda: ContextScreen(SIZES), (80, 24), "paceline-light"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture(snap_compare, name):
    make, size, theme = PICTURES[name]
    assert snap_compare(Alone(make(), theme), terminal_size=size)
