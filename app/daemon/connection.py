"""One HTTP connection of the daemon, which does not outlive a client that takes nothing."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

ABORT = "paceline.abort"  # in a request's scope, under "state": ends the connection, whatever is not sent yet


class Connection(H11Protocol):  # the one whose headers can be bounded
    """uvicorn's own waits until everything is sent, before the next message and before it closes: it may be for ever.

    This one is paused whenever anything waits for the client, so that hardly more than one message does. It ends when
    nothing of that has been taken for PATIENCE seconds. Applications can end it at once.
    """

    PATIENCE = 40.0  # seconds; a little more than applications have

    def __init__(self, *, app_state: dict[str, Any], **more: Any) -> None:  # noqa: ANN401 - uvicorn's own, by name
        super().__init__(app_state={**app_state, ABORT: self.abort}, **more)
        self._check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        taking = cast("asyncio.Transport", transport)
        taking.set_write_buffer_limits(0)
        super().connection_made(taking)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more can be sent."""
        self._rest()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Something waits for the client."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """The client has taken all."""
        self._rest()
        super().resume_writing()

    def abort(self) -> None:
        """End the connection now."""
        self.transport.abort()

    def _watch(self) -> None:
        self._check = self.loop.call_later(self.PATIENCE, self._look, self.transport.get_write_buffer_size())

    def _look(self, before: int) -> None:
        """While it is paused nothing is added: what waits grows less, or the client takes nothing."""
        if self.transport.get_write_buffer_size() < before:
            self._watch()
        else:
            self.abort()

    def _rest(self) -> None:
        if self._check is not None:
            self._check.cancel()
            self._check = None
