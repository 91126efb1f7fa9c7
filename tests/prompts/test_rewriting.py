"""Changing a part of a file: which lines are meant, what the model is asked, and what its answer becomes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.prompts.rewriting import AFTER, BEFORE, Part, ask, ask_again, common_indent, part_of
from paceline.prompts.rewritten import is_complete, replacement, strays

METHOD = "class A:\n    def f(self, x):\n        return x\n\n    def g(self):\n        pass\n"
SHOWN = "def f(self, x):\n    return x\n"
CHANGED = "def f(self, y):\n    return y\n"


def part(text: str, before: str = "", after: str = "", language: str = "python") -> Part:
    return Part(before, text, after, language)


def method(document: str = METHOD) -> Part:
    start = document.index("    def f")
    return part_of(document, start, document.index("x\n\n") + 2, "python", "a.py")[0]


# --- which lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        (0, 2, "one"),
        (1, 5, "one\ntwo"),
        (4, 8, "two\n"),
        (4, 7, "two"),
        (5, 6, "two"),
        (5, 5, "two"),
        (8, 13, "three"),
    ],
    ids=["begun", "two lines", "a line and its end", "a line", "within a line", "nothing", "the last one"],
)
def test_whole_lines_are_changed_and_an_ending_only_if_it_was_selected(start, end, text):
    document = "one\ntwo\nthree"
    found, first, last = part_of(document, start, end)
    assert found.text == document[first:last] == text
    assert found.before + found.text + found.after == document


def test_form_feeds_and_separators_of_unicode_end_no_line():
    document = "a\x0cb\u2028c\x85d\nnext"
    assert part_of(document, 2, 3)[0].text == "a\x0cb\u2028c\x85d"


def test_what_is_selected_within_a_line_is_told_to_the_model():
    document = "x = add(a, b)\n"
    found, *_ = part_of(document, 4, 13)
    assert found.focus == "add(a, b)"
    for asked in (ask(found, "call sub"), ask_again(found, "call sub")):
        assert "call sub. (`add(a, b)` is what is meant.)" in asked.user


def test_a_line_without_its_blanks_is_the_whole_line():
    assert part_of("    x = 1\n", 4, 9)[0].focus == ""


@settings(deadline=None)
@given(st.text("ab \t\n\r", max_size=30), st.data())
def test_the_part_is_made_of_whole_lines_around_the_selection(document, data):
    start = data.draw(st.integers(0, len(document)))
    end = data.draw(st.integers(start, len(document)))
    found, first, last = part_of(document, start, end)
    assert first <= start and end <= last
    assert (found.before, found.text, found.after) == (document[:first], document[first:last], document[last:])
    if document[first - 1 : first + 1] != "\r\n" or start != first:  # a selection may begin inside of an ending
        assert first == 0 or document[first - 1] in "\r\n"


# --- comments that say what is wanted ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "comment",
    [
        "# paceline: rename x to y",
        "// paceline: rename x to y",
        "-- Paceline: rename x to y",
        "/* paceline: rename x to y */",
        "<!-- paceline: rename x to y -->",
        ";; paceline: rename x to y",
        "% paceline:rename x to y  ",
        '" paceline: rename x to y',
    ],
)
def test_a_comment_in_the_selection_says_what_is_wanted_and_goes(comment):
    found, wish = part(f"a\n    {comment}\nb\n").with_wishes_taken_out()
    assert (found.text, wish) == ("a\nb\n", "rename x to y")


def test_a_comment_behind_code_leaves_the_code():
    found, wish = part("x = 1  # paceline: make it 2\n").with_wishes_taken_out()
    assert (found.text, wish) == ("x = 1\n", "make it 2")


def test_several_comments_are_one_wish():
    assert part("# paceline: one\n# paceline: two\nx\n").with_wishes_taken_out()[1] == "one; two"


def test_without_a_comment_nothing_is_wanted_and_nothing_is_taken_out():
    found = part("paceline: x\n# about paceline\n# paceline:\nprint('paceline: y')\n")
    assert found.with_wishes_taken_out() == (found, "")


def test_a_comment_right_above_belongs_to_the_selection_if_that_is_asked_for():
    document = "a\n# paceline: do it\nb\nc\n"
    start = document.index("b")
    assert part_of(document, start, start + 1, comment=True)[0].text == "# paceline: do it\nb"
    assert part_of(document, start, start + 1)[0].text == "b"


def test_code_above_with_a_comment_behind_it_stays_out():
    document = "a = 1  # paceline: do it\nb\n"
    assert part_of(document, 25, 26, comment=True)[0].text == "b"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_taking_out_a_comment_leaves_the_end_of_the_selection_as_it_was(end):
    found, _ = part(f"a = 1\n# paceline: b instead{end}").with_wishes_taken_out()
    assert replacement("```\nb = 1\n```", found) == f"b = 1{end and chr(10)}"


def test_a_comment_alone_becomes_code_with_its_indentation():
    found, wish = part("    # paceline: return the sum of a and b\n", "def add(a, b):\n").with_wishes_taken_out()
    assert wish == "return the sum of a and b"
    assert replacement("```python\nreturn a + b\n```", found) == "    return a + b\n"


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_the_model_sees_the_lines_without_their_common_indentation():
    assert method().shown == SHOWN
    assert ask(method(), "rename x to y").user.startswith(f"```python\n{SHOWN}```\n\n")


def test_the_model_sees_what_stands_around_and_how_the_file_is_called():
    asked = ask(method(), "rename x to y")
    assert "a.py" in asked.system and "class A:" in asked.system and "def g(self):" in asked.system
    assert "return x" not in asked.system and "class A" not in asked.user
    assert "\n\nrename x to y. " in asked.user


def test_nothing_around_is_nothing_shown():
    assert "```" not in ask(part(SHOWN), "x").system
    assert "```" not in ask(part(SHOWN, "one\ntwo\n", "three\nfour\n"), "x", 0, 0).system


def test_asking_again_shows_the_part_alone_and_says_first_what_is_wanted():
    asked = ask_again(method(), "rename x to y")
    assert asked.user.startswith("rename x to y. ") and asked.user.endswith(f"\n\n```python\n{SHOWN}```")
    assert "class A" not in asked.system + asked.user


def test_of_a_large_file_the_nearest_whole_lines_are_shown():
    lines = [f"line {number}" for number in range(5000)]
    document = "\n".join(lines)
    start = document.index("line 2500\n")
    found, *_ = part_of(document, start, start + 4)
    asked = ask(found, "do it").system
    assert "line 2499\n" in asked and "line 2501\n" in asked and "line 2000\n" not in asked
    assert len(asked) < BEFORE + AFTER + 1000
    shown = [line for line in asked.split("\n") if line.startswith("line ")]
    assert set(shown) <= set(lines)


def test_fences_in_a_file_do_not_end_the_block_it_is_shown_in():
    asked = ask(part("```\ncode\n```\n", language="markdown"), "do it").user
    assert "````markdown\n```\ncode\n```\n````" in asked


def test_line_endings_of_other_systems_do_not_reach_the_model():
    document = METHOD.replace("\n", "\r\n")
    start = document.index("    def f")
    found, *_ = part_of(document, start, document.index("x\r\n\r\n") + 3, "python")
    asked = ask(found, "rename")
    assert "\r" not in asked.user + asked.system and found.shown == SHOWN


def test_where_there_is_only_a_wish_the_model_is_shown_where_its_lines_belong():
    found, wish = part("    # paceline: say hello\n", "def f():\n", "\n\nf()\n").with_wishes_taken_out()
    for asked in (ask(found, wish), ask_again(found, wish)):
        assert "def f():\n[the part]\n\n\nf()" in asked.system
        assert "[the part]" in asked.user and "say hello. " in asked.user and "```" not in asked.user


def test_in_an_empty_file_there_is_only_the_wish():
    found, *_ = part_of("", 0, 0)
    assert ask(found, "write a loop") == ask_again(found, "write a loop")
    assert ask(found, "write a loop").user.startswith("write a loop. ")
    assert replacement("```\nfor x in y:\n    pass\n```", found) == "for x in y:\n    pass"


def test_lone_surrogates_do_not_reach_the_model():
    asked = ask(part("a\ud800\n", "b\ud800\n", "c\ud800\n"), "x")
    assert "\ud800" not in asked.user + asked.system


# --- what the answer becomes ------------------------------------------------------------------------------------------

WANTED = "    def f(self, y):\n        return y\n"
INDENTED = "    def f(self, y):\n        return y\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{CHANGED}```",
        f"```\n{CHANGED}```\n",
        f"~~~~py\n{CHANGED}~~~~",
        f"````python\n{CHANGED}````",
        f"```python\n{CHANGED}",
        CHANGED,
        f"\n\n{CHANGED}\n\n",
        f"```python\n{INDENTED}```",
        INDENTED,
        f"```python\n{CHANGED.replace('    return', '        return')}```",
        f"Here is the changed part:\n\n```python\n{CHANGED}```\n\nI renamed x to y.",
        f"Here is the changed part:\n\n{CHANGED}",
        f"Sure! This is it:\n{CHANGED}\nNote that x is called y now.",
        f"```python\n{CHANGED}```\n\nOr shorter:\n\n```python\nf = lambda self, y: y\n```",
        f"```python\n{CHANGED.replace(chr(10), chr(13) + chr(10))}```",
        f"```python\nclass A_thing_before:\n{INDENTED}```".replace("class A_thing_before", "class Before_it_all"),
        f"   ```python\n{CHANGED}   ```",
    ],
    ids=[
        "a block",
        "without a tag",
        "other fences",
        "long fences",
        "no end",
        "bare",
        "blank lines around",
        "indented as in the file",
        "bare and indented",
        "all but the first line indented as in the file",
        "talk around",
        "bare with an introduction",
        "bare with talk around",
        "two blocks",
        "other line endings",
        "with lines before it",
        "indented fences",
    ],
)
def test_the_changed_lines_are_found_in_the_answer_and_indented_as_in_the_file(answer):
    found = method(METHOD.replace("class A:", "class Before_it_all:"))
    assert replacement(answer, found) == WANTED


def test_an_answer_without_text_is_none():
    assert replacement(" \n\n", method()) is None


def test_an_empty_block_takes_the_lines_out():
    assert replacement("```python\n```", method()) == ""


def test_lines_behind_the_part_that_the_model_repeats_are_left_out():
    document = METHOD.replace("def g(self)", "def something_else(self)")
    answer = f"```python\n{CHANGED}\ndef something_else(self):\n    pass\n```"
    assert replacement(answer, method(document)) == WANTED


def test_a_line_that_is_the_same_by_chance_stays():
    found = part("if (a) {\n  b();\n", after="}\n", language="c")
    assert replacement("```c\nif (a) {\n  c();\n}\n```", found) == "if (a) {\n  c();\n}\n"


def test_what_the_part_itself_began_with_stays_although_it_also_stands_before():
    found = part("print('one and two')\nx = 1\n", before="print('one and two')\n")
    assert replacement("```\nprint('one and two')\nx = 2\n```", found) == "print('one and two')\nx = 2\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_endings_are_those_of_the_file(end):
    found = part(SHOWN.replace("\n", end))
    assert replacement(f"```\n{CHANGED}```", found) == CHANGED.replace("\n", end)


def test_a_line_without_an_ending_takes_those_of_the_file():
    assert replacement("```\na\nb\n```", part("x", before="y\r\n")) == "a\r\nb"


@pytest.mark.parametrize("text", ["x = 1", "x = 1\n", "x = 1\n\n\n", "\nx = 1\n"])
def test_blank_lines_around_the_part_and_its_end_stay(text):
    assert replacement("```\nx = 2\n```", part(text)) == text.replace("1", "2")


def test_tabs_stay_tabs_and_new_lines_get_them():
    found = part("\tif a {\n\t\tb()\n\t}\n", before="func f() {\n", after="}\n", language="go")
    answer = "```go\nif a {\n    b()\n    if c {\n        d()\n    }\n}\n```"
    assert replacement(answer, found) == "\tif a {\n\t\tb()\n\t\tif c {\n\t\t\td()\n\t\t}\n\t}\n"


def test_tabs_of_the_answer_become_blanks_where_the_file_has_those():
    assert replacement("```\nif a:\n\tb\n\tif c:\n\t\td\n```", part("if a:\n  b\n")) == "if a:\n  b\n  if c:\n    d\n"


def test_lines_that_are_not_indented_follow_the_rest_of_the_file():
    found = part("a = 1\n", before="if x:\n\tb\n")
    assert replacement("```\nif a:\n    c\n```", found) == "if a:\n\tc\n"


def test_a_file_with_both_kinds_of_blanks_is_left_to_the_model():
    found = part("\ta\n    b\n")
    assert replacement("```\n\ta\n    c\n```", found) == "\ta\n    c\n"


def test_the_asterisks_of_a_comment_below_tabs_are_no_unit_of_indentation():
    found = part("\t/**\n\t * a\n\t */\n\tint a() {\n\t\treturn 1;\n\t}\n", language="java")
    answer = "```java\n/**\n * b\n */\nint a() {\n    return 2;\n}\n```"
    assert replacement(answer, found) == "\t/**\n\t * b\n\t */\n\tint a() {\n\t\treturn 2;\n\t}\n"


def test_blank_lines_get_no_blanks():
    found = part("    a\n\n    b\n")
    assert replacement("```\na\n    \nc\n```", found) == "    a\n\n    c\n"


MARKDOWN = "Run it:\n\n```sh\nmake\n```\n\nThen wait.\n"


@pytest.mark.parametrize(
    "wrap",
    ["{}", "```markdown\n{}```", "````markdown\n{}````", "````markdown\n{}```", "````markdown\n{}"],
    ids=["bare", "in the same fences", "in longer fences", "with an end that is too short", "without an end"],
)
def test_a_part_with_fences_of_its_own_keeps_them(wrap):
    changed = MARKDOWN.replace("make", "make all")
    assert replacement(wrap.format(changed), part(MARKDOWN, language="markdown")) == changed


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "  b", "    c(", "\td", "", "}"]), min_size=1).map("\n".join), st.booleans())
def test_an_unchanged_answer_changes_nothing(text, ended):
    if not text.strip():
        return
    found = part(text + "\n" * ended)
    mended = "\n".join(line if line.strip() else "" for line in found.text.split("\n"))
    assert replacement(f"```\n{found.shown}\n```", found) == mended


# --- when it is complete ----------------------------------------------------------------------------------------------


def test_an_answer_is_complete_with_the_end_of_its_block():
    answer = f"```python\n{CHANGED}```\n"
    assert is_complete(answer, method())
    assert not any(is_complete(answer[:length], method()) for length in range(len(answer)))


def test_an_answer_without_a_block_goes_on():
    assert not is_complete(CHANGED, method())


def test_a_part_with_fences_of_its_own_is_read_to_the_end():
    assert not is_complete(f"```markdown\n{MARKDOWN}```\n", part(MARKDOWN, language="markdown"))


# --- when it goes astray ----------------------------------------------------------------------------------------------

HEAD = "import collections\nimport functools\nimport itertools\n\n\n"
TAIL = "\n\ndef another(first, second):\n    third = first + second\n    return third\n"
INSIDE = "def one():\n    return collections.deque()\n"


@pytest.mark.parametrize("around", [HEAD, TAIL])
def test_an_answer_that_goes_through_the_lines_around_is_noticed_as_soon_as_it_does(around):
    found = part(INSIDE, HEAD, TAIL)
    answer = f"```python\n{around.strip()}\n"
    assert strays(answer, found)
    assert not strays(answer[: answer.rindex("\n", 0, -1)], found)


@pytest.mark.parametrize(
    "answer",
    [
        "import collections\nimport functools\n\ndef one():\n    pass\n",
        f"{INSIDE}\n",
        "    third = first + second\n    }\n    }\n",
    ],
)
def test_lines_that_are_the_same_here_and_there_are_no_straying(answer):
    assert not strays(answer, part(INSIDE, HEAD, "    third = first + second\n    }\n    }\n"))


def test_what_stands_in_the_part_and_around_it_is_no_straying():
    assert not strays(f"{HEAD}\n", part(HEAD, HEAD, TAIL))


def test_an_answer_that_names_the_place_of_the_part_goes_astray():
    assert strays("a\n[the part]\n", part(INSIDE, HEAD, TAIL))


# --- indentation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "common"),
    [
        (["  a", "    b", "", " "], "  "),
        (["\ta", "\t  b"], "\t"),
        (["\ta", "    b"], ""),
        (["a"], ""),
        ([], ""),
        (["  "], ""),
    ],
)
def test_lines_have_the_blanks_in_common_that_all_of_them_begin_with(lines, common):
    assert common_indent(lines) == common
