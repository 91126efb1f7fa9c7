"""A daemon without models, as a program: `python plain_daemon.py [--version V] [--protocol N] [--load-seconds S]`.

It listens, locks and ends as the real one does. GET /work takes the host's service, says "begun" and goes on until the
service is closed or a file "finish" is put beside the configuration.
"""

import argparse
import asyncio
import threading
from types import SimpleNamespace

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from paceline import config as configuration
from paceline import paths
from paceline.daemon.protocol import HELLO, STATUS, STOP, Control, StopRequest
from paceline.daemon.server import serve
from paceline.errors import PacelineError


class PlainService:
    """Stands for the models."""

    model = "plain"
    n_ctx = 64
    loaded_at = 0.0
    notes = ("nothing is loaded",)
    route = SimpleNamespace(model="draft", reason="there is no other", name="draft model")

    def __init__(self) -> None:
        self.closed = threading.Event()

    def status(self) -> SimpleNamespace:
        slot = SimpleNamespace(id=0, state="idle", tokens=3, prompt_tokens=2, produced=1, priority="chat")
        counts = {"waiting": 0, "cells": 64, "cells_used": 3, "parked": 0, "parked_bytes": 0}
        return SimpleNamespace(slots=(slot,), **counts)

    def close(self) -> None:
        self.closed.set()


class PlainApp:
    def __init__(self, host, *, token: str | None, control: Control, claimed: dict) -> None:
        self.host, self.token, self.control, self.claimed = host, token, control, claimed
        self.finish = paths.config_file().with_name("finish")
        routes = [
            Route(HELLO, self.hello),
            Route(STATUS, self.status),
            Route(STOP, self.stop, methods=["POST"]),
            Route("/work", self.work),
            Route("/flood", self.flood),
            Route("/fail", self.fail),
        ]
        self.app = Starlette(routes=routes)

    async def __call__(self, scope, receive, send) -> None:
        headers = dict(scope["headers"])
        if self.token and headers.get(b"authorization") != f"Bearer {self.token}".encode():
            await Response(status_code=401)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def hello(self, request: Request) -> Response:
        return _json(msgspec.structs.replace(self.control.hello(), **self.claimed))

    async def status(self, request: Request) -> Response:
        return _json(self.control.status())

    async def stop(self, request: Request) -> Response:
        self.control.stop(msgspec.json.decode(await request.body(), type=StopRequest).when)
        return Response(status_code=202)

    async def work(self, request: Request) -> Response:
        return StreamingResponse(self.working())

    async def flood(self, request: Request) -> Response:
        """More than anybody reads."""

        async def endless():
            while True:
                yield b"x" * 65536

        return StreamingResponse(endless())

    async def fail(self, request: Request) -> Response:
        raise ValueError(request.query_params["text"])

    async def working(self):
        yield "asked\n"
        try:
            async with self.host.use() as service:
                yield "begun\n"
                while not (service.closed.is_set() or self.finish.exists()):
                    await asyncio.sleep(0.01)
                yield "cancelled\n" if service.closed.is_set() else "done\n"
        except PacelineError as error:
            yield f"{error.message}\n"


def _json(value: msgspec.Struct) -> Response:
    return PlainTextResponse(msgspec.json.encode(value), media_type="application/json")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--version")
    parser.add_argument("--protocol", type=int)
    parser.add_argument("--load-seconds", type=float, default=0)
    parser.add_argument("--http", default="")
    given = parser.parse_args()
    claimed = {key: value for key in ("version", "protocol") if (value := getattr(given, key)) is not None}

    def load() -> PlainService:
        threading.Event().wait(given.load_seconds)
        return PlainService()

    def create_app(host, *, token, control) -> PlainApp:
        return PlainApp(host, token=token, control=control, claimed=claimed)

    serve(configuration.load(paths.config_file()), load, create_app, http=given.http)


if __name__ == "__main__":
    main()
