"""POST /completion and POST /infill, as clients of llama.cpp's server send them."""

import pytest

from paceline.daemon.http.llamacpp import selected
from paceline.daemon.service import Wish
from paceline.engine.sequence import Delta
from paceline.prompts.context import Attachment
from paceline.prompts.fim import Budget
from paceline.prompts.repository import Repository
from support.asgi_client import Api
from support.fake_service import BOS, END, FakeService, saying

# what llama.vim sends while one types
VIM = {
    "input_prefix": "def f():\n",
    "input_suffix": "\nprint(f())\n",
    "input_extra": [{"text": "x = 1\n", "time": [1, 2], "filename": "other.py"}],
    "prompt": "    ret",
    "n_predict": 128,
    "n_indent": 4,
    "top_k": 40,
    "top_p": 0.99,
    "stream": False,
    "samplers": ["top_k", "top_p", "infill"],
    "cache_prompt": True,
    "t_max_prompt_ms": 500,
    "t_max_predict_ms": 1000,
    "response_fields": ["content", "timings/prompt_n", "timings/prompt_per_token_ms", "truncated", "tokens_cached"],
}
# and what it sends to warm the cache up
WARM = {
    "input_prefix": "",
    "input_suffix": "",
    "input_extra": VIM["input_extra"],
    "prompt": "",
    "n_predict": 0,
    "temperature": 0.0,
    "stream": False,
    "samplers": [],
    "cache_prompt": True,
    "t_max_prompt_ms": 1,
    "t_max_predict_ms": 1,
    "response_fields": [""],
}


def complete(service=None, **body):
    api = Api(service)
    return api, api.post("/completion", {"prompt": "Once", **body})


def infill(service=None, **body):
    api = Api(service)
    return api, api.post("/infill", {"input_prefix": "a = (", "input_suffix": ")", **body})


def test_texts_that_a_hole_may_quote_help_to_guess_and_are_not_shown():
    service = FakeService()
    _, reply = infill(service, references=[{"filename": "b.py", "text": "x = 1"}])
    assert reply.status == 200
    assert [each.references for each in service.asked] == [(("b.py", "x = 1"),)]


def test_the_answer_has_the_fields_of_llama_cpps():
    api, reply = complete(FakeService(saying(" upon\n", "a time")), n_predict=5)
    answer = reply.json()
    assert (answer["content"], answer["stop"], answer["index"]) == (" upon\na time", True, 0)
    assert (answer["stop_type"], answer["stopping_word"], answer["truncated"]) == ("eos", "", False)
    assert (answer["tokens_evaluated"], answer["tokens_cached"], answer["has_new_line"]) == (9, 3, True)
    assert answer["tokens_predicted"] == len(b" upon\na time") + 1
    assert (answer["model"], answer["prompt"], answer["tokens"]) == ("tiny", "<s>Once", [])
    assert answer["generation_settings"]["n_predict"] == 5
    assert answer["generation_settings"]["n_ctx"] == 4096
    assert answer["timings"]["prompt_per_token_ms"] == 1.0
    assert api.service.asked[0].max_tokens == 5


def test_a_stream_has_pieces_then_the_whole_and_no_done():
    _, reply = complete(FakeService(saying("a", "b")), stream=True)
    *pieces, last = reply.events
    assert "".join(each["content"] for each in pieces) == "ab"
    assert not any(each["stop"] for each in pieces)
    assert (last["stop"], last["content"], last["stop_type"]) == (True, "", "eos")
    assert "[DONE]" not in reply.body.decode()


def test_streamed_text_says_who_drafted_it():
    api, reply = complete(FakeService(saying(Delta("a", "draft"), "b")), stream=True, tell_drafts=True, strict=True)
    *pieces, last = reply.events
    told = [(each["content"], each.get("drafter")) for each in pieces if each["content"]]
    assert told == [("a", "draft"), ("b", None)]
    assert "drafter" not in last
    assert last["generation_settings"]["strict"] is True
    assert api.service.asked[0].tell_drafts


def test_what_fills_a_hole_is_trimmed_as_a_whole_so_nobody_is_named():
    _, reply = infill(FakeService(saying(Delta("1", "ngram"), "2 ")), stream=True, tell_drafts=True)
    assert [(each["content"], "drafter" in each) for each in reply.events] == [("12", False), ("", False)]


