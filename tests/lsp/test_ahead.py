"""What is read and computed while nobody waits."""

import asyncio
from dataclasses import replace

import pytest

from paceline.config import EditorConfig
from paceline.errors import EngineError
from paceline.lsp.ahead import CALM, Ahead, imported, likely
from paceline.lsp.completing import Answer, Completer
from paceline.lsp.engine import Engine
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.telling import Telling
from paceline.prompts.context import Attachment
from support.lsp_wire import until
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
        await until(lambda: completer.window(completer.desk(URI), place(LONG + "x = ")).full)
        (warm,) = infiller.warmed
        assert warm.options.priority == "background"
        assert [each.filename for each in warm.options.extra] == ["other.py"]
        await asked(completer, ahead, place(LONG + "x = y + "))
        small, large = infiller.completions
        assert len(large.prefix) > len(small.prefix)
        assert large.prefix.startswith(warm.prefix)
        assert large.options.extra == warm.options.extra

    asyncio.run(scenario())


def test_a_module_that_is_imported_is_looked_at_before_all_of_its_names_are_typed():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller, EditorConfig(prefetch=False))
        looked: list[str] = []
        completer.surroundings.refresh = lambda where: looked.append(where.before)  # type: ignore[method-assign]
        for typed in ("import os\n", "import os\nfrom mo", "import os\nfrom models import ", "import os\nx = 1\n"):
            completer.suggestions.clear()
            before = len(looked)
            await asked(completer, ahead, place(typed, ""))
            if typed.endswith(("\n", "import ")):
                await until(lambda: len(looked) > before)  # noqa: B023 - in this turn of the loop
            await asyncio.sleep(0.05)
        assert [each.split("\n", 1)[1] for each in looked] == ["", "from models import ", "x = 1\n"]

    asyncio.run(scenario())


def test_names_that_are_imported_from_the_same_module_change_nothing():
    before = imported(place("import os\nfrom models import Order"))
    assert imported(place("import os\nfrom models import Order, Customer\n\nx = ")) == before
    assert imported(place("import os\n")) < before


@pytest.mark.parametrize(
    "line", ["#include <a.h>", 'import x from "./x"', "use crate::a;", "const x = require('x');", "import a.b"]
)
def test_lines_that_import_are_known_in_many_languages(line):
    assert imported(place(f"{line}\nx = ")) == {line}


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
        await until(lambda: infiller.warmed)
        ahead.after(place(LONG[:5000], LONG[5000:]), answer)
        await until(lambda: len(infiller.warmed) > 1)
        first, second = infiller.warmed
        await until(lambda: first.cancelled)
        assert not second.cancelled

    asyncio.run(scenario())


def test_the_next_line_is_computed_as_if_the_suggestion_were_taken():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        where = place("def f():\n    x = ")
        await asked(completer, ahead, where)
        await until(lambda: infiller.prefetched and infiller.prefetched[0].over)
        await asyncio.sleep(0)
        (ahead_of_time,) = infiller.prefetched
        assert ahead_of_time.prefix == "def f():\n    x = 1\n    "
        answer = await completer.complete(place("def f():\n    x = 1\n    "))
        assert (answer.text, answer.source) == ("1", "prefetch")
        assert len(infiller.completions) == 1

    asyncio.run(scenario())


def test_what_was_computed_ahead_is_counted_once_however_often_it_is_shown():
    async def scenario() -> None:
        infiller = ScriptedInfiller(lambda prefix, suffix, options: "compute(a, b)")
        completer, ahead = desk(infiller)
        await asked(completer, ahead, place("x = "))
        await until(lambda: infiller.prefetched and infiller.prefetched[0].over)
        await asyncio.sleep(0)
        ahead.stop(URI)
        line = "x = compute(a, b)\n"
        answers = [await completer.complete(place(line + typed)) for typed in ("com", "comp", "", "com", "compute")]
        assert [each.source for each in answers] == ["prefetch", "cache", "cache", "cache", "cache"]
        assert len({id(each.found.suggestion) for each in answers if each.found}) == 1
        assert len(infiller.completions) == 1

    asyncio.run(scenario())


def test_what_was_computed_ahead_and_is_not_shown_does_not_count():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        await asked(completer, ahead, place("x = "))
        infiller.logprobs = (-9.0,)
        await until(lambda: infiller.prefetched and infiller.prefetched[0].over)
        await asyncio.sleep(0)
        assert (await completer.complete(place("x = 1\n"))).silence == "unsure"
        assert (await completer.complete(place("x = 1\n"), asked=True)).source == "prefetch"

    asyncio.run(scenario())


