"""A request's way: from what is known, from what is on its way, or from the engine."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from paceline.client.events import Completion, Extra, Options, Text, Usage
from paceline.config import EditorConfig
from paceline.errors import EngineError
from paceline.lsp import alternatives
from paceline.lsp.completing import GRACE, Answer, Completer
from paceline.lsp.engine import Engine
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.telling import Telling
from paceline.prompts.context import Attachment
from support.scripted_infiller import Asked, NoSurroundings, ScriptedInfiller

DEFAULTS = EditorConfig()
REST = "\nprint(value, other, file=sys.stderr)\nraise SystemExit(len(sys.argv) - 1)\n"
URI = "file:///work/a.py"


class Typist:
    """A document, the person who types in it, and what completes."""

    def __init__(self, infiller: ScriptedInfiller, settings: EditorConfig = DEFAULTS) -> None:
        self.infiller = infiller
        self.told: list[str] = []
        telling = Telling(lambda kind, text: self.told.append(text))
        self.completer = Completer(Engine(infiller), NoSurroundings(), telling, settings)
        self.completer.desk(URI).rhythm = Rhythm(latency=0.0)
        self.text, self.after = "", REST

    def place(self) -> Place:
        return Place(URI, "python", None, self.text, self.after, "a.py", "/work")

    def type(self, text: str) -> None:
        self.text += text
        self.completer.changed(URI, self.place, removed="", inserted=text)

    def delete(self, count: int = 1) -> None:
        removed, self.text = self.text[-count:], self.text[:-count]
        self.completer.changed(URI, self.place, removed=removed, inserted="")

    async def ask(self, *, asked: bool = False) -> Answer:
        return await self.completer.complete(self.place(), asked=asked)

    async def begins(self, text: str = "x = ") -> "asyncio.Task[Answer]":
        """Types, and asks of an engine that does not answer yet."""
        self.infiller.gate.clear()
        self.type(text)
        request = self.asks()
        await settle()
        return request

    def asks(self, *, asked: bool = False) -> "asyncio.Task[Answer]":
        return asyncio.create_task(self.ask(asked=asked))


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def continuing(text: str) -> Callable[..., str]:
    """An author who writes this text, whatever of it stands there already, line by line."""

    def says(prefix: str, *_: object) -> str:
        assert text.startswith(prefix) or text.find(prefix) >= 0
        at = text.find(prefix) + len(prefix)
        return text[at:].split("\n", 1)[0]

    return says


def test_the_engine_is_asked_with_what_stands_before_and_after():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        typist.type("import os\nx = ")
        answer = await typist.ask()
        assert (answer.text, answer.source) == ("1", "engine")
        (asked,) = typist.infiller.completions
        assert asked.prefix == "import os\nx = "
        assert asked.suffix
        assert REST.startswith(asked.suffix)
        assert asked.options.anchor == len("x = ")
        assert asked.options.filename == "a.py"

    run(scenario)


def test_typing_what_is_suggested_asks_nobody():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(continuing("value = compute(a, b)")))
        typist.type("value = ")
        assert (await typist.ask()).text == "compute(a, b)"
        for char in "compute(a":
            typist.type(char)
            answer = await typist.ask()
            assert answer.source == "cache"
        assert answer.text == ", b)"
        assert len(typist.infiller.completions) == 1

    run(scenario)


def test_a_suggestion_is_shown_once_what_the_model_was_not_sure_of_has_been_typed():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(continuing("import os\nvalue = compute(a, b)")))
        typist.infiller.tokens = ("compute", "(", "a", ",", " b", ")")
        typist.infiller.logprobs = (-1.4, -0.4, -0.4, -0.0, -0.0, -0.0)
        typist.type("import os\nvalue = ")
        assert (await typist.ask()).silence == "unsure"
        typist.type("comp")
        assert (await typist.ask()).silence == "unsure"
        typist.type("ute")
        answer = await typist.ask()
        assert (answer.text, answer.source) == ("(a, b)", "cache")

    run(scenario)


DOCSTRING = 'def area(width, height):\n    """The area of a rectangle."""\n    return width * height'


def test_who_takes_a_part_of_a_docstring_that_was_shown_is_offered_the_rest():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(continuing(DOCSTRING)))
        typist.type(DOCSTRING[:29])
        shown = (await typist.ask()).text
        typist.type(shown[: shown.index(" ")])
        assert (await typist.ask()).text == shown[shown.index(" ") :]

    run(scenario)


def test_a_docstring_that_was_not_shown_is_left_to_people():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(continuing(DOCSTRING)))
        typist.infiller.logprobs = (-9.0,)
        typist.type(DOCSTRING[:29])
        assert (await typist.ask()).silence == "unsure"
        typist.type('"""The')
        assert (await typist.ask()).silence == "comment"

    run(scenario)


