"""Who is writing an answer, so that one whose writer is gone can be told from one that still grows."""

import os
import socket
import sqlite3

UNSURE = 2.0  # seconds by which the start of a process may seem to differ, as the clock is set
ELSEWHERE = 86400.0  # seconds after which a writer on another machine, that cannot be asked, is taken for gone


def enter(connection: sqlite3.Connection) -> int:
    """Note this process as a writer; within a transaction. The number of the note."""
    pid = os.getpid()
    row = (pid, _started(pid) or 0.0, socket.gethostname())
    return int(connection.execute("INSERT INTO owner (pid, started, host) VALUES (?, ?, ?)", row).lastrowid or 0)


def lives(pid: int, started: float, host: str, silent: float) -> bool:
    """Whether the writer is still there. `silent`: seconds since the session was last changed."""
    if host != socket.gethostname():
        return silent < ELSEWHERE
    now = _started(pid)
    return now is not None and abs(now - started) <= UNSURE


def _started(pid: int) -> float | None:
    """When the process with this number began, in seconds since the epoch; None where there is none."""
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None
    except psutil.Error:
        return 0.0
