"""What is made of answers: every form in which models say what is to be changed, rightly and wrongly."""

import pytest

from paceline.chat.edits.propose import propose

CART = '''"""A cart."""

import json


class Cart:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        result = 0
        for item in self.items:
            result += item.price
        return result


def load(path):
    with open(path) as file:
        return json.load(file)
'''
QUEUE = """class Queue {
  push(item) {
    this.items.push(item);
  }

  pop() {
    return this.items.shift();
  }
}

function drain(queue) {
  while (queue.size) queue.pop();
}
"""
FILES = {"shop/cart.py": CART, "src/queue.js": QUEUE}
ADDED = CART.replace("        self.items.append(item)\n", "        if item:\n            self.items.append(item)\n")
SUMMED = CART.replace(
    "        result = 0\n        for item in self.items:\n            result += item.price\n        return result\n",
    "        return sum(item.price for item in self.items)\n",
)
TOTAL = "def total(self):\n    return sum(item.price for item in self.items)\n"


def change(answer, files=FILES, wanted=""):
    (found,) = propose(answer, files, wanted)
    return found


def block(text, info="python"):
    return f"Sure!\n\n```{info}\n{text}```\n\nHope that helps.\n"


def indented(text, by="    "):
    return "".join(by + line if line.strip() else line for line in text.splitlines(keepends=True))


def sure(found, after, path="shop/cart.py"):
    assert (found.path, found.after, found.certain, found.notes) == (path, after, True, ())


def doubtful(found, said):
    assert not found.certain
    assert any(said in note for note in found.notes), found.notes


# whole files


def test_a_whole_file_replaces_the_file():
    sure(change(block(ADDED, "python shop/cart.py")), ADDED)


def test_a_block_without_a_name_is_for_the_file_in_question():
    sure(change(block(ADDED), wanted="shop/cart.py"), ADDED)


def test_a_block_without_a_name_is_for_the_file_that_it_resembles():
    sure(change(block(ADDED)), ADDED)


def test_a_file_is_known_by_the_end_of_its_path():
    sure(change("**cart.py**\n" + block(ADDED, "python cart.py")), ADDED)
    sure(change(block(ADDED, "python /home/me/project/shop/cart.py")), ADDED)


def test_the_line_that_names_the_file_is_not_written_into_it():
    sure(change(block("# shop/cart.py\n" + ADDED)), ADDED)


def test_a_file_that_begins_with_its_own_name_keeps_that_line():
    mine = "# shop/cart.py\n" + CART
    sure(change(block("# shop/cart.py\n" + ADDED), {"shop/cart.py": mine}), "# shop/cart.py\n" + ADDED)


def test_lines_that_a_file_begins_with_stay_where_the_answer_forgets_them():
    found = change(block(ADDED.partition("\n\n")[2], "python shop/cart.py"))
    assert found.after == ADDED
    doubtful(found, "leaves out the first 2 lines")


def test_imports_of_what_is_not_used_any_more_do_go():
    text = "import os\n\n\ndef f():\n    return 1\n"
    found = change(block("def f():\n    return 1\n"), {"a.py": text})
    assert found.after == "def f():\n    return 1\n"
    doubtful(found, "1 line of the file would be lost")


def test_a_file_that_shrinks_suspiciously_is_pointed_out():
    text = "\n".join(f"line {number}" for number in range(40)) + "\n"
    found = change(block("line 0\n" + "\n".join(text.split("\n")[20:]), "text"), {"notes.txt": text})
    doubtful(found, "would be lost")


def test_a_value_that_is_used_and_gone_is_pointed_out():
    text = "LIMIT = 3\n\n\ndef f(x):\n    return x < LIMIT\n"
    found = change(block("import os\n\n\ndef f(x):\n    return x <= LIMIT\n"), {"a.py": text})
    doubtful(found, "LIMIT is still used")


def test_a_new_file_is_made():
    found = change(block("def main():\n    pass\n", "python app/main.py"))
    assert (found.path, found.before, found.after) == ("app/main.py", None, "def main():\n    pass\n")
    assert found.certain