def test_typing_something_else_asks_again_and_the_window_stays():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        typist.type("x = ")
        await typist.ask()
        typist.type("y + ")
        await typist.ask()
        first, second = typist.infiller.completions
        assert second.prefix.startswith(first.prefix)
        assert second.suffix == first.suffix
        assert second.options.anchor == len("x = y + ")

    run(scenario)


def test_a_request_in_flight_that_agrees_is_awaited():
    async def scenario() -> None:
        infiller = ScriptedInfiller(continuing("x = alpha + beta"), partial=("al",))
        typist = Typist(infiller)
        first = await typist.begins()
        typist.type("a")
        second = typist.asks()
        await settle()
        infiller.gate.set()
        assert (await first).silence == "superseded"
        answer = await second
        assert (answer.text, answer.source) == ("lpha + beta", "flight")
        assert len(infiller.completions) == 1

    run(scenario)


def test_a_request_in_flight_that_does_not_agree_is_stopped_at_once():
    async def scenario() -> None:
        infiller = ScriptedInfiller(partial=("al",))
        typist = Typist(infiller)
        first = await typist.begins()
        typist.type("z")
        await settle()
        assert infiller.completions[0].cancelled
        assert (await first).silence == "superseded"

    run(scenario)


def test_the_newest_request_wins_though_nothing_is_ever_cancelled():
    async def scenario() -> None:
        infiller = ScriptedInfiller(partial=("1",))
        typist = Typist(infiller)
        infiller.gate.clear()
        asks = []
        for char in "abcdefgh":
            typist.type(char)
            asks.append(typist.asks())
            await settle()
        infiller.gate.set()
        answers = await asyncio.gather(*asks)
        assert [each.silence for each in answers[:-1]] == ["superseded"] * 7
        assert answers[-1].text
        assert sum(not each.cancelled for each in infiller.completions) == 1

    run(scenario)


def test_a_flight_that_turns_out_to_say_something_else_is_replaced_by_another():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        first = await typist.begins()
        typist.type("b")
        second = typist.asks()
        await settle()
        assert len(infiller.completions) == 1
        infiller.completions[0].notice(Text("al"))
        await settle()
        assert infiller.completions[0].cancelled
        infiller.gate.set()
        assert (await first).silence == "superseded"
        assert (await second).text == "1"
        assert infiller.completions[1].prefix == "x = b"

    run(scenario)


def test_a_cancelled_request_leaves_what_is_computed_to_the_next_one():
    async def scenario() -> None:
        infiller = ScriptedInfiller(continuing("x = alpha"), partial=("al",))
        typist = Typist(infiller)
        first = await typist.begins()
        typist.type("a")
        first.cancel()
        await settle()
        second = typist.asks()
        await settle()
        infiller.gate.set()
        assert (await second).text == "lpha"
        assert first.cancelled()
        assert len(infiller.completions) == 1

    run(scenario)


