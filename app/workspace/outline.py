"""What a file defines, without how: signatures, heads of classes, the first lines of docstrings."""

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field

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
    """The outline as text of at most this many characters, and the names in it. What is used goes first in, with all
    its members, before what is not; but all of it stands in the file's order, so that the text depends on as little as
    possible.
    """
    room = _Room(characters)
    wanted = [each for each in outline if each.name in used]
    taken = [each for each in wanted if room.take(each)]
    room.take_members(taken, lambda member: member.name in used)
    if len(taken) == len(wanted) and room.take_members(taken, lambda member: not _is_private(member)):
        others = [each for each in outline if each.name not in used and not each.minor and each.name[:1] != "_"]
        taken = [each for each in others if room.take(each)]
        room.take_members(taken, lambda member: member.name in used)
        room.take_members(taken, lambda member: not _is_private(member))
    shown = [each for each in outline if id(each) in room.taken]
    parts = [_shown(each, [one for one in each.members if id(one) in room.taken]) for each in shown]
    names = {each.name for each in shown}
    names.update(one.name for each in shown for one in each.members if id(one) in room.taken)
    return "\n".join(parts), frozenset(names)


@dataclass
class _Room:
    """How many characters are left, and what has been taken, by identity."""

    left: int
    taken: set[int] = field(default_factory=set)

    def take(self, definition: Definition, indent: int = 0) -> bool:
        """Whether there was room for it."""
        cost = _cost(definition) + indent
        if cost > self.left:
            return False
        self.left -= cost
        self.taken.add(id(definition))
        return True

    def take_members(self, definitions: Iterable[Definition], wanted: Callable[[Definition], bool]) -> bool:
        """Those members that are wanted, as far as there is room; whether there was room for all."""
        members = [each for definition in definitions for each in definition.members if wanted(each)]
        fit = [id(each) in self.taken or self.take(each, len(_BELOW)) for each in members]
        return all(fit)


def _is_private(member: Definition) -> bool:
    return member.name.startswith("_") and member.name not in {"__init__", "__call__"}


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
