"""Comments and strings of many languages, as far as it takes to say what a cursor stands in. No parser: a table.

Only a bounded piece of text before the cursor is looked at. Where that begins in the middle of a file, it begins at
a line that looks like code.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote, urlsplit

from paceline.prompts.context import language as language_of_file

WINDOW = 12288  # characters before the cursor that are looked at
TRIPLE = ('"""', "'''")

Kind = Literal["code", "comment", "string"]


@dataclass(frozen=True)
class Syntax:
    """How a language writes comments and strings. Strings are named by the mark that opens and closes them."""

    line: tuple[str, ...] = ()  # comments up to the line's end
    block: tuple[tuple[str, str], ...] = ()
    strings: tuple[str, ...] = ('"', "'")  # within a line
    long: tuple[str, ...] = ()  # strings that may have several lines
    spaced: bool = False  # a line comment begins a line or stands behind a blank
    chars: bool = False  # ' is for single characters, and something else besides


@dataclass(frozen=True)
class Inside:
    """What a cursor stands in, and where in the text before it that begins (behind the mark that opens it)."""

    kind: Kind
    start: int = 0
    mark: str = ""  # that opened it


_SLASHES = (("/*", "*/"),)
_C = Syntax(("//",), _SLASHES)
_HASH = Syntax(("#",), strings=(), long=('"', "'"), spaced=True)
_LISP = Syntax((";",), strings=(), long=('"',))
_TABLE: dict[str, Syntax] = {
    **dict.fromkeys(("c", "cpp", "csharp", "objective-c", "objective-cpp", "proto", "proto3", "zig", "cuda"), _C),
    **dict.fromkeys(("java", "kotlin", "scala", "swift", "groovy"), Syntax(("//",), _SLASHES, long=('"""',))),
    "dart": Syntax(("//",), _SLASHES, long=TRIPLE),
    **dict.fromkeys(
        ("javascript", "typescript", "javascriptreact", "typescriptreact"), Syntax(("//",), _SLASHES, long=("`",))
    ),
    "go": Syntax(("//",), _SLASHES, long=("`",)),
    "rust": Syntax(("//",), _SLASHES, strings=(), long=('"',), chars=True),
    "php": Syntax(("//", "#"), _SLASHES, strings=(), long=('"', "'")),
    "css": Syntax((), _SLASHES),
    **dict.fromkeys(("scss", "less", "sass", "stylus"), Syntax(("//",), _SLASHES, spaced=True)),
    "python": Syntax(("#",), long=TRIPLE),
    **dict.fromkeys(("shellscript", "ruby", "perl", "r", "fish"), _HASH),
    "elixir": Syntax(("#",), strings=(), long=('"""', '"')),
    "julia": Syntax(("#",), (("#=", "=#"),), strings=(), long=('"""', '"')),
    "nim": Syntax(("#",), (("#[", "]#"),), strings=('"',), long=('"""',)),
    "powershell": Syntax(("#",), (("<#", "#>"),), strings=(), long=('"', "'"), spaced=True),
    **dict.fromkeys(("makefile", "dockerfile", "cmake"), Syntax(("#",), strings=('"',), spaced=True)),
    "yaml": Syntax(("#",), spaced=True),
    "toml": Syntax(("#",), long=TRIPLE),
    **dict.fromkeys(("ini", "properties"), Syntax((";", "#"), strings=(), spaced=True)),
    "terraform": Syntax(("#", "//"), _SLASHES, strings=('"',)),
    "graphql": Syntax(("#",), strings=('"',), long=('"""',)),
    "sql": Syntax(("--",), _SLASHES, strings=(), long=("'", '"')),
    "lua": Syntax(("--",), (("--[[", "]]"),)),
    "haskell": Syntax(("--",), (("{-", "-}"),), strings=('"',), chars=True),
    "fsharp": Syntax(("//",), (("(*", "*)"),), strings=(), long=('"""', '"'), chars=True),
    "ocaml": Syntax((), (("(*", "*)"),), strings=(), long=('"',), chars=True),
    **dict.fromkeys(("clojure", "lisp", "scheme", "elisp"), _LISP),
    "erlang": Syntax(("%",), strings=(), long=('"',)),
    **dict.fromkeys(("html", "xml", "vue", "svelte", "xhtml"), Syntax((), (("<!--", "-->"),), strings=())),
}
_ALIASES = {
    alias: name
    for name, aliases in {
        "shellscript": ("sh", "bash", "zsh", "ksh"),
        "powershell": ("ps1",),
        "javascriptreact": ("jsx", "javascript.jsx"),
        "typescriptreact": ("tsx", "typescript.tsx"),
        "csharp": ("cs",),
        "objective-c": ("objc",),
        "objective-cpp": ("objcpp",),
        "makefile": ("make",),
        "dockerfile": ("docker",),
        "elisp": ("emacs-lisp",),
        "scheme": ("racket",),
        "lisp": ("commonlisp",),
        "terraform": ("tf", "hcl"),
        "properties": ("jproperties",),
        "ini": ("dosini", "conf"),
    }.items()
    for alias in aliases
}
_CODE_LINE = re.compile(
    r"^(?:@\w|(?:export|public|private|protected|static|final|async|pub|const|let|var|val|def|class|func|fn|fun|function|"
    r"import|from|package|use|using|impl|struct|type|interface|enum|namespace|module|template|void|int|extern|defmodule)"
    r"\b[^\r\n]*[({:;=,\w)>\"'][ \t]*\r?$)",
    re.MULTILINE,
)


