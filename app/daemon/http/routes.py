"""Every address of the API: what it takes, what it answers. app.py makes routes of it, openapi.py a description."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from paceline.daemon import protocol
from paceline.daemon.http import answers, body, metrics, schemas, state, tokens
from paceline.daemon.http.chat import ChatShape
from paceline.daemon.http.completions import CompletionShape
from paceline.daemon.http.connection import ClientGoneError, while_connected
from paceline.daemon.http.errors import UNSUPPORTED, RequestError
from paceline.daemon.http.generating import Desk, Generating, Shape
from paceline.daemon.http.limits import Limits
from paceline.daemon.http.llamacpp import InfillShape, LlamaCompletionShape
from paceline.daemon.http.running import HEADER, identify

if TYPE_CHECKING:
    from paceline.daemon.service import Service

Handler = Callable[[Request], Awaitable[Response]]
JSON = "application/json"


@dataclass(frozen=True)
class Place:
    """An address. `takes` is a struct; `gives` is a type, or several of which it is one; `text` is no JSON."""

    path: str
    method: str
    handler: Handler
    says: str
    takes: type[msgspec.Struct] | None = None
    gives: Any = None
    status: int = 200
    streams: bool = False  # generates, and has an id: in the header X-Request-Id
    text: bool = False
    failures: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()
    parameters: tuple[dict[str, Any], ...] = field(default=())


def places(desk: Desk, control: protocol.Control, describe: Callable[[], bytes]) -> list[Place]:
    """All of them. `describe`: the OpenAPI document, made when it is first asked for."""
    return [*_generating(desk), *_texts(desk), *_state(desk), *_own(desk, control, describe)]


def json(value: object, status: int = 200) -> Response:
    """An answer."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def _generating(desk: Desk) -> list[Place]:
    def handler(takes: Any, shape: Callable[[Any, Limits, str], Shape], prefix: str) -> Handler:  # noqa: ANN401
        async def handle(request: Request) -> Response:
            name = identify(request.headers.getlist(HEADER), prefix)
            asked = await body.read(request, takes, desk.limits)
            return Generating(desk, shape(asked, desk.limits, name), name, stream=bool(asked.stream))

        return handle

    async def embeddings(request: Request) -> Response:
        await body.read(request, schemas.EmbeddingRequest, desk.limits)
        raise RequestError(
            400, "the engine makes no embeddings", "ask a server that has an embedding model", code=UNSUPPORTED
        )

    # one; several where several were asked for; `response_fields` alone
    several = (answers.LlamaCompletion, list[answers.LlamaCompletion], dict[str, Any], list[dict[str, Any]])
    return [
        Place(
            "/v1/chat/completions",
            "POST",
            handler(schemas.ChatRequest, ChatShape, "chatcmpl"),
            "Answer a conversation",
            schemas.ChatRequest,
            answers.ChatCompletion,
            streams=True,
            aliases=("/chat/completions",),
        ),
        Place(
            "/v1/completions",
            "POST",
            handler(schemas.CompletionRequest, CompletionShape, "cmpl"),
            "Continue a text, or fill the gap before a suffix",
            schemas.CompletionRequest,
            answers.TextCompletion,
            streams=True,
        ),
        Place(
            "/completion",
            "POST",
            handler(schemas.LlamaCompletionRequest, LlamaCompletionShape, "completion"),
            "Continue a text, as llama.cpp's server does",
            schemas.LlamaCompletionRequest,
            several,
            streams=True,
            aliases=("/completions",),
        ),
        Place(
            "/infill",
            "POST",
            handler(schemas.InfillRequest, InfillShape, "infill"),
            "Fill in the middle, as llama.cpp's server does",
            schemas.InfillRequest,
            several,
            streams=True,
        ),
        Place(
            "/v1/embeddings",
            "POST",
            embeddings,
            "Refused: there are no embeddings",
            schemas.EmbeddingRequest,
            answers.Failure,
            status=400,
            aliases=("/embeddings", "/embedding"),
        ),
    ]


