"""What answers took, added up from what is kept with them."""

import json
import math
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paceline.chat import figures, schema
from paceline.chat.database import Database
from paceline.chat.figures import kept_in
from paceline.chat.store import Store
from paceline.chat.turns import Session, Turn
from paceline.errors import InputError, ResourceError

DAY = 86_400.0
TIMINGS = {
    "prompt_n": 100, "prompt_ms": 400.0, "cache_n": 300, "predicted_n": 50, "predicted_ms": 2000.0,
    "predicted_per_second": 25.0, "draft_n": 40, "draft_n_accepted": 10, "queued_ms": 100.0, "speed_up": 1.5,
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "chat.db"


def put(path, *turns):
    """Keep answers in a session of their own; one that is given without a time is of now."""
    store = Store(path)
    try:
        session = store.create("/w")
        question = store.add(session.id, Turn(0, None, "user", "q"))
        for turn in turns:
            store.add(session.id, replace(turn, parent=question.id))
        return store.session(session.id)
    finally:
        store.close()


def answer(model="m", state="done", created=0.0, **timings):
    return Turn(0, None, "assistant", "a", state=state, model=model, created=created, timings=timings)


def test_figures_are_by_model_and_for_all(path):
    put(path, answer(**TIMINGS), answer(**{**TIMINGS, "predicted_per_second": 35.0}), answer("other", **TIMINGS))
    found = kept_in(path, 0.0)
    assert {name: each.answers for name, each in found.models.items()} == {"m": 2, "other": 1}
    mine = found.models["m"]
    assert (mine.tokens, mine.drafted, mine.accepted, mine.read, mine.cached, mine.prompt) == (
        100,
        80,
        20,
        200,
        600,
        800,
    )
    assert (mine.per_second, mine.acceptance, mine.first_token_ms) == (30.0, 0.25, 500.0)
    assert (found.all.answers, found.all.tokens, found.all.per_second) == (3, 150, 25.0)


def test_how_answers_ended_is_counted_and_a_question_is_no_answer(path):
    ends = ("done", "stopped", "length", "failed", "failed")
    put(path, *(answer(state=state, created=1000.0 + number) for number, state in enumerate(ends)))
    found = kept_in(path, 0.0).all
    assert (found.answers, found.stopped, found.cut, found.failed) == (5, 1, 1, 2)


def test_one_that_is_still_written_does_not_count(path):
    store = Store(path)
    session = store.create("/w")
    store.add(session.id, answer(state="streaming", **TIMINGS))
    assert kept_in(path, 0.0).all.answers == 0
    store.close()
    assert kept_in(path, 0.0).all.stopped == 1


def test_a_speed_up_counts_by_how_long_it_was_enjoyed(path):
    put(
        path,
        answer(predicted_ms=1000.0, speed_up=3.0),
        answer(predicted_ms=9000.0, speed_up=1.0),
        answer(predicted_ms=5000.0, speed_up=None),
    )
    assert kept_in(path, 0.0).all.speed_up == pytest.approx(1.2)


def test_an_answer_of_a_few_tokens_says_nothing_about_speed(path):
    put(path, answer(predicted_n=1, predicted_per_second=9999.0, prompt_ms=7.0))
    found = kept_in(path, 0.0).all
    assert (found.per_second, found.tokens, found.first_token_ms) == (None, 1, 7.0)


def test_only_answers_since_then_count_whenever_their_session_changed_last(path):
    put(path, answer(created=10 * DAY, **TIMINGS), answer(created=20 * DAY, **TIMINGS))
    assert [kept_in(path, days * DAY).all.answers for days in (5, 15, 20, 25)] == [2, 1, 1, 0]
    assert kept_in(path, 0.0).first == 10 * DAY


def test_answers_of_copies_count_once(path):
    session = put(path, answer(created=DAY, **TIMINGS), answer(created=2 * DAY, **TIMINGS))
    store = Store(path)
    store.fork(session.id, store.turns(session.id)[-1].id)
    store.insert(Session("x", "copy", "/w", 0.0, 0.0), [replace(turn, parent=None) for turn in store.turns(session.id)])
    store.close()
    assert kept_in(path, 0.0).all.answers == 2


@pytest.mark.parametrize(
    "timings",
    [{}, {"predicted_n": "many"}, {"predicted_n": None}, {"predicted_n": -5}, {"predicted_n": 1e300}, {"draft_n": [1]}],
)
def test_figures_that_nobody_gave_or_that_are_none_count_as_none(path, timings):
    put(path, answer(**timings))
    found = kept_in(path, 0.0).all
    assert (found.answers, found.tokens, found.per_second, found.acceptance) == (1, 0, None, None)
    assert (found.speed_up, found.first_token_ms, found.prompt) == (None, None, 0)


def test_what_was_only_noted_is_no_answer_and_an_edit_is_one(path):
    put(path, answer(""), answer("m", created=1.0, **TIMINGS), answer("", predicted_n=9), answer("", state="failed"))
    found = kept_in(path, 0.0)
    assert {name: (each.answers, each.failed, each.tokens) for name, each in found.models.items()} == {
        "m": (1, 0, 50),
        "": (2, 1, 9),
    }


def test_texts_that_no_file_can_hold_do_no_harm(path):
    put(path, answer("m\ud800", predicted_n=9, notes=["\ud800"]))
    found = kept_in(path, 0.0)
    assert (list(found.models), found.all.tokens) == (["m\ud800"], 9)


def change(path, statement, *values):
    """Put into the file what the store would not."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def untouched(path):
    """What tells whether the file, and which files beside it, are the same as before."""
    beside = sorted(each.name for each in path.parent.iterdir() if not each.name.endswith(("-wal", "-shm")))
    with closing(sqlite3.connect(path)) as connection:
        return path.read_bytes(), beside, connection.execute("PRAGMA user_version").fetchone()


def test_a_file_of_the_first_version_is_read_and_stays_one(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in schema.MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO session VALUES ('s', '', '/w', 1.0, 1.0, '', NULL)")
        connection.execute(
            "INSERT INTO turn (session, role, state, created, model, error, timings, runs, text, attached) "
            "VALUES ('s', 'assistant', 'done', 1.0, 'm', '', '{\"predicted_n\": 7}', '', 'a', '')"
        )
    before = untouched(path)
    assert kept_in(path, 0.0).models["m"].tokens == 7
    assert untouched(path) == before


def test_a_file_of_a_newer_version_is_told_and_left_alone(path):
    put(path, answer(**TIMINGS))
    change(path, "PRAGMA user_version = 9")
    before = untouched(path)
    with pytest.raises(InputError, match="newer Paceline"):
        kept_in(path, 0.0)
    assert untouched(path) == before


@pytest.mark.parametrize("where", [0, 4096, 5000])
def test_a_damaged_file_is_told_and_left_alone(path, where):
    put(path, *(answer(created=1000.0 + number, **TIMINGS) for number in range(200)))
    whole = path.read_bytes()
    damaged = (whole[:where] + b"garbage" * len(whole))[: len(whole)]
    path.write_bytes(damaged)
    with pytest.raises(ResourceError, match="cannot be read") as told:
        kept_in(path, 0.0)
    assert "open the app" in told.value.hint
    assert path.read_bytes() == damaged
    assert {each.name for each in path.parent.iterdir()} <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}


def test_a_folder_in_its_place_is_told(path):
    path.mkdir()
    with pytest.raises(ResourceError, match="cannot be read"):
        kept_in(path, 0.0)


def test_a_file_that_is_only_just_being_made_has_nothing(path):
    path.touch()
    assert kept_in(path, 0.0).all.answers == 0
    assert path.stat().st_size == 0


def test_answers_that_another_process_has_just_written_count(path):
    store = Store(path)
    store.add(store.create("/w").id, answer(**TIMINGS))
    assert kept_in(path, 0.0).all.answers == 1  # it is in the write-ahead log still
    store.close()


NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(10**30), 1e308, 5e-324, True])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
NAMED = st.dictionaries(st.sampled_from(sorted(TIMINGS)), NUMBERS | JSON, max_size=len(TIMINGS))
ODD_JSON = (NAMED | NAMED | JSON).map(json.dumps)
CELLS = (
    st.binary(max_size=20)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "chat.db"
    put(path, answer("other", **TIMINGS), answer("m", created=5.0))
    return path


def numbers(told):
    for value in told.values():
        if isinstance(value, dict):
            yield from numbers(value)
        elif value is not None:
            yield value


@given(ODD_JSON | CELLS, st.just("m") | CELLS, st.just("done") | CELLS, st.just(5.0) | CELLS)
@example("[" * 100_000, "m", "done", 5.0)
@example('{"predicted_n": 1e999, "prompt_n": ' + "9" * 5000 + "}", b"\xff", b"\xff\xfe", 1e18)
@example('{"predicted_n": 20, "predicted_ms": 9e307, "speed_up": 9e307}', b"\xed\xa0\x80", "done", float("inf"))
def test_whatever_is_in_a_row_the_others_are_counted_and_each_figure_is_one(odd, timings, model, state, created):
    statement = "UPDATE turn SET timings = ?, model = ?, state = ?, created = ? WHERE role = 'assistant' AND id = 3"
    change(odd, statement, timings, model, state, created)
    found = kept_in(odd, 0.0)
    assert found.all.answers in (1, 2) and found.all.tokens >= 50
    assert "other" in found.models and math.isfinite(found.first)
    told = json.loads(json.dumps(found.as_object(), allow_nan=False))
    assert all(number >= 0 and math.isfinite(number) for number in numbers(told))


def test_a_text_that_is_none_is_shown_as_far_as_it_is_one(path):
    put(path, answer(**TIMINGS))
    change(path, "UPDATE turn SET model = CAST(x'61ff62' AS TEXT), timings = '[1]' WHERE role = 'assistant'")
    assert list(kept_in(path, 0.0).models) == ["a\ufffdb"]


def test_without_a_file_there_is_nothing_and_none_is_made(path):
    found = kept_in(path, 0.0)
    assert (found.all.answers, found.models, found.first) == (0, {}, 0.0)
    assert not path.exists()


def test_for_programs_there_is_json(path):
    put(path, answer(**TIMINGS))
    said = json.loads(json.dumps(kept_in(path, 0.0).as_object()))
    assert said["models"]["m"] == said["all"]
    assert said["all"] == {
        "answers": 1, "stopped": 0, "failed": 0, "cut": 0, "tokens": 50, "tokens_per_second": 25.0, "drafted": 40,
        "accepted": 10, "acceptance": 0.25, "speed_up": 1.5, "prompt_tokens": 400, "cached_tokens": 300,
        "first_token_ms": 500.0,
    }  # fmt: skip


def test_sessions_that_have_not_changed_since_are_not_looked_at(path):
    put(path, answer(**TIMINGS))
    database = Database(path)
    plan = database.connection.execute(f"EXPLAIN QUERY PLAN {figures._ENDED}", {"since": 0.0}).fetchall()
    database.close()
    assert any("session_updated" in step[-1] for step in plan) and not any("SCAN" in step[-1] for step in plan)
