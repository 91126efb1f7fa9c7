"""Answers that show a part of a file, and less of it than they mean, or something else than an edit."""

import pytest

from paceline.chat.edits.propose import propose

PANEL = """export interface Settings {
  theme: string;
  size: number;
}

export class Panel {
  private settings: Settings = { theme: "light", size: 14 };

  update(change: Settings): void {
    this.settings = change;
  }

  render(): void {
    document.body.className = this.settings.theme;
  }
}

export function clamp(value: number, low: number): number {
  return value < low ? low : value;
}
"""
STOCK = """package app;

public class Stock {
    private int count = 0;

    public void add(int more) {
        count += more;
    }

    public int left() {
        return count;
    }
}
"""
TASK = """from dataclasses import dataclass


@dataclass
class Task:
    title: str
    done: bool = False

    def finish(self):
        self.done = True

    def start(self):
        self.done = False
"""
SCHEMA = """CREATE TABLE authors (
    id INTEGER PRIMARY KEY,
    name TEXT
);

CREATE TABLE books (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL
);

-- dearest first
SELECT title
FROM books
JOIN authors ON authors.id = books.id
ORDER BY price;
"""
CARDS = """.cards {
  display: flex;
}

.card {
  padding: 8px;
  border: 1px solid;
}
"""
SERVICES = """services:
  web:
    image: nginx
    ports:
      - "80:80"
  api:
    build: ./api
"""


def change(path, text, code, before="Here is the new code:"):
    (found,) = propose(f"{before}\n\n```\n{code}```\n", {path: text}, path)
    return found


def doubted(found, word):
    return not found.certain and any(word in note for note in found.notes)


def test_a_function_that_is_shown_without_its_export_keeps_it():
    found = change("a.ts", PANEL, "function clamp(value: number, low: number): number {\n  return low;\n}\n")
    assert "export function clamp(value: number, low: number): number {\n  return low;\n}\n" in found.after
    assert doubted(found, "export")


def test_an_export_that_alone_is_gone_is_taken_for_meant_with_doubt():
    code = PANEL[PANEL.index("function clamp") :]
    found = change("a.ts", PANEL, code)
    assert found.after == PANEL.replace("export function", "function")
    assert doubted(found, "export")


def test_a_modifier_that_is_changed_is_changed():
    found = change("Stock.java", STOCK, "private int left() {\n    return count;\n}\n")
    assert found.after == STOCK.replace("public int left", "private int left")
    assert found.certain


def test_a_method_under_another_name_in_the_place_of_one_that_is_missing_replaces_it():
    code = TASK[TASK.index("@dataclass") :].replace("def finish", "def close")
    text = TASK + "\n\ndef first(tasks):\n    return tasks[0]\n"
    found = change("task.py", text, code)
    assert found.after == text.replace("def finish", "def close")
    assert doubted(found, "another name of finish")


def test_a_new_method_beside_one_that_is_left_out_is_added():
    code = (
        '@dataclass\nclass Task:\n    title: str\n    done: bool = False\n\n    def show(self):\n        print("x")\n\n'
    )
    found = change("task.py", TASK, code + "    def start(self):\n        self.done = False\n")
    assert "def finish" in found.after
    assert "def show" in found.after


def test_a_class_that_is_shown_with_its_fields_only_keeps_its_methods():
    found = change(
        "task.py", TASK, "@dataclass\nclass Task:\n    title: str\n    done: bool = False\n    rank: int = 0\n"
    )
    assert found.after == TASK.replace("done: bool = False\n", "done: bool = False\n    rank: int = 0\n", 1)
    assert doubted(found, "kept")


def test_a_class_in_braces_that_is_shown_with_its_fields_only_keeps_its_methods():
    code = "public class Stock {\n    private int count = 0;\n    private int most = 9;\n}\n"
    found = change("Stock.java", STOCK, code)
    assert found.after == STOCK.replace("count = 0;\n", "count = 0;\n    private int most = 9;\n")
    assert doubted(found, "kept")


def test_a_constructor_is_not_taken_for_its_class():
    found = change("Stock.java", STOCK, "public Stock(int count) {\n    this.count = count;\n}\n")
    assert "public class Stock {" in found.after
    assert "    public Stock(int count) {\n        this.count = count;\n    }\n}\n" in found.after
    assert doubted(found, "put at the end")


POOL = "type Pool struct {\n\tjobs int\n\tsize int\n}\n\nfunc New() {\n}\n"
PAIR = "pub struct A {\n    pub x: u8,\n    pub y: u8,\n}\n\nfn b() {\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "code", "missing"),
    [
        ("a.go", POOL, "type Pool struct {\n\tsize int\n}\n", "jobs"),
        ("a.sql", SCHEMA, "CREATE TABLE books (\n    title TEXT UNIQUE\n);\n", "id"),
        ("a.rs", PAIR, "pub struct A {\n    pub z: u8,\n}\n", "x, y"),
    ],
)
def test_fields_that_an_answer_leaves_out_are_said(path, text, code, missing):
    assert doubted(change(path, text, code), f"leaves {missing} out")


