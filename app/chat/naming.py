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

    A line with nothing but a name counts always; a sentence only where it names a single file, of this language.
    """
    filled = [line.strip() for line in lines if line.strip()]
    if not filled or len(filled[-1]) > LONGEST:
        return ""
    line = re.sub(r"^(?:#{1,6}|[-*+]|\d{1,3}[.)]|>)\s+", "", filled[-1])
    if alone := name_alone(line):
        return alone
    quoted = {tidy(one or two) for one, two in _QUOTED.findall(line) if is_path((one or two).strip())}
    if not quoted:
        words = (word.strip("`\"'*_,;:()[]") for word in line.split())
        quoted = {tidy(word) for word in words if is_path(word.rstrip("."))}
    name = quoted.pop().rstrip(".") if len(quoted) == 1 else ""
    return name if name and is_alike(tag, language(name)) else ""


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
