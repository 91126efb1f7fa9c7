"""Times and sizes as people read them."""

import time

import pytest

from paceline.chat.words import ago, duration, many, size
from paceline.models.download import human

NOW = time.mktime((2026, 6, 15, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "now"), (59, "now"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (90_000, "1 d"), (6 * 86400, "6 d")],
)
def test_short_times_ago(seconds, said):
    assert ago(NOW - seconds, NOW) == said


def test_longer_ago_is_the_day():
    assert ago(NOW - 30 * 86400, NOW) == "2026-05-16"


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1499, 999_999, 1_000_000, 491_400_064, 999_500_000, 20_342_735_936])
def test_sizes_read_as_in_the_commands(count):
    assert size(count) == human(count)


def test_counts_and_durations():
    assert [many(0, "turn"), many(1, "turn"), many(1200, "turn")] == ["0 turns", "1 turn", "1,200 turns"]
    assert [duration(40), duration(170), duration(7500)] == ["40 s", "3 min", "2 h 5 min"]
