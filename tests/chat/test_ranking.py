"""Which names a few letters mean, against a slow twin that looks at every name."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context.ranking import FAR, Names, folded, positions

FILES = (
    *("app/cli.py", "app/client/client.py", "app/client/async_client.py", "tests/client/test_client.py"),
    *("app/daemon/http/chat.py", "app/chat/context/finder.py", "app/tui/screens/finder.py", "README.md"),
    *("docs/find-a-file.md", "app/chat/", "app/engine/sequence.py", "app/Screens/ChatScreen.tsx", "CMakeLists.txt"),
)


def best(query, names=FILES, separator="/", limit=50):
    lot = Names(names, separator)
    return [names[at] for _, at in lot.best(query, limit)]


def slowly(query, names, separator, limit):
    """Every name's key, and the smallest of them."""
    lot = Names(names, separator)
    keys = [(lot.key(at, query), at) for at in range(len(names))]
    return sorted((key, at) for key, at in keys if key is not None)[:limit]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("cli", "app/cli.py"),  # the name itself before names that begin so
        ("client", "app/client/client.py"),
        ("finder", "app/tui/screens/finder.py"),  # the shorter of two
        ("chat", "app/chat/"),
        ("readme", "README.md"),
        ("chat/f", "app/chat/context/finder.py"),
        ("http", "app/daemon/http/chat.py"),
        ("cs", "app/Screens/ChatScreen.tsx"),  # first letters of its words
        ("faf", "docs/find-a-file.md"),
        ("seqnce", "app/engine/sequence.py"),
        ("file", "docs/find-a-file.md"),
        ("lists", "CMakeLists.txt"),
        ("app/cli.py", "app/cli.py"),
    ],
)
def test_the_best_is_the_one_that_was_meant(query, first):
    assert best(query)[0] == first


def test_what_has_not_all_letters_in_order_is_not_found():
    assert best("ilc") == []
    assert best("zz") == []


def test_nothing_is_found_twice():
    assert best("bb", ("B_BB",)) == ["B_BB"]  # a word begins so, and its words' first letters do


def test_symbols_are_ranked_by_their_last_part():
    assert best("step", ("Stepper.run", "Engine.step", "footstep"), ".") == ["Engine.step", "footstep", "Stepper.run"]


letters = st.text(alphabet="abB/_.-é", min_size=1, max_size=10)


@given(st.lists(letters, max_size=30), st.text(alphabet="abB/_.é", min_size=1, max_size=4), st.integers(1, 6))
@settings(deadline=None)
def test_looking_no_further_than_needed_finds_the_same(names, query, limit):
    assert Names(names, "/").best(query, limit) == slowly(query, names, "/", limit)


@given(st.lists(letters, max_size=30), st.lists(st.text(alphabet="abB/", min_size=1, max_size=4), max_size=6))
@settings(deadline=None)
def test_what_was_looked_for_before_changes_nothing(names, queries):
    lot = Names(names, "/")
    for query in queries:
        for end in range(1, len(query) + 1):
            assert lot.best(query[:end], 5) == slowly(query[:end], names, "/", 5)


@given(letters, st.text(alphabet="abB/_.é", min_size=1, max_size=4))
@settings(deadline=None)
def test_positions_are_those_of_the_letters(name, query):
    if not best(query, (name,)):
        return
    places = positions(name, query, "/")
    assert [folded(name)[at] for at in places] == list(folded(query))
    assert list(places) == sorted(set(places))


def test_positions_show_why_it_was_found():
    assert positions("app/cli.py", "cli", "/") == (4, 5, 6)
    assert positions("app/Screens/ChatScreen.tsx", "cs", "/") == (12, 16)
    assert positions("find-a-file.md", "file", "/") == (7, 8, 9, 10)


def test_a_letter_that_grows_in_lower_case_moves_no_position():
    assert len(folded("İx/İY")) == len("İx/İY")
    assert positions("İİ/abc", "b", "/") == (4,)


def test_a_name_that_nearly_matches_many_times_takes_no_longer_than_its_length():
    names = ["a" * 3000 + "/" + "ab" * 1000] * 20
    assert best("a" * 30 + "c", tuple(names)) == []  # returns at all: backtracking would take years


def test_a_large_workspace_is_ranked_as_a_small_one():
    drawn = random.Random(7)
    parts = ["app", "chat", "client", "engine", "find", "screens", "test_find", "util", "x"]
    names = tuple(dict.fromkeys("/".join(drawn.choices(parts, k=4)) + f"{at % 50}.py" for at in range(3000)))
    for query in ("f", "fi", "find7", "tf7", "chat/x", "zz", "acef"):
        found = Names(names, "/").best(query, 20)
        assert found == slowly(query, names, "/", 20)
        assert all(key[0] <= FAR for key, _ in found)
