"""Conversations are found as one types, opened, renamed, copied, written to files and deleted."""

import json

import pytest
from textual.widgets import OptionList

from paceline.chat.store import Store
from paceline.chat.turns import Turn
from paceline.errors import InputError
from paceline.tui.exporting import kind_of
from paceline.tui.screens.confirm import ConfirmScreen
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.sessions import SessionsScreen
from support.screens import showing

TALKS = (
    ("Sort a list", "Use sorted(values)."),
    ("Parse TOML", "Take tomllib.loads [bold]here[/bold]."),
    ("日本", "語 \x1b[2J"),
)


@pytest.fixture
def store():
    kept = Store(None)
    for question, answer in TALKS:
        session = kept.create("/work")
        first = kept.add(session.id, Turn(0, None, "user", question))
        kept.add(session.id, Turn(0, first.id, "assistant", answer))
    yield kept
    kept.close()


def ids(store):
    return [summary.session.id for summary in store.list()]


def listed(seen):
    return [option.id for option in seen.app.first.query_one("#found", OptionList).options]


async def there(seen, kind):
    """Until a screen of this kind is in front."""
    for _ in range(500):
        if isinstance(seen.app.screen, kind):
            await seen.pilot.pause()
            return
        await seen.pilot.pause(0.01)
    raise AssertionError(f"it is {seen.app.screen}")


async def export(seen, name):
    """Export the chosen session to a file of this name."""
    await seen.press("f4")
    await again(seen, name)


async def again(seen, name=""):
    """Enter a name for the file; "": the one that is there."""
    await there(seen, NamingScreen)
    await seen.press(*(["ctrl+u", *name] if name else []), "enter")


async def answer(seen, key):
    """To the question whether to write the file."""
    await there(seen, ConfirmScreen)
    await seen.press(key)


async def test_the_newest_stands_first_and_enter_opens_it(store):
    async with showing(SessionsScreen(store)) as seen:
        assert listed(seen) == ids(store)
        await seen.press("enter")
        assert seen.result == ids(store)[0]


