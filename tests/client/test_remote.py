"""Engines elsewhere: what they are asked, how they fill in, and who gets to see the key."""

import logging
import sys
import types

import pytest

from paceline.client.cancel import Cancel
from paceline.client.client import Client, connect
from paceline.client.events import AS_CONFIGURED, End, Extra, Message, Options, Text, Usage
from paceline.client.remote import Remote, on_this_machine
from paceline.config import Config, EngineConfig
from paceline.errors import (
    BusyError,
    ConfigError,
    ContextOverflowError,
    EngineError,
    InputError,
    ModelError,
    NetworkError,
)
from support.api_server import (
    Reply,
    chat_answer,
    chat_chunk,
    data,
    infill_answer,
    json_reply,
    llama_server,
    running_api,
    text_answer,
    with_model,
)

WHY = [Message("user", "Why?")]
KEY = "sk-very-secret"
CODE = "def ring(a, b):\n    ret"
STANDARD = {"messages", "model", "stream", "stream_options", "max_tokens", "temperature", "top_p"}
OURS = Options(
    speculation="draft", draft_length=4, priority="background", supersedes="a", strict=True, tell_drafts=True,
    original="x = 1", references=[Extra("b.py", "y = 2")],
)  # fmt: skip
QWEN = "Qwen/Qwen2.5-Coder-7B"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    monkeypatch.delenv("PACELINE_API_KEY", raising=False)
    monkeypatch.setitem(sys.modules, "keyring", None)  # not installed


@pytest.fixture
def api():
    with running_api() as server:
        yield server


def client_of(api, model="big", **more):
    return connect(Config(engine=EngineConfig(url=api.url, model=model, **more)))


def answer(client, options=AS_CONFIGURED):
    return "".join(event.text for event in client.chat(WHY, options) if isinstance(event, Text))


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_a_plain_server_is_asked_nothing_but_the_standards_fields(api):
    api.chat(chat_answer("x"))
    assert answer(client_of(api), OURS) == "x"
    (sent,) = api.of("/v1/chat/completions")
    assert set(sent.body) == STANDARD
    assert sent.body["model"] == "big"
    answer(client_of(api), Options(seed=4, stop=["END"]))
    assert set(api.of("/v1/chat/completions")[1].body) == STANDARD | {"seed", "stop"}


def test_a_llama_cpp_server_is_asked_for_its_own_fields_too(api):
    llama_server(api).chat(chat_answer("x"))
    answer(client_of(api), OURS)
    (sent,) = api.of("/v1/chat/completions")
    own = {"top_k", "min_p", "repeat_penalty", "repeat_last_n", "return_progress"}
    assert set(sent.body) == STANDARD | own


def test_the_first_model_is_taken_where_none_is_named(api):
    with_model(api, "first", "second").chat(chat_answer("x"))
    client = client_of(api, model="")
    answer(client), answer(client)
    assert [seen.body["model"] for seen in api.of("/v1/chat/completions")] == ["first", "first"]
    assert len(api.of("/v1/models")) == len(api.of("/props")) == 1


def test_a_server_without_models_is_an_error_that_names_the_setting(api):
    with pytest.raises(ModelError, match="lists no model") as caught:
        answer(client_of(with_model(api), model=""))
    assert "engine.model" in caught.value.hint


def test_the_status_is_the_daemons_alone(api):
    with pytest.raises(InputError, match="not a daemon of this machine"):
        client_of(api).status()


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_address_may_be_written_with_or_without_the_version(api, path):
    root = api.url.removesuffix("/v1")
    api.chat(chat_answer("x"))
    assert answer(connect(Config(engine=EngineConfig(url=root + path, model="m")))) == "x"


def test_the_api_may_be_below_a_path(api):
    api.answer("/llm/v1/chat/completions", chat_answer("x"))
    root = api.url.removesuffix("/v1")
    assert answer(connect(Config(engine=EngineConfig(url=f"{root}/llm/v1", model="m")))) == "x"
    assert api.of("/llm/props")


@pytest.mark.parametrize(
    "url", ["big:8000", "ftp://big", "http://", "http:///v1", "http://big:99999/v1", "http://[::1"]
)
def test_what_is_no_address_is_refused_before_anything_is_sent(url):
    with pytest.raises(ConfigError, match=r"engine\.url"):
        connect(Config(engine=EngineConfig(url=url)))


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:1/v1", True), ("http://[::1]:1", True), ("http://localhost", True),
        ("http://a.localhost", True),
        ("http://10.0.0.1", False), ("http://big.example", False), ("http://localhost.example", False),
    ],
)  # fmt: skip
def test_it_is_known_which_addresses_are_this_machine(url, here):
    assert on_this_machine(url) is here


