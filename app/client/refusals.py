"""What a server answers instead of what was asked for, as the errors that people know. Pure: bytes in, errors out."""

import re
from http import HTTPStatus
from typing import Any

import msgspec

from paceline.errors import (
    BusyError,
    ConfigError,
    ContextOverflowError,
    EngineError,
    InputError,
    ModelError,
    NetworkError,
    PacelineError,
    ResourceError,
)

LONGEST = 600  # characters of a stranger's message that are shown
OVERFLOW = {"exceed_context_size_error", "context_length_exceeded"}  # llama.cpp's type, OpenAI's code
KINDS: dict[str, type[PacelineError]] = {  # `class` of our own server's errors, which a status cannot tell apart
    kind.__name__: kind
    for kind in (
        InputError,
        ModelError,
        ConfigError,
        NetworkError,
        ResourceError,
        BusyError,
        EngineError,
    )
}
# "maximum context length is 4096 tokens … your messages resulted in 5000 tokens": OpenAI's words, and vLLM's
_LIMIT = re.compile(r"(?:context length (?:is|of)|context size (?:is|of))\D{0,20}(\d+)", re.I)
_ASKED = re.compile(r"(\d+) (?:tokens )?(?:in the messages|input tokens)|resulted in (\d+) tokens", re.I)
_REQUESTED = re.compile(r"requested (\d+) tokens", re.I)


def refusal(status: int, body: bytes, who: str, retry_after: str = "") -> PacelineError:
    """The error that an answer with this status and body means. `who`: the server, as people call it."""
    told = _error_of(body)
    message, hint = told.get("message", ""), told.get("hint", "")
    overflow = _overflow(told)
    if overflow is not None:
        return overflow
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ConfigError(
            f"{who} refuses the key" + (f": {message}" if message else ""),
            hint or "set PACELINE_API_KEY to a key that is valid there",
        )
    kind = _kind(status, told)
    if not message:
        message = f"{who} answered {status} {_phrase(status)}".rstrip()
    if kind is BusyError and not hint:
        hint = f"try again in {retry_after} s" if retry_after.isdecimal() else "try again a little later"
    return kind(message, hint)


def in_stream(data: bytes, who: str) -> PacelineError:
    """The error that an event in the middle of an answer reports."""
    told = _error_of(data)
    code = told.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return refusal(status, data, who)


def redirected(location: str, who: str) -> PacelineError:
    """Redirections are not followed: the key belongs to the server that the person named."""
    where = re.sub(r"//[^/@]*@", "//", location.split("?")[0])[:LONGEST]
    return NetworkError(f"{who} sends us on to {where or 'nowhere'}", "set engine.url to where the server really is")


def not_understood(who: str) -> PacelineError:
    """An answer that is none of this API's."""
    return EngineError(
        f"{who} answered something that is not understood", "check that an OpenAI-compatible server is there"
    )


def _error_of(body: bytes) -> dict[str, Any]:
    """The body's error: `{"error": {...}}` (OpenAI, llama.cpp), `{"error": "..."}` or `{"detail": ...}` (FastAPI)."""
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    error = data.get("error", data.get("detail", data if "message" in data else None))
    if isinstance(error, str):
        return {"message": _shown(error)}
    if not isinstance(error, dict):
        return {}
    texts = {key: _shown(value) for key in ("message", "hint") if isinstance(value := error.get(key), str)}
    return {**{key: value for key, value in error.items() if key not in ("message", "hint")}, **texts}


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _overflow(told: dict[str, Any]) -> PacelineError | None:
    """Both numbers, from fields (llama.cpp) or from the sentence (vLLM and others)."""
    message = told.get("message", "")
    hint = told.get("hint") or "shorten what is shown to the model, or raise the server's context"
    needed, available = told.get("n_prompt_tokens"), told.get("n_ctx")
    if told.get("type") in OVERFLOW or told.get("code") in OVERFLOW:
        if isinstance(needed, int) and isinstance(available, int):
            return ContextOverflowError(needed, available, hint)
    elif not _LIMIT.search(message):
        return None
    limit, asked = _LIMIT.search(message), _ASKED.search(message) or _REQUESTED.search(message)
    if limit and asked:
        prompt, room = int(next(filter(None, asked.groups()))), int(limit[1])
        if prompt > room:
            return ContextOverflowError(prompt, room, hint)
        hint = f"ask for fewer tokens: {room - prompt} are left for the answer"
    return InputError(message or "the prompt does not fit into the context", hint)


def _kind(status: int, told: dict[str, Any]) -> type[PacelineError]:
    named = told.get("class")
    if isinstance(named, str) and named in KINDS:
        return KINDS[named]
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        return BusyError
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED):
        return ModelError
    if status in (HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT, HTTPStatus.REQUEST_TIMEOUT):
        return NetworkError
    if status == HTTPStatus.INSUFFICIENT_STORAGE:
        return ResourceError
    return InputError if 400 <= status < 500 else EngineError


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
