"""Programs that know nothing of this one: OpenAI's own client, and the requests of llama.cpp's clients."""

import asyncio
import contextlib
import json

import httpx
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.held_call import HeldCall
from support.real_daemon import real_daemon, until

HELLO = [{"role": "user", "content": "Why?"}]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "size": {"enum": [1, 2, 3]}},
    "required": ["name", "size"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]


@pytest.fixture(scope="module")
def client(daemon):
    with openai.OpenAI(base_url=f"{daemon.url}/v1", api_key=daemon.token, timeout=30, max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def model(client, daemon):
    daemon.post("/completion", {"prompt": "x", "n_predict": 1})  # from then on it is loaded
    return client.models.list().data[0].id


# --- OpenAI's client --------------------------------------------------------------------------------------------------


def test_models_are_listed_and_found(client, model):
    assert [each.id for each in client.models.list()] == [model]
    assert client.models.retrieve(model).object == "model"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-4")


def test_a_chat_is_answered(client, model):
    answer = client.chat.completions.create(model=model, messages=HELLO, max_completion_tokens=20, temperature=0)
    assert (answer.object, answer.model, answer.choices[0].message.role) == ("chat.completion", model, "assistant")
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 20
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 20


def test_a_stream_says_the_same_and_ends_with_its_usage(client, model):
    asked = {"model": model, "messages": HELLO, "max_tokens": 40, "temperature": 0}
    whole = client.chat.completions.create(**asked)
    *chunks, last = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "length"
    assert last.choices == []
    assert last.usage.completion_tokens == 40
    assert {chunk.id for chunk in chunks} == {last.id}


def test_several_answers_are_told_apart_by_their_index(client, model):
    asked = {"model": model, "messages": HELLO, "max_tokens": 20, "temperature": 1.5, "seed": 3, "n": 3}
    whole = client.chat.completions.create(**asked)
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    texts = ["", "", ""]
    for chunk in client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == [choice.message.content for choice in whole.choices]
    assert len(set(texts)) == 3


def test_a_seed_repeats_an_answer_and_another_one_does_not(client, model):
    def answer(seed):
        asked = {"model": model, "messages": HELLO, "max_tokens": 30, "temperature": 1.5, "seed": seed}
        return client.chat.completions.create(**asked).choices[0].message.content

    assert answer(1) == answer(1) != answer(2)


def test_a_stop_string_ends_an_answer_and_is_not_told(client, model):
    asked = {"model": model, "messages": HELLO, "max_tokens": 60, "temperature": 0}
    text = client.chat.completions.create(**asked).choices[0].message.content
    stop = text[20:23]
    stopped = client.chat.completions.create(**asked, stop=[stop, "never said"]).choices[0]
    assert (stopped.message.content, stopped.finish_reason) == (text[: text.index(stop)], "stop")


def test_log_probabilities_are_those_of_the_words_that_were_said(client, model):
    asked = {"model": model, "messages": HELLO, "max_tokens": 12, "temperature": 0, "logprobs": True}
    choice = client.chat.completions.create(**asked, top_logprobs=3).choices[0]
    told = choice.logprobs.content
    assert b"".join(bytes(each.bytes) for each in told).decode("utf-8", "replace") == choice.message.content
    for each in told:
        assert each.logprob <= 0
        assert len(each.top_logprobs) == 3
        assert each.logprob == each.top_logprobs[0].logprob >= each.top_logprobs[1].logprob


def test_an_answer_keeps_to_a_json_schema(client, model):
    shape = {"type": "json_schema", "json_schema": {"name": "thing", "schema": SCHEMA, "strict": True}}
    for temperature in (0, 1.5):
        answer = client.chat.completions.create(
            model=model, messages=HELLO, response_format=shape, temperature=temperature, seed=5, max_tokens=200
        )
        said = json.loads(answer.choices[0].message.content)
        assert set(said) == {"name", "size"}
        assert said["size"] in (1, 2, 3)


def test_tools_that_the_models_template_has_no_place_for_are_refused_and_none_are_not(client, model):
    with pytest.raises(openai.BadRequestError, match="chat template has no place for tools") as refused:
        client.chat.completions.create(model=model, messages=HELLO, tools=TOOLS)
    assert refused.value.param == "tools"
    answer = client.chat.completions.create(model=model, messages=HELLO, tools=TOOLS, tool_choice="none", max_tokens=3)
    assert answer.choices[0].message.content


def test_a_text_is_continued_and_a_gap_filled(client, model):
    asked = {"model": model, "max_tokens": 10, "temperature": 0}
    several = client.completions.create(**asked, prompt=["def f(", "x = "], echo=True)
    assert [choice.text[:4] for choice in several.choices] == ["def ", "x = "]
    streamed = list(client.completions.create(**asked, prompt="def f(", stream=True))
    assert "def f(" + "".join(chunk.choices[0].text for chunk in streamed) == several.choices[0].text
    assert client.completions.create(**asked, prompt="def f(", suffix="\n    return a\n").choices[0].text


def test_own_fields_may_be_sent_and_figures_come_back(client, model):
    asked = {"model": model, "prompt": "in the in the", "max_tokens": 40, "temperature": 0}
    answer = client.completions.create(**asked, extra_body={"speculation": {"drafter": "draft", "length": 4}})
    assert answer.timings["draft_n"] >= answer.timings["draft_n_accepted"] > 0
    assert answer.usage.completion_tokens_details.accepted_prediction_tokens == 0  # there was no prediction


def test_a_prediction_is_taken_and_its_part_in_the_answer_told(client, model):
    asked = {"model": model, "messages": HELLO, "max_tokens": 60, "temperature": 0}
    plain = client.chat.completions.create(**asked).choices[0].message.content
    foretold = client.chat.completions.create(
        **asked, prediction={"type": "content", "content": plain}, extra_body={"speculation": "ngram"}
    )
    assert foretold.choices[0].message.content == plain
    details = foretold.usage.completion_tokens_details
    edit = foretold.timings["drafters"].get("edit", {"draft_n": 0, "draft_n_accepted": 0})  # where it does not pay
    assert details.accepted_prediction_tokens == edit["draft_n_accepted"]
    assert details.rejected_prediction_tokens == edit["draft_n"] - edit["draft_n_accepted"]


def test_who_drafted_what_does_not_disturb_a_client_that_does_not_know_of_it(client, model):
    asked = {"model": model, "messages": HELLO, "max_tokens": 40, "temperature": 0, "stream": True}
    plain = list(client.chat.completions.create(**asked))
    own = {"speculation": "draft", "tell_drafts": True, "strict": True}
    told = list(client.chat.completions.create(**asked, extra_body=own))
    texts = ["".join(chunk.choices[0].delta.content or "" for chunk in chunks) for chunks in (plain, told)]
    assert texts[0] == texts[1] != ""
    drafters = [(chunk.choices[0].delta.model_extra or {}).get("drafter") for chunk in told]
    assert "draft" in drafters


def test_a_conversation_that_is_too_long_is_one_error_with_both_numbers(client, model):
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": "word " * 30_000}])
    assert refused.value.type == "exceed_context_size_error"
    assert refused.value.body["n_prompt_tokens"] > refused.value.body["n_ctx"] == 16_383


def test_errors_are_those_that_the_client_knows(client, model):
    with pytest.raises(openai.BadRequestError, match="temperature") as refused:
        client.chat.completions.create(model=model, messages=HELLO, temperature=99)
    assert refused.value.param == "temperature"
    with pytest.raises(openai.BadRequestError, match="makes no embeddings"):
        client.embeddings.create(model=model, input="x")
    with pytest.raises(openai.AuthenticationError, match="token"):
        client.with_options(api_key="wrong").models.list()
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=model, input="x")


