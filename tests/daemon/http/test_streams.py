"""Readers that leave, readers that do not read, and what happens while models are loaded."""

import asyncio
import threading

import pytest

from paceline.config import Config, EngineConfig
from paceline.daemon.http.limits import Limits
from paceline.engine.sequence import Delta, Finished
from paceline.errors import EngineError, ModelError, ResourceError
from support.asgi_client import Api
from support.fake_service import FakeHost, FakeService, eventually, saying

CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
ROUTES = [
    ("/v1/chat/completions", CHAT),
    ("/v1/completions", {"prompt": "Hi"}),
    ("/completion", {"prompt": "Hi"}),
    ("/infill", {"input_prefix": "a", "input_suffix": "b"}),
]


def held(*pieces):
    """An answer that does not end before the gate is opened, and the gate."""
    gate = threading.Event()
    *events, end = saying(*pieces)
    return [*events, gate, end], gate


@pytest.mark.parametrize(("path", "body"), ROUTES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_its_request_at_once(path, body, stream):
    service = FakeService(held("Hel")[0])
    api = Api(service)

    async def exchange():
        async with api.connected("POST", path, {**body, "stream": stream}) as connection:
            while not service.streams:
                await asyncio.sleep(0.001)
            connection.disconnect()
        return connection.reply

    reply = asyncio.run(exchange())
    assert eventually(service.streams[0].cancelled.is_set)
    assert not reply.complete
    assert api.host.active == 0
    assert 'outcome="disconnected"' in api.get("/metrics").body.decode()


def test_one_who_leaves_while_it_is_submitted_leaves_nothing_running():
    service = FakeService(held("Hel")[0])
    entered, go_on = threading.Event(), threading.Event()
    generate = service.generate

    def slow(*arguments, **how):
        entered.set()
        assert go_on.wait(10)
        return generate(*arguments, **how)

    service.generate = slow
    api = Api(service)

    async def exchange():
        async with api.connected("POST", "/v1/chat/completions", CHAT) as connection:
            while not entered.is_set():
                await asyncio.sleep(0.001)
            connection.disconnect()

        go_on.set()

    asyncio.run(exchange())
    assert eventually(lambda: bool(service.streams) and service.streams[0].cancelled.is_set())


def test_all_choices_of_one_who_leaves_are_cancelled():
    service = FakeService(held("a")[0])
    api = Api(service)

    async def exchange():
        async with api.connected("POST", "/v1/completions", {"prompt": ["a", "b"], "n": 2}) as connection:
            while len(service.streams) < 4:
                await asyncio.sleep(0.001)
            connection.disconnect()

    asyncio.run(exchange())
    assert eventually(lambda: all(each.cancelled.is_set() for each in service.streams))


def test_a_finished_request_is_not_cancelled():
    api = Api()
    api.post("/v1/chat/completions", CHAT)
    assert not api.service.streams[0].cancelled.is_set()


def unread(api, path, body):
    """What becomes of a request whose client takes nothing after the first bytes."""

    async def exchange():
        async with api.connected("POST", path, {**body, "stream": True}) as connection:
            await connection.until(b"Hel")
            connection.reading.clear()
            api.service.scripts[0][3].set()
        return connection.reply

    return asyncio.run(exchange())


@pytest.mark.parametrize(("path", "body"), ROUTES[:3])
def test_a_reader_that_takes_nothing_for_long_is_cut_off(path, body):
    gate, never = threading.Event(), threading.Event()
    head = saying("Hel")[:3]
    api = Api(FakeService([*head, gate, Delta("x"), never]), limits=Limits(stall_seconds=0.02))
    reply = unread(api, path, body)
    assert not reply.complete
    assert api.service.streams[0].cancelled.is_set()
    assert 'outcome="cut_off"' in api.get("/metrics").body.decode()


def test_a_reader_that_is_too_far_behind_is_cut_off():
    gate, never = threading.Event(), threading.Event()
    head = saying("Hel")[:3]
    api = Api(FakeService([*head, gate, *[Delta("x")] * 200, never]), limits=Limits(pending_events=100))
    reply = unread(api, "/v1/chat/completions", CHAT)
    assert not reply.complete
    assert reply.body.count(b"x") < 200
    assert api.service.streams[0].cancelled.is_set()


def test_a_reader_is_not_blamed_for_a_slow_engine():
    gate = threading.Event()
    *events, end = saying("Hel")
    api = Api(FakeService([*events, gate, Delta("lo"), end]), limits=Limits(stall_seconds=0.02))

    async def exchange():
        async with api.connected("POST", "/completion", {"prompt": "x", "stream": True}) as connection:
            await connection.until(b"Hel")
            await asyncio.sleep(0.08)
            gate.set()
        return connection.reply

    reply = asyncio.run(exchange())
    assert reply.complete
    assert "".join(each["content"] for each in reply.events) == "Hello"


def test_one_request_takes_no_more_places_than_there_are():
    script, gate = held("a")
    service = FakeService(script, config=Config(engine=EngineConfig(parallel=2)))
    api, begin = Api(service), service._start
    running, ended = [], []

    def counting(overrides, sink):
        def note(event):
            ended.extend([event] * isinstance(event, Finished))
            sink(event)

        running.append(len(service.streams) + 1 - len(ended))
        return begin(overrides, note)

    service._start = counting

    async def exchange():
        async with api.connected("POST", "/v1/completions", {"prompt": ["a"] * 6}) as connection:
            while len(service.streams) < 2:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.02)
            gate.set()
        return connection.reply

    reply = asyncio.run(exchange())
    assert [each["text"] for each in reply.json()["choices"]] == ["a"] * 6
    assert max(running) == 2


