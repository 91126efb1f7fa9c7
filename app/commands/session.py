"""What `ask` and `complete` share: opening the engine, reading inputs, reporting figures."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from paceline import config as configuration
from paceline import paths
from paceline.commands.options import GenerationOptions
from paceline.config import Config
from paceline.console import say
from paceline.daemon import assembly, selection
from paceline.daemon.service import Overrides, Service
from paceline.engine.engine import Engine
from paceline.engine.stats import Stats
from paceline.errors import InputError
from paceline.status import Status

LARGEST_INPUT = 16 * 2**20  # bytes; more text than any context holds


@contextmanager
def opened(status: Status, options: GenerationOptions) -> Iterator[Service]:
    """A service on the configured pair, set up first if need be. Raises every PacelineError there is."""
    from paceline.commands.setup import ensure

    config = configuration.load(paths.config_file())
    config = ensure(config, say, offline=options.offline)
    engine, service, installed = open_service(config, status, options)
    try:
        yield service
        assembly.review(engine, installed)
    finally:
        service.close()


def open_service(
    config: Config, status: Status, options: GenerationOptions
) -> tuple[Engine, Service, assembly.Installed]:
    """Load the pair that the configuration names; its files are here already, or are fetched."""
    from paceline.progress import ProgressBar

    files = selection.pair_files(config)
    assert files is not None, "set-up names a pair"
    found = selection.fetch(files, config, ProgressBar, offline=options.offline)

    def tell(text: str) -> None:
        status.clear()
        say(text)

    status.show("loading the models …")
    installed = assembly.inspect(found[0], found[1] if len(found) > 1 else None, config)
    engine = assembly.load(installed, tell, speculation=options.speculation or config.engine.speculation)
    status.clear()
    return engine, Service(engine, config, files.target.id), installed


def overrides(options: GenerationOptions) -> Overrides:
    """What the command line asks for instead of the configuration."""
    return Overrides(options.max_tokens, options.temperature, options.seed, options.speculation)


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
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data and not wide:
        raise InputError(f"{name} is not text: it has NUL bytes", "pass a text file")
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not {'UTF-16' if wide else 'UTF-8'} text: byte {error.start} cannot be decoded",
            "convert it, e.g. with iconv",
        ) from error
    if "\0" in text:
        raise InputError(f"{name} is not text: it has NUL characters", "pass a text file")
    return text


def as_json(text: str, finish_reason: str, model: str, stats: Stats, **more: Any) -> str:  # noqa: ANN401
    """The one object that --json prints. ASCII only, so no terminal sees a control character."""
    usage = {
        "prompt_tokens": stats.prompt_tokens,
        "completion_tokens": stats.predicted_tokens,
        "cached_tokens": stats.cached_tokens,
    }
    whole = {"text": text, "finish_reason": finish_reason, "model": model, "usage": usage, "timings": stats.timings()}
    return json.dumps({**whole, **more})


def report(stats: Stats) -> None:
    """The figures for a person, on stderr."""
    read = stats.prompt_tokens - stats.cached_tokens
    cached = f" ({stats.cached_tokens} more were cached)" if stats.cached_tokens else ""
    say(f"prompt      {read} tokens in {stats.prompt_ms / 1000:.2f} s{cached}")
    say(
        f"answer      {stats.predicted_tokens} tokens in {stats.predicted_ms / 1000:.2f} s, "
        f"{stats.tokens_per_second:.1f} tokens/s"
        + ("" if stats.speed_up is None else f", {stats.speed_up:.2f}x of plain decoding on this machine")
    )
    if stats.rounds:
        say(
            f"rounds      {stats.rounds}, mean accepted length {stats.accepted / stats.rounds:.2f}, "
            f"{stats.drafted - stats.accepted} drafted tokens wasted"
        )
    say(
        f"time        drafting {stats.drafting_ms:.0f} ms, verifying {stats.verifying_ms:.0f} ms, "
        f"sampling {stats.sampling_ms:.0f} ms"
    )
    for name, each in stats.drafters.items():
        shares = " ".join(f"{share:.0%}" for share in each.acceptance_by_position(8))
        say(f"{name:11} {each.accepted} of {each.drafted} accepted in {each.rounds} drafts; by position {shares}")
    for note in stats.notes:
        say(f"note        {note}")