def test_leaving_a_stream_stops_the_computation(daemon, client, model):
    endless = {"model": model, "prompt": "Once", "max_tokens": 15_000, "extra_body": {"ignore_eos": True}}
    with client.completions.create(**endless, stream=True) as stream:
        next(iter(stream))
    daemon.settle()
    assert max(slot["tokens"] for slot in daemon.slots) < 14_000


def test_the_asynchronous_client_is_served_just_as_well(daemon, model):
    async def scenario():
        async with openai.AsyncOpenAI(base_url=f"{daemon.url}/v1", api_key=daemon.token, timeout=30) as client:
            asked = {"model": model, "messages": HELLO, "max_tokens": 30, "temperature": 0}
            answers = await asyncio.gather(*(client.chat.completions.create(**asked) for _ in range(5)))
            stream = await client.chat.completions.create(**asked, stream=True)
            streamed = [chunk.choices[0].delta.content or "" async for chunk in stream]
            endless = asyncio.create_task(
                client.completions.create(
                    model=model, prompt="Once", max_tokens=15_000, extra_body={"ignore_eos": True}
                )
            )
            await asyncio.to_thread(until, lambda: not daemon.quiet(), "it has begun")
            endless.cancel()
            await asyncio.gather(endless, return_exceptions=True)
            return {*(answer.choices[0].message.content for answer in answers), "".join(streamed)}

    assert len(asyncio.run(scenario())) == 1
    daemon.settle()


