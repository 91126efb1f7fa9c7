"""The API's description (OpenAPI 3.1), made of the structs that requests are read into and answers are written from."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from paceline.daemon.http.answers import ChatChunk, Failure, LlamaChunk, TextCompletion
from paceline.daemon.http.routes import JSON, Place
from paceline.daemon.http.running import ALLOWED, HEADER

REFERENCE = "#/components/schemas/{name}"
EVERYWHERE = (400, 403, 414, 431)  # whoever asks, whatever for
WITH_BODY = (408, 413)
WITH_ENGINE = (500, 503)
MEANING = {
    400: "The request is wrong",
    401: "The token is missing or wrong",
    403: "The Host or Origin is not allowed",
    404: "There is no such thing",
    408: "The body came too slowly",
    413: "The body is too large",
    414: "The address is too long",
    431: "The headers are too large",
    500: "The engine failed",
    503: "Not ready, or too many requests; try again later",
}

ID = {"type": "string", "pattern": f"^{ALLOWED.pattern}$"}
ID_TOLD = {"description": "The id to cancel it by", "schema": ID}
ID_CHOSEN = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "An id to cancel it by, which no running request has; without it the server chooses one",
    "schema": ID,
}


def document(places: Sequence[Place], *, token: bool) -> dict[str, Any]:
    """The description. `token`: whether one is asked for."""
    kinds = [kind for each in places for kind in (each.takes, *_alternatives(each)) if kind is not None]
    found, components = msgspec.json.schema_components(
        [*kinds, Failure, ChatChunk, TextCompletion, LlamaChunk], ref_template=REFERENCE
    )
    schemas = iter(found)
    paths: dict[str, Any] = {}
    for each in places:
        takes = None if each.takes is None else next(schemas)
        given = [next(schemas) for _ in _alternatives(each)]
        gives = {"anyOf": given} if len(given) > 1 else given[0] if given else None
        for path in (each.path, *each.aliases):
            paths.setdefault(path, {})[each.method.lower()] = _operation(each, path, takes, gives, token=token)
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Paceline",
            "version": version("paceline"),
            "description": "The OpenAI API's and llama.cpp server's routes, and our own, on one local engine.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }
    if token:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    return described


def _alternatives(place: Place) -> tuple[Any, ...]:
    """The types of which the answer is one."""
    return place.gives if isinstance(place.gives, tuple) else () if place.gives is None else (place.gives,)


def _operation(
    place: Place, path: str, takes: dict[str, Any] | None, gives: dict[str, Any] | None, *, token: bool
) -> dict[str, Any]:
    public = path in ("/health", "/v1/health")
    codes = {*EVERYWHERE, *place.failures, *((401,) if token and not public else ())}
    if place.takes is not None:
        codes |= {*WITH_BODY, *WITH_ENGINE}
    failures = {str(code): _failure(code) for code in sorted(codes - {place.status})}
    said: dict[str, Any] = {
        "summary": place.says,
        "operationId": _name(place.method, path),
        "responses": {str(place.status): _success(place, gives), **failures},
    }
    parameters = [*place.parameters, *([ID_CHOSEN] if place.streams else [])]
    if parameters:
        said["parameters"] = parameters
    if takes is not None:
        said["requestBody"] = {"required": True, "content": {JSON: {"schema": takes}}}
    if public and token:
        said["security"] = []
    return said


def _name(method: str, path: str) -> str:
    """An operation's id, such as post_v1_completions."""
    return "_".join([method.lower(), *re.findall(r"\w+", path)])


def _success(place: Place, gives: dict[str, Any] | None) -> dict[str, Any]:
    content: dict[str, Any] = {"text/plain" if place.text else JSON: {"schema": gives or {"type": "string"}}}
    if place.streams:
        content["text/event-stream"] = {}  # events carry ChatChunk, TextCompletion or LlamaChunk
    headers = {"headers": {HEADER: ID_TOLD}} if place.streams else {}
    return {"description": MEANING.get(place.status, "The answer"), **headers, "content": content}


def _failure(code: int) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(name="Failure")}
    return {"description": MEANING[code], "content": {JSON: {"schema": schema}}}
