"""What fitted when it was entered is measured again before it goes: messages that waited, and other answers."""

import pytest
from textual.widgets import OptionList

from paceline.chat.turns import Attached
from paceline.config import ChatConfig, Config
from paceline.tui import ready
from paceline.tui.screens.fitting import FittingScreen
from paceline.tui.widgets.prompt import Prompt
from support.app_driving import chat, quiet, said, told, until, write
from support.app_services import ScriptedClient
from support.counting_server import CountingServer
from support.templates import QWEN
from support.toy_tokenizer import ToyTokenizer

CONTEXT, RESERVE = 3000, 200  # tokens, which are about as many characters
WAITS = "And now? " + "word " * 150
SUMMARY = "In short."


@pytest.fixture
def client():
    return ScriptedClient(counter=CountingServer(QWEN, ToyTokenizer(), context=CONTEXT))


@pytest.fixture
def here(app, monkeypatch):
    monkeypatch.setattr(ready, "PAUSE", 0.05)
    return app(config=Config(chat=ChatConfig(reserve_tokens=RESERVE)))


def questions(pilot):
    return [text for role, text, _ in said(pilot) if role == "user"]


async def send(pilot, text):
    await write(pilot, text, send=False)
    await pilot.press("enter")


async def grown_too_long(pilot, client):
    """A message waits for an answer, and has no room behind it when that is complete."""
    client.says = lambda *_: ["So ", "it is. " * 320]
    client.gate.clear()
    await send(pilot, "Hi")
    await until(pilot, lambda: said(pilot)[-1:] == [("assistant", "So ", "streaming")])
    await send(pilot, WAITS)
    await until(pilot, lambda: len(chat(pilot).conversation.queued) == 1)
    client.gate.set()
    await until(pilot, lambda: isinstance(pilot.app.screen, FittingScreen))


async def take(pilot, words):
    screen = pilot.app.screen
    listed = screen.query_one("#choices", OptionList)
    lines = [str(option.prompt) for option in listed.options]
    listed.highlighted = next(at for at, line in enumerate(lines) if words in line)
    await pilot.press("space")
    await until(pilot, lambda: screen._steps[-1][1].fits)
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is chat(pilot))


async def test_a_message_that_waited_and_does_not_fit_any_more_is_not_sent_without_a_choice(here, client):
    async with here.run_test(notifications=True) as pilot:
        await grown_too_long(pilot, client)
        await pilot.press("escape")
        await until(pilot, lambda: "waits on" in told(pilot))
        assert [each.text for each in chat(pilot).conversation.queued] == [WAITS]
        assert len(client.asked) == 1


async def test_enter_shows_again_what_can_be_left_out_of_it(here, client):
    async with here.run_test(notifications=True) as pilot:
        await grown_too_long(pilot, client)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, FittingScreen))
        await take(pilot, "leave out all 2 messages")
        await until(pilot, lambda: len(client.asked) == 2)
        await quiet(pilot)
        assert questions(pilot) == ["Hi", WAITS]
        assert [role for role, _ in client.asked[1].said if role != "system"] == ["user"]
        assert chat(pilot).conversation.queued == ()


async def test_the_dialog_does_not_open_over_what_is_being_typed(here, client):
    client.says = lambda *_: ["So ", "it is. " * 320]
    client.gate.clear()
    async with here.run_test(notifications=True) as pilot:
        await send(pilot, "Hi")
        await until(pilot, lambda: said(pilot)[-1:] == [("assistant", "So ", "streaming")])
        await send(pilot, WAITS)
        await until(pilot, lambda: len(chat(pilot).conversation.queued) == 1)
        await write(pilot, "another", send=False)
        client.gate.set()
        await until(pilot, lambda: "F7" in told(pilot))
        assert pilot.app.screen is chat(pilot)
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.screen, FittingScreen))
        assert chat(pilot).query_one(Prompt).text == "another"


async def test_messages_that_wait_and_fit_go_one_after_the_other(here, client):
    client.gate.clear()
    async with here.run_test() as pilot:
        await send(pilot, "one")
        await until(pilot, lambda: chat(pilot).conversation.answering)
        for number, text in enumerate(("two", "three"), 1):
            await send(pilot, text)
            await until(pilot, lambda n=number: len(chat(pilot).conversation.queued) == n)
        client.gate.set()
        await until(pilot, lambda: len(client.asked) == 3)
        await quiet(pilot)
        assert questions(pilot) == ["one", "two", "three"]


async def test_another_answer_to_a_question_that_does_not_fit_any_more_is_one_to_another_question(here, client):
    async with here.run_test() as pilot:
        big = Attached("paste", "pasted text", "line\n" * 400)
        chat(pilot).attach((big,))
        await write(pilot, "What is this?")
        await until(pilot, lambda: len(client.asked) == 1)
        await quiet(pilot)
        client.counter = CountingServer(QWEN, ToyTokenizer(), context=1500)  # another model
        chat(pilot).sending.forget()
        await send(pilot, "/retry")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, FittingScreen))
        await take(pilot, "trim pasted text")
        await until(pilot, lambda: len(client.asked) == 2)
        await quiet(pilot)
        assert questions(pilot) == ["What is this?"]
        assert len(chat(pilot).conversation.path[0].attached[0].text) < len(big.text)
        assert len(chat(pilot).conversation.siblings(chat(pilot).conversation.path[0].id)) == 2


async def test_a_long_conversation_is_shortened_piece_by_piece(here, client):
    async with here.run_test(notifications=True) as pilot:
        client.says = lambda messages, _: [SUMMARY if messages[-1].content.startswith("Summarise") else "So. " * 150]
        for number in range(4):
            await write(pilot, f"Question {number}?")
            await until(pilot, lambda n=number: len(client.asked) == n + 1)
        await quiet(pilot)
        client.counter = CountingServer(QWEN, ToyTokenizer(), context=2200)
        chat(pilot).sending.forget()
        await send(pilot, "/compact")
        await pilot.press("enter")
        await until(pilot, lambda: "a summary of the first 6 messages" in told(pilot))
        requests = [each for each in client.asked if each.said[-1][1].startswith("Summarise")]
        assert len(requests) > 1
        assert all(SUMMARY in each.said[0][1] for each in requests[1:])
