"""The client and the daemon's wire: every test runs with the blocking client and with its asyncio twin."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from contextlib import aclosing, closing

import msgspec
import pytest

from paceline.client import async_client
from paceline.client.async_client import AsyncClient
from paceline.client.calls import KEPT
from paceline.client.cancel import Cancel
from paceline.client.client import Client, connect
from paceline.client.events import (
    AS_CONFIGURED,
    End,
    Extra,
    Loading,
    Message,
    Note,
    Options,
    Pace,
    Progress,
    Reasoning,
    Text,
    Usage,
)
from paceline.client.local import Local
from paceline.client.replies import Reader
from paceline.config import AskConfig, CompleteConfig, Config, EngineConfig, SamplingConfig
from paceline.daemon import probe
from paceline.daemon.protocol import HELLO, Hello
from paceline.daemon.runtime import Endpoint
from paceline.errors import (
    BusyError,
    ConfigError,
    ContextOverflowError,
    EngineError,
    InputError,
    ModelError,
    PacelineError,
    ResourceError,
)
from support.api_server import (
    Reply,
    chat_answer,
    chat_chunk,
    data,
    infill_answer,
    json_reply,
    running_api,
    usage,
)

WHY = [Message("user", "Why?")]
TIMINGS = {"prompt_n": 5, "predicted_n": 2, "draft_n": 3}
CODE = "def ring(a, b):\n    ret"


class Launcher:
    """Counts how often a daemon was looked for; `before`, if set, is done each time."""

    def __init__(self, socket):
        self.socket = socket
        self.count = 0
        self.before = lambda count: None

    def __call__(self, config, say):
        self.count += 1
        self.before(self.count)
        return Endpoint(self.socket, "http://localhost", None)


class Blocking:
    """The client as tests speak to it."""

    def __init__(self, engine):
        self.client = Client(engine)

    def events(self, messages=WHY, options=AS_CONFIGURED, most=None):
        """All events, or the first ones; then the answer is closed."""
        with closing(self.client.chat(messages, options)) as events:
            return [event for event, _ in zip(events, range(most or 10**9), strict=False)]

    def heard(self, into, messages=WHY, cancel=None):
        for event in self.client.chat(messages, cancel=cancel):
            into.append(event)

    def complete(self, prefix, suffix, options=AS_CONFIGURED, notice=lambda event: None, cancel=None):
        return self.client.complete(prefix, suffix, options, notice, cancel)

    def models(self):
        return self.client.models()

    def status(self):
        return self.client.status()

    def close(self):
        self.client.close()


class Asyncio:
    """The asyncio client as tests speak to it, on a loop of its own."""

    def __init__(self, engine):
        self.loop = asyncio.new_event_loop()
        self.client = AsyncClient(engine)

    def run(self, what):
        return self.loop.run_until_complete(asyncio.wait_for(what, 20))

    def events(self, messages=WHY, options=AS_CONFIGURED, most=None):
        return self.run(self._events(messages, options, most))

    async def _events(self, messages, options, most):
        found = []
        async with aclosing(self.client.chat(messages, options)) as events:
            async for event in events:
                found.append(event)
                if len(found) == most:
                    break
        return found

    def heard(self, into, messages=WHY, cancel=None):
        async def hear():
            async for event in self.client.chat(messages, cancel=cancel):
                into.append(event)

        self.run(hear())

    def complete(self, prefix, suffix, options=AS_CONFIGURED, notice=lambda event: None, cancel=None):
        return self.run(self.client.complete(prefix, suffix, options, notice, cancel))

    def models(self):
        return self.run(self.client.models())

    def status(self):
        return self.run(self.client.status())

    def close(self):
        self.run(self.client.aclose())
        self.loop.close()


@pytest.fixture
def api(tmp_path):
    with running_api(tmp_path / "s") as server:
        yield server


@pytest.fixture
def launch(api):
    return Launcher(api.socket)


@pytest.fixture(params=[Blocking, Asyncio])
def client(request, launch):
    speaking = request.param(Local(Config(), launch, lambda text: None))
    yield speaking
    speaking.close()


def texts(events):
    return [event.text for event in events if isinstance(event, Text)]


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_comes_in_pieces_and_ends_with_its_figures(api, client):
    api.chat(chat_answer("Be", "cause", timings=TIMINGS))
    *pieces, end = client.events()
    assert pieces == [Text("Be"), Text("cause")]
    assert end == End("stop", Usage(9, 2, 4), TIMINGS, "big")


def test_how_an_answer_gets_on_is_told_where_the_server_says_so(api, client):
    going = {"predicted_n": 7, "predicted_per_second": 20.0, "predicted_ms": 300.0, "draft_n": 4, "draft_n_accepted": 2}
    elsewhere = {"predicted_n": 8, "predicted_per_second": 20.0}
    pieces = [chat_chunk("Be", timings=going), chat_chunk("cause", timings=elsewhere), *chat_answer("!").pieces]
    api.chat(Reply(pieces))
    told = [each for each in client.events() if isinstance(each, Pace)]
    assert told == [Pace(7, 20.0, 4, 2, None, 300.0), Pace(8, 20.0)]


def test_which_model_answers_is_told_before_the_end(api, client):
    progress = {"total": 40, "cache": 8, "processed": 20, "time_ms": 3.0}
    reads = data({"choices": [], "model": "big", "prompt_progress": progress})
    api.chat(Reply([reads, *chat_answer("Be", "cause").pieces]))
    *pieces, _ = client.events()
    assert [each.model for each in pieces] == ["big", "big", "big"]


def test_loading_notes_and_progress_are_told_and_other_comments_are_not(api, client):
    progress = {"total": 40, "cache": 8, "processed": 20, "time_ms": 3.0, "time_left_ms": 4.5}
    told = [b": loading the models\n\n", b": note no draft model: too large\n\n", b": ping\n\n"]
    api.chat(Reply([*told, data({"choices": [], "prompt_progress": progress}), *chat_answer("x").pieces]))
    assert client.events()[:3] == [
        Loading("loading the models"),
        Note("no draft model: too large"),
        Progress(20, 40, 4.5),
    ]


def test_what_a_model_thinks_is_told_apart_from_what_it_answers(api, client):
    thought = data({"choices": [{"delta": {"role": "assistant", "content": None, "reasoning_content": "hm"}}]})
    api.chat(Reply([thought, *chat_answer("yes").pieces]))
    assert client.events()[:2] == [Reasoning("hm"), Text("yes")]


def test_a_server_that_does_not_stream_is_understood(api, client):
    message = {"role": "assistant", "content": "all of it"}
    whole = {"model": "big", "choices": [{"message": message, "finish_reason": "length"}], "usage": usage(5, 3, 0)}
    api.chat(json_reply(whole))
    assert client.events() == [Text("all of it"), End("length", Usage(5, 3, 0), {}, "big")]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_it_does_not_matter_how_the_bytes_are_cut(size):
    answer = b"".join(chat_answer("é", "漢\n", '"}', timings=TIMINGS).pieces).replace(b"\n\n", b"\r\n\r\n", 2)
    reader, found = Reader("x"), []
    for at in range(0, len(answer), size):
        found += reader.feed(answer[at : at + size])
    assert texts(found) == ["é", "漢\n", '"}']
    assert isinstance(found[-1], End)


def test_nothing_is_waited_for_behind_the_end(api, client):
    api.chat(Reply(chat_answer("x").pieces, stall=True))
    assert isinstance(client.events()[-1], End)
    assert api.gone.wait(10)


def test_a_second_answer_may_be_asked_for_while_the_first_one_comes(api, launch):
    api.chat(Reply([chat_chunk("one")], stall=True), chat_answer("two"))
    with Client(Local(Config(), launch, lambda text: None)) as client, closing(client.chat(WHY)) as first:
        assert next(first) == Text("one")
        assert texts(client.chat(WHY)) == ["two"]


# --- requests ---------------------------------------------------------------------------------------------------------


def test_a_request_brings_along_what_the_configuration_says(api, launch):
    config = Config(
        sampling=SamplingConfig(temperature=0.5, top_k=7, top_p=0.9, min_p=0.1, repetition_penalty=1.2),
        ask=AskConfig(max_tokens=77),
        engine=EngineConfig(speculation="ngram"),
    )
    api.chat(chat_answer("x"))
    Blocking(Local(config, launch, lambda text: None)).events([Message("system", "Be kind."), *WHY])
    sent = api.requests[0].body
    assert sent["messages"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Why?"}]
    assert (sent["temperature"], sent["top_k"], sent["top_p"], sent["min_p"]) == (0.5, 7, 0.9, 0.1)
    assert (sent["repeat_penalty"], sent["max_tokens"], sent["speculation"]) == (1.2, 77, "ngram")
    assert (sent["stream"], sent["stream_options"], sent["return_progress"]) == (True, {"include_usage": True}, True)
    assert not {"seed", "stop", "priority", "supersedes"} & set(sent)


def test_what_is_asked_for_goes_before_the_configuration(api, client):
    api.chat(chat_answer("x"))
    asked = Options(
        max_tokens=5, temperature=0.0, top_k=1, top_p=0.2, min_p=0.3, seed=0, stop=["END"], speculation="draft",
        draft_length=4, priority="background", supersedes="doc", fields={"response_format": {"type": "json_object"}},
    )  # fmt: skip
    client.events(options=asked)
    sent = api.requests[0].body
    expected = {
        "max_tokens": 5, "temperature": 0.0, "top_k": 1, "top_p": 0.2, "min_p": 0.3, "seed": 0, "stop": ["END"],
        "speculation": {"drafter": "draft", "length": 4}, "priority": "background", "supersedes": "doc",
        "response_format": {"type": "json_object"},
    }  # fmt: skip
    assert {key: sent[key] for key in expected} == expected


def test_near_ties_are_decided_as_the_configuration_says_unless_the_request_does(api, launch):
    api.chat(chat_answer("x"))
    for strict in (False, True):
        speaking = Blocking(Local(Config(engine=EngineConfig(strict=strict)), launch, lambda text: None))
        for asked in (None, False, True):
            speaking.events(options=Options(strict=asked))
    assert [seen.body["strict"] for seen in api.requests] == [False, False, True, True, False, True]


def test_who_drafted_a_piece_of_text_is_told_where_that_was_asked_for(api, client):
    api.chat(Reply([chat_chunk("a", drafter="ngram"), chat_chunk("b"), *chat_answer("c").pieces]))
    *pieces, _ = client.events(options=Options(tell_drafts=True))
    assert pieces == [Text("a", "ngram"), Text("b"), Text("c")]
    client.events()
    assert [seen.body.get("tell_drafts") for seen in api.requests] == [True, None]


def test_the_drafter_is_read_on_every_route():
    chunks = [
        {"choices": [{"index": 0, "text": "a", "drafter": "draft"}]},
        {"content": "b", "stop": False, "drafter": "edit"},
        {"content": "c", "stop": False},
    ]
    assert list(Reader("x").feed(b"".join(map(data, chunks)))) == [Text("a", "draft"), Text("b", "edit"), Text("c")]


def test_texts_that_the_answer_may_repeat_go_along(api, client):
    api.chat(chat_answer("x"))
    client.events(options=Options(original="caf\udce9", references=[Extra("a.py", "a"), Extra("b.py", "b")]))
    client.events()
    known, unknown = (seen.body for seen in api.requests)
    assert known["prediction"] == {"type": "content", "content": "caf\ufffd"}
    assert known["references"] == [{"filename": "a.py", "text": "a"}, {"filename": "b.py", "text": "b"}]
    assert not {"prediction", "references"} & set(unknown)


def test_of_a_text_that_no_context_holds_only_the_beginning_goes_along(api, client):
    api.chat(chat_answer("x"))
    client.events(options=Options(original="ab" * KEPT, references=[Extra("a.py", "cd" * KEPT)]))
    sent = api.requests[0].body
    assert len(sent["prediction"]["content"]) == len(sent["references"][0]["text"]) == KEPT


def test_half_characters_are_sent_as_replacements(api, client):
    api.chat(chat_answer("x"))
    client.events([Message("user", "caf\udce9?")])
    assert api.requests[0].body["messages"][0]["content"] == "caf\ufffd?"


def test_no_proxy_stands_between_programs_of_one_machine(api, client, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    api.chat(chat_answer("x"))
    assert texts(client.events()) == ["x"]


def test_a_token_goes_with_every_request_where_the_daemon_listens_on_loopback():
    with running_api() as api:
        api.chat(chat_answer("x"))
        endpoint = Endpoint(None, api.url.removesuffix("/v1"), "secret")
        Blocking(Local(Config(), lambda config, say: endpoint, lambda text: None)).events()
        assert api.requests[0].headers["authorization"] == "Bearer secret"


# --- leaving ----------------------------------------------------------------------------------------------------------


def test_leaving_an_answer_closes_the_connection(api, client):
    api.chat(Reply([chat_chunk("one"), chat_chunk("two")], stall=True))
    assert client.events(most=1) == [Text("one")]
    assert api.gone.wait(10)


def test_cancelling_the_task_that_waits_closes_the_connection(api, launch):
    api.chat(Reply([chat_chunk("one")], stall=True))

    async def ask_and_cancel():
        first = asyncio.Event()

        async def ask():
            async for _ in client.chat(WHY):
                first.set()

        async with AsyncClient(Local(Config(), launch, lambda text: None)) as client:
            task = asyncio.create_task(ask())
            await first.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await asyncio.to_thread(api.gone.wait, 10)

    assert asyncio.run(ask_and_cancel())


# --- cancelling -------------------------------------------------------------------------------------------------------

CANCELLED = "/paceline/cancel"
NAMED = {"X-Request-Id": "chatcmpl-1"}


class Switching(list):
    """Throws a switch when it gets its first piece of text."""

    def __init__(self, switch):
        super().__init__()
        self.switch = switch

    def append(self, event):
        super().append(event)
        if isinstance(event, Text) and len(texts(self)) == 1:
            self.switch()


def elsewhere(switch):
    """The same, thrown by another thread."""
    return lambda: threading.Thread(target=switch).start()


@pytest.fixture
def hasty(monkeypatch):
    """Clients that wait hardly at all."""
    monkeypatch.setattr("paceline.client.client.PATIENCE", 0.05)
    monkeypatch.setattr("paceline.client.async_client.PATIENCE", 0.05)


def answering(*pieces, **how):
    """An answer that goes on until it is cancelled."""
    rest = [*chat_answer("!", finish="cancelled", timings=TIMINGS).pieces]
    return Reply([chat_chunk("one"), *pieces], headers=NAMED, until=CANCELLED, rest=rest, **how)


@pytest.mark.parametrize("thread", [lambda switch: switch, elsewhere])
def test_a_cancelled_answer_ends_with_its_figures(api, client, thread):
    api.chat(answering())
    api.answer(CANCELLED, json_reply({}, 202))
    cancel = Cancel()
    heard = Switching(thread(cancel))
    client.heard(heard, cancel=cancel)
    assert heard == [Text("one"), Text("!"), End("cancelled", Usage(9, 1, 4), TIMINGS, "big")]
    assert [seen.body for seen in api.of(CANCELLED)] == [{"id": "chatcmpl-1"}]


def test_so_does_a_completion(api, client):
    last = infill_answer("", stop_type="cancelled", finish_reason="cancelled").pieces
    told = [b": note now\n\n", data({"content": "urn a", "stop": False})]
    api.answer("/infill", Reply(told, headers=NAMED, until=CANCELLED, rest=last))
    api.answer(CANCELLED, json_reply({}, 202))
    cancel = Cancel()
    done = client.complete(CODE, "\n", notice=lambda _: cancel(), cancel=cancel)
    assert (done.text, done.finish_reason, done.usage.completion_tokens) == ("urn a", "cancelled", 5)


def test_an_answer_that_does_not_end_in_time_is_left(api, client, hasty):
    progress = data({"choices": [], "prompt_progress": {"total": 40, "cache": 0, "processed": 40, "time_ms": 1}})
    api.chat(Reply([progress, chat_chunk("one")], headers=NAMED, stall=True))
    api.answer(CANCELLED, json_reply({}, 202))
    cancel = Cancel()
    heard = Switching(cancel)
    client.heard(heard, cancel=cancel)
    assert heard[-2:] == [Text("one"), End("cancelled", Usage(40), {}, "big")]
    assert api.gone.wait(10)


@pytest.mark.parametrize("refusal", [json_reply({}, 500), Reply(refuse=True)])
def test_so_is_one_whose_daemon_does_not_listen(api, client, refusal):
    api.chat(Reply([chat_chunk("one")], headers=NAMED, stall=True))
    api.answer(CANCELLED, refusal)
    cancel = Cancel()
    heard = Switching(cancel)
    client.heard(heard, cancel=cancel)
    assert heard[-1].reason == "cancelled"
    assert api.gone.wait(10)


def test_what_is_cancelled_before_it_is_sent_is_not_sent(api, client):
    cancel, heard = Cancel(), []
    cancel()
    client.heard(heard, cancel=cancel)
    assert heard == [End("cancelled")]
    assert client.complete("a", "b", cancel=cancel).finish_reason == "cancelled"
    assert api.requests == []


def test_cancelling_after_the_end_does_nothing(api, client):
    api.chat(chat_answer("x"))
    cancel, heard = Cancel(), []
    client.heard(heard, cancel=cancel)
    cancel()
    assert heard[-1].reason == "stop"
    assert api.of(CANCELLED) == []
    assert texts(client.events()) == ["x"]


def test_a_switch_acts_once_and_also_late():
    acted, cancel = [], Cancel()
    cancel()
    cancel.when_asked(lambda: acted.append(1))
    cancel()
    assert acted == [1]


def test_an_error_is_one_although_the_answer_was_cancelled(api, client):
    api.chat(Reply([chat_chunk("one")], headers=NAMED, until=CANCELLED, rest=[data(error_body("broken", code=500))]))
    api.answer(CANCELLED, json_reply({}, 202))
    cancel = Cancel()
    with pytest.raises(EngineError, match="broken"):
        client.heard(Switching(cancel), cancel=cancel)


# --- a daemon that ends -----------------------------------------------------------------------------------------------


def test_a_daemon_that_ends_in_an_answer_is_one_clear_error_and_the_next_request_works(api, client):
    api.chat(Reply([chat_chunk("so far")], drop=True), chat_answer("again"))
    heard = []
    with pytest.raises(EngineError, match="ended in the middle of the answer") as caught:
        client.heard(heard)
    assert heard == [Text("so far")]
    assert "paceline logs" in caught.value.hint
    assert len(api.requests) == 1
    assert texts(client.events()) == ["again"]


@pytest.mark.parametrize(
    "reply", [Reply([chat_chunk("x")]), Reply([chat_chunk("x")], break_off=True), Reply([b'data: {"cho'])]
)
def test_an_answer_without_an_end_is_not_taken_for_a_whole_one(api, client, reply):
    api.chat(reply)
    with pytest.raises(EngineError, match="middle of the answer"):
        client.events()


def test_a_request_that_nobody_read_is_sent_once_more_to_a_daemon_that_runs(api, client, launch):
    api.chat(Reply(refuse=True), chat_answer("x"))
    assert texts(client.events()) == ["x"]
    assert (len(api.requests), launch.count) == (2, 2)


def test_a_request_is_not_sent_a_third_time(api, client):
    api.chat(Reply(refuse=True))
    with pytest.raises(EngineError, match="does not answer") as caught:
        client.events()
    assert len(api.requests) == 2
    assert "paceline logs" in caught.value.hint


def test_a_daemon_that_has_ended_is_started_again(tmp_path):
    launch = Launcher(str(tmp_path / "s"))
    starting = running_api(tmp_path / "s")

    def start(count):
        if count == 2:
            starting.__enter__().chat(chat_answer("x"))

    launch.before = start
    assert texts(Blocking(Local(Config(), launch, lambda text: None)).events()) == ["x"]
    starting.__exit__(None, None, None)


def test_a_daemon_that_cannot_be_started_says_why(client, launch):
    def fail(count):
        raise PacelineError("the daemon did not start", "paceline logs")

    launch.before = fail
    with pytest.raises(PacelineError, match="did not start"):
        client.events()


def test_several_threads_may_ask_one_client(api, launch):
    api.chat(chat_answer("x"))
    client, heard = Client(Local(Config(), launch, lambda text: None)), []
    threads = [threading.Thread(target=lambda: heard.append(texts(client.chat(WHY)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    client.close()
    assert heard == [["x"]] * 8
    assert launch.count == 1


# --- refusals ---------------------------------------------------------------------------------------------------------


def error_body(message="no", **more):
    return {"error": {"message": message, "type": "x", "param": None, "hint": "do that", **more}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error_body(code=400), InputError),
        (401, error_body(code=401), ConfigError),
        (404, error_body(code=404), ModelError),
        (413, error_body(code=413), InputError),
        (500, error_body(code=500), EngineError),
        (501, error_body(code=501), ModelError),
        (503, error_body(code=503), BusyError),
        (503, error_body(**{"class": "ModelError"}), ModelError),
        (503, error_body(**{"class": "ResourceError"}), ResourceError),
        (503, error_body(**{"class": "ConfigError"}), ConfigError),
    ],
)
def test_a_refusal_is_the_same_error_here_as_there(api, client, status, body, kind):
    api.chat(json_reply(body, status))
    with pytest.raises(PacelineError, match="no") as caught:
        client.events()
    assert type(caught.value) is kind
    assert caught.value.hint == "do that"


def test_an_overflow_has_both_numbers(api, client):
    api.chat(json_reply(error_body(type="exceed_context_size_error", n_prompt_tokens=900, n_ctx=255), 400))
    with pytest.raises(ContextOverflowError, match="645 more than the 255") as caught:
        client.events()
    assert (caught.value.needed, caught.value.available, caught.value.hint) == (900, 255, "do that")


def test_a_busy_daemon_says_when_to_try_again(api, client):
    api.chat(json_reply({"error": {"message": "full", "hint": None}}, 503, Retry_After="3"))
    with pytest.raises(BusyError, match="full") as caught:
        client.events()
    assert caught.value.hint == "try again in 3 s"


def test_an_error_in_the_middle_of_an_answer_is_told_as_the_daemon_tells_it(api, client):
    overflow = error_body(code=400, type="exceed_context_size_error", n_prompt_tokens=9, n_ctx=8)
    api.chat(Reply([chat_chunk("a"), data(overflow)]), Reply([data(error_body("broken", code=500))]))
    heard = []
    with pytest.raises(ContextOverflowError):
        client.heard(heard)
    assert heard == [Text("a")]
    with pytest.raises(EngineError, match="broken"):
        client.events()


@pytest.mark.parametrize(
    "reply",
    [
        Reply([data(b"{not json")]),
        Reply([data(b"[1, 2]")]),
        Reply([data({"choices": [{"delta": {"content": 5}}]})]),
        Reply([data(b"\xff\xfe")]),
        Reply([data(b"[" * 100_000)]),
        Reply([b"<html>hello"], kind="text/html"),
        json_reply([]),
    ],
    ids=["no JSON", "no object", "wrong type", "no UTF-8", "too deep", "a page", "JSON of something else"],
)
def test_what_is_no_answer_is_not_taken_for_one(api, client, reply):
    api.chat(reply)
    with pytest.raises(EngineError, match="not understood"):
        client.events()


def test_an_event_without_an_end_does_not_fill_the_memory(api, client):
    api.chat(Reply([b"data: " + b"x" * 2**20, *[b"x" * 2**20] * 17], stall=True))
    with pytest.raises(EngineError, match="does not end"):
        client.events()


@pytest.mark.parametrize("body", [b"", b"oops", b"null", b"[]", b'{"error": 5}', b'{"error": {"message": 5}}'])
def test_a_refusal_that_says_nothing_is_told_by_its_status(api, client, body):
    api.chat(Reply([body], 500, "text/plain"))
    with pytest.raises(EngineError, match="answered 500 Internal Server Error"):
        client.events()


# --- completions ------------------------------------------------------------------------------------------------------


def test_texts_that_a_completion_may_quote_go_along_without_being_shown(api, client):
    api.answer("/infill", infill_answer("urn a", prefix_cut=0, suffix_cut=0))
    client.complete(CODE, ")\n", Options(references=[Extra("b.py", "return a\ud800")]))
    sent = api.requests[0].body
    assert sent["references"] == [{"filename": "b.py", "text": "return a\ufffd"}]
    assert sent["input_extra"] == []


def test_a_completion_is_asked_for_by_line_and_trimmed(api, client):
    api.answer("/infill", infill_answer("urn a", " + b)", prefix_cut=3, suffix_cut=4))
    done = client.complete(CODE, ")\n", Options(extra=[Extra("b.py", "x = 1")], priority="completion"))
    assert done.text == "urn a + b"  # what stands behind the cursor is not repeated
    assert (done.finish_reason, done.model, done.usage) == ("stop", "big", Usage(20, 5, 8))
    assert (done.prefix_cut, done.suffix_cut) == (3, 4)
    sent = api.requests[0].body
    assert (sent["input_prefix"], sent["prompt"], sent["input_suffix"]) == ("def ring(a, b):\n", "    ret", ")\n")
    assert sent["input_extra"] == [{"filename": "b.py", "text": "x = 1"}]
    assert "references" not in sent
    assert (sent["n_predict"], sent["priority"]) == (CompleteConfig().max_tokens, "completion")


def test_a_completion_says_where_it_is_anchored_and_may_end_and_where_the_document_belongs(api, client):
    api.answer("/infill", infill_answer("x"))
    options = Options(
        stop_at="block", max_lines=9, anchor=12, filename="a.py", repository="r", prefix_tokens=100, suffix_tokens=0
    )
    client.complete(CODE, "\n", options)
    sent = api.requests[0].body
    assert (sent["stop_at"], sent["max_lines"], sent["anchor"]) == ("block", 9, 12)
    assert (sent["filename"], sent["repository"]) == ("a.py", "r")
    assert (sent["prefix_tokens"], sent["suffix_tokens"]) == (100, 0)


def test_a_completion_that_only_warms_up_has_no_text(api, client):
    api.answer("/infill", infill_answer("", tokens_evaluated=7))
    done = client.complete(CODE, "\n", Options(warm=True))
    assert (done.text, done.usage.prompt_tokens) == ("", 7)
    assert api.requests[0].body["n_predict"] == 0


def test_log_probabilities_of_what_is_inserted_come_with_it(api, client):
    chance = [{"token": "urn", "logprob": -0.5}, {"token": " a", "logprob": -1.0}]
    chunk = {"content": "urn a", "stop": False, "completion_probabilities": chance}
    last = infill_answer("", prefix_cut=0, suffix_cut=0).pieces
    api.answer("/infill", Reply([data(chunk), *last]))
    done = client.complete(CODE, "\n", Options(logprobs=True))
    assert (done.tokens, done.logprobs) == (("urn", " a"), (-0.5, -1.0))
    assert api.requests[0].body["n_probs"] == 1
    api.answer("/infill", Reply([data(chunk), *last]))
    assert client.complete(CODE, "\n").logprobs == ()


def test_the_text_is_told_as_it_comes_where_that_is_wanted(api, client):
    pieces = [data({"content": "", "stop": False, "draft": draft}) for draft in ("urn a", "  \n\n")]
    reply = Reply([*pieces, *infill_answer("urn a").pieces])
    told = []
    api.answer("/infill", reply)
    done = client.complete(CODE, "\n", Options(partial=True), told.append)
    assert [event.text for event in told if isinstance(event, Text)] == ["urn a", "  \n\n"]
    assert done.text == "urn a"
    assert api.requests[0].body["partial"] is True


@pytest.mark.parametrize(
    ("stop_type", "reason"), [("eos", "stop"), ("word", "stop"), ("limit", "length"), ("superseded", "superseded")]
)
def test_llama_cpps_reasons_become_openais(api, client, stop_type, reason):
    api.answer("/infill", infill_answer("x", stop_type=stop_type))
    assert client.complete("a", "").finish_reason == reason


def test_a_single_line_is_not_waited_for_longer_than_needed(api, client):
    api.answer("/infill", Reply(infill_answer("urn a\n", "    b").pieces[:2], stall=True))
    done = client.complete(CODE, "\n", Options(single_line=True))
    assert (done.text, done.finish_reason) == ("urn a", "stop")
    assert api.gone.wait(10)
    assert api.requests[0].body["single_line"] is True


def test_what_happens_before_a_completion_is_told(api, client):
    told = []
    api.answer("/infill", Reply([b": loading the models\n\n", b": note hm\n\n", *infill_answer("x").pieces]))
    client.complete("a", "", notice=told.append)
    assert told == [Loading("loading the models"), Note("hm")]


def test_of_a_huge_document_only_what_is_near_is_sent(api, client):
    api.answer("/infill", infill_answer("x"))
    prefix, suffix = "a = 1\n" * 400_000, "b = 2\n" * 400_000
    done = client.complete(prefix, suffix)
    sent = api.requests[0].body
    assert prefix.endswith(sent["input_prefix"])
    assert suffix.startswith(sent["input_suffix"])
    assert 700_000 < len(sent["input_prefix"]) <= 2**20 >= len(sent["input_suffix"]) > 700_000
    assert (done.prefix_cut, done.suffix_cut) == (
        len(prefix) - len(sent["input_prefix"]),
        len(suffix) - len(sent["input_suffix"]),
    )


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_models_are_listed(api, client):
    api.answer("/v1/models", json_reply({"data": [{"id": "a", "object": "model"}, {"id": "b"}]}))
    assert client.models() == ("a", "b")


def test_the_status_is_read(api, client):
    report = {
        "pid": 7, "version": "1", "protocol": 1, "started": 1.0, "socket": None, "http": {}, "models": [],
        "memory": {}, "slots": [], "something": "newer",
    }  # fmt: skip
    api.answer("/paceline/status", json_reply(report))
    assert client.status().pid == 7
    api.answer("/paceline/status", json_reply({"pid": "seven"}))
    with pytest.raises(EngineError, match="not understood"):
        client.status()


def test_nothing_is_started_before_something_is_asked(monkeypatch):
    monkeypatch.setattr("paceline.daemon.launch.ensure", lambda *_: pytest.fail("started"))
    connect(Config()).close()
    asyncio.run(async_client.connect(Config()).aclose())


@pytest.mark.parametrize("module", ["client", "remote"])
def test_importing_the_client_loads_nothing_that_takes_time(module):
    report = f"import json, sys, paceline.client.{module}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", report], text=True))
    heavy = {
        "llama_cpp",
        "numpy",
        "textual",
        "rich",
        "click",
        "asyncio",
        "httpx",
        "jinja2",
        "keyring",
        "starlette",
        "uvicorn",
    }
    assert heavy & set(loaded) == set()
    assert not [name for name in loaded if name.startswith(("paceline.engine", "paceline.models"))]


# --- a daemon that says nothing ---------------------------------------------------------------------------------------


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(async_client, "QUIET", 0.05)
    monkeypatch.setattr(probe, "PATIENCE", 0.2)


@pytest.fixture
def deaf(tmp_path):
    """A socket that takes connections and answers none of them."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "deaf"))
        listening.listen()
        yield Asyncio(Local(Config(), Launcher(str(tmp_path / "deaf")), lambda text: None))


