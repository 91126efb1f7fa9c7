"""Which file a block is for that names none."""

import pytest

from paceline.chat.blocks import blocks
from paceline.chat.context.finder import Finder
from paceline.chat.edits.changes import Change
from paceline.chat.edits.placing import called, guessed, place
from paceline.chat.edits.propose import propose

FILES = {
    "app/area.py": "import math\n\n\ndef area(r):\n    return 3 * r * r\n\n\ndef length(r):\n    return 6 * r\n",
    "app/shop.py": "class Shop:\n    def add(self, item):\n        self.items.append(item)\n\n    def total(self):\n"
    "        return 0\n",
    "app/one.py": "def main():\n    return 1\n",
    "app/two.py": "def main():\n    return 2\n",
    "web/area.ts": "export function area(r: number): number {\n  return 3 * r * r;\n}\n",
}


@pytest.fixture
def finder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    made = Finder(tmp_path)
    assert made.refresh(60)
    return made


def placed(finder, code, tag="python"):
    (block,) = blocks(f"Do it so:\n\n```{tag}\n{code}\n```\n")
    found = place(block, finder.defining)
    return None if found is None else (found.names, found.paths)


AREA = "def area(r):\n    return math.pi * r * r"


@pytest.mark.parametrize(
    ("code", "tag", "names", "paths"),
    [
        (AREA, "python", ("area",), ("app/area.py",)),
        (AREA, "py", ("area",), ("app/area.py",)),
        (AREA, "", ("area",), ("app/area.py",)),
        (f"{AREA}\n\n\ndef length(r):\n    return 2 * math.pi * r", "python", ("area", "length"), ("app/area.py",)),
        ("function area(r) {\n  return Math.PI * r * r;\n}", "js", ("area",), ("web/area.ts",)),
        ("def main():\n    return 3", "python", ("main",), ("app/one.py", "app/two.py")),
        ("class Shop:\n    ...", "python", ("Shop",), ("app/shop.py",)),
        ("    def total(self):\n        return 1", "python", ("total",), ("app/shop.py",)),
    ],
)
def test_a_block_belongs_where_its_names_are_defined(finder, code, tag, names, paths):
    assert placed(finder, code, tag) == (names, paths)


@pytest.mark.parametrize(
    ("code", "tag"),
    [
        ("def unknown():\n    ...", "python"),
        (f"{AREA}\n\n\ndef unknown():\n    ...", "python"),  # all of them, or none
        ("def total():\n    return 1", "python"),  # a method in the file, and none here
        ("print(area(2))", "python"),
        ("area 2", "bash"),
        (AREA, "ruby"),
        ("", "python"),
        ("-def area(r):\n+def area(radius):", "diff"),
        (f"<<<<<<< SEARCH\n{AREA}\n=======\n{AREA}\n>>>>>>> REPLACE", "python"),
    ],
)
def test_what_tells_nothing_belongs_nowhere(finder, code, tag):
    assert placed(finder, code, tag) is None


@pytest.mark.parametrize("said", ["In `two.py`, make it 3.", "make @app/two.py return 3", "two.py: wrong?"])
def test_of_several_files_the_one_that_was_spoken_of_comes_first(finder, said):
    (block,) = blocks("```python\ndef main():\n    return 3\n```\n")
    assert place(block, finder.defining, said).paths == ("app/two.py", "app/one.py")


def test_a_block_that_names_its_file_needs_no_guess(finder):
    (block,) = blocks(f"```python other.py\n{AREA}\n```\n")
    assert place(block, finder.defining) is None


def test_a_guess_is_never_certain_and_says_so(finder):
    (block,) = blocks(f"```python\n{AREA}\n```\n")
    found = place(block, finder.defining)
    (change,) = propose(f"```python\n{AREA}\n```\n", {"app/area.py": FILES["app/area.py"]}, "app/area.py")
    assert change.certain
    shown = guessed(change, found)
    assert not shown.certain
    assert shown.notes[0] == "the answer names no file: this is the only one found that defines area"
    assert shown == Change(change.path, change.before, change.after, change.form, False, shown.notes)


def test_the_question_names_files_as_far_as_there_is_room(tmp_path):
    for at in range(9):
        (tmp_path / f"m{at}.py").write_text("def main(): ...\n")
    finder = Finder(tmp_path)
    finder.refresh(60)
    (block,) = blocks("```python\ndef main():\n    return 3\n```\n")
    assert place(block, finder.defining).choices == ("m0.py, m1.py, m2.py and 6 more define main")


def met(finder, answer, shown=()):
    return [(each.path, bool(each.note)) for each in called(answer, blocks(answer), shown, finder.files).values()]


BLOCK = "```python\ndef test():\n    ...\n```\n"


def test_a_name_means_the_only_file_that_ends_with_it(finder):
    assert met(finder, f"In shop.py:\n\n{BLOCK}") == [("app/shop.py", True)]
    assert met(finder, f"In app/shop.py:\n\n{BLOCK}") == []  # that is its name
    assert met(finder, f"In other.py:\n\n{BLOCK}") == []  # a new one


def test_of_files_that_were_shown_the_reader_of_answers_knows_the_names(finder):
    assert met(finder, f"In shop.py:\n\n{BLOCK}", ["app/shop.py"]) == []


def test_a_sentence_that_does_not_say_where_may_still_name_a_single_file_that_is_there(finder):
    assert met(finder, f"See app/shop.py, which needs requests.py:\n\n{BLOCK}") == [("app/shop.py", True)]
    assert met(finder, f"See app/shop.py, which needs requests.py:\n\n{BLOCK}", ["app/shop.py"]) == [
        ("app/shop.py", False)
    ]
    assert met(finder, f"See app/shop.py and app/area.py:\n\n{BLOCK}") == []
    assert met(finder, f"See app/shop.py and x.py:\n\nA test.\n\n{BLOCK}") == []
    assert met(finder, f"See app/shop.py and x.py:\n\n{BLOCK.replace('python', 'ruby')}") == []


def test_the_sentence_is_one_after_the_block_before(finder):
    assert met(finder, f"See app/shop.py and x.py:\n\n{BLOCK}\n{BLOCK}") == [("app/shop.py", True)]