def test_a_field_that_is_added_is_beyond_doubt():
    text = "pub struct A {\n    pub x: u8,\n}\n\nfn b() {\n}\n"
    found = change("a.rs", text, "pub struct A {\n    pub x: u8,\n    pub y: u8,\n}\n")
    assert found.certain
    assert found.after == text.replace("x: u8,\n", "x: u8,\n    pub y: u8,\n")


def test_a_table_of_a_schema_is_replaced():
    found = change("a.sql", SCHEMA, "create table Authors (\n    id INTEGER PRIMARY KEY,\n    name TEXT UNIQUE\n);\n")
    assert found.certain
    assert "    name TEXT UNIQUE\n" in found.after
    assert "CREATE TABLE books" in found.after


def test_a_statement_of_sql_that_others_stand_in_ends_with_its_block():
    trigger = "CREATE TRIGGER t AFTER INSERT ON books\nBEGIN\n    DELETE FROM authors;\n    SELECT CASE 1 WHEN 1 "
    trigger += "THEN 2 END;\nEND;\n"
    found = change("a.sql", trigger + "\n" + SCHEMA, trigger.replace("DELETE FROM authors", "DELETE FROM books"))
    assert found.after == trigger.replace("DELETE FROM authors", "DELETE FROM books") + "\n" + SCHEMA
    assert found.certain


def test_an_excerpt_may_end_with_the_line_that_is_changed():
    code = SCHEMA[SCHEMA.index("SELECT") :].replace("price", "price DESC")
    found = change("a.sql", SCHEMA, code)
    assert found.after == SCHEMA.replace("price", "price DESC")
    assert doubted(found, "lines 12 to 15")


def test_an_excerpt_does_not_end_with_a_line_that_is_nothing_like_the_files():
    code = SCHEMA[SCHEMA.index("SELECT") :].replace("ORDER BY price", "LIMIT 1")
    assert not propose(f"```sql\n{code}```\n", {"a.sql": SCHEMA}, "a.sql")


def test_a_rule_with_nothing_but_a_new_property_keeps_its_others():
    found = change("a.css", CARDS, ".card {\n  color: red;\n}\n")
    assert found.after == CARDS.replace("solid;\n", "solid;\n  color: red;\n")
    assert doubted(found, "new in .card")


def test_a_key_alone_goes_behind_the_others_of_its_mapping():
    found = change("a.yaml", SERVICES, "services:\n  web:\n    restart: always\n")
    assert found.after == SERVICES.replace('"80:80"\n', '"80:80"\n    restart: always\n')
    assert doubted(found, "new in web")


@pytest.mark.parametrize(
    "before",
    [
        "Here's how you can use it:",
        "### Example usage",
        "Done. You can now call this function like so:",
        "The problem is here:",
        "Instead of:",
        "Before:",
        "Change this:",
    ],
)
def test_code_that_is_said_to_be_an_example_or_the_old_code_is_doubted(before):
    assert not change("a.ts", PANEL, "export function clamp() {\n  return 0;\n}\n", before).certain


@pytest.mark.parametrize(
    "before",
    [
        "The problem is the comparison. Here is the function:",
        "The bug in `clamp` can be fixed like this:",
        "Change `clamp` as follows:",
        "To round it you can use `Math.max`. Here is the updated code:",
    ],
)
def test_code_that_is_said_to_be_the_new_one_is_not(before):
    assert change("a.ts", PANEL, "export function clamp() {\n  return 0;\n}\n", before).certain


def test_a_diff_that_shows_the_code_as_it_is_with_other_empty_lines_asks_for_nothing():
    shown = TASK.replace("\n\n\n", "\n\n")
    diff = "--- a/task.py\n+++ b/task.py\n@@ -1,9 +1,9 @@\n" + "".join(f" {line}\n" for line in shown.split("\n"))
    assert not [each for each in propose(f"```diff\n{diff}```\n", {"task.py": TASK}, "task.py") if each.changes]


def test_lines_of_any_length_take_no_time():
    table = "CREATE TABLE a (\n" + "/*" * 200_000 + "\n);\n"
    assert propose("```sql\nCREATE TABLE a (\n    x INT\n);\n```\n", {"a.sql": table}, "a.sql")
    assert propose(
        "```java\nclass A {\n  int y;\n}\n```\n", {"A.java": f"class A {{\n{' a' * 200_000}\n  void x() {{\n  }}\n}}\n"}
    )