def test_a_daemon_that_hangs_is_given_up(hurried, deaf):
    for ask in (deaf.events, lambda: deaf.complete("a = ", "")):
        with pytest.raises(PacelineError, match="does not answer"):
            ask()
    deaf.close()


def test_a_daemon_that_hangs_in_the_middle_of_an_answer_is_given_up(hurried, api, launch):
    client = Asyncio(Local(Config(), launch, lambda text: None))
    api.chat(Reply([chat_chunk("Be")], stall=True))
    api.answer(HELLO, Reply(stall=True))
    with pytest.raises(PacelineError, match="does not answer"):
        client.events()
    client.close()


def test_a_daemon_that_computes_for_long_is_waited_for(hurried, api, launch):
    client = Asyncio(Local(Config(), launch, lambda text: None))
    api.chat(Reply([chat_chunk("Be")], until=HELLO, rest=chat_answer("cause").pieces))
    hello = Hello("1", 1, 7, "", 0, 1.0)
    api.answer(HELLO, json_reply(msgspec.to_builtins(hello)))
    assert texts(client.events()) == ["Be", "cause"]
    client.close()


def test_a_request_that_is_cancelled_while_a_daemon_is_silent_ends_at_once(api, launch):
    async def scenario():
        client = AsyncClient(Local(Config(), launch, lambda text: None))
        api.answer("/infill", Reply([], stall=True))
        asking = asyncio.ensure_future(client.complete("a = ", ""))
        while not api.of("/infill"):
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await client.aclose()

    asyncio.run(asyncio.wait_for(scenario(), 20))
    assert api.gone.wait(20)


