"""Conversations are found by any part of any word, however it is typed."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paceline.chat import index, search
from paceline.chat.store import Store
from support.written_turns import TEXTS, answer, user

# few letters, so that words meet; with what SQL, FTS5 and LIKE take for their own
QUERIES = st.one_of(
    TEXTS,
    st.text(alphabet="abAB \"*^()-+:%_'{}\\çß日本", max_size=12),
    st.sampled_from(["NEAR(a b)", "a AND b", "OR", "text:a", '"', '""', "a*", "NOT", "-a", "; DROP TABLE turn"]),
)
BODIES = st.one_of(TEXTS, st.text(alphabet="abAB çß日本*\"%'-\n", max_size=30))


def naive(store: Store, query: str) -> set[str]:
    """What should be found: every word is in the title, or in one of the texts."""
    found = set()
    for summary in store.list():
        texts = [summary.session.title, *(turn.text for turn in store.turns(summary.session.id))]
        if all(any(word in search.fold(text) for text in texts) for word in search.terms(query)):
            found.add(summary.session.id)
    return found


@settings(max_examples=120, deadline=None)
@given(conversations=st.lists(st.lists(BODIES, min_size=1, max_size=3), min_size=1, max_size=4), query=QUERIES)
@example(conversations=[["İabc"], ["ΟΔΟΣ οδός"]], query="οδοσ")
def test_search_finds_what_a_look_at_every_text_finds(conversations, query):
    store = Store(None)
    for texts in conversations:
        session, parent = store.create("/work"), None
        for text in texts:
            parent = store.add(session.id, user(text, parent)).id
    found = store.list(query)
    assert {summary.session.id for summary in found} == naive(store, query)
    for summary in found:
        for line, marks in ((summary.snippet, summary.marks), (summary.session.title, summary.title_marks)):
            for start, end in marks:
                assert 0 <= start < end <= len(line)
    store.close()


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(BODIES, min_size=1, max_size=4), query=QUERIES)
def test_without_the_index_the_same_is_found(texts, query):
    store = Store(None)
    for text in texts:
        store.add(store.create("/work").id, user(text))
    fast = store.list(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index.Index, "holding", index.Index.holding_by_scan)
        assert store.list(query) == fast
    store.close()


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_a_folded_text_is_as_long_as_the_text_and_folds_to_itself(text):
    folded = search.fold(text)
    assert len(folded) == len(text)
    assert search.fold(folded) == folded
    assert "".join(map(search.fold, text)) == folded


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("def parse_args(argv):", "parse_args("),
        ("def parse_args(argv):", "ARGS"),
        ("用日本語で説明して", "日本"),
        ("用日本語で説明して", "本"),
        ("ein Übungsstück", "übung"),
        ("a->b[0] += 'x'", "b[0]"),
        ("x" * 300, "x" * 200),
        ("50% of it", "50%"),
        ('say "hello world" twice', '"hello world"'),
        ("two words here", "here two"),
        ("👩‍👩‍👧 family", "👩‍👩‍👧"),
    ],
)
def test_code_other_scripts_and_parts_of_words_are_found(text, query):
    store = Store(None)
    session = store.create("/work", title="t")
    store.add(store.create("/work", title="t").id, user("hello"))
    store.add(session.id, user(text))
    (summary,) = store.list(query)
    assert summary.session.id == session.id
    marked = search.fold(" ".join(summary.snippet[start:end] for start, end in summary.marks))
    for word in search.terms(query):
        assert word[:100] in marked
    store.close()


def test_words_may_stand_in_title_and_in_different_messages():
    store = Store(None)
    session = store.create("/work", title="Sorting lists")
    question = store.add(session.id, user("first apples"))
    store.add(session.id, answer("then pears and apples", question.id))
    (summary,) = store.list("sorting APPLES pears")
    assert summary.snippet == "then pears and apples"
    assert [summary.snippet[start:end] for start, end in summary.marks] == ["pears", "apples"]
    assert [summary.session.title[start:end] for start, end in summary.title_marks] == ["Sorting"]
    (only_title,) = store.list("lists")
    assert only_title.snippet == ""
    assert store.list("sorting oranges") == ()
    store.close()


def test_a_workspace_and_a_limit_narrow_the_search():
    store = Store(None)
    for number in range(6):
        session = store.create("/a" if number % 2 else "/b", title="t")
        store.add(session.id, user("needle"))
    assert len(store.list("needle", "/a")) == 3
    assert [each.session.id for each in store.list("needle", limit=2)] == [each.session.id for each in store.list()[:2]]
    store.close()


def test_a_growing_answer_is_found_and_found_again_when_it_has_changed():
    store = Store(None)
    session = store.create("/work", title="t")
    turn = store.add(session.id, answer("", None, "streaming"))
    store.append(turn.id, "some nee", ())
    assert store.list("needle") == ()
    store.append(turn.id, "dle", ())
    assert store.list("needle")[0].snippet == "some needle"
    store.append(turn.id, " in hay", ())
    assert store.list("hay")[0].snippet == "some needle in hay"
    store.update(replace(turn, text="nothing", state="done"))
    assert store.list("needle") == store.list("hay") == ()
    assert len(store.list("nothing")) == 1
    store.close()


def test_an_excerpt_shows_the_first_match_on_one_safe_line():
    text = "word " * 100 + "\n\x1b]52;c;ZXZpbA==\x07\u202ethe needle\nis here " + "more " * 100
    line, marks = search.excerpt(text, ("needle",))
    assert [line[start:end] for start, end in marks] == ["needle"]
    assert line.startswith("…word") and line.endswith("…")
    assert len(line) <= search.LENGTH + 2
    assert not set(line) & set("\n\x1b\x07\u202e")


class WithoutTrigrams(sqlite3.Connection):
    """An SQLite that has no such index."""

    def execute(self, sql, *given):
        if "trigram" in sql or "found" in sql.split("WHERE")[0].replace("sqlite_master", ""):
            raise sqlite3.OperationalError("no such tokenizer: trigram")
        return super().execute(sql, *given)


def test_a_file_goes_between_an_sqlite_that_has_the_index_and_one_that_has_not(tmp_path: Path, monkeypatch):
    file = tmp_path / "s.sqlite3"
    store = Store(file)
    kept, deleted = store.create("/work", title="t"), store.create("/work", title="t")
    turn = store.add(kept.id, user("with needle"))
    store.add(deleted.id, user("with needle too"))
    assert len(store.list("needle")) == 2
    store.close()

    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=WithoutTrigrams))
        store = Store(file)
        assert len(store.list("needle")) == 2
        store.update(replace(turn, text="now without"))
        store.delete(deleted.id)
        assert store.list("needle") == ()
        assert len(store.list("without")) == 1
        store.add(kept.id, user("a thimble", turn.id))
        assert len(store.list("thimble")) == 1
        store.close()

    store = Store(file)
    assert store.list("needle") == ()
    assert len(store.list("without")) == len(store.list("thimble")) == 1
    store.close()
