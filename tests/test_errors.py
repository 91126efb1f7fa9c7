"""The family of errors: message, hint, exit code."""

import pytest

from paceline import errors
from paceline.errors import ContextOverflowError, ExitCode, PacelineError

FAMILY = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, PacelineError)]


def test_a_message_and_a_hint_are_two_lines():
    assert str(PacelineError("it failed", "try again")) == "it failed\nhint: try again"
    assert str(PacelineError("it failed")) == "it failed"


def test_every_kind_of_error_has_a_code_that_is_no_success():
    assert len(FAMILY) >= 8
    for each in FAMILY:
        assert each.exit_code in ExitCode
        assert each.exit_code != ExitCode.OK


def test_the_kinds_that_scripts_tell_apart_have_codes_of_their_own():
    codes = {each.__name__: int(each.exit_code) for each in FAMILY}
    assert codes == {
        "PacelineError": 1,
        "EngineError": 1,
        "ConfigError": 3,
        "ModelError": 4,
        "NetworkError": 5,
        "InputError": 6,
        "ContextOverflowError": 7,
        "ResourceError": 8,
        "BusyError": 8,
    }


def test_codes_of_signals_are_the_shell_s():
    assert (ExitCode.INTERRUPTED, ExitCode.BROKEN_PIPE) == (128 + 2, 128 + 13)


@pytest.mark.parametrize(("needed", "available"), [(300, 255), (256, 255)])
def test_an_overflow_says_both_numbers_and_the_difference(needed, available):
    error = ContextOverflowError(needed, available, "shorten it")
    assert (error.needed, error.available, error.hint) == (needed, available, "shorten it")
    for number in (needed, available, needed - available):
        assert str(number) in error.message