def test_what_nobody_waits_for_any_more_ends_after_a_moment():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        first = await typist.begins()
        first.cancel()
        await asyncio.sleep(2 * GRACE)
        assert infiller.completions[0].cancelled

    run(scenario)


def test_somebody_who_cancels_everything_gets_an_answer_in_the_end():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        for char in "x = value":
            typist.type(char)
            request = typist.asks()
            await asyncio.sleep(0)
            request.cancel()
        assert (await typist.ask()).text == "1"

    run(scenario)


def test_the_same_place_after_another_suffix_is_asked_about_again():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(lambda prefix, suffix, _: "1" if "two" not in suffix else "2"))
        typist.type("x = ")
        typist.after = "\none" + REST
        assert (await typist.ask()).text == "1"
        typist.after = "\ntwo" + REST
        assert (await typist.ask()).text == "2"

    run(scenario)


def test_an_engine_that_fails_is_told_once_and_left_alone_for_a_while():
    async def scenario() -> None:
        infiller = ScriptedInfiller(error=EngineError("it broke", "mend it"))
        typist = Typist(infiller)
        for char in "abcdef":
            typist.type(char)
            assert (await typist.ask()).silence == "engine"
        assert len(typist.told) == 1
        assert len(infiller.completions) == 1

    run(scenario)


class Timed(ScriptedInfiller):
    """Says how long it read: slowly, where somebody else had to be served in between."""

    async def complete(self, prefix, suffix, options, notice):
        done = await super().complete(prefix, suffix, options, notice)
        taken = 100.0 if options.priority == "completion" else 10_000.0
        timings = {"prompt_n": 100, "prompt_ms": taken, "usual_prompt_per_second": 1000.0}
        return replace(done, timings=timings)


def test_how_fast_an_engine_reads_is_learned_from_what_nobody_disturbs():
    async def scenario() -> None:
        typist = Typist(Timed())
        typist.type("x = ")
        window = typist.completer.window(typist.completer.desk(URI), typist.place())
        await typist.completer.warm(typist.place(), window)
        await typist.completer.compute_ahead(typist.place(), window)
        assert typist.completer.engine.reach.speed == 1000.0
        typist.type("y + ")
        await typist.ask()
        assert typist.completer.engine.reach.speed == pytest.approx(1000.0)

    run(scenario)


def test_nothing_is_known_of_the_speed_of_another_engine():
    engine = Engine(ScriptedInfiller())
    usual = engine.reach.speed
    engine.reach.told(1e6)
    engine.renewed()
    assert engine.reach.speed == usual


def test_after_a_failure_a_small_window_is_read_first_again():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        typist.type("".join(f"value_{number} = {number}\n" for number in range(300)))
        desk = typist.completer.desk(URI)
        _, full = typist.completer.engine.budgets(0.4)
        large = desk.windows.wanted(typist.place(), full, ())
        assert large is not None
        desk.windows.began(large)
        desk.windows.ended(large, read=True)
        typist.type("x = ")
        await typist.ask()
        infiller.error = EngineError("it broke")
        typist.type("y + ")
        await typist.ask()
        infiller.error = None
        await typist.ask(asked=True)
        before, _, after = infiller.completions
        assert before.prefix.startswith(large.prefix)
        assert len(after.prefix) < len(large.prefix)

    run(scenario)


def test_asking_by_hand_tries_a_failed_engine_again():
    async def scenario() -> None:
        infiller = ScriptedInfiller(error=EngineError("it broke"))
        typist = Typist(infiller)
        typist.type("x = ")
        await typist.ask()
        infiller.error = None
        assert (await typist.ask(asked=True)).text == "1"

    run(scenario)


def test_an_error_of_a_request_that_nobody_waits_for_disturbs_nobody():
    async def scenario() -> None:
        infiller = ScriptedInfiller(error=EngineError("it broke"))
        typist = Typist(infiller)
        first = await typist.begins()
        first.cancel()
        infiller.gate.set()
        await settle()
        assert typist.told == []

    run(scenario)