# --- a daemon that is another one by now ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ConfigError", "ModelError"])
def test_a_daemon_without_a_usable_model_is_looked_for_again(api, launch, kind):
    client = Asyncio(Local(Config(), launch, lambda text: None))
    for refused in (lambda: client.events(), lambda: client.models()):
        api.chat(json_reply(error_body(**{"class": kind}), 503))
        api.answer("/v1/models", json_reply(error_body(**{"class": kind}), 503))
        before = launch.count
        with pytest.raises((ConfigError, ModelError)):
            refused()
        api.chat(chat_answer("because"))
        assert texts(client.events()) == ["because"]
        assert texts(client.events()) == ["because"]
        assert launch.count == max(before, 1) + 1
    client.close()


def test_another_engine_is_asked_from_then_on_and_answers_on_their_way_come_to_their_end(tmp_path, launch, api):
    async def scenario():
        with running_api(tmp_path / "other") as other:
            client = AsyncClient(Local(Config(), launch, lambda text: None))
            api.chat(Reply([chat_chunk("Be")], until=HELLO, rest=chat_answer("cause").pieces))
            other.chat(chat_answer("no"))
            async with aclosing(client.chat(WHY)) as events:
                heard = [await anext(events)]
                client.turn_to(Local(Config(), Launcher(other.socket), lambda text: None))
                assert texts([event async for event in client.chat(WHY)]) == ["no"]
                await asyncio.to_thread(probe.greet, Endpoint(api.socket, "http://localhost", None))
                heard += [event async for event in events]
            assert "".join(texts(heard)) == "Because"
            await client.aclose()

    api.answer(HELLO, json_reply(msgspec.to_builtins(Hello("1", 1, 7, "", 0, 1.0))))
    asyncio.run(asyncio.wait_for(scenario(), 20))


@pytest.mark.parametrize("moments", range(8))
def test_whoever_asks_while_connections_are_closed_gets_an_answer_or_an_error_of_ours(api, launch, moments):
    async def scenario():
        client = AsyncClient(Local(Config(), launch, lambda text: None))
        api.chat(chat_answer("because"))
        assert texts([event async for event in client.chat(WHY)]) == ["because"]

        async def ask():
            try:
                return texts([event async for event in client.chat(WHY)])
            except PacelineError:
                return ["because"]

        asking = asyncio.ensure_future(ask())
        for _ in range(moments):
            await asyncio.sleep(0)
        await client.aclose()
        assert await asking == ["because"]
        assert texts([event async for event in client.chat(WHY)]) == ["because"]
        await client.aclose()

    asyncio.run(asyncio.wait_for(scenario(), 20))
