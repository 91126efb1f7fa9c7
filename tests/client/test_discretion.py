"""Whatever a server says, the key that it was asked with is neither shown nor written down."""

import asyncio
import json
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.client import async_client, client
from paceline.client.counting import Counter
from paceline.client.discretion import ENOUGH, HIDDEN, LEAST, hidden
from paceline.client.events import Message, Note
from paceline.config import Config, EngineConfig
from paceline.errors import PacelineError
from support.api_server import Reply, chat_chunk, json_reply, llama_server, running_api

KEY = "sk-Zq/3v+81=Lw&mX0pT7"
FORMS = [KEY, KEY[: len(KEY) // 2], KEY[len(KEY) // 2 :], quote(KEY, safe=""), quote_plus(KEY), quote(KEY).lower()]
WHY = [Message("user", "Why?")]


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setenv("PACELINE_API_KEY", KEY)
    with running_api() as server:
        yield server


def config_of(api, model="big"):
    return Config(engine=EngineConfig(url=api.url, model=model))


def asked(api):
    with client.connect(config_of(api)) as ours:
        return list(ours.chat(WHY))


def asked_on_a_loop(api):
    async def ask():
        async with async_client.connect(config_of(api)) as ours:
            return [event async for event in ours.chat(WHY)]

    return asyncio.run(ask())


def listed(api):
    with client.connect(config_of(api, "")) as ours:
        return ours.models()


def counted(api):
    async def count():
        async with async_client.connect(config_of(api)) as ours:
            return await ours.follow(Counter(config_of(api)).count(WHY))

    return asyncio.run(count())


def written(error):
    """All that could be shown or logged of an error, and of what led to it."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ask", [asked, asked_on_a_loop])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_a_refusal_is_told_without_the_key(api, ask, status, form):
    api.chat(json_reply({"error": {"message": f"bad key {form}, sorry", "hint": f"use another than {form}"}}, status))
    with pytest.raises(PacelineError) as caught:
        ask(api)
    assert f"bad key {HIDDEN}, sorry" in caught.value.message
    assert form not in written(caught.value)


REPLIES = {
    "in the stream": Reply([chat_chunk("a"), b'data: {"error": {"message": %s}}\n\n' % json.dumps(KEY).encode()]),
    "where it sends us": Reply(status=302, headers={"Location": f"http://elsewhere/{quote(KEY, safe='')}/v1"}),
    "in a sentence about the context": json_reply({"error": f"context length is 4 tokens, {KEY}"}, 400),
    "in the place of a kind": json_reply({"error": {"message": KEY, "class": "ModelError"}}, 418),
}


@pytest.mark.parametrize("ask", [asked, asked_on_a_loop])
@pytest.mark.parametrize("where", REPLIES)
def test_wherever_it_stands_it_is_left_out(api, ask, where):
    api.chat(REPLIES[where])
    with pytest.raises(PacelineError) as caught:
        ask(api)
    assert HIDDEN in caught.value.message
    assert not [form for form in FORMS if form in written(caught.value)]


@pytest.mark.parametrize("ask", [listed, counted])
def test_other_questions_are_as_discreet(api, ask):
    refused = json_reply({"error": {"message": f"no {KEY}"}}, 500)
    api.answer("/v1/models", refused)
    api.answer("/apply-template", refused)
    llama_server(api)
    with pytest.raises(PacelineError, match="no ") as caught:
        ask(api)
    assert KEY not in written(caught.value)


def test_what_a_server_notes_is_shown_without_it_and_what_the_model_says_is_left_alone(api):
    api.chat(Reply([b": note it is %s\n\n" % KEY.encode(), chat_chunk(KEY), b"data: [DONE]\n\n"]))
    note, text, _ = asked(api)
    assert note == Note(f"it is {HIDDEN}")
    assert text.text == KEY


@pytest.mark.parametrize("text", ["", "refused", "sk-", "see https://big.example/keys", "Incorrect API key"])
def test_texts_without_it_stay_as_they_are(text):
    assert hidden(text, KEY) == text
    assert hidden(text, "") == text


def test_a_short_key_hides_no_words_that_have_a_little_of_it():
    assert hidden("a secretary keeps no section", "secret") == f"a {HIDDEN}ary keeps no section"


@given(st.text("abc-", min_size=1, max_size=30), st.text("abc- ", max_size=60))
def test_no_half_of_a_key_is_left_and_nothing_else_is_touched(key, text):
    left = hidden(text, key)
    half = min(len(key), max(LEAST, min(ENOUGH, len(key) // 2)))
    pieces = left.split(HIDDEN)
    assert not [piece for piece in pieces for at in range(len(piece) - half + 1) if piece[at : at + half] in key]
    at = 0
    for piece in pieces:
        at = text.index(piece, at) + len(piece)
    assert (len(pieces) == 1) == (left == text)