def test_a_suggestion_the_model_is_not_sure_of_stays_hidden_unless_asked_for():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(logprobs=(-9.0, -9.0)))
        typist.type("x = ")
        hidden = await typist.ask()
        assert not hidden.text
        assert hidden.silence
        assert (await typist.ask(asked=True)).text == "1"

    run(scenario)


@pytest.mark.parametrize(
    ("text", "count"),
    [("x = 10", 1), ("if x:\n        ", 4), ("x = 1\n    ", 5), ("x = 1\r\n", 2), ("f()", 2), ('x = ""', 2)],
    ids=["character", "step of indentation", "line's end with blanks", "line's end", "pair", "quotes"],
)
def test_nothing_is_asked_where_one_deletes(text: str, count: int):
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        typist.type(f"import os\n{text}")
        typist.delete(count)
        assert (await typist.ask()).silence == "deleted"
        assert typist.infiller.completions == []

    run(scenario)


@pytest.mark.parametrize(("text", "count"), [("x = 10\n", 5), ("x = (1)", 3), ("x =    ", 3), ("x = 1\ny\n", 3)])
def test_to_take_away_more_at_once_is_no_such_deletion(text: str, count: int):
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        typist.type(f"import os\n{text}")
        typist.delete(count)
        assert (await typist.ask()).silence != "deleted"

    run(scenario)


def test_elsewhere_one_is_asked_after_a_deletion():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        typist.type("import oss")
        typist.delete()
        assert (await typist.ask()).silence == "deleted"
        then = typist.text
        typist.text = then + REST + "x = "
        assert (await typist.ask()).text == "1"
        typist.text = then
        assert (await typist.ask()).silence == "deleted"
        typist.type("\ny = ")
        typist.type("1\n")
        typist.text = then
        assert (await typist.ask()).silence != "deleted"

    run(scenario)


def test_where_a_cell_was_deleted_in_is_counted_in_its_own_text():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())

        def cell(before: str) -> Place:
            return replace(typist.place(), before="import os\n" + before, elsewhere=10)

        await typist.completer.complete(cell("x = 12"))
        typist.completer.changed(URI, lambda: cell("x = 1"), removed="2", inserted="")
        assert (await typist.completer.complete(cell("x = 1"))).silence == "deleted"
        assert (await typist.completer.complete(replace(cell("x = 1"), elsewhere=0))).silence != "deleted"

    run(scenario)


def test_a_jump_stops_what_is_computed_for_the_other_place():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        first = await typist.begins()
        typist.text, typist.after = "", "\n" + "x = " + REST
        second = typist.asks(asked=True)
        await settle()
        infiller.gate.set()
        assert (await first).silence == "superseded"
        assert (await second).text
        assert infiller.completions[0].cancelled

    run(scenario)


def test_closing_a_document_stops_what_is_computed_for_it():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        request = await typist.begins()
        typist.completer.close(URI)
        await settle()
        assert infiller.completions[0].cancelled
        assert (await request).silence == "superseded"
        assert URI not in typist.completer.desks

    run(scenario)


def test_secrets_around_the_cursor_are_not_sent_and_lengths_stay():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        key = "AKIA" + "QWERTYUIOPASDFGH"
        typist.type(f"aws = '{key}'\nclient = connect(aws)\nx = ")
        typist.after = f"\nother = '{key}'" + REST
        assert (await typist.ask()).text
        (asked,) = typist.infiller.completions
        assert key not in asked.prefix + asked.suffix
        assert len(asked.prefix) == len(typist.text)

    run(scenario)


def test_texts_that_an_answer_may_repeat_go_along_and_are_not_shown():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller())
        typist.completer.surroundings.quotable = lambda place: (Attachment("b.py", "value = 1"),)
        typist.type("x = ")
        await typist.ask()
        (asked,) = typist.infiller.completions
        assert list(asked.options.references) == [Extra("b.py", "value = 1")]
        assert asked.options.extra == ()

    run(scenario)