def test_a_full_engine_is_asked_again_after_the_time_it_names(tiny):
    """The client's own retries do it: it is refused at least once, and answered when there is room again."""
    with real_daemon(tiny.target, engine="context = 16384\nparallel = 1\nqueue = 1") as small:
        endless = {"prompt": "Once", "n_predict": -1, "ignore_eos": True, "stream": True}
        seen = []

        def note(response):
            seen.append((response.status_code, response.headers.get("retry-after")))
            if response.status_code == 503:
                first.close()
                second.close()

        hooks = {"response": [note]}
        with contextlib.ExitStack() as calls:
            first = calls.enter_context(HeldCall(small, "/completion", endless))
            first.read(1)
            second = calls.enter_context(HeldCall(small, "/completion", endless))
            until(lambda: small.status["waiting"] == 1, "the queue is full")
            transport = openai.DefaultHttpxClient(event_hooks=hooks)
            with openai.OpenAI(base_url=f"{small.url}/v1", api_key=small.token, http_client=transport) as client:
                with pytest.raises(openai.InternalServerError):
                    client.with_options(max_retries=0).completions.create(model="any", prompt="x")
                answer = client.with_options(max_retries=4).completions.create(model="any", prompt="x", max_tokens=3)
    assert answer.choices[0].text
    assert seen[0] == (503, "1")
    assert seen[-1][0] == 200


# --- llama.cpp's clients ----------------------------------------------------------------------------------------------

# what llama.vim sends while one types, and when it shows the model what else is open
VIM = {
    "id_slot": 0,
    "input_prefix": "def area(r):\n    return 3.14 * r\n\n\ndef ring(a, b):\n",
    "input_suffix": "\n\n\nprint(ring(1, 2))\n",
    "input_extra": [{"text": "PI = 3.14\n" * 20, "time": [1, 2], "filename": "other.py"}],
    "prompt": "    return",
    "n_predict": 64,
    "stop": [],
    "n_indent": 4,
    "top_k": 40,
    "top_p": 0.9,
    "stream": False,
    "samplers": ["top_k", "top_p", "infill"],
    "cache_prompt": True,
    "t_max_prompt_ms": 5000,
    "t_max_predict_ms": 5000,
    "response_fields": ["content", "timings/prompt_n", "timings/prompt_ms", "truncated", "tokens_cached"],
}
VIM_WARM_UP = {
    "input_prefix": VIM["input_prefix"],
    "input_suffix": VIM["input_suffix"],
    "input_extra": VIM["input_extra"],
    "prompt": VIM["prompt"],
    "n_predict": 0,
    "temperature": 0.0,
    "stream": False,
    "samplers": [],
    "cache_prompt": True,
    "t_max_prompt_ms": 1,
    "t_max_predict_ms": 1,
    "response_fields": [""],
}
# llama.vscode: the same route with other settings
VSCODE = {
    "input_prefix": "const a = [",
    "input_suffix": "];\n",
    "input_extra": [{"text": "let b = 1;\n", "filename": "b.ts"}],
    "prompt": "",
    "n_predict": 32,
    "top_k": 40,
    "top_p": 0.99,
    "stream": False,
    "samplers": ["top_k", "top_p", "infill"],
    "cache_prompt": True,
    "t_max_prompt_ms": 5000,
    "t_max_predict_ms": 5000,
}
# llama.cpp's own page
WEB = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
    "stream": True,
    "reasoning_format": "auto",
    "cache_prompt": True,
    "samplers": "edkypmxt",
    "temperature": 0.8,
    "dynatemp_range": 0,
    "dynatemp_exponent": 1,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "typical_p": 1,
    "xtc_probability": 0,
    "xtc_threshold": 0.1,
    "repeat_last_n": 64,
    "repeat_penalty": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "dry_multiplier": 0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": -1,
    "max_tokens": 20,
    "timings_per_token": True,
    "return_progress": True,
}


@pytest.fixture(scope="module")
def plain(daemon, model):
    with daemon.looking() as client:
        yield client


def test_llama_vim_finds_warm_what_it_has_warmed_up(plain):
    cold = plain.post("/infill", json=VIM_WARM_UP)
    assert (cold.status_code, cold.json()) == (200, {})
    answer = plain.post("/infill", json=VIM).json()
    assert set(answer) == set(VIM["response_fields"])
    assert answer["content"]
    assert answer["tokens_cached"] > 100
    assert answer["timings/prompt_n"] < 10


