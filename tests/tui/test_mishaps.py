"""What goes wrong around the app costs nobody what they have written, and shows the model nothing unasked."""

import asyncio
import contextlib
import sqlite3

import pytest

from paceline.chat.edits.journal import Accepted
from paceline.client.events import End
from paceline.errors import ResourceError
from paceline.tui import sending
from paceline.tui.screens.confirm import ConfirmScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.screens.sessions import SessionsScreen
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript
from support.app_driving import chat, quiet, said, told, until, write


def shown(pilot):
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def obey(pilot, line):
    await write(pilot, line, send=False)
    await pilot.press("escape", "enter")
    await pilot.pause(0.2)


async def test_a_second_enter_while_it_is_measured_sends_nothing_twice_and_what_is_typed_stays(
    app, client, monkeypatch
):
    counted = asyncio.Event()

    async def follow(flow):
        flow.close()
        await counted.wait()
        return 0

    client.follow = follow
    async with app().run_test() as pilot:
        await write(pilot, "Hi", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot).query_one(Prompt).text == "")
        await pilot.press("enter", "m", "o", "r", "e")
        counted.set()
        client.follow = type(client).follow.__get__(client)
        await until(pilot, lambda: len(client.asked) == 1)
        await quiet(pilot)
        assert [text for role, text, _ in said(pilot) if role == "user"] == ["Hi"]
        assert chat(pilot).query_one(Prompt).text == "more"


async def test_a_message_that_cannot_be_kept_is_in_the_prompt_again(app, client, monkeypatch):
    async with app().run_test() as pilot:

        def full(*_):
            raise ResourceError("the disk is full", "make room")

        monkeypatch.setattr(chat(pilot).services.store, "add", full)
        await write(pilot, "Precious words")
        assert "disk is full" in told(pilot)
        assert chat(pilot).query_one(Prompt).text == "Precious words"


async def test_another_program_that_writes_into_the_sessions_holds_nothing_up(app, client):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "one")
        other = sqlite3.connect(here.services.store._database.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await write(pilot, "two", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: chat(pilot).going)
        await pilot.press("m", "o", "r", "e")
        assert chat(pilot).query_one(Prompt).text == "more"
        other.execute("ROLLBACK")
        other.close()
        await until(pilot, lambda: len(client.asked) == 2)
        await quiet(pilot)
        assert [text for role, text, _ in said(pilot) if role == "user"] == ["one", "two"]


async def test_another_program_that_writes_for_very_long_costs_no_message(app, client, monkeypatch):
    monkeypatch.setattr(sending, "PATIENCE", 0.1)
    here = app()
    async with here.run_test(notifications=True) as pilot:
        with contextlib.closing(sqlite3.connect(here.services.store._database.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await write(pilot, "Precious words", send=False)
            await pilot.press("enter")
            await until(pilot, lambda: "another program is writing" in told(pilot))
            assert chat(pilot).query_one(Prompt).text == "Precious words"
            assert said(pilot) == []


async def test_leaving_a_session_while_it_is_answered_keeps_what_came(app, client):
    client.gate.clear()
    async with app().run_test() as pilot:
        await write(pilot, "one", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: said(pilot)[-1:] == [("assistant", "Hello ", "streaming")])
        first = chat(pilot).conversation
        await pilot.press("ctrl+n")
        await until(pilot, lambda: said(pilot) == [])
        client.gate.set()
        await until(pilot, lambda: not first.answering)
        assert first.path[-1].state == "stopped"
        kept = chat(pilot).services.store.turns(first.session.id)
        assert [(turn.text, turn.state) for turn in kept] == [("one", "done"), ("Hello ", "stopped")]


async def test_what_goes_on_is_seen(app, client):
    client.says = lambda *_: ["begun", End("length")]
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        client.says = lambda *_: [" and ended"]
        await obey(pilot, "/continue")
        await quiet(pilot)
        await pilot.pause(0.3)
        assert "begun and ended" in shown(pilot)


async def test_only_looking_at_the_sessions_stops_nothing(app, client):
    client.gate.clear()
    async with app().run_test() as pilot:
        await write(pilot, "one", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: said(pilot)[-1:] == [("assistant", "Hello ", "streaming")])
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        client.gate.set()
        await quiet(pilot)
        assert said(pilot)[-1] == ("assistant", "Hello you.", "done")


@pytest.mark.parametrize("editor", ["/nowhere/at/all", "vi 'x", ""])
async def test_an_editor_that_is_not_there_is_said(app, editor):
    async with app(environ={"EDITOR": editor, "VISUAL": ""}).run_test() as pilot:
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "EDITOR" in told(pilot))


@pytest.mark.parametrize("line", ["/copy ²", "/save ²", "/copy " + "9" * 5000, "/export md " + "x" * 300, "/theme \0"])
async def test_nonsense_behind_a_command_is_said(app, line):
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        await obey(pilot, line)
        await until(pilot, lambda: told(pilot) != "" or pilot.app.screen is not chat(pilot))
        assert "report this fault" not in told(pilot)
        assert pilot.app.is_running


async def test_an_export_outside_of_the_workspace_is_asked_about(app):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "Hi")
        await obey(pilot, "/export md ../out.md")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert "OUTSIDE" in shown(pilot)
        await pilot.pause(0.6)
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert not (here.services.root.parent / "out.md").exists()


@pytest.mark.parametrize(
    ("line", "name", "begins"),
    [("/export page.html", "page.html", "<!doctype html"), ("/export md notes.txt", "notes.txt", "# ")],
)
async def test_an_export_is_what_its_name_says_or_what_is_asked_for(app, line, name, begins):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "Hi")
        await obey(pilot, line)
        await until(pilot, (here.services.root / name).exists)
        assert (here.services.root / name).read_text("utf-8").lower().startswith(begins)


