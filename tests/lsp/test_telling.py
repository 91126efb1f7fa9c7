"""A person is told everything once."""

from paceline.errors import EngineError
from paceline.lsp.telling import LONGEST, Telling


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


def test_an_error_that_differs_only_in_numbers_and_names_of_requests_is_told_once():
    tell, told = telling()
    for number in range(20):
        tell.fail(EngineError(f"request {number * 7919:x}1 failed after {number}.5 s"))
    assert len(told) == 1


def test_an_error_in_one_document_is_no_news_because_another_one_is_answered():
    tell, told = telling()
    for _ in range(10):
        tell.fail(EngineError("it broke"), "file:///bad.py")
        tell.mended("file:///good.py")
    assert len(told) == 1


def test_an_error_in_many_documents_is_told_once():
    tell, told = telling()
    for number in range(10):
        tell.fail(EngineError("it broke"), f"file:///{number}.py")
    assert len(told) == 1


def test_an_error_in_a_document_that_was_answered_meanwhile_is_news():
    tell, told = telling()
    tell.fail(EngineError("it broke"), "file:///a.py")
    tell.fail(EngineError("it broke"), "file:///b.py")
    tell.mended("file:///a.py")
    tell.fail(EngineError("it broke"), "file:///a.py")
    tell.fail(EngineError("it broke"), "file:///b.py")
    assert len(told) == 2


def test_what_an_engine_says_is_cut_and_cannot_steer_a_terminal():
    tell, told = telling()
    tell.fail(EngineError("\x1b[31mred" + "x" * 100_000))
    assert "\x1b" not in told[0][1]
    assert len(told[0][1]) == LONGEST
