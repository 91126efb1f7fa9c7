"""Engines that share a processor: the most urgent first, nobody never."""

import threading
import time

import pytest

from paceline.engine.turnstile import STARVED, Turnstile


class Walkers:
    """Threads that stand at the turnstile together and then go through as often as they are to."""

    def __init__(self, turnstile, ranks, steps):
        self.order: list[str] = []
        threads = [threading.Thread(target=self._walk, args=(turnstile, *pair, steps)) for pair in ranks.items()]
        with turnstile.turn("the test", 0):
            for thread in threads:
                thread.start()
            while len(turnstile._waiting) < len(threads):
                time.sleep(0.001)
        turnstile.rest("the test")
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()

    def _walk(self, turnstile, name, rank, steps):
        for _ in range(steps):
            with turnstile.turn(name, rank):
                self.order.append(name)
        turnstile.rest(name)


def test_equals_both_get_through():
    order = Walkers(Turnstile(), {"a": 1, "b": 1}, 50).order
    assert sorted(order) == ["a"] * 50 + ["b"] * 50
    assert set(order[:2]) == {"a", "b"}, "the one that comes back at once lets the other go first"


def test_the_more_urgent_one_goes_first_and_the_other_does_not_wait_for_ever():
    order = Walkers(Turnstile(), {"chat": 1, "completion": 0}, 3 * STARVED).order
    assert order.index("chat") in (STARVED - 1, STARVED)


def test_who_rests_holds_nobody_up():
    turnstile = Turnstile()
    with turnstile.turn("completion", 0):
        assert turnstile.crowded("chat")
        assert not turnstile.crowded("completion")
    turnstile.rest("completion")
    assert not turnstile.crowded("chat")
    with turnstile.turn("chat", 1):
        pass


def test_an_exception_inside_lets_the_next_one_through():
    turnstile = Turnstile()
    with pytest.raises(ZeroDivisionError), turnstile.turn("a", 0):
        raise ZeroDivisionError
    with turnstile.turn("a", 0):
        pass
