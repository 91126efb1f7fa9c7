"""Nothing happens that a person did not mean: keys of one thing do nothing to another."""

import asyncio

import pytest

from paceline.chat.blocks import blocks
from paceline.tui.screens.confirm import ConfirmScreen
from paceline.tui.screens.help import HelpScreen
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.screens.setup import SetupScreen
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript
from support.app_driving import chat, quiet, said, told, until, write

EDITED = "def add(a, b):\n    return a + b\n"
FENCED = "So:\n\n```python\nprint(1)\n"


def prompt(pilot):
    return chat(pilot).query_one(Prompt)


async def enter(pilot, text):
    await write(pilot, text, send=False)
    await pilot.press("enter")
    await pilot.pause(0.1)


def an_edit(app, client):
    """/edit of a file is asked for, and will be there when the gate is opened."""
    here = app()
    (here.services.root / "a.py").write_text("def add(a, b):\n    return a - b\n")
    client.says = lambda *_: [f"```python\n{EDITED}```\n"]
    return here


async def test_a_review_that_is_ready_waits_while_something_is_written(app, client):
    here = an_edit(app, client)
    async with here.run_test(notifications=True) as pilot:
        client.gate.clear()
        await enter(pilot, "/edit a.py mend it")
        await until(pilot, lambda: client.asked)
        await write(pilot, "my next message is", send=False)
        client.gate.set()
        await until(pilot, lambda: "F7" in told(pilot))
        await pilot.pause(1.5)
        assert pilot.app.screen is chat(pilot)
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        assert prompt(pilot).text == "my next message is"


async def test_a_review_that_is_ready_opens_once_the_prompt_is_empty(app, client):
    here = an_edit(app, client)
    async with here.run_test(notifications=True) as pilot:
        client.gate.clear()
        await enter(pilot, "/edit a.py mend it")
        await write(pilot, "never mind", send=False)
        client.gate.set()
        await until(pilot, lambda: "F7" in told(pilot))
        await write(pilot, "", send=False)
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))


@pytest.fixture
def outside(tmp_path):
    path = tmp_path / "outside.txt"
    path.write_text("not of the workspace\n")
    return path


async def asked_about(pilot, outside):
    await enter(pilot, f"@{outside} hi")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))


async def test_letters_of_words_choose_no_button(app, client, outside):
    async with app().run_test() as pilot:
        await asked_about(pilot, outside)
        await pilot.press("h", "e", "l", "l", "o", "enter")
        await quiet(pilot)
        assert all("not of the workspace" not in text for each in client.asked for _, text in each.said)


async def test_escape_at_a_question_about_a_message_gives_the_message_back(app, client, outside):
    async with app().run_test() as pilot:
        await asked_about(pilot, outside)
        await pilot.press("escape")
        await until(pilot, lambda: prompt(pilot).text == f"@{outside} hi")
        assert client.asked == []


async def test_no_sends_it_without_the_file_and_says_so(app, client, outside):
    async with app().run_test(notifications=True) as pilot:
        await asked_about(pilot, outside)
        await pilot.press("n")
        await until(pilot, lambda: client.asked)
        await until(pilot, lambda: "left out" in told(pilot))
        assert "not of the workspace" not in client.asked[0].said[-1][1]


async def test_a_message_goes_with_the_output_of_a_command_that_still_runs(app, client):
    async with app().run_test() as pilot:
        await enter(pilot, "!sleep 0.7; echo done-here")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: chat(pilot).acting.running)
        await enter(pilot, "What did it print?")
        await until(pilot, lambda: client.asked)
        await quiet(pilot)
        assert "done-here" in client.asked[0].said[-1][1]
        assert chat(pilot).attached == ()


@pytest.mark.parametrize("key", ["a", "r", "s", "A"])
async def test_a_block_that_is_still_written_is_left_alone(app, client, key):
    client.says = lambda *_: [FENCED, "print(2)\n```\n"]
    client.gate.clear()
    async with app().run_test(notifications=True) as pilot:
        await enter(pilot, "Print")
        await until(pilot, lambda: said(pilot)[-1:] == [("assistant", FENCED, "streaming")])
        transcript = chat(pilot).query_one(Transcript)
        transcript.focus()
        transcript.select(chat(pilot).conversation.path[-1].id, 0)
        await pilot.press(key)
        await until(pilot, lambda: "still being written" in told(pilot))
        assert pilot.app.screen is chat(pilot)
        client.gate.set()