def test_llama_vscode_gets_the_whole_answer(plain):
    # it samples without a seed, so an answer might else end before it has begun
    answer = plain.post("/infill", json={**VSCODE, "ignore_eos": True}).json()
    assert answer["content"]
    assert answer["stop"] is True
    assert answer["timings"]["predicted_n"] == answer["tokens_predicted"] == 32
    assert {"prompt_ms", "prompt_per_second", "predicted_ms", "predicted_per_second"} <= set(answer["timings"])


def test_time_that_is_over_ends_an_answer_at_the_end_of_a_line(plain):
    endless = {"prompt": "Once", "n_predict": 12_000, "ignore_eos": True, "temperature": 2.0, "top_k": 0, "seed": 1}
    answer = plain.post("/completion", json={**endless, "t_max_predict_ms": 50}).json()
    assert answer["has_new_line"] is True
    assert answer["tokens_predicted"] < 12_000
    assert answer["stop_type"] == "limit"


def test_the_web_page_is_told_of_its_prompt_its_answer_and_their_figures(daemon, plain):
    # the page samples without a seed, so an answer might else end at any token
    with HeldCall(daemon, "/v1/chat/completions", {**WEB, "ignore_eos": True}) as call:
        events = call.rest()
    assert call.done
    assert events[0]["prompt_progress"]["total"] > 20
    assert "".join(each["choices"][0]["delta"].get("content", "") for each in events)
    assert events[-1]["timings"]["predicted_n"] == 20


def test_properties_tell_what_is_served(plain, model):
    told = plain.get("/props").json()
    assert told["default_generation_settings"]["n_ctx"] == 16_384
    assert told["total_slots"] == len(plain.get("/slots").json()) == 8
    assert "<|im_start|>" in told["chat_template"]
    assert plain.get("/health").json() == {"status": "ok"}


def test_a_busy_slot_is_seen_and_counted(daemon, plain):
    endless = {"prompt": "Once", "n_predict": -1, "ignore_eos": True, "stream": True}
    with HeldCall(daemon, "/completion", endless) as call:
        call.read(3)
        busy = [slot for slot in plain.get("/slots").json() if slot["is_processing"]]
        assert len(busy) == 1
        assert busy[0]["next_token"]["n_decoded"] > 0
        assert daemon.metrics["paceline_running"] == 1
    daemon.settle()


def test_texts_and_tokens_are_each_others(plain):
    text = "def f(x):\n\treturn 'ä\N{SNAKE}'  # the end\n"
    tokens = plain.post("/tokenize", json={"content": text}).json()["tokens"]
    assert plain.post("/detokenize", json={"tokens": tokens}).json() == {"content": text}
    pieces = plain.post("/tokenize", json={"content": "ä\N{SNAKE} in the", "with_pieces": True}).json()["tokens"]
    data = [each["piece"].encode() if isinstance(each["piece"], str) else bytes(each["piece"]) for each in pieces]
    assert b"".join(data).decode() == "ä\N{SNAKE} in the"


def test_a_conversation_shown_as_text_is_answered_like_the_conversation(plain):
    shown = plain.post("/apply-template", json={"messages": HELLO}).json()["prompt"]
    assert shown == "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    how = {"temperature": 0, "max_tokens": 20}
    chat = plain.post("/v1/chat/completions", json={"messages": HELLO, **how}).json()
    text = plain.post("/completion", json={"prompt": shown, **how}).json()
    assert text["content"] == chat["choices"][0]["message"]["content"]


@pytest.mark.parametrize("over", ["unix", "tcp"])
def test_metrics_are_read_by_prometheus_and_count_every_listener(daemon, plain, over):
    client = daemon.tcp if over == "tcp" else daemon.unix

    def counted():
        families = {each.name: each for each in text_string_to_metric_families(client.get("/metrics").text)}
        assert families["paceline_request_seconds"].type == "histogram"
        return families["paceline_predicted_tokens"].samples[0].value

    before = counted()
    for each in (daemon.unix, daemon.tcp):
        each.post("/completion", json={"prompt": "Once", "n_predict": 5, "ignore_eos": True})
    assert counted() == before + 10


def test_the_token_is_asked_for_over_loopback_alone(daemon):
    assert httpx.get(f"{daemon.url}/slots").status_code == 401
    assert httpx.get(f"{daemon.url}/health").status_code == 200
    assert daemon.get("/slots").status_code == 200
