"""The names of what structs, tables and classes hold, so that an answer which leaves some out can be told."""

import re
from collections.abc import Sequence

from paceline.chat.edits import shape

_HOLDS = re.compile(r"\b(?:struct|interface|enum|type|record|table|class|union|dataclass)\b", re.IGNORECASE)
_FIELD = re.compile(
    r"(?:(?:pub(?:\([^)]*\))?|public|private|protected|readonly|static|const|let|var|val|declare)\s+)*"
    r"(?!(?:def|async|class|return|constraint|primary|foreign|unique|check|func|fn|fun|function|get|set|pass)\b)"
    r"[\"`\[]?(?P<name>[A-Za-z_]\w*)[\"`\]]?\??(?:\s*[:=,]|\s+[\w*\[<\"]|\s*$)",
    re.IGNORECASE,
)
_TYPES_FIRST = {"java", "c", "cpp", "c++", "csharp", "cs", "groovy"}
_TYPED = re.compile(r"[\w<>\[\],.?:*&\s]*[\s*&](?P<name>\w+)\s*(?:\[[^\]]*\])?\s*[;=]")


def fields(lines: Sequence[str], language: str) -> set[str]:
    """The names of what a definition holds, where it is a list of fields or columns rather than a function."""
    body = [line for line in lines[1:] if line.strip()]
    if not _HOLDS.search(lines[0]) or not body:
        return set()
    pattern = _TYPED if language in _TYPES_FIRST else _FIELD
    inner = [line.strip() for line in body if shape.blanks(line) == shape.blanks(body[0])]
    return {field["name"] for line in inner if (field := pattern.match(line))}