async def test_earlier_inputs_are_searched_as_one_types(app, client):
    here = app()
    for each in ("write fizzbuzz", "run the tests", "explain"):
        here.services.history.add(each)
    async with here.run_test() as pilot:
        await pilot.press("ctrl+r")
        popup = chat(pilot).suggesting.popup
        await until(pilot, lambda: popup.open)
        for character in "fizz":
            await pilot.press(character)
            await pilot.pause(0.1)
        await pilot.press("enter")
        await until(pilot, lambda: prompt(pilot).text == "write fizzbuzz")
        assert client.asked == []


async def test_what_a_message_mentions_is_measured_before_it_is_sent(app, client):
    here = app()
    (here.services.root / "app.py").write_text("x = 1\n")
    async with here.run_test() as pilot:
        await until(pilot, lambda: chat(pilot).suggesting.workspace.resolve("app.py") is not None)
        await write(pilot, "What is in @app.py and @nothing.py", send=False)
        draft = await chat(pilot).sending.begun()
        assert [(each.name, each.text) for each in draft.attached] == [("app.py", "x = 1\n")]


async def test_a_key_pressed_twice_opens_one_review(app, client):
    here = app()
    (here.services.root / "a.py").write_text("def add(a, b):\n    return a - b\n")
    client.says = lambda *_: [f"```python a.py\n{EDITED}```\n"]
    async with here.run_test() as pilot:
        await write(pilot, "Two")
        transcript = chat(pilot).query_one(Transcript)
        transcript.focus()
        transcript.select(chat(pilot).conversation.path[-1].id, 0)
        await pilot.press("a", "a")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.pause(0.2)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await asyncio.sleep(0.2)
        await pilot.pause()
        assert pilot.app.screen is chat(pilot)


async def test_tab_leaves_the_prompt_only_while_it_is_empty(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        await write(pilot, "what did I", send=False)
        await pilot.press("tab", "x")
        assert prompt(pilot).has_focus
        assert prompt(pilot).text == "what did Ix"
        await write(pilot, "", send=False)
        await pilot.press("tab")
        await pilot.pause()
        assert not prompt(pilot).has_focus


async def test_a_question_mark_in_the_conversation_shows_the_keys(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        chat(pilot).query_one(Transcript).focus()
        await pilot.press("?")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))


async def test_a_dialog_is_left_with_control_c_and_the_app_with_control_q(app, client):
    async with app(is_set_up=False).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, SetupScreen))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: pilot.app._exit)


async def test_a_key_for_a_turn_that_has_gone_does_nothing(app, client):
    async with app().run_test(notifications=True) as pilot:
        await write(pilot, "Hi")
        chat(pilot).post_message(Transcript.TurnAction(99, "retry"))
        await pilot.pause(0.1)
        assert told(pilot) == ""


async def test_what_cannot_be_seen_is_looked_at_before_it_is_saved(app, client):
    client.says = lambda *_: ["```python\nprint('\x1b[8m')\n```\n"]
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "Print")
        chat(pilot).do(chat(pilot).acting.save("print('\x1b[8m')\n", "new.py"))
        await until(pilot, lambda: isinstance(pilot.app.screen, NamingScreen))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.press("enter")  # nothing is accepted
        await pilot.pause(0.1)
        assert not (here.services.root / "new.py").exists()


async def test_a_block_that_only_controls_make_is_none(app, client):
    client.says = lambda *_: ["`\x1b[0m``sh\nrm -rf x\n```\n\nSo:\n\n```sh\necho hi\n```\n"]
    async with app().run_test() as pilot:
        await write(pilot, "Print")
        turn = chat(pilot).conversation.path[-1].id
        shown = chat(pilot).query_one(Transcript)
        assert shown._column.entries[-1].blocks() == len(blocks(chat(pilot).acting.answer_of(turn)))
        assert chat(pilot).acting.block_of(turn, 0).text == "rm -rf x\n"
        assert chat(pilot).acting.block_of(turn, 1).text == "echo hi\n"
