"""How much is wanted at a place."""

import argparse
import ast
import json
from pathlib import Path

import pytest

from paceline.prompts.shape import LINE, WINDOW, Extent, extent, shape


def at(marked, language="python"):
    before, after = marked.split("|")
    return shape(before, after, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("def f():\n    |\n", "python"),
        ("def f():|\n", "python"),
        ("x = |\n", "python"),
        ("x = foo(|", "python"),
        ("function f() {\n  |\n}\n", "javascript"),
        ("it('does', () => {|\n", "javascript"),
        ("|", ""),
        ('x = "done"; |\n', "python"),
        ("x = 'it\\'s'  |\n", "python"),
        ("/* done */\n|\n", "c"),
        ("# it's done\n|\n", "python"),
    ],
)
def test_where_the_line_ends_a_block_is_wanted(marked, language):
    assert at(marked, language) == "block"


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("print(a|)\n", "python"),
        ("def f(|):\n", "python"),
        ("    public int add(|)\n", "java"),
        ("if (|)\n", "c"),
        ("} catch(|)\n", "java"),
        ("f(function(|))\n", "javascript"),
        ("print(|]\n", "python"),
        ("x = {} |}\n", "python"),
        ("for i in |:\n", "python"),
        ("x = | + y\n", "python"),
        ("    |return x\n", "python"),
        ("f(a|);\n", "c"),
    ],
)
def test_in_the_middle_of_a_line_a_line_is_wanted(marked, language):
    assert at(marked, language) == "line"


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("function add(a, b) {|}\n", "javascript"),
        ("  int x() { | }\n", "java"),
        ("xs.forEach((x) => {|});\n", "javascript"),
        ("import (|)\n", "go"),
        ("xs = [|]\n", "python"),
        ("print(|)\n", "python"),
        ("{xs.map((x) => |)}\n", "javascriptreact"),
        ("  useEffect(|);\n", "typescript"),
        ("  return (|);\n", "javascriptreact"),
        ("  const x = await fetch(|);\n", "javascript"),
        ("  vec.extend(|);\n", "rust"),
        ("  return Foo(|)\n", "python"),
    ],
)
def test_between_brackets_that_an_editor_closes_by_itself_a_block_is_wanted(marked, language):
    assert at(marked, language) == "block"


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("x = 1  # set |\n", "python"),
        ('x = "set |\n', "python"),
        ('def f():\n    """Say\n    |\n', "python"),
        ("/*\n * Say\n |\n", "c"),
        ("x(); // set |\n", "typescript"),
        ("select 1 -- set |\n", "sql"),
        ("# Title\n\n|\n", "markdown"),
    ],
)
def test_in_comments_texts_and_prose_a_line_is_wanted(marked, language):
    assert at(marked, language) == "line"


def looking_at_everything(monkeypatch, before, after, language):
    with monkeypatch.context() as patched:
        patched.setattr("paceline.prompts.shape.WINDOW", len(before) + len(after) + 1)
        return shape(before, after, language)


SOURCES = [*sorted(Path(json.__file__).parent.glob("*.py")), Path(argparse.__file__), Path(ast.__file__)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_end_of_a_long_text_says_what_all_of_it_says(source, monkeypatch):
    text = source.read_text("utf-8")
    long = "\n".join(text for _ in range(1 + 200_000 // len(text)))
    end = len(long) - len(text)
    for at in range(end, len(long), max(1, len(text) // 40)):
        before, after = long[:at], long[at:]
        assert shape(before, after, "python") == looking_at_everything(monkeypatch, before, after, "python")


def test_a_comment_of_a_long_text_is_known_by_its_mark(monkeypatch):
    code = "export function f(a) {\n  return `/*` + a; // it's\n}\n/* about\n * g */\n"
    before = code * 3000 + "/* say\n   "
    for text in (before, before + "*/\n", code * 3000):
        assert shape(text, "\n", "javascript") == looking_at_everything(monkeypatch, text, "\n", "javascript")


def test_how_much_is_looked_at_is_bounded(monkeypatch):
    seen = []
    monkeypatch.setattr("paceline.prompts.shape.normalise", lambda text: seen.append(len(text)) or text)
    shape("x = 1\n" * 500_000, "\n" + "y = 2\n" * 100_000, "python")
    assert max(seen) <= WINDOW


def test_a_line_takes_few_tokens_and_a_block_as_many_as_there_are():
    assert extent("x = ", "\n", "python", 160) == Extent("block", 160)
    assert extent("x = ", "\n", "python", 160, multiline=False) == Extent("line", LINE)
    assert extent("f(a", ")\n", "python", 160) == Extent("line", LINE)
    assert extent("f(a", ")\n", "python", 20) == Extent("line", 20)
