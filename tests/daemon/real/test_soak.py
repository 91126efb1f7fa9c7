"""Hundreds of clients that come and go at any point: afterwards the daemon is as it was before."""

import pytest

from support.alone import alone
from support.crowd import FATES, Crowd
from support.real_daemon import RealDaemon, real_daemon, until

CLIENTS = 200  # at a time
POOLS = 46  # threads that wait for work, at most: six of the event loop's on two cores, and forty of the routes'
MARGIN = 32 << 20  # bytes that the memory may grow by once all has been in use: threads' arenas fill up slowly
QUESTION = ("/completion", {"prompt": "in the in the", "n_predict": 40, "temperature": 0.0})


@pytest.fixture
def crowded(tiny):
    """A daemon with little of everything that may be kept."""
    with real_daemon(tiny.target, tiny.draft, engine="context = 4096\nparking_mb = 4") as running:
        yield running


def nothing_is_kept(daemon: RealDaemon) -> bool:
    """Whether nobody is being served, and the context holds what the idle places do."""
    slots, metrics = daemon.slots, daemon.metrics
    held = [slot["tokens"] for slot in slots]
    assert max(held) <= metrics["paceline_cells_used"] <= min(sum(held), metrics["paceline_cells"])  # shared ones once
    assert metrics["paceline_parked_bytes"] <= 4 << 20
    assert metrics["paceline_requests_in_flight"] == metrics["paceline_queue"] == metrics["paceline_running"] == 0
    return all(slot["state"] == "idle" for slot in slots)


def soak(daemon: RealDaemon, seconds: float, most: int, seed: int) -> None:
    with alone(daemon) as engine:
        expected = engine.steady([QUESTION])
    assert daemon.post(*QUESTION).json()["content"] == expected.expected
    files, _, _ = daemon.held
    Crowd(daemon, seed, CLIENTS).run(seconds / 3, most // 2)  # caches and pools fill up
    daemon.settle()
    _, _, memory = daemon.held
    tally = Crowd(daemon, seed + 1, CLIENTS).run(seconds * 2 / 3, most)
    assert set(tally.fates) == set(FATES)
    assert set(tally.statuses) <= {0, 200, 400, 404, 503}
    assert tally.statuses[200] > tally.statuses[503]
    daemon.settle()
    assert nothing_is_kept(daemon)
    until(lambda: daemon.held[0] <= files, "every connection is closed")
    _, threads, now = daemon.held
    assert threads <= 4 + POOLS
    assert now <= memory + MARGIN
    assert daemon.post(*QUESTION).json()["content"] == expected.expected
    assert "Traceback" not in daemon.log


def test_nothing_is_left_of_clients_that_come_and_go(crowded):
    soak(crowded, seconds=10, most=3000, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(480)
def test_nothing_is_left_of_clients_that_come_and_go_for_two_minutes(crowded):
    soak(crowded, seconds=120, most=60_000, seed=2)
