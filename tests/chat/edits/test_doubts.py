"""What an answer does not say beyond doubt is never applied without saying so: answers that were once taken wrong."""

import pytest

from paceline.chat.edits.propose import propose


def replacing(search, replace, name="a.py"):
    return f"{name}\n```\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```\n"


def only(text, answer, name="a.py", **others):
    (found,) = [each for each in propose(answer, {name: text, **others}) if each.path == name]
    return found


def doubtful(change, note):
    assert not change.certain
    assert any(note in each for each in change.notes), change.notes


@pytest.mark.parametrize(
    ("text", "search", "replace"),
    [
        ("def f():\n    return total_price_with_tax\n", "    return total_price", "    return 0"),
        ("enabled_features = load_all()\n", "features = load_all()", "features = []"),
    ],
)
def test_no_word_is_divided(text, search, replace):
    found = only(text, replacing(search, replace))
    assert found.after == text
    doubtful(found, "not in the file")


def test_a_part_of_a_line_may_be_less_than_was_meant():
    found = only("x = total(items) / len(items)\n", replacing("x = total(items)", "x = sum(items)"))
    assert found.after == "x = sum(items) / len(items)\n"
    doubtful(found, "a part of a line")


def test_a_comment_behind_what_is_replaced_is_no_part_of_what_was_meant():
    found = only("count = total(items)  # slow\n", replacing("count = total(items)", "count = sum(items)"))
    assert (found.after, found.certain) == ("count = sum(items)  # slow\n", True)


GUIDE = "Usage\n=====\ntext\n\nOther\n=====\nmore\n"


def test_what_stands_below_a_title_divides_no_block():
    found = only(GUIDE, replacing("Usage\n=====\ntext", "Usage\n=====\nnew text", "a.rst"), "a.rst")
    assert (found.after, found.certain) == (GUIDE.replace("\ntext", "\nnew text"), True)


def test_a_title_at_the_end_of_what_is_new_keeps_its_line():
    found = only("# Usage\ntext\n", replacing("# Usage", "Usage\n=====", "a.md"), "a.md")
    assert (found.after, found.certain) == ("Usage\n=====\ntext\n", True)


def test_a_second_divider_right_before_the_end_is_a_slip():
    found = only("alpha = 1\n", replacing("alpha = 1", "alpha = 2\n======="))
    assert (found.after, found.certain) == ("alpha = 2\n", True)


def test_where_several_lines_may_be_the_divider_it_is_said():
    found = only(
        "Heading\n=======\nold\n", replacing("Heading\n=======\nold", "Heading\n=======\nnew", "a.rst"), "a.rst"
    )
    doubtful(found, "not clear where what it looks for ends")


@pytest.mark.parametrize("other", ["nowhere_at_all = 5", "in_both_files = 1"])
def test_a_replacement_that_is_left_out_for_want_of_a_file_is_said(other):
    texts = ("alpha = 1\nin_both_files = 1\n", "in_both_files = 1\n")
    answer = replacing("alpha = 1", "alpha = 2", "") + replacing(other, "b = 2", "")
    found = only(texts[0], answer, **{"b.py": texts[1]})
    assert found.after == texts[0].replace("alpha = 1", "alpha = 2")
    doubtful(found, "not clear for which file")


METHOD = "class A:\n    def load(self):\n        return self.x\n\n    def other(self):\n        return 1\n"


def test_a_function_does_not_take_the_place_of_a_method_of_its_name():
    function = "def load(path):\n    return open(path).read()\n"
    found = only(METHOD, f"`a.py`:\n```python\n{function}```\n")
    assert found.after == f"{METHOD}\n\n{function}"
    doubtful(found, "at the end of the file")


@pytest.mark.parametrize("head", ["def load(self):", "def load(\n    self,\n):", "async def load(self, x):"])
def test_a_method_by_itself_does(head):
    found = only(METHOD, f"`a.py`:\n```python\n{head}\n    return self.y\n```\n")
    assert (found.after.count("def load"), "self.x" in found.after, found.certain) == (1, False, True)


