"""A message that is too long for the context, from the prompt to what the model is sent: nothing is cut silently."""

import pytest
from textual.widgets import OptionList

from paceline.chat.turns import Draft
from paceline.config import ChatConfig, Config
from paceline.errors import EngineError
from paceline.tui.screens.fitting import FittingScreen
from paceline.tui.widgets.prompt import Prompt
from support.app_driving import chat, said, told, until, write
from support.app_services import ScriptedClient
from support.counting_server import CountingServer
from support.screens import Seen
from support.templates import QWEN
from support.toy_tokenizer import ToyTokenizer

CONTEXT, RESERVE = 3000, 200  # tokens, which are about as many characters
BIG = "".join(f"big_{number} = {number}\n" for number in range(250))
SMALL = "small = 1\n"
LONG_ANSWER = "So it is, and so it will be. " * 36
SHORT = Config(chat=ChatConfig(reserve_tokens=RESERVE))
SUMMARY = "They talked about it."


@pytest.fixture
def client():
    return ScriptedClient(counter=CountingServer(QWEN, ToyTokenizer(), context=CONTEXT))


@pytest.fixture
def here(app):
    """The app over a folder with a file that is too long and one that is not."""
    made = app(config=SHORT)
    (made.services.root / "big.py").write_text(BIG)
    (made.services.root / "small.py").write_text(SMALL)
    return made


def answers(messages, options):
    """Long ones, and a summary where one is asked for."""
    return [SUMMARY if messages[-1].content.startswith("Summarise") else LONG_ANSWER]


def takes(client, asked):
    """Tokens of what was sent, counted at once."""
    return client.counter.exactly(asked.messages)


async def found(pilot, name):
    await until(pilot, lambda: chat(pilot).suggesting.workspace.resolve(name) is not None)


async def dialog(pilot):
    await until(pilot, lambda: isinstance(pilot.app.screen, FittingScreen))
    return pilot.app.screen


async def closed(pilot):
    await until(pilot, lambda: pilot.app.screen is chat(pilot))


async def offered(pilot):
    listed = (await dialog(pilot)).query_one("#choices", OptionList)
    return [str(option.prompt) for option in listed.options]


async def choose(pilot, words):
    """Do the first thing in the list that has these words, and wait for its end."""
    screen = await dialog(pilot)
    lines = await offered(pilot)
    at = next(number for number, line in enumerate(lines) if words in line)
    for _ in range(len(lines)):
        if screen.query_one("#choices", OptionList).highlighted == at:
            break
        await pilot.press("down")
    done = len(screen._steps)
    await pilot.press("space")
    await until(pilot, lambda: len(screen._steps) > done)


async def sent(pilot, client, number=1):
    """Enter, then what the model was sent."""
    await pilot.press("enter")
    await closed(pilot)
    await until(pilot, lambda: len(client.asked) == number and not chat(pilot).conversation.answering)
    return client.asked[-1]


async def long_talk(pilot, client, turns=2):
    """So many answers, as long as the context has room for."""
    client.says = answers
    for number in range(turns):
        await write(pilot, f"Question {number}?")
        await until(pilot, lambda n=number: len(client.asked) == n + 1 and not chat(pilot).conversation.answering)


async def too_much(pilot, client):
    """A conversation, and behind it a message for which there is no room."""
    await long_talk(pilot, client)
    await write(pilot, "And now? " + "word " * 150)
    await dialog(pilot)


async def test_what_fits_is_sent_whole_and_nothing_is_asked(here, client):
    async with here.run_test() as pilot:
        await found(pilot, "small.py")
        await write(pilot, "What is @small.py ?")
        assert pilot.app.screen is chat(pilot)
        assert SMALL in client.asked[0].messages[-1].content


