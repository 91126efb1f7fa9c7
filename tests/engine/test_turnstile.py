"""Whoever waits at the turnstile goes through in the order of arrival."""

import itertools
import threading

import pytest

from paceline.engine.turnstile import Turnstile


def test_two_threads_alternate_though_one_comes_back_at_once():
    turnstile, order = Turnstile(), []
    both = threading.Barrier(2)

    def go(name):
        both.wait(20)
        for _ in range(50):
            with turnstile:
                order.append(name)
                waiting.wait(0.05) if len(order) == 1 else None

    waiting = threading.Event()
    threads = [threading.Thread(target=go, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    runs = sum(a != b for a, b in itertools.pairwise(order))
    assert len(order) == 100
    assert runs >= 50, "a lock without order would let one of them run through"


def test_an_exception_inside_lets_the_next_one_through():
    turnstile = Turnstile()
    with pytest.raises(ZeroDivisionError), turnstile:
        raise ZeroDivisionError
    with turnstile:
        pass
