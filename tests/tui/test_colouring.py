"""Code is coloured as its lexer reads the whole of it, whenever its lines came."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name

from paceline.tui.widgets import colouring
from paceline.tui.widgets.colouring import Colouring, _style

CODE = {
    "python": ["def f(x):", '    """doc', '    more"""', "    return f'{x!r}' + 'a'  # no", "", "class A: pass"],
    "c": ["/* open", " still", "*/ int x = 1;", "#include <a.h>", 'char *s = "a";', "", "// end"],
    "javascript": ["const a = `x", "${b} y`;", "/* c", "*/ f(1);", "", "// d"],
    "bash": ["cat <<EOF", "text $x", "EOF", "if [ -f a ]; then", '  echo "a', 'b"', "fi"],
    "html": ["<p class='a'>", "<script>", "let a = 1;", "</script>", "<!-- c", "d -->"],
    "diff": ["--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y"],
    "rust": ["/* a", "/* b */", "*/ fn f() -> u8 { 1 }", 'let s = r#"', '"#;'],
    "ruby": ["x = <<~A", "  text", "A", "puts :a"],
}  # fmt: skip
codes = st.sampled_from(sorted(CODE)).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(st.sampled_from(CODE[name]), max_size=20))
)


def whole(language, lines):
    """The colours by line, from the lexer's reading of everything at once."""
    found = [[] for _ in lines]
    at = 0
    for _, token, text in get_lexer_by_name(language, stripnl=False, ensurenl=False).get_tokens_unprocessed(
        "".join(line + "\n" for line in lines)
    ):
        for character in text:
            if character == "\n":
                at += 1
            else:
                found[at].append((character, _style(token)))
    return found


def by_character(spans):
    return [(character, names[0] if names else "") for text, names in spans for character in text]


def finished(read):
    while read.working:
        read.work(0)
    return [by_character(spans) for spans in read.lines]


@settings(max_examples=120, deadline=None)
@given(codes, st.integers(1, 5))
def test_when_it_is_complete_it_is_coloured_as_a_whole(code, step):
    language, lines = code
    read = Colouring(language)
    for at in range(0, len(lines), step):
        read.add(lines[at : at + step])
    read.close()
    assert finished(read) == whole(language, lines)


@settings(max_examples=120, deadline=None)
@given(codes, st.integers(1, 5))
def test_while_it_grows_no_character_is_lost(code, step):
    language, lines = code
    read = Colouring(language)
    for at in range(0, len(lines), step):
        read.add(lines[at : at + step])
        for line, spans in zip(lines, read.lines, strict=False):
            assert spans is None or "".join(text for text, _ in spans) == line


@pytest.mark.parametrize("language", ["python", "c", "diff"])
def test_while_it_grows_it_is_coloured_up_to_the_last_line(language):
    lines = CODE[language] * 5
    read = Colouring(language)
    for line in lines:
        read.add([line])
    assert [by_character(spans) for spans in read.lines] == whole(language, lines)


def test_a_long_fence_is_read_in_slices():
    lines = CODE["python"] * 300
    read = Colouring("python")
    read.add(lines)
    read.close()
    slices = 0
    while read.working:
        known = read.work(0)
        slices += 1
        assert len(known) <= 60
    assert slices > 50
    assert all(spans is not None for spans in read.lines)


@pytest.mark.parametrize("language", ["", "no-such-language", "../x", "python\x1b"])
def test_what_no_lexer_knows_stays_plain(language):
    read = Colouring(language)
    read.add(["a", "b"])
    read.close()
    assert not read.working or language.startswith("python")


def test_a_lexer_that_fails_costs_colours_only(monkeypatch):
    class Failing:
        def get_tokens_unprocessed(self, text):
            yield 0, random.choice([colouring.Token.Keyword]), text[:1]
            raise RecursionError

    monkeypatch.setattr(colouring, "_lexer", lambda language: Failing())
    read = Colouring("x")
    read.add(["a", "b"])
    read.close()
    while read.working:
        read.work()
    assert read.lines == [None, None]


def test_endless_fences_and_endless_lines_stay_plain():
    for lines in (["x = 1"] * (colouring.LIMIT // 5), ["x" * (colouring.LONG_LINE + 1)]):
        read = Colouring("python")
        read.add(lines)
        read.close()
        assert not read.working
