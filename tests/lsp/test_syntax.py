"""What a cursor stands in, against Python's own tokenizer and examples in other languages."""

import io
import random
import sysconfig
import tokenize
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.lsp.syntax import _ALIASES, _TABLE, WINDOW, inside, language_of, line_comment, name_of
from paceline.prompts.comments import comment_mark

FILES = ("bisect.py", "calendar.py", "textwrap.py", "shlex.py", "html/parser.py", "json/decoder.py", "cmd.py")


def kinds(source):
    """What each character is in, as Python says; None within a mark that opens a string, and in formats."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = ["code"] * (len(source) + 1)
    formats = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":
            formats.append(start)
        elif name == "FSTRING_END":
            begin = formats.pop()
            found[begin:end] = [None] * (end - begin)
        elif name == "COMMENT":
            found[start + 1 : end + 1] = ["comment"] * (end - start)
        elif name == "STRING":
            body = token.string.lstrip("rRbBuUfF")
            begin = end - len(body)
            opened = begin + (3 if body[:3] in ('"""', "'''") else 1)
            found[begin:opened] = [None] * (opened - begin)
            found[opened:end] = ["string" if "f" not in token.string[: begin - start].lower() else None] * (
                end - opened
            )
    return found


@pytest.mark.parametrize("name", FILES)
def test_python_is_read_as_python_reads_it(name):
    source = (Path(sysconfig.get_path("stdlib")) / name).read_text("utf-8")[:WINDOW]
    source = source[: source.rfind("\n\n\n") + 1]  # whole statements
    expected = kinds(source)
    choice = random.Random(name)
    for at in sorted(choice.sample(range(len(source)), min(len(source), 400))):
        if expected[at] is not None:
            assert inside(source[:at], "python").kind == expected[at], source[max(0, at - 60) : at]


def test_a_long_file_is_looked_at_from_a_line_of_code_on():
    docstring = '"""' + "It's a long story.\n" * 50 + '"""\n'
    function = f"def one(a):\n    {docstring}    return a\n\n\n"
    text = function * 40
    assert len(text) > 2 * WINDOW
    for cut in range(0, 3000, 97):
        here = text[: len(text) - cut]
        assert inside(here, "python").kind == inside(here[here.rfind("def one") :], "python").kind


@pytest.mark.parametrize(
    ("language", "before", "kind"),
    [
        ("python", "x = 1  # so", "comment"),
        ("python", "x = 1  # so\n", "code"),
        ("python", "x = '#", "string"),
        ("python", "x = '#' + ", "code"),
        ("python", "x = 'unfinished\ny = ", "code"),
        ("python", 'x = """a\n\n"', "string"),
        ("python", 'x = """a\\""" b', "string"),
        ("python", 'x = f"{', "code"),
        ("python", 'x = f"{a} and', "string"),
        ("python", 'x = f"{{', "string"),
        ("python", 'x = "{', "string"),
        ("javascript", "let a = `x ${", "code"),
        ("javascript", "let a = `x ${b} ", "string"),
        ("javascript", "let a = 1; /* so\n", "comment"),
        ("javascript", "let a = 1; /* so */ ", "code"),
        ("javascript", 'let a = "https://', "string"),
        ("typescriptreact", "a // b", "comment"),
        ("go", "x := `a\nb // ", "string"),
        ("rust", "fn f<'a>(x: &'a str) // ", "comment"),
        ("rust", "let c = '\"'; ", "code"),
        ("rust", 'let s = "a\nb', "string"),
        ("c", "char c = '\"'; ", "code"),
        ("c", "int a; // it's", "comment"),
        ("c", "int a; // it's\r\nint b", "code"),
        ("csharp", "/// <summary>", "comment"),
        ("java", 'String s = """\n a', "string"),
        ("shellscript", "echo ${#a", "code"),
        ("shellscript", "echo $# a", "code"),
        ("shellscript", "echo a # b", "comment"),
        ("ruby", 'puts "a #{', "code"),
        ("ruby", 'puts "a #b', "string"),
        ("yaml", "a: b#c", "code"),
        ("yaml", "a: b # c", "comment"),
        ("sql", "select 1 -- one", "comment"),
        ("lua", "--[[ a\nb", "comment"),
        ("lua", "--[[ a ]] b", "code"),
        ("haskell", "f' x = {- a", "comment"),
        ("haskell", "f' x = x' -- a", "comment"),
        ("html", "<p>don't <!-- a", "comment"),
        ("html", "<p>don't ", "code"),
        ("css", "a { /* b", "comment"),
        ("julia", "x #= a\n", "comment"),
        ("clojure", "(a ; b", "comment"),
        ("json", '{"a": "b', "code"),
        ("unheard-of", "// # -- ", "code"),
        ("", "// # -- ", "code"),
    ],
)
def test_what_a_cursor_stands_in(language, before, kind):
    assert inside(before, language).kind == kind


def test_where_a_string_begins_is_told():
    found = inside('x = 1\ny = rb"""abc', "python")
    assert (found.kind, found.start, found.mark) == ("string", 15, '"""')


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab \n\r\"'`#/*-\\{}$[(;\u00e9😀"), max_size=60),
    st.sampled_from(["python", "javascript", "rust", "lua"]),
)
def test_any_text_is_in_something(text, language):
    found = inside(text, language)
    assert 0 <= found.start <= len(text)
    assert (found.kind == "code") or text[: found.start].endswith(found.mark)


@pytest.mark.parametrize(
    ("language", "path", "expected"),
    [
        ("py", "a.py", "py"),
        ("sh", "", "shellscript"),
        ("", "a.rs", "rust"),
        ("TSX", "", "typescriptreact"),
        ("", "", ""),
    ],
)
def test_languages_have_one_name(language, path, expected):
    assert language_of(language, path) == expected


@pytest.mark.parametrize(
    ("path", "uri", "name"),
    [
        ("src/a.go", "file:///w/src/a.go", "src/a.go"),
        ("", "file:///tmp/a%20b.go", "a b.go"),
        ("", "untitled:Untitled-1", ""),
    ],
)
def test_a_document_is_called_by_its_path_or_else_by_its_files_name(path, uri, name):
    assert name_of(path, uri) == name


def test_marks_of_comments_are_known_where_there_are_any():
    assert [line_comment(name) for name in ("python", "go", "sql", "html", "unheard-of")] == ["#", "//", "--", "", ""]


def test_what_begins_a_comment_is_the_same_here_and_in_prompts():
    """But for Vue's files: they are markup here, and mostly script where one asks how to write a comment."""
    names = (set(_TABLE) | set(_ALIASES)) - {"vue"}
    both = {name for name in names if comment_mark(name)}
    assert len(both) > 50
    assert [name for name in both if comment_mark(name) != line_comment(language_of(name, ""))] == []
    assert [name for name in _TABLE if name in names and line_comment(name) and not comment_mark(name)] == []
