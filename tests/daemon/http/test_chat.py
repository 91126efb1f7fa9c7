"""POST /v1/chat/completions."""

import json
import threading

import pytest

from paceline.engine.grammar import Grammar
from paceline.engine.sequence import Delta, Pace
from paceline.engine.stats import DrafterStats
from paceline.errors import BusyError, ContextOverflowError, EngineError, ModelError
from support.asgi_client import Api
from support.fake_service import END, FakeService, saying

PATH = "/v1/chat/completions"
HI = [{"role": "user", "content": "Hi"}]
TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}, "strange": 1}},
    {"type": "function", "function": {"name": "now"}},
]
ADD = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'


def ask(service=None, **body):
    api = Api(service)
    return api, api.post(PATH, {"messages": HI, **body})


def overrides(**body):
    """What the engine is asked for."""
    api, reply = ask(**body)
    assert reply.status == 200, reply.body
    return api.service.asked[0]


def contents(events):
    """The text of a stream's chunks."""
    return "".join(each["choices"][0]["delta"].get("content", "") for each in events[:-1] if each["choices"])


def test_the_answer_has_text_reason_usage_and_timings():
    _, reply = ask(FakeService(saying("Hel", "lo")))
    answer = reply.json()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == "tiny"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "Hello", "refusal": None}
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["prompt_tokens"] == 9
    assert answer["usage"]["total_tokens"] == 9 + answer["usage"]["completion_tokens"]
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 3}
    assert (answer["timings"]["cache_n"], answer["timings"]["prompt_n"]) == (3, 6)


@pytest.mark.parametrize("reason", ["length", "cancelled", "superseded"])
def test_the_reason_is_told_as_it_was(reason):
    _, reply = ask(FakeService(saying("Hel", reason=reason)))
    assert reply.json()["choices"][0]["finish_reason"] == reason


def test_a_stream_has_the_role_first_the_reason_last_and_ends_with_done():
    _, reply = ask(FakeService(saying("Hel", "lo")), stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    *chunks, done = reply.events
    assert done == "[DONE]"
    assert contents(reply.events) == "Hello"
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert "usage" not in chunks[-1]
    assert chunks[-1]["timings"]["predicted_n"] == 6
    assert len({each["id"] for each in chunks}) == 1


def test_an_empty_answer_still_has_a_role():
    _, reply = ask(FakeService(saying()), stream=True)
    assert reply.events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}


def test_the_usage_comes_in_a_chunk_of_its_own_where_it_is_wanted():
    _, reply = ask(stream=True, stream_options={"include_usage": True})
    *chunks, usage, _ = reply.events
    assert all(each["usage"] is None for each in chunks)
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens"] == 9
    assert usage["timings"]["prompt_n"] == 6


def test_progress_is_told_where_it_is_wanted():
    _, reply = ask(stream=True, return_progress=True)
    told = [each["prompt_progress"] for each in reply.events[:-1] if "prompt_progress" in each]
    assert [(each["cache"], each["processed"], each["total"]) for each in told] == [(3, 3, 9), (3, 9, 9)]
    assert told[-1]["time_left_ms"] == 0.0
    _, without = ask(stream=True)
    assert not any("prompt_progress" in each for each in without.events[:-1])


def test_settings_reach_the_engine():
    asked = overrides(
        temperature=0.5,
        top_p=0.9,
        top_k=7,
        min_p=0.1,
        seed=11,
        stop="END",
        presence_penalty=0.25,
        frequency_penalty=-1,
        repeat_penalty=1.1,
        repeat_last_n=-1,
        max_tokens=5,
        priority="background",
        supersedes="file.py",
        t_max_prompt_ms=500,
        t_max_predict_ms=2500,
        speculation={"drafter": "ngram", "length": 4},
        strict=True,
        tell_drafts=True,
        logit_bias={"65": -100, "B": False},
        ignore_eos=True,
    )
    assert (asked.temperature, asked.top_p, asked.top_k, asked.min_p, asked.seed) == (0.5, 0.9, 7, 0.1, 11)
    assert asked.stop == ("END",)
    assert (asked.presence_penalty, asked.frequency_penalty, asked.repetition_penalty) == (0.25, -1, 1.1)
    assert asked.repetition_window == 4096
    assert (asked.max_tokens, asked.priority, asked.supersedes) == (5, "background", "file.py")
    assert (asked.prompt_seconds, asked.predict_seconds) == (0.5, 2.5)
    assert (asked.speculation, asked.draft_length) == ("ngram", 4)
    assert (asked.strict, asked.tell_drafts) == (True, True)
    assert asked.logit_bias == ((65, -100.0), (66, float("-inf")), (END, float("-inf")))


