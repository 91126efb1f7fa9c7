"""Who may ask, and how much at once: pure ASGI middleware in front of every route.

A page in a browser can send requests to this machine, and with DNS rebinding even read the answers. So the Host has
to be a name of this machine, an Origin has to be the server's own, and no CORS header is ever sent. A Unix socket is
out of a browser's reach, and its file's permissions say who may connect: there the Host is not looked at.
"""

import hmac
import logging
import re
import traceback
from collections.abc import Iterator

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paceline.daemon.http.errors import RequestError, tell
from paceline.daemon.http.limits import Limits

LOCAL_HOST = re.compile(rb"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
PUBLIC = frozenset({"/health", "/v1/health"})  # as with llama.cpp's server, these need no token
log = logging.getLogger(__name__)


class Guard:
    """Refuses what must not reach a route; answers for what a route let fall."""

    def __init__(self, app: ASGIApp, *, token: str | None, limits: Limits) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started = False

        async def note_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, _Bounded(receive, self._limits.body), note_start)
        except Exception as error:  # nothing of it may reach the client, nor its text the log
            if not isinstance(error, RequestError):
                log.error("%s %s failed: %s", scope["method"], _route(scope), where(error))
            if started:
                raise ConnectionAbortedError("the answer was broken off") from None
            told = tell(error)
            await JSONResponse(told.body, told.status, {**told.headers, "Connection": "close"})(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Raises RequestError."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._check_size(scope, headers)
        _check_host(scope, headers)
        _check_origin(headers)
        if self._token is not None and scope["path"] not in PUBLIC and not self._authorised(headers):
            raise RequestError(
                401,
                "the token is missing or wrong",
                "`paceline status` there shows it; our commands take it from PACELINE_API_KEY, others send it as "
                "`Authorization: Bearer TOKEN`",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def _check_size(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> None:
        limits = self._limits
        if len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"]) > limits.target:
            raise RequestError(414, f"the address is longer than {limits.target} bytes")
        size = sum(len(name) + len(value) for name, value in headers)
        if size > limits.headers or len(headers) > limits.header_count:
            raise RequestError(
                431, f"the headers exceed {limits.headers} bytes or {limits.header_count} lines", "send fewer"
            )
        lengths = list(values(headers, b"content-length"))
        if lengths and list(values(headers, b"transfer-encoding")):  # RFC 9112, 6.1: it may be two requests in one
            raise RequestError(400, "a body has a length or comes in chunks, not both")
        for length in lengths:
            if length.isdigit() and (len(length) > 18 or int(length) > limits.body):
                raise _too_large(limits.body)

    def _authorised(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a header carries the token. Every candidate is compared in constant time."""
        assert self._token is not None
        given = list(values(headers, b"x-api-key"))
        for value in values(headers, b"authorization"):
            scheme, _, rest = value.partition(b" ")
            if scheme.lower() == b"bearer":
                given.append(rest.strip())
        return sum(hmac.compare_digest(each, self._token) for each in given) > 0


class _Bounded:
    """`receive` that refuses a body which grows too large, whatever its Content-Length says."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._got = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._got += len(message.get("body", b""))
        if self._got > self._most:
            raise _too_large(self._most)
        return message


def _check_host(scope: Scope, headers: list[tuple[bytes, bytes]]) -> None:
    """Raises RequestError unless there is one Host and it is this machine."""
    if over_unix_socket(scope):
        return
    hosts = list(values(headers, b"host"))
    if len(hosts) != 1 or not LOCAL_HOST.fullmatch(hosts[0]):
        raise RequestError(403, "the Host header does not name this machine", "use localhost or 127.0.0.1")


def _check_origin(headers: list[tuple[bytes, bytes]]) -> None:
    """Raises RequestError for a request that a page of another origin has sent."""
    host = next(values(headers, b"host"), b"").lower()
    for origin in values(headers, b"origin"):
        if origin.lower() not in (b"http://" + host, b"https://" + host):
            raise RequestError(403, "requests of web pages are refused", "use a program that is not a web page")
    for site in values(headers, b"sec-fetch-site"):
        if site.lower() not in (b"same-origin", b"none"):
            raise RequestError(403, "requests of web pages are refused", "use a program that is not a web page")


def over_unix_socket(scope: Scope) -> bool:
    """Whether the request came through a Unix socket: uvicorn then tells the socket's path and no port, no client."""
    server = scope.get("server")
    return scope.get("client") is None and server is not None and server[1] is None


def values(headers: list[tuple[bytes, bytes]], name: bytes) -> Iterator[bytes]:
    """All values of a header; its name in lower case."""
    return iter([value for key, value in headers if key.lower() == name])


def where(error: BaseException) -> str:
    """Kind of an error and the way to it, without its text: that may quote a prompt or an answer."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return f"{type(error).__name__} at " + " > ".join(f"{each.filename}:{each.lineno}" for each in frames)


def _too_large(most: int) -> RequestError:
    return RequestError(413, f"the body is larger than {most} bytes", "send less")


def _route(scope: Scope) -> str:
    """The path, safe and short enough for a line of a log."""
    return ascii(scope["path"][:100])
