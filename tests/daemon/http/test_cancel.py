"""Ending a request from elsewhere: its client still gets the end of its answer."""

import asyncio
import threading

import pytest

from paceline.daemon.http.limits import Limits
from paceline.engine.sequence import Delta
from support.asgi_client import Api
from support.fake_service import FakeHost, FakeService, saying

CHAT = {"messages": [{"role": "user", "content": "Hi"}], "stream_options": {"include_usage": True}}
TEXT = {"prompt": "Hi", "stream_options": {"include_usage": True}}
HOLE = {"input_prefix": "a", "input_suffix": "b"}
OPENAI = [("/v1/chat/completions", CHAT), ("/v1/completions", TEXT)]
LLAMA = [("/completion", {"prompt": "Hi"}), ("/infill", HOLE)]


def endless():
    """An answer that has begun and never ends by itself."""
    return [*saying("Hel")[:3], threading.Event()]


async def begun(service, count=1):
    while len(service.streams) < count:
        await asyncio.sleep(0.001)


async def cancel(api, name):
    async with api.connected("POST", "/paceline/cancel", {"id": name}) as connection:
        pass
    return connection.reply


def cancelled(api, path, body, name="mine", ready=None):
    """The reply to a request that is cancelled as soon as it is `ready`: by default, when it is generated."""

    async def exchange():
        async with api.connected("POST", path, body, headers={"x-request-id": name}) as connection:
            await (begun(api.service) if ready is None else ready(connection))
            assert (await cancel(api, name)).status == 202
        return connection.reply

    return asyncio.run(exchange())


def assert_over(api, reply, name="mine"):
    assert (reply.status, reply.complete) == (200, True)
    assert reply.headers["x-request-id"] == name
    assert api.host.active == 0
    assert asyncio.run(cancel(api, name)).status == 404
    assert 'outcome="cancelled"' in api.get("/metrics").body.decode()


@pytest.mark.parametrize(("path", "body"), OPENAI)
def test_a_cancelled_stream_ends_in_good_order(path, body):
    api = Api(FakeService(endless()))
    reply = cancelled(api, path, {**body, "stream": True}, ready=lambda connection: connection.until(b"Hel"))
    *_, last, usage, done = reply.events
    assert last["choices"][0]["finish_reason"] == "cancelled"
    assert "predicted_n" in last["timings"]
    assert usage["usage"]["prompt_tokens"] == 9
    assert done == "[DONE]"
    assert api.service.streams[0].cancelled.is_set()
    assert_over(api, reply)


@pytest.mark.parametrize(("path", "body"), LLAMA)
def test_so_does_one_of_llama_cpps_kind(path, body):
    api = Api(FakeService(endless()))
    reply = cancelled(api, path, {**body, "stream": True})
    last = reply.events[-1]
    assert (last["stop"], last["stop_type"], last["tokens_evaluated"]) == (True, "cancelled", 9)
    assert "predicted_n" in last["timings"]
    assert_over(api, reply)


@pytest.mark.parametrize(("path", "body"), OPENAI + LLAMA)
def test_an_answer_in_one_piece_is_what_there_was(path, body):
    api = Api(FakeService(endless()))
    reply = cancelled(api, path, body)
    answer = reply.json()
    assert (answer["choices"][0] if "choices" in answer else answer)["finish_reason"] == "cancelled"
    assert_over(api, reply)


@pytest.mark.parametrize(("path", "body"), OPENAI)
def test_chunks_have_the_id_that_was_chosen_or_the_servers(path, body):
    events = Api().post(path, {**body, "stream": True}, headers={"x-request-id": "a.b:C_1-2"}).events
    assert {each["id"] for each in events[:-1]} == {"a.b:C_1-2"}
    replies = [Api().post(path, {**body, "stream": stream}) for stream in (True, False)]
    assert replies[0].events[0]["id"] == replies[0].headers["x-request-id"]
    assert replies[1].json()["id"] == replies[1].headers["x-request-id"] != replies[0].headers["x-request-id"]


@pytest.mark.parametrize(("path", "body"), LLAMA)
def test_answers_without_an_id_have_one_in_their_header(path, body):
    names = {Api().post(path, {**body, "stream": stream}).headers["x-request-id"] for stream in (True, False)}
    assert len(names) == 2


@pytest.mark.parametrize(("path", "body"), OPENAI + LLAMA)
@pytest.mark.parametrize("stream", [True, False])
def test_what_has_no_model_yet_ends_at_once(path, body, stream):
    service = FakeService()
    host = FakeHost(service, loaded=False)
    host.load_seconds = 60
    api = Api(service, host=host)

    async def loading(connection):
        while not host.active:
            await asyncio.sleep(0.001)

    more = {"logprobs": 1, "n_probs": 1, "n": 2} if path == "/v1/completions" else {"n_probs": 1}
    reply = cancelled(api, path, {**body, **more, "stream": stream}, ready=loading)
    assert reply.body.count(b'"finish_reason":"cancelled"') == more.get("n", 1)
    assert service.streams == []
    assert_over(api, reply)