async def test_an_export_of_which_nothing_says_what_it_is_to_be_is_not_written(app):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "Hi")
        await obey(pilot, "/export notes.txt")
        await until(pilot, lambda: "ends in none of .md" in told(pilot))
        assert not (here.services.root / "notes.txt").exists()


async def test_what_was_written_another_day_is_taken_back_only_after_a_yes(app):
    here = app()
    file = here.services.root / "a.py"
    file.write_text("old\n")
    here.services.journal().apply(here.services.root, [Accepted("a.py", "old\n", "new\n")])
    async with here.run_test() as pilot:
        await pilot.press("ctrl+z")
        await pilot.pause(0.2)
        assert file.read_text() == "new\n"
        await obey(pilot, "/undo")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.pause(0.6)
        await pilot.press("y")
        await until(pilot, lambda: file.read_text() == "old\n")


async def test_a_file_of_secrets_is_not_edited_by_a_model(app, client):
    here = app()
    (here.services.root / ".env").write_text("API_KEY=abc\n")
    async with here.run_test() as pilot:
        await obey(pilot, "/edit .env add a line")
        await until(pilot, lambda: "secrets" in told(pilot))
        assert client.asked == []


async def test_a_review_does_not_open_over_what_is_being_typed(app, client):
    client.says = lambda *_: ["```python\ny = 1\n```\n"]
    here = app()
    (here.services.root / "a.py").write_text("x = 1\n")
    async with here.run_test() as pilot:
        await write(pilot, "/edit a.py rename x to y", send=False)
        await pilot.press("escape", "enter")
        for _ in range(6):
            await pilot.press("a")
            await pilot.pause(0.2)
            assert pilot.app.screen is chat(pilot)
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        assert (here.services.root / "a.py").read_text() == "x = 1\n"


async def test_an_error_of_any_kind_ends_the_answer_and_is_said(app, client):
    client.error = OSError("no route")
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        turn = chat(pilot).conversation.path[-1]
        assert (turn.state, "no route" in turn.error) == ("failed", True)


async def test_a_summary_belongs_to_the_session_it_was_asked_for(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        await write(pilot, "two")
        client.gate.clear()
        await obey(pilot, "/compact")
        await until(pilot, lambda: len(client.asked) == 3)
        await pilot.press("ctrl+n")
        client.gate.set()
        await until(pilot, lambda: "another session" in told(pilot))
        await write(pilot, "Hi")
        assert len(client.asked[-1].said) == 2
        assert chat(pilot).query_one(Transcript) is not None
