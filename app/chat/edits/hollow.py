"""Functions that an answer shows without their code: a model that writes `pass` there has mostly left it out."""

import re
from collections.abc import Sequence

from paceline.chat.edits.definitions import Definition, definitions

LANGUAGES = {
    *("python", "javascript", "typescript", "jsx", "tsx", "go", "rust", "java", "c", "cpp", "csharp", "kotlin"),
    *("swift", "php", "scala", "dart"),
}
_NOTHING = re.compile(
    r"(?:pass|\.{3}|…|return(?:\s+(?:None|null|undefined))?|[{}()\[\]]*)[;,]?\s*(?:(?:#|//|/\*).*)?"
    r"|(?:#|//|/\*|\*|\"\"\"|''').*"
    r"|(?:raise\s+NotImplementedError|throw\s+new\s+\w*Error\(.{0,40}not implemented|(?:todo|unimplemented)!).*",
    re.IGNORECASE,
)
_HEAD_ENDS = re.compile(r".*[:{]\s*(?:(?:#|//).*)?")
_ONE_LINE = re.compile(r".*(?::\s*(?:pass|\.{3})|\{\s*(?:/\*.*\*/)?\s*\})\s*(?:(?:#|//).*)?")


def hollow(old: Sequence[str], new: Sequence[str], language: str) -> list[str]:
    """Names of functions that have code in the file, and none in the answer. Only of those that stand once in both."""
    if language not in LANGUAGES:
        return []
    had, said = _once(definitions(old, language)), _once(definitions(new, language))
    both = [name for name in said if name in had and is_hollow(new, said[name])]
    return [name for name in both if not is_hollow(old, had[name])]


def is_hollow(lines: Sequence[str], each: Definition) -> bool:
    """Whether a definition has nothing in it but comments and words that stand for nothing."""
    head = each.head
    while head < each.end - 1 and not _HEAD_ENDS.fullmatch(lines[head].strip()):
        head += 1
    body = [line.strip() for line in lines[head + 1 : each.end] if line.strip()]
    if not body:
        return _ONE_LINE.fullmatch(lines[each.end - 1].strip()) is not None
    return all(map(_NOTHING.fullmatch, _undocumented(body)))


def _undocumented(body: Sequence[str]) -> list[str]:
    """Without a text of several lines that says what it does."""
    mark = body[0][:3]
    if mark not in ('"""', "'''") or mark in body[0][3:]:
        return list(body)
    end = next((at for at, line in enumerate(body[1:], 1) if mark in line), len(body) - 1)
    return list(body[end + 1 :])


def _once(found: Sequence[Definition]) -> dict[str, Definition]:
    """Those that hold no others, by name."""
    parents = {each.parent for each in found}
    names = [each.name for each in found]
    return {each.name: each for at, each in enumerate(found) if at not in parents and names.count(each.name) == 1}


def note(name: str) -> str:
    """What a person is told."""
    return f"the answer shows {name} without its code"
