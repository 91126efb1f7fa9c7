"""One editor's session: what it offers, what it is told, what it counts."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paceline.config import Config, EditorConfig
from paceline.errors import ConfigError, EngineError, ModelError
from paceline.lsp.engine import Engine
from paceline.lsp.figures import Figures
from paceline.lsp.figures_store import Store
from paceline.lsp.options import PROJECT_FILE, Own, given
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.session import SHOWN, Session
from paceline.lsp.telling import Telling
from support.lsp_wire import until
from support.scripted_infiller import NoSurroundings, ScriptedInfiller

URI = "file:///work/a.py"
REST = "\nprint(value, other, file=sys.stderr)\n"


def place(before: str, after: str = REST) -> Place:
    return Place(URI, "python", 1, before, after, "a.py")


class Desk:
    """A session and what came out of it."""

    def __init__(self, folder: Path, infiller: ScriptedInfiller | None = None, *, explain: bool = False) -> None:
        self.infiller = infiller or ScriptedInfiller()
        self.told: list[str] = []
        self.logged: list[str] = []
        self.answers: list[str] = []
        self.store = Store(folder / "figures.sqlite3")
        self.session = Session(
            Config(),
            Engine(self.infiller),
            NoSurroundings(),
            Telling(lambda kind, text: self.told.append(text)),
            Figures(self.store, lambda uri: None),
            self.logged.append,
            heard=lambda answer: self.answers.append(answer.silence or answer.source),
            explain=explain,
        )
        self.session.completer.desk(URI).rhythm = Rhythm(latency=0.0)

    def counted(self, what: str) -> int:
        return sum(count for (_, _, name), count in self.store.read().items() if name == what)


@pytest.fixture
def run() -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    return lambda scenario: asyncio.run(asyncio.wait_for(scenario(), 20))


def test_one_thing_is_offered_while_typing_and_several_by_hand(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path, ScriptedInfiller(lambda prefix, suffix, options: str(options.seed or 0)))
        assert [each.text for each in await desk.session.suggest(place("x = "))] == ["0"]
        assert [each.text for each in await desk.session.suggest(place("x = "), asked=True)] == ["0", "1", "2"]

    run(scenario)


def test_a_request_that_a_newer_one_takes_the_place_of_is_no_silence(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        desk.infiller.gate.clear()
        first = asyncio.create_task(desk.session.suggest(place("x = ")))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(desk.session.suggest(place("y = ")))
        await asyncio.sleep(0.01)
        desk.infiller.gate.set()
        assert await first == []
        assert len(await second) == 1
        assert "silent" not in desk.session.status()
        await desk.session.close()
        assert desk.counted("silent superseded") == 0

    run(scenario)


def test_the_same_thing_is_not_offered_twice(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        assert [each.text for each in await desk.session.suggest(place("x = "), asked=True)] == ["1"]

    run(scenario)


def test_every_silence_has_a_reason_that_the_log_tells_where_that_is_wanted(run, tmp_path):
    async def scenario() -> None:
        quiet, talking = Desk(tmp_path), Desk(tmp_path, explain=True)
        for desk in (quiet, talking):
            assert await desk.session.suggest(place("# this is ")) == []
            assert desk.answers == ["comment"]
        assert quiet.logged == []
        assert "comment" in talking.logged[0]
        assert "this is" not in talking.logged[0].partition(":")[0]
        assert "comment" in talking.session.status()

    run(scenario)


def test_settings_hold_from_then_on_and_forget_what_was_known(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        await desk.session.suggest(place("x = "))
        desk.session.configure(given("the editor", {"enabled": False}))
        assert await desk.session.suggest(place("x = ")) == []
        desk.session.configure(given("the editor", {}))
        assert await desk.session.suggest(place("x = "))
        assert len(desk.infiller.completions) == 2

    run(scenario)


def test_a_place_that_says_nothing_any_more_means_the_defaults_again(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        desk.session.configure(given("the editor", {"candidates": 1}))
        desk.session.configure(given("the editor", None))
        assert desk.session.settings == EditorConfig()

    run(scenario)


def test_a_project_says_what_is_left_alone(run, tmp_path):
    async def scenario() -> None:
        (tmp_path / PROJECT_FILE).write_text('[editor]\nignore = ["a.py"]\n', encoding="utf-8")
        desk = Desk(tmp_path)
        await desk.session.read_projects([tmp_path])
        assert await desk.session.suggest(replace(place("x = "), root=str(tmp_path))) == []
        assert desk.answers == ["ignored"]

    run(scenario)


def projects(folder: Path, *said: str) -> list[Path]:
    """Workspace folders, each with a file that says something."""
    folders = [folder / f"folder{number}" for number in range(len(said))]
    for each, text in zip(folders, said, strict=True):
        each.mkdir()
        (each / PROJECT_FILE).write_text(f"[editor]\n{text}\n", encoding="utf-8")
    return folders


def test_what_a_folder_says_holds_in_that_folder_alone(run, tmp_path):
    async def scenario() -> None:
        one, two = projects(tmp_path, "enabled = false", 'ignore = ["b.py"]')
        desk = Desk(tmp_path)
        await desk.session.read_projects([one, two])
        assert not await desk.session.suggest(replace(place("x = "), root=str(one)))
        assert await desk.session.suggest(replace(place("x = "), root=str(two)))
        assert not await desk.session.suggest(replace(place("x = "), root=str(two), path="b.py"))
        assert await desk.session.suggest(replace(place("x = "), root="", path="b.py"))
        assert [each for each in desk.answers if each not in ("engine", "cache")] == ["off", "ignored"]

    run(scenario)


def test_a_folder_that_goes_takes_what_it_said_along(run, tmp_path):
    async def scenario() -> None:
        (one,) = projects(tmp_path, "enabled = false")
        desk = Desk(tmp_path)
        await desk.session.read_projects([one])
        assert not await desk.session.suggest(replace(place("x = "), root=str(one)))
        await desk.session.read_projects([])
        assert await desk.session.suggest(replace(place("x = "), root=str(one)))

    run(scenario)


def test_the_editors_settings_win_over_a_projects_whichever_is_read_first(run, tmp_path):
    async def scenario() -> None:
        (one,) = projects(tmp_path, "comments = false")
        before, after = Desk(tmp_path), Desk(tmp_path)
        before.session.configure(given("the editor's initializationOptions", {"comments": True}))
        await before.session.read_projects([one])
        await after.session.read_projects([one])
        after.session.configure(given("the editor's initializationOptions", {"comments": True}))
        for desk in (before, after):
            assert await desk.session.suggest(replace(place("# this is "), root=str(one)))

    run(scenario)


def test_nothing_is_suggested_before_what_a_folder_says_is_known(run, tmp_path):
    async def scenario() -> None:
        (one,) = projects(tmp_path, "enabled = false")
        desk = Desk(tmp_path)
        reading = asyncio.ensure_future(desk.session.read_projects([one]))
        await asyncio.sleep(0)
        assert not await desk.session.suggest(replace(place("x = "), root=str(one)))
        assert desk.infiller.completions == []
        await reading

    run(scenario)


def test_a_project_with_thousands_of_settings_that_there_are_not_is_one_message(run, tmp_path):
    async def scenario() -> None:
        (one,) = projects(tmp_path, "\n".join(f"k{number} = 1" for number in range(3000)))
        desk = Desk(tmp_path)
        await desk.session.read_projects([one])
        (message,) = desk.told
        assert "'k0'" in message
        assert "2997 others" in message

    run(scenario)


def test_an_engine_that_hangs_is_ended_at_the_persons_wish_and_another_one_started(run, tmp_path):
    async def scenario() -> None:
        ended = []

        async def renew() -> bool:
            ended.append(True)
            return True

        desk = Desk(tmp_path)
        desk.session.renew = renew
        desk.session.restart()
        while not desk.infiller.warmed:
            await asyncio.sleep(0.001)
        assert ended == [True]
        assert "ended" in desk.told[0]

    run(scenario)


def test_an_engine_that_answers_is_started_anew_without_a_word(run, tmp_path):
    async def scenario() -> None:
        async def renew() -> bool:
            return False

        desk = Desk(tmp_path)
        desk.session.renew = renew
        desk.session.restart()
        await until(lambda: desk.infiller.warmed)
        assert desk.told == []
        await desk.session.close()

    run(scenario)


def test_an_engine_that_failed_is_asked_again_at_once_when_the_configuration_is_another(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path, ScriptedInfiller(error=ModelError("no models are chosen yet", "choose some")))
        assert await desk.session.suggest(place("x = ")) == []
        assert await desk.session.suggest(place("xy = ")) == []
        assert len(desk.infiller.completions) == 1
        news = [Own(Config())]
        desk.infiller.error = None
        desk.session.news = lambda: news.pop() if news else None
        assert await desk.session.suggest(place("xyz = "))
        assert len(desk.told) == 1
        await desk.session.close()

    run(scenario)


def test_what_was_accepted_is_counted(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path, ScriptedInfiller(lambda *_: "compute(a, b)"))
        (first,) = await desk.session.suggest(place("x = "))
        desk.session.accepted(first.number)
        (second,) = await desk.session.suggest(place("yy = "))
        desk.session.accepted(second.number, len("compute"))
        desk.session.accepted(99)
        await desk.session.close()
        assert (desk.counted("shown"), desk.counted("accepted"), desk.counted("whole")) == (2, 2, 1)

    run(scenario)


def test_what_an_editor_does_not_show_does_not_count_once_it_says_what_it_shows(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        (first,) = await desk.session.suggest(place("a = "))
        desk.session.seen(first.number)
        (second,) = await desk.session.suggest(place("b = "))
        await desk.session.suggest(place("c = "))
        desk.session.seen(second.number)
        desk.session.seen(second.number)
        desk.session.seen(12345)
        await desk.session.close()
        assert desk.counted("shown") == 2

    run(scenario)


def test_what_is_accepted_was_shown(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        desk.session.seen(0)
        (first,) = await desk.session.suggest(place("a = "))
        desk.session.accepted(first.number)
        await desk.session.close()
        assert (desk.counted("shown"), desk.counted("accepted")) == (1, 1)

    run(scenario)


def test_of_several_at_a_place_any_may_be_shown_and_they_count_as_one(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path, ScriptedInfiller(lambda prefix, suffix, options: str(options.seed or 0)))
        desk.session.seen(0)
        await desk.session.suggest(place("a = "))
        for one in (await desk.session.suggest(place("b = "), asked=True))[1:]:
            desk.session.seen(one.number)
        await desk.session.close()
        assert desk.counted("shown") == 1

    run(scenario)


def test_typing_something_else_sends_a_suggestion_away(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        before = "x = "
        await desk.session.suggest(place(before))
        desk.session.changed(URI, before + "y" + REST, 4, "", "y", lambda: place(before + "y"))
        await desk.session.suggest(place("os.path + "), chosen=True)
        desk.session.changed(URI, "os.p + z" + REST, 10, "", "z", lambda: place("os.p + z"))
        await desk.session.close()
        assert desk.counted("rejected") == 1

    run(scenario)


def test_only_so_many_suggestions_are_remembered(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        for number in range(SHOWN + 10):
            await desk.session.suggest(place(f"x{number} = "))
        assert len(desk.session.shown) == SHOWN

    run(scenario)


def test_another_engine_is_asked_again(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        await desk.session.suggest(place("x = "))
        desk.session.restart()
        await desk.session.suggest(place("x = "))
        assert len(desk.infiller.completions) == 2

    run(scenario)


def test_the_engine_is_woken_once_by_the_first_document(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        for number in range(3):
            desk.session.opened(f"file:///{number}.py", "", "", "python", "")
        await until(lambda: desk.infiller.asked)
        await asyncio.sleep(0.01)
        (woken,) = desk.infiller.asked
        assert woken.options.warm
        await desk.session.close()

    run(scenario)


@pytest.mark.parametrize("wrong", [ModelError, ConfigError])
def test_that_nothing_can_ever_be_completed_is_told_once_and_before_anybody_asks(run, tmp_path, wrong):
    async def scenario() -> None:
        desk = Desk(tmp_path, ScriptedInfiller(error=wrong("this model cannot infill", "choose another")))
        desk.session.opened(URI, "a.py", "", "python", "")
        await until(lambda: desk.told)
        await desk.session.suggest(place("x = "), asked=True)
        desk.session.opened("file:///b.py", "b.py", "", "python", "")
        assert desk.told == ["Paceline: this model cannot infill (choose another)"]
        await desk.session.close()

    run(scenario)


def test_what_may_have_passed_by_the_time_that_somebody_asks_is_not_told_before(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path, ScriptedInfiller(error=EngineError("it is just starting")))
        desk.session.opened(URI, "a.py", "", "python", "")
        await until(lambda: desk.infiller.asked and desk.infiller.asked[0].over)
        await asyncio.sleep(0.01)
        assert desk.told == []

    run(scenario)


def test_the_status_tells_what_part_of_what_was_computed_ahead_was_used(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        for number in range(2):
            await desk.session.suggest(place(f"x{number} = "))
            await until(lambda: len([each for each in desk.infiller.prefetched if each.over]) > number)  # noqa: B023
            await asyncio.sleep(0)
        for _ in range(3):
            await desk.session.suggest(place("x1 = 1\n"))
        assert "ahead       2 computed, 1 used (50 %)" in desk.session.status()
        await desk.session.close()

    run(scenario)


def test_where_a_person_looks_is_passed_on(run, tmp_path):
    async def scenario() -> None:
        desk, seen = Desk(tmp_path), list[object]()
        desk.session.surroundings.visible = lambda *where: seen.append(where)
        desk.session.surroundings.focused = lambda uri: seen.append(uri)
        desk.session.focused(URI)
        desk.session.focused(URI, (10, 50))
        assert seen == [URI, (URI, 10, 50)]
        await desk.session.close()

    run(scenario)


def test_nothing_is_woken_where_completions_are_off(run, tmp_path):
    async def scenario() -> None:
        desk = Desk(tmp_path)
        desk.session.configure(given("the editor", {"enabled": False}))
        desk.session.opened("file:///a.py", "", "", "python", "")
        await asyncio.sleep(0.01)
        assert desk.infiller.asked == []

    run(scenario)
