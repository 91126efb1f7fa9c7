"""One editor's session: what it offers, what it is told, what it counts."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from paceline.config import Config, EditorConfig
from paceline.lsp.completing import Engine
from paceline.lsp.figures import Figures
from paceline.lsp.figures_store import Store
from paceline.lsp.options import PROJECT_FILE, given
from paceline.lsp.place import Place
from paceline.lsp.rhythm import Rhythm
from paceline.lsp.session import SHOWN, Session
from paceline.lsp.telling import Telling
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
        assert await desk.session.suggest(place("x = ")) == []
        assert desk.answers == ["ignored"]

    run(scenario)


def test_what_several_projects_leave_alone_adds_up(run, tmp_path):
    async def scenario() -> None:
        folders = [tmp_path / "one", tmp_path / "two"]
        for folder, name in zip(folders, ("a.py", "b.py"), strict=True):
            folder.mkdir()
            (folder / PROJECT_FILE).write_text(f'[editor]\nignore = ["{name}"]\n', encoding="utf-8")
        desk = Desk(tmp_path)
        await desk.session.read_projects(folders)
        assert desk.session.settings.ignore == ("a.py", "b.py")

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
        desk.session.changed(URI, before + "y" + REST, 4, 4, "y", lambda: place(before + "y"))
        await desk.session.suggest(place("os.path + "), chosen=True)
        desk.session.changed(URI, "os.p + z" + REST, 10, 10, "z", lambda: place("os.p + z"))
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
        await asyncio.sleep(0.01)
        (woken,) = desk.infiller.asked
        assert woken.options.warm
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
