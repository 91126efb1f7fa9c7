"""What files define, and where: names with their lines."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from paceline.prompts.context import language as tag_of
from paceline.workspace.grammars import GRAMMARS
from paceline.workspace.outline import Definition, outline

if TYPE_CHECKING:
    from tree_sitter import Parser

_IDS = {"tsx": "typescriptreact", "jsx": "javascriptreact"}  # what the protocol calls them
_TAGS = {language: tag for tag, language in _IDS.items()}
LANGUAGES = ("python", *GRAMMARS)  # that have symbols; the protocol's languageIds
_WORDS = 12  # of a head that are looked for
_PYTHON = re.compile(
    r"""
    \#[^\n]*
    | \"{3} [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* \"{3}  | "(?:\\.|[^"\\\n])*"
    | '{3} [^'\\]* (?: (?: \\. | '(?!'') ) [^'\\]* )* '{3}  | '(?:\\.|[^'\\\n])*'
    | ^(?P<indent>[ \t]*) (?:async[ \t]+)? (?:
        (?P<kind>def|class) [ \t]+ (?P<name>[^\W\d]\w*) | (?:if|elif|else|try|except|finally|with|for|while|match)\b )
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
DEEPEST = 3  # levels of classes and conditions


@dataclass(frozen=True)
class Symbol:
    """A definition. Lines from 1, the last one included."""

    name: str  # "Engine.step"
    first: int
    last: int


def language_of(path: str) -> str:
    """The protocol's languageId for a file that has symbols; "" for others."""
    tag = tag_of(path)
    found = _IDS.get(tag, tag)
    return found if found == "python" or found in GRAMMARS else ""


def tag_of_language(language: str) -> str:
    """The tag of a fenced block for a languageId."""
    return _TAGS.get(language, language)


def symbols(language: str, text: str, *, ends: bool = True) -> tuple[Symbol, ...]:
    """The definitions of a text in the order in which they stand. ends: with their last lines, which takes longer."""
    if language == "python":
        return tuple(_python(text) if ends else _python_quickly(text))
    return tuple(_others(language, text, ends=ends))


def _python(text: str) -> Iterator[Symbol]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is somebody else's file
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _statements(tree.body, "", 0)


def _python_quickly(text: str) -> Iterator[Symbol]:
    """The same without a syntax tree, whose many objects would hold everybody up while they are made and collected."""
    above: list[tuple[int, str]] = []  # how far in each is that this one may lie in; of functions no name
    for found in _PYTHON.finditer(text):
        if found["indent"] is None:
            continue
        indent, name = len(found["indent"].expandtabs()), found["name"]
        while above and above[-1][0] >= indent:
            above.pop()
        if name is None:  # another block begins, which may have definitions in it
            continue
        if all(each for _, each in above) and len(above) <= DEEPEST:
            first = text.count("\n", 0, found.start()) + 1
            yield Symbol(".".join([*(each for _, each in above), name]), first, first)
        above.append((indent, name if found["kind"] == "class" else ""))


def _statements(body: Iterable[ast.stmt], prefix: str, depth: int) -> Iterator[Symbol]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            yield Symbol(prefix + node.name, first, node.end_lineno or node.lineno)
            if isinstance(node, ast.ClassDef) and depth < DEEPEST:
                yield from _statements(node.body, f"{prefix}{node.name}.", depth + 1)
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)) and depth < DEEPEST:
            handlers = [each for handler in getattr(node, "handlers", ()) for each in handler.body]
            more = [*getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
            yield from _statements([*node.body, *handlers, *more], prefix, depth + 1)


def _others(language: str, text: str, *, ends: bool) -> Iterator[Symbol]:
    found = outline(language, text)
    if not found:
        return
    lines = _Lines(text, language if ends else "")
    at = 0
    for definition in found:
        start = _place(text, definition, at)
        if start < 0 or definition.minor:
            continue
        at = start
        yield Symbol(definition.name, *lines.of(start))
        within = start + len(definition.name)
        for member in definition.members:
            place = -1 if member.minor else _place(text, member, within)
            if place >= 0:
                within = place
                yield Symbol(f"{definition.name}.{member.name}", *lines.of(place))


def _place(text: str, definition: Definition, start: int) -> int:
    """Where a definition begins, not before `start`; -1 if it is not found again."""
    words = definition.head.rstrip("…").rstrip(" {};").split()[:_WORDS]
    exact = re.compile(r"\s+".join(map(re.escape, words))).search(text, start)
    if exact is not None:
        return exact.start()
    name = re.compile(rf"\b{re.escape(definition.name)}\b").search(text, start)
    return name.start() if name is not None else -1


class _Lines:
    """Lines of definitions in one text."""

    def __init__(self, text: str, language: str) -> None:
        """language: whose grammar tells where they end; "": they are taken to be one line."""
        self._text = text
        self._source = text.encode("utf-8", errors="replace")
        parser = _parser(language) if language else None
        self._root = parser.parse(self._source).root_node if parser is not None else None

    def of(self, start: int) -> tuple[int, int]:
        first = self._text.count("\n", 0, start) + 1
        if self._root is None:
            return first, first
        at = len(self._text[:start].encode("utf-8", errors="replace"))
        node = self._root.descendant_for_byte_range(at, at)
        while node is not None and node.parent is not None and node.parent.parent is not None:
            if node.parent.start_byte != at:
                break
            node = node.parent
        if node is None:
            return first, first
        above = node.parent  # "export" and "template<…>" belong to what they stand before
        while above is not None and above.type in {"export_statement", "template_declaration"}:
            node, above = above, above.parent
        return node.start_point[0] + 1, node.end_point[0] + 1


@lru_cache(maxsize=8)
def _parser(language: str) -> "Parser | None":
    module, function = GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser

        return Parser(Language(getattr(import_module(module), function)()))
    except (ImportError, AttributeError, ValueError):  # not there, or of another version than tree-sitter
        return None