async def test_arrows_choose_another_one(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press("down", "down", "up", "enter")
        assert seen.result == ids(store)[1]


async def test_escape_opens_nothing(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press("escape")
        assert seen.result is None


async def test_typing_finds_text_in_messages(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press(*"loads")
        assert "Parse TOML" in seen.text
        assert "tomllib.loads [bold]here[/bold]" in seen.text
        assert "Sort a list" not in seen.text
        await seen.press("enter")
        assert store.session(seen.result).title == "Parse TOML"


async def test_several_keys_between_two_pictures_are_one_search(store, monkeypatch):
    searches = []
    monkeypatch.setattr(store, "list", lambda query="", _list=store.list: searches.append(query) or _list(query))
    async with showing(SessionsScreen(store)) as seen:
        searches.clear()
        field = seen.app.first.query_one("#query")
        for end in range(1, 6):
            field.value = "loads"[:end]
        await seen.pilot.pause()
        assert searches == ["loads"]


async def test_what_is_looked_for_already_is_found_at_once(store):
    async with showing(SessionsScreen(store, query="sorted")) as seen:
        assert listed(seen) == [ids(store)[2]]


async def test_nothing_found_is_said(store):
    async with showing(SessionsScreen(store, query="zebra")) as seen:
        assert "Nothing is found" in seen.text
        await seen.press("enter", "f2", "f3", "f4", "f8")
        assert not seen.gone


async def test_the_beginning_of_a_query_can_be_anything_a_person_types(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press('"', "*", "(", "'", "%", "-", "[", "backslash")
        assert "Nothing is found" in seen.text


async def test_a_title_is_changed_in_place(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press("down", "f2", "ctrl+u", *"Mine", "enter")
        assert store.list()[1].session.title == "Mine"
        assert "Mine" in seen.text
        await seen.press("enter")
        assert seen.result == ids(store)[1]


async def test_escape_while_renaming_changes_nothing(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press("f2", *"xx", "escape")
        assert [each.session.title for each in store.list()] == ["日本", "Parse TOML", "Sort a list"]
        assert not seen.gone


async def test_a_copy_is_chosen_when_it_is_made(store):
    async with showing(SessionsScreen(store)) as seen:
        before = ids(store)
        await seen.press("down", "f3", "enter")
        assert seen.result not in before
        assert [turn.text for turn in store.turns(seen.result)] == list(TALKS[1])


async def test_an_empty_session_cannot_be_copied(store):
    empty = store.create("/work")
    async with showing(SessionsScreen(store)) as seen:
        assert listed(seen)[0] == empty.id
        await seen.press("f3")
        assert "nothing in this session to copy" in seen.text


async def test_deleting_asks_first_and_no_is_the_default(store):
    async with showing(SessionsScreen(store)) as seen:
        await seen.press("f8")
        assert isinstance(seen.app.screen, ConfirmScreen)
        await seen.press("enter")
        assert len(ids(store)) == 3
        await seen.press("f8", "y")
        assert [each.session.title for each in store.list()] == ["Parse TOML", "Sort a list"]
        assert listed(seen) == ids(store)


async def test_the_session_that_is_open_cannot_be_deleted(store):
    async with showing(SessionsScreen(store, current=ids(store)[0])) as seen:
        await seen.press("f8")
        assert "This session is open" in seen.text
        assert len(ids(store)) == 3


@pytest.mark.parametrize(("ending", "holds"), [("md", "Use sorted"), ("json", '"Use sorted'), ("html", "Use sorted")])
async def test_a_session_is_written_as_the_ending_says(store, tmp_path, ending, holds):
    async with showing(SessionsScreen(store, folder=tmp_path)) as seen:
        await seen.press("end", "down", "down")
        await export(seen, f"out.{ending}")
        await there(seen, SessionsScreen)
        assert holds in (tmp_path / f"out.{ending}").read_text("utf-8")
        if ending == "json":
            json.loads((tmp_path / "out.json").read_text("utf-8"))


async def test_a_file_that_is_there_is_replaced_only_after_a_yes(store, tmp_path):
    (tmp_path / "a.md").write_text("mine")
    async with showing(SessionsScreen(store, folder=tmp_path)) as seen:
        await export(seen, "a.md")
        await answer(seen, "n")
        await there(seen, NamingScreen)
        assert (tmp_path / "a.md").read_text() == "mine"
        await again(seen)
        await answer(seen, "y")
        await there(seen, SessionsScreen)
        assert (tmp_path / "a.md").read_text("utf-8") != "mine"


async def test_a_file_outside_of_the_workspace_is_pointed_out_and_written_only_after_a_yes(store, tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    async with showing(SessionsScreen(store, folder=root)) as seen:
        await export(seen, "../a.md")
        await there(seen, ConfirmScreen)
        assert "OUTSIDE of the workspace" in seen.text
        await answer(seen, "n")
        await there(seen, NamingScreen)
        assert not (tmp_path / "a.md").exists()
        await again(seen)
        await answer(seen, "y")
        await there(seen, SessionsScreen)
        assert (tmp_path / "a.md").exists()


@pytest.mark.parametrize(("name", "said"), [("a.txt", "ends in none of"), ("mine.md/it.md", "cannot write")])
async def test_what_cannot_be_written_is_said_and_may_be_tried_again(store, tmp_path, name, said):
    (tmp_path / "mine.md").write_text("mine")
    async with showing(SessionsScreen(store, folder=tmp_path)) as seen:
        await export(seen, name)
        for _ in range(500):
            if said in seen.text:
                break
            await seen.pilot.pause(0.01)
        assert said in seen.text and name in seen.text  # to be mended, not written anew
        await again(seen, "ok.md")
        await there(seen, SessionsScreen)
        assert (tmp_path / "ok.md").exists()


async def test_a_file_that_is_there_is_replaced_in_one_step(store, tmp_path, monkeypatch):
    old = tmp_path / "a.md"
    old.write_text("mine")
    seen_by_others = old.open("rb")

    def full(*_):
        raise OSError(28, "No space left on device")

    async with showing(SessionsScreen(store, folder=tmp_path)) as seen:
        with monkeypatch.context() as disk:
            disk.setattr("os.fsync", full)
            await export(seen, "a.md")
            await answer(seen, "y")
            await there(seen, NamingScreen)
        assert "cannot write" in seen.text
        assert old.read_text() == "mine"
        assert [each.name for each in tmp_path.iterdir()] == ["a.md"]
        await again(seen)
        await answer(seen, "y")
        await there(seen, SessionsScreen)
    assert old.read_text("utf-8") != "mine"
    with seen_by_others:
        assert seen_by_others.read() == b"mine"


async def test_a_new_folder_is_made_for_an_export(store, tmp_path):
    async with showing(SessionsScreen(store, folder=tmp_path)) as seen:
        await export(seen, "new/out.md")
        await there(seen, SessionsScreen)
    assert (tmp_path / "new" / "out.md").exists()


async def test_nothing_is_exported_where_no_file_is_named(store, tmp_path):
    async with showing(SessionsScreen(store, folder=tmp_path)) as seen:
        await seen.press("f4")
        await there(seen, NamingScreen)
        await seen.press("escape")
        await there(seen, SessionsScreen)
    assert list(tmp_path.iterdir()) == []


async def test_a_session_that_another_app_has_deleted_meanwhile_is_no_crash(store):
    async with showing(SessionsScreen(store)) as seen:
        store.delete(ids(store)[0])
        await seen.press("f2", *"x", "enter")
        assert not seen.gone
        assert "no session" in seen.text or "there is" in seen.text


async def test_nothing_of_what_was_said_steers_the_terminal(store):
    store.rename(ids(store)[0], "a\x1b[2J[red]b")
    async with showing(SessionsScreen(store), (40, 12)) as seen:
        assert "a[red]b" in seen.text
        assert "\x1b" not in seen.text


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError):
        kind_of(tmp_path / "x.pdf")


async def test_while_a_name_is_typed_only_what_is_done_with_it_is_offered(store):
    async with showing(SessionsScreen(store), (80, 24)) as seen:
        assert seen.keys.strip("│ ") == "⏎ Open  F2 Rename  F3 Fork  F4 Export  F8 Delete  Esc Back"
        await seen.press("f2")
        assert seen.keys.strip("│ ") == "⏎ Rename  Esc Back"
        await seen.press("f3", "f8", "f4")
        assert seen.keys.strip("│ ") == "⏎ Rename  Esc Back" and len(ids(store)) == 3
        await seen.press("escape")
        assert "⏎ Open" in seen.keys
        await seen.press("enter")
        assert seen.result == ids(store)[0]


async def test_the_turns_that_are_shown_are_counted_and_those_of_other_branches_apart(store):
    session = ids(store)[-1]
    first, second = store.turns(session)
    store.add(session, Turn(0, first.id, "assistant", "Or values.sort()."))
    async with showing(SessionsScreen(store), (80, 24)) as seen:
        assert "2 of 3 turns" in seen.text
        assert seen.text.count(", 2 turns") == 2
        store.select(session, None)
    assert [(each.shown, each.turns) for each in store.list() if each.session.id == session] == [(0, 3)]
    store.select(session, second.id)
    assert [(each.shown, each.turns) for each in store.list("sorted")] == [(2, 3)]
