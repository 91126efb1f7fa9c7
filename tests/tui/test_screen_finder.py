"""The list beside the prompt: keys are sent to it, and it never takes the focus."""

from textual.app import App
from textual.widgets import Input

from paceline.tui.screens.finder import Choice, Finder
from support.screens import Seen

FILES = tuple(
    Choice(f"app/file{number}.py", f"@app/file{number}.py ", (4, 5), f"{number} lines") for number in range(20)
)


class Prompting(App[None]):
    def __init__(self):
        super().__init__()
        self.picked, self.closed = [], 0

    def compose(self):
        yield Finder()
        yield Input()

    def on_finder_picked(self, event):
        self.picked.append((event.choice, event.tab))

    def on_finder_closed(self):
        self.closed += 1


async def offering(choices, *keys, size=(80, 24)):
    app = Prompting()
    async with app.run_test(size=size) as pilot:
        finder = app.query_one(Finder)
        app.query_one(Input).focus()
        finder.offer(choices)
        await pilot.pause()
        for key in keys:
            finder.key(key)
            await pilot.pause()
        return app, finder.current, Seen(pilot, app).text, app.focused


async def test_it_is_closed_until_there_is_something_to_offer():
    _, current, text, _ = await offering((), "enter", "down")
    assert current is None
    assert "app/" not in text


async def test_the_first_choice_is_marked_and_the_prompt_keeps_the_focus():
    app, current, text, focused = await offering(FILES)
    assert current == FILES[0]
    assert isinstance(focused, Input)
    assert "app/file0.py  0 lines" in text
    assert app.picked == []


async def test_enter_and_tab_pick_and_close():
    for key in ("enter", "tab"):
        app, current, text, _ = await offering(FILES, "down", "down", "up", key)
        assert app.picked == [(FILES[1], key == "tab")]
        assert current is None
        assert "app/" not in text


async def test_escape_closes_and_picks_nothing():
    app, current, _, _ = await offering(FILES, "escape", "enter")
    assert (app.picked, app.closed, current) == ([], 1, None)


async def test_arrows_go_around_and_pages_do_not():
    assert (await offering(FILES, "up"))[1] == FILES[-1]
    assert (await offering(FILES, "up", "down"))[1] == FILES[0]
    assert (await offering(FILES, "pageup"))[1] == FILES[0]
    assert (await offering(FILES, *["pagedown"] * 9))[1] == FILES[-1]


async def test_new_choices_begin_at_the_first_again():
    app = Prompting()
    async with app.run_test() as pilot:
        finder = app.query_one(Finder)
        finder.offer(FILES)
        finder.key("down")
        finder.offer(FILES[5:])
        assert finder.current == FILES[5]
        finder.offer(())
        await pilot.pause()
        assert not finder.open


async def test_a_click_picks():
    app = Prompting()
    async with app.run_test() as pilot:
        app.query_one(Finder).offer(FILES)
        await pilot.pause()
        await pilot.click(Finder, offset=(3, 2))
        await pilot.pause()
        assert [choice for choice, _ in app.picked] == [FILES[2]]


async def test_names_of_files_are_neither_markup_nor_able_to_steer_the_terminal():
    _, _, text, _ = await offering((Choice("a[red]b\x1b[2J.py", "x", (0, 1), "[b]d[/b]\n2"),), size=(40, 12))
    assert "a[red]b.py  [b]d[/b] 2" in text
    assert "\x1b" not in text


async def test_a_note_stands_above_the_choices_and_is_none():
    for keys, at in (((), 0), (("down",), 1), (("up",), 19), (("up", "down"), 0), (("pagedown", "pageup"), 0)):
        app = Prompting()
        async with app.run_test() as pilot:
            finder = app.query_one(Finder)
            finder.offer(FILES, "only the first 50,000 files are offered")
            await pilot.pause()
            for key in keys:
                finder.key(key)
                await pilot.pause()
            assert finder.current == FILES[at]
            if not keys:
                lines = Seen(pilot, app).lines
                assert "only the first 50,000" in lines[0] and "file0.py" in lines[1]


async def test_a_note_alone_takes_no_keys():
    app = Prompting()
    async with app.run_test() as pilot:
        finder = app.query_one(Finder)
        finder.offer((), "only the first 50,000 files are offered")
        await pilot.pause()
        assert not finder.open and finder.current is None
        assert "only the first" in Seen(pilot, app).text
        finder.key("enter")
        await pilot.pause()
        finder.offer(())
        await pilot.pause()
        assert app.picked == [] and "only the first" not in Seen(pilot, app).text