def language_of(language: str, path: str) -> str:
    """The language as this table calls it; from the file's name where the editor does not say. "" if unknown."""
    name = language.lower() or language_of_file(path)
    return _ALIASES.get(name, name)


def name_of(path: str, uri: str) -> str:
    """What a document is called: its path within its folder, or else its file's name; "" if it has none."""
    found = urlsplit(uri)
    return path or (PurePosixPath(unquote(found.path)).name if found.scheme == "file" else "")


def line_comment(language: str) -> str:
    """The mark that begins a comment up to the line's end; "" where there is none."""
    syntax = _TABLE.get(language)
    return syntax.line[0] if syntax and syntax.line else ""


def inside(before: str, language: str) -> Inside:
    """What a cursor behind this text stands in; code, where the language is not known."""
    if language not in _TABLE:
        return Inside("code")
    syntax = _TABLE[language]
    at = _beginning(before)
    opener = _opener(syntax)
    while found := opener.search(before, at):
        mark = found[0]
        kind, end = _token(before, found, syntax)
        if end < 0:
            return _within(before, Inside(kind, found.end(), mark), language)
        at = end
    return Inside("code")


def _beginning(before: str) -> int:
    """Where to begin looking."""
    if len(before) <= WINDOW:
        return 0
    found = _CODE_LINE.search(before, len(before) - WINDOW)
    return found.start() if found else before.find("\n", len(before) - WINDOW) + 1


@lru_cache(maxsize=64)
def _opener(syntax: Syntax) -> re.Pattern[str]:
    """Whatever begins a comment or string, and single characters in quotes, which may be a quote."""
    marks = [*(opening for opening, _ in syntax.block), *syntax.long, *syntax.strings]
    blocks = [re.escape(mark) for mark in sorted(marks, key=len, reverse=True)]
    lines = [(r"(?<![^\s])" if syntax.spaced else "") + re.escape(mark) for mark in syntax.line]
    chars = [r"'(?:\\.|[^\\'\r\n])'"] if syntax.chars else []
    longest_first = [each for each in blocks if len(each) > 2] + lines + [each for each in blocks if len(each) <= 2]
    return re.compile("|".join([*chars, *longest_first]))


@lru_cache(maxsize=64)
def _body(mark: str, several: bool) -> re.Pattern[str]:
    """The inside of a string up to its end, or where it cannot go on."""
    end = re.escape(mark)
    other = r"." if several else r"[^\r\n]"
    return re.compile(rf"(?:[^\\\r\n{re.escape(mark[0])}]+|\\(?s:.)|(?!{end}){other})*", re.DOTALL)


def _token(text: str, found: re.Match[str], syntax: Syntax) -> tuple[Kind, int]:
    """What was found, and where it ends; -1 where the text ends first."""
    mark, at = found[0], found.end()
    if mark in syntax.line:
        ends = [end for each in "\r\n" if (end := text.find(each, at)) >= 0]
        return "comment", min(ends, default=-1)
    for opening, closing in syntax.block:
        if mark == opening:
            end = text.find(closing, at)
            return "comment", end + len(closing) if end >= 0 else -1
    if mark not in syntax.strings and mark not in syntax.long:
        return "code", at  # a single character
    matched = _body(mark, mark in syntax.long).match(text, at)
    end = matched.end() if matched else at
    if end >= len(text):
        return "string", -1
    return "string", end + len(mark) if text.startswith(mark, end) else end


def _within(before: str, found: Inside, language: str) -> Inside:
    """Code again, where a string has code in it."""
    if found.kind == "string":
        content = before[found.start :]
        if language == "python":
            prefix = before[max(0, found.start - len(found.mark) - 2) : found.start - len(found.mark)]
            opening, closing, has = "{", "}", "f" in prefix.lower()
            content = content.replace("{{", "").replace("}}", "")
        else:
            opening, closing = ("#{", "}") if language in ("ruby", "elixir") else ("${", "}")
            has = found.mark in ("`", '"', '"""')
        if has and content.rfind(opening) > content.rfind(closing):
            return Inside("code")
    return found
