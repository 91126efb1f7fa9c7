"""Who may ask, and how much at once."""

import logging

import pytest

from paceline.daemon.http.guard import Guard
from paceline.daemon.http.limits import Limits
from support.asgi_client import TCP, UNIX, Api
from support.fake_service import FakeService

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
TOKEN = "s3cret-\u00fc"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8765", "127.0.0.2:80", "[::1]", "[::1]:8765"]
)
def test_a_name_of_this_machine_is_a_host(host):
    assert Api().get("/v1/models", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1:",
        "",
        "[::2]",
    ],
)
def test_a_rebound_name_is_refused(host):
    reply = Api().get("/v1/models", headers={"host": host})
    assert reply.status == 403
    assert reply.error["type"] == "permission_error"


def test_a_request_needs_exactly_one_host():
    api = Api()
    assert api.get("/health", headers={"host": None}).status == 403
    assert api.get("/health", more_headers=[(b"host", b"evil.example")]).status == 403


def test_over_a_unix_socket_any_host_will_do():
    assert Api().get("/v1/models", headers={"host": "paceline"}, server=UNIX).status == 200
    assert Api().get("/v1/models", headers={"host": "paceline"}, server=TCP).status == 403
    portless = ("evil.example", None)  # no server, but clients that call an application directly
    assert Api().get("/v1/models", headers={"host": "evil.example"}, server=portless, client=("::1", 1)).status == 403


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:8766", "file://"]
)
@pytest.mark.parametrize("server", [TCP, UNIX])
def test_a_page_of_another_origin_is_refused(origin, server):
    api = Api()
    reply = api.post("/v1/chat/completions", CHAT, headers={"origin": origin}, server=server)
    assert reply.status == 403
    assert not api.service.streams
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_a_preflight_is_not_answered():
    reply = Api().ask(
        "OPTIONS",
        "/v1/chat/completions",
        headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
    )
    assert reply.status == 403
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_the_own_origin_is_none_that_is_foreign():
    assert Api().get("/v1/models", headers={"origin": "http://127.0.0.1:8765"}).status == 200


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200)])
def test_a_browser_that_sends_no_origin_still_tells_the_site(site, status):
    assert Api().get("/v1/models", headers={"sec-fetch-site": site}).status == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": "Bearer"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"x-api-key": ""},
        {"cookie": f"token={TOKEN}"},
    ],
)
def test_without_the_token_nothing_is_answered(headers):
    api = Api(token=TOKEN)
    for path in ("/v1/models", "/metrics", "/openapi.json", "/paceline/status", "/nowhere", "/health/"):
        reply = api.get(path, headers=headers)
        assert (reply.status, reply.error["type"]) == (401, "authentication_error"), path
        assert reply.headers["www-authenticate"] == "Bearer"
    assert api.post("/paceline/stop", {}, headers=headers).status == 401
    assert api.control.stopped == []


def test_the_token_is_no_part_of_the_address():
    assert Api(token="abc").get("/v1/models?token=abc&api_key=abc").status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer  {TOKEN} "},
        {"x-api-key": TOKEN},
        {"authorization": "Bearer wrong", "x-api-key": TOKEN},
    ],
)
def test_with_the_token_everything_is(headers):
    assert Api(token=TOKEN).get("/v1/models", headers=headers).status == 200


def test_health_needs_no_token_but_a_good_host():
    assert Api(token=TOKEN).get("/health").status == 200
    assert Api(token=TOKEN).get("/health", headers={"host": "evil.example"}).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/",
        "/props/",
        "//v1/models",
        "/V1/MODELS",
        "/v1/../metrics",
        "/v1/%2e%2e/metrics",
        "/./health",
        "/health%00",
        "/health;x",
        "/paceline/hello/..",
        "/slots/0",
        "/etc/passwd",
        "/",
    ],
)
def test_an_address_is_right_or_there_is_nothing(path):
    reply = Api().get(path)
    assert reply.status == 404
    assert "location" not in reply.headers


def test_the_wrong_method_is_told_the_right_one():
    reply = Api().get("/v1/chat/completions")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert reply.error["code"] == 405


def test_a_body_that_says_it_is_too_large_is_not_read():
    api = Api(limits=Limits(body=100))
    reply = api.post("/v1/chat/completions", b"{", headers={"content-length": "101"})
    assert (reply.status, reply.error["code"]) == (413, 413)
    assert api.post("/v1/chat/completions", b"{", headers={"content-length": "9" * 40}).status == 413


def test_a_body_with_two_ways_to_tell_its_end_is_refused():
    reply = Api().post("/v1/chat/completions", b"{}", headers={"content-length": "2", "transfer-encoding": "chunked"})
    assert (reply.status, "not both" in reply.error["message"]) == (400, True)


def test_a_body_that_grows_too_large_is_not_read_on():
    api = Api(limits=Limits(body=100))
    assert api.post("/v1/chat/completions", chunks=[b" " * 60, b" " * 60]).status == 413
    fits = b'{"messages": [{"role": "user", "content": "Hi"}]}'
    assert api.post("/v1/chat/completions", chunks=[fits, b" " * (100 - len(fits))]).status == 200


def test_a_body_that_does_not_come_is_not_waited_for():
    reply = Api(limits=Limits(body_seconds=0.01)).post("/v1/chat/completions", chunks=[])
    assert reply.status == 408


def test_headers_and_addresses_are_bounded():
    api = Api(limits=Limits(headers=500, header_count=10, target=50))
    assert api.get("/health", headers={"x-long": "a" * 600}).status == 431
    assert api.get("/health", more_headers=[(b"x", b"1")] * 20).status == 431
    assert api.get("/health?" + "a" * 60).status == 414
    assert api.get("/health?" + "a" * 10).status == 200


def test_a_large_body_is_read_all_the_same():
    body = {"messages": [{"role": "user", "content": "x" * 300_000}]}
    api = Api()
    assert api.post("/v1/chat/completions", body).status == 200
    assert len(api.service.prompt) > 300_000
    assert api.post("/v1/chat/completions", {"messages": 1, "x": "x" * 300_000}).error["param"] == "messages"


@pytest.mark.parametrize("deep", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 70 + b"1" + b"}" * 70])
@pytest.mark.parametrize("field", [b"json_schema", b"unknown"])
def test_deeply_nested_json_is_refused_or_skipped(deep, field):
    if field == b"json_schema":
        deep = b'{"a":' + deep + b"}"
    body = b'{"messages": [{"role": "user", "content": "Hi"}], "%s": %s}' % (field, deep)
    reply = Api().post("/v1/chat/completions", body)
    assert reply.status == (200 if field == b"unknown" and len(deep) < 1000 else 400)


def test_what_a_route_lets_fall_is_not_told_and_its_text_not_logged(caplog):
    service = FakeService()
    service.refusal = ValueError("the prompt said: swordfish")
    with caplog.at_level(logging.DEBUG):
        reply = Api(service).post("/v1/chat/completions", CHAT)
    assert (reply.status, reply.error["type"]) == (500, "server_error")
    assert "swordfish" not in reply.body.decode() + caplog.text
    assert "ValueError" in caplog.text


def test_websockets_and_lifespan_are_left_alone():
    import asyncio

    called = []

    async def app(scope, receive, send):
        called.append(scope["type"])

    guard = Guard(app, token="x", limits=Limits())
    for kind in ("lifespan", "websocket"):
        asyncio.run(guard({"type": kind}, None, None))
    assert called == ["lifespan"]
