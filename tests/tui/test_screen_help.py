"""Keys and commands as they are, those that a person has changed included; and the command palette."""

from typing import ClassVar

import pytest
from textual.app import App
from textual.binding import Binding
from textual.command import CommandPalette
from textual.screen import Screen
from textual.widgets import Input

from paceline.chat.slash import COMMANDS
from paceline.chat.store import Store
from paceline.tui.app import PacelineApp
from paceline.tui.palette import CommandChosen, SlashProvider
from paceline.tui.screens.confirm import ConfirmScreen, Question
from paceline.tui.screens.help import HelpScreen, Keys, keys_of
from paceline.tui.screens.sessions import SessionsScreen
from paceline.tui.widgets.keys import own_bindings, spelled
from support.app_services import ScriptedClient, services
from support.screens import Seen, showing


class Main(Screen[None]):
    BINDINGS: ClassVar = [
        Binding("escape,f7", "stop", "Stop the answer", id="stop"),
        Binding("f5", "retry", "Once more", id="retry", show=False),
        Binding("f6", "nothing", "", show=False),
    ]

    def compose(self):
        yield Input()

    def action_stop(self): ...

    def action_retry(self): ...


class Keyed(App[None]):
    COMMANDS: ClassVar = {SlashProvider}

    def __init__(self, keymap=None):
        super().__init__()
        self._wanted = keymap or {}
        self.chosen = []

    def on_mount(self):
        self.set_keymap(self._wanted)
        self.push_screen(Main())

    def on_command_chosen(self, event: CommandChosen):
        self.chosen.append(event.command.name)


async def keys(keymap=None):
    app = Keyed(keymap)
    async with app.run_test() as pilot:
        await pilot.pause()
        return {each.does: each.keys for each in keys_of(app.screen)}


async def test_keys_are_listed_by_what_they_do():
    found = await keys()
    assert found["Stop the answer"] == ("Esc", "F7")
    assert found["Once more"] == ("F5",)
    assert "" not in found


async def test_keys_that_were_changed_are_shown_as_they_are_now():
    found = await keys({"stop": "f9", "retry": "ctrl+t"})
    assert found["Stop the answer"] == ("F9",)
    assert found["Once more"] == ("Ctrl-T",)


async def test_the_screens_own_keys_stand_first_in_their_order():
    assert list(await keys())[:2] == ["Stop the answer", "Once more"]


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("ctrl+z", "Ctrl-Z"),
        ("shift+tab", "Shift-Tab"),
        ("ctrl+up", "Ctrl-↑"),
        ("f2", "F2"),
        ("question_mark", "?"),
        ("j", "j"),
        ("J", "J"),
        ("enter", "⏎"),
        ("pageup", "PgUp"),
    ],
)
def test_a_key_is_written_alike_everywhere(key, written):
    assert spelled(App(), Binding(key, "do", "Do")) == written


async def test_all_commands_and_what_the_prompt_understands_are_there():
    async with showing(HelpScreen([Keys(("f5",), "Once [more]")]), (100, 80)) as seen:
        for command in COMMANDS:
            assert f"/{command.name}" in seen.text
        assert "Once [more]" in seen.text
        assert "@diff" in seen.text


async def test_it_scrolls_on_a_small_terminal_and_closes():
    async with showing(HelpScreen([Keys(("f5",), "Once more")]), (40, 12)) as seen:
        first = seen.text
        await seen.press("down", "down")
        assert seen.text != first
        await seen.press("question_mark")
        assert seen.gone


async def test_one_command_may_be_explained_alone():
    async with showing(HelpScreen([], command="regenerate")) as seen:
        assert "/retry" in seen.text
        assert "/fork" not in seen.text


async def test_the_line_of_keys_has_the_screens_own_in_order_and_follows_the_keymap():
    app = Keyed({"confirm.yes": "j"})
    async with app.run_test() as pilot:
        app.push_screen(ConfirmScreen(Question("Really?")))
        await pilot.pause()
        assert [each.key for each in own_bindings(app.screen)] == ["j", "n", "escape"]
        assert "j Yes  n No" in Seen(pilot, app).text


async def test_keys_in_the_line_can_be_clicked_on():
    async with showing(ConfirmScreen(Question("Really?"))) as seen:
        await seen.click("y Yes")
        assert seen.result is True


async def test_the_palette_finds_commands_by_name_and_by_what_they_do():
    app = Keyed()
    async with app.run_test() as pilot:
        await pilot.pause()
        provider = SlashProvider(app.screen)
        everything = [hit.text async for hit in provider.discover()]
        assert everything == [command.usage for command in COMMANDS]
        best = [hit async for hit in provider.search("fork")]
        assert max(best).text == "/fork [TITLE]"
        assert any(hit.text == "/stats" for hit in [hit async for hit in provider.search("fared")])
        assert [hit async for hit in provider.search("zzzzqq")] == []


async def test_a_command_of_the_palette_reaches_the_screen_below():
    app = Keyed()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.action_command_palette()
        await pilot.pause()
        assert CommandPalette.is_open(app)
        await pilot.press(*"compact")
        await app.workers.wait_for_complete()
        await pilot.pause(0.3)
        await pilot.press("enter", "enter")
        await pilot.pause(0.2)
        assert app.chosen == ["compact"]


async def test_it_says_how_a_message_is_written_and_sent(tmp_path):
    async with showing(HelpScreen([]), (100, 80)) as seen:
        told = [" ".join(line.strip("│ ").split()) for line in seen.lines]
    assert "Enter send the message" in told
    assert "Shift-Enter, Ctrl-J begin a new line; so does Alt-Enter" in told
    assert any("↑" in line and "earlier inputs" in line and "message that waits" in line for line in told)
    assert any("Shift-Tab" in line and "x" in line and "remove an attachment" in line for line in told)


async def test_the_keys_of_the_app_are_said_once_each_in_our_words_and_order(tmp_path):
    app = PacelineApp(services(tmp_path, ScriptedClient()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        found = keys_of(app.screen)
        own = [each.description for each in app.screen.BINDINGS if each.description]
    told = [each.does for each in found]
    assert next(each.keys for each in found if "EDITOR" in each.does) == ("Ctrl-O", "Ctrl-G")
    assert len([each for each in told if "editor" in each.lower()]) == 1
    assert not {"palette", "Focus Next", "Focus Previous"} & {*told}
    assert "Find a command" in told
    assert [each for each in told if each in own] == list(dict.fromkeys(own))
    assert {*told[: len({*own})]} == {*own}


async def test_keys_that_one_row_has_no_room_for_stand_in_a_second_one():
    async with showing(SessionsScreen(Store(None)), (40, 12)) as seen:
        rows = [line.strip("│ ") for line in seen.lines[-3:-1]]
        assert rows == ["⏎ Open  F2 Rename  F3 Fork", "F4 Export  F8 Delete  Esc Back"]
        await seen.click("Esc Back")
        assert seen.gone


async def test_keys_that_two_rows_have_no_room_for_are_hinted_at():
    async with showing(SessionsScreen(Store(None)), (24, 12)) as seen:
        rows = [line.strip("│ ") for line in seen.lines[-3:-1]]
        assert rows == ["⏎ Open  F2 Rename", "F3 Fork  F4 Export …"]