def test_a_new_file_that_is_only_mentioned_is_in_doubt():
    doubtful(
        change("Now make a file `setup.cfg`:\n" + block("[metadata]\nname = x\n", "").removeprefix("Sure!\n\n")),
        "in passing",
    )


@pytest.mark.parametrize(
    "answer",
    [
        "No code at all.",
        block("pip install shop\n", "bash"),
        block("cart = Cart()\ncart.add(1)\nprint(cart.total())\n"),
        block("Output: 3\n", "text"),
        block(CART),  # the file as it is
        "Use `total()` instead of ```add()```.",
        block("", "python shop/cart.py"),
    ],
)
def test_what_is_no_edit_changes_nothing(answer):
    assert propose(answer, FILES) == ()


def test_several_files_change_at_once():
    both = block(ADDED, "python shop/cart.py") + block(QUEUE.replace("drain", "empty"), "js src/queue.js")
    assert [(each.path, each.certain) for each in propose(both, FILES)] == [
        ("shop/cart.py", True),
        ("src/queue.js", True),
    ]


# parts of files


@pytest.mark.parametrize("text", [TOTAL, indented(TOTAL), indented(TOTAL, "\t"), "class Cart:\n" + indented(TOTAL)])
def test_a_function_replaces_the_one_of_its_name(text):
    found = change(block(text), wanted="shop/cart.py")
    assert found.after == SUMMED
    assert found.form == "fragment"


def test_steps_of_two_blanks_become_the_file_s_own():
    text = "def total(self):\n  for item in self.items:\n    yield item\n"
    after = change(block(text), wanted="shop/cart.py").after
    assert "    def total(self):\n        for item in self.items:\n            yield item\n" in after


def test_blanks_become_tabs_where_the_file_has_tabs():
    files = {"a.py": CART.replace("    ", "\t")}
    assert change(block(TOTAL), files).after == SUMMED.replace("    ", "\t")


def test_a_new_method_goes_after_its_neighbour():
    add = "    def add(self, item):\n        self.items.append(item)\n"
    text = f"class Cart:\n{add}\n    def clear(self):\n        self.items = []\n"
    after = change(block(text), wanted="shop/cart.py").after
    new = "        self.items.append(item)\n\n    def clear(self):\n        self.items = []\n\n    def total"
    assert CART.replace("        self.items.append(item)\n\n    def total", new) == after


def test_a_new_method_without_a_neighbour_goes_to_the_end_of_the_class_in_doubt():
    found = change(block("def clear(self):\n    self.items = []\n"), wanted="shop/cart.py")
    assert "        return result\n\n    def clear(self):\n        self.items = []\n\n\ndef load" in found.after
    doubtful(found, "end of Cart")


def test_a_name_that_is_defined_twice_is_not_guessed():
    text = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n"
    found = change(block("def f(self):\n    return 3\n"), {"a.py": text})
    assert not found.changes
    doubtful(found, "f is defined 2 times")


def test_an_import_that_a_function_needs_is_added():
    found = change(block("import math\n\n\n" + TOTAL.replace("sum", "math.fsum")), wanted="shop/cart.py")
    assert "import json\nimport math\n" in found.after
    assert "math.fsum" in found.after
    doubtful(found, "import math")


def test_decorators_and_comments_that_are_not_shown_stay():
    text = "@cached\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n"
    assert change(block("def f():\n    return 3\n"), {"a.py": text}).after == text.replace("return 1", "return 3")


@pytest.mark.parametrize(
    "mark", ["# ... existing code ...", "# rest of the code remains the same", "...", "# other methods"]
)
def test_marks_stand_for_what_was_left_out(mark):
    text = f"class Cart:\n    {mark}\n\n" + indented(TOTAL) + f"\n{mark}\n"
    found = change(block(text), wanted="shop/cart.py")
    assert found.after == SUMMED