def test_what_is_cancelled_while_it_is_submitted_is_not_computed():
    service = FakeService(endless())
    entered, go_on = threading.Event(), threading.Event()
    generate = service.generate

    def slow(*arguments, **how):
        entered.set()
        assert go_on.wait(10)
        return generate(*arguments, **how)

    service.generate = slow

    async def exchange():
        async with api.connected("POST", "/v1/completions", {**TEXT, "n": 3}, headers={"x-request-id": "x"}) as made:
            await asyncio.to_thread(entered.wait, 10)
            assert (await cancel(api, "x")).status == 202
            go_on.set()
        return made.reply

    api = Api(service)
    reply = asyncio.run(exchange())
    assert [each["finish_reason"] for each in reply.json()["choices"]] == ["cancelled"] * 3
    assert len(service.streams) == 1
    assert service.streams[0].cancelled.is_set()


def test_choices_that_have_not_begun_never_do():
    service = FakeService([threading.Event()])
    reply = cancelled(Api(service), "/v1/chat/completions", {**CHAT, "n": 4, "stream": True})
    ends = [each["choices"][0]["finish_reason"] for each in reply.events if each != "[DONE]" and each["choices"]]
    assert ends == ["cancelled"] * 4
    assert len(service.streams) == 1  # the others wait for its prompt


def test_only_the_request_with_that_id_ends():
    gate = threading.Event()
    *events, end = saying("Hel")
    service = FakeService([*events, gate, Delta("lo"), end])
    api = Api(service)

    async def exchange():
        async with (
            api.connected("POST", "/completion", {"prompt": "x"}, headers={"x-request-id": "a"}) as first,
            api.connected("POST", "/completion", {"prompt": "x"}, headers={"x-request-id": "b"}) as second,
        ):
            await begun(service, 2)
            await cancel(api, "a")
            while not first.reply.complete:
                await asyncio.sleep(0.001)
            gate.set()
        return first.reply.json()["stop_type"], second.reply.json()["content"]

    assert asyncio.run(exchange()) == ("cancelled", "Hello")


def test_nobody_runs_under_a_name_that_is_taken():
    service = FakeService(endless(), saying("Hi"))
    api = Api(service)

    async def exchange():
        async with api.connected("POST", "/completion", {"prompt": "x"}, headers={"x-request-id": "a"}) as first:
            await begun(service)
            async with api.connected("POST", "/infill", HOLE, headers={"x-request-id": "a"}) as second:
                pass
            await cancel(api, "a")
        return first.reply, second.reply

    first, second = asyncio.run(exchange())
    assert (second.status, second.error["param"]) == (400, "X-Request-Id")
    assert first.json()["stop_type"] == "cancelled"
    assert api.post("/completion", {"prompt": "x"}, headers={"x-request-id": "a"}).status == 200
    assert api.post("/tokenize", {"content": "x"}, headers={"x-request-id": "a"}).status == 200


@pytest.mark.parametrize("name", ["", "x" * 129, "a b", "a\tb", "é", "a,b", "{}", "a/b", "a\x00"])
def test_an_id_is_short_and_plain(name):
    api = Api()
    reply = api.post("/completion", {"prompt": "x"}, headers={"x-request-id": name})
    assert (reply.status, reply.error["param"]) == (400, "X-Request-Id")
    assert api.service.streams == []
    twice = api.post("/completion", {"prompt": "x"}, more_headers=[(b"x-request-id", b"a"), (b"x-request-id", b"b")])
    assert twice.status == 400


def test_there_is_nothing_to_cancel_where_nothing_runs():
    reply = Api().post("/paceline/cancel", {"id": "chatcmpl-1"})
    assert (reply.status, reply.error["type"], reply.error["param"]) == (404, "not_found_error", "id")
    assert Api().post("/paceline/cancel", {}).error["param"] == "id"
    assert Api(token="x").post("/paceline/cancel", {"id": "a"}).status == 401


@pytest.mark.parametrize("failure", [ValueError("broken"), None])
def test_a_request_that_fails_or_is_refused_leaves_its_name_free(failure):
    service = FakeService()
    service.refusal = failure
    api = Api(service)
    statuses = [api.post("/completion", {"prompt": "x"}, headers={"x-request-id": "a"}).status for _ in range(2)]
    assert statuses == ([500, 500] if failure else [200, 200])


# --- streams that have nothing to say ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "body"), OPENAI + LLAMA)
def test_a_stream_that_has_nothing_to_say_gives_signs_of_life(path, body):
    gate = threading.Event()
    head, *rest = saying("Hi")
    api = Api(FakeService([head, gate, *rest]), limits=Limits(comment_seconds=0.01))

    async def exchange():
        async with api.connected("POST", path, {**body, "stream": True}) as connection:
            await connection.until(b": still at it\n\n: still at it\n\n")
            gate.set()
        return connection.reply

    reply = asyncio.run(exchange())
    assert reply.complete
    assert b"Hi" in reply.body
    ending = b"data: [DONE]\n\n" if (path, body) in OPENAI else b"}\n\n"
    assert reply.body.endswith(ending)


def test_an_answer_in_one_piece_has_none():
    gate = threading.Event()
    head, *rest = saying("Hi")
    api = Api(FakeService([head, gate, *rest]), limits=Limits(comment_seconds=0.001))

    async def exchange():
        async with api.connected("POST", "/v1/completions", TEXT) as connection:
            await asyncio.sleep(0.02)
            assert connection.reply.status == 0
            gate.set()
        return connection.reply.json()["choices"][0]["text"]

    assert asyncio.run(exchange()) == "Hi"