@pytest.mark.parametrize(
    ("script", "kind", "word"),
    [
        (saying("ab"), "eos", ""),
        (saying("ab", beyond="END"), "word", "END"),
        (saying("ab", beyond="OKAY"), "word", "OK"),  # it was complete before the longer one
        (saying("ab", beyond="\n"), "limit", ""),  # something else ended it, such as a time limit
        (saying("ab", reason="length"), "limit", ""),
        (saying("ab", reason="superseded"), "superseded", ""),
        (saying("ab", reason="cancelled"), "cancelled", ""),
    ],
)
def test_what_ended_it_is_told(script, kind, word):
    _, reply = complete(FakeService(script), stop=["END", "OKAY", "OK", "x"])
    assert (reply.json()["stop_type"], reply.json()["stopping_word"]) == (kind, word)


def test_a_full_context_is_told():
    _, reply = complete(FakeService(saying("ab", reason="length", context_full=True)))
    assert reply.json()["truncated"] is True


@pytest.mark.parametrize(("limit", "tokens"), [({}, 4091), ({"n_predict": -1}, 4091), ({"max_tokens": 7}, 7)])
def test_without_a_limit_it_goes_on_to_the_end_of_the_context(limit, tokens):
    api, _ = complete(**limit)
    assert api.service.asked[0].max_tokens == tokens


def test_tokens_and_texts_may_be_mixed_in_one_prompt_or_be_several():
    api, reply = complete(prompt=[12, "ab", 13])
    assert api.service.prompts == [[12, *b"ab", 13]]
    assert reply.json()["index"] == 0
    api, reply = complete(prompt=[["x", 5], [6], "y", {"prompt_string": "z"}])
    assert sorted(api.service.prompts) == [[6], [BOS, *b"x", 5], [BOS, *b"y"], [BOS, *b"z"]]
    assert [each["index"] for each in reply.json()] == [0, 1, 2, 3]


def test_images_are_refused():
    _, reply = complete(prompt={"prompt_string": "<__media__>", "multimodal_data": ["AA=="]})
    assert (reply.status, reply.error["param"]) == (400, "prompt")


def test_several_completions_are_a_list():
    api, reply = complete(n_cmpl=2, seed=1)
    assert len(reply.json()) == 2
    assert [each.seed for each in api.service.asked] == [1, 2]


def test_tokens_are_returned_where_they_are_wanted():
    _, reply = complete(FakeService(saying("ab")), return_tokens=True)
    assert reply.json()["tokens"] == [97, 98, END]
    _, reply = complete(FakeService(saying("ab", logprobs=True)), return_tokens=True, stream=True)
    assert [token for each in reply.events for token in each["tokens"]] == [97, 98]


def test_probabilities_have_ids_and_bytes():
    api, reply = complete(FakeService(saying("é", logprobs=True)), n_probs=2)
    found = reply.json()["completion_probabilities"]
    assert [(each["id"], each["bytes"], each["logprob"]) for each in found] == [(195, [195], -0.5), (169, [169], -0.5)]
    assert [each["id"] for each in found[0]["top_logprobs"]] == [195, 35]
    assert api.service.asked[0].logprobs == 2
    _, reply = complete(FakeService(saying("é", logprobs=True)), n_probs=2, stream=True)
    *pieces, last = reply.events
    assert [entry["id"] for each in pieces for entry in each["completion_probabilities"]] == [195, 169]
    assert "completion_probabilities" not in last
    _, reply = complete(post_sampling_probs=True, n_probs=2)
    assert (reply.status, reply.error["param"]) == (400, "post_sampling_probs")


def test_a_bias_may_be_a_list_of_pairs():
    api, _ = complete(logit_bias=[[65, 1.5], ["BC", False]])
    assert api.service.asked[0].logit_bias == ((65, 1.5), (66, float("-inf")), (67, float("-inf")))


def test_fields_of_the_answer_can_be_chosen():
    _, reply = complete(
        FakeService(saying("x")), response_fields=["content", "generation_settings/n_predict", "nope/a"]
    )
    assert reply.json() == {"content": "x", "generation_settings/n_predict": 4091}


def test_a_path_leads_through_objects_only():
    whole = {"a": {"b": {"c": 1}, "d": None}, "e": [1]}
    assert selected(whole, ["a/b/c", "a/d", "a/b", "e/0", "a/d/x", "", "/a"]) == {
        "a/b/c": 1,
        "a/d": None,
        "a/b": {"c": 1},
    }


