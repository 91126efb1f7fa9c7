"""Where to ask: places where silence is right, and holes whose text is known."""

import random
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import files
from paceline.lsp.place import Place
from paceline.prompts.context import language
from paceline.prompts.lines import first_line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CURSOR = "⌖"
# the protocol's name of a language, where it differs from that of a fenced block
IDS = {"tsx": "typescriptreact", "jsx": "javascriptreact", "bash": "shellscript"}
OTHERS = {
    "ledger.py": files.LEDGER_PY,
    "tasks.py": files.TASKS_PY,
    "counter.js": files.COUNTER_JS,
    "routes.go": files.ROUTES_GO,
    "matrix.rs": files.MATRIX_RS,
    "schema.sql": files.SCHEMA_SQL,
    "style.css": files.STYLE_CSS,
    "config.yaml": files.CONFIG_YAML,
}
SHARE = 0.5  # of the holes that are cut from files in other languages than Python
SHORTEST = 6  # characters of a line that is worth a hole
LARGEST = 60_000  # bytes of a file that holes are cut from


@dataclass(frozen=True)
class Asked:
    """One place, and what is right there: `why` to be silent, or the rest of the line that was cut out."""

    place: Place
    why: str = ""
    missing: str = ""


def silences(name: str = "silences.toml") -> list[Asked]:
    """The places where nothing should be said."""
    found = tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))["place"]
    return [Asked(_place(each["path"], *each["text"].split(CURSOR)), why=each["why"]) for each in found]


def unseen() -> list[Asked]:
    """More of them, which no rule and no threshold was chosen by."""
    return silences("unseen.toml")


def holes(count: int, seed: int) -> list[Asked]:
    """Ends of lines cut from the standard library and from files in other languages, chosen by the seed.

    Half of the time the whole line is missing behind its indentation; else it is typed up to the end of some word.
    """
    choice = random.Random(seed)
    library = sorted(_library())
    found: list[Asked] = []
    while len(found) < count:
        if choice.random() < SHARE:
            path, text = choice.choice(sorted(OTHERS.items()))
        else:
            name = choice.choice(library)
            path, text = name.name, name.read_text("utf-8")
        hole = _hole(path, text, choice)
        if hole is not None and all(hole.place != each.place for each in found):
            found.append(hole)
    return found


def _library() -> Iterator[Path]:
    folder = Path(sysconfig.get_path("stdlib"))
    for base in ("", "json", "email", "logging", "http", "collections", "importlib", "asyncio", "xml/dom"):
        for path in (folder / base).glob("*.py"):
            if path.stat().st_size < LARGEST:
                yield path


def _hole(path: str, text: str, choice: random.Random) -> Asked | None:
    """A hole in a line of code; None where the line that was drawn is of no use."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 8:
        return None
    at = choice.randrange(4, len(lines))
    line = first_line(lines[at]).rstrip()
    indent = len(line) - len(line.lstrip())
    if len(line) - indent < SHORTEST:
        return None
    column = indent
    if choice.random() < 0.5:
        ends = [i for i in range(indent + 2, len(line) - 2) if line[i - 1].isalnum() != line[i].isalnum()]
        column = choice.choice(ends) if ends else indent
    start = sum(map(len, lines[:at])) + column
    return Asked(_place(path, text[:start], text[start + len(line) - column :]), missing=line[column:])


def _place(path: str, before: str, after: str) -> Place:
    name = language(path)
    return Place(f"file:///work/{path}", IDS.get(name, name) or "plaintext", 1, before, after, path)
