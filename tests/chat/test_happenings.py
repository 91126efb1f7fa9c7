"""What events say about how an answer is getting on."""

import pytest

from paceline.chat.happenings import Working, working
from paceline.client.events import End, Event, Loading, Note, Pace, Progress, Reasoning, Text


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Progress(3, 9, 1500.0), Working("reading", 3, 9, 1500.0)),
        (
            Pace(7, 20.0, 8, 2, 1.2, 300.0),
            Working("writing", tokens=7, milliseconds=300.0, per_second=20.0, drafted=8, accepted=2, speed_up=1.2),
        ),
        (Pace(7, 20.0), Working("writing", tokens=7, milliseconds=300.0, per_second=20.0)),
        (Pace(1, 0.0), Working("writing", tokens=1)),
        (Pace(6, 3356.4, 5, 5, None, 1.49), Working("writing", tokens=6, milliseconds=1.49, drafted=5, accepted=5)),
        (Loading("loading"), Working("loading")),
        (Reasoning("hm"), Working("thinking")),
        *((event, None) for event in (Text("a"), Note("n"), End("stop"))),
    ],
)
def test_each_event_says_what_is_done(event: Event, said: Working | None):
    assert working(event) == said


def test_the_share_of_drafts_that_stood_is_known_once_there_are_some():
    assert Working("writing", drafted=8, accepted=2).acceptance == 0.25
    assert Working("writing").acceptance is None
