"""What can be turned on and off while the app runs: how it is now, and otherwise."""

from typing import Any

from textual.app import App


def has_mouse(app: App[Any]) -> bool:
    """Whether the mouse is the app's; otherwise the terminal selects text by itself."""
    driver = app._driver  # the only one that knows, and can change it
    return driver is not None and driver._mouse


def use_mouse(app: App[Any], on: bool) -> None:
    """Take the mouse, or leave it to the terminal."""
    driver = app._driver
    act = getattr(driver, "_enable_mouse_support" if on else "_disable_mouse_support", None)
    if driver is not None:
        driver._mouse = True  # neither does anything otherwise
        if act is not None:
            act()
        driver._mouse = on  # also when it starts again, as behind an editor


def moves(app: App[Any]) -> bool:
    """Whether things move that need not, such as a list that is scrolled by a page."""
    return app.animation_level != "none"


def let_move(app: App[Any], on: bool) -> None:
    """Let them, or have everything be where it goes at once."""
    app.animation_level = "full" if on else "none"