async def test_what_does_not_fit_is_shown_and_not_sent(here, client):
    async with here.run_test(size=(100, 30)) as pilot:
        await found(pilot, "big.py")
        await write(pilot, "What is @big.py ?")
        await dialog(pilot)
        seen = Seen(pilot, pilot.app)
        assert "does not fit" in seen.text
        assert "too many" in seen.text
        await pilot.press("enter")
        await pilot.pause()
        assert "still" in seen.text
        assert client.asked == []
        assert said(pilot) == []


async def test_back_gives_the_message_and_what_was_attached_to_the_prompt(here, client):
    async with here.run_test() as pilot:
        await found(pilot, "big.py")
        await write(pilot, "What is this?", send=False)
        chat(pilot).sending.pasted(BIG)
        await pilot.pause()
        text, attached = chat(pilot).query_one(Prompt).text, chat(pilot).attached
        assert len(attached) == 1
        await write(pilot, text)
        await dialog(pilot)
        await pilot.press("escape")
        await closed(pilot)
        await until(pilot, lambda: chat(pilot).query_one(Prompt).text == text)
        assert chat(pilot).attached == attached
        assert client.asked == []
        assert said(pilot) == []


async def test_an_attachment_that_is_left_out_is_not_sent_and_the_others_are(here, client):
    async with here.run_test() as pilot:
        await found(pilot, "big.py")
        await write(pilot, "Compare @big.py and @small.py .")
        await choose(pilot, "leave out big.py")
        asked = await sent(pilot, client)
        content = asked.messages[-1].content
        assert SMALL in content
        assert "big_0" not in content
        assert content.endswith("Compare @big.py and @small.py .")
        assert [each.name for each in chat(pilot).conversation.path[0].attached] == ["small.py"]


async def test_a_trimmed_attachment_fits_and_says_to_the_model_and_to_the_person_what_is_missing(here, client):
    async with here.run_test() as pilot:
        await found(pilot, "big.py")
        await write(pilot, "What is @big.py ?")
        await choose(pilot, "trim big.py")
        asked = await sent(pilot, client)
        content = asked.messages[-1].content
        assert "big_0 =" in content
        assert "lines left out …]" in content
        assert content.endswith("What is @big.py ?")
        assert takes(client, asked) + RESERVE <= CONTEXT
        assert takes(client, asked) + RESERVE > CONTEXT * 0.8
        assert "of 250 lines left out" in chat(pilot).conversation.path[0].attached[0].cut


async def test_turns_that_are_left_out_are_not_sent_and_stay_in_the_conversation(here, client):
    async with here.run_test() as pilot:
        await too_much(pilot, client)
        await choose(pilot, "leave out the first 2 messages")
        asked = await sent(pilot, client, 3)
        roles = [role for role, _ in asked.said]
        assert roles == ["system", "user", "assistant", "user"]
        assert asked.said[1] == ("user", "Question 1?")
        assert takes(client, asked) + RESERVE <= CONTEXT
        assert [text for role, text, _ in said(pilot) if role == "user"][:2] == ["Question 0?", "Question 1?"]


async def test_a_summary_stands_for_older_turns_now_and_in_the_next_message(here, client):
    async with here.run_test() as pilot:
        await too_much(pilot, client)
        await choose(pilot, "summarise all 4 messages")
        assert client.asked[-1].options.max_tokens
        asked = await sent(pilot, client, 4)
        assert [role for role, _ in asked.said] == ["system", "user"]
        assert asked.messages[0].content.endswith(f"in place of its first messages:\n{SUMMARY}")
        assert asked.messages[0].content.startswith(SHORT.ask.system)
        assert asked.messages[1].content.startswith("And now? ")
        assert len(said(pilot)) == 6
        await write(pilot, "Go on.")
        await until(pilot, lambda: len(client.asked) == 5)
        assert client.asked[-1].messages[0] == asked.messages[0]
        assert "Question 0?" not in "".join(text for _, text in client.asked[-1].said)


