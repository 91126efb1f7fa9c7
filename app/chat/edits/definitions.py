"""What lines define, and from where to where: functions, classes, sections. By lines, so that parts of files do, too.

Languages with braces are read by their braces, Python and YAML by indentation, TOML and Markdown by headings, SQL by
its statements that create something. A text
that is laid out so unusually that this fails has no definitions, or some that end too early, never a wrong name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WORDS = r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|override|readonly|const|unsafe|extern|inline|virtual|sealed|partial|synchronized|constexpr|declare|pub(?:\([^)]*\))?)\s+)*"  # noqa: E501
_BRACED = (
    re.compile(
        rf"{_WORDS}(?:function\s*\*?|fn|class|struct|enum|interface|trait|union|module|mod|namespace|record|object|fun|type)\s+(?P<name>[\w$]+)"
        r"(?=\s*(?:[{(<:;=]|$|extends|implements|struct|interface|where|func|final|permits|[\w.*\[\]]+\s*(?:[{;]|$)))"
    ),
    re.compile(r"func\s+(?:\(\s*\w*\s*\*?(?P<owner>\w+)[^)]*\)\s*)?(?P<name>\w+)"),
    re.compile(r"(?P<name>impl\b[^{]*)"),
    re.compile(
        rf"{_WORDS}(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)[^=]*=>|\w+\s*=>)"
    ),
    re.compile(r"typedef\s+(?:struct|enum|union)\s*(?P<name>\w*)"),
    # a method, or a function of C and its relatives: words, a name, parameters, then a brace here or in the next line
    re.compile(
        rf"{_WORDS}(?:get\s+|set\s+|\*\s*)?(?:[\w$<>\[\],.?:~]+[\s*&]+)*?\**(?P<name>[#\w$~]+)\s*(?:<[^>(]*>)?\((?P<rest>[^;]*)"
    ),
)
_NOT_NAMES = {
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "else",
    "do",
    "function",
    "new",
    "sizeof",
    "match",
    "import",
    "package",
    "using",
}
_PYTHON = re.compile(r"(?:async\s+def|def|class)\s+(?P<name>\w+)")
_SHELL = re.compile(r"(?:function\s+(?P<word>[\w-]+)|(?P<name>[\w-]+)\s*\(\))")
_TOML = re.compile(r"(?P<name>\[\[?[^\]\n]+\]\]?)\s*(?:#.*)?")
_MARKDOWN = re.compile(r"(?P<level>#{1,6})\s+(?P<name>.*?)\s*#*")
_YAML = re.compile(r"(?P<name>[\w.\"'/-]+)\s*:\s*(?:[|>][+-]?)?\s*(?:#.*)?")
_RULE = re.compile(r"(?P<name>[^{}@;]*[^{}@;\s])\s*\{")
LONGEST = 2000  # characters of a line of SQL that are looked at
_CREATE = re.compile(
    r"CREATE\s+(?:(?:OR\s+REPLACE|TEMP|TEMPORARY|UNIQUE|MATERIALIZED)\s+)*"
    r"(?P<kind>TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|TRIGGER|TYPE)\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?"
    r"(?P<name>[\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_SQL_LITERAL = re.compile(r"'(?:''|[^'])*'|--.*|/\*.*?\*/")
_SQL_INNER = re.compile(r"\bEND\s+(?:IF|LOOP|WHILE|REPEAT)\b", re.IGNORECASE)  # what begins without BEGIN
_SQL_OPENS, _SQL_CLOSES = re.compile(r"\b(?:BEGIN|CASE)\b|\(", re.IGNORECASE), re.compile(r"\bEND\b|\)", re.IGNORECASE)
_ABOVE = re.compile(r"(?:@|#\[|//|/\*|\*|#(?!include|define|if|endif|else|pragma)|--)")
_LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|//.*|/\*.*?\*/")
_BRACES = {
    *(
        "javascript",
        "typescript",
        "jsx",
        "tsx",
        "js",
        "ts",
        "javascriptreact",
        "typescriptreact",
        "java",
        "go",
        "golang",
    ),
    *("rust", "rs", "c", "cpp", "c++", "csharp", "cs", "kotlin", "swift", "scala", "php", "dart", "groovy", "zig"),
}
_RULES = {"css", "scss", "less"}


@dataclass(frozen=True)
class Definition:
    """Lines that define a name. Line numbers count from 0 and are those of the text."""

    name: str
    top: int  # the first line of what belongs to it: comments, decorators
    marks: int  # the first line without comments above it
    head: int  # the line with its name
    end: int  # the line after its last one
    parent: int | None  # index of the definition that it stands in

    def covers(self, at: int) -> bool:
        """Whether a line belongs to it."""
        return self.top <= at < self.end


def definitions(lines: Sequence[str], language: str) -> tuple[Definition, ...]:
    """All definitions, outer ones before those in them. A language that is not known has none. Linear."""
    if language in ("python", "py", "python3"):
        found = _by_indentation(lines)
    elif language in _BRACES or language in _RULES or language in ("bash", "sh", "shell", "zsh"):
        found = _by_braces(lines, language)
    elif language in ("toml", "ini"):
        found = _by_headings(lines, _TOML)
    elif language in ("yaml", "yml"):
        found = _by_keys(lines)
    elif language == "sql":
        found = _by_statements(lines)
    elif language in ("markdown", "md"):
        found = _by_headings(lines, _MARKDOWN)
    else:
        return ()
    return _nested(lines, sorted(found, key=lambda each: (each[1], -each[2])))


def _nested(lines: Sequence[str], found: Sequence[tuple[str, int, int]]) -> tuple[Definition, ...]:
    result, open_ = list[Definition](), list[int]()
    for name, head, end in found:
        while open_ and result[open_[-1]].end <= head:
            open_.pop()
        floor = result[open_[-1]].head + 1 if open_ else 0
        before = [each.end for each in result[-1:] if each.end <= head]
        top, marks = _above(lines, head, max([floor, *before]))
        result.append(Definition(name, top, marks, head, end, open_[-1] if open_ else None))
        open_.append(len(result) - 1)
    return tuple(result)


def _above(lines: Sequence[str], head: int, floor: int) -> tuple[int, int]:
    """Where the comments and decorators right above a definition begin, and where the decorators do."""
    indent = _indent(lines[head])
    at = head
    while at > floor and lines[at - 1].strip() and _ABOVE.match(lines[at - 1].strip()):
        if abs(_indent(lines[at - 1]) - indent) > 1:  # the stars of a comment stand one further in
            break
        at -= 1
    marks = head
    while marks > at and lines[marks - 1].strip().startswith(("@", "#[")):
        marks -= 1
    return at, marks


def _by_indentation(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    found, open_, last = list[tuple[str, int, int]](), list[tuple[str, int, int]](), -1
    quote = ""
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare:
            continue
        if quote:  # text over several lines has no say
            quote = "" if bare.count(quote) % 2 else quote
            last = at
            continue
        indent = _indent(line)
        if bare[0] not in ")]}":
            while open_ and open_[-1][2] >= indent and (bare[0] != "#" or open_[-1][2] > indent):
                name, head, _ = open_.pop()
                found.append((name, head, last + 1))
            if match := _PYTHON.match(bare):
                open_.append((match["name"], at, indent))
        for mark in ('"""', "'''"):
            if bare.count(mark) % 2:
                quote = mark
                break
        if bare[0] != "#" or (open_ and open_[-1][2] < indent):
            last = at
    return [*found, *((name, head, last + 1) for name, head, _ in open_)]


