"""The description fits what is answered."""

import msgspec
import pytest

from paceline.daemon.http import answers
from paceline.engine.sequence import Delta
from support.asgi_client import Api
from support.fake_service import FakeService, saying

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def described():
    return Api().get("/openapi.json").json()


def test_every_address_is_described_and_there(described):
    api = Api()
    assert len(described["paths"]) > 20
    for path, operations in described["paths"].items():
        for method in operations:
            reply = api.ask(method.upper(), path.replace("{model}", "tiny"), {} if method == "post" else None)
            assert reply.status in (200, 202, 400), (path, method, reply.body)
            assert str(reply.status) in operations[method]["responses"], (path, method)


def test_every_reference_leads_somewhere(described):
    def references(value):
        if isinstance(value, dict):
            yield from [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            value = list(value.values())
        for each in value if isinstance(value, list) else []:
            yield from references(each)

    found = set(references(described))
    assert len(found) > 20
    for each in found:
        assert each.removeprefix("#/components/schemas/") in described["components"]["schemas"]


def test_operations_have_names_of_their_own(described):
    names = [each["operationId"] for path in described["paths"].values() for each in path.values()]
    assert len(names) == len(set(names))
    assert "post_v1_chat_completions" in names


def test_required_fields_are_required_and_bounds_told(described):
    schema = described["components"]["schemas"]["ChatRequest"]
    assert schema["required"] == ["messages"]
    assert {"type": "null"} in schema["properties"]["temperature"]["anyOf"]
    assert schema["properties"]["messages"]["minItems"] == 1


def test_everything_that_speculation_takes_and_tells_is_described(described):
    schemas = described["components"]["schemas"]
    for name in ("ChatRequest", "CompletionRequest", "LlamaCompletionRequest", "InfillRequest"):
        assert {"strict", "tell_drafts"} <= set(schemas[name]["properties"])
        words = next(each["enum"] for each in schemas[name]["properties"]["speculation"]["anyOf"] if "enum" in each)
        assert set(words) == {"auto", "off", "ngram", "draft", "lookahead"}
    assert {"prediction", "references"} <= set(schemas["ChatRequest"]["properties"])
    for name in ("ChatDelta", "TextChoice", "LlamaChunk"):
        assert "drafter" in schemas[name]["properties"]


def test_what_may_go_wrong_is_told(described):
    assert {"400", "403", "408", "413", "431", "500", "503"} <= set(
        described["paths"]["/v1/completions"]["post"]["responses"]
    )


def test_an_id_to_cancel_by_is_described_where_there_is_one(described):
    for path, operations in described["paths"].items():
        for operation in operations.values():
            streams = any("text/event-stream" in each["content"] for each in operation["responses"].values())
            names = {each["name"] for each in operation.get("parameters", ())}
            told = [each.get("headers", ()) for each in operation["responses"].values()]
            assert ("X-Request-Id" in names) == ({"X-Request-Id"} in map(set, told)) == streams, path
    assert {"202", "404"} <= set(described["paths"]["/paceline/cancel"]["post"]["responses"])


def test_the_token_is_described_where_there_is_one(described):
    assert "security" not in described
    with_token = Api(token="x").get("/openapi.json", headers={"x-api-key": "x"}).json()
    assert with_token["security"] == [{"token": []}]
    assert with_token["paths"]["/health"]["get"]["security"] == []
    assert "401" in with_token["paths"]["/props"]["get"]["responses"]
    assert "401" not in described["paths"]["/props"]["get"]["responses"]


@pytest.mark.parametrize(
    ("path", "body", "kind", "chunk"),
    [
        ("/v1/chat/completions", {**CHAT, "logprobs": True, "n": 2}, answers.ChatCompletion, answers.ChatChunk),
        ("/v1/completions", {"prompt": "x", "logprobs": 1}, answers.TextCompletion, answers.TextCompletion),
        ("/completion", {"prompt": "x", "n_probs": 1}, answers.LlamaCompletion, answers.LlamaChunk),
        ("/infill", {"input_prefix": "a", "input_suffix": "b"}, answers.LlamaCompletion, answers.LlamaChunk),
    ],
)
def test_answers_and_chunks_are_as_described(path, body, kind, chunk):
    service = FakeService(saying("Hel", Delta("lo", "ngram"), logprobs=True))
    msgspec.json.decode(Api(service).post(path, body).body, type=kind)
    options = {"stream_options": {"include_usage": True}, "return_progress": True, "stream": True, "tell_drafts": True}
    events = [each for each in Api(service).post(path, {**body, **options}).events if each != "[DONE]"]
    assert len(events) > 3
    for each in events:
        msgspec.convert(each, chunk)


@pytest.mark.parametrize("status", [400, 403, 404, 405, 413])
def test_every_error_has_the_same_shape(status):
    api = Api()
    reply = {
        400: lambda: api.post("/completion", {}),
        403: lambda: api.get("/health", headers={"host": "evil.example"}),
        404: lambda: api.get("/nowhere"),
        405: lambda: api.get("/completion"),
        413: lambda: api.post("/completion", b"", headers={"content-length": "99999999999"}),
    }[status]()
    assert reply.status == status
    error = msgspec.json.decode(reply.body, type=answers.Failure).error
    assert error.code == status
    assert error.message
    assert error.type.endswith("_error")
    assert reply.headers["content-type"] == "application/json"
