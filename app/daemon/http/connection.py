"""Work for a client, for as long as it is there."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

T = TypeVar("T")


class ClientGoneError(Exception):
    """The connection has ended before the answer."""


class CutOffError(Exception):
    """The client is there but takes nothing."""


async def while_connected(receive: Receive, work: Coroutine[Any, Any, None], cut: "asyncio.Future[str]") -> None:
    """Do the work; stop it at once when the client disconnects, or is cut off.

    The request's body has to be read before. Raises ClientGoneError, CutOffError, and what the work raises.
    """
    task: asyncio.Future[None] = asyncio.ensure_future(work)
    gone: asyncio.Future[None] = asyncio.ensure_future(_disconnected(receive))
    try:
        waited: set[asyncio.Future[Any]] = {task, gone, cut}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        elif cut.done():
            raise CutOffError(cut.result())
        else:
            raise ClientGoneError
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def unless(stopped: "asyncio.Future[None]", work: Coroutine[Any, Any, T]) -> T | None:
    """What the work returns, or None where it was stopped before."""
    task = asyncio.ensure_future(work)
    waited: set[asyncio.Future[Any]] = {task, stopped}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
