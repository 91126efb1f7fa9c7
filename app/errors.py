"""One family of errors: what failed, then a hint at what to do, and the exit code that goes with it."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the command's exit status means."""

    OK = 0
    FAILURE = 1  # something failed that has no code of its own
    USAGE = 2  # the command line is wrong (click uses the same number)
    CONFIG = 3  # a configuration file is broken
    MODEL = 4  # a model is missing, damaged, or cannot do what was asked
    NETWORK = 5  # a download failed and may be tried again
    INPUT = 6  # a file or position that was named cannot be used
    CONTEXT = 7  # the prompt does not fit into the model's context
    RESOURCE = 8  # disk or memory is not enough
    INTERRUPTED = 130  # Ctrl-C (128 + SIGINT)
    BROKEN_PIPE = 141  # whoever read our output went away (128 + SIGPIPE)


class PacelineError(Exception):
    """Something failed that a person can understand and act upon.

    `message` says what failed, in one line; `hint` what to do about it, empty where there is nothing to do.
    """

    exit_code = ExitCode.FAILURE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class ConfigError(PacelineError):
    """A configuration or catalogue file cannot be read, or says something unknown."""

    exit_code = ExitCode.CONFIG


class ModelError(PacelineError):
    """A model is missing, damaged, of an unknown kind, or unable to do what was asked."""

    exit_code = ExitCode.MODEL


class NetworkError(PacelineError):
    """A download failed; what has arrived is kept and the next try goes on from there."""

    exit_code = ExitCode.NETWORK


class InputError(PacelineError):
    """A file, position or text that the person named cannot be used."""

    exit_code = ExitCode.INPUT


SHORTEN = "shorten it, or raise engine.context in the configuration"  # a prompt that is too long


class ContextOverflowError(PacelineError):
    """The prompt needs more tokens than the context has. Carries both numbers."""

    exit_code = ExitCode.CONTEXT

    def __init__(self, needed: int, available: int, hint: str = "", *, at_least: bool = False) -> None:
        """at_least: `needed` is a lower bound, as a text that is far too long is not even tokenized."""
        over, bound = needed - available, "at least " if at_least else ""
        super().__init__(
            f"the prompt has {bound}{needed} tokens, {over} more than the {available} that fit into the context", hint
        )
        self.needed = needed
        self.available = available


class ResourceError(PacelineError):
    """Disk or memory is not enough for what was asked."""

    exit_code = ExitCode.RESOURCE


class BusyError(PacelineError):
    """Too many requests wait already; the same one may be sent again a little later."""

    exit_code = ExitCode.RESOURCE


class EngineError(PacelineError):
    """llama.cpp refused a call or the engine's bookkeeping does not hold; the request is lost."""