class Alternating(ScriptedInfiller):
    """Answers with one model and another by turns, as an engine does that has two of them."""

    async def complete(self, prefix, suffix, options, notice):
        done = await super().complete(prefix, suffix, options, notice)
        return replace(done, model=f"model {len(self.asked) % 2}")


def test_models_that_take_turns_know_what_each_other_said():
    async def scenario() -> None:
        typist = Typist(Alternating(continuing("value = compute(a, b)")))
        for text in ("v", "value ="):
            typist.text = ""
            typist.type(text)
            await typist.ask()
        typist.text = ""
        typist.type("val")
        await typist.ask()
        asked = len(typist.infiller.completions)
        for text in ("value", "value = c", "valu"):
            typist.text = ""
            typist.type(text)
            assert (await typist.ask()).source == "cache"
        assert len(typist.infiller.completions) == asked

    run(scenario)


def test_an_answer_is_used_though_another_model_has_answered_meanwhile():
    async def scenario() -> None:
        infiller = ScriptedInfiller(model="large")
        typist = Typist(infiller)
        request = await typist.begins()
        infiller.gate.set()
        typist.completer.engine._heard_of("small")
        while not request.done():
            await asyncio.sleep(0)
            typist.completer.engine._heard_of("small")  # as prefetched completions do
        assert (await request).text == "1"
        assert len(infiller.completions) <= 2

    run(scenario)


def test_what_a_model_said_that_another_has_replaced_is_forgotten():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(model="old"))
        typist.type("x = ")
        await typist.ask()
        typist.infiller.model = "new"
        typist.type("y + ")
        await typist.ask()
        typist.text = "x = "
        assert (await typist.ask()).source == "engine"

    run(scenario)


def drawing(infiller: ScriptedInfiller) -> list[Asked]:
    return [each for each in infiller.asked if each.options.seed]


class Undecided(ScriptedInfiller):
    """Knows the likeliest thing at once; the others only when its gate opens."""

    async def complete(self, prefix, suffix, options, notice):
        if options.seed is not None:
            return await super().complete(prefix, suffix, options, notice)
        self.asked.append(Asked(prefix, suffix, options, notice))
        return Completion("first()", "stop", Usage(9, 1, 0), {}, self.model, logprobs=self.logprobs)


async def undecided(typist: Typist) -> "asyncio.Task[list[Answer]]":
    """Somebody has asked by hand, has the first thing, and waits for two others that do not come yet."""
    typist.infiller.gate.clear()
    typist.type("x = ")
    assert (await typist.ask(asked=True)).text == "first()"
    others = asyncio.create_task(typist.completer.alternatives(typist.place(), 2))
    await settle()
    assert len(drawing(typist.infiller)) == 2
    return others


def says_seed(prefix: str, suffix: str, options: Options) -> str:
    return f"number_{options.seed}()"


def test_the_next_key_stops_alternatives_though_nothing_is_cancelled():
    async def scenario() -> None:
        typist = Typist(Undecided(says_seed))
        others = await undecided(typist)
        typist.type("f")
        await settle()
        assert all(each.cancelled for each in drawing(typist.infiller))
        assert await others == []

    run(scenario)


def test_a_request_elsewhere_stops_alternatives():
    async def scenario() -> None:
        typist = Typist(Undecided(says_seed))
        others = await undecided(typist)
        typist.text = "y = "
        await typist.ask()
        assert all(each.cancelled for each in drawing(typist.infiller))
        assert await others == []

    run(scenario)


@pytest.mark.parametrize("end", ["cancel", "close", "reset"])
def test_alternatives_that_nobody_can_see_any_more_are_stopped(end: str):
    async def scenario() -> None:
        typist = Typist(Undecided(says_seed))
        others = await undecided(typist)
        if end == "cancel":
            others.cancel()
        elif end == "close":
            typist.completer.close(URI)
        else:
            typist.completer.reset()
        await settle()
        assert all(each.cancelled for each in drawing(typist.infiller))
        assert others.done()

    run(scenario)


