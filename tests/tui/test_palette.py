"""The palette of themes: ours first, as the README calls them, the present one marked; what is chosen is shown."""

from textual.command import CommandPalette
from textual.widgets import OptionList

from support.app_driving import chat, until, write


def shown(pilot):
    listed = pilot.app.screen.query_one(OptionList)
    return [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]


async def opened(pilot):
    await write(pilot, "/theme ", send=False)
    await pilot.press("escape", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette) and len(shown(pilot)) > 5)


async def test_ours_come_first_and_the_present_one_is_marked(app):
    async with app().run_test() as pilot:
        pilot.app.theme = "paceline-light"
        await opened(pilot)
        firsts = [line.split("\n")[0] for line in shown(pilot)]
        assert firsts[:5] == ["auto", "dark", "light  ● now", "contrast", "ansi"]
        assert "nord" in firsts[5:]
        assert not any(line.startswith("paceline-") for line in firsts)


async def test_one_of_textuals_is_marked_too(app):
    async with app().run_test() as pilot:
        pilot.app.theme = "nord"
        await opened(pilot)
        assert [line for line in shown(pilot) if "now" in line.split("\n")[0]] == ["nord  ● now"]


async def test_what_is_chosen_is_shown(app):
    async with app().run_test() as pilot:
        await opened(pilot)
        await pilot.press(*"contr")
        await until(pilot, lambda: shown(pilot)[:1] and "contrast" in shown(pilot)[0])
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await until(pilot, lambda: pilot.app.theme == "paceline-contrast")


async def test_ours_are_found_before_others_and_by_what_they_look_like(app):
    async with app().run_test() as pilot:
        await opened(pilot)
        await pilot.press(*"light")
        await until(pilot, lambda: shown(pilot)[:1] and shown(pilot)[0].startswith("light"))
        await pilot.press(*(["backspace"] * 5), *"sixteen")
        await until(pilot, lambda: [line.split("\n")[0].strip() for line in shown(pilot)] == ["ansi"])