def test_marks_within_a_function_are_filled_in():
    text = "def load(path):\n    # ... existing code ...\n        return json.load(file) or []\n"
    found = change(
        block("def load(path):\n    if not path:\n        return []\n    # ... existing code ...\n"),
        wanted="shop/cart.py",
    )
    doubtful(found, "filled in")
    found = change(block(text), wanted="shop/cart.py")
    doubtful(found, "filled in")
    opened = "def load(path):\n    with open(path) as file:\n"
    kept = opened + "        print(path)\n        # ...\n        return json.load(file)\n"
    found = change(block(kept), wanted="shop/cart.py")
    assert "# ..." not in (found.after or "")


def test_marks_that_stand_in_the_file_itself_are_code():
    text = "class P:\n    def f(self):\n        ...\n\n    def g(self):\n        ...\n"
    new = text.replace("def g", "def h")
    assert change(block(new), {"a.py": text}).after == new


def test_a_section_of_settings_may_be_shown_in_part():
    text = '[server]\nhost = "::"\nport = 25\n\n[log]\nlevel = "info"\n'
    assert change(block("[server]\nport = 587\n", "toml"), {"c.toml": text}).after == text.replace("25", "587")


def test_lines_in_context_are_taken_for_the_place_that_they_come_from():
    html = "<ul>\n  <li>one</li>\n  <li>two</li>\n</ul>\n<form>\n  <input>\n</form>\n<p>end</p>\n<p>more</p>\n"
    found = change(block("<form>\n  <input name=x>\n</form>\n", "html"), {"a.html": html})
    assert found.after == html.replace("<input>", "<input name=x>")
    doubtful(found, "lines 5 to 7")


def test_an_example_after_the_change_is_not_added_to_the_file():
    found = change(block(ADDED) + block("def main():\n    Cart().add(1)\n"), {"shop/cart.py": CART})
    assert found.after == ADDED
    doubtful(found, "example")


def test_two_ways_to_do_the_same_are_pointed_out():
    other = TOTAL.replace("sum(", "math.fsum(")
    found = change(block(TOTAL) + "Or else:\n" + block(other), wanted="shop/cart.py")
    assert found.after == SUMMED.replace("sum(", "math.fsum(")
    doubtful(found, "takes back what an earlier one changes")


def test_a_part_and_then_the_whole_agree():
    both = block(TOTAL) + "All of it:\n" + block(SUMMED)
    assert change(both, wanted="shop/cart.py").after == SUMMED
    assert change(both, wanted="shop/cart.py").certain


def test_what_the_file_has_now_may_be_shown_again():
    old = CART[CART.index("    def total") : CART.index("\n\n\ndef load")] + "\n"
    found = change(block(TOTAL) + "instead of\n" + block(old), wanted="shop/cart.py")
    assert (found.after, found.certain) == (SUMMED, True)


# search and replace

SEARCH = """<<<<<<< SEARCH
        self.items.append(item)
=======
        if item:
            self.items.append(item)
>>>>>>> REPLACE
"""


@pytest.mark.parametrize(
    "answer",
    [
        block(SEARCH),
        SEARCH,
        "shop/cart.py\n" + SEARCH,
        "shop/cart.py\n```\n" + SEARCH + "```\n",
        block("shop/cart.py\n" + SEARCH),
        SEARCH.replace("SEARCH", "SEARCH shop/cart.py"),
        SEARCH.replace("SEARCH", "ORIGINAL").replace("REPLACE", "UPDATED"),
        SEARCH.replace("<<<<<<<", "<<<<<").replace("=======", "=====").replace(">>>>>>>", ">>>>>>>>>"),
        SEARCH.replace("<<<<<<< SEARCH", "<<< SEARCH").replace(">>>>>>> REPLACE", ">>> REPLACE"),
        SEARCH.replace("<<<<<<< SEARCH\n", "<<<<<<< SEARCH\n```python\n").replace("=======\n", "```\n=======\n"),
        SEARCH.replace(">>>>>>> REPLACE", "=======\n>>>>>>> REPLACE"),
        SEARCH.replace("\n", "\r\n"),
        SEARCH.replace("        ", ""),
        SEARCH.replace("    ", "\t"),
        SEARCH.replace("append(item)\n", "append(item)   \n", 1),
    ],
)
def test_search_and_replace_is_read_however_it_is_written(answer):
    found = change(answer)
    assert (found.path, found.after, found.form) == ("shop/cart.py", ADDED, "replace")
    assert found.certain, found.notes