# --- keys -------------------------------------------------------------------------------------------------------------


def test_the_key_comes_from_the_environment(api, monkeypatch):
    monkeypatch.setenv("PACELINE_API_KEY", f"{KEY}\n")
    api.chat(chat_answer("x"))
    answer(client_of(api))
    assert {seen.headers["authorization"] for seen in api.requests} == {f"Bearer {KEY}"}


def keyring(monkeypatch, get_password):
    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=get_password))


def test_the_key_comes_from_the_keyring_where_the_environment_has_none(api, monkeypatch):
    origin = api.url.removesuffix("/v1")
    keyring(monkeypatch, lambda service, user: KEY if (service, user) == ("paceline", origin) else None)
    api.chat(chat_answer("x"))
    answer(client_of(api))
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("PACELINE_API_KEY", "other")
    answer(client_of(api))
    assert api.requests[-1].headers["authorization"] == "Bearer other"


def test_a_keyring_that_fails_means_no_key(api, monkeypatch):
    def fail(service, user):
        raise RuntimeError("no backend")

    keyring(monkeypatch, fail)
    api.chat(chat_answer("x"))
    assert answer(client_of(api)) == "x"
    assert "authorization" not in api.requests[0].headers


@pytest.mark.parametrize("key", ["a b", "a\nb", "schlüssel", "a\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(api, monkeypatch, key):
    keyring(monkeypatch, lambda service, user: key)
    with pytest.raises(ConfigError) as caught:
        client_of(api)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["http://me:secret@big/v1", "http://secret@big/v1", "http://big/v1?key=secret"])
def test_a_key_in_the_configuration_is_refused_and_not_shown(url):
    with pytest.raises(ConfigError, match="password or a query") as caught:
        connect(Config(engine=EngineConfig(url=url)))
    assert "secret" not in str(caught.value)


def test_a_redirection_is_not_followed_so_that_nobody_else_gets_the_key(api, monkeypatch):
    monkeypatch.setenv("PACELINE_API_KEY", KEY)
    with running_api() as other:
        for status in (301, 302, 303, 307, 308):
            api.chat(Reply(status=status, headers={"Location": f"{other.url}/x?token=1"}))
            with pytest.raises(NetworkError, match="sends us on to") as caught:
                answer(client_of(api))
            assert other.url in str(caught.value)
            assert "engine.url" in caught.value.hint
        assert other.requests == []


def test_the_key_is_in_no_log_and_in_no_error(api, monkeypatch, caplog):
    monkeypatch.setenv("PACELINE_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    api.chat(chat_answer("x"), Reply(refuse=True))
    client = client_of(api)
    answer(client)
    with pytest.raises(NetworkError) as caught:
        answer(client)
    shown = [caplog.text, repr(caught.value), str(caught.value), repr(client.engine.place()), repr(client.engine)]
    assert "HTTP" in caplog.text  # something was logged
    assert not [text for text in shown if KEY in text]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_explained(api, status):
    api.chat(json_reply({"error": {"message": "Incorrect API key"}}, status))
    with pytest.raises(ConfigError, match="refuses the key: Incorrect API key") as caught:
        answer(client_of(api))
    assert "PACELINE_API_KEY" in caught.value.hint


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_named():
    with running_api() as gone:
        pass
    with pytest.raises(NetworkError, match=r"cannot reach 127\.0\.0\.1") as caught:
        answer(client_of(gone))
    assert "engine.url" in caught.value.hint


def test_a_server_that_falls_silent_is_given_up(api):
    api.chat(Reply([chat_chunk("a")], stall=True))
    engine = Remote(Config(engine=EngineConfig(url=api.url, model="m")))
    engine.silence = 0.3
    with pytest.raises(NetworkError, match="it took too long"):  # to go on or, on a busy machine, even to begin
        answer(Client(engine))


def test_an_answer_from_elsewhere_is_cancelled_by_closing_its_connection(api):
    api.chat(Reply([chat_chunk("one")], stall=True, headers={"X-Request-Id": "theirs"}))
    cancel, heard = Cancel(), []
    for event in client_of(api).chat([Message("user", "Why?")], cancel=cancel):
        heard.append(event)
        cancel()
    assert heard == [Text("one"), End("cancelled", Usage(), {}, "big")]
    assert api.gone.wait(10)
    assert {seen.path for seen in api.requests} == {"/props", "/v1/chat/completions"}


def test_a_server_that_breaks_off_is_named(api):
    api.chat(Reply([chat_chunk("a")], drop=True))
    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:\d+ broke off in the middle"):
        answer(client_of(api))


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (400, {"error": {"message": "bad top_p"}}, InputError, "bad top_p"),
        (404, {"error": {"message": "The model `x` does not exist."}}, ModelError, "does not exist"),
        (422, {"detail": [{"msg": "field required"}]}, InputError, "answered 422"),
        (422, {"detail": "field required"}, InputError, "field required"),
        (429, {"error": {"message": "slow down"}}, BusyError, "slow down"),
        (500, {"error": "boom"}, EngineError, "boom"),
        (502, {}, NetworkError, "answered 502 Bad Gateway"),
        (503, {"error": {"message": "Loading model"}}, BusyError, "Loading model"),
        (599, {}, EngineError, "answered 599"),
    ],
)
def test_other_servers_errors_are_told_in_our_words(api, status, body, kind, words):
    api.chat(json_reply(body, status))
    with pytest.raises(kind, match=words) as caught:
        answer(client_of(api))
    assert type(caught.value) is kind


