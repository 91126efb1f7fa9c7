"""Files at random, answers mutilated as small models mutilate them: what must hold whatever they say."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paceline.chat.edits import shape
from paceline.chat.edits.journal import Accepted, Journal
from paceline.chat.edits.matching import occurrences
from paceline.chat.edits.propose import propose
from paceline.chat.edits.review import accepted

NAMES = ["a.py", "src/b.js", "c.toml", "d.md", "notes.txt"]
LINES = st.sampled_from(
    """import os|def f(x):|    return x|class A:|    def g(self):|        pass||    |x = 1|# ... existing code ...|
function f() {|  return 1;|}|[server]|port = 25|## Usage|```|- item|\tindented|=======|+ plus|@@""".replace(
        "\n", ""
    ).split("|")
)
ENDING = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw):
    ending = draw(ENDING)
    body = ending.join(draw(st.lists(LINES, max_size=20)))
    return draw(st.sampled_from(["", "\ufeff"])) + body + draw(st.sampled_from(["", ending]))


@st.composite
def folders(draw):
    return {name: draw(texts()) for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))}


def whole(name, old, new):
    return f"`{name}`:\n```\n{new}\n```\n"


def replaced(name, old, new):
    return f"{name}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def patched(name, old, new):
    signs = ["-" + line for line in old.split("\n")] + ["+" + line for line in new.split("\n")]
    return "\n".join(["```diff", f"--- a/{name}", f"+++ b/{name}", "@@ -1,9 +1,9 @@", *signs, "```", ""])


@st.composite
def answers(draw, files):
    """An answer about some of the files, with mistakes."""
    parts = []
    for name in draw(st.lists(st.sampled_from([*files, "new.py"]), min_size=1, max_size=3)):
        lines = shape.said(files.get(name, ""))
        first = draw(st.integers(0, len(lines)))
        last = draw(st.integers(first, len(lines)))
        part = lines[first:last]
        changed = [draw(LINES) if draw(st.integers(0, 4)) == 0 else line for line in part]
        form = draw(st.sampled_from([whole, replaced, patched]))
        parts.append(form(name, "\n".join(part), "\n".join(changed)))
    rows = "\n".join(parts).split("\n")
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(rows) - 1))
        damage = draw(st.sampled_from(["drop", "double", "indent", "outdent", "tab", "fence", "mark"]))
        if damage == "drop":
            rows[at : at + 1] = []
        elif damage == "fence":
            rows.insert(at, draw(st.sampled_from(["```", "```python", "~~~", "````"])))
        else:
            line = rows[at]
            rows[at : at + 1] = {
                "double": [line, line],
                "indent": ["    " + line],
                "outdent": [line.lstrip()],
                "tab": [line.replace("    ", "\t")],
                "mark": [line[:3] + line],
            }[damage]
        rows = rows or [""]
    return draw(ENDING).join(rows)


@st.composite
def cases(draw):
    files = draw(folders())
    return files, draw(answers(files)), draw(st.sampled_from(["", *files]))


@settings(deadline=None, max_examples=40)
@given(cases())
def test_applying_and_undoing_gives_the_original_bytes(case):
    files, answer, wanted = case
    with TemporaryDirectory() as folder:
        root = Path(folder, "work")
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode())
        changes = [each for each in propose(answer, files, wanted) if each.changes]
        if not changes:
            return
        journal = Journal(Path(folder, "journal"))
        entry = journal.apply(root, [Accepted(each.path, each.before, each.after) for each in changes])
        for each in changes:
            there = (root / each.path).read_bytes() if (root / each.path).exists() else None
            assert there == (None if each.after is None else each.after.encode())
        journal.undo(entry)
        kept = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        assert kept == {name: text.encode() for name, text in files.items()}


@settings(deadline=None, max_examples=100)
@given(cases())
def test_changes_are_whole_and_say_what_is_in_doubt(case):
    files, answer, wanted = case
    found = propose(answer, files, wanted)
    assert len({each.path for each in found}) == len(found)
    for each in found:
        assert each.before == files.get(each.path)
        assert each.certain or each.notes
        assert all(note and "\n" not in note for note in each.notes)
        chosen = {hunk.index for hunk in each.hunks}
        assert accepted(each, chosen) == each.after


