"""What was begun and not sent comes back to whoever opens the session next, and to nobody who should not have it."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat import schema
from paceline.chat.database import Database
from paceline.chat.store import Store
from paceline.chat.turns import Attached, Draft, Unsent
from paceline.errors import InputError, ResourceError
from support.written_turns import ATTACHED, TEXTS, user

HERE = "/work"
ONE = Unsent("Why does", (Attached("output", "$ make", "failed\n"),), None, (Draft("And then?"),))

DRAFTS = st.builds(Draft, TEXTS, ATTACHED.map(tuple), st.integers(min_value=0, max_value=9), TEXTS)
UNSENT = st.builds(
    Unsent,
    TEXTS,
    ATTACHED.map(tuple),
    st.none() | st.integers(min_value=1),
    st.lists(DRAFTS, max_size=3).map(tuple),
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "sessions.sqlite3"


@settings(max_examples=60, deadline=None)
@given(unsent=UNSENT, workspace=TEXTS)
def test_whatever_it_is_it_comes_back_as_it_was(unsent, workspace):
    store = Store(None)
    session = store.create(workspace)
    for id_ in (session.id, ""):
        store.keep_unsent(unsent, id_, workspace)
        assert (store.unsent(id_, workspace) or Unsent()) == unsent
    store.close()


def test_it_is_there_after_closing_and_opening(file):
    store = Store(file)
    session = store.create(HERE)
    store.keep_unsent(ONE, session.id, HERE)
    store.close()
    again = Store(file)
    assert again.unsent(session.id, HERE) == ONE
    assert again.unsent("", HERE) is None


def test_what_was_kept_last_is_all_that_is_kept(file):
    store = Store(file)
    session = store.create(HERE)
    store.keep_unsent(ONE, session.id, HERE)
    store.keep_unsent(Unsent("Why does it"), session.id, HERE)
    store.keep_unsent(Unsent("of one that is not begun"), "", HERE)
    assert store.unsent(session.id, HERE) == Unsent("Why does it")
    store.keep_unsent(Unsent(), session.id, HERE)
    assert store.unsent(session.id, HERE) is None
    assert store.unsent("", HERE) == Unsent("of one that is not begun")


def test_what_another_window_shows_stays_there(file):
    first, second = Store(file), Store(file)
    session = first.create(HERE)
    first.keep_unsent(ONE, session.id, HERE)
    assert second.unsent(session.id, HERE) is None
    second.keep_unsent(Unsent("another"), session.id, HERE)
    assert first.unsent(session.id, HERE) == ONE
    first.close()
    second.close()
    third = Store(file)
    assert third.unsent(session.id, HERE) == Unsent("another")
    third.keep_unsent(Unsent(), session.id, HERE)
    assert third.unsent(session.id, HERE) == ONE


def test_what_a_process_leaves_that_is_killed_is_taken(file):
    killed = (
        "import os, sys\nfrom pathlib import Path\nfrom paceline.chat.store import Store\n"
        "from paceline.chat.turns import Unsent\nstore = Store(Path(sys.argv[1]))\n"
        f"store.keep_unsent(Unsent('half a sent'), '', {HERE!r})\nos._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(file)], check=False, env={**os.environ})
    store = Store(file)
    assert store.unsent("", HERE) == Unsent("half a sent")
    other = Store(file)
    assert other.unsent("", HERE) is None, "it is shown in the first window now"


def test_what_is_shown_no_longer_is_taken_by_another_window(file):
    first, second = Store(file), Store(file)
    session = first.create(HERE)
    first.keep_unsent(ONE, session.id, HERE, shown=False)
    assert second.unsent(session.id, HERE) == ONE
    assert first.unsent(session.id, HERE) is None


def test_one_that_cannot_be_read_is_left_out(file):
    store = Store(file)
    store.keep_unsent(ONE, "", HERE)
    for content in ('["abc",[]', "{}", "[1]", '["a",[[1]],null,[]]'):
        with store._database.writing() as connection:
            connection.execute("UPDATE unsent SET content = ?", (content,))
        assert store.unsent("", HERE) is None


def test_it_can_be_shown_where_nothing_can_be_written(file, monkeypatch):
    first = Store(file)
    first.keep_unsent(ONE, "", HERE)
    first.close()
    store = Store(file)

    def refused(**_):
        raise ResourceError("the disk is read-only", "")

    monkeypatch.setattr(store._database, "writing", refused)
    assert store.unsent("", HERE) == ONE


def test_somebody_who_types_does_not_wait_for_another_process(file, monkeypatch):
    store = Store(file)
    store.keep_unsent(Unsent("a"), "", HERE)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waited = []
    monkeypatch.setattr(Database, "_waiting", lambda self, seconds: waited.append(seconds) or nullcontext())
    store._database.connection.execute("PRAGMA busy_timeout = 1")
    with pytest.raises(ResourceError):
        store.keep_unsent(Unsent("ab"), "", HERE)
    assert max(waited) < 1
    other.close()


@pytest.mark.parametrize("away", ["typed and deleted", "a session"])
def test_what_is_deleted_is_nowhere_in_the_files(file, away):
    store = Store(file)
    session = store.create(HERE)
    secret = b"SECRETHUNTER2"
    if away == "a session":
        store.add(session.id, user(secret.decode()))
        store.delete(session.id)
    else:
        store.keep_unsent(Unsent(f"my password is {secret.decode()}"), session.id, HERE)
        assert any(secret in each.read_bytes() for each in file.parent.iterdir())
        store.keep_unsent(Unsent(), session.id, HERE)
    assert not any(secret in each.read_bytes() for each in file.parent.iterdir())


def test_a_session_that_is_not_begun_belongs_to_its_folder(file):
    store = Store(file)
    store.keep_unsent(ONE, "", HERE)
    assert store.unsent("", "/elsewhere") is None
    assert store.unsent("", HERE) == ONE


def test_it_goes_with_its_session(file):
    store = Store(file)
    session = store.create(HERE)
    store.keep_unsent(ONE, session.id, HERE)
    store.delete(session.id)
    with pytest.raises(InputError):
        store.keep_unsent(ONE, session.id, HERE)
    store.close()
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT count(*) FROM unsent").fetchone() == (0,)
    connection.close()


def test_a_file_of_the_version_before_is_brought_up_to_date(file, monkeypatch):
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
    monkeypatch.setattr(schema, "VERSION", 1)
    old = Store(file)
    session = old.create(HERE)
    old.add(session.id, user("Hi"))
    old._database.close()
    monkeypatch.undo()
    store = Store(file)
    assert [turn.text for turn in store.turns(session.id)] == ["Hi"]
    store.keep_unsent(ONE, session.id, HERE)
    assert store.unsent(session.id, HERE) == ONE


def test_what_a_turn_says_of_those_before_it_can_change(file):
    store = Store(file)
    session = store.create(HERE)
    turn = store.add(session.id, user("Hi"))
    store.shorten(replace(turn, skipped=4, summary="They said hello.", text="not this"))
    assert store.turns(session.id) == (replace(turn, skipped=4, summary="They said hello."),)
    with pytest.raises(InputError):
        store.shorten(replace(turn, id=99))


BIG = Attached("paste", "pasted text", "line of a log\n" * 1000)
OTHER = Attached("file", "a.py", "x = 1\n" * 1000)


def kept_texts(store):
    with store._database.reading() as connection:
        return connection.execute("SELECT id, length(text) FROM unsent_text ORDER BY id").fetchall()


def test_a_long_text_is_written_once_however_much_is_typed_beside_it(file):
    store = Store(file)
    store.keep_unsent(Unsent("W", (BIG,)), "", HERE)
    first = kept_texts(store)
    store.keep_unsent(Unsent("Why", (BIG, OTHER, BIG), None, (Draft("And?", (BIG,)),)), "", HERE)
    assert kept_texts(store)[:1] == first
    assert len(kept_texts(store)) == 2
    assert store.unsent("", HERE) == Unsent("Why", (BIG, OTHER, BIG), None, (Draft("And?", (BIG,)),))


def test_a_long_text_goes_with_what_it_was_attached_to(file):
    store = Store(file)
    session = store.create(HERE)
    store.keep_unsent(Unsent("", (BIG,)), session.id, HERE)
    store.keep_unsent(Unsent("", (OTHER,)), session.id, HERE)
    assert [length for _, length in kept_texts(store)] == [len(OTHER.text)]
    store.keep_unsent(Unsent(), session.id, HERE)
    assert kept_texts(store) == []
    store.keep_unsent(Unsent("", (BIG,)), session.id, HERE)
    store.delete(session.id)
    assert kept_texts(store) == []


def test_long_texts_with_what_no_file_may_have_come_back_as_they_were(file):
    odd = Attached("paste", "odd", "\ud800\0" * 5000)
    store = Store(file)
    store.keep_unsent(Unsent("", (odd,)), "", HERE)
    assert store.unsent("", HERE) == Unsent("", (odd,))


def test_what_an_older_version_kept_is_still_there(file, monkeypatch):
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:2])
    monkeypatch.setattr(schema, "VERSION", 2)
    content = json.dumps(["Why", [[BIG.kind, BIG.name, BIG.text, "", ""]], None, []])
    database = Database(file)
    with database.writing() as connection:
        row = (HERE, content)
        connection.execute("INSERT INTO unsent (workspace, kept, content) VALUES (?, 0, ?)", row)
    database.close()
    monkeypatch.undo()
    assert Store(file).unsent("", HERE) == Unsent("Why", (BIG,))


def test_one_whose_long_text_is_missing_is_left_out(file):
    store = Store(file)
    store.keep_unsent(Unsent("", (BIG,)), "", HERE)
    with store._database.writing() as connection:
        connection.execute("DELETE FROM unsent_text")
    assert store.unsent("", HERE) is None
