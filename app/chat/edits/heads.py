"""What the first lines of a definition say of it: whether it is a class, a method, or stands by itself."""

import re
from collections.abc import Sequence

from paceline.chat.edits.definitions import Definition

_METHOD = re.compile(r"(?:.*\(\s*&?(?:'\w+\s+)?(?:mut\s+)?(?:self|cls)\b)")
_FREE = re.compile(
    r"(?:(?:export|default|async|pub(?:\([^)]*\))?)\s+)*(?:function|class|const|let|var|fn|func|struct|enum|interface|type)\b"
)
_FUNCTION = re.compile(r"(?:(?:export|default|async|pub(?:\([^)]*\))?|const|unsafe)\s+)*(?:def|fn|function)\b")
_CLASS = re.compile(r"(?:[\w()]+\s+)*(?:class|interface|enum|record|struct|object|trait|union)\s+\w")
_SELF = ("python", "rust")  # whose methods name what they belong to
LINES = 3  # in which what a function is given begins


def _head(lines: Sequence[str], each: Definition) -> str:
    return " ".join(line.strip() for line in lines[each.head : min(each.head + LINES, each.end)])


def is_class(lines: Sequence[str], each: Definition) -> bool:
    """Whether it is a class, or what other languages have instead."""
    return _CLASS.match(lines[each.head].strip()) is not None


def is_function(lines: Sequence[str], each: Definition) -> bool:
    """Whether it is a function that says so; a method of a language with braces does not."""
    return _FUNCTION.match(lines[each.head].strip()) is not None


def is_method(lines: Sequence[str], each: Definition, language: str) -> bool:
    """Whether it looks like a method."""
    head = _head(lines, each)
    return _METHOD.match(head) is not None if language in _SELF else not _FREE.match(head)


def is_free(lines: Sequence[str], each: Definition, language: str) -> bool:
    """Whether it says itself that it is no method."""
    head = _head(lines, each)
    if language in _SELF:
        return _FUNCTION.match(head) is not None and _METHOD.match(head) is None
    return _FREE.match(head) is not None
