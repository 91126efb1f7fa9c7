"""An earlier message that is edited: that the next Enter replaces it is said for as long as it is so."""

from paceline.tui.widgets.footer import Footer
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript
from support.app_driving import chat, quiet, said, until, write


def footer(pilot):
    return chat(pilot).query_one(Footer).render().plain


async def edit(pilot, text):
    first = chat(pilot).conversation.path[0].id
    chat(pilot).query_one(Transcript).post_message(Transcript.TurnAction(first, "edit"))
    await until(pilot, lambda: chat(pilot).query_one(Prompt).text == text)


async def test_it_is_said_until_it_is_sent(app):
    async with app().run_test(size=(120, 24)) as pilot:
        await write(pilot, "one")
        await edit(pilot, "one")
        assert "editing an earlier message" in footer(pilot)
        await write(pilot, "ONE")
        assert "editing" not in footer(pilot)
        await edit(pilot, "ONE")
        await pilot.press("escape")
        assert "editing" not in footer(pilot)


async def test_it_is_said_while_an_answer_is_written_too_and_when_it_was_refused(app, client):
    async with app().run_test(size=(120, 24)) as pilot:
        await write(pilot, "one")
        client.gate.clear()
        await write(pilot, "two", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot).conversation.answering)
        await edit(pilot, "one")
        assert "editing an earlier message" in footer(pilot)
        prompt = chat(pilot).query_one(Prompt)
        prompt.replace_all("ONE")
        await pilot.pause(0.15)
        await pilot.press("enter")
        await until(pilot, lambda: prompt.text == "ONE" and chat(pilot).editing is not None and not chat(pilot).going)
        assert "editing an earlier message" in footer(pilot)
        client.gate.set()
        await quiet(pilot)
        assert "editing an earlier message" in footer(pilot)
        await pilot.press("enter")
        await quiet(pilot)
        await until(pilot, lambda: [text for _, text, _ in said(pilot)] == ["ONE", "Hello you."])
        assert "editing" not in footer(pilot)