def test_what_is_null_or_off_says_nothing():
    plain = overrides()
    assert (
        overrides(**dict.fromkeys(("temperature", "seed", "stop", "max_tokens", "logit_bias", "tools", "n"))) == plain
    )
    assert overrides(seed=-1, t_max_prompt_ms=0, t_max_predict_ms=-1, supersedes="", stop=[]) == plain
    assert plain.priority == "chat"
    assert overrides(tell_drafts=False, prediction=None, references=None, strict=None) == plain
    assert (plain.strict, overrides(strict=False).strict) == (None, False)


@pytest.mark.parametrize("name", ["auto", "off", "ngram", "draft", "lookahead"])
def test_every_drafter_can_be_asked_for_with_a_length_and_without(name):
    assert overrides(speculation=name).speculation == name
    assert overrides(speculation={"drafter": name, "length": 3}).speculation == name


def test_an_unknown_word_is_answered_with_the_known_ones():
    for wish in ("magic", {"drafter": "magic"}):
        _, reply = ask(speculation=wish)
        assert reply.status == 400
        for word in ("magic", "auto", "off", "ngram", "draft", "lookahead"):
            assert word in reply.error["message"]
    assert '"assistant"' in ask(messages=[{"role": "king"}])[1].error["message"]


def test_streamed_text_says_who_drafted_it_and_only_then():
    script = saying(Delta("a", "ngram"), Delta("b", "ngram"), "c", Delta("d", "draft"))
    _, reply = ask(FakeService(script), stream=True, tell_drafts=True)
    deltas = [each["choices"][0]["delta"] for each in reply.events[:-1]]
    told = [(each["content"], each.get("drafter")) for each in deltas if each.get("content")]
    by_character = [(char, drafter) for text, drafter in told for char in text]
    assert by_character == [("a", "ngram"), ("b", "ngram"), ("c", None), ("d", "draft")]
    assert not any("drafter" in each for each in deltas if not each.get("content"))
    assert ask(FakeService(script))[1].json()["choices"][0]["message"]["content"] == "abcd"


def test_a_prediction_is_what_the_answer_reproduces():
    parts = [{"type": "text", "text": "x = "}, {"type": "text", "text": "1"}]
    for content in ("x = 1", parts):
        assert overrides(prediction={"type": "content", "content": content}).original == "x = 1"
    assert overrides(prediction={"type": "content", "content": ""}).original == ""


def test_every_answer_of_several_follows_the_prediction():
    api, _ = ask(n=3, prediction={"type": "content", "content": "x"})
    assert [each.original for each in api.service.asked] == ["x"] * 3


@pytest.mark.parametrize(
    ("prediction", "param"),
    [
        ({"type": "guess", "content": "x"}, "prediction.type"),
        ({"type": "content"}, "prediction.content"),
        ({"type": "content", "content": [{"type": "image_url"}]}, "prediction.content"),
        ("x", "prediction"),
    ],
)
def test_what_is_no_prediction_is_refused_by_name(prediction, param):
    api, reply = ask(prediction=prediction)
    assert (reply.status, reply.error["param"]) == (400, param)
    assert not api.service.streams


@pytest.mark.parametrize("stream", [False, True])
def test_the_usage_tells_how_much_of_the_prediction_stood(stream):
    drafters = {"edit": DrafterStats(drafted=9, accepted=7), "ngram": DrafterStats(drafted=5, accepted=1)}
    _, reply = ask(
        FakeService(saying("Hi", drafters=drafters)), stream=stream, stream_options={"include_usage": True}, n=2,
        prediction={"type": "content", "content": "Hi"},
    )  # fmt: skip
    usage = (reply.events[-2] if stream else reply.json())["usage"]
    assert usage["completion_tokens_details"] == {"accepted_prediction_tokens": 14, "rejected_prediction_tokens": 4}


def test_without_a_prediction_none_of_it_was_accepted_or_rejected():
    _, reply = ask(FakeService(saying("Hi", drafters={"edit": DrafterStats(drafted=5, accepted=1)})))
    details = reply.json()["usage"]["completion_tokens_details"]
    assert details == {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}


