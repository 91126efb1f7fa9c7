"""What the two clients share of HTTP itself. httpx is imported when something is sent: that takes longer than we do."""

import contextlib
import socket
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from paceline.client import refusals
from paceline.client.calls import Engine, Place
from paceline.errors import EngineError, PacelineError

if TYPE_CHECKING:
    import httpx

CONNECT = 10.0  # seconds to get a connection
WRITE = 60.0  # seconds in which a piece of the request goes out
LARGEST = 16 * 2**20  # bytes of an answer that does not stream


def settings(place: Place, silence: float | None) -> dict[str, Any]:
    """How an httpx client is made for a place. Redirections are never followed: they would take the key along."""
    import httpx

    return {
        "base_url": place.base,
        "headers": {
            "User-Agent": "paceline",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            **place.headers,
        },
        "timeout": httpx.Timeout(silence, connect=CONNECT, write=WRITE, pool=None),
        "follow_redirects": False,
        "trust_env": not place.local,
        "verify": place.base.startswith("https:"),  # reading certificates takes longer than a short answer
    }


def reason(error: "httpx.TransportError") -> str:
    """Why, in a few words. httpx's own text may be empty, and never has headers in it for these errors."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return "it took too long"
    return str(error) or type(error).__name__


def may_repeat(error: "httpx.TransportError") -> bool:
    """Whether nobody can have read the request: no connection, or one that ended before the first byte came back."""
    import httpx

    return isinstance(error, (httpx.ConnectError, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError))


def refused(response: "httpx.Response", body: bytes, engine: Engine) -> PacelineError:
    """The error that an answer other than 200 means."""
    if response.is_redirect:
        return refusals.redirected(response.headers.get("location", ""), engine.name)
    return refusals.refusal(response.status_code, body, engine.name, response.headers.get("retry-after", ""))


def is_whole(response: "httpx.Response", engine: Engine) -> bool:
    """Whether the answer comes as one JSON object, as from servers that cannot stream, and not as events.

    Raises EngineError when it is neither, such as a page for people.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "text/event-stream", "application/json"):
        raise refusals.not_understood(engine.name)
    return bool(kind == "application/json")


def joined(pieces: Iterable[bytes], engine: Engine) -> bytes:
    """The whole body. Raises EngineError for one that has no end."""
    whole = bytearray()
    for piece in pieces:
        grow(whole, piece, engine)
    return bytes(whole)


def grow(whole: bytearray, piece: bytes, engine: Engine) -> None:
    """Add a piece. Raises EngineError beyond LARGEST."""
    whole += piece
    if len(whole) > LARGEST:
        raise EngineError(f"{engine.name} answers more than makes sense", "check what answers at this address")


class Line:
    """The connection of one answer, which may be cut while somebody else reads it. Used as a context around that."""

    def __init__(self, response: "httpx.Response") -> None:
        self._response = response
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __enter__(self) -> "Line":
        """It is read from now on."""
        return self

    def __exit__(self, *_: object) -> None:
        """It is not read any more: from now on it may carry another answer."""
        with self._lock:
            self._over.set()

    @property
    def name(self) -> str:
        """What our own server calls the request."""
        return str(self._response.headers.get("X-Request-Id", ""))

    def cut(self) -> None:
        """End it, unless it is not read any more; whoever waits for bytes learns of it."""
        with self._lock, contextlib.suppress(OSError):
            if not self._over.is_set():
                connected = self._response.extensions["network_stream"].get_extra_info("socket")
                connected.shutdown(socket.SHUT_RDWR)

    def cut_after(self, seconds: float) -> None:
        """Cut it if it is still read then. Returns at once."""

        def wait() -> None:
            if not self._over.wait(seconds):
                self.cut()

        threading.Thread(target=wait, name="paceline-patience", daemon=True).start()