def test_alternatives_wait_behind_whatever_somebody_else_waits_for():
    async def scenario() -> None:
        typist = Typist(Undecided(says_seed))
        await undecided(typist)
        assert {each.options.priority for each in drawing(typist.infiller)} == {"prefetch"}

    run(scenario)


def test_nobody_waits_for_alternatives_for_long_and_they_are_there_when_asked_again(monkeypatch):
    async def scenario() -> None:
        monkeypatch.setattr(alternatives, "PATIENCE", 0.0)
        typist = Typist(Undecided(says_seed))
        assert await (await undecided(typist)) == []
        typist.infiller.gate.set()
        await settle()
        asked = len(typist.infiller.asked)
        assert (await typist.ask(asked=True)).source == "cache"
        others = await typist.completer.alternatives(typist.place(), 2)
        assert [(each.text, each.source) for each in others] == [("number_1()", "cache"), ("number_2()", "cache")]
        assert len(typist.infiller.asked) == asked

    run(scenario)


def test_who_asks_again_while_alternatives_are_drawn_does_not_begin_anew(monkeypatch):
    async def scenario() -> None:
        typist = Typist(Undecided(says_seed))
        await undecided(typist)
        await typist.ask(asked=True)
        again = asyncio.create_task(typist.completer.alternatives(typist.place(), 2))
        await settle()
        typist.infiller.gate.set()
        assert [each.text for each in await again] == ["number_1()", "number_2()"]
        assert len(drawing(typist.infiller)) == 2

    run(scenario)


def test_an_alternative_is_found_again_while_it_is_typed_and_never_in_the_place_of_the_likeliest():
    async def scenario() -> None:
        typist = Typist(Undecided(says_seed))
        others = await undecided(typist)
        typist.infiller.gate.set()
        await others
        assert (await typist.ask()).text == "first()"
        typist.type("number_2")
        answer = await typist.ask()
        assert (answer.text, answer.source) == ("()", "cache")

    run(scenario)


def test_several_things_can_be_had_by_hand():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(lambda prefix, suffix, options: str(options.seed or 0)))
        typist.type("x = ")
        assert (await typist.ask(asked=True)).text == "0"
        others = await typist.completer.alternatives(typist.place(), 2)
        assert [each.text for each in others] == ["1", "2"]

    run(scenario)


@pytest.mark.parametrize("flood", [200])
def test_a_flood_of_changes_asks_for_little(flood: int):
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        typist.completer.desk(URI).rhythm = Rhythm(latency=0.5)
        asks = []
        for number in range(flood):
            typist.type(chr(97 + number % 26))
            asks.append(typist.asks())
            await asyncio.sleep(0)
        answers = await asyncio.gather(*asks)
        assert [each.silence for each in answers[:-1]] == ["superseded"] * (flood - 1)
        assert len(infiller.completions) < flood / 4

    run(scenario)


def test_what_could_steer_a_terminal_is_no_part_of_a_suggestion():
    async def scenario() -> None:
        typist = Typist(ScriptedInfiller(lambda *_: "\x1b[31mlen(value)\x07"))
        typist.type("x = ")
        assert (await typist.ask()).text == "len(value)"

    run(scenario)


def test_an_error_of_one_document_is_told_once_while_another_is_answered():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        typist = Typist(infiller)
        for _ in range(4):
            infiller.error = EngineError("it broke")
            typist.type("x = ")
            await typist.ask(asked=True)
            infiller.error = None
            await typist.completer.complete(replace(typist.place(), uri="file:///work/b.py"), asked=True)
            typist.completer.suggestions.clear()
        assert len(typist.told) == 1

    run(scenario)
