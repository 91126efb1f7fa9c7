"""What the two clients share of HTTP itself. httpx is imported when something is sent: that takes longer than we do."""

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
        "headers": {"User-Agent": "paceline", "Content-Type": "application/json", **place.headers},
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
