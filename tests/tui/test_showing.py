"""What the conversation tells is seen: the panel of rounds has the rounds, and not the mean of all of them."""

import pytest

from paceline.client.events import End, Pace, Text
from paceline.tui.widgets.rounds import Rounds
from support.app_driving import chat, write

FIGURES = [Pace(1, 0.0, 0, 0, None, 0.0), Pace(11, 50.0, 10, 9, 2.0, 200.0), Pace(13, 21.7, 14, 9, 2.0, 600.0)]


async def test_the_panel_shows_each_round_and_that_nothing_was_drafted_again(app, client):
    last = Pace(14, 18.6, 14, 9, 2.0, 700.0)
    client.says = lambda *_: [*(each for pace in (*FIGURES, last) for each in (Text("a "), pace)), End("stop")]
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        rounds = chat(pilot).query_one(Rounds)
        assert list(rounds._rates) == pytest.approx([50.0, 5.0, 10.0])
        assert list(rounds._accepted) == pytest.approx([0.9, 0.0, None])