def test_what_somebody_has_asked_for_meanwhile_was_not_computed_ahead():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        await asked(completer, ahead, place("x = "))
        infiller.gate.clear()
        await until(lambda: infiller.prefetched)
        request = asyncio.create_task(completer.complete(place("x = 1\n")))
        await until(lambda: len(infiller.completions) == 2)
        infiller.gate.set()
        assert (await request).source == "engine"
        await until(lambda: infiller.prefetched[0].over)
        await asyncio.sleep(0)
        assert (await completer.complete(place("x = 1\n"))).source == "cache"

    asyncio.run(scenario())


def test_how_long_something_took_that_nobody_waited_for_is_no_latency():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        await asked(completer, ahead, place("x = "))
        latency = completer.desk(URI).rhythm.latency
        await until(lambda: infiller.prefetched and infiller.prefetched[0].over)
        await asyncio.sleep(0)
        assert completer.suggestions.find(place("x = 1\n"), *completer.engine.models)
        assert completer.desk(URI).rhythm.latency == latency

    asyncio.run(scenario())


def test_who_types_on_quickly_has_nothing_computed_for_what_was_not_taken():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        for char in "abc":
            await asked(completer, ahead, place(f"x = {char}"))
        await until(lambda: infiller.prefetched)
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
        await until(lambda: infiller.warmed and infiller.prefetched)
        ahead.stop(URI)
        await until(lambda: all(each.cancelled for each in infiller.warmed + infiller.prefetched))

    asyncio.run(scenario())


def test_behind_what_opens_a_block_the_next_line_is_indented():
    assert likely(place("if x"), ":").before == "if x:\n    "
    assert likely(place("\tif (x)"), " {").before == "\tif (x) {\n\t\t"
    assert likely(place("  x = "), "1").before == "  x = 1\n  "
    assert likely(place("  x = ", "\r\n"), "1").before == "  x = 1\r\n  "


@pytest.mark.parametrize(
    ("where", "settings"),
    [
        (place(LONG + "x = "), EditorConfig(enabled=False)),
        (place(LONG + "x = "), EditorConfig(disabled_languages=("python",))),
        (place(LONG + "x = "), EditorConfig(ignore=("a.py",))),
        (place(LONG + "x = "), EditorConfig(max_file_kb=1)),
        (replace(place(LONG + "x = "), path=".ssh/id_rsa"), DEFAULTS),
        (place("\x00" * 200 + LONG + "x = "), DEFAULTS),
    ],
    ids=["switched off", "another language", "ignored", "large", "secret", "binary"],
)
def test_a_document_that_gets_no_completions_is_not_read_either(where, settings):
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller, settings)
        await asked(completer, ahead, where)
        await asyncio.sleep(0.02)
        assert infiller.asked == []

    asyncio.run(scenario())


def test_a_document_that_the_rules_exclude_is_not_read_even_if_they_are_read_late():
    class Late(WithOthers):
        known = False

        def refresh(self, place: object) -> None:
            self.known = True

        def excluded(self, uri: str, path: str = "", root: str = "") -> bool:
            return self.known

    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer = Completer(Engine(infiller), Late(), Telling(lambda kind, text: None), DEFAULTS)
        ahead = Ahead(completer)
        await asked(completer, ahead, place(LONG + "x = "))
        await asyncio.sleep(0.05)
        assert len(infiller.completions) == 1
        assert infiller.warmed == []

    asyncio.run(scenario())


def test_nothing_is_computed_for_a_document_that_was_closed_before_its_answer_went_out():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller)
        answer = await completer.complete(place(LONG + "x = "))
        completer.close(URI)
        ahead.after(place(LONG + "x = "), answer)
        await asyncio.sleep(CALM + 0.1)
        assert len(infiller.asked) == 1
        assert URI not in completer.desks

    asyncio.run(scenario())


def test_other_files_that_a_change_of_the_settings_forbids_are_not_shown_any_more():
    async def scenario() -> None:
        infiller = ScriptedInfiller()
        completer, ahead = desk(infiller, EditorConfig(prefetch=False))
        where = place(LONG + "x = ")
        await asked(completer, ahead, where)
        await until(lambda: completer.window(completer.desk(URI), where).full)
        infiller.gate.clear()
        ahead.after(place(LONG[:5000], LONG[5000:]), Answer())  # another window is being read meanwhile
        await until(lambda: len(infiller.warmed) > 1)
        begun = len(infiller.asked)
        completer.configure(EditorConfig(prefetch=False, other_files=False), {})
        infiller.gate.set()
        for before, after in ((LONG[:5000], LONG[5000:]), (LONG + "x = ", REST)):
            await asked(completer, ahead, place(before, after))
            await asyncio.sleep(0.02)
            await asked(completer, ahead, place(before + "y", after))
        later = infiller.asked[begun:]
        assert later
        assert not any(each.options.extra for each in later)

    asyncio.run(scenario())
