"""A session that is deleted takes with it what waits in it, and nothing else."""

from paceline.chat.turns import Draft
from paceline.client.events import End
from paceline.tui.screens.confirm import ConfirmScreen
from support.app_driving import chat, quiet, said, told, until, write


async def delete(pilot):
    await write(pilot, "/delete", send=False)
    await pilot.press("escape", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))


async def test_its_title_and_what_waits_are_named_and_go_with_it(app, client):
    async with app().run_test(notifications=True) as pilot:
        await write(pilot, "Why is the sky blue?")
        for text in ("two", "three"):
            chat(pilot).conversation._queue.append(Draft(text))
        await delete(pilot)
        asked = pilot.app.screen._question.lines
        assert asked[0] == "Why is the sky blue?"
        assert asked[1:] == ("2 messages", "and 2 messages that wait")
        await pilot.press("y")
        await until(pilot, lambda: said(pilot) == [])
        assert chat(pilot).conversation.queued == ()
        await pilot.pause(0.5)
        assert "another window" not in told(pilot)
        store = chat(pilot).services.store
        assert store.list() == ()
        assert store.unsent("", str(chat(pilot).services.root)) is None


async def test_the_figures_of_its_answers_are_not_those_of_the_next_session(app, client):
    timings = {"predicted_per_second": 30.0, "draft_n": 10, "draft_n_accepted": 4, "speed_up": 1.2}
    client.says = lambda *_: ["So.", End("stop", timings=timings, model="m")]
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        figures = lambda: chat(pilot).showing._figures  # noqa: E731
        assert figures().rate == 30.0
        await delete(pilot)
        await pilot.press("y")
        await until(pilot, lambda: said(pilot) == [])
        assert (figures().rate, figures().acceptance, figures().speedup) == (None, None, None)
        await quiet(pilot)