def test_llama_vim_gets_what_it_asks_for():
    service = FakeService(saying("urn 1\n"))
    api = Api(service)
    reply = api.post("/infill", VIM)
    assert reply.json() == {
        "content": "urn 1",
        "timings/prompt_n": 6,
        "timings/prompt_per_token_ms": 1.0,
        "truncated": False,
        "tokens_cached": 3,
    }
    prefix, suffix, how = service.holes[0]
    assert (prefix, how["typed"], suffix) == ("def f():\n", "    ret", "\nprint(f())\n")
    assert how["wish"] == Wish(extra=(Attachment("other.py", "x = 1\n"),), n_indent=4)
    asked = service.asked[0]
    assert (asked.prompt_seconds, asked.predict_seconds, asked.max_tokens) == (0.5, 1.0, 128)
    assert asked.priority == "completion"


def test_warming_the_cache_up_reads_the_whole_prompt_and_tells_nothing():
    service = FakeService(saying("never mind", reason="length"))
    reply = Api(service).post("/infill", WARM)
    assert (reply.status, reply.json()) == (200, {})
    asked = service.asked[0]
    assert (asked.max_tokens, asked.priority) == (1, "background")
    assert (asked.prompt_seconds, asked.predict_seconds) == (None, None)
    answer = Api(service).post("/infill", {**WARM, "response_fields": None}).json()
    assert (answer["content"], answer["tokens_predicted"], answer["has_new_line"]) == ("", 0, False)


def test_an_infilled_text_is_trimmed_before_it_is_told():
    _, reply = infill(FakeService(saying("1", " + 2", "  ")), single_line=True)
    answer = reply.json()
    assert (answer["content"], answer["prefix_cut"], answer["suffix_cut"]) == ("1 + 2", 5, 7)
    _, reply = infill(FakeService(saying("1", " + 2", "  ")), stream=True)
    *pieces, last = reply.events
    assert "".join(each["content"] for each in pieces) == "1 + 2"
    assert (last["content"], last["prefix_cut"], last["finish_reason"]) == ("", 5, "stop")


def test_the_budget_of_an_infill_may_be_chosen():
    api, _ = infill(prefix_tokens=100)
    usual = api.service.config.complete
    assert api.service.holes[0][2]["wish"].budget == Budget(100, usual.suffix_tokens)
    assert api.service.asked[0].max_tokens == usual.max_tokens


def test_an_infill_says_where_it_may_end_and_where_the_document_belongs():
    api, _ = infill(stop_at="block", max_lines=7, anchor=12, filename="src/a.py", repository="ring")
    wish = api.service.holes[0][2]["wish"]
    assert (wish.stop_at, wish.max_lines, wish.anchor) == ("block", 7, 12)
    assert wish.place == Repository("ring", "src/a.py")


def test_a_single_line_is_a_stop_at_the_line():
    api, _ = infill(single_line=True)
    assert api.service.holes[0][2]["wish"].stop_at == "line"


def test_what_fills_a_hole_is_told_as_it_comes_where_that_is_wanted():
    service = FakeService(saying(" re", "turn", " 1  "))
    service.n_forced = 5
    _, reply = infill(service, stream=True, partial=True)
    drafts = [each["draft"] for each in reply.events if "draft" in each]
    assert "".join(drafts) == "rn 1  "
    assert "".join(each["content"] for each in reply.events) == "rn 1"


def test_only_tokens_of_what_is_kept_are_told():
    service = FakeService(saying("ret", "urn 1  ", logprobs=True))
    service.n_forced = 3
    _, reply = infill(service, n_probs=1)
    told = [each["token"] for each in reply.json()["completion_probabilities"]]
    assert "".join(told) == "urn 1"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input_prefix"),
        ({"input_prefix": "a"}, "input_suffix"),
        ({"input_prefix": "a", "input_suffix": 1}, "input_suffix"),
        ({"input_prefix": "a", "input_suffix": "b", "input_extra": [{"filename": "x"}]}, "input_extra[0].text"),
        ({"input_prefix": "a", "input_suffix": "b", "input_extra": "x"}, "input_extra"),
        ({"input_prefix": "a", "input_suffix": "b", "prompt": ["x"]}, "prompt"),
        ({"input_prefix": "a", "input_suffix": "b", "n_indent": -1}, "n_indent"),
    ],
)
def test_a_wrong_field_is_named(body, param):
    reply = Api().post("/infill", body)
    assert (reply.status, reply.error["param"]) == (400, param)


def test_a_model_that_cannot_infill_says_so():
    service = FakeService()
    service.can_infill = False
    _, reply = infill(service)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert (reply.error["code"], reply.error["class"]) == ("unsupported", "ModelError")


def test_progress_is_told_in_streams():
    _, reply = infill(stream=True, return_progress=True)
    told = [each["prompt_progress"]["processed"] for each in reply.events if "prompt_progress" in each]
    assert told == [3, 9]
