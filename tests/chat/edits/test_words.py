"""Of two lines, the words that differ are known, and finding them never takes long."""

import difflib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import split_graphemes

from paceline.chat.edits.words import LONG_LINE, WORK, differing

plain = ["total", "x", " ", "  ", "\t", "+", "(", ")", ",", "日本", "é", "\x1b"]
joined = ["\u0301", "\u200d", "\ufe0f", "👩", "💻", "👍", "\U0001f3fd", "का", "\u20e3", "1", "\u1161", "e", "-"]
lines = st.lists(st.sampled_from(plain + joined)).map("".join)


def cut(line, marks):
    return [line[start:end] for start, end in marks]


def rest(line, marks):
    """The line without what is marked."""
    for start, end in reversed(marks):
        line = line[:start] + line[end:]
    return line


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("total = price + tax", "total = price * tax", ["+"], ["*"]),
        ("def greet(name):", "def greet(name: str) -> None:", [], [": str", " -> None"]),
        ("return part(a, b)", "return whole(a, b)", ["part"], ["whole"]),
        ("    x = 1", "        x = 1", ["    "], ["        "]),
        ("x = 'one'  # kept", "x = 'two'  # kept", ["one"], ["two"]),
    ],
)
def test_words_that_became_others(old, new, gone, come):
    left, right = differing(old, new)
    assert (cut(old, left), cut(new, right)) == (gone, come)


@pytest.mark.parametrize(
    ("old", "new"),
    [("abc def", "123 456 789 +++"), ("    return one", "    while two"), ("same", "same"), ("a " * LONG_LINE, "a b")],
)
def test_nothing_is_marked_in_lines_that_have_nothing_in_common_or_are_too_long(old, new):
    assert differing(old, new) == ((), ())


@given(lines, lines)
def test_without_what_is_marked_both_lines_are_the_same(old, new):
    left, right = differing(old, new)
    for line, marks in ((old, left), (new, right)):
        assert all(0 <= start < end <= len(line) for start, end in marks)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(marks))
    if left or right:
        assert rest(old, left) == rest(new, right)


@given(lines, lines)
def test_no_border_of_what_is_marked_divides_what_is_seen_as_one_character(old, new):
    for line, marks in zip((old, new), differing(old, new), strict=True):
        firsts = {first for first, _, _ in split_graphemes(line.replace("\t", " ").replace("\x1b", "?"))[0]}
        assert {edge for mark in marks for edge in mark} <= firsts | {len(line)}


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ("a = cafe\u0301 + b", "a = cafe + b", ["cafe\u0301"], ["cafe"]),
        ("say('👩\u200d💻') # ok", "say('👩\u200d🚀') # ok", ["👩\u200d💻"], ["👩\u200d🚀"]),
        ("say('👍') # fine", "say('👍\U0001f3fd') # fine", ["👍"], ["👍\U0001f3fd"]),
    ],
)
def test_of_what_is_seen_as_one_character_all_is_marked(old, new, gone, come):
    left, right = differing(old, new)
    assert (cut(old, left), cut(new, right)) == (gone, come)


HOSTILE = [
    ("a b " * 249 + "a", "b a " * 249 + "b"),
    ("(" * 999, ")" + "(" * 997 + "!"),
    ("x" + "(" * 998, "(" * 998 + "y"),
    (" ".join(f"w{at}" for at in range(200)), " ".join(f"w{at}" for at in reversed(range(200)))),
    ("," + "a,b," * 249, ";" + "b,a," * 249 + ";"),
]


class Counted(difflib.SequenceMatcher):
    """Counts the words that it looks at."""

    looked = 0

    def find_longest_match(self, alo=0, ahi=None, blo=0, bhi=None):
        Counted.looked += sum(1 + len(self.b2j.get(word, ())) for word in self.a[alo:ahi])
        return super().find_longest_match(alo, ahi, blo, bhi)


@pytest.mark.parametrize(("old", "new"), HOSTILE)
def test_lines_that_repeat_themselves_take_no_longer_than_others(monkeypatch, old, new):
    monkeypatch.setattr(difflib, "SequenceMatcher", Counted)
    monkeypatch.setattr(Counted, "looked", 0)
    differing.cache_clear()
    differing(old, new)
    assert Counted.looked <= 2 * WORK
