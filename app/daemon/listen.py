"""The sockets that a daemon listens on: a Unix socket for its user, loopback for programs that have the token."""

import ipaddress
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from paceline.errors import ConfigError, PacelineError


def bind_unix(path: Path) -> socket.socket:
    """The daemon's socket, for its owner only. What an older daemon left behind goes: the caller holds the life lock.

    It refuses connections until somebody listens. Raises PacelineError.
    """
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        bound.bind(str(path))
        path.chmod(0o600)
    except OSError as error:
        bound.close()
        raise PacelineError(
            f"cannot make the socket {path}: {error.strerror or error}", "check that folder, or set XDG_RUNTIME_DIR"
        ) from error
    return bound


@dataclass(frozen=True)
class Identity:
    """Which file a path meant: another daemon may have put its own there since."""

    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "Identity | None":
        """None: there is nothing."""
        try:
            found = path.lstat()
        except OSError:
            return None
        return cls(found.st_dev, found.st_ino)


def bind_loopback(host: str, port: int) -> socket.socket:
    """A TCP socket on this machine; port 0: any free one. Raises PacelineError where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers without delay only where the protocol is named
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let others bind the same port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise PacelineError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", "choose another port: --http 127.0.0.1:0"
        ) from error
    return bound


def url_of(bound: socket.socket) -> str:
    """The base address of what listens on a TCP socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of "127.0.0.1:8765", "localhost:8765" or "[::1]:8765".

    Raises ConfigError for anything else, and for a host that is not this machine: a token alone is no protection on a
    network, where everybody may read it.
    """
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    if not (host and port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ConfigError(f"{text!r} is not HOST:PORT", "write it as in 127.0.0.1:8765")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ConfigError(
            f"{host} is not this machine's loopback", "use 127.0.0.1, and an SSH tunnel from other machines"
        )
    return host, int(port)
