"""A person is told everything once."""

from paceline.errors import EngineError
from paceline.lsp.telling import Telling


def telling() -> tuple[Telling, list[tuple[str, str]]]:
    told: list[tuple[str, str]] = []
    return Telling(lambda kind, text: told.append((kind, text))), told


def test_an_error_is_told_with_the_next_step():
    tell, told = telling()
    tell.fail(EngineError("it broke", "mend it"))
    assert told == [("error", "Paceline: it broke (mend it)")]


def test_the_same_error_for_every_key_is_told_once():
    tell, told = telling()
    for _ in range(100):
        tell.fail(EngineError("it broke", "mend it"))
    assert len(told) == 1


def test_another_error_is_told():
    tell, told = telling()
    tell.fail(EngineError("it broke"))
    tell.fail(EngineError("it broke in another way"))
    assert len(told) == 2


def test_an_error_after_the_engine_answered_is_news():
    tell, told = telling()
    tell.fail(EngineError("it broke"))
    tell.mended()
    tell.fail(EngineError("it broke"))
    assert len(told) == 2


def test_settings_that_are_wrong_are_not_repeated_when_an_engine_answers():
    tell, told = telling()
    tell.once("warning", "a setting is wrong")
    tell.mended()
    tell.once("warning", "a setting is wrong")
    assert len(told) == 1


def test_what_was_told_is_not_remembered_without_bound():
    tell, told = telling()
    for number in range(1000):
        tell.once("info", f"message {number}")
    tell.once("info", "message 0")
    assert told[-1] == ("info", "message 0")
