"""Where the daemon's log is, and reading its end."""

import os
from pathlib import Path

from paceline import paths

LARGEST = 2**20  # bytes; then a new file begins


def log_file() -> Path:
    """The log; on Linux `$XDG_STATE_HOME/paceline/logs/daemon.log`. Raises ConfigError."""
    return paths.state_dir() / "logs" / "daemon.log"


def create(path: Path) -> None:
    """Make the file and its folder if need be, readable by the owner alone. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))


def size(path: Path) -> int:
    """Bytes; 0 for a file that is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def tail(path: Path, lines: int, since: int = 0) -> list[str]:
    """The last lines, of those behind byte `since`; fewer where there are no more. Raises OSError."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(since if since <= end else 0, end - LARGEST))  # shorter than before: a new file has begun
        found = file.read().decode("utf-8", "replace").splitlines()
    return found[-lines:] if lines else []
