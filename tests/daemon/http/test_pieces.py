"""The parts that need no application: the feed, calls in text, depth of JSON, log-probabilities."""

import asyncio
import json
import threading

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.daemon.http import body, schemas, tools
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.feed import Feed, joined
from paceline.daemon.http.logprobs import Trail
from paceline.engine.sequence import Chosen, Delta, Finished, Prefilled
from paceline.engine.stats import Stats
from support.fake_service import bytes_vocabulary

ADD = '<tool_call>\n{"name": "add", "arguments": {"a": "<b>"}}\n</tool_call>'


def test_text_in_a_row_is_joined_and_nothing_else():
    events = [(0, Delta("a")), (0, Delta("b")), (1, Delta("c")), (0, Delta("d")), (0, Prefilled(1, 2)), (0, Delta("e"))]
    assert joined(events) == [(0, Delta("ab")), (1, Delta("c")), (0, Delta("d")), (0, Prefilled(1, 2)), (0, Delta("e"))]


def test_text_is_joined_with_what_the_same_drafter_said_and_with_nothing_else():
    said = [Delta("a", "ngram"), Delta("b", "ngram"), Delta("c"), Delta("d"), Delta("e", "draft"), Delta("f", "ngram")]
    expected = [Delta("ab", "ngram"), Delta("cd"), Delta("e", "draft"), Delta("f", "ngram")]
    assert joined([(0, each) for each in said]) == [(0, each) for each in expected]
    assert joined([(0, Delta("a", "x")), (1, Delta("b", "x"))]) == [(0, Delta("a", "x")), (1, Delta("b", "x"))]


PIECE = st.tuples(st.integers(0, 2), st.text("ab", min_size=1, max_size=2), st.sampled_from(["", "ngram", "draft"]))


@given(st.lists(PIECE))
def test_joining_loses_no_text_and_no_drafter(events):
    def by_character(pieces, index):
        return [(char, drafter) for at, text, drafter in pieces if at == index for char in text]

    found = [(at, each.text, each.drafter) for at, each in joined([(at, Delta(*said)) for at, *said in events])]
    for index in range(3):
        assert by_character(found, index) == by_character(events, index)


def test_a_feed_passes_on_what_threads_put_in():
    async def main():
        feed = Feed(1000)

        def fill(index):
            sink = feed.sink(index)
            for at in range(100):
                sink(Prefilled(at, 100))

        threads = [threading.Thread(target=fill, args=[index]) for index in range(4)]
        for thread in threads:
            thread.start()
        found = []
        while len(found) < 400:
            found += await asyncio.wait_for(feed.take(), 10)
        for index in range(4):
            assert [each.done for at, each in found if at == index] == list(range(100))

    asyncio.run(main())


def test_a_feed_that_is_full_takes_no_more_and_says_why():
    async def main():
        feed = Feed(3)
        sink = feed.sink(0)
        for number in range(5):
            sink(Prefilled(number, 5))
        reason = await asyncio.wait_for(asyncio.shield(feed.cut), 10)
        assert "3 events" in reason
        assert [each.done for _, each in await feed.take()] == [0, 1, 2]

    asyncio.run(main())


def test_a_closed_feed_and_a_closed_loop_take_nothing_and_complain_about_nothing():
    feeds = []

    async def main():
        feeds.append(Feed(3))
        feeds.append(Feed(3))
        feeds[0].close()
        feeds[0].sink(0)(Delta("x"))

    asyncio.run(main())
    for feed in feeds:
        feed.sink(0)(Delta("x"))


@given(st.lists(st.integers(1, 40), max_size=30))
def test_calls_are_found_however_the_text_is_cut(lengths):
    text = f"Look <tool: {ADD} and\n{ADD}\nend <tool_ca"
    found, said, calls, at = tools.ToolCalls(), "", [], 0
    for length in [*lengths, len(text)]:
        more, made = found.feed(text[at : at + length])
        said, calls, at = said + more, calls + made, at + length
    more, made = found.flush()
    assert said + more == "Look <tool:  and\n\nend <tool_ca"
    assert tools.ToolCalls().feed(f"{ADD}\n{ADD}\n")[0] == ""
    assert [json.loads(each.function.arguments) for each in calls + made] == [{"a": "<b>"}] * 2
    assert len({each.id for each in found.calls}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>nonsense</tool_call>",
        '<tool_call>{"arguments": {}}</tool_call>',
        "<tool_call>[]</tool_call>",
        "<tool_call>" + "[" * 5000 + "</tool_call>",
        "<tool_call>",
    ],
)
def test_what_only_looks_like_a_call_stays_text(text):
    found = tools.ToolCalls()
    said, made = found.feed(text)
    rest, more = found.flush()
    assert (said + rest, made + more) == (text, [])


