"""A request's body as a struct."""

import asyncio
import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from paceline.config import allowed
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.limits import Limits

Body = TypeVar("Body", bound=msgspec.Struct)
LARGE = 256 * 1024  # bytes of a body that takes a while to read
EXACT = 2**53  # from here on, floats are no exact integers
_MISSING = re.compile(r"missing required field `([^`]+)`")


async def read(request: Request, into: type[Body], limits: Limits) -> Body:
    """The JSON body. Raises RequestError: not JSON, a wrong type (the field is named), too deep, too slow."""
    try:
        data = await asyncio.wait_for(request.body(), limits.body_seconds)
    except (TimeoutError, asyncio.TimeoutError) as error:
        raise RequestError(408, f"the body did not arrive within {limits.body_seconds:.0f} s") from error
    except ClientDisconnect as error:
        raise RequestError(400, "the body is not complete") from error
    if len(data) > LARGE:  # others should not wait for it
        return await asyncio.to_thread(parse, data, into, limits.json_depth)
    return parse(data, into, limits.json_depth)


def parse(data: bytes, into: type[Body], most: int) -> Body:
    """The struct that the JSON describes. Unknown fields are ignored; 128.0 is a whole number. Raises RequestError."""
    try:
        body = _decoded(data, into)
    except msgspec.ValidationError as error:
        message, param = _explain(str(error), allowed(into, str(error)))
        raise RequestError(400, message, "GET /openapi.json describes the fields", param=param) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _no_json(data, error) from error
    except RecursionError as error:
        raise _too_deep(most) from error
    if depth(body) > most:
        raise _too_deep(most)
    return body


def _decoded(data: bytes, into: type[Body]) -> Body:
    try:
        return msgspec.json.decode(data, type=into)
    except msgspec.ValidationError as error:
        if "got `float`" not in str(error):
            raise
        try:
            plain = msgspec.json.decode(data)
        except msgspec.MsgspecError:  # numbers out of range in fields that are ignored
            raise error from None
    return msgspec.convert(_whole(plain), into)


def _whole(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The same with integers for floats that are integral. Minus zero is none: no integer is."""
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < EXACT and math.copysign(1, value) == math.copysign(1, int(value))
        return int(value) if whole else value
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return {key: _whole(each) for key, each in value.items()} if isinstance(value, dict) else value


def _no_json(data: bytes, error: Exception) -> RequestError:
    """NaN and Infinity, which Python and JavaScript programs like to write, are told by their field."""
    try:
        field = next(_not_finite(json.loads(data), ""), None)
    except (ValueError, RecursionError):
        field = None
    if field is None:
        return RequestError(400, f"the body is not valid JSON: {error}")
    return RequestError(400, f"{field}: a number has to be finite", "JSON has no NaN or Infinity", param=field)


def _not_finite(value: object, path: str) -> Iterator[str]:
    """Where there are numbers that are none."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _not_finite(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _not_finite(each, f"{path}[{at}]")


def depth(value: object) -> int:
    """How many structs, objects and arrays are inside each other."""
    deepest, found = 0, [(value, 1)]
    while found:
        each, level = found.pop()
        if isinstance(each, msgspec.Struct):
            inside: list[object] = [getattr(each, name) for name in each.__struct_fields__]
        elif isinstance(each, dict):
            inside = list(each.values())
        elif isinstance(each, (list, tuple)):
            inside = list(each)
        else:
            continue
        deepest = max(deepest, level)
        found += [(item, level + 1) for item in inside if not isinstance(item, (int, str, float))]
    return deepest


def _explain(said: str, words: list[str]) -> tuple[str, str | None]:
    """The message of msgspec with the field in front, and the field. `words`: what may stand there."""
    what, _, path = said.partition(" - at `")
    field = path.rstrip("`").removeprefix("$").removeprefix(".")
    missing = _MISSING.search(what)
    if missing:
        field = f"{field}.{missing[1]}" if field else missing[1]
        return f"{field} is missing", field
    what = what.replace("`", "") + (f"; it may be {' or '.join(words)}" if words else "")
    return (f"{field}: {what[:1].lower()}{what[1:]}", field) if field else (f"the body is wrong: {what}", None)


def _too_deep(most: int) -> RequestError:
    return RequestError(400, f"the body has more than {most} objects and arrays inside each other")
