"""What events say about how an answer is getting on."""

import pytest

from paceline.chat.happenings import Working, working
from paceline.client.events import End, Event, Loading, Note, Pace, Progress, Reasoning, Text


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Progress(3, 9, 1500.0), Working("reading", 3, 9, 1500.0)),
        (Pace(7, 20.0, 8, 2, 1.2), Working("writing", tokens=7, per_second=20.0, acceptance=0.25, speed_up=1.2)),
        (Pace(1, 0.0), Working("writing", tokens=1)),
        (Loading("loading"), Working("loading")),
        (Reasoning("hm"), Working("thinking")),
        *((event, None) for event in (Text("a"), Note("n"), End("stop"))),
    ],
)
def test_each_event_says_what_is_done(event: Event, said: Working | None):
    assert working(event) == said
