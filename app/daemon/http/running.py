"""The requests that generate now, by id, so that whoever may ask may also end one. Bounded: an entry lasts as long."""

import asyncio
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from paceline.daemon.http.errors import RequestError

HEADER = "X-Request-Id"
ALLOWED = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class Ticket:
    """One running request. `cancelled` is done once somebody has asked for its end. Belongs to the running loop."""

    def __init__(self) -> None:
        self.cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Running:
    """All running requests. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tickets: dict[str, Ticket] = {}

    @contextmanager
    def entered(self, name: str) -> Iterator[Ticket]:
        """Around a request. Raises RequestError where another one runs under the same id."""
        if name in self._tickets:
            raise RequestError(400, "a request with this id is running", "choose another one", param=HEADER)
        ticket = self._tickets[name] = Ticket()
        try:
            yield ticket
        finally:
            del self._tickets[name]

    def cancel(self, name: str) -> bool:
        """Whether there is such a request; it ends as cancelled, and its client still gets the end of its answer."""
        ticket = self._tickets.get(name)
        if ticket is not None and not ticket.cancelled.done():
            ticket.cancelled.set_result(None)
        return ticket is not None


def identify(given: Sequence[str], prefix: str) -> str:
    """A request's id: the one in its header, or a new one. Raises RequestError."""
    if not given:
        return f"{prefix}-{uuid.uuid4().hex}"
    if len(given) > 1 or not ALLOWED.fullmatch(given[0]):
        raise RequestError(
            400,
            f"{HEADER} is not an id",
            "send one, of 1 to 128 letters, digits, dots, colons, dashes and underscores",
            param=HEADER,
        )
    return given[0]
