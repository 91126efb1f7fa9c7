"""One line of .gitignore, and many of them. That the whole agrees with Git is told in test_ignoring."""

import fnmatch
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.workspace.patterns import WILD, compiled


def hidden(lines, *paths):
    rules = compiled(lines)
    return [path for path in paths if rules.hide(path)]


@pytest.mark.parametrize(
    ("pattern", "those", "others"),
    [
        ("a.py", ["a.py", "x/a.py", "a.py/b"], ["aa.py", "a.pyc"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("x/*.py", ["x/a.py"], ["a.py", "x/y/a.py", "y/x/a.py"]),
        ("out/", ["out/a", "x/out/a"], ["out"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["b", "a/x"]),
        ("**/a/b", ["a/b", "x/y/a/b"], ["a/x/b"]),
        ("out/**", ["out/a", "out/x/a"], ["out"]),
        ("[!a-c]?", ["dx", "z1"], ["ax", "d"]),
        ("[[:digit:]]*", ["1a"], ["a1"]),
        (r"\!a", ["!a"], ["a"]),
        (r"a\*", ["a*"], ["ab"]),
        ("a\\  ", ["a "], ["a", "a  "]),
        ("a  ", ["a"], ["a  "]),
    ],
)
def test_a_pattern_says_what_gits_documentation_says(pattern, those, others):
    assert hidden([pattern], *those, *others) == those


@pytest.mark.parametrize("pattern", ["!", "/", "//", "#a", "", "a[", "\\", "[z-a]", "*a" * 600])
def test_what_is_no_pattern_hides_nothing(pattern):
    assert hidden([pattern], "a", "a[", "/", "#a", "z") == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", ["*a" * 9, "*a" * 200, "?*" * 60, "**/" * 60, "a/**/" * 60])
def test_no_pattern_takes_long(pattern):
    assert hidden([pattern + "b"], "a" * 255, "a/" * 500 + "c") == []


def test_more_patterns_than_can_be_looked_at_hide_everything():
    assert hidden([f"*{number}*" for number in range(WILD + 1)], "a.py") == ["a.py"]
    assert hidden([f"{number}" for number in range(2 * WILD)], "a.py") == []


names = st.text("ab.", min_size=1, max_size=8).filter(lambda name: name.strip("."))
globs = st.lists(st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "[!a]"]), min_size=1, max_size=8).map("".join)


@settings(max_examples=300, deadline=None)
@given(globs, names)
def test_a_name_is_matched_as_the_standard_library_does_it(pattern, name):
    assert compiled([pattern]).hide(name) == (re.match(fnmatch.translate(pattern), name) is not None)