def _by_braces(lines: Sequence[str], language: str) -> list[tuple[str, int, int]]:
    found, depth = list[tuple[str, int, int]](), 0
    open_ = list[tuple[str, int, int, bool]]()  # name, head, depth before it, whether its brace has been seen
    comment = False
    for at, line in enumerate(lines):
        bare = line.strip()
        if comment:
            comment = "*/" not in bare
            continue
        if bare.startswith("/*") and "*/" not in bare:
            comment = True
            continue
        code = _LITERAL.sub('""', bare)
        following = next((each.strip() for each in lines[at + 1 : at + 3] if each.strip()), "")
        waiting = bool(open_) and not open_[-1][3]
        if not waiting and (name := _head(code, following, language)):
            open_.append((name, at, depth, False))
        depth += code.count("{") - code.count("}")
        if "{" in code:
            open_ = [
                (name, head, before, True) if at >= head else each for each in open_ for name, head, before, _ in [each]
            ]
        while open_ and depth <= open_[-1][2] and (open_[-1][3] or code.rstrip().endswith((";", ","))):
            name, head, _, _ = open_.pop()
            found.append((name, head, at + 1))
        if open_ and not open_[-1][3] and at - open_[-1][1] > 12:  # it was no head: no brace comes
            open_.pop()
    return found