def test_texts_that_the_answer_may_quote_go_along_under_their_names():
    texts = [{"filename": "a.py", "text": "a"}, {"text": "b"}]
    assert overrides(references=texts).references == (("a.py", "a"), ("tmp", "b"))


def test_the_newer_name_of_the_limit_wins():
    assert overrides(max_tokens=5, max_completion_tokens=6).max_tokens == 6


def test_without_a_limit_the_configured_one_holds():
    api, _ = ask()
    assert api.service.defaults == [api.service.config.ask.max_tokens]


def test_several_answers_share_the_prompt_and_differ_in_their_seeds():
    gate = threading.Event()
    gate.set()
    api, reply = ask(FakeService([*saying()[:2], gate, *saying("one")[2:]], saying("two")), n=3, seed=5)
    assert [each["message"]["content"] for each in reply.json()["choices"]] == ["one", "two", "two"]
    assert [each["index"] for each in reply.json()["choices"]] == [0, 1, 2]
    assert [each.seed for each in api.service.asked] == [5, 6, 7]
    assert reply.json()["usage"]["prompt_tokens"] == 9
    assert len(api.service.conversations) == 1


def test_the_others_wait_until_the_first_has_its_prompt_read():
    import asyncio

    gate = threading.Event()
    service = FakeService([*saying()[:1], gate, *saying("one")[1:]], saying("two"))
    api = Api(service)

    async def exchange():
        body = {"messages": HI, "n": 2, "stream": True, "return_progress": True}
        async with api.connected("POST", PATH, body) as connection:
            await connection.until(b"prompt_progress")
            before = len(service.streams)
            gate.set()
        return before

    assert asyncio.run(exchange()) == 1
    assert len(service.streams) == 2


def test_log_probabilities_stand_beside_their_tokens():
    _, reply = ask(FakeService(saying("Hé", logprobs=True)), logprobs=True, top_logprobs=2)
    entries = reply.json()["choices"][0]["logprobs"]["content"]
    assert [each["bytes"] for each in entries] == [[72], [195], [169]]
    assert entries[0]["token"] == "H"
    assert [each["token"] for each in entries[0]["top_logprobs"]] == ["H", "#"]


def test_tokens_that_a_stop_string_took_away_have_no_log_probabilities():
    script = saying("ab", beyond="END", logprobs=True)
    for stream in (False, True):
        _, reply = ask(FakeService(script), logprobs=True, stop="END", stream=stream)
        if stream:
            choices = [each["choices"][0] for each in reply.events[:-1]]
            entries = [entry for each in choices for entry in (each["logprobs"] or {"content": []})["content"]]
        else:
            entries = reply.json()["choices"][0]["logprobs"]["content"]
        assert "".join(each["token"] for each in entries) == "ab"


def test_an_answer_that_was_cut_has_them_for_all_tokens():
    script = saying("ab", beyond="\xc3", reason="length", logprobs=True)
    _, reply = ask(FakeService(script), logprobs=True)
    assert len(reply.json()["choices"][0]["logprobs"]["content"]) == 4


def test_how_many_alternatives_are_asked_of_the_engine():
    assert overrides().logprobs is None
    assert overrides(logprobs=True).logprobs == 0
    assert overrides(logprobs=True, top_logprobs=5).logprobs == 5


def test_content_in_parts_is_joined_and_a_developer_is_the_system():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    api, _ = ask(messages=[{"role": "developer", "content": "Be brief"}, {"role": "user", "content": parts}])
    messages, extra = api.service.conversations[0]
    assert [(each.role, each.content) for each in messages] == [("system", "Be brief"), ("user", "ab")]
    assert extra is None