def test_a_call_that_was_not_closed_counts_if_it_is_complete():
    found = tools.ToolCalls(inside=True)
    assert found.feed('{"name": "now"') == ("", [])
    assert found.feed(', "arguments": "{}"}') == ("", [])
    said, made = found.flush()
    assert (said, made[0].function.name, made[0].function.arguments) == ("", "now", "{}")


@pytest.mark.parametrize(
    ("value", "deep"), [(1, 0), ([], 1), ([1, [2, [3]]], 3), ({"a": {"b": [1]}}, 3), ([[[]], []], 3), ("[[[", 0)]
)
def test_depth_counts_objects_and_arrays_inside_each_other(value, deep):
    assert body.depth(value) == deep


def test_structs_count_as_the_objects_they_were():
    read = body.parse(b'{"messages": [{"role": "user"}], "json_schema": {"a": [1]}}', schemas.ChatRequest, 64)
    assert body.depth(read) == 3
    with pytest.raises(RequestError) as raised:
        body.parse(msgspec.json.encode({"messages": [{"role": "user"}]}), schemas.ChatRequest, 2)
    assert raised.value.status == 400


def test_a_token_is_told_when_the_text_it_begins_is():
    trail = Trail(bytes_vocabulary())
    for byte in "aéb".encode():
        trail.add(Chosen(byte, -1.0))
    assert [each.chosen.token for each in trail.up_to(1)] == [97]
    assert [(each.chosen.token, each.offset) for each in trail.up_to(2)] == [(195, 1), (169, 1)]
    assert [each.offset for each in trail.up_to(99)] == [2]
    assert trail.up_to(99) == []


# --- numbers ----------------------------------------------------------------------------------------------------------


def read(text, kind=schemas.LlamaCompletionRequest):
    return body.parse(text.encode(), kind, 64)


def test_a_whole_number_may_be_written_as_a_float():
    asked = read(
        '{"prompt": [5.0, 6], "n_predict": 128.0, "seed": 1e3, "logit_bias": [[7.0, 1.0]], "temperature": 1.0}'
    )
    assert (asked.prompt, asked.n_predict, asked.seed) == ([5, 6], 128, 1000)
    assert (asked.logit_bias, asked.temperature) == ([(7, 1.0)], 1.0)


def test_a_field_that_may_be_something_else_is_read_the_same_way():
    chat = '{"messages": [{"role": "user", "content": "x"}], "max_tokens": 5.0, "json_schema": {"minimum": 1.5}}'
    asked = read(chat, schemas.ChatRequest)
    assert (asked.max_tokens, asked.json_schema) == (5, {"minimum": 1.5})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("n_predict", value) for value in ("1.5", "-0.0", "NaN", "Infinity", "-Infinity", "1e400", "1e18", '"5"')],
        *[("temperature", value) for value in ("NaN", "Infinity", "1e400", "-1e400", '"1"')],
        ("max_tokens", "3000000000.0"),
    ],
)
def test_what_is_no_number_of_the_kind_is_refused_by_name(field, value):
    with pytest.raises(RequestError) as caught:
        read(f'{{"prompt": "x", "stop": ["NaN"], "{field}": {value}}}')
    assert (caught.value.status, caught.value.param) == (400, field)
    assert field in caught.value.message


def test_a_number_that_is_none_is_found_wherever_it_is():
    with pytest.raises(RequestError) as caught:
        read('{"prompt": "x", "logit_bias": [[1, 2], [3, NaN]]}')
    assert caught.value.param == "logit_bias[1][1]"


@pytest.mark.parametrize("text", ['{"prompt": ', "", "\xff", '{"prompt": "x"} NaN'])
def test_what_is_no_json_at_all_has_no_field(text):
    with pytest.raises(RequestError, match="not valid JSON") as caught:
        read(text)
    assert caught.value.param is None


def test_text_is_gathered_for_a_while_and_the_end_is_not_waited_for():
    async def scenario():
        feed = Feed(1000, pace=30.0)  # seconds: nothing but the end can come in this test
        put = feed.sink(0)
        put(Delta("a"))
        assert [event.text for _, event in await feed.take()] == ["a"], "the first piece comes at once"
        waiting = asyncio.ensure_future(feed.take())
        for text in "bcd":
            put(Delta(text))
            await asyncio.sleep(0)
        assert not waiting.done()
        put(Finished("stop", Stats()))
        text, end = (event for _, event in await asyncio.wait_for(waiting, 20))
        assert (text.text, end.reason) == ("bcd", "stop")

    asyncio.run(scenario())


def test_gathered_text_comes_when_its_time_is_over():
    async def scenario():
        feed = Feed(1000, pace=0.001)
        put = feed.sink(0)
        for text in "ab":
            put(Delta(text))
            assert [event.text for _, event in await asyncio.wait_for(feed.take(), 20)] == [text]

    asyncio.run(scenario())