def test_a_reader_that_catches_up_in_time_misses_nothing():
    pieces = [str(number % 10) for number in range(500)]
    *events, end = saying("Hel", *pieces)
    gate = threading.Event()
    service = FakeService([*events[:3], gate, *events[3:], end])
    api = Api(service)

    async def exchange():
        async with api.connected("POST", "/completion", {"prompt": "x", "stream": True}) as connection:
            await connection.until(b"Hel")
            connection.reading.clear()
            gate.set()
            while not service.streams[0].over.is_set():
                await asyncio.sleep(0.001)
            connection.reading.set()
        return connection.reply

    reply = asyncio.run(exchange())
    assert "".join(each["content"] for each in reply.events) == "Hel" + "".join(pieces)
    assert len(reply.events) < 20  # what had to wait came in one piece


@pytest.mark.parametrize(("path", "body"), ROUTES)
def test_an_error_in_the_middle_of_a_stream_is_its_last_event(path, body):
    script = [*saying("Hel")[:3], EngineError("llama.cpp refused", "try again")]
    api = Api(FakeService(script))
    reply = api.post(path, {**body, "stream": True})
    assert (reply.status, reply.complete) == (200, True)
    assert reply.events[-1]["error"]["message"] == "llama.cpp refused"
    assert 'outcome="failed"' in api.get("/metrics").body.decode()


def test_an_error_in_the_middle_has_a_status_where_nothing_was_sent():
    reply = Api(FakeService([*saying("Hel")[:3], EngineError("llama.cpp refused")])).post(
        "/v1/completions", {"prompt": "a"}
    )
    assert (reply.status, reply.error["message"]) == (500, "llama.cpp refused")


def test_when_one_choice_fails_the_others_are_cancelled():
    service = FakeService(held("a")[0], [EngineError("llama.cpp refused")])
    reply = Api(service).post("/v1/completions", {"prompt": ["a", "b"]})
    assert reply.status == 500
    assert eventually(service.streams[0].cancelled.is_set)


def test_a_stranger_error_in_a_stream_tells_nothing_of_itself(caplog):
    script = [*saying("Hel")[:3], ValueError("swordfish")]
    reply = Api(FakeService(script)).post("/v1/chat/completions", {**CHAT, "stream": True})
    assert reply.events[-1]["error"]["type"] == "server_error"
    assert "swordfish" not in reply.body.decode() + caplog.text


def test_a_stream_says_that_models_are_loaded_and_what_there_is_to_note():
    service = FakeService()
    host = FakeHost(service, loaded=False)
    host.load_seconds = 0.3
    reply = Api(service, host=host, limits=Limits(comment_seconds=0.01)).post(
        "/v1/chat/completions", {**CHAT, "stream": True}
    )
    told = reply.comments.index("note no draft model fits into memory")
    assert told > 1
    assert set(reply.comments[:told]) == {"loading the models"}
    assert reply.events[-1] == "[DONE]"


def test_a_stream_on_loaded_models_has_no_comments():
    assert Api().post("/v1/chat/completions", {**CHAT, "stream": True}).comments == []


@pytest.mark.parametrize(
    ("failure", "status"),
    [(ModelError("the file is damaged", "fetch it again"), 503), (ResourceError("not enough memory"), 503)],
)
def test_models_that_cannot_be_loaded_are_an_error_either_way(failure, status):
    service = FakeService()
    api = Api(service, host=FakeHost(service, loaded=False, failure=failure))
    reply = api.post("/v1/chat/completions", CHAT)
    assert (reply.status, reply.error["class"]) == (status, type(failure).__name__)
    reply = api.post("/v1/chat/completions", {**CHAT, "stream": True})
    assert (reply.status, reply.events[-1]["error"]["code"]) == (200, status)
    reply = api.post("/tokenize", {"content": "x"})
    assert reply.status == status


def test_a_client_may_leave_while_models_are_loaded():
    service = FakeService()
    host = FakeHost(service, loaded=False)
    host.load_seconds = 60
    api = Api(service, host=host)

    async def exchange():
        async with api.connected("POST", "/v1/chat/completions", {**CHAT, "stream": True}) as connection:
            await connection.until(b": loading the models\n\n")
            connection.disconnect()
        async with api.connected("POST", "/tokenize", {"content": "x"}) as connection:
            connection.disconnect()

    asyncio.run(exchange())
    assert host.active == 0
    assert service.streams == []


def test_a_full_engine_makes_later_choices_wait_for_the_earlier():
    from paceline.errors import BusyError

    service = FakeService(saying("a"))
    start = service._start

    def crowded(overrides, sink):
        if any(not each.over.is_set() for each in service.streams):
            raise BusyError("full")
        return start(overrides, sink)

    service._start = crowded
    reply = Api(service).post("/v1/completions", {"prompt": ["a", "b", "c"]})
    assert [each["text"] for each in reply.json()["choices"]] == ["a", "a", "a"]