@pytest.mark.parametrize("part", [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text"}])
def test_images_are_refused(part):
    api, reply = ask(messages=[{"role": "user", "content": [part]}])
    assert reply.status == 400
    assert reply.error["param"] == "messages[0].content"
    assert not api.service.streams


def test_variables_of_the_template_are_passed_on():
    api, _ = ask(chat_template_kwargs={"enable_thinking": False})
    assert api.service.conversations[0][1] == {"enable_thinking": False}


BEGUN = [*HI, {"role": "assistant", "content": "def f("}]


def test_an_answer_that_has_begun_goes_on_where_it_stopped():
    api, reply = ask(messages=BEGUN, continue_final_message=True)
    assert reply.status == 200
    messages, _ = api.service.conversations[0]
    assert [each.role for each in messages] == ["user"]
    assert api.service.prompts[0][-6:] == api.service.vocabulary.encode("def f(")


def test_without_being_asked_an_answer_of_the_past_is_a_turn():
    api, _ = ask(messages=BEGUN)
    messages, _ = api.service.conversations[0]
    assert [each.role for each in messages] == ["user", "assistant"]


def test_a_question_is_not_gone_on_with():
    api, _ = ask(continue_final_message=True)
    messages, _ = api.service.conversations[0]
    assert [each.role for each in messages] == ["user"]


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("field", "grammar"),
    [
        ({"response_format": {"type": "json_object"}}, Grammar.json_object()),
        ({"response_format": {"type": "json_object", "schema": SCHEMA}}, Grammar.json_schema(SCHEMA)),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
            Grammar.json_schema(SCHEMA),
        ),
        ({"json_schema": SCHEMA}, Grammar.json_schema(SCHEMA)),
        ({"grammar": 'root ::= "a"'}, Grammar.gbnf('root ::= "a"')),
        ({"response_format": {"type": "text"}, "grammar": ""}, None),
    ],
)
def test_formats_become_grammars(field, grammar):
    assert overrides(**field).grammar == grammar


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_schema"}},
        {"grammar": 'root ::= "a"', "json_schema": {}},
        {"grammar": 'root ::= "a"', "response_format": {"type": "json_object"}},
        {"json_schema": {}, "response_format": {"type": "json_object"}},
        {"grammar": "root ::= ("},
        {"json_schema": {"type": "nonsense"}},
    ],
)
def test_formats_that_make_no_sense_are_refused(fields):
    api, reply = ask(**fields)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert not api.service.streams


def test_tools_reach_the_template_without_what_is_unknown():
    api, _ = ask(tools=TOOLS)
    told = api.service.conversations[0][1]["tools"]
    assert told[0] == {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    api, _ = ask(tools=TOOLS, tool_choice="none")
    assert api.service.conversations[0][1] is None


def test_a_call_in_the_answer_becomes_a_tool_call():
    _, reply = ask(FakeService(saying("Let me see.\n", ADD)), tools=TOOLS)
    choice = reply.json()["choices"][0]
    call = choice["message"]["tool_calls"][0]
    assert (call["type"], call["function"]["name"]) == ("function", "add")
    assert json.loads(call["function"]["arguments"]) == {"a": 1}
    assert choice["message"]["content"] == "Let me see.\n"
    assert choice["finish_reason"] == "tool_calls"


def test_calls_are_streamed_when_they_are_complete():
    pieces = [*ADD, "\n", *ADD.replace("add", "now")]
    _, reply = ask(FakeService(saying(*pieces)), tools=TOOLS, stream=True)
    calls = [call for each in reply.events[:-1] for call in each["choices"][0]["delta"].get("tool_calls", [])]
    assert [(call["index"], call["function"]["name"]) for call in calls] == [(0, "add"), (1, "now")]
    assert len({call["id"] for call in calls}) == 2
    assert contents(reply.events) == ""
    assert reply.events[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_without_tools_nothing_is_taken_for_a_call():
    _, reply = ask(FakeService(saying(ADD)))
    assert reply.json()["choices"][0]["message"]["content"] == ADD


def test_a_forced_call_begins_in_the_prompt_and_follows_the_tools_schema():
    said = '{"name": "now", "arguments": {}}'
    chosen = {"type": "function", "function": {"name": "now"}}
    api, reply = ask(FakeService(saying(said)), tools=TOOLS, tool_choice=chosen)
    assert api.service.prompt.endswith("<tool_call>\n")
    schema = {
        "type": "object",
        "properties": {"name": {"const": "now"}, "arguments": {}},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
    assert api.service.asked[0].grammar == Grammar.json_schema(schema)
    choice = reply.json()["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "now"


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_choice": "required"},
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "nobody"}}},
        {"tools": [{"type": "retrieval"}]},
        {"tools": TOOLS, "tool_choice": "always"},
    ],
)
def test_tools_that_make_no_sense_are_refused(fields):
    _, reply = ask(**fields)
    assert reply.status == 400
    assert reply.error["param"].startswith("tool")


def test_a_template_without_tools_cannot_take_any():
    service = FakeService()
    object.__setattr__(service.vocabulary, "chat_template", "{{ messages }}")
    _, reply = ask(service, tools=TOOLS)
    assert (reply.status, reply.error["param"]) == (400, "tools")


