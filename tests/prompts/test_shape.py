"""How much is wanted at a place."""

import pytest

from paceline.prompts.shape import shape


def at(marked, language="python"):
    before, after = marked.split("|")
    return shape(before, after, language)


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("def f():\n    |\n", "python"),
        ("def f():|\n", "python"),
        ("x = |\n", "python"),
        ("x = foo(|", "python"),
        ("function f() {\n  |\n}\n", "javascript"),
        ("it('does', () => {|\n", "javascript"),
        ("|", ""),
        ('x = "done"; |\n', "python"),
        ("x = 'it\\'s'  |\n", "python"),
        ("/* done */\n|\n", "c"),
        ("# it's done\n|\n", "python"),
    ],
)
def test_where_the_line_ends_a_block_is_wanted(marked, language):
    assert at(marked, language) == "block"


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("print(|)\n", "python"),
        ("for i in |:\n", "python"),
        ("x = | + y\n", "python"),
        ("    |return x\n", "python"),
        ("f(|);\n", "c"),
    ],
)
def test_in_the_middle_of_a_line_a_line_is_wanted(marked, language):
    assert at(marked, language) == "line"


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("x = 1  # set |\n", "python"),
        ('x = "set |\n', "python"),
        ('def f():\n    """Say\n    |\n', "python"),
        ("/*\n * Say\n |\n", "c"),
        ("x(); // set |\n", "typescript"),
        ("select 1 -- set |\n", "sql"),
        ("# Title\n\n|\n", "markdown"),
    ],
)
def test_in_comments_texts_and_prose_a_line_is_wanted(marked, language):
    assert at(marked, language) == "line"
