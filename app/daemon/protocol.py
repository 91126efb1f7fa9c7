"""What the daemon and its clients say to each other about the daemon itself; requests to the models are HTTP's matter.

`hello` and `stop` are spoken across versions: a newer client must be able to read an older daemon's hello and to end
it. So fields are only ever added to `Hello` and `StopRequest`, with a default; unknown ones are ignored.
"""

from typing import Literal, Protocol

import msgspec

PROTOCOL = 1  # raised when a client of the version before can no longer be served
HELLO, STATUS, STOP = "/paceline/hello", "/paceline/status", "/paceline/stop"
CANCEL = "/paceline/cancel"

When = Literal["idle", "now"]  # "idle": once the running requests are done


class Hello(msgspec.Struct, frozen=True):
    """Who answers: GET /paceline/hello."""

    version: str
    protocol: int
    pid: int
    config: str  # digest of what the models were, or will be, loaded by; see settings.config_digest
    active: int  # requests that are being served
    started: float  # Unix time in seconds


class StopRequest(msgspec.Struct, frozen=True):
    """POST /paceline/stop; the answer is 202 and comes before the daemon ends."""

    when: When = "idle"


class CancelRequest(msgspec.Struct, frozen=True):
    """POST /paceline/cancel; the answer is 202, and the request's own answer ends as "cancelled" within a step."""

    id: str  # of the answer as in its chunks, and in the header X-Request-Id of the request or its answer


class HttpReport(msgspec.Struct, frozen=True):
    """The listener for other programs; both are None where there is none."""

    url: str | None = None  # such as "http://127.0.0.1:8765"
    token: str | None = None  # sent as "Authorization: Bearer TOKEN"


class ModelReport(msgspec.Struct, frozen=True):
    """A pair that is in memory or on its way there."""

    id: str  # the catalogue's, or the file's name; empty while it is being loaded
    state: Literal["loading", "loaded"]
    n_ctx: int = 0  # tokens
    loaded_at: float | None = None  # Unix time in seconds
    notes: tuple[str, ...] = ()  # what was left out or made smaller when it was loaded, and why
    completer: str = ""  # which model of the pair serves completions: "target" | "draft"
    completer_reason: str = ""
    completer_name: str = ""  # what that model is called


class MemoryReport(msgspec.Struct, frozen=True):
    """All in bytes, but for cells: places for one token each in the context that all requests share."""

    resident: int = 0  # the daemon's main memory
    available: int = 0  # what is left on the machine
    total: int = 0
    parked_bytes: int = 0  # conversations kept outside the context
    parked: int = 0  # how many
    cells: int = 0
    cells_used: int = 0


class SlotReport(msgspec.Struct, frozen=True):
    """A sequence of the context, and what is done with it now."""

    id: int
    state: str  # "idle" | "prefill" | "decode"
    tokens: int  # in the cache
    prompt_tokens: int
    produced: int  # tokens of the answer
    priority: str


class StatusReport(msgspec.Struct, frozen=True):
    """GET /paceline/status, and what `paceline status --json` prints."""

    pid: int
    version: str
    protocol: int
    started: float  # Unix time in seconds
    socket: str | None  # path of the Unix socket
    http: HttpReport
    models: tuple[ModelReport, ...]
    memory: MemoryReport
    slots: tuple[SlotReport, ...]
    active: int = 0  # requests that are being served
    waiting: int = 0  # of those, waiting for a slot
    idle_seconds: float = 0.0  # since the last request ended
    stopping: bool = False
    log: str = ""  # path of the log file
    notes: tuple[str, ...] = ()  # what is not as configured, such as a port that was taken


class Control(Protocol):
    """The daemon as its own routes see it. Called on the event loop's thread; nothing blocks."""

    def hello(self) -> Hello:
        """Answer of GET /paceline/hello."""
        ...

    def status(self) -> StatusReport:
        """Answer of GET /paceline/status."""
        ...

    def stop(self, when: When) -> None:
        """Begin to end; returns at once, and the running requests, this one too, still get their answers.

        "now" cancels requests that generate.
        """
        ...