def test_in_languages_with_braces_a_function_says_that_it_is_none():
    text = "class A {\n  load() {\n    return 1;\n  }\n}\n"
    found = only(text, "`a.js`:\n```js\nfunction load(path) {\n  return path;\n}\n```\n", "a.js")
    assert text.rstrip("}\n") in found.after
    assert not found.certain


def test_what_stands_within_a_function_may_not_be_what_is_shown_by_itself():
    text = "def outer():\n    def helper(x):\n        return x\n    return helper\n\n\ndef main():\n    return 1\n"
    new = "def helper(x):\n    return x + 1\n\n\ndef main():\n    return helper(1)\n"
    doubtful(only(text, f"`a.py`:\n```python\n{new}```\n"), "helper stands within outer")


CODE = "def load(p):\n    x = 1\n    return p + x\n\n\ndef other():\n    return 1\n"


@pytest.mark.parametrize(
    "body",
    [
        "    pass",
        "    # Your code here\n    pass",
        '    """Load it."""\n    pass  # as it was',
        '    """Load it.\n\n    All of it.\n    """\n    # implementation',
        "    raise NotImplementedError",
        "    return None",
    ],
)
@pytest.mark.parametrize("rest", ["\n\n\ndef other():\n    return 2\n", "\n"])
def test_a_function_that_is_shown_without_its_code_is_in_doubt(body, rest):
    doubtful(only(CODE, f"`a.py`:\n```python\ndef load(p):\n{body}{rest}```\n"), "load without its code")


@pytest.mark.parametrize(
    "body", ["{\n  // implementation here\n}", "{ }", '{\n  throw new Error("not implemented");\n}']
)
def test_so_is_one_between_braces(body):
    text = "function load(p) {\n  const x = 1;\n  return p + x;\n}\n\nfunction other() {\n  return 1;\n}\n"
    answer = f"`a.js`:\n```js\nfunction load(p) {body}\n\nfunction other() {{\n  return 2;\n}}\n```\n"
    doubtful(only(text, answer, "a.js"), "load without its code")


@pytest.mark.parametrize(
    "new",
    [
        "def load(p): return p\n",
        "def load(\n    p,\n    q=1,\n):\n    return p + q\n",
        "def load(p):\n    # simpler\n    return p\n",
    ],
)
def test_little_code_is_code(new):
    assert only(CODE, f"`a.py`:\n```python\n{new}```\n").certain


def test_what_never_had_code_needs_none():
    text = "class E(Exception):\n    pass\n\n\ndef f():\n    pass\n\n\ndef g():\n    return 1\n"
    found = only(text, f"`a.py`:\n```python\n{text.replace('return 1', 'return 2')}```\n")
    assert (found.after, found.certain) == (text.replace("return 1", "return 2"), True)


def test_a_name_that_several_files_have_is_not_that_of_a_new_one_beyond_doubt():
    files = {"app/utils.py": "x = 1\n", "lib/utils.py": "y = 1\n"}
    (found,) = propose("`utils.py`:\n```python\nx = 2\n```\n", files)
    doubtful(found, "app/utils.py and lib/utils.py")


def test_characters_that_are_spelled_as_in_a_web_page_are_in_doubt():
    text = "def f(a, b):\n    return a < b\n"
    answer = "`{}`:\n```python\ndef f(a, b):\n    return a &lt; b + 1\n```\n"
    doubtful(only(text, answer.format("a.py")), "&lt;")
    escaping = f'{text}\n\nDONE = "&lt;"\n'
    assert only(escaping, f"`a.py`:\n```python\n{escaping.replace('a < b', 'a < b < 2')}```\n").certain


def test_a_value_that_is_left_out_of_a_file_is_said():
    text = "export const a = 1;\nexport const b = 2;\nexport function f() {\n  return a;\n}\n"
    new = "export const b = 3;\nexport function f() {\n  return b;\n}\n"
    doubtful(only(text, f"`a.ts`:\n```ts\n{new}```\n", "a.ts"), "leaves a out")
    renamed = text.replace("const a", "const c").replace("return a", "return c")
    assert only(text, f"`a.ts`:\n```ts\n{renamed}```\n", "a.ts").certain
