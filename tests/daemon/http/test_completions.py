"""POST /v1/completions."""

import pytest

from paceline.engine.sequence import Delta
from support.asgi_client import Api
from support.fake_service import BOS, END, FakeService, saying

PATH = "/v1/completions"


def ask(service=None, **body):
    api = Api(service)
    return api, api.post(PATH, {"prompt": "Once", **body})


def test_the_answer_continues_the_prompt():
    api, reply = ask(FakeService(saying(" upon", " a time")))
    answer = reply.json()
    assert (answer["object"], answer["choices"][0]["text"]) == ("text_completion", " upon a time")
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["prompt_tokens"] == 9
    assert api.service.prompts == [[BOS, *b"Once"]]
    assert api.service.asked[0].max_tokens == 16


def test_a_stream_ends_with_usage_and_done():
    _, reply = ask(FakeService(saying("a", "b")), stream=True, stream_options={"include_usage": True})
    *chunks, usage, done = reply.events
    assert "".join(each["choices"][0]["text"] for each in chunks) == "ab"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert (usage["choices"], usage["usage"]["prompt_tokens"], done) == ([], 9, "[DONE]")


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("ab", [[BOS, *b"ab"]]),
        (["ab", "c"], [[BOS, *b"ab"], [BOS, *b"c"]]),
        ([97, 98], [[97, 98]]),
        ([[97], [98, 99]], [[97], [98, 99]]),
        (["ab", [99]], [[BOS, *b"ab"], [99]]),
        ("a<|im_end|>", [[BOS, 97, END]]),
    ],
)
def test_a_prompt_may_be_text_or_tokens_one_or_several(prompt, prompts):
    api, reply = ask(prompt=prompt)
    assert sorted(api.service.prompts) == sorted(prompts)
    assert [each["index"] for each in reply.json()["choices"]] == list(range(len(prompts)))


@pytest.mark.parametrize("prompt", [[], [[]], [97, [98]], [261], [-1], [[97.5]], None, {"a": 1}])
def test_what_is_no_prompt_is_refused(prompt):
    api, reply = ask(prompt=prompt)
    assert reply.status == 400
    assert reply.error["param"].startswith("prompt")
    assert not api.service.streams


def test_every_prompt_is_answered_n_times():
    api, reply = ask(prompt=["a", "b"], n=2, seed=3)
    assert len(reply.json()["choices"]) == 4
    assert sorted(each.seed for each in api.service.asked) == [3, 3, 4, 4]
    assert reply.json()["usage"]["prompt_tokens"] == 18


def test_too_many_answers_at_once_are_refused():
    api, reply = ask(prompt=["a"] * 65, n=2)
    assert (reply.status, api.service.streams) == (400, [])


def test_echo_puts_the_prompt_in_front():
    _, reply = ask(FakeService(saying(" upon")), echo=True)
    assert reply.json()["choices"][0]["text"] == "Once upon"
    _, reply = ask(FakeService(saying()), echo=True, stream=True, prompt=[97])
    assert "".join(each["choices"][0]["text"] for each in reply.events[:-1]) == "a"


def test_a_stream_echoes_the_prompt_once():
    _, reply = ask(FakeService(saying(" upon", " a", " time")), echo=True, stream=True, n=2)
    texts = [(each["choices"][0]["index"], each["choices"][0]["text"]) for each in reply.events[:-1]]
    for index in range(2):
        assert "".join(text for at, text in texts if at == index) == "Once upon a time"


def test_streamed_text_says_who_drafted_it_and_the_echo_was_drafted_by_nobody():
    _, reply = ask(FakeService(saying(Delta(" upon", "ngram"), " a")), echo=True, stream=True, tell_drafts=True)
    choices = [each["choices"][0] for each in reply.events[:-1]]
    told = [(each["text"], each.get("drafter")) for each in choices if each["text"]]
    assert told == [("Once", None), (" upon", "ngram"), (" a", None)]


def test_log_probabilities_tell_where_a_token_begins():
    _, reply = ask(FakeService(saying("aé", "b", logprobs=True)), logprobs=1)
    found = reply.json()["choices"][0]["logprobs"]
    assert found["text_offset"] == [0, 1, 1, 2]
    assert found["tokens"][0] == "a"
    assert found["token_logprobs"] == [-0.5] * 4
    assert found["top_logprobs"][0] == {"a": -0.5, "#": -1.0}


def test_streamed_log_probabilities_come_with_the_text_they_belong_to():
    _, reply = ask(FakeService(saying("ab", "c", logprobs=True)), logprobs=1, stream=True)
    chunks = [each["choices"][0] for each in reply.events[:-1]]
    told = [(each["text"], each["logprobs"]["tokens"]) for each in chunks if each["logprobs"]]
    assert "".join(text for text, _ in told) == "abc"
    assert [token for _, tokens in told for token in tokens] == ["a", "b", "c"]


def test_a_suffix_makes_it_filling_in_the_middle():
    api, reply = ask(FakeService(saying("x  ")), prompt="def f(", suffix="):")
    prefix, suffix, how = api.service.holes[0]
    assert (prefix + how["typed"], suffix) == ("def f(", "):")
    answer = reply.json()
    assert answer["choices"][0]["text"] == "x"
    assert (answer["prefix_cut"], answer["suffix_cut"]) == (5, 7)
    assert api.service.asked[0].priority == "completion"


def test_a_model_that_cannot_infill_says_so():
    service = FakeService()
    service.can_infill = False
    _, reply = ask(service, suffix="x")
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert (reply.error["code"], reply.error["class"]) == ("unsupported", "ModelError")


@pytest.mark.parametrize(
    "fields", [{"echo": True, "logprobs": 1}, {"suffix": "x", "echo": True}, {"suffix": "x", "prompt": [97]}]
)
def test_what_does_not_go_together_is_refused(fields):
    api, reply = ask(**fields)
    assert (reply.status, api.service.streams) == (400, [])


def test_no_tokens_at_all_only_reads_the_prompt():
    api, reply = ask(FakeService(saying("x", reason="length")), max_tokens=0, echo=True)
    assert reply.json()["choices"][0]["text"] == "Once"
    assert api.service.asked[0].max_tokens == 1


def test_a_prompt_that_is_too_long_is_told_with_both_numbers():
    _, reply = ask(prompt=[97] * 4096)
    assert reply.error["type"] == "exceed_context_size_error"
    assert (reply.error["n_prompt_tokens"], reply.error["n_ctx"]) == (4096, 4095)
