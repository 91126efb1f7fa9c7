"""What a file defines, without how: signatures, heads of classes, the first lines of docstrings."""

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

LONGEST = 240  # characters of one signature
_BLANKS = re.compile(r"\s+")
_NAME = re.compile(r"[^\W\d]\w+")
_BELOW = "    "

Outline = tuple["Definition", ...]


@dataclass(frozen=True)
class Definition:
    """One thing that others may use."""

    name: str
    head: str  # one line; a few for what is a list of names itself
    about: str = ""  # in the file's own language, a comment or docstring, one line
    members: "tuple[Definition, ...]" = ()
    opens: str = ""  # what follows the head before members, and
    closes: str = ""  # what follows them
    minor: bool = False  # a value: on its own it says little about how to use the file

    def names(self) -> frozenset[str]:
        """Its own and its members'."""
        return frozenset({self.name}).union(*(each.names() for each in self.members))


def identifiers(text: str) -> frozenset[str]:
    """The names that occur in a text."""
    return frozenset(_NAME.findall(text))


def outline(language: str, text: str) -> Outline | None:
    """What a text in this language (the protocol's languageId) defines; None if it is not understood."""
    if language == "python":
        return _python(text)
    from paceline.workspace.grammars import parsed

    return parsed(language, text)


def rendered(outline: Outline, used: Set[str], characters: int) -> tuple[str, frozenset[str]]:
    """The outline as text of at most this many characters, and the names in it. What is used goes first in, but all
    of it stands in the file's order, so that the text depends on as little as possible.
    """
    size = 0
    chosen: set[int] = set()
    kept: set[int] = set()  # of members
    for wanted in (True, False):
        if not wanted and any(each.name in used and id(each) not in chosen for each in outline):
            break  # there is no room for what is of use
        for definition in outline:
            if not wanted and (definition.minor or definition.name.startswith("_")):
                continue
            if (definition.name in used) == wanted and size + _cost(definition) <= characters:
                size += _cost(definition)
                chosen.add(id(definition))
        for definition in outline:
            if id(definition) not in chosen:
                continue
            for member in definition.members:
                private = member.name.startswith("_") and member.name not in {"__init__", "__call__"}
                fits = size + _cost(member) + len(_BELOW) <= characters
                if (member.name in used) == wanted and not (private and not wanted) and id(member) not in kept and fits:
                    size += _cost(member) + len(_BELOW)
                    kept.add(id(member))
    parts = [_shown(each, [one for one in each.members if id(one) in kept]) for each in outline if id(each) in chosen]
    names = {each.name for each in outline if id(each) in chosen}
    names.update(one.name for each in outline for one in each.members if id(one) in kept)
    return "\n".join(parts), frozenset(names)


def _cost(definition: Definition) -> int:
    """Characters of its own lines, whatever it has for members."""
    about = len(definition.about) + len(_BELOW) + 1 if definition.about else 0
    return len(definition.head) + len(definition.opens) + len(definition.closes) + about + 6


def _shown(definition: Definition, members: Iterable[Definition], indent: str = "") -> str:
    inner = [_shown(each, (), indent + _BELOW) for each in members]
    comment = not definition.about.startswith('"""')
    about = [indent + ("" if comment else _BELOW) + definition.about] if definition.about else []
    head = indent + definition.head.replace("\n", "\n" + indent)
    if definition.opens or definition.closes:
        first = [head + definition.opens] if inner or (about and not comment) else [head + _empty(definition)]
        last = [indent + definition.closes] if definition.closes and inner else []
    else:
        first, last = [head], []
    return "\n".join([*about, *first, *inner, *last] if comment else [*first, *about, *inner, *last])


def _empty(definition: Definition) -> str:
    return definition.opens + (definition.closes or " ...")


def one_line(text: str) -> str:
    """The text on one line, cut where it is too long."""
    line = _BLANKS.sub(" ", text).strip()
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _python(text: str) -> Outline | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is somebody else's file
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(_statements(tree.body, _definition))


def _statements(
    body: Iterable[ast.stmt], make: Callable[[ast.stmt], Iterable[Definition]], depth: int = 0
) -> Iterator[Definition]:
    """Definitions of a module, those under conditions too."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)) and depth < 3:
            yield from _statements([*node.body, *node.orelse], make, depth + 1)
        else:
            yield from make(node)


def _definition(node: ast.stmt) -> Iterator[Definition]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield _function(node)
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join([*map(_source, node.bases), *(f"{key.arg}={_source(key.value)}" for key in node.keywords)])
        marks = "".join(f"@{one_line(_source(mark))}\n" for mark in node.decorator_list[:3])
        head = f"{marks}class {node.name}" + (f"({one_line(bases)})" if bases else "")
        members = tuple(each for statement in node.body for each in _member(statement))
        yield Definition(node.name, head, _about(node), members, ":")
    else:
        yield from _values(node)


def _member(node: ast.stmt) -> Iterator[Definition]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield _function(node, about=False)
    else:
        yield from _values(node)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, *, about: bool = True) -> Definition:
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {_source(node.returns)}" if node.returns else ""
    marks = [f"@{name}\n" for name in map(_source, node.decorator_list) if len(name) < 40]
    head = "".join(marks[:2]) + one_line(f"{kind} {node.name}({_source(node.args)}){returns}")
    return Definition(node.name, head, _about(node) if about else "", (), ":")


def _values(node: ast.stmt) -> Iterator[Definition]:
    """Attributes and constants."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        given = f" = {_source(node.value)}" if node.value is not None and len(_source(node.value)) <= 40 else ""
        yield Definition(node.target.id, one_line(f"{node.target.id}: {_source(node.annotation)}{given}"), minor=True)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if not name.startswith("__"):
            value = _source(node.value)
            yield Definition(name, f"{name} = {value if len(value) <= 60 else '...'}", minor=True)


def _source(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return "..."


def _about(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    first = (ast.get_docstring(node, clean=False) or "").strip().split("\n")[0].strip()
    return f'"""{first}"""' if first and len(first) <= 120 and '"' not in first and "\\" not in first else ""