def test_several_replacements_are_made():
    more = SEARCH + SEARCH.replace("self.items.append(item)", "self.items = []")
    after = change(more).after
    assert after == ADDED.replace("        self.items = []\n", "        if item:\n            self.items = []\n")


def test_a_block_ends_where_the_next_begins():
    torn = SEARCH.replace(">>>>>>> REPLACE\n", "") + SEARCH.replace("self.items.append(item)", "self.items = []")
    assert change(torn).after == change(SEARCH + SEARCH.replace("self.items.append(item)", "self.items = []")).after


def test_what_is_not_found_is_left_out_and_said():
    more = SEARCH + SEARCH.replace("self.items.append(item)", "self.nothing.of_the_kind()")
    found = change(more, wanted="shop/cart.py")
    assert found.after == ADDED
    doubtful(found, "replacement 2 of 2: the lines that it looks for are not in the file")


def test_lines_that_stand_twice_are_not_taken_for_certain():
    text = "a = 1\nprint('hello')\nb = 2\nprint('hello')\n"
    found = change("<<<<<<< SEARCH\nprint('hello')\n=======\nprint('bye')\n>>>>>>> REPLACE\n", {"a.py": text})
    doubtful(found, "2 places")


def test_lines_that_are_only_similar_are_never_removed():
    text = "".join(f"value_{name} = compute({name})\n" for name in "abcdefgh")
    search = text.replace("value_c = compute(c)", "value_c = compute(cc)")
    found = change(f"<<<<<<< SEARCH\n{search}=======\n>>>>>>> REPLACE\n", {"a.py": text})
    assert not found.changes
    doubtful(found, "not in the file as it has them")


def test_an_empty_search_does_not_overwrite_a_file():
    found = change("shop/cart.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n")
    assert not found.changes
    doubtful(found, "does not say which lines")


def test_an_empty_search_makes_a_new_file():
    found = change("shop/new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n")
    assert (found.path, found.before, found.after) == ("shop/new.py", None, "x = 1\n")


def test_a_replacement_that_is_cut_off_is_in_doubt():
    doubtful(change(SEARCH.partition(">>>")[0].removesuffix("item)\n")), "ends within it")


def test_a_text_may_begin_within_a_line():
    old, new = (f"result += {value}\n        return result\n" for value in ("item.price", "2 * item.price"))
    found = change(f"<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n")
    assert found.after == CART.replace("+= item.price", "+= 2 * item.price")


# diffs

DIFF = """--- a/shop/cart.py
+++ b/shop/cart.py
@@ -10,2 +10,3 @@
     def add(self, item):
-        self.items.append(item)
+        if item:
+            self.items.append(item)
{blank}
     def total(self):
""".replace("{blank}", " ")


@pytest.mark.parametrize(
    "diff",
    [
        DIFF,
        DIFF.replace("-10,2 +10,3", "-99,7 +1,1"),
        DIFF.replace("@@ -10,2 +10,3 @@", "@@"),
        DIFF.replace("@@ -10,2 +10,3 @@\n", ""),
        DIFF.replace("@@ -10,2 +10,3 @@", "@@ ... @@"),
        "diff --git a/shop/cart.py b/shop/cart.py\nindex 12..34 100644\n" + DIFF,
        DIFF.replace("\n     def", "\n    def"),
        DIFF.replace("\n \n", "\n\n"),
        DIFF.replace("a/shop", "shop").replace("b/shop", "shop"),
        DIFF.replace("cart.py\n", "cart.py\t2024-01-01 00:00:00\n"),
        DIFF.replace("\n", "\r\n"),
        DIFF + "\\ No newline at end of file\n",
    ],
)
def test_a_diff_is_applied_by_what_it_says(diff):
    sure(change(block(diff, "diff")), ADDED)


def test_a_diff_is_known_without_its_language():
    sure(change(block(DIFF, "")), ADDED)
    sure(change(DIFF), ADDED)


