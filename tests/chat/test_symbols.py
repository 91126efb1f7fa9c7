"""What files define, and where."""

from pathlib import Path

import pytest

from paceline.chat.context.symbols import language_of, symbols

PYTHON = '''import os

@cached
def first(a,
          b):
    """About."""
    return a


class Engine:
    """An engine."""

    size = 3

    async def step(self):
        def inner(): ...
        return inner

    class Part:
        def deep(self): ...


if True:
    def under(): ...
'''
TYPESCRIPT = """// A shop.
export class Shop {
  private items: Item[] = [];

  add(item: Item): void {
    this.items.push(item);
  }
}

export function total(shop: Shop): number {
  return 0;
}

const twice = (n: number) => {
  return n * 2;
};
"""
GO = """package main

type Point struct {
	X int
}

func (p *Point) Move(dx int) {
	p.X += dx
}

func main() {
}
"""
RUST = """struct P { x: i32 }

impl P {
    /// Moves.
    fn go(&self) -> i32 {
        1
    }
}

fn main() {
    let é = 1;
}
"""
C = "/* é */\nint add(int a,\n        int b)\n{\n    return a + b;\n}\n\nstatic int twice(int a) { return 2 * a; }\n"


def named(language, text, **how):
    return {each.name: (each.first, each.last) for each in symbols(language, text, **how)}


def test_pythons_definitions_have_their_lines_decorators_and_all():
    assert named("python", PYTHON) == {
        "first": (3, 7),
        "Engine": (10, 20),
        "Engine.step": (15, 17),
        "Engine.Part": (19, 20),
        "Engine.Part.deep": (20, 20),
        "under": (24, 24),
    }


@pytest.mark.parametrize(
    ("language", "text", "lines"),
    [
        ("typescript", TYPESCRIPT, {"Shop": (2, 8), "Shop.add": (5, 7), "total": (10, 12), "twice": (14, 16)}),
        ("go", GO, {"Point": (3, 5), "Move": (7, 9), "main": (11, 12)}),
        ("rust", RUST, {"P.go": (5, 7), "main": (10, 12)}),
        ("c", C, {"add": (2, 6), "twice": (8, 8)}),
    ],
)
def test_other_languages_definitions_have_theirs(language, text, lines):
    found = named(language, text)
    assert {name: found.get(name) for name in lines} == lines


def test_without_their_ends_the_first_lines_are_the_same():
    for language, text in (("python", PYTHON), ("typescript", TYPESCRIPT), ("go", GO), ("rust", RUST), ("c", C)):
        quick = [(each.name, each.first) for each in symbols(language, text, ends=False)]
        whole = [(each.name, each.first) for each in symbols(language, text)]
        assert [name for name, _ in quick] == [name for name, _ in whole]
        assert all(one >= two for (_, one), (_, two) in zip(quick, whole, strict=True))


def test_texts_and_comments_define_nothing():
    text = (
        '# def a(): ...\nx = """\ndef b(): ...\n\\""" def c(): ..."""\ny = \'\'\'\nclass D: ...\n\'\'\'\ndef e(): ...\n'
    )
    assert [each.name for each in symbols("python", text, ends=False)] == ["e"]


def test_our_own_files_have_the_same_definitions_read_quickly_and_whole():
    files = sorted((Path(__file__).parents[2] / "app").rglob("*.py"))
    assert len(files) > 50
    for file in files:
        text = file.read_text("utf-8")
        quick = {each.name for each in symbols("python", text, ends=False)}
        assert quick == {each.name for each in symbols("python", text)}, file


@pytest.mark.parametrize("text", ["", "def broken(:\n", "\0", "\udc80 = 1", "x" * 100_000, "(" * 5000])
@pytest.mark.parametrize("language", ["python", "typescript", "c"])
def test_what_is_no_program_defines_nothing(language, text):
    assert symbols(language, text) == ()


def test_a_language_is_known_by_the_files_name():
    assert language_of("a/b.py") == "python"
    assert language_of("a.tsx") == "typescriptreact"
    assert language_of("a.rs") == "rust"
    assert language_of("a.md") == language_of("Makefile") == language_of("a") == ""
