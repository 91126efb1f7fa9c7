"""The client's side of starting: use the daemon that runs, replace one that does not fit, or start one."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version as installed_version
from pathlib import Path

from paceline import config as configuration
from paceline import paths
from paceline.config import Config
from paceline.daemon import log
from paceline.daemon.probe import Daemon, find, request_stop
from paceline.daemon.protocol import PROTOCOL, Hello
from paceline.daemon.runtime import Runtime
from paceline.daemon.settings import config_digest
from paceline.errors import ConfigError, PacelineError

Say = Callable[[str], None]
SERVE = ("-m", "paceline", "serve")
STARTING = 60.0  # seconds; it takes about one on an idle machine
REPLACING = 900.0  # seconds for an older daemon's requests, and for other clients that wait for the same
SILENT = 1.0  # seconds of waiting that nobody needs to be told about
INTERVAL = 0.02  # seconds between two looks
SHOWN = 6  # lines of the log


def ensure(config: Config, say: Say = lambda _: None, *, serve: Sequence[str] = SERVE) -> Daemon:
    """A daemon that serves this configuration, started if none runs.

    The daemon goes by what the configuration file says now; `config`, which is what it said when the program read it,
    counts only where the file has mistakes by now. `say` gets a line where it takes
    longer than a start. `serve` are the interpreter's arguments that start a daemon.

    A newer client, or one with other models, asks the daemon to end when its requests are done, waits for that, and
    starts another. A newer daemon that speaks the same protocol is used as it is.
    Raises PacelineError: the daemon cannot start (with the last lines of its log), does not answer or end in time, or
    is a newer one that this client cannot talk to; also when the runtime folder is not safe.
    """
    runtime, version = Runtime.open(), installed_version("paceline")
    # A program that has run for long may hold an older configuration than the file has now. The daemon goes by the
    # file: one that goes by an older file is of no use, and one of the same kind in its place would help nobody.
    digest = _digest_of_file(config_digest(config))
    found = find(runtime)
    if found is not None and fits(found.hello, version, digest):
        return found
    with _Turn(runtime, say):
        found = find(runtime) or _begun(runtime, say)
        if found is not None and not fits(found.hello, version, digest):
            _replace(runtime, found, say)
            found = None
        return found or _start(runtime, serve)


def _digest_of_file(otherwise: str) -> str:
    try:
        return config_digest(configuration.load(paths.config_file(), without=configuration.FRONT_ENDS))
    except ConfigError:  # the daemon has read it when it was whole
        return otherwise


def fits(hello: Hello, version: str, digest: str) -> bool:
    """Whether a client of this version and configuration uses that daemon; otherwise it replaces it.

    Raises PacelineError for a newer daemon with another protocol.
    """
    ours, theirs = order(version), order(hello.version)
    if theirs > ours:
        if hello.protocol != PROTOCOL:
            raise PacelineError(
                f"the daemon is Paceline {hello.version} and cannot serve this older client ({version})",
                "start this program again with the newer Paceline, or end the daemon: paceline stop",
            )
        return True
    return theirs == ours and hello.protocol == PROTOCOL and hello.config == digest


def order(version: str) -> tuple[tuple[int, ...], int, int]:
    """Sorts versions such as 1.2, 1.10.1, 2.0rc1 and 2.0.dev3; what comes before a release, in its order.

    Of PEP 440 only as much as our own versions use.
    """
    match = re.match(r"v?(\d+(?:\.\d+)*)(?:[-_.]?(dev|a|b|rc|post)[a-z]*[-_.]?(\d*))?", version)
    if match is None:
        return (), 0, 0
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}[match[2]], int(match[3] or 0)


class _Turn:
    """The start lock, for a `with`. Says so where somebody else takes long. Raises PacelineError after a long wait."""

    def __init__(self, runtime: Runtime, say: Say) -> None:
        self._lock = runtime.start_lock()
        self._say = say

    def __enter__(self) -> None:
        from filelock import Timeout

        try:
            self._lock.acquire(timeout=SILENT)
        except Timeout:
            self._say("waiting for another program that starts the daemon")
            try:
                self._lock.acquire(timeout=REPLACING)
            except Timeout as error:
                raise PacelineError(
                    "another program has been starting the daemon for too long", "end it, or see: paceline logs"
                ) from error

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _replace(runtime: Runtime, old: Daemon, say: Say) -> None:
    """End a daemon when its requests are done, and wait for that."""
    request_stop(old, "idle")
    began, told = time.monotonic(), False
    while runtime.occupied():
        waited = time.monotonic() - began
        if waited > SILENT and not told:
            told = True
            say("waiting for the requests of a daemon with other settings or of another version")
        if waited > REPLACING:
            raise PacelineError("the older daemon does not end", "`paceline stop --now` ends it")
        time.sleep(INTERVAL)


def _begun(runtime: Runtime, say: Say) -> Daemon | None:
    """The daemon that somebody else is starting just now; None: there is none, or one has been ending."""
    began, told = time.monotonic(), False
    while runtime.occupied():
        found = find(runtime)
        if found is not None:
            return found
        waited = time.monotonic() - began
        if waited > SILENT and not told:
            told = True
            say("waiting for a daemon that is starting or ending")
        if waited > REPLACING:
            raise PacelineError("the daemon neither answers nor ends", "`paceline stop --now` ends it")
        time.sleep(INTERVAL)
    return None


def _start(runtime: Runtime, serve: Sequence[str]) -> Daemon:
    path = log.log_file()
    try:
        log.create(path)
        before = log.size(path)
        process = _spawn([sys.executable, *serve], path)
    except OSError as error:
        raise PacelineError(f"cannot start the daemon: {error}", "check the folder and the disk") from error
    end = time.monotonic() + STARTING
    while time.monotonic() < end:
        found = find(runtime)
        if found is not None:
            threading.Thread(target=process.wait, name="paceline-reaper", daemon=True).start()
            return found
        # where another one was quicker, ours ends and that one answers
        if process.poll() is not None and not runtime.occupied():
            raise _failed(f"the daemon did not start (exit code {process.returncode})", path, before)
        time.sleep(INTERVAL)
    process.kill()
    process.wait()
    raise _failed(f"the daemon did not answer within {STARTING:.0f} s", path, before)


def _failed(what: str, path: Path, since: int) -> PacelineError:
    try:
        lines = log.tail(path, SHOWN, since)
    except OSError:
        lines = []
    return PacelineError("\n  ".join([what, *lines]), "the whole log: paceline logs")


def _spawn(command: Sequence[str], path: Path) -> "subprocess.Popen[bytes]":
    """A process that outlives this one and is in nobody's way: no terminal, no folder held, output into the log."""
    environment = dict(os.environ)
    if named := environment.get("PACELINE_CONFIG"):
        environment["PACELINE_CONFIG"] = str(Path(named).expanduser().absolute())
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    with path.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=Path(sys.executable).anchor,
            env=environment,
            start_new_session=True,
            creationflags=flags,
        )
