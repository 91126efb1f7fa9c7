"""Requests made from the daemon's own description, and bytes that are hardly requests: it answers, and lives on."""

import contextlib
import re
import socket

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from support.held_call import connect, request_bytes
from support.real_daemon import real_daemon

NOT_ASKED = ("/paceline/stop",)  # it would be obeyed
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
MODES = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
QUESTION = {"prompt": "in the in the", "n_predict": 20, "temperature": 0}


def fuzzing(examples):
    """The same examples every time."""
    calm = list(HealthCheck)
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=calm)


@pytest.fixture(scope="module")
def daemon(tiny):
    """Its context is small, so that no answer is long."""
    with real_daemon(tiny.target, tiny.draft, engine="context = 256\nparking_mb = 1") as running:
        running.expected = answer(running)
        yield running
        assert "Traceback" not in running.log


def answer(daemon):
    reply = daemon.post("/completion", QUESTION)
    assert reply.status_code == 200
    return reply.json()["content"]


@pytest.fixture(autouse=True)
def lives_on(daemon):
    """After each of these tests nobody is served any more, and a question is answered as before."""
    yield
    daemon.settle()
    assert answer(daemon) == daemon.expected


# --- from the description ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def operations(daemon):
    headers = {"Authorization": f"Bearer {daemon.token}"}
    described = schemathesis.openapi.from_url(f"{daemon.url}/openapi.json", headers=headers)
    found = [each.ok() for each in described.get_all_operations()]
    return [each for each in found if each.path not in NOT_ASKED]


@pytest.fixture(scope="module")
def session(daemon):
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {daemon.token}"
        yield session


def small(case):
    """The case, asking for few answers at once, under plain headers: it is about bodies, and not about how much."""
    case.headers.clear()
    for name in ("n", "n_cmpl"):
        if isinstance(case.body, dict) and isinstance(case.body.get(name), int):
            case.body[name] = min(case.body[name], 2)
    return case


@pytest.mark.parametrize("mode", MODES, ids=["as described", "otherwise"])
def test_whatever_is_asked_is_answered_as_described(operations, session, mode):
    assert len(operations) > 20
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query):
            continue

        @fuzzing(25 if operation.body else 3)
        @given(case=operation.as_strategy(generation_mode=mode))
        def each(case):
            response = small(case).call(session=session, timeout=30)
            case.validate_response(response, checks=CHECKS)

        each()


# --- bytes ------------------------------------------------------------------------------------------------------------

GOOD = request_bytes("/v1/completions", {"prompt": "x", "max_tokens": 3})
NUMBERS = st.sampled_from([b"0", b"-1", b"+5", b"5, 5", b"5, 6", b"0x10", b"99999999999999999999", b"1e3", b"", b"abc"])
SIZES = [b"3\r\nabc\r\n", b"0\r\n\r\n", b"zz\r\n", b"-1\r\n", b"f" * 18 + b"\r\n", b"5\r\nab", b"\r\n"]
CHUNKS = st.lists(st.sampled_from(SIZES), max_size=6).map(b"".join)
HEADERS = st.lists(
    st.sampled_from([
        b"Host: 127.0.0.1", b"Host: x", b"Content-Type: application/json", b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked", b"Connection: upgrade", b"Upgrade: websocket", b"Upgrade: h2c",
        b"Expect: 100-continue", b"X: " + b"y" * 40_000, b"No colon", b": empty", b"X:\x00", b"X: \xff", b" folded",
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]) | NUMBERS.map(b"Content-Length: ".__add__),
    max_size=8,
)  # fmt: skip
LINES = st.sampled_from([
    b"POST /v1/completions HTTP/1.1", b"GET /health HTTP/1.1", b"GET /health HTTP/1.0", b"GET /health HTTP/2.0",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1", b"GET /%00%ff HTTP/1.1", b"GET http://x/health HTTP/1.1", b"GET  HTTP/1.1",
    b"OPTIONS * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"PRI * HTTP/2.0", b"\x16\x03\x01\x02\x00", b"", b"get /health",
])  # fmt: skip
MESSAGES = st.builds(
    lambda line, headers, body: b"\r\n".join([line, *headers, b"", body]), LINES, HEADERS, CHUNKS | st.just(GOOD)
)
CUT = st.integers(0, len(GOOD)).map(lambda at: GOOD[:at])
TWISTED = st.tuples(st.integers(0, len(GOOD) - 1), st.binary(max_size=3)).map(
    lambda change: GOOD[: change[0]] + change[1] + GOOD[change[0] + 1 :]
)
HOSTILE = st.lists(st.one_of(MESSAGES, CUT, TWISTED, st.just(GOOD), st.binary(max_size=60)), min_size=1, max_size=3)


def everything_from(connection):
    """What comes until the other side closes, or waits for more."""
    connection.settimeout(0.05)
    received = b""
    with contextlib.suppress(TimeoutError, ConnectionError):
        while data := connection.recv(1 << 16):
            received += data
    return received


@pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])
def test_bytes_that_are_hardly_requests_are_answered_as_such_or_not_at_all(daemon, tcp):
    @fuzzing(150)
    @given(HOSTILE)
    def each(parts):
        with connect(daemon, tcp=tcp) as connection:
            with contextlib.suppress(OSError):  # it may have heard enough already
                connection.sendall(b"".join(parts))
                connection.shutdown(socket.SHUT_WR)
            received = everything_from(connection)
        assert not received or received.startswith(b"HTTP/1.1 ")
        assert b"HTTP/1.1 5" not in received
        assert b"Traceback" not in received

    each()


def test_requests_in_a_row_are_answered_in_their_order(daemon):
    asked = [request_bytes("/tokenize", {"content": "x" * n}) for n in (1, 2, 3)]
    with connect(daemon) as connection:
        connection.sendall(b"".join(asked))
        received = everything_from(connection)
    assert [found.count(b",") + 1 for found in re.findall(rb'"tokens":\[([^]]*)', received)] == [1, 2, 3]
