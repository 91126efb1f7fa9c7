"""How long is waited before anything is computed."""

from paceline.lsp.rhythm import LONGEST, Rhythm, patience


def typing(interval: float, keys: int = 10, latency: float = 0.5) -> tuple[Rhythm, float]:
    rhythm, now = Rhythm(latency), 100.0
    for _ in range(keys):
        rhythm.typed(now)
        now += interval
    return rhythm, now - interval


def test_nobody_waits_for_an_answer_that_comes_before_the_next_key():
    assert patience(0.2, 0.01) == 0.0


def test_who_types_fast_is_waited_for_a_little_longer_than_a_key_takes():
    rhythm, last = typing(0.06)
    assert 0.06 < rhythm.wait(last) <= LONGEST


def test_who_has_not_typed_for_a_while_is_not_kept_waiting():
    rhythm, last = typing(0.1)
    assert rhythm.wait(last + 1.0) == 0.0


def test_nobody_waits_longer_than_the_longest():
    rhythm, last = typing(0.9, latency=5.0)
    assert rhythm.wait(last) <= LONGEST


def test_pauses_to_think_are_no_rhythm():
    rhythm, now = typing(0.1)
    for _ in range(30):
        now += 5.0
        rhythm.typed(now)
    assert rhythm.interval is not None
    assert abs(rhythm.interval - 0.1) < 1e-6


def test_waiting_is_never_longer_than_computing():
    assert patience(0.14, 0.06) <= 0.06
    assert patience(None, 0.06) <= 0.06