def _texts(desk: Desk) -> list[Place]:
    def handler(takes: Any, work: "Callable[[Any, Service], msgspec.Struct]") -> Handler:  # noqa: ANN401
        async def handle(request: Request) -> Response:
            asked = await body.read(request, takes, desk.limits)
            found: list[msgspec.Struct] = []

            async def run() -> None:
                async with desk.host.use() as service:
                    found.append(await run_in_threadpool(work, asked, service))

            never = asyncio.get_running_loop().create_future()
            try:
                await while_connected(request.receive, run(), never)
            except ClientGoneError:
                return Response(status_code=499)  # nobody reads it
            return json(found[0])

        return handle

    def place(path: str, says: str, takes: Any, gives: Any, work: Any) -> Place:  # noqa: ANN401
        return Place(path, "POST", handler(takes, work), says, takes, gives)

    return [
        place("/tokenize", "Text to tokens", schemas.TokenizeRequest, answers.Tokens, tokens.tokenize),
        place("/detokenize", "Tokens to text", schemas.DetokenizeRequest, answers.Content, tokens.detokenize),
        place(
            "/apply-template",
            "A conversation as the model sees it",
            schemas.TemplateRequest,
            answers.Prompt,
            tokens.apply_template,
        ),
    ]


def _state(desk: Desk) -> list[Place]:
    host = desk.host

    async def models(_: Request) -> Response:
        return json(state.models(host))

    async def model(request: Request) -> Response:
        name = request.path_params["model"]
        found = [each for each in state.models(host).data if each.id == name]
        if not found:
            raise RequestError(404, "there is no such model", "GET /v1/models lists them")
        return json(found[0])

    async def health(_: Request) -> Response:
        state.check_ready(host)
        return json(answers.Health())

    async def props(_: Request) -> Response:
        state.check_ready(host)
        return json(state.props(host))

    async def slots(request: Request) -> Response:
        state.check_ready(host)
        return json(state.slots(host, one_free=request.query_params.get("fail_on_no_slot") in ("1", "true")))

    async def figures(_: Request) -> Response:
        return Response(desk.meters.text(), media_type=metrics.CONTENT_TYPE)

    name = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
    free = {"name": "fail_on_no_slot", "in": "query", "required": False, "schema": {"type": "string"}}
    anything = dict[str, Any]
    return [
        Place("/v1/models", "GET", models, "The models", gives=answers.ModelList, aliases=("/models",)),
        Place(
            "/v1/models/{model}", "GET", model, "One model", gives=answers.Model, failures=(404,), parameters=(name,)
        ),
        Place(
            "/health",
            "GET",
            health,
            "Whether it is ready",
            gives=answers.Health,
            failures=(503,),
            aliases=("/v1/health",),
        ),
        Place("/props", "GET", props, "What is served, and how", gives=anything, failures=(503,)),
        Place("/slots", "GET", slots, "What is computed", gives=list[anything], failures=(503,), parameters=(free,)),
        Place("/metrics", "GET", figures, "Figures for Prometheus", text=True),
    ]


def _own(desk: Desk, control: protocol.Control, describe: Callable[[], bytes]) -> list[Place]:
    async def hello(_: Request) -> Response:
        return json(control.hello())

    async def status(_: Request) -> Response:
        return json(control.status())

    async def stop(request: Request) -> Response:
        asked = await body.read(request, protocol.StopRequest, Limits())
        control.stop(asked.when)
        return json({}, 202)

    async def cancel(request: Request) -> Response:
        asked = await body.read(request, protocol.CancelRequest, desk.limits)
        if not desk.running.cancel(asked.id):
            raise RequestError(404, "no request with this id is running", "it may have ended by itself", param="id")
        return json({}, 202)

    async def openapi(_: Request) -> Response:
        return Response(describe(), media_type=JSON)

    anything = dict[str, Any]
    return [
        Place(protocol.HELLO, "GET", hello, "Who answers", gives=protocol.Hello),
        Place(protocol.STATUS, "GET", status, "What goes on", gives=protocol.StatusReport),
        Place(protocol.STOP, "POST", stop, "End the daemon", takes=protocol.StopRequest, gives=anything, status=202),
        Place(
            protocol.CANCEL,
            "POST",
            cancel,
            "End a request that generates; its answer ends as cancelled",
            takes=protocol.CancelRequest,
            gives=anything,
            status=202,
            failures=(404,),
        ),
        Place("/openapi.json", "GET", openapi, "This description", gives=anything),
    ]
