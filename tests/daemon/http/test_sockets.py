"""The same through uvicorn and real sockets."""

import contextlib
import json
import socket
import threading
import time

import httpx
import pytest
import uvicorn

from paceline.daemon.connection import Connection
from paceline.daemon.http.app import create_app
from paceline.daemon.http.limits import Limits
from paceline.engine.sequence import Delta
from support.fake_service import FakeControl, FakeHost, FakeService, eventually, saying

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}


@contextlib.contextmanager
def serving(service, bound, *, token=None, limits=None, http=Connection):
    """A server on a bound socket, in a thread."""
    app = create_app(FakeHost(service), token=token, control=FakeControl(), limits=limits or Limits())
    server = uvicorn.Server(uvicorn.Config(app, http=http, ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    try:
        assert eventually(lambda: server.started)
        yield server
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)


def loopback():
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound


@pytest.fixture
def unix(tmp_path):
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(tmp_path / "s"))
    return bound, httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "s")), base_url="http://paceline")


def held():
    *events, end = saying("Hel")
    return [*events, threading.Event(), end]


def test_over_a_unix_socket_the_host_does_not_matter(unix):
    bound, client = unix
    with serving(FakeService(), bound), client:
        assert client.post("/v1/chat/completions", json=CHAT).json()["choices"][0]["message"]["content"] == "Hi"
        assert client.get("/health", headers={"origin": "http://evil.example"}).status_code == 403


def test_over_tcp_host_and_token_do():
    bound = loopback()
    base = f"http://127.0.0.1:{bound.getsockname()[1]}"
    with serving(FakeService(), bound, token="abc", limits=Limits(body=1000)), httpx.Client(base_url=base) as client:
        good = {"authorization": "Bearer abc"}
        assert client.get("/v1/models").status_code == 401
        assert client.get("/v1/models", headers=good).status_code == 200
        assert client.get("/v1/models", headers={**good, "host": "evil.example"}).status_code == 403
        assert client.post("/completion", content=b"x" * 2000, headers=good).status_code == 413
        assert client.post("/completion", content=iter([b"x" * 600] * 2), headers=good).status_code == 413


@pytest.mark.parametrize("stream", [True, False])
def test_a_closed_connection_ends_the_request(unix, stream):
    bound, _ = unix
    service = FakeService(held())
    with serving(service, bound):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(bound.getsockname())
        body = json.dumps({**CHAT, "stream": stream}).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        assert eventually(lambda: bool(service.streams))
        connection.close()
        assert eventually(service.streams[0].cancelled.is_set)


def endless():
    yield from saying("Hel")[:3]
    while True:
        time.sleep(0.001)
        yield Delta("x" * 10_000)


@contextlib.contextmanager
def unread(bound, path, body=None, count=1):
    """A client that has asked, and takes nothing of what it gets."""
    connection = socket.socket(bound.family)
    connection.connect(bound.getsockname())
    data = b"" if body is None else json.dumps(body).encode()
    method = b"GET" if body is None else b"POST"
    address = b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (method, path, len(data))
    connection.sendall((address + data) * count)
    try:
        yield connection
    finally:
        connection.close()


def unix_socket(tmp_path):
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(tmp_path / "s"))
    return bound


@pytest.mark.parametrize("bind", [unix_socket, lambda _: loopback()], ids=["unix", "tcp"])
def test_a_reader_that_does_not_read_is_cut_off_and_its_connection_with_it(tmp_path, bind):
    bound, service = bind(tmp_path), FakeService(endless())
    with (
        serving(service, bound, limits=Limits(stall_seconds=0.1)) as server,
        unread(bound, b"/v1/chat/completions", {**CHAT, "stream": True}) as connection,
    ):
        assert eventually(lambda: bool(service.streams) and service.streams[0].cancelled.is_set())
        assert eventually(lambda: not server.server_state.connections)
        with socket.socket(bound.family) as other:  # others are served as before
            other.connect(bound.getsockname())
            other.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert other.recv(100).startswith(b"HTTP/1.1 200")
        assert connection.fileno() > 0  # it still holds its end


def test_so_is_one_that_asks_again_and_again_and_takes_no_answer(unix):
    bound, client = unix

    class Hasty(Connection):
        PATIENCE = 0.2

    with serving(FakeService(), bound, http=Hasty) as server, client:
        with unread(bound, b"/openapi.json", count=100):
            assert eventually(lambda: bool(server.server_state.connections))
            assert eventually(lambda: not server.server_state.connections)
        assert len(client.get("/openapi.json").json()["paths"]) > 20


def test_little_waits_for_a_reader_that_is_slow(unix):
    bound, _ = unix
    service = FakeService(endless())
    with serving(service, bound) as server, unread(bound, b"/completion", {"prompt": "x", "stream": True}):
        assert eventually(lambda: any(map(waiting, server.server_state.connections)))
        largest = max(map(waiting, server.server_state.connections))
        time.sleep(0.05)
        assert max(map(waiting, server.server_state.connections)) == largest  # one message, however many follow


def waiting(connection):
    return connection.transport.get_write_buffer_size()


def test_cancelling_ends_a_stream_over_a_socket(unix):
    bound, client = unix
    with (
        serving(FakeService(held()), bound),
        client,
        client.stream("POST", "/v1/completions", json={"prompt": "x", "stream": True}) as reply,
    ):
        assert client.post("/paceline/cancel", json={"id": reply.headers["x-request-id"]}).status_code == 202
        lines = [line for line in reply.iter_lines() if line]
        assert '"finish_reason":"cancelled"' in lines[-2]
        assert lines[-1] == "data: [DONE]"


def test_a_stream_arrives_as_it_is_made(unix):
    bound, client = unix
    script = held()
    service = FakeService(script)
    with (
        serving(service, bound),
        client,
        client.stream("POST", "/v1/completions", json={"prompt": "x", "stream": True}) as reply,
    ):
        lines = reply.iter_lines()
        assert '"Hel"' in next(lines)
        script[-2].set()
        assert [line for line in lines if line][-1] == "data: [DONE]"