def test_a_diff_with_lines_of_context_that_are_not_there_is_in_doubt():
    found = change(block(DIFF.replace("    def total(self):", "    def sum(self):"), "diff"))
    assert found.after == ADDED
    doubtful(found, "lines around its changes are not those of the file")


def test_a_diff_that_leaves_lines_out_is_in_doubt():
    first, second = (
        "@@\n import json\n+import math\n",
        "     def total(self):\n-        result = 0\n+        result = 1\n",
    )
    diff = f"--- a/shop/cart.py\n+++ b/shop/cart.py\n{first}{second}"
    found = change(block(diff, "diff"))
    assert found.after == CART.replace("import json\n", "import json\nimport math\n").replace(
        "result = 0", "result = 1"
    )
    doubtful(found, "lines around its changes")


def test_a_hunk_that_is_not_there_is_left_out_and_said():
    found = change(block(DIFF + "@@\n-    nothing = of_the_kind\n+    nothing = else_either\n", "diff"))
    assert found.after == ADDED
    doubtful(found, "hunk 2 of 2: its lines are not in the file")


def test_a_line_number_decides_between_places():
    text = "a = 1\nprint('hello')\nb = 2\nprint('hello')\n"
    diff = "--- a/a.py\n+++ b/a.py\n@@ -4 +4 @@\n-print('hello')\n+print('bye')\n"
    assert change(block(diff, "diff"), {"a.py": text}).after == "a = 1\nprint('hello')\nb = 2\nprint('bye')\n"
    doubtful(change(block(diff.replace("-4 +4", "-9 +9"), "diff"), {"a.py": text}), "2 places")


def test_a_diff_makes_and_deletes_files():
    new = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n"
    assert change(block(new, "diff")).after == "x = 1\ny = 2\n"
    gone = "--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
    found = change(block(gone, "diff"), {"a.py": "x = 1\n"})
    assert (found.path, found.after, found.certain) == ("a.py", None, True)
    doubtful(change(block(gone, "diff"), {"a.py": "x = 1\ny = 2\n"}), "does not show all of the file")


def test_a_diff_for_two_files_changes_both():
    other = "--- a/src/queue.js\n+++ b/src/queue.js\n@@\n-function drain(queue) {\n+function empty(queue) {\n"
    found = propose(block(DIFF + other, "diff"), FILES)
    assert [(each.path, each.certain) for each in found] == [("shop/cart.py", True), ("src/queue.js", True)]


# the file's own ways


@pytest.mark.parametrize("answer", [block(ADDED), block(indented(TOTAL)), SEARCH, block(DIFF, "diff")])
@pytest.mark.parametrize("made", [lambda text: text, lambda text: text.replace("\n", "\r\n")])
@pytest.mark.parametrize("marked", ["", "\ufeff"])
@pytest.mark.parametrize("ended", [True, False])
def test_line_endings_marks_and_the_end_of_the_file_stay_as_they_are(answer, made, marked, ended):
    def file(text):
        return marked + made(text if ended else text.removesuffix("\n"))

    expected = SUMMED if "total" in answer and "sum(" in answer else ADDED
    assert change(answer, {"shop/cart.py": file(CART)}).after == file(expected)


def test_lines_that_only_lose_blanks_at_their_ends_are_not_changed():
    text = CART.replace("result = 0\n", "result = 0  \n")
    assert change(block(ADDED), {"shop/cart.py": text}).after == ADDED.replace("result = 0\n", "result = 0  \n")


def test_blanks_at_the_ends_of_lines_go_where_nothing_else_changes():
    assert change(block(CART), {"shop/cart.py": CART.replace("result = 0\n", "result = 0  \n")}).after == CART


def test_mixed_line_endings_stay_where_lines_stay():
    text = CART.replace("import json\n", "import json\r\n")
    assert change(SEARCH, {"shop/cart.py": text}).after == ADDED.replace("import json\n", "import json\r\n")


def test_an_answer_that_is_cut_off_is_in_doubt():
    doubtful(change("```python shop/cart.py\n" + ADDED.rpartition("    with")[0]), "ends within the code")
