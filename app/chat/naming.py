"""Which file a block of code is for, as answers say it: in its info string, in the lines above, in a first comment."""

import re
from collections.abc import Sequence

from paceline.prompts.context import LANGUAGES, NAMES, language

LONGEST = 300  # characters of a line that is looked at
_PATH = r"(?:[A-Za-z]:[\\/]|\.{0,2}/|~/)?[\w.@+-]+(?:[\\/][\w.@+\[\]()-]+)*"
_BARE = re.compile(_PATH)
_QUOTED = re.compile(r"[`\"']([^`\"'\n]{1,200})[`\"']|\*\*([^*\n]{1,200})\*\*")
_KEY = re.compile(r"(?:title|file|filename|path|name)\s*[=:]\s*(?:\"([^\"]+)\"|'([^']+)'|([^\s}\"']+))", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:#|//|--|;+|%|/\*+|<!--)\s*(?P<said>.*?)\s*(?:\*/|-->)?\s*")
_LABEL = re.compile(
    r"(?:(?:in|the|new|updated|modified|changed|full|complete|original)\s+)*"
    r"(?:file ?name|file ?path|file|path)?\s*[:=]?\s*",
    re.IGNORECASE,
)
_REMARK = re.compile(r"\s*[(\[][^()\[\]]{0,60}[)\]]\s*$")
_FILE = r"\s+(?:(?:the|a|an|your|this|another|new|existing|separate|test|file|module|script|called|named)\s+)*\Z"
_MADE = re.compile(
    r"\b(?:creat(?:e|ing)|mak(?:e|ing)|writ(?:e|ing)|add(?:ing)?|nam(?:e|ed)|call(?:ed)?)" + _FILE, re.IGNORECASE
)
_INTO = re.compile(
    r"\b(?:add|put|plac|insert|append|past|sav|cop|writ|mov|includ|go|belong)(?:e|y|ing|s|es)?\b.{0,160}?"
    r"(?<!\bnext )(?<!\bclose )(?<!\bsimilar )(?<!\baccording )\b(?:to|into|in|inside|of|as)" + _FILE,
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"\b(?:in|inside|open|(?:updat|modif|edit|chang|replac|correct|fix)(?:e|y|ed|ied|ing)?)" + _FILE, re.IGNORECASE
)
_OTHER = {  # endings of files that have no language of their own here
    *("txt", "cfg", "ini", "conf", "env", "lock", "csv", "svg", "proto", "graphql", "gradle", "mk", "cmake", "jsonc"),
    *(
        "rst",
        "sass",
        "less",
        "mjs",
        "cjs",
        "mts",
        "cts",
        "htm",
        "xhtml",
        "vue",
        "svelte",
        "bat",
        "gitignore",
        "editorconfig",
    ),
}
_ENDINGS = {ending.removeprefix(".") for ending in LANGUAGES} | _OTHER
# names that blocks of the same language go by
_ALIKE = {
    "js": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript", "py": "python", "rs": "rust",
    "golang": "go", "sh": "bash", "shell": "bash", "zsh": "bash", "yml": "yaml", "md": "markdown", "c++": "cpp",
    "h": "c", "hpp": "cpp", "cs": "csharp", "ini": "toml", "rb": "ruby", "kt": "kotlin", "htm": "html", "xml": "html",
}  # fmt: skip
_ANY = {"", "diff", "patch", "text", "txt", "plaintext", "plain", "code", "udiff"}


def is_path(word: str) -> bool:
    """Whether a word looks like the name of a file: it has an ending that files have, or is a name that files have."""
    if not word or len(word) > 200 or not _BARE.fullmatch(word):
        return False
    name = re.split(r"[\\/]", word)[-1]
    if name in NAMES:
        return True
    stem, dot, ending = name.rpartition(".")
    if not dot or not ending:
        return False
    slash = name != word
    return (ending.lower() in _ENDINGS and (bool(stem) or slash)) or (slash and ending.isalnum() and len(ending) <= 8)


def is_alike(block: str, file: str) -> bool:
    """Whether code in this language may be for a file in that one; languages as tags of blocks."""
    one, other = _ALIKE.get(block, block), _ALIKE.get(file, file)
    family = {"javascript", "typescript"}
    return one in _ANY or not other or one == other or {one, other} <= family or {one, other} <= {"c", "cpp"}


def tidy(word: str) -> str:
    """A path as files are named: forward slashes, without `./` before it."""
    path = word.strip().replace("\\", "/")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def name_in_info(info: str) -> str:
    """The file that an info string names: a path alone or after the language, or title="…"; "": none."""
    info = info[:LONGEST].strip()
    if found := _KEY.search(info):
        given = next(each for each in found.groups() if each)
        if is_path(tidy(given)) or "/" in given:
            return tidy(given)
    for word in re.split(r"[\s,{}()\[\]]+|(?<=[a-z+#]):(?![\\/])", info):
        word = word.strip("\"'`:")
        if is_path(word):
            return tidy(word)
    return ""


def name_in_comment(text: str) -> str:
    """The file that a comment in the first line names, with nothing else in it; "": none."""
    first, _, rest = text.partition("\n")
    found = _COMMENT.fullmatch(first) if len(first) <= LONGEST and rest.strip() else None
    return name_alone(found["said"]) if found else ""


def name_above(lines: Sequence[str], tag: str) -> str:
    """The file that the last of these lines with text names. tag: the block's language.

    A line with nothing but a name counts always; a sentence only where it names a single file of this language, or
    says into which of several the code is to go.
    """
    filled = [line.strip() for line in lines if line.strip()]
    if not filled or len(filled[-1]) > LONGEST:
        return ""
    line = re.sub(r"^(?:#{1,6}|[-*+]|\d{1,3}[.)]|>)\s+", "", filled[-1])
    if alone := name_alone(line):
        return alone
    sentence = re.split(r"(?<=[.!?])\s+", line)[-1]
    for part in dict.fromkeys((sentence, line)):
        if (name := _meant(part, tag)) and is_alike(tag, language(name)):
            return name
    return ""


def names_in(line: str) -> tuple[str, ...]:
    """The files that a sentence speaks of, each once, in order."""
    return tuple(dict.fromkeys(name for name, _, _ in _spoken(line[:LONGEST])))


def _meant(sentence: str, tag: str) -> str:
    """The file that code below a sentence is for: the only one it speaks of, or the one it says code is to go into;
    "": it says neither. tag: the code's language.
    """
    found = _spoken(sentence)
    names = {name for name, _, _ in found}
    if len(names) < 2:
        return "".join(names)
    alike = [each for each in found if is_alike(tag, language(each[0]))]
    quoted = {name for name, _, marked in found if marked}
    for said in (_MADE, _INTO):
        if len(into := {name for name, at, _ in alike if said.search(sentence, 0, at)}) == 1:
            return into.pop()
    if len(quoted) == 1:
        return quoted.pop()
    inside = {name for name, at, marked in alike if (marked or not quoted) and _INSIDE.search(sentence, 0, at)}
    return inside.pop() if len(inside) == 1 else ""


def _spoken(sentence: str) -> list[tuple[str, int, bool]]:
    """What looks like the name of a file in a sentence, where it stands, and whether it is marked as a name."""
    found = [(tidy(each[1] or each[2]), each.start(), True) for each in _QUOTED.finditer(sentence)]
    found = [each for each in found if is_path(each[0])]
    marked = {name for name, _, _ in found}
    for each in re.finditer(r"\S+", sentence):
        word = tidy(each[0].strip("`\"'*_,;:()[]").rstrip("."))
        if is_path(word) and word not in marked:
            found.append((word, each.start(), False))
    return sorted(found, key=lambda each: each[1])


def name_alone(line: str) -> str:
    """The path, where a line has only that, whatever marks stand around it; "": it has more, or none."""
    if len(line) > LONGEST:
        return ""
    bare = line.strip().strip("*_`#\"' :")
    bare = _REMARK.sub("", bare).strip("*_`\"' :")
    match = _LABEL.match(bare)
    for word in (bare, bare[match.end() :] if match else bare):
        word = word.strip("*_`\"' :")
        if is_path(word):
            return tidy(word)
    return ""