async def test_several_choices_are_done_one_after_the_other_and_all_of_them_are_sent(here, client):
    async with here.run_test() as pilot:
        await long_talk(pilot, client)
        await write(pilot, "Compare @big.py and @small.py .")
        await choose(pilot, "leave out big.py")
        screen = await dialog(pilot)
        assert screen._steps[-1][1].fits
        await pilot.press("u")
        assert not screen._steps[-1][1].fits
        await choose(pilot, "leave out all 4 messages")
        await choose(pilot, "trim big.py")
        asked = await sent(pilot, client, 3)
        assert [role for role, _ in asked.said] == ["system", "user"]
        content = asked.messages[-1].content
        assert SMALL in content
        assert "big_0 =" in content
        assert "lines left out …]" in content
        assert takes(client, asked) + RESERVE <= CONTEXT


async def test_a_summary_that_cannot_be_had_changes_nothing(here, client):
    async with here.run_test(size=(100, 30)) as pilot:
        await too_much(pilot, client)
        client.error = EngineError("the engine went away", "try again")
        screen = await dialog(pilot)
        lines = await offered(pilot)
        for _ in range(next(at for at, line in enumerate(lines) if "summarise" in line)):
            await pilot.press("down")
        await pilot.press("space")
        await until(pilot, lambda: "the engine went away" in Seen(pilot, pilot.app).text)
        assert len(screen._steps) == 1
        await pilot.press("escape")
        await closed(pilot)
        assert len(said(pilot)) == 4
        assert chat(pilot).query_one(Prompt).text.startswith("And now? ")


async def test_the_message_behind_one_that_does_not_fit_waits_for_what_becomes_of_it(here, client):
    async with here.run_test() as pilot:
        await found(pilot, "big.py")
        await write(pilot, "What is @big.py ?")
        await dialog(pilot)
        behind = chat(pilot).sending.submit("And then?")
        chat(pilot).do(behind)
        await pilot.pause(0.05)
        assert client.asked == []
        await choose(pilot, "leave out big.py")
        await pilot.press("enter")
        await closed(pilot)
        await until(pilot, lambda: len(client.asked) == 2 and not chat(pilot).conversation.answering)
        assert [text for role, text, _ in said(pilot) if role == "user"] == ["What is @big.py ?", "And then?"]


async def test_a_message_in_the_place_of_another_is_measured_without_what_came_behind_that(here, client):
    async with here.run_test() as pilot:
        await long_talk(pilot, client)
        first = chat(pilot).conversation.path[0]
        chat(pilot).begin_editing(first)
        await write(pilot, "Another question? " + "word " * 150)
        assert pilot.app.screen is chat(pilot), "it fits where two answers are not sent"
        await until(pilot, lambda: len(client.asked) == 3)
        assert [role for role, _ in client.asked[-1].said] == ["system", "user"]


async def test_where_nobody_counts_the_message_is_sent_whole(app, client):
    client.counter = None
    here = app(config=SHORT)
    (here.services.root / "big.py").write_text(BIG)
    async with here.run_test() as pilot:
        await found(pilot, "big.py")
        await write(pilot, "What is @big.py ?")
        assert BIG in client.asked[0].messages[-1].content
        assert not told(pilot)


async def test_a_message_that_waits_is_kept_as_it_was_chosen(here, client):
    """What is chosen while an answer is written holds when its turn comes."""
    client.gate.clear()
    async with here.run_test() as pilot:
        await found(pilot, "big.py")
        await write(pilot, "Hi", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: len(client.asked) == 1)
        await write(pilot, "Compare @big.py and @small.py .", send=False)
        await pilot.press("enter")
        await choose(pilot, "leave out big.py")
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot).conversation.queued)
        (waits,) = chat(pilot).conversation.queued
        assert waits == Draft("Compare @big.py and @small.py .", waits.attached)
        assert [each.name for each in waits.attached] == ["small.py"]
        client.gate.set()
        await until(pilot, lambda: len(client.asked) == 2 and not chat(pilot).conversation.answering)
        assert "big_0" not in client.asked[-1].messages[-1].content
