"""The daemon's folder: its socket, its locks, and a file that says who runs. Only its owner may look into it.

Exactly one daemon runs for a folder because it holds a lock there for as long as it lives; the system gives that lock
back however the daemon ends, so nothing that is left behind can block the next one.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from paceline import paths
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107  # bytes of sun_path without its NUL
UNIX = sys.platform != "win32"


class State(msgspec.Struct, frozen=True):
    """Who runs and where else it listens; written once it does."""

    pid: int
    version: str
    url: str | None = None  # of the loopback listener
    token: str | None = None


@dataclass(frozen=True)
class Endpoint:
    """Where a daemon can be spoken to: HTTP over a Unix socket or, on Windows, over loopback with a token."""

    socket: str | None  # path
    url: str  # base address, without a slash at its end
    token: str | None


@dataclass(frozen=True)
class Runtime:
    """The daemon's folder. `socket` is None on Windows."""

    folder: Path
    socket: Path | None

    @classmethod
    def open(cls) -> "Runtime":
        """The folder of this user and session, made if need be. Raises PacelineError when it is not ours alone."""
        folder = private(paths.runtime_dir())
        return cls(folder, socket_path(folder) if UNIX else None)

    @property
    def state_file(self) -> Path:
        """Holds a State."""
        return self.folder / "daemon.json"

    def state(self) -> State | None:
        """What the daemon that runs, or ran last, wrote; None when that cannot be read."""
        try:
            return msgspec.json.decode(self.state_file.read_bytes(), type=State)
        except (OSError, msgspec.DecodeError):
            return None

    def write(self, state: State) -> None:
        """Say who runs, readable by the owner alone. Raises OSError."""
        write_private(self.state_file, msgspec.json.encode(state))

    def endpoint(self) -> Endpoint | None:
        """Where to look for a daemon; whether one answers is another matter. None: nothing says that one runs."""
        if self.socket is not None:
            return Endpoint(str(self.socket), "http://localhost", None)
        state = self.state()
        return None if state is None or state.url is None else Endpoint(None, state.url, state.token)

    def start_lock(self) -> "BaseFileLock":
        """Held by a client while it starts or replaces the daemon."""
        return _lock(self.folder / "start.lock")

    def life_lock(self) -> "BaseFileLock":
        """Held by the daemon for as long as it lives."""
        return _lock(self.folder / "daemon.lock")

    def occupied(self) -> bool:
        """Whether a daemon lives, also one that does not listen yet or any more."""
        from filelock import Timeout

        try:
            with self.life_lock().acquire(timeout=0):
                return False
        except Timeout:
            return True


def private(folder: Path) -> Path:
    """The folder itself, made with mode 0700 if it is missing.

    Raises PacelineError when it cannot be made, when somebody else could look into it, or when somebody else could put
    another in its place.
    """
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        fault = _fault(folder) if UNIX else ""
    except OSError as error:
        raise PacelineError(f"cannot use the folder {folder}: {error.strerror}", paths.USE_ANOTHER) from error
    if fault:
        raise PacelineError(f"the daemon's folder is not safe: {fault}", f"remove it, or {paths.USE_ANOTHER}")
    return folder


def _fault(folder: Path) -> str:
    """Why the folder is not its owner's alone, or "". Raises OSError."""
    me, found, parent = os.getuid(), folder.lstat(), folder.parent.stat()
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is not a folder"
    if found.st_uid != me:
        return f"{folder} belongs to user {found.st_uid}"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return f"others may look into {folder} (mode {stat.S_IMODE(found.st_mode):04o})"
    if parent.st_uid not in (me, 0):
        return f"{folder.parent} belongs to user {parent.st_uid}"
    if parent.st_mode & 0o002 and not parent.st_mode & stat.S_ISVTX:
        return f"anybody may rename what is in {folder.parent}"
    return ""


def socket_path(folder: Path) -> Path:
    """Where the socket goes: into the folder or, where that path is longer than a socket's may be, beside it.

    That is a folder named by a hash in the folder for temporary files. Raises PacelineError.
    """
    path = folder / "daemon.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET:
        return path
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"paceline-{os.getuid()}-{digest}" / "daemon.sock"
    if len(os.fsencode(short)) > LONGEST_SOCKET:
        raise PacelineError(
            f"the path {short} is too long for a socket", "set XDG_RUNTIME_DIR or TMPDIR to a short one"
        )
    private(short.parent)
    return short


def access_token() -> str:
    """What other programs send to the loopback listener; kept, so that their settings stay valid.

    Removing the file makes a new one at the next start. Raises OSError.
    """
    path = paths.state_dir() / "http-token"
    with contextlib.suppress(OSError, ValueError):
        kept, found = path.lstat(), path.read_text(encoding="ascii").strip()
        ours = not UNIX or (kept.st_uid == os.getuid() and not kept.st_mode & 0o077)
        if ours and stat.S_ISREG(kept.st_mode) and len(found) >= 32:
            return found
    token = secrets.token_urlsafe(32)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, token.encode())
    return token


def write_private(path: Path, data: bytes) -> None:
    """Put a file in place at once, with mode 0600. Raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _lock(path: Path) -> "BaseFileLock":
    from filelock import FileLock

    return FileLock(path, mode=0o600, thread_local=False)
