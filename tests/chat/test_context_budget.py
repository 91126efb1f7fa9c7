"""What each part of a conversation takes, and what can be done where it does not fit."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context.budget import (
    ASKING,
    SUMMARY,
    Draft,
    Sizes,
    apply,
    fit,
    messages,
    sizes,
    summarisable,
    summarised,
    summary_messages,
)
from paceline.chat.turns import Attached, Turn
from paceline.client.counting import Counter, estimate
from paceline.client.events import Message
from paceline.config import Config
from support.counting_server import CountingServer
from support.templates import GEMMA, LLAMA, QWEN
from support.toy_tokenizer import CONTROLS, ToyTokenizer

TEMPLATES = {
    "qwen": (QWEN, CONTROLS),
    "llama": (LLAMA, ["<|bos|>", "<|start|>", "<|end|>", "<|eot|>"]),
    "gemma": (GEMMA, ["<|bos|>", "<start_of_turn>", "<end_of_turn>"]),
}


class Model:
    """Counts as the engine would."""

    def __init__(self, name="qwen"):
        template, controls = TEMPLATES[name]
        self.server = CountingServer(template, ToyTokenizer(controls=controls, wants_bos=True))
        self.counter = Counter(Config())

    async def count(self, asked):
        return self.server.run(self.counter.count(asked))

    def sizes(self, draft, context=10_000, reserve=100, cached=0) -> Sizes:
        return asyncio.run(sizes(draft, self.count, context, reserve, cached))


def talk(*texts, attached=()):
    roles = ("user", "assistant")
    return tuple(
        Turn(at + 1, at or None, roles[at % 2], text, attached if at == 0 else ()) for at, text in enumerate(texts)
    )


def file(name, length):
    return Attached("file", name, "abcdefg\n" * (length // 8))


LONG = talk(*("question " * 20, "answer " * 100) * 4)
BIG = Draft("Be brief.", LONG, "Why?", (file("a.py", 2400), file("b.py", 800)))

contents = st.text(alphabet="ab\n <|>", max_size=12)
asked = st.text(alphabet="ab ", max_size=9).map("{}?".format)
attachments = st.lists(st.builds(Attached, st.just("file"), st.sampled_from(["a.py", "b"]), contents), max_size=3)
drafts = st.builds(
    Draft,
    contents,
    st.lists(st.tuples(asked, contents), max_size=3).map(
        lambda pairs: talk(*(text for pair in pairs for text in pair))
    ),
    asked,
    attachments.map(tuple),
    st.sampled_from([0, 2]),
    contents,
)


@pytest.mark.parametrize("name", TEMPLATES)
@given(draft=drafts)
@settings(max_examples=8, deadline=None)
def test_the_parts_are_the_prompt(name, draft):
    model = Model(name)
    measured = model.sizes(draft)
    assert measured.prompt == model.server.exactly(messages(draft))
    assert measured.used == measured.prompt + 100
    assert len(measured.attachments) == len(draft.attached)
    assert len(measured.history) == len(draft.path[draft.skipped :])
    assert all(part.tokens >= 0 for part in (*measured.history, *measured.attachments))


def test_each_part_is_what_it_adds():
    model = Model()
    less = Draft("Be brief.", LONG, "Why?", BIG.attached[:1])
    assert model.sizes(BIG).prompt - model.sizes(less).prompt == model.sizes(BIG).attachments[1].tokens
    assert [part.name for part in model.sizes(BIG).attachments] == ["a.py", "b.py"]
    assert model.sizes(BIG).history[0].name.startswith("you: question question")
    assert model.sizes(BIG).history[1].name.startswith("model: answer")


def test_typing_on_does_not_count_attachments_again():
    model = Model()
    model.sizes(BIG)
    model.server.calls.clear()
    model.sizes(Draft(BIG.system, BIG.path, "Why not?", BIG.attached))
    assert sum("abcdefg" in body for path, body in model.server.calls if path == "/apply-template") == 1


def test_what_fits_needs_no_choice():
    measured = Model().sizes(BIG)
    assert measured.fits and measured.left == 10_000 - measured.used
    assert fit(measured, BIG) == ()


def test_where_the_context_is_not_known_everything_fits():
    measured = Model().sizes(BIG, context=0)
    assert measured.fits and measured.over == 0


def choices(draft, over, kind=None, model=None):
    model = model or Model()
    whole = model.sizes(draft)
    measured = model.sizes(draft, context=whole.used - over)
    assert measured.over == over
    return [each for each in fit(measured, draft) if kind in (None, each.kind)]


def test_every_choice_frees_what_it_says_where_that_is_known():
    model = Model()
    before = model.sizes(BIG).prompt
    known = [each for each in choices(BIG, 300, model=model) if not each.estimated]
    assert {each.kind for each in known} == {"drop", "leave_out"}
    for choice in known:
        assert before - model.sizes(apply(BIG, choice)).prompt == pytest.approx(choice.frees, abs=2)


def test_a_trimmed_attachment_takes_no_more_than_was_said():
    model = Model()
    before = model.sizes(BIG).prompt
    for choice in choices(BIG, 300, "trim", model):
        after = apply(BIG, choice)
        measured = model.sizes(after)
        assert measured.attachments[choice.at].tokens <= choice.tokens
        assert before - measured.prompt >= choice.frees
        assert "left out" in after.attached[choice.at].cut


def test_a_trim_that_would_be_enough_makes_it_fit():
    model = Model()
    whole = model.sizes(BIG).used
    choice = choices(BIG, 300, "trim", model)[0]
    assert model.sizes(apply(BIG, choice), context=whole - 300).fits


def test_no_more_turns_are_left_out_than_needed_and_none_loses_its_question():
    few, everything = choices(BIG, 300, "leave_out")
    assert (few.at, everything.at) == (2, 8)
    after = apply(BIG, few)
    assert [each.role for each in messages(after)][:2] == ["system", "user"]
    assert "the first 2 messages" in few.label and "all 8 messages" in everything.label


def test_together_the_choices_are_enough_for_all_but_the_question():
    model = Model()
    draft = BIG
    while found := fit(model.sizes(draft, context=250, reserve=100), draft):
        choice = found[-1]
        draft = apply(draft, choice)
    assert not draft.attached
    assert model.sizes(draft, context=250, reserve=100).fits or draft.skipped == len(draft.path)


def test_a_summary_stands_for_the_turns_before_it():
    model = Model()
    choice = choices(BIG, 300, "summarise", model)[-1]
    after = summarised(BIG, choice, "They spoke of rings.\n")
    assert messages(after)[0].role == "system"
    assert messages(after)[0].content.startswith("Be brief.\n\n")
    assert messages(after)[0].content.endswith("They spoke of rings.")
    assert messages(after)[1] == messages(BIG)[-1]
    assert model.sizes(after).prompt < model.sizes(BIG).prompt - choice.frees + SUMMARY


def test_the_summary_is_asked_for_behind_what_the_engine_has_read_already():
    choice = choices(BIG, 300, "summarise")[0]
    asked = summary_messages(BIG, choice, "the names")
    assert asked[:-1] == messages(BIG)[: choice.at + 1]
    assert asked[-1].role == "user"
    assert "the names" in asked[-1].content


def test_a_second_summary_is_made_of_the_first_and_what_came_since():
    first = Draft("Be brief.", LONG, "Why?", skipped=4, summary="Before: rings.")
    choice = choices(first, 300, "summarise")[-1]
    asked = summary_messages(first, choice)
    assert "Before: rings." in asked[0].content
    assert [each.content for each in asked[1:-1]] == [turn.text for turn in LONG[4 : choice.at]]
    assert choice.at > 4


def test_a_short_conversation_is_not_summarised():
    assert choices(Draft("", talk("Why?", "Because."), "And?", BIG.attached), 50, "summarise") == []


def test_two_questions_in_a_row_go_as_one_message():
    turns = (Turn(1, None, "user", "One?"), Turn(2, 1, "assistant", " ", state="failed"), Turn(3, 2, "user", "Two?"))
    draft = Draft("", turns, "Three?")
    assert messages(draft) == (Message("user", "One?\n\nTwo?\n\nThree?"),)
    assert Model("gemma").sizes(draft).prompt == Model("gemma").server.exactly(messages(draft))


def test_a_question_that_goes_with_the_one_before_has_a_size_of_its_own():
    turns = (Turn(1, None, "user", "One? " * 20), Turn(2, 1, "assistant", "", state="failed"))
    measured = Model().sizes(Draft("", turns, "Three?", (file("a.py", 800),)))
    assert measured.history[0].tokens > 100 and measured.history[1].tokens == 0
    assert 0 < measured.message < 20
    assert measured.attachments[0].tokens > 500


def test_what_was_attached_earlier_is_sent_as_it_was():
    draft = Draft("", talk("Why?", "Because.", attached=(file("a.py", 80),)), "And?")
    assert messages(draft)[0].content.startswith("File: a.py\n```python\nabcdefg\n")


def test_a_conversation_that_goes_on_begins_as_it_did():
    before = messages(Draft("s", LONG[:2], "Why?"))
    after = messages(Draft("s", (*LONG[:2], Turn(9, 2, "user", "Why?"), Turn(10, 9, "assistant", "So.")), "And?"))
    assert after[: len(before)] == before


def test_a_guess_is_marked_as_one():
    async def count(asked):
        return estimate(asked)

    measured = asyncio.run(sizes(BIG, count, 10_000, 100))
    assert measured.estimated
    assert measured.prompt == estimate(messages(BIG)).total
    assert all(part.tokens > 0 for part in measured.attachments)
    assert measured.message > 0


def test_what_is_cached_is_no_more_than_there_is():
    model = Model()
    assert model.sizes(BIG, cached=10**6).cached == model.sizes(BIG).prompt
    assert model.sizes(BIG, cached=7).cached == 7


@pytest.mark.parametrize("context", range(600, 4200, 300))
def test_a_summary_is_offered_only_where_it_can_be_asked_for(context):
    model, draft = Model(), replace(BIG, attached=())
    for choice in fit(model.sizes(draft, context), draft):
        if choice.kind == "summarise":
            asked = asyncio.run(model.count(messages(Draft(draft.system, draft.path[: choice.at], ""))))
            before = asked.total - asked.messages[-1]  # the request, with the template's words around it, is ASKING
            assert before + ASKING + choice.tokens <= context


def test_where_all_turns_are_too_many_for_one_summary_fewer_are_offered_and_then_the_others():
    model, draft, context, asked = Model(), replace(BIG, attached=()), 2600, []
    measured = model.sizes(draft, context, 1800)
    while not measured.fits:
        choice = next(each for each in fit(measured, draft) if each.kind == "summarise")
        asked.append(choice.at)
        draft = summarised(draft, choice, "In short.")
        measured = model.sizes(draft, context, 1800)
    assert len(asked) > 1
    assert asked == sorted(set(asked))


def test_a_summary_is_asked_of_as_many_turns_as_can_be():
    model, draft = Model(), replace(BIG, attached=())
    assert summarisable(model.sizes(draft, 10_000), draft, 6) == 6
    some = summarisable(model.sizes(draft, 2600), draft, 6)
    assert 0 < some < 6 and some % 2 == 0
    assert summarisable(model.sizes(draft, 2600), draft, 6, keep="names " * 300) < some
    assert summarisable(model.sizes(draft, 600), draft, 6) == 0
    assert summarisable(model.sizes(draft, 0), draft, 6) == 6
