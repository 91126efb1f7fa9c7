"""The API as an ASGI application, one for each listener."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from paceline.daemon.http.errors import of_status, tell
from paceline.daemon.http.generating import Desk
from paceline.daemon.http.guard import Guard
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.metrics import Meters
from paceline.daemon.http.openapi import document
from paceline.daemon.http.routes import places
from paceline.daemon.http.running import Running
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from paceline.daemon.host import Host
    from paceline.daemon.protocol import Control

WIDE = {"/v1/models/{model}": "/v1/models/{model:path}"}  # names of models may have slashes


def create_app(
    host: "Host",
    *,
    token: str | None,
    control: "Control",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    meters: Meters | None = None,
    running: Running | None = None,
) -> Starlette:
    """The application for one listener. `token` None: whoever can connect may ask. Lifespan is not needed.

    `meters`, `running`: what several listeners share; without them this one has its own.
    """
    desk = Desk(host, limits, meters or Meters(host), running or Running())

    @cache
    def describe() -> bytes:
        return msgspec.json.encode(document(found, token=token is not None))

    found = places(desk, control, describe)
    routes = [
        Route(WIDE.get(path, path), each.handler, methods=[each.method])
        for each in found
        for path in (each.path, *each.aliases)
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, limits=limits)],
        exception_handlers={HTTPException: _plain, PacelineError: _failed},
    )
    app.router.redirect_slashes = False  # an address is right or wrong; a redirection would repeat the Host
    return app


class Apps:
    """Makes the applications of one host's listeners, which share their figures and know each other's requests."""

    def __init__(self) -> None:
        self._meters: Meters | None = None
        self._running = Running()

    def __call__(self, host: "Host", *, token: str | None, control: "Control") -> Starlette:
        """One application; see create_app."""
        self._meters = self._meters or Meters(host)
        return create_app(host, token=token, control=control, meters=self._meters, running=self._running)


async def _failed(_: Request, error: Exception) -> Response:
    told = tell(error)
    return JSONResponse(told.body, told.status, told.headers)


async def _plain(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers: Mapping[str, str] | None = error.headers
    told = tell(of_status(error.status_code, headers))
    return JSONResponse(told.body, told.status, told.headers)
