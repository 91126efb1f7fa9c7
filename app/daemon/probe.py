"""Asking a daemon who it is, and asking it to end. The standard library only: every start of a client comes by here."""

import errno
import socket
import time
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from paceline.daemon.protocol import HELLO, STATUS, STOP, Hello, StatusReport, StopRequest, When
from paceline.daemon.runtime import Endpoint, Runtime
from paceline.errors import BusyError, PacelineError

PATIENCE = 10.0  # seconds for an answer that takes a daemon milliseconds
ABSENT = (FileNotFoundError, ConnectionError)
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


@dataclass(frozen=True)
class Daemon:
    """A daemon that answered."""

    endpoint: Endpoint
    hello: Hello


def find(runtime: Runtime) -> Daemon | None:
    """The daemon that listens; None: there is none, or only what one left behind, or it is beginning or ending.

    Raises PacelineError when something answers that is no daemon, or when it does not answer in time; BusyError when it
    takes no more connections.
    """
    endpoint = runtime.endpoint()
    return None if endpoint is None else greet(endpoint)


def greet(endpoint: Endpoint) -> Daemon | None:
    """As `find`, for a daemon whose place is known."""
    body = _ask(endpoint, "GET", HELLO)
    return None if body is None else Daemon(endpoint, _decoded(body, Hello, endpoint))


def status(daemon: Daemon) -> StatusReport | None:
    """What it does now; None: it has ended meanwhile. Raises PacelineError."""
    body = _ask(daemon.endpoint, "GET", STATUS)
    return None if body is None else _decoded(body, StatusReport, daemon.endpoint)


def request_stop(daemon: Daemon, when: When) -> None:
    """Ask it to end. It may go on for as long as its requests take. Raises PacelineError."""
    _ask(daemon.endpoint, "POST", STOP, msgspec.json.encode(StopRequest(when)))


def _ask(endpoint: Endpoint, method: str, path: str, body: bytes | None = None) -> bytes | None:
    """The answer's body; None where nobody listens."""
    from http.client import HTTPConnection, HTTPException

    headers = {"Content-Type": "application/json"} if body is not None else {}
    if endpoint.token is not None:
        headers["Authorization"] = f"Bearer {endpoint.token}"
    try:
        connection = HTTPConnection(endpoint.url.partition("//")[2], timeout=PATIENCE)
        if endpoint.socket is not None:
            connection.sock = _connected(endpoint.socket)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            found, code = answer.read(), answer.status
        finally:
            connection.close()
    except ABSENT:
        return None
    except TimeoutError as error:
        raise PacelineError("the daemon does not answer", "`paceline stop --now` ends it") from error
    except HTTPException as error:
        raise _stranger(endpoint) from error
    except OSError as error:
        raise PacelineError(
            f"cannot speak to the daemon at {endpoint.socket or endpoint.url}: {error.strerror or error}",
            "`paceline stop --now` ends it",
        ) from error
    if code == 503:
        raise BusyError("the daemon has as many connections as it takes", "try again a little later")
    if code >= 300:
        raise _stranger(endpoint)
    return found


def _connected(path: str) -> socket.socket:
    """A connection. A daemon with a full queue of connections refuses at once, so that is tried again for a while."""
    end = time.monotonic() + PATIENCE
    while True:
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            opened.settimeout(PATIENCE)
            opened.connect(path)
            return opened
        except OSError as error:
            opened.close()
            if error.errno != errno.EAGAIN:
                raise
            if time.monotonic() > end:
                raise TimeoutError from error
        time.sleep(0.02)


def _decoded(body: bytes, kind: type[_Struct], endpoint: Endpoint) -> _Struct:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise _stranger(endpoint) from error


def _stranger(endpoint: Endpoint) -> PacelineError:
    return PacelineError(
        f"what listens at {endpoint.socket or endpoint.url} does not answer as Paceline's daemon does",
        "end that program, or update Paceline",
    )