def _head(code: str, following: str, language: str) -> str:
    """The name that a line begins to define; "": none."""
    if language in _RULES:
        rule = _RULE.match(code)
        return " ".join(rule["name"].split()) if rule else ""
    if language in ("bash", "sh", "shell", "zsh"):
        shell = _SHELL.match(code)
        return (shell["word"] or shell["name"]) if shell else ""
    if not code or len(code) > 400 or not (code[0].isalpha() or code[0] in "_$#*~"):
        return ""
    *sure, method = _BRACED
    for pattern in sure:
        if found := pattern.match(code):
            owner = found.groupdict().get("owner")
            name = " ".join((found["name"] or "").split())
            return f"{owner}.{name}" if owner else name
    found = method.match(code)
    if (
        found is None
        or found["name"] in _NOT_NAMES
        or code.split("(")[0].split()[0] in _NOT_NAMES
        or "=" in code.split("(")[0]
    ):
        return ""
    opens = code.rstrip().endswith("{") or ("{" in code and code.rstrip().endswith("}"))
    return (
        found["name"]
        if opens or following.startswith("{") or (code.rstrip().endswith(("(", ",")) and " " in code.split("(")[0])
        else ""
    )


def _by_headings(lines: Sequence[str], pattern: re.Pattern[str]) -> list[tuple[str, int, int]]:
    found, open_ = list[tuple[str, int, int]](), list[tuple[str, int, int]]()
    fence, last = "", -1
    for at, line in enumerate(lines):
        bare = line.strip()
        if bare[:3] in ("```", "~~~"):
            fence = "" if fence else bare[:3]
        match = pattern.fullmatch(bare) if not fence and line[:1] not in (" ", "\t") else None
        if match:
            level = len(match.groupdict().get("level") or "#")
            while open_ and open_[-1][2] >= level:
                name, head, _ = open_.pop()
                found.append((name, head, last + 1))
            open_.append((match["name"], at, level))
        if bare:
            last = at
    return [*found, *((name, head, last + 1) for name, head, _ in open_)]


def _by_keys(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """Keys of YAML that have more lines below them. A list may stand as far in as the key that it belongs to."""
    found, open_, last = list[tuple[str, int, int]](), list[tuple[str, int, int]](), -1
    for at, line in enumerate(lines):
        bare = line.strip()
        if not bare or bare[0] == "#":
            continue
        indent = _indent(line)
        item = bare.startswith("- ")
        while open_ and (open_[-1][2] > indent or (open_[-1][2] == indent and not item)):
            name, head, _ = open_.pop()
            found.append((name, head, last + 1))
        if match := _YAML.fullmatch(bare):
            open_.append((match["name"], at, indent))
        last = at
    return [*found, *((name, head, last + 1) for name, head, _ in open_)]


def _by_statements(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """What SQL creates. A statement ends with a semicolon outside of brackets, blocks and dollar quotes."""
    found = list[tuple[str, int, int]]()
    name, head, depth, quoted, last = "", 0, 0, False, -1
    for at, line in enumerate(lines):
        code = _SQL_INNER.sub("", _SQL_LITERAL.sub("''", line[:LONGEST])).strip()
        start = _CREATE.match(code)
        if name and start and not quoted:  # the one before has no semicolon
            found.append((name, head, last + 1))
            name = ""
        if not name and start:
            name, head, depth, quoted = f"{start['kind'].upper()} {_plain(start['name'])}", at, 0, False
        if code:
            last = at
        if not name:
            continue
        quoted ^= code.count("$$") % 2 == 1
        depth += len(_SQL_OPENS.findall(code)) - len(_SQL_CLOSES.findall(code))
        if code.endswith(";") and depth <= 0 and not quoted:
            found.append((name, head, at + 1))
            name = ""
    return [*found, (name, head, last + 1)] if name else found


def _plain(name: str) -> str:
    """A name of SQL without quotation marks."""
    return name.translate(dict.fromkeys(map(ord, '"`[]'))).lower()


def _indent(line: str) -> int:
    own = line[: len(line) - len(line.lstrip(" \t"))]
    return len(own.expandtabs(4))
