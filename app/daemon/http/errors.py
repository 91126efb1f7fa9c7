"""Errors as the API tells them: one shape that clients of OpenAI's API and of llama.cpp's server both read.

    {"error": {"code": 400, "message": "…", "type": "invalid_request_error", "param": "temperature", "hint": "…"}}

`message`, `type` and `param` are OpenAI's; `code` is the status as a number, or a word where the status does not say it
all; the types are those of llama.cpp's server (README of tools/server); `hint` is ours: what to do about it, and so is
`class`: the error's in paceline.errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from paceline.errors import (
    BusyError,
    ConfigError,
    ContextOverflowError,
    InputError,
    ModelError,
    NetworkError,
    PacelineError,
    ResourceError,
)

RETRY_AFTER = 1  # seconds
UNSUPPORTED = "unsupported"  # a code: no retry helps. Official clients repeat every 5xx, so the status is 400
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    500: "server_error",
    503: "unavailable_error",
}
_STATUS: tuple[tuple[type[PacelineError], int], ...] = (
    (ContextOverflowError, 400),
    (InputError, 400),
    (BusyError, 503),
    (ResourceError, 503),
    (ModelError, 503),  # it cannot be made ready; what a ready one cannot do, the routes tell
    (ConfigError, 503),
    (NetworkError, 503),
)


class RequestError(PacelineError):
    """A request that is refused with a status of its own. `param` names the field at fault."""

    def __init__(
        self,
        status: int,
        message: str,
        hint: str = "",
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        kind: str | None = None,
        code: str | None = None,
    ) -> None:
        """`kind`: the error's class for our own client, where the status does not say it. `code`: instead of it."""
        super().__init__(message, hint)
        self.status = status
        self.param = param
        self.kind = kind
        self.code = code
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Told:
    """An error as an answer."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


def tell(error: BaseException) -> Told:
    """The answer for an error. What is no PacelineError becomes 500, and nothing of it is told."""
    if not isinstance(error, PacelineError):
        return Told(500, _body(500, "the server failed", "its log says more: `paceline logs`"))
    if isinstance(error, RequestError):
        said = _body(error.status, error.message, error.hint, error.param, error.kind, error.code)
        return Told(error.status, said, error.headers)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    said = _body(status, error.message, error.hint, kind=type(error).__name__)
    if isinstance(error, ContextOverflowError):
        said["error"]["type"] = "exceed_context_size_error"
        said["error"]["n_prompt_tokens"] = error.needed
        said["error"]["n_ctx"] = error.available
    headers = {"Retry-After": str(RETRY_AFTER)} if isinstance(error, BusyError) else {}
    return Told(status, said, headers)


def refused(error: PacelineError, status: int, code: str | None = None) -> RequestError:
    """The same error with another status, for a route that knows better whose fault it is."""
    return RequestError(status, error.message, error.hint, kind=type(error).__name__, code=code)


def _body(
    status: int,
    message: str,
    hint: str = "",
    param: str | None = None,
    kind: str | None = None,
    code: str | None = None,
) -> dict[str, Any]:
    told = TYPES.get(status, TYPES[400] if status < 500 else TYPES[500])
    said = {"code": code or status, "message": message, "type": told, "param": param, "hint": hint or None}
    return {"error": {**said, "class": kind} if kind else said}


def of_status(status: int, headers: Mapping[str, str] | None = None) -> RequestError:
    """The error for a plain status, such as 404 for a path that is no route."""
    phrases = {404: "there is nothing at this address", 405: "this address does not take this method"}
    hint = "GET /openapi.json lists what there is" if status in phrases else ""
    return RequestError(status, phrases.get(status) or HTTPStatus(status).phrase.lower(), hint, headers=headers)
