"""Inputs across sessions."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat import history as kept
from paceline.chat.history import History


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "inputs"


def filled(path, *texts, **how):
    made = History(path, **how)
    for text in texts:
        made.add(text)
    return made


def back(history, current=""):
    """Everything that going back shows."""
    found = []
    while (text := history.previous(current)) is not None:
        found.append(text)
        current = text
    return found


def test_the_newest_comes_first(path):
    assert back(filled(path, "one", "two", "three")) == ["three", "two", "one"]


def test_it_is_there_in_the_next_session(path):
    filled(path, "one", "two\nlines\n  of it")
    assert back(History(path)) == ["two\nlines\n  of it", "one"]


def test_going_forward_ends_with_what_was_being_written(path):
    history = filled(path, "one", "two")
    assert history.previous("") == "two"
    assert history.previous("two") == "one"
    assert history.previous("one") is None
    assert history.next("one") == "two"
    assert history.next("two") == ""
    assert history.next("") is None


def test_what_is_begun_chooses_what_is_shown(path):
    history = filled(path, "/help", "why", "/new", "what")
    assert history.previous("w") == "what"
    assert history.previous("what") == "why"
    assert history.previous("why") is None
    assert history.next("why") == "what"
    assert history.next("what") == "w"


def test_after_a_change_going_back_begins_anew(path):
    history = filled(path, "one", "two")
    history.previous("")
    history.rewind()
    assert history.previous("o") == "one"


def test_the_same_twice_in_a_row_is_kept_once(path):
    assert back(filled(path, "a", "a", "b", "a")) == ["a", "b", "a"]


@pytest.mark.parametrize("text", ["", "  \n", "x" * (kept.LONGEST + 1)])
def test_what_is_no_input_is_not_kept(path, text):
    assert back(filled(path, "a", text)) == ["a"]


def test_nobody_else_can_read_it(path):
    before = os.umask(0)
    try:
        filled(path, "secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_all_words_are_searched_for_in_any_case(path):
    history = filled(path, "Why is the Parser slow", "parser tests", "why not", "parser tests")
    assert history.search("PARSER") == ("parser tests", "Why is the Parser slow")
    assert history.search("slow parser") == ("Why is the Parser slow",)
    assert history.search("nothing") == ()
    assert history.search("", limit=2) == ("parser tests", "why not")


def test_two_apps_see_each_others_inputs(path):
    one, two = History(path), History(path)
    one.add("from one")
    two.add("from two")
    assert one.search("from") == two.search("from") == ("from two", "from one")


def test_what_is_damaged_is_passed_over(path):
    filled(path, "one")
    with path.open("ab") as file:
        file.write(b'nonsense\n{"text": 5}\n[1]\n\xff\xfe\n{"text": "\n')
    assert back(filled(path, "two")) == ["two", "one"]


def test_an_entry_that_was_cut_short_does_not_spoil_the_next(path):
    filled(path, "one")
    with path.open("ab") as file:
        file.write(b'{"at": 1, "text": "half')
    assert back(filled(path, "two")) == ["two", "one"]


def test_the_oldest_go_first(path):
    history = filled(path, *(f"{at} {'x' * 50}" for at in range(25)), most=10)
    assert [text.split()[0] for text in back(history)] == [str(at) for at in range(24, 14, -1)]
    assert path.read_bytes().count(b"\n") < 20
    assert sorted(each.name for each in path.parent.iterdir()) == ["inputs", "inputs.lock"]


def test_a_few_long_entries_do_not_fill_the_disk(path, monkeypatch):
    monkeypatch.setattr(kept, "LARGEST", 20_000)
    history = filled(path, *(f"{at} {'x' * 3000}" for at in range(30)))
    assert path.stat().st_size <= 20_000 + 3100
    assert back(history)[0].startswith("29 ")


def test_where_it_cannot_be_written_it_lasts_as_long_as_the_app(tmp_path):
    (tmp_path / "file").write_text("")
    history = filled(tmp_path / "file" / "inputs", "one", "two")
    assert back(history) == ["two", "one"]
    assert history.search("one") == ("one",)


def test_many_apps_lose_nothing(path):
    code = (
        "import sys; from pathlib import Path; from paceline.chat.history import History\n"
        "history = History(Path(sys.argv[1]), 40)\n"
        "for at in range(30): history.add(f'{sys.argv[2]} {at} ' + 'x' * 40)"
    )
    apps = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "abc"]
    assert [app.wait(60) for app in apps] == [0, 0, 0]
    lines = path.read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]  # none is torn
    assert 40 <= len(texts) < 90 + 1
    for name in "abc":  # each app's are in order, and none is missing between those that are kept
        mine = [int(text.split()[1]) for text in texts if text.startswith(name)]
        assert mine == list(range(30 - len(mine), 30))
    assert len(back(History(path, 40))) == 40


@given(st.lists(st.text(min_size=1, max_size=20), max_size=8))
@settings(deadline=None, max_examples=40)
def test_whatever_is_entered_comes_back(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("history") / "inputs"
    filled(path, *texts)
    wanted = [text.encode("utf-8", "replace").decode() for text in texts if text.strip()]
    once = [text for at, text in enumerate(wanted) if at == 0 or wanted[at - 1] != text]
    assert back(History(path)) == once[::-1]
