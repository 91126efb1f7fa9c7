"""The terminal app, driven by keys and looked at."""

import asyncio

from paceline.tui.widgets.prompt import Prompt


async def write(pilot, text, *, send=True):
    """Type it, without the keys of a burst, and send it."""
    prompt = pilot.app.screen.query_one(Prompt)
    prompt.focus()
    prompt.replace_all(text)
    await pilot.pause()
    if send:
        await pilot.pause(0.1)
        await pilot.press("enter")
        await pilot.pause(0.1)  # a paste might have gone on behind it
        await quiet(pilot)


async def quiet(pilot):
    """Until nothing is written, and no step of a task is on its way."""
    for _ in range(200):
        await pilot.pause()
        screen = pilot.app.screen_stack[1]
        if not screen.conversation.answering:
            await pilot.pause(0.02)
            return
        await asyncio.sleep(0.01)


async def until(pilot, true):
    """Until it is true, on a screen that has been built (a test that ends before tears it apart)."""
    for _ in range(1500):
        await pilot.pause()
        if true() and pilot.app.screen.is_mounted:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def chat(pilot):
    return pilot.app.screen_stack[1]


def said(pilot):
    return [(turn.role, turn.text, turn.state) for turn in chat(pilot).conversation.path]


def told(pilot):
    return " | ".join(note.message for note in pilot.app._notifications)
