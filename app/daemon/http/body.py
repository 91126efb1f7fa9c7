"""A request's body as a struct."""

import asyncio
import re
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.limits import Limits

Body = TypeVar("Body", bound=msgspec.Struct)
LARGE = 256 * 1024  # bytes of a body that takes a while to read
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
    """The struct that the JSON describes. Unknown fields are ignored. Raises RequestError."""
    try:
        body = msgspec.json.decode(data, type=into)
    except msgspec.ValidationError as error:
        message, param = _explain(str(error))
        raise RequestError(400, message, "GET /openapi.json describes the fields", param=param) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestError(400, f"the body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise _too_deep(most) from error
    if depth(body) > most:
        raise _too_deep(most)
    return body


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


def _explain(said: str) -> tuple[str, str | None]:
    """The message of msgspec with the field in front, and the field."""
    what, _, path = said.partition(" - at `")
    field = path.rstrip("`").removeprefix("$").removeprefix(".")
    missing = _MISSING.search(what)
    if missing:
        field = f"{field}.{missing[1]}" if field else missing[1]
        return f"{field} is missing", field
    what = what.replace("`", "")
    return (f"{field}: {what[:1].lower()}{what[1:]}", field) if field else (f"the body is wrong: {what}", None)


def _too_deep(most: int) -> RequestError:
    return RequestError(400, f"the body has more than {most} objects and arrays inside each other")
