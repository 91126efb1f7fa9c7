"""What is read and computed while nobody waits."""

import asyncio

from paceline.config import EditorConfig
from paceline.errors import EngineError
from paceline.lsp.ahead import CALM, Ahead, likely
from paceline.lsp.completing import Completer, Engine
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.telling import Telling
from paceline.prompts.context import Attachment
from support.scripted_infiller import NoSurroundings, ScriptedInfiller

DEFAULTS = EditorConfig()
REST = "\nprint(value, other, file=sys.stderr)\nraise SystemExit(len(sys.argv) - 1)\n"
URI = "file:///work/a.py"
LONG = "".join(f"value_{number} = {number}\n" for number in range(400))


def place(before: str, after: str = REST) -> Place:
    return Place(URI, "python", None, before, after, "a.py")


class WithOthers(NoSurroundings):
    def gather(self, place: object, characters: int) -> tuple[Attachment, ...]:
        return (Attachment("other.py", "def f(): ..."),)


def desk(infiller: ScriptedInfiller, settings: EditorConfig = DEFAULTS) -> tuple[Completer, Ahead]:
    completer = Completer(Engine(infiller), WithOthers(), Telling(lambda kind, text: None), settings)
    completer.desk(URI).rhythm = Rhythm(latency=0.0)
    return completer, Ahead(completer)


async def asked(completer: Completer, ahead: Ahead, where: Place) -> str:
    answer = await completer.complete(where)
    ahead.after(where, answer)
    return answer.source


def test_the_large_window_is_read_in_the_background_and_then_used():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        await asked(completer, ahead, place(LONG + "x = "))
        await asyncio.sleep(0.02)
        (warm,) = infiller.warmed
        assert warm.options.priority == "background"
        assert [each.filename for each in warm.options.extra] == ["other.py"]
        await asked(completer, ahead, place(LONG + "x = y + "))
        small, large = infiller.completions
        assert len(large.prefix) > len(small.prefix)
        assert large.prefix.startswith(warm.prefix)
        assert large.options.extra == warm.options.extra

    asyncio.run(scenario())


def test_typing_on_does_not_begin_the_reading_again():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller, EditorConfig(prefetch=False))
        where = place(LONG + "x = ")
        answer = await completer.complete(where)
        infiller.gate.clear()
        for typed in ("", "y", "yz", "yz + "):
            ahead.after(place(LONG + "x = " + typed), answer)
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(infiller.warmed) == 1

    asyncio.run(scenario())


def test_a_jump_stops_the_reading_and_begins_another():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller, EditorConfig(prefetch=False))
        answer = await completer.complete(place(LONG + "x = "))
        infiller.gate.clear()
        ahead.after(place(LONG + "x = "), answer)
        await asyncio.sleep(0.01)
        ahead.after(place(LONG[:5000], LONG[5000:]), answer)
        await asyncio.sleep(0.01)
        first, second = infiller.warmed
        assert first.cancelled
        assert not second.cancelled

    asyncio.run(scenario())


def test_the_next_line_is_computed_as_if_the_suggestion_were_taken():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        where = place("def f():\n    x = ")
        await asked(completer, ahead, where)
        await asyncio.sleep(CALM + 0.1)
        (ahead_of_time,) = infiller.prefetched
        assert ahead_of_time.prefix == "def f():\n    x = 1\n    "
        answer = await completer.complete(place("def f():\n    x = 1\n    "))
        assert (answer.text, answer.source) == ("1", "prefetch")
        assert len(infiller.completions) == 1

    asyncio.run(scenario())


def test_who_types_on_quickly_has_nothing_computed_for_what_was_not_taken():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        for char in "abc":
            await asked(completer, ahead, place(f"x = {char}"))
        await asyncio.sleep(CALM + 0.1)
        assert len(infiller.prefetched) == 1

    asyncio.run(scenario())


def test_nothing_is_computed_ahead_where_that_is_switched_off():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller, EditorConfig(prefetch=False))
        await asked(completer, ahead, place("x = "))
        await asyncio.sleep(CALM + 0.1)
        assert infiller.prefetched == []

    asyncio.run(scenario())


def test_a_failure_ahead_of_time_is_no_news():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        answer = await completer.complete(place(LONG + "x = "))
        infiller.error = EngineError("it broke")
        ahead.after(place(LONG + "x = "), answer)
        await asyncio.sleep(CALM + 0.1)
        infiller.error = None
        assert not completer.window(completer.desk(URI), place(LONG + "x = ")).full

    asyncio.run(scenario())


def test_closing_a_document_stops_both():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        answer = await completer.complete(place(LONG + "x = "))
        infiller.gate.clear()
        ahead.after(place(LONG + "x = "), answer)
        await asyncio.sleep(CALM + 0.1)
        ahead.stop(URI)
        await asyncio.sleep(0.01)
        assert all(each.cancelled for each in infiller.warmed + infiller.prefetched)

    asyncio.run(scenario())


def test_behind_what_opens_a_block_the_next_line_is_indented():
    assert likely(place("if x"), ":").before == "if x:\n    "
    assert likely(place("\tif (x)"), " {").before == "\tif (x) {\n\t\t"
    assert likely(place("  x = "), "1").before == "  x = 1\n  "
    assert likely(place("  x = ", "\r\n"), "1").before == "  x = 1\r\n  "
