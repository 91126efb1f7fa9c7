"""What is kept of a conversation comes back as it was."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.rows import join
from paceline.chat.store import Store
from paceline.chat.turns import Attached, Run
from paceline.errors import InputError
from support.written_turns import RUNS, TEXTS, TURNS, answer, user


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "sessions.sqlite3"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    opened = Store(file)
    yield opened
    opened.close()


def kept_form(turn):
    """As the store gives it back: neighbouring runs of one drafter are one."""
    return replace(turn, runs=join(turn.runs))


@settings(max_examples=60, deadline=None)
@given(turn=TURNS, again=TURNS, system=TEXTS, workspace=TEXTS)
def test_any_turn_comes_back_as_it_was(turn, again, system, workspace):
    store = Store(None)
    session = store.create(workspace, system)
    added = store.add(session.id, turn)
    assert store.turns(session.id) == (kept_form(replace(turn, id=added.id)),)
    assert store.session(session.id).system == system
    assert store.session(session.id).workspace == workspace
    assert store.latest(workspace).id == session.id
    changed = replace(
        turn,
        id=added.id,
        text=again.text,
        state=again.state,
        model=again.model,
        timings=again.timings,
        runs=again.runs,
        error=again.error,
    )
    store.update(changed)
    assert store.turns(session.id) == (kept_form(changed),)
    store.close()


@settings(max_examples=40, deadline=None)
@given(pieces=st.lists(st.tuples(TEXTS, RUNS), max_size=8), first=TEXTS)
def test_an_answer_is_the_sum_of_its_pieces(pieces, first):
    store = Store(None)
    session = store.create("/work")
    turn = store.add(session.id, replace(answer(first, None, "streaming"), runs=(Run("edit", 3),)))
    for text, runs in pieces:
        store.append(turn.id, text, runs)
    (found,) = store.turns(session.id)
    assert found.text == first + "".join(text for text, _ in pieces)
    assert found.runs == join([Run("edit", 3), *(run for _, runs in pieces for run in runs)])
    store.close()


def test_everything_is_there_after_closing_and_opening(store, file):
    session = store.create("/work", "Be brief.", "Names")
    question = store.add(
        session.id, replace(user("Why?"), attached=(Attached("file", "a.py", "x = 1\n", "/work/a.py"),))
    )
    reply = store.add(session.id, answer("Because.", question.id))
    store.close()
    again = Store(file)
    assert again.turns(session.id) == (question, reply)
    found = again.session(session.id)
    assert (found.title, found.system, found.leaf) == ("Names", "Be brief.", reply.id)
    again.close()


def test_an_update_ends_the_growing_answer_with_what_it_says(store):
    session = store.create("/work")
    turn = store.add(session.id, answer("", None, "streaming"))
    store.append(turn.id, "Hello wor", [Run("draft", 9)])
    store.update(replace(turn, text="Hello world", state="done", timings={"n": 3}, runs=(Run("", 11),)))
    (found,) = store.turns(session.id)
    assert (found.text, found.state, found.timings, found.runs) == ("Hello world", "done", {"n": 3}, (Run("", 11),))


def test_time_is_set_only_where_none_is_given(store):
    session = store.create("/work")
    assert store.add(session.id, replace(user("a"), created=12.5)).created == 12.5
    assert store.add(session.id, user("b")).created >= session.created


def test_the_newest_turn_is_the_leaf_until_another_is_selected(store):
    session = store.create("/work")
    first = store.add(session.id, user("a"))
    store.add(session.id, answer("b", first.id))
    store.select(session.id, first.id)
    assert store.session(session.id).leaf == first.id
    store.select(session.id, None)
    assert store.session(session.id).leaf is None


def test_the_first_message_makes_the_title_and_later_ones_do_not(store):
    session = store.create("/work")
    first = store.add(session.id, user("# How do I\x1b[31m sort\na list?"))
    store.add(session.id, user("Something else", first.id))
    assert store.session(session.id).title == "How do I sort"


def test_a_given_title_stays_and_an_empty_one_is_made_again(store):
    session = store.create("/work", title="Mine")
    store.add(session.id, user("How do I sort?"))
    assert store.session(session.id).title == "Mine"
    assert store.rename(session.id, "Other\nname\x07").title == "Other name"
    assert store.session(session.id).title == "Other name"
    assert store.rename(session.id, " \x1b ").title == "How do I sort?"


def test_the_last_changed_conversation_is_the_latest_of_its_folder(store):
    first, second = store.create("/a"), store.create("/b")
    assert store.latest().id == second.id
    turn = store.add(first.id, user("Hi"))
    assert store.latest().id == first.id
    assert store.latest("/b").id == second.id
    store.add(second.id, user("Hi"))
    store.update(replace(turn, text="Hi!"))
    assert store.latest().id == first.id
    assert store.latest("/nowhere") is None


def test_looking_at_a_conversation_does_not_make_it_the_latest(store):
    first, second = store.create("/a"), store.create("/a")
    store.turns(first.id)
    store.select(first.id, None)
    assert store.latest().id == second.id


def test_a_unique_beginning_of_an_id_is_enough(store):
    ids = [store.create("/work").id for _ in range(40)]
    for id in ids:
        length = next(n for n in range(1, 9) if sum(other.startswith(id[:n]) for other in ids) == 1)
        assert store.session(f" {id[:length].upper()}\n").id == id
        if length > 1:
            with pytest.raises(InputError, match="several sessions begin with"):
                store.session(id[: length - 1])


def test_near_ids_are_named_for_one_that_is_unknown(store):
    with pytest.raises(InputError) as nothing:
        store.session("abc")
    assert nothing.value.hint == "there are none yet"
    session = store.create("/work", title="Sorting")
    wrong = session.id[:-2] + "00"
    with pytest.raises(InputError) as error:
        store.session(wrong)
    assert f"{session.id} (Sorting)" in error.value.hint


@pytest.mark.parametrize("id", ["", "%", "_", "'", '"', "\0", "\ud800", "x" * 10_000, "é"])
def test_no_odd_id_is_taken_for_a_session(store, id):
    store.create("/work")
    with pytest.raises(InputError):
        store.session(id)
    with pytest.raises(InputError):
        store.turns(id)


def test_a_deleted_conversation_is_gone_with_its_turns_and_its_words(store, file):
    session, other = store.create("/work"), store.create("/work")
    turn = store.add(session.id, user("a very rareword indeed"))
    store.add(other.id, user("other"))
    assert len(store.list("rareword")) == 1
    store.delete(session.id)
    assert store.list("rareword") == ()
    for act in (
        lambda: store.session(session.id),
        lambda: store.turns(session.id),
        lambda: store.add(session.id, user("again")),
        lambda: store.update(turn),
        lambda: store.append(turn.id, "more", ()),
        lambda: store.select(session.id, None),
        lambda: store.set_system(session.id, ""),
        lambda: store.delete(session.id),
    ):
        with pytest.raises(InputError):
            act()
    assert len(store.turns(other.id)) == 1
    store.close()
    assert b"rareword" not in file.read_bytes()


def test_a_chain_of_many_turns_can_be_deleted(store):
    session = store.create("/work")
    copy = store.insert(session, tuple(replace(user("x", at or None), id=at + 1) for at in range(3000)))
    assert len(store.turns(copy.id)) == 3000
    store.delete(copy.id)
    assert [summary.session.id for summary in store.list()] == [session.id]


def test_turns_of_another_conversation_are_no_parents_and_no_leaves(store):
    one, two = store.create("/work"), store.create("/work")
    turn = store.add(one.id, user("a"))
    with pytest.raises(InputError):
        store.add(two.id, user("b", turn.id))
    with pytest.raises(InputError):
        store.select(two.id, turn.id)
    with pytest.raises(InputError):
        store.fork(two.id, turn.id)
    assert store.turns(two.id) == ()
    assert store.session(two.id).leaf is None


def test_a_fork_has_the_way_to_a_turn_and_goes_its_own_way_from_there(store):
    session = store.create("/work", "Be brief.")
    first = store.add(session.id, replace(user("one"), attached=(Attached("paste", "p", "text"),)))
    second = store.add(session.id, answer("two", first.id))
    store.add(session.id, answer("two, again", first.id))
    store.add(session.id, user("three", second.id))
    fork = store.fork(session.id, second.id)
    copied = store.turns(fork.id)
    assert [(turn.text, turn.attached) for turn in copied] == [("one", first.attached), ("two", ())]
    assert [turn.parent for turn in copied] == [None, copied[0].id]
    assert (fork.system, fork.workspace, fork.leaf, fork.title) == ("Be brief.", "/work", copied[1].id, "one (fork)")
    assert store.session(fork.id) == fork
    store.add(fork.id, user("elsewhere", fork.leaf))
    assert len(store.turns(session.id)) == 4
    assert store.fork(fork.id, copied[0].id).title == "one (fork)"


def test_the_fork_of_a_growing_answer_ends_where_it_was(store):
    session = store.create("/work")
    turn = store.add(session.id, answer("", None, "streaming"))
    store.append(turn.id, "so far", [Run("draft", 6)])
    fork = store.fork(session.id, turn.id)
    store.append(turn.id, " and on", ())
    (copied,) = store.turns(fork.id)
    assert (copied.text, copied.state, copied.runs) == ("so far", "stopped", (Run("draft", 6),))
    assert store.turns(session.id)[0].state == "streaming"


def test_a_list_is_newest_first_with_counts_and_previews(store):
    old = store.create("/a")
    new = store.create("/b", title="Empty")
    question = store.add(old.id, user("Why\nso?"))
    assert [summary.session.id for summary in store.list()] == [old.id, new.id]
    growing = store.add(old.id, answer("", question.id, "streaming"))
    assert store.list()[0].preview == "Why so?"
    store.append(growing.id, "Because\n\x1b[31m of that", ())
    (first, second) = store.list()
    assert (first.turns, first.preview) == (2, "Because of that")
    assert (second.turns, second.preview) == (0, "")
    assert [summary.session.id for summary in store.list(workspace="/b")] == [new.id]
    assert [summary.session.id for summary in store.list(limit=1)] == [old.id]


def test_insert_refuses_what_is_no_tree_and_keeps_nothing_of_it(store):
    session = replace(store.create("/work"), leaf=None)
    before = store.list()
    for turns in ([replace(user("x", 5), id=1)], [replace(user("x"), id=1)] * 2, [replace(user("x", 1), id=1)]):
        with pytest.raises(InputError):
            store.insert(session, turns)
    with pytest.raises(InputError):
        store.insert(replace(session, leaf=9), ())
    assert store.list() == before


def test_nothing_of_a_store_in_memory_touches_the_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store(None)
    store.add(store.create("/work").id, user("Hi"))
    assert len(store.list("hi")) == 1
    assert list(tmp_path.iterdir()) == []
    store.close()
