"""What `ask` and `complete` share: reaching the engine, reading inputs, reporting figures."""

import json
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO

from paceline import config as configuration
from paceline import paths
from paceline.chat import reading
from paceline.client.cancel import Cancel
from paceline.client.events import Completion, End, Event, Loading, Message, Note, Options, Progress, Reasoning, Usage
from paceline.commands.figures import figures
from paceline.commands.options import GenerationOptions
from paceline.config import Config
from paceline.console import say
from paceline.errors import ConfigError, InputError
from paceline.status import Status

LARGEST_INPUT = 16 * 2**20  # bytes; more text than any context holds
WORTH_TELLING = 2000  # milliseconds of waiting that a person wants to know about


class Engine(Protocol):
    """Whoever answers: the daemon, a server elsewhere, or the models in this process. See client.client.Client."""

    def chat(
        self, messages: Sequence[Message], options: Options = ..., cancel: Cancel | None = ...
    ) -> Generator[Event, None, None]:
        """An answer as it comes."""
        ...

    def complete(
        self, prefix: str, suffix: str, options: Options = ..., notice: Callable[[Event], None] = ...
    ) -> Completion:
        """What to insert between two texts."""
        ...


@contextmanager
def opened(status: Status, options: GenerationOptions) -> Iterator[tuple[Engine, Config]]:
    """The engine that the options and the configuration mean. Raises every PacelineError there is.

    Models on this machine are set up first if need be, here, where a person can be asked.
    """
    from paceline.commands.setup import ensure

    config = configuration.load(paths.config_file())
    if config.engine.url and not options.daemon:
        say("engine.url is not used: --no-daemon means the models of this machine")
    if config.engine.url and options.daemon:
        _forbid_network(config, offline=options.offline or config.models.offline)
        _tell_unknown(config, options)
    else:
        config = ensure(config, say, offline=options.offline)
    if not options.daemon:
        from paceline.commands.in_process import in_process

        with in_process(config, status, options) as service:
            yield service, config
        return
    from paceline.client.client import connect

    def tell(text: str) -> None:
        status.clear()
        say(text)

    status.show("waiting for the engine …")
    with connect(config, tell) as client:
        yield client, config


def _forbid_network(config: Config, *, offline: bool) -> None:
    from paceline.client.remote import on_this_machine

    if offline and not on_this_machine(config.engine.url):
        raise ConfigError(
            "engine.url names another machine, and the network is not to be used",
            "use the models of this machine with --no-daemon, or allow the network",
        )


def _tell_unknown(config: Config, options: GenerationOptions) -> None:
    """A server elsewhere decodes in its own way: what it is not told should not seem to be obeyed."""
    from paceline.client.remote import parse

    wishes = (("--speculation", options.speculation), ("--strict", options.strict))
    given = " and ".join(name for name, value in wishes if value is not None)
    if given:
        say(f"{given}: not passed on, {parse(config.engine.url).netloc} decodes in its own way")


def asked(options: GenerationOptions, **more: Any) -> Options:  # noqa: ANN401
    """What the command line asks for instead of the configuration."""
    return Options(
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
        speculation=options.speculation,
        strict=options.strict,
        **more,
    )


class Telling:
    """Tells a person how an answer is getting on: passing states on the status line, notes as lines, each once."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._told: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Take an event; one that is a part of the answer is not told."""
        if isinstance(event, Note) and event.text not in self._told:
            self._told.add(event.text)
            self._status.clear()
            say(event.text)
        elif isinstance(event, Loading):
            self._status.show("loading the models …")
        elif isinstance(event, Reasoning):
            self._status.show("thinking …")
        elif isinstance(event, Progress):
            left = f", {event.ms_left / 1000:.0f} s left" if event.ms_left and event.ms_left >= WORTH_TELLING else ""
            self._status.show(f"reading {event.done} of {event.total} tokens{left} …")


def read_text(path: Path) -> str:
    """A text file, exactly as it is. Raises InputError when it cannot be read or is not text."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_INPUT + 1)
    except OSError as error:
        hint = "name the files in it" if path.is_dir() else "check the name and its permissions"
        raise InputError(f"cannot read {path}: {error.strerror}", hint) from error
    return decode(data, str(path))


def read_stdin() -> str | None:
    """What was piped in, or None: a terminal or nothing. Raises InputError when it is not text."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    data = sys.stdin.buffer.read(LARGEST_INPUT + 1)
    if not data and _is_pipe(sys.stdin):
        say("note: nothing came through the pipe")
    return decode(data, "standard input") if data else None


def _is_pipe(stream: TextIO) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # no descriptor behind it
        return False


def decode(data: bytes, name: str) -> str:
    """Bytes of a text in UTF-8, or in UTF-16 with a byte order mark. Raises InputError for anything else.

    The mark is no part of the text: editors do not count it as a column.
    """
    if len(data) > LARGEST_INPUT:
        raise InputError(f"{name} is larger than {LARGEST_INPUT >> 20} MiB", "pass the part that matters")
    return reading.decode(data, name, "pass a text file")


def as_json(text: str, end: End | Completion, **more: Any) -> str:  # noqa: ANN401
    """The one object that --json prints. ASCII only, so no terminal sees a control character."""
    reason = end.reason if isinstance(end, End) else end.finish_reason
    usage = {
        "prompt_tokens": end.usage.prompt_tokens,
        "completion_tokens": end.usage.completion_tokens,
        "cached_tokens": end.usage.cached_tokens,
    }
    whole = {"text": text, "finish_reason": reason, "model": end.model, "usage": usage, "timings": dict(end.timings)}
    return json.dumps({**whole, **more})


def report(usage: Usage, timings: Mapping[str, Any]) -> None:
    """The figures for a person, on stderr: those that the engine gives."""
    for line in figures(usage, timings):
        say(line)
