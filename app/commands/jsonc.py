"""JSON with comments, as editors keep their settings: read it, and add keys without touching another character."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paceline.errors import InputError

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")
DEEPEST = 100  # levels; no settings file is deeper


@dataclass
class Node:
    """A value and where it stands in the text: [start, end)."""

    start: int
    end: int
    value: Any
    members: dict[str, "Node"] = field(default_factory=dict)  # of an object
    comma: bool = False  # its last member is followed by one


def read(text: str) -> Node | None:
    """The document; None for one that is empty or has only comments. Raises InputError where it is something else."""
    at = _blank(text, 0)
    if at == len(text):
        return None
    node = _value(text, at, 0)
    if (rest := _blank(text, node.end)) != len(text):
        raise _wrong(text, rest, "something stands behind the end")
    return node


def added(text: str, keys: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text with keys added that are missing, and the paths of those that stay as they are with another value.

    Objects are filled up, key by key; everything else that is there already wins. Raises InputError where the text is
    not understood.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    root = read(text)
    if root is None:
        head = text if not text or text.endswith("\n") else text + newline
        return head + _shown(keys, "", _indent_unit(text), newline) + newline, []
    if not isinstance(root.value, dict):
        raise InputError("the settings are not an object in braces", "add the keys by hand")
    kept: list[str] = []
    edits: list[tuple[int, str]] = []
    _fill(text, root, keys, "", edits, kept, newline)
    result = text
    for at, piece in sorted(edits, key=lambda edit: edit[0], reverse=True):
        result = result[:at] + piece + result[at:]
    there = read(result)
    if there is None or there.value != _merged(root.value, keys):
        raise InputError("the settings are written in an unusual way", "add the keys by hand")
    return result, kept


def _fill(
    text: str,
    node: Node,
    keys: Mapping[str, Any],
    path: str,
    edits: list[tuple[int, str]],
    kept: list[str],
    newline: str,
) -> None:
    missing = {key: value for key, value in keys.items() if key not in node.members}
    for key, value in keys.items():
        if (member := node.members.get(key)) is None:
            continue
        if isinstance(value, Mapping) and isinstance(member.value, dict):
            _fill(text, member, value, f"{path}{key}.", edits, kept, newline)
        elif member.value != value:
            kept.append(path + key)
    if missing:
        edits += _insertion(text, node, missing, newline)


def _insertion(text: str, node: Node, missing: Mapping[str, Any], newline: str) -> list[tuple[int, str]]:
    """New members at the end of an object, on lines of their own: what to put where."""
    unit = _indent_unit(text)
    outer = _indent_at(text, node.start)
    inner = outer + unit
    if node.members:
        first = min(child.start for child in node.members.values())
        line = text.rfind("\n", 0, first) + 1
        if line > node.start:  # the first member has its own line: new ones stand below it
            inner = _indent_at(text, first)
    shown = [f"{inner}{json.dumps(key)}: {_shown(value, inner, unit, newline)}" for key, value in missing.items()]
    close = node.end - 1
    content = text[node.start + 1 : close].rstrip()
    tail = node.start + 1 + len(content)  # behind the last member, or the last comment
    block = newline + f",{newline}".join(shown)
    last_line_closes = "\n" in text[tail:close]
    block += "" if last_line_closes else newline + outer
    if not node.members or node.comma:
        return [(tail, block)]
    end = max(child.end for child in node.members.values())
    return [(tail, "," + block)] if end == tail else [(end, ","), (tail, block)]


def _shown(value: Any, indent: str, unit: str, newline: str) -> str:  # noqa: ANN401 - any JSON value
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (newline + indent).join(lines)


def _merged(there: Any, keys: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(there, dict) and isinstance(keys, Mapping):
        return {
            **{key: _merged(value, keys.get(key, value)) for key, value in there.items()},
            **{key: value for key, value in keys.items() if key not in there},
        }
    return there


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """What one level of the file is indented by."""
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found[1] if found else "  "


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise _wrong(text, at, "it is too deep")
    sign = text[at : at + 1]
    if sign == "{":
        return _object(text, at, depth)
    if sign == "[":
        return _array(text, at, depth)
    found = (_STRING if sign == '"' else _SCALAR).match(text, at)
    if found is None:
        raise _wrong(text, at, "a value is expected")
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError as error:
        raise _wrong(text, at, "this is no value") from error


def _object(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, {})
    at = _blank(text, start + 1)
    while text[at : at + 1] != "}":
        found = _STRING.match(text, at)
        if found is None:
            raise _wrong(text, at, "a key or a closing brace is expected")
        try:
            key = json.loads(found[0])
        except ValueError as error:
            raise _wrong(text, at, "this is no key") from error
        if key in node.members:
            raise _wrong(text, at, f"{found[0]} stands there twice")
        at = _blank(text, found.end())
        if text[at : at + 1] != ":":
            raise _wrong(text, at, "a colon is expected")
        member = _value(text, _blank(text, at + 1), depth + 1)
        node.members[key], node.value[key] = member, member.value
        at, node.comma = _separator(text, member.end, "}")
    node.end = at + 1
    return node


def _array(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, [])
    at = _blank(text, start + 1)
    while text[at : at + 1] != "]":
        item = _value(text, at, depth + 1)
        node.value.append(item.value)
        at, _ = _separator(text, item.end, "]")
    node.end = at + 1
    return node


def _separator(text: str, at: int, closing: str) -> tuple[int, bool]:
    """Where the next member or the end stands, and whether a comma was before it."""
    at = _blank(text, at)
    if text[at : at + 1] == ",":
        return _blank(text, at + 1), True
    if text[at : at + 1] != closing:
        raise _wrong(text, at, f"a comma or {closing} is expected")
    return at, False


def _wrong(text: str, at: int, what: str) -> InputError:
    line = text.count("\n", 0, at) + 1
    return InputError(f"line {line} is not understood: {what}", "mend that line, or add the keys by hand")
