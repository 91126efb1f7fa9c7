"""The client's side of ending: ask the daemon and, where it does not hear, end its process."""

import os
import signal
import time

from paceline.daemon.probe import find, request_stop
from paceline.daemon.protocol import When
from paceline.daemon.runtime import UNIX, Runtime, State
from paceline.errors import PacelineError

PROMISED = 4.0  # seconds; a daemon ends within two
INTERVAL = 0.02
SLACK = 2.0  # seconds between two clocks of one machine


def ask_to_stop(runtime: Runtime, when: When) -> int | None:
    """Ask the daemon to end; its process number, or None where none runs or it is ending already.

    Raises PacelineError where something answers otherwise than a daemon does, or not at all.
    """
    found = find(runtime)
    if found is None:
        return None
    request_stop(found, when)
    return found.hello.pid


def wait(runtime: Runtime, seconds: float | None = None) -> bool:
    """Whether the daemon has ended, within so many seconds if that is said."""
    end = None if seconds is None else time.monotonic() + seconds
    while runtime.occupied():
        if end is not None and time.monotonic() > end:
            return False
        time.sleep(INTERVAL)
    return True


def force(runtime: Runtime) -> None:
    """End a daemon that does not listen: a signal, then the one that nobody can refuse. Raises PacelineError."""
    state = runtime.state()
    if state is not None and not _wrote(state, runtime):
        state = None
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if wait(runtime, 0):
            return
        if state is None:
            break
        try:
            os.kill(state.pid, number)
        except ProcessLookupError:
            break
        except OSError as error:
            raise PacelineError(
                f"cannot end the daemon (process {state.pid}): {error.strerror}", "end it as its owner"
            ) from error
        if wait(runtime, PROMISED):
            return
    if wait(runtime, 0):
        return
    raise PacelineError(
        f"the daemon does not end, and {runtime.state_file} does not tell its process", "look for it: ps -ef"
    )


def _wrote(state: State, runtime: Runtime) -> bool:
    """Whether the process with that number is ours and has written the state: systems give numbers out again."""
    import psutil

    try:
        process = psutil.Process(state.pid)
        began, written = process.create_time(), runtime.state_file.stat().st_mtime
        ours = not UNIX or process.uids().real == os.getuid()
    except (psutil.Error, OSError):
        return False
    return ours and began <= written + SLACK
