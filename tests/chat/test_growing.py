"""While a question is typed, what goes with it is not counted again."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context import budget
from paceline.chat.context.budget import Draft
from paceline.chat.context.growing import Growing
from paceline.chat.turns import Attached, Turn
from paceline.client.counting import Counter, estimate
from paceline.config import Config
from support.counting_server import CountingServer
from support.templates import QWEN
from support.toy_tokenizer import CONTROLS, ToyTokenizer

FILE = Attached("file", "a.py", "abcdefg\n" * 300)
PATH = (Turn(1, None, "user", "question", (FILE,)), Turn(2, 1, "assistant", "answer " * 30))
BIG = Draft("Be brief.", PATH, "Why?", (FILE, Attached("paste", "pasted", "log\n" * 50)))


class Engine:
    """Counts as the engine would, and keeps what it was asked."""

    def __init__(self):
        self.server = CountingServer(QWEN, ToyTokenizer(controls=CONTROLS, wants_bos=True))
        self.counter = Counter(Config())
        self.growing = Growing()
        self.asked = []

    async def count(self, messages):
        self.asked.append("".join(each.content for each in messages))
        return self.server.run(self.counter.count(messages))

    def sizes(self, draft, context=10_000, reserve=100):
        return asyncio.run(self.growing.sizes(draft, self.count, context, reserve))

    def exactly(self, draft):
        return asyncio.run(budget.sizes(draft, self.count, 10_000, 100))


def test_typing_on_counts_the_question_alone():
    engine = Engine()
    engine.sizes(BIG)
    engine.asked.clear()
    engine.sizes(replace(BIG, question="Why not?"))
    assert all(len(each) < 20 for each in engine.asked)


@given(
    st.text("ab? \n`é", max_size=12),
    st.sampled_from([(), BIG.attached]),
    st.sampled_from([(), PATH, PATH[:1]]),
)
@settings(max_examples=25, deadline=None)
def test_what_is_said_while_typing_is_what_is_said_when_sending_but_for_a_token_or_two(question, attached, path):
    engine, draft = Engine(), replace(BIG, question=question, attached=attached, path=path)
    engine.sizes(replace(draft, question="something else"))
    assert abs(engine.sizes(draft).used - engine.exactly(draft).used) <= 2


@pytest.mark.parametrize(
    "change",
    [
        {"attached": BIG.attached[:1]},
        {"system": "Be long."},
        {"path": ()},
        {"path": (replace(PATH[0], text="another question"), PATH[1])},
        {"skipped": 2, "summary": "short"},
    ],
)
def test_whatever_else_changes_is_counted_anew(change):
    engine = Engine()
    engine.sizes(BIG)
    other = replace(BIG, **change)
    assert abs(engine.sizes(other).used - engine.exactly(other).used) <= 2
    assert abs(engine.sizes(BIG).used - engine.exactly(BIG).used) <= 2


def test_the_context_and_what_is_kept_free_are_those_of_now():
    engine = Engine()
    engine.sizes(BIG, 0, 100)
    measured = engine.sizes(BIG, 5000, 200)
    assert (measured.context, measured.reserve) == (5000, 200)


def test_what_is_guessed_is_said_to_be():
    async def count(messages):
        return estimate(messages)

    assert asyncio.run(Growing().sizes(BIG, count, 1000, 10)).estimated


def test_nothing_is_remembered_of_what_could_not_be_counted():
    engine = Engine()

    async def fail(messages):
        raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(engine.growing.sizes(BIG, fail, 1000, 10))
    assert abs(engine.sizes(BIG).used - engine.exactly(BIG).used) <= 2
