"""The text that leaves the engine: whole characters, never a stop string, nothing behind the end."""

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.sequence import Request
from paceline.errors import InputError
from support.driving import answer, running
from support.fake_backend import FakeBackend
from support.scripted import Scripted, vocabulary_of

BYTES = [bytes([i]) for i in range(256)]
END = 256
VOCABULARY = vocabulary_of([*BYTES, b"<end>", b"stop", b" STO", b"P now", "né€".encode()[1:4]], end=END)
STO, P_NOW = 258, 259
DOT = ord(".")
# plain, and drafted: by lookup (the prompt holds the answer) and by a draft model
WAYS = ("off", "ngram", "draft")


def said(script, *, speculation="off", then=DOT, prompt=None, n_ctx=4096, **request):
    """The answer to the prompt when the model says the script and then, over and over, `then`."""
    prompt = [*script, 10, 10] if prompt is None else prompt
    how = {"prompt": len(prompt), "then": then}
    target = Scripted(VOCABULARY, script, n_ctx=n_ctx, **how)
    draft = Scripted(VOCABULARY, script, **how)
    with running(target, draft) as engine:
        return answer(engine, Request(prompt, speculation=speculation, **{"max_tokens": len(script), **request}))


def tokens_of(text):
    return list(text.encode())


# Characters.


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=12), st.sampled_from(WAYS))
def test_characters_arrive_whole_however_their_bytes_are_spread_over_tokens(text, speculation):
    got = said([*tokens_of(text), END], speculation=speculation)
    assert got.text == text
    assert all(got.deltas), "no empty piece"
    assert got.reason == "stop"


def test_each_character_is_sent_as_soon_as_it_is_whole():
    assert said([*tokens_of("a€😀b"), END]).deltas == ("a", "€", "😀", "b")


@pytest.mark.parametrize("speculation", WAYS)
def test_a_character_that_the_end_cuts_is_shown_as_one_that_cannot_be_read(speculation):
    assert said([*tokens_of("ab😀")[:-1], END], speculation=speculation).text == "ab\ufffd"
    assert said(tokens_of("ab😀")[:-1], speculation=speculation).text == "ab\ufffd"


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=20), st.sampled_from(WAYS))
def test_bytes_that_are_no_text_become_replacement_characters_as_python_makes_them(data, speculation):
    assert said([*data, END], speculation=speculation).text == data.decode("utf-8", "replace")


# Stop strings.


def naively(text, stops):
    ends = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    return text[: min(ends)[1]] if ends else text


@settings(max_examples=150, deadline=None)
@given(
    st.text("abc€", max_size=20),
    st.lists(st.text("abc€", min_size=1, max_size=4), max_size=3),
    st.sampled_from(WAYS),
)
def test_nothing_of_a_stop_string_is_ever_sent_and_everything_before_it_is(text, stops, speculation):
    got = said([*tokens_of(text), END], speculation=speculation, stop=stops)
    expected = naively(text, stops)
    assert got.text == expected
    for sent in accumulate(got.deltas):
        assert expected.startswith(sent)
    assert got.reason == "stop"


@pytest.mark.parametrize("speculation", WAYS)
def test_a_stop_string_across_the_border_of_two_tokens_is_seen(speculation):
    got = said([*tokens_of("go"), STO, P_NOW, *tokens_of(" more")], speculation=speculation, stop=["STOP"])
    assert (got.text, got.reason) == ("go ", "stop")


@pytest.mark.parametrize("speculation", WAYS)
def test_text_behind_a_stop_string_in_the_same_token_is_not_sent(speculation):
    got = said([*tokens_of("go"), P_NOW, P_NOW], speculation=speculation, stop=["P"])
    assert got.text == "go"


@pytest.mark.parametrize("speculation", WAYS)
def test_the_answer_ends_with_the_token_that_completes_the_stop_string(speculation):
    got = said([*tokens_of("ab"), *tokens_of("END"), *tokens_of("xyz")], speculation=speculation, stop=["END"])
    assert list(got.tokens) == tokens_of("abEND")
    assert got.stats.predicted_tokens == 5


@pytest.mark.parametrize("speculation", WAYS)
def test_what_only_began_like_a_stop_string_is_sent_at_the_end(speculation):
    assert said([*tokens_of("ab EN"), END], speculation=speculation, stop=["END"]).text == "ab EN"
    assert said(tokens_of("ab EN"), speculation=speculation, stop=["END"]).text == "ab EN"