OPENAI = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens."
VLLM = "This model's maximum context length is 4096 tokens. However, you requested {} tokens ({} in the messages, {})."
LLAMA_CPP = {"message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}


@pytest.mark.parametrize(
    ("error", "numbers"),
    [
        ({"message": OPENAI}, (5000, 4096)),
        ({"message": VLLM.format(7048, 5000, "2048 in the completion")}, (5000, 4096)),
        (LLAMA_CPP, (9, 8)),
    ],
    ids=["OpenAI", "vLLM", "llama.cpp"],
)
def test_an_overflow_elsewhere_has_both_numbers(api, error, numbers):
    api.chat(json_reply({"error": error}, 400))
    with pytest.raises(ContextOverflowError) as caught:
        answer(client_of(api))
    assert (caught.value.needed, caught.value.available) == numbers


def test_a_prompt_that_fits_but_leaves_no_room_for_the_answer_says_how_much_there_is(api):
    api.chat(json_reply({"error": {"message": VLLM.format(6048, 4000, "2048 in the completion")}}, 400))
    with pytest.raises(InputError, match="maximum context length") as caught:
        answer(client_of(api))
    assert caught.value.hint == "ask for fewer tokens: 96 are left for the answer"


def test_an_overflow_without_numbers_is_an_error_of_the_input(api):
    api.chat(json_reply({"error": {"message": "too much", "code": "context_length_exceeded"}}, 400))
    with pytest.raises(InputError, match="too much") as caught:
        answer(client_of(api))
    assert "context" in caught.value.hint


def test_a_long_message_of_a_stranger_is_cut(api):
    api.chat(json_reply({"error": {"message": "x" * 100_000}}, 400))
    with pytest.raises(InputError) as caught:
        answer(client_of(api))
    assert len(caught.value.message) < 1000


# --- filling in -------------------------------------------------------------------------------------------------------


def test_a_llama_cpp_server_fills_in_by_its_own_route(api):
    llama_server(api).answer("/infill", infill_answer("urn a + b)"))
    done = client_of(api).complete(CODE, ")\n", Options(single_line=True, strict=True))
    assert (done.text, done.usage) == ("urn a + b", Usage(20, 5, 8))
    sent = api.of("/infill")[0].body
    assert (sent["input_prefix"], sent["prompt"], sent["input_suffix"]) == ("def ring(a, b):\n", "    ret", ")\n")
    assert sent["stop"] == ["\n"]
    assert not {"single_line", "speculation", "strict", "prefix_tokens"} & set(sent)


def test_where_nothing_is_typed_a_single_line_may_begin_after_a_newline(api):
    llama_server(api).answer("/infill", infill_answer("\n    return a\n    more\n"))
    done = client_of(api).complete("def f(a):\n", "\n", Options(single_line=True))
    assert "stop" not in api.of("/infill")[-1].body
    assert done.text == "    return a"


FILLING = Options(anchor=3, filename="a.py", repository="r", stop_at="block", max_lines=3, partial=True, logprobs=True)
ONLY_OURS = {"anchor", "filename", "repository", "stop_at", "max_lines", "partial", "logprobs", "prefix_tokens"}


def test_a_llama_cpp_server_is_not_told_what_it_does_not_know(api):
    chance = [{"token": "urn", "logprob": -0.25}, {"token": " a", "logprob": -1.0}, {"token": "  ", "logprob": -9.0}]
    chunk = {"content": "urn a  ", "stop": False, "completion_probabilities": chance}
    llama_server(api).answer("/infill", Reply([data(chunk), *infill_answer().pieces]))
    told = []
    done = client_of(api).complete(CODE, "\n", FILLING, told.append)
    sent = api.of("/infill")[0].body
    assert not ONLY_OURS & set(sent)
    assert sent["n_probs"] == 1
    assert (done.text, done.tokens, done.logprobs) == ("urn a", ("urn", " a"), (-0.25, -1.0))
    assert [event.text for event in told if isinstance(event, Text)] == ["urn a  "]


def test_a_block_from_elsewhere_ends_where_ours_would(api):
    pieces = infill_answer("urn a\n", "\n", "def g():\n", "    pass\n").pieces[:-1]
    llama_server(api).answer("/infill", Reply(pieces, stall=True))
    done = client_of(api).complete(CODE, "\n", Options(stop_at="block"))
    assert done.text == "urn a"


def test_warming_up_elsewhere_asks_for_as_little_as_there_can_be(api):
    llama_server(api).answer("/infill", infill_answer("x"))
    assert client_of(api).complete(CODE, "\n", Options(warm=True)).text == ""
    assert api.of("/infill")[0].body["n_predict"] == 0


def test_other_servers_log_probabilities_are_understood(api):
    logprobs = {"tokens": ["urn", " a", " "], "token_logprobs": [-0.5, -1.0, None]}
    chunk = {"model": "big", "choices": [{"index": 0, "text": "urn a ", "finish_reason": None, "logprobs": logprobs}]}
    api.answer("/v1/completions", Reply([data(chunk), *text_answer().pieces]))
    done = client_of(api, QWEN).complete(CODE, "\n", FILLING)
    assert (done.text, done.logprobs) == ("urn a", (-0.5, -1.0))
    assert not (ONLY_OURS - {"logprobs"}) & set(api.of("/v1/completions")[0].body)


TEMPLATES = {
    QWEN: f"<|fim_prefix|>{CODE}<|fim_suffix|>)\n<|fim_middle|>",
    "/models/qwen2.5-coder-1.5b-q8_0.gguf": f"<|fim_prefix|>{CODE}<|fim_suffix|>)\n<|fim_middle|>",
    "bigcode/starcoder2-7b": f"<fim_prefix>{CODE}<fim_suffix>)\n<fim_middle>",
    "ibm-granite/granite-8b-code-base": f"<fim_prefix>{CODE}<fim_suffix>)\n<fim_middle>",
    "codellama/CodeLlama-7b-hf": f"<PRE> {CODE} <SUF>)\n <MID>",
    "deepseek-ai/deepseek-coder-6.7b-base": "<|fim▁begin|>{}<|fim▁hole|>)\n<|fim▁end|>".replace("|", "\uff5c").format(
        CODE
    ),
    "mistralai/Codestral-22B-v0.1": f"[SUFFIX])\n[PREFIX]{CODE}",
    "google/codegemma-2b": f"<|fim_prefix|>{CODE}<|fim_suffix|>)\n<|fim_middle|>",
}


@pytest.mark.parametrize("model", TEMPLATES)
def test_other_servers_get_the_familys_template_as_text(api, model):
    api.answer("/v1/completions", text_answer("urn a", " + b"))
    done = client_of(api, model).complete(CODE, ")\n")
    sent = api.of("/v1/completions")[0].body
    assert sent["prompt"] == TEMPLATES[model]
    assert set(sent) == {"prompt", "model", "stream", "stream_options", "max_tokens", "temperature", "top_p", "stop"}
    assert len(sent["stop"]) <= 4
    assert (done.text, done.usage.completion_tokens) == ("urn a + b", 3)


def test_a_model_of_no_known_family_is_named_with_those_that_are(api):
    with pytest.raises(ModelError, match="'gpt-9'") as caught:
        client_of(api, "gpt-9").complete("a", "b")
    assert "qwen-coder" in caught.value.hint
    assert api.of("/v1/completions") == []


@pytest.mark.parametrize("token", ["<|endoftext|>", "<|fim_pad|>", "<|file_sep|>", "<|im_end|>"])
def test_special_tokens_and_what_follows_them_are_no_part_of_a_completion(api, token):
    api.answer("/v1/completions", text_answer("urn a", token[:4], token[4:] + "junk"))
    assert client_of(api, QWEN).complete(CODE, "\n").text == "urn a"


@pytest.mark.parametrize("token", ["<|endoftext|>", "<|fim_middle|>"])
def test_so_it_is_with_a_llama_cpp_server(api, token):
    llama_server(api).answer("/infill", infill_answer("urn a", token[:4], token[4:] + "junk"))
    assert client_of(api, QWEN).complete(CODE, "\n").text == "urn a"


def test_special_tokens_in_a_document_are_made_harmless(api):
    api.answer("/v1/completions", text_answer("x"))
    client_of(api, QWEN).complete("a = '<|fim_middle|>'\n", "<|endoftext|>{prefix}")
    prompt = api.of("/v1/completions")[0].body["prompt"]
    assert prompt == "<|fim_prefix|>a = '< |fim_middle|>'\n<|fim_suffix|>< |endoftext|>{prefix}<|fim_middle|>"


def test_a_long_document_is_cut_at_lines_and_the_cut_is_counted(api):
    api.answer("/v1/completions", text_answer("x"))
    prefix, suffix = "first = 1\n" * 2000, "\nlast = 2" * 2000
    done = client_of(api, QWEN).complete(prefix, suffix)
    prompt = api.of("/v1/completions")[0].body["prompt"]
    shown, rest = prompt.removeprefix("<|fim_prefix|>").removesuffix("<|fim_middle|>").split("<|fim_suffix|>")
    assert prefix.endswith(shown)
    assert suffix.startswith(rest)
    assert shown.startswith("first")
    assert (done.prefix_cut, done.suffix_cut) == (len(prefix) - len(shown), len(suffix) - len(rest))
    assert 1000 < len(shown) < 4000


def test_a_llama_cpp_server_is_not_sent_more_than_the_budget_either(api):
    llama_server(api).answer("/infill", infill_answer("x"))
    prefix = "first = 1\n" * 2000
    done = client_of(api).complete(prefix, "")
    shown = api.of("/infill")[0].body["input_prefix"]
    assert prefix.endswith(shown)
    assert 1000 < len(shown) < 4000
    assert done.prefix_cut == len(prefix) - len(shown)


PACELINE = {"default_generation_settings": {}, "build_info": "paceline 1.2.3"}


def test_a_paceline_elsewhere_is_told_what_it_needs_while_somebody_types(api):
    api.answer("/props", json_reply(PACELINE))
    api.answer("/infill", infill_answer("urn a"))
    typing = Options(anchor=12, stop_at="block", max_lines=5, filename="a.py", priority="completion", supersedes="x",
                     partial=True)  # fmt: skip
    client_of(api).complete(CODE, "\n", typing)
    (body,) = [seen.body for seen in api.of("/infill")]
    assert (body["input_prefix"] + body["prompt"], body["input_suffix"]) == (CODE, "\n")
    assert (body["anchor"], body["stop_at"], body["max_lines"], body["filename"]) == (12, "block", 5, "a.py")
    assert (body["priority"], body["supersedes"], body["partial"]) == ("completion", "x", True)
    assert "stop" not in body


def test_a_paceline_elsewhere_drafts_as_it_is_configured_and_gets_no_texts_for_that(api):
    api.answer("/props", json_reply(PACELINE))
    api.answer("/v1/chat/completions", chat_answer("x"))
    answer(client_of(api), OURS)
    (body,) = [seen.body for seen in api.of("/v1/chat/completions")]
    assert not {"speculation", "strict", "prediction", "references"} & set(body)


def test_a_paceline_elsewhere_cuts_the_document_by_itself(api):
    api.answer("/props", json_reply(PACELINE))
    api.answer("/infill", infill_answer("x"))
    prefix = "first = 1\n" * 2000
    client_of(api).complete(prefix, "", Options(anchor=0))
    (body,) = [seen.body for seen in api.of("/infill")]
    assert body["input_prefix"] == prefix
    assert body["prefix_tokens"] == 1024


def test_other_servers_are_told_nothing_of_the_kind(api):
    llama_server(api).answer("/infill", infill_answer("x"))
    client_of(api).complete(CODE, "", Options(anchor=3, stop_at="block", priority="completion", supersedes="x"))
    (body,) = [seen.body for seen in api.of("/infill")]
    assert not {"anchor", "stop_at", "priority", "supersedes"} & set(body)


def test_a_server_is_probed_once(api):
    api.answer("/v1/completions", text_answer("x"))
    client = client_of(api, QWEN)
    client.complete("a", ""), client.complete("b", "")
    assert len(api.of("/props")) == 1


@pytest.mark.parametrize(
    "props", [Reply([b"<html>"], kind="text/html"), json_reply({}), json_reply([]), json_reply({"error": {}}, 401)]
)
def test_a_probe_that_is_answered_by_something_else_means_a_plain_server(api, props):
    api.answer("/props", props)
    api.answer("/v1/completions", text_answer("x"))
    assert client_of(api, QWEN).complete("a", "").text == "x"