@settings(deadline=None, max_examples=100)
@given(cases())
@example(({"a.py": "import os\ndef f(x):"}, "```diff\n@@ -1,9 +1,9 @@\n-def f(x):\n+\n```\n", ""))
def test_a_file_keeps_its_own_ways(case):
    files, answer, wanted = case
    for each in propose(answer, files, wanted):
        before, after = each.before, each.after
        if not before or not after:
            continue
        assert after.startswith("\ufeff") == before.startswith("\ufeff")
        if after.strip("\ufeff\r\n") and before.strip("\ufeff"):
            assert after.endswith("\n") == before.endswith("\n")
        if "\r\n" in before and "\n" not in before.replace("\r\n", ""):
            assert "\n" not in after.replace("\r\n", "")
        if "\r" not in before:
            assert "\r" not in after


ANYTHING = st.text(alphabet=st.sampled_from("`~<>=+-@# \n\r\tab./:{}\"'\x00\u2028\ud800"), max_size=120)


@settings(deadline=None, max_examples=100)
@given(ANYTHING, st.dictionaries(st.sampled_from(["a.py", ""]), ANYTHING, max_size=2), ANYTHING)
@example("--- a\n+++ b\n@@ -1 +1 @@\n-\n+x", {"": ""}, "")
def test_nothing_raises(answer, files, wanted):
    propose(answer, files, wanted)


@settings(deadline=None)
@given(texts(), st.data())
def test_an_exact_replacement_is_always_found(text, data):
    lines = [line.rstrip("\r\n") for line in shape.split(text.removeprefix("\ufeff"))]
    unique = [
        at
        for at, line in enumerate(lines)
        if sum(other.strip() == line.strip() for other in lines) == 1 and line.strip()
    ]
    unique = [at for at in unique if lines[at] not in ("```", "=======", "@@") and lines[at][0] not in "#"]
    if not unique:
        return
    at = data.draw(st.sampled_from(unique))
    (found,) = propose(replaced("a.py", lines[at], "changed here"), {"a.py": text})
    assert found.certain
    result = [line.rstrip("\r\n") for line in shape.split(found.after.removeprefix("\ufeff"))]
    assert result == [*lines[:at], "changed here", *lines[at + 1 :]]


@settings(deadline=None)
@given(st.lists(st.sampled_from("ab"), max_size=5), st.lists(st.sampled_from("ab"), max_size=30))
def test_places_are_those_that_a_plain_search_finds(needle, hay):
    plain, at = [], 0
    while needle and at + len(needle) <= len(hay):
        if hay[at : at + len(needle)] == needle:
            plain.append(at)
            at += len(needle)
        else:
            at += 1
    assert occurrences(needle, hay) == plain


NONSENSE = [
    "<<<<<<< SEARCH\n", "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", "```\n", "```a.py\nx = 1\n```\n",
    "--- a\n+++ b\n@@\n-x\n+y\n", "@@ -1 +1 @@\n", "+x\n", "diff --git a/x b/x\n", "a.py: ", "`a` ", "def f():\n",
    "function f() {\n", "}\n", "x" * 50, "\r", "<!-- ", "# ... existing code ...\n", "**a.py**\n```\n", "=======\n",
    "[x]\n", "a(", "    ", '"', "/*\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", NONSENSE)
@pytest.mark.parametrize("opened", ["", "```python\n", "```diff\n"])
def test_nonsense_is_read_in_linear_time(piece, opened):
    files = {"a.py": "def f():\n    return 1\n\n\nx = 1\n", "b.js": "function f() {\n}\n"}
    short, long = (work(opened + piece * (size // len(piece)), files) for size in (2_000, 8_000))
    assert long < 7 * short + 2000


def work(answer, files):
    """How many lines of Python run: a measure that no other process disturbs."""
    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        propose(answer, files)
    finally:
        sys.settrace(before)
    return count
