"""Five edits of real files: parts of Python's standard library, as the running interpreter has it.

    python tests/bench/edits.py --tokens 450 --repetitions 5        # each of them, plain and with the default

Each part stands for itself, a few hundred tokens long: what a person selects in an editor and asks to be changed.
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.prompts import Prompt, change


@dataclass(frozen=True)
class Edit:
    """What is to be done to these functions of a module; "Class.method" for methods, "Class" for all of a class."""

    name: str
    module: str
    parts: Sequence[str]
    wish: str


EDITS = (
    Edit(
        "rename",
        "sched",
        ("scheduler.__init__", "scheduler.enterabs", "scheduler.enter", "scheduler.cancel", "scheduler.empty"),
        "Rename the method `enterabs` to `enter_at` and the attribute `_queue` to `_events` in this file.",
    ),
    Edit(
        "types",
        "colorsys",
        ("rgb_to_hsv", "hsv_to_rgb"),
        "Add type hints to all parameters and results in this file.",
    ),
    Edit(
        "translate",
        "bisect",
        ("insort_right", "bisect_right"),
        "Translate the docstrings and comments in this file to German; leave the code as it is.",
    ),
    Edit(
        "parameter",
        "fnmatch",
        ("fnmatch", "filter", "fnmatchcase"),
        "Give `fnmatch` and `filter` a further parameter `normalize=True` in this file; when it is false, the names "
        "and the pattern are compared as they are.",
    ),
    Edit(
        "format",
        "getopt",
        ("do_longs", "long_has_args", "short_has_arg"),
        "Turn the %-formatting into f-strings in this file.",
    ),
)


def part(edit: Edit) -> str:
    """The source of the parts, under the headers of their classes."""
    text = inspect.getsource(importlib.import_module(edit.module))
    lines = text.splitlines()
    pieces, last = [], ""
    for name in edit.parts:
        path = name.split(".")
        *above, node = _find(ast.parse(text), path)
        owner = above[-1].name if above else ""
        if above and owner != last:
            pieces.append(lines[above[-1].lineno - 1])
        last = owner
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        pieces.append("\n".join(lines[first - 1 : node.end_lineno]) + "\n")
    return "\n".join(pieces)


def _find(tree: ast.AST, path: Sequence[str]) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """The classes and the function that a dotted name leads through."""
    body = getattr(tree, "body", [])
    node = next(each for each in body if getattr(each, "name", "") == path[0])
    yield node
    if len(path) > 1:
        yield from _find(node, path[1:])


def prompts() -> list[Prompt]:
    """The edits as prompts."""
    return [change(f"stdlib-{edit.name}", "python", part(edit), edit.wish) for edit in EDITS]


def main() -> None:
    from bench import measuring

    chosen = measuring.options(__doc__.splitlines()[0], tokens=450, repetitions=5).parse_args()
    loaded = measuring.engine(chosen)
    found = measuring.compare(loaded, prompts(), chosen.tokens, chosen.repetitions)
    loaded.close()
    measuring.deliver(found, chosen.json)


if __name__ == "__main__":
    main()