def test_earlier_calls_and_their_results_are_told_as_the_model_wrote_them():
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    api, _ = ask(
        messages=[
            *HI,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "2"},
        ]
    )
    messages, _ = api.service.conversations[0]
    assert messages[1].content == ADD
    assert (messages[2].role, messages[2].content) == ("tool", "2")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
        ({"messages": HI, "temperature": "hot"}, "temperature"),
        ({"messages": HI, "temperature": -1}, "temperature"),
        ({"messages": HI, "top_p": 1.5}, "top_p"),
        ({"messages": HI, "max_tokens": 0}, "max_tokens"),
        ({"messages": HI, "n": 129}, "n"),
        ({"messages": HI, "stream": "yes"}, "stream"),
        ({"messages": HI, "seed": 2**70}, "seed"),
        ({"messages": HI, "speculation": "magic"}, "speculation"),
        ({"messages": HI, "priority": "now"}, "priority"),
        ({"messages": HI, "logit_bias": {"a": True}}, "logit_bias"),
        ([1], None),
    ],
)
def test_a_wrong_field_is_named(body, param):
    reply = Api().post(PATH, body)
    assert (reply.status, reply.error["param"], reply.error["code"]) == (400, param, 400)
    assert reply.error["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b'{"messages": "\xff"}', b'{"messages": "\\ud800"}'])
def test_what_is_no_json_is_refused(body):
    assert Api().post(PATH, body).status == 400


def test_unknown_fields_are_ignored():
    assert overrides(user="me", store=False, mirostat=2, samplers=["top_k"], metadata={"a": 1}) == overrides()


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ContextOverflowError(5000, 4095), 400, "exceed_context_size_error"),
        (BusyError("64 requests wait already", "later"), 503, "unavailable_error"),
        (EngineError("the engine is closed"), 500, "server_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_the_engine_refuses_has_a_status(error, status, kind, stream):
    service = FakeService()
    service.refusal = error
    _, reply = ask(service, stream=stream)
    assert (reply.status, reply.error["type"], reply.error["class"]) == (status, kind, type(error).__name__)


def test_an_overflow_tells_both_numbers_and_a_full_queue_when_to_come_back():
    service = FakeService()
    service.refusal = ContextOverflowError(5000, 4095, "shorten it")
    _, reply = ask(service)
    assert (reply.error["n_prompt_tokens"], reply.error["n_ctx"]) == (5000, 4095)
    assert reply.error["hint"] == "shorten it"
    service.refusal = BusyError("full")
    _, reply = ask(service)
    assert int(reply.headers["retry-after"]) > 0


def test_a_conversation_that_the_template_refuses_is_the_clients_fault():
    service = FakeService()
    service.encode_chat = lambda *_: (_ for _ in ()).throw(ModelError("the template refuses this"))
    _, reply = ask(service)
    assert (reply.status, reply.error["class"]) == (400, "ModelError")


def test_what_all_choices_share_is_worked_out_once():
    api = Api()
    encode, seen = api.service.vocabulary.encode, []
    object.__setattr__(api.service.vocabulary, "encode", lambda *a, **how: seen.append(a) or encode(*a, **how))
    body = {"messages": [{"role": "user", "content": "Hi"}], "n": 9, "seed": 5, "logit_bias": {"ab": 1.0}}
    assert api.post("/v1/chat/completions", body).status == 200
    assert seen.count(("ab",)) == 1
    assert [each.seed for each in api.service.asked] == list(range(5, 14))
    assert {each.logit_bias for each in api.service.asked} == {((97, 1.0), (98, 1.0))}


def test_how_fast_it_goes_is_told_where_it_is_asked_for():
    script = saying(Delta("a", pace=Pace(1, 0.0, 0, 0)), Delta("b", pace=Pace(11, 500.0, 8, 4)))
    _, reply = ask(FakeService(script), stream=True, timings_per_token=True)
    told = [
        each["timings"] for each in reply.events[:-1] if each["choices"] and each["choices"][0]["delta"].get("content")
    ]
    assert told[-1] == {
        "predicted_n": 11,
        "predicted_ms": 500.0,
        "predicted_per_second": 20.0,
        "draft_n": 8,
        "draft_n_accepted": 4,
        "speed_up": None,
    }
    assert overrides(timings_per_token=True).tell_pace


def test_how_fast_it_goes_is_not_told_unasked():
    _, reply = ask(FakeService(saying("a", "b")), stream=True)
    assert not any("timings" in each for each in reply.events[:-1] if each["choices"][0]["delta"].get("content"))
