"""Forty prompts in four kinds of ten: new code, prose, edits of a file, and the short mixed questions of a day.

    python tests/bench/prompts.py --tokens 200 --repetitions 3       # each of them, plain and with the default

They are there to find the one that gets slower, so they are varied on purpose: languages, lengths, how much of the
answer stands in the prompt already.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.files import CONFIG_YAML, COUNTER_JS, LEDGER_PY, MATRIX_RS, ROUTES_GO, SCHEMA_SQL, STYLE_CSS, TASKS_PY

KINDS = ("code", "prose", "edit", "mixed")
SYSTEM = "You are a careful programmer. Answer briefly and show code where it helps."
WHOLE = "Answer with the whole changed file and nothing else."


@dataclass(frozen=True)
class Prompt:
    """A question, and the text that its answer reproduces with changes, where there is one."""

    name: str
    kind: str
    text: str
    original: str = ""


def change(name: str, language: str, source: str, wish: str) -> Prompt:
    """An edit of a file."""
    return Prompt(name, "edit", f"{wish} {WHOLE}\n\n```{language}\n{source}```", source)


CODE = [
    Prompt(
        "lru-python",
        "code",
        "Write a Python class `LruCache` with a capacity, get, put and a hit counter. No OrderedDict.",
    ),
    Prompt("dates-python", "code", "Write a Python function that parses an ISO 8601 date without the datetime module."),
    Prompt("debounce-js", "code", "Write a JavaScript function debounce(fn, ms) with cancel and flush methods."),
    Prompt(
        "dijkstra-rust",
        "code",
        "Implement Dijkstra's algorithm in Rust with a BinaryHeap, and a main with an example graph.",
    ),
    Prompt(
        "csv-python",
        "code",
        (
            "Write a Python script with argparse that prints the average age per city from a CSV file with the "
            "columns name, age, city."
        ),
    ),
    Prompt(
        "worker-go",
        "code",
        "Write a worker pool in Go: n goroutines that take jobs from a channel, results in another, clean shutdown.",
    ),
    Prompt(
        "stack-c",
        "code",
        "Write a growable stack of ints in C: stack_new, stack_push, stack_pop, stack_free; check every allocation.",
    ),
    Prompt(
        "form-html",
        "code",
        "Write an HTML page with a sign-up form (name, e-mail, password twice) and a script that checks the input.",
    ),
    Prompt(
        "join-sql",
        "code",
        (
            "Write SQL for PostgreSQL: the ten customers with the highest turnover in 2023, with number of orders "
            "and average value; tables customers, orders, order_items."
        ),
    ),
    Prompt(
        "tree-java",
        "code",
        "Write a generic binary search tree in Java with insert, contains, and an in-order iterator.",
    ),
]

PROSE = [
    Prompt(
        "hash-table",
        "prose",
        (
            "Explain to a junior developer, in plain prose without code, what a hash table is and how collisions "
            "are resolved."
        ),
    ),
    Prompt(
        "threads", "prose", "Explain the difference between processes and threads to a student, in about 200 words."
    ),
    Prompt("typing", "prose", "What are the advantages and disadvantages of static typing? Answer in prose."),
    Prompt("git-objects", "prose", "Summarise how git stores commits, trees and blobs."),
    Prompt(
        "tls",
        "prose",
        "Describe what happens between a browser and a server when a page is opened over HTTPS, step by step.",
    ),
    Prompt(
        "review-letter",
        "prose",
        "Write a friendly e-mail to a colleague whose pull request is too large, and suggest how to split it.",
    ),
    Prompt("cap", "prose", "What does the CAP theorem say, and what does it not say? Give an example from practice."),
    Prompt(
        "garbage",
        "prose",
        "How does a generational garbage collector work, and why do short-lived objects cost little?",
    ),
    Prompt(
        "list-tips",
        "prose",
        "Give ten tips for writing good commit messages, as a numbered list with one sentence each.",
    ),
    Prompt(
        "floating",
        "prose",
        "Why is 0.1 + 0.2 not 0.3 in most programming languages? Explain it to someone who knows no binary numbers.",
    ),
]

EDIT = [
    change(
        "rename-python",
        "python",
        LEDGER_PY,
        "Rename the method `balance` to `balance_of` and its parameter `name` to `account` in this file.",
    ),
    change("types-python", "python", TASKS_PY, "Add type hints to every function in this file."),
    change(
        "fix-python",
        "python",
        LEDGER_PY,
        "A transfer of more than the balance must raise ValueError. Fix that in this file.",
    ),
    change(
        "async-js",
        "javascript",
        COUNTER_JS,
        "Turn the callbacks in this file into async functions that return promises.",
    ),
    change(
        "logging-go",
        "go",
        ROUTES_GO,
        "Log the method and the path of each request at the start of each handler in this file.",
    ),
    change(
        "errors-rust", "rust", MATRIX_RS, "Return a Result with a String as error instead of panicking in this file."
    ),
    change(
        "column-sql",
        "sql",
        SCHEMA_SQL,
        "Add a column `updated_at timestamptz not null default now()` to each table in this file.",
    ),
    change("dark-css", "css", STYLE_CSS, "Replace the colours in this file by a dark theme."),
    change(
        "ports-yaml",
        "yaml",
        CONFIG_YAML,
        (
            "Add a service `cache` with the image redis:7 that `web` depends on, and change the port of `web` to "
            "9000, in this file."
        ),
    ),
    change("german-python", "python", TASKS_PY, "Translate the docstrings in this file to German."),
]

MIXED = [
    Prompt(
        "json",
        "mixed",
        (
            "Give me a JSON array of eight cities with name, country, population and whether they lie at the sea. "
            "Only JSON."
        ),
    ),
    Prompt(
        "shell",
        "mixed",
        (
            "A shell one-liner that finds the ten largest files below the current folder, with sizes for humans. "
            "Explain each part in a line."
        ),
    ),
    Prompt("regex", "mixed", "A regular expression for IPv4 addresses, and what each part of it means."),
    Prompt("tests", "mixed", f"Write pytest tests for this file.\n\n```python\n{LEDGER_PY}```"),
    Prompt("review", "mixed", f"Review this file and list its problems.\n\n```python\n{TASKS_PY}```"),
    Prompt(
        "traceback",
        "mixed",
        (
            'What does this mean?\n\nTraceback (most recent call last):\n  File "app.py", line 7, in '
            "<module>\n    print(total(prices))\n  File \"app.py\", line 3, in total\n    return sum(p['price'] "
            "for p in prices)\nTypeError: string indices must be integers, not 'str'"
        ),
    ),
    Prompt(
        "commit",
        "mixed",
        (
            "Write a commit message for this change:\n\n-    timeout = 10\n+    timeout = settings.timeout\n+    "
            'if timeout <= 0:\n+        raise ValueError("timeout must be positive")'
        ),
    ),
    Prompt(
        "dockerfile", "mixed", "A Dockerfile for a Flask app with gunicorn, Python 3.12, no root user, a health check."
    ),
    Prompt(
        "table",
        "mixed",
        "A Markdown table that compares list, tuple, set and dict in Python: ordered, mutable, duplicates, look-up.",
    ),
    Prompt("translate", "mixed", f"Translate this SQL schema to SQLAlchemy models.\n\n```sql\n{SCHEMA_SQL}```"),
]

PROMPTS = [*CODE, *PROSE, *EDIT, *MIXED]


def main() -> None:
    from bench import measuring

    parser = measuring.options(__doc__.splitlines()[0], tokens=200, repetitions=3)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS)
    chosen = parser.parse_args()
    loaded = measuring.engine(chosen)
    prompts = [prompt for prompt in PROMPTS if prompt.kind in chosen.kind]
    found = measuring.compare(loaded, prompts, chosen.tokens, chosen.repetitions)
    loaded.close()
    worst = min(found, key=lambda name: found[name]["speed_up"])
    kinds = {
        kind: measuring.median([each["speed_up"] for each in found.values() if each["kind"] == kind])
        for kind in chosen.kind
    }
    measuring.deliver({"worst": {worst: found[worst]["speed_up"]}, "medians": kinds, "prompts": found}, chosen.json)


if __name__ == "__main__":
    main()
