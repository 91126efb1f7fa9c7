"""Mentions in a prompt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context.mentions import completed, mentions, named, of_symbol, symbol_readings, typing, written

FILES = {
    "app/cli.py",
    "README.md",
    "a b.py",
    "app/",
    "odd:3",
    "Engine.step",
    "property",
    "diff",
    "output",
    "x",
    "@scope/pkg",
    "app/cli.py:Engine.step",
    "app/cli.py:Engine.__init__",
    'a "b".py:run',
}


def found(text, files=FILES):
    return [(each.name, each.first, each.last) for each in mentions(text, files.__contains__) if each.resolved]


def unresolved(text):
    return [each.name for each in mentions(text, FILES.__contains__) if not each.resolved]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("what does @app/cli.py do", [("app/cli.py", 0, 0)]),
        ("@README.md", [("README.md", 0, 0)]),
        ("look at @app/cli.py.", [("app/cli.py", 0, 0)]),
        ("(see @app/cli.py), or @README.md?", [("app/cli.py", 0, 0), ("README.md", 0, 0)]),
        ('@"a b.py" is odd', [("a b.py", 0, 0)]),
        ("@app/cli.py:10-40", [("app/cli.py", 10, 40)]),
        ("@app/cli.py:40-10!", [("app/cli.py", 10, 40)]),
        ("@app/cli.py:7, please", [("app/cli.py", 7, 7)]),
        ('@"a b.py":3-4', [("a b.py", 3, 4)]),
        ("@odd:3", [("odd:3", 0, 0)]),
        ("why does @Engine.step wait?", [("Engine.step", 0, 0)]),
        ("what does @app/cli.py:Engine.step do?", [("app/cli.py:Engine.step", 0, 0)]),
        ("@app/cli.py:Engine.__init__ is long", [("app/cli.py:Engine.__init__", 0, 0)]),
        ('see @"app/cli.py:Engine.__init__".', [("app/cli.py:Engine.__init__", 0, 0)]),
        ("@app/cli.py:Engine.step:7-9", [("app/cli.py:Engine.step", 7, 9)]),
        ('@"a ""b"".py:run", please', [('a "b".py:run', 0, 0)]),
        ("review @diff and @output.", [("diff", 0, 0), ("output", 0, 0)]),
        ("@app/", [("app/", 0, 0)]),
        ("in `@app/cli.py` it says", []),
        ("first\n@app/cli.py\nlast", [("app/cli.py", 0, 0)]),
    ],
)
def test_a_mention_is_found(text, meant):
    assert found(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "write to ann@README.md",
        "a@x, b@diff",
        "mail me@example.org",
        "@",
        "@ x",
        "@@x",
        "@.",
        "no mention",
        "```python\n@property\ndef f(): ...\n```",
        "```\n@x\n```",
        "~~~\n@diff\n~~~",
        "`@property`",
        "@unknown",
        "@pytest.fixture\ndef f(): ...",
        "@app.route('/x')\ndef f(): ...",
        "  @functools.cache\n  @other.thing\n  async def f(): ...",
    ],
)
def test_what_is_none_is_left_alone(text):
    assert mentions(text, FILES.__contains__) == ()


def test_a_path_in_code_is_one_where_it_is_there():
    assert found("```\nsee @app/cli.py\n```") == [("app/cli.py", 0, 0)]


def test_code_ends_where_its_fence_does():
    assert found("```\nx\n```\n@x") == [("x", 0, 0)]
    assert found("````\n```\n@x\n````\n@diff") == [("diff", 0, 0)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("open @app/nosuch.py please", "app/nosuch.py"),
        ('see @"no such"', "no such"),
        ("@nosuch.py:3-4", "nosuch.py"),
        ("see @app/no.py:main.", "app/no.py:main"),
    ],
)
def test_what_was_meant_as_one_and_is_not_there_is_told(text, name):
    assert unresolved(text) == [name]


def test_the_place_of_a_mention_is_that_of_its_text():
    text = "a @app/cli.py:1-2, b"
    mention = mentions(text, FILES.__contains__)[0]
    assert text[mention.start : mention.end] == "@app/cli.py:1-2"


@pytest.mark.parametrize(
    ("text", "query", "quoted"),
    [
        ("see @ap", "ap", False),
        ("@", "", False),
        ('x @"a b', "a b", True),
        ("(@app/cl", "app/cl", False),
        ("@app/cli.py:En", "app/cli.py:En", False),
        ('@"a ""b', 'a "b', True),
        ("a\n@x", "x", False),
    ],
)
def test_what_is_being_typed_is_found(text, query, quoted):
    typed = typing(text, len(text))
    assert (typed.query, typed.quoted) == (query, quoted)
    assert text[typed.start] == "@"


@pytest.mark.parametrize("text", ["", "a@b", "@x done", '@"a b" ', "x", "@x\n"])
def test_where_none_is_typed_none_is_found(text):
    assert typing(text, len(text)) is None


def test_only_what_stands_before_the_cursor_is_being_typed():
    assert typing("see @app/cli.py", 8).query == "app"


@pytest.mark.parametrize(
    ("text", "cursor", "name", "after"),
    [
        ("see @ap", 7, "app/cli.py", "see @app/cli.py "),
        ("see @ap and", 7, "app/cli.py", "see @app/cli.py and"),
        ('see @"a" and', 7, "a b.py", 'see @"a b.py" and'),
        ("@\nx", 1, "README.md", "@README.md\nx"),
    ],
)
def test_a_choice_takes_the_place_of_what_was_typed(text, cursor, name, after):
    changed, place = completed(text, typing(text, cursor), written(name))
    assert changed == after
    assert place <= len(changed)
    assert changed[:place].rstrip().endswith(written(name))


def test_what_a_written_mention_names_can_be_told_without_a_prompt():
    written_so = {"@a": "a", '@"a b': "a b", '@"a ""b"""': 'a "b"', '@"a b":3-4': "a b", "a": "a"}
    assert {word: named(word) for word in written_so} == written_so


def test_a_symbol_with_its_file_is_read_in_every_way_that_there_is():
    assert [*symbol_readings(of_symbol("a:b.py", "f"))] == [("a", "b.py:f"), ("a:b.py", "f")]
    assert [*symbol_readings("a.py")] == [*symbol_readings(":a")] == [*symbol_readings("a:")] == []


names = st.text(alphabet="ab/._- :3é'\"", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(names, st.integers(0, 50), st.integers(0, 50))
@settings(deadline=None)
def test_what_is_written_is_read_again(name, first, length):
    mention = written(name, first, first + length if first else 0)
    read = mentions(f"before {mention} after", {name}.__contains__)
    assert [(each.name, each.first, each.last) for each in read] == [(name, first, first + length if first else 0)]
    assert named(written(name)) == name


@given(st.text(alphabet='@ab "`\n.:1-,/~'))
@settings(deadline=None)
def test_mentions_lie_in_order_and_within_the_text(text):
    at = 0
    for each in mentions(text, {"a", "a/b", "ab", "a b"}.__contains__):
        assert at <= each.start < each.end <= len(text)
        assert text[each.start] == "@"
        assert each.name in text[each.start : each.end].replace('""', '"')
        at = each.end