def test_an_empty_stop_string_is_refused_and_the_engine_goes_on():
    with running(FakeBackend()) as engine:
        with pytest.raises(InputError, match="empty"):
            answer(engine, Request([1, 2], 5, stop=[""]))
        assert len(answer(engine, Request([1, 2], 5)).tokens) == 5


# A listener that ends the answer.


@pytest.mark.parametrize("speculation", WAYS)
def test_a_listener_ends_the_answer_behind_the_piece_that_satisfied_it(speculation):
    heard = []

    def until(text):
        heard.append(text)
        return "\n" in text

    got = said(tokens_of("one\ntwo\n"), speculation=speculation, until=until)
    assert got.text == "one\n"
    assert "".join(heard) == "one\n"
    assert (got.reason, got.stats.predicted_tokens) == ("stop", 4)


# The end of generation.


@pytest.mark.parametrize("speculation", WAYS)
@pytest.mark.parametrize("after", [0, 1, 2, 3, 7])
def test_the_end_inside_a_draft_ends_the_answer_and_nothing_behind_it_comes_out(speculation, after):
    script = [*tokens_of("abcdefg"[:after]), END, *tokens_of("hidden")]
    got = said(script, speculation=speculation, max_tokens=50)
    assert got.text == "abcdefg"[:after]
    assert list(got.tokens) == script[: after + 1]
    assert (got.reason, got.stats.predicted_tokens) == ("stop", after + 1)


@pytest.mark.parametrize("speculation", WAYS)
def test_the_token_that_ends_an_answer_has_no_text(speculation):
    assert "<end>" not in said([ord("a"), END], speculation=speculation).text


def test_no_draft_reaches_past_the_end_of_generation():
    script = [*tokens_of("abcdef"), END, *tokens_of("hidden, and long")]
    prompt = [*script, *tokens_of("abc")]
    target = Listening(VOCABULARY, script, prompt=len(prompt))
    with running(target) as engine:
        got = answer(engine, Request(prompt, max_tokens=50, speculation="ngram"))
    assert got.stats.drafted > 0
    drafts = [tokens for tokens in target.heard if len(tokens) < len(prompt)]
    assert not any(END in tokens[:-1] for tokens in drafts)


class Listening(Scripted):
    """Remembers the tokens of every span."""

    def __init__(self, *arguments, **how):
        super().__init__(*arguments, **how)
        self.heard = []

    def decode(self, spans, *, hidden=False):
        self.heard += [list(span.tokens) for span in spans]
        return super().decode(spans)


# How much was asked for.


@pytest.mark.parametrize("speculation", WAYS)
@pytest.mark.parametrize("max_tokens", [1, 2, 3, 4, 9, 17])
def test_exactly_as_many_tokens_as_asked_for_also_where_a_draft_would_bring_more(speculation, max_tokens):
    script = tokens_of("abcdefghijklmnopqrstuvwxyz")
    got = said(script, speculation=speculation, max_tokens=max_tokens)
    assert got.text == "abcdefghijklmnopqrstuvwxyz"[:max_tokens]
    assert (got.reason, len(got.tokens), got.stats.predicted_tokens) == ("length", max_tokens, max_tokens)
    assert not got.stats.context_full


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 9])
def test_no_more_is_drafted_than_can_be_of_use(max_tokens):
    """The prompt's pass brings the first token, and every verification one of the target's own."""
    got = said(tokens_of("abcdefghijklmnopqrstuvwxyz"), speculation="draft", max_tokens=max_tokens)
    assert got.stats.drafted == got.stats.accepted <= max(0, max_tokens - 2)


@pytest.mark.parametrize("speculation", WAYS)
@pytest.mark.parametrize("room", [1, 2, 3, 10])
def test_a_full_context_ends_the_answer_with_a_note(speculation, room):
    script = tokens_of("abcdefghijklmnopqrstuvwxyz")
    prompt = [*script, 10, 10]
    got = said(script, speculation=speculation, prompt=prompt, max_tokens=200, n_ctx=len(prompt) + room)
    assert (got.text, got.reason) == ("abcdefghijklmnopqrstuvwxyz"[:room], "length")
    assert got.stats.context_full
    assert [note for note in got.stats.notes if "full" in note] == [
        f"the context of {len(prompt) + room} tokens is full"
    ]


def test_asking_for_no_tokens_is_refused():
    with running(FakeBackend()) as engine:
        for count in (0, -1):
            with pytest.raises(InputError, match="token"):
                engine.submit(Request([1, 2], count))
