"""What the footer says of an answer."""

from paceline.chat.happenings import Working
from paceline.chat.turns import Turn
from paceline.tui.figures import at_the_end, while_working
from paceline.tui.widgets.footer import Figures

KNOWN = Figures(model="m", used=100, size=1000, rate=9.0)


def test_while_the_prompt_is_read_it_says_how_long_that_takes():
    assert while_working(KNOWN, Working("reading", 10, 40, 3000.0)).state == "reading 10 of 40 tokens, 3 s left"


def test_the_pace_is_that_of_now_and_the_rest_stays():
    now = while_working(KNOWN, Working("writing", tokens=5, per_second=20.0, drafted=8, accepted=4, speed_up=1.5))
    assert (now.state, now.rate, now.acceptance, now.speedup) == ("writing", 20.0, 0.5, 1.5)
    assert (now.model, now.used, now.size) == ("m", 100, 1000)


def test_when_nothing_is_done_nothing_is_said_of_it_and_the_last_pace_stays():
    now = while_working(KNOWN, Working())
    assert (now.state, now.rate) == ("", 9.0)


def test_at_the_end_stand_the_figures_of_the_whole_answer():
    timings = {"predicted_per_second": 30.0, "draft_n": 10, "draft_n_accepted": 4, "speed_up": 1.2}
    end = at_the_end(KNOWN, Turn(1, None, "assistant", "x", model="big", timings=timings))
    assert (end.model, end.rate, end.acceptance, end.speedup) == ("big", 30.0, 0.4, 1.2)


def test_an_answer_without_figures_has_none():
    end = at_the_end(KNOWN, Turn(1, None, "assistant", "x"))
    assert (end.model, end.rate, end.acceptance, end.speedup) == ("m", None, None, None)
