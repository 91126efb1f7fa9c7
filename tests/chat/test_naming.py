"""The file that a sentence above code says it is for."""

import pytest

from paceline.chat.naming import name_above, names_in


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Add the following code to the test_cart.py file:", "test_cart.py"),
        ("To test `shop/cart.py`, add the following code to the test_cart.py file:", "test_cart.py"),
        ("To test shop/cart.py, you can put this into `tests/test_cart.py`:", "tests/test_cart.py"),
        ("Next, create a file test_cart.py that tests shop/cart.py:", "test_cart.py"),
        ("Create a new test file called `test_cart.py` for `shop/cart.py`:", "test_cart.py"),
        ("Save it as `run.py`, next to `app.py`:", "run.py"),
        ("In `shop/cart.py`, import from `tax.py`:", "shop/cart.py"),
        ("Update `shop/cart.py` so that it uses `tax.py`:", "shop/cart.py"),
        ("Move it from `shop/cart.py` to `shop/basket.py`:", "shop/basket.py"),
        ("This is about shop/cart.py. Add this to tests/test_cart.py:", "tests/test_cart.py"),
        ("I have changed `shop/cart.py`. Here is all of it:", "shop/cart.py"),
        ("Add this to `app.py` to read `config.json`:", "app.py"),
        ("With Node.js, change `app.py`:", "app.py"),
    ],
)
def test_it_is_the_one_into_which_the_code_is_to_go(sentence, name):
    assert name_above([sentence], "python") == name


@pytest.mark.parametrize(
    "sentence",
    [
        "The classes of shop/cart.py and shop/basket.py:",
        "Add this to `shop/cart.py` and that to `shop/basket.py`:",
        "Change `style.css`:",
        "",
    ],
)
def test_where_it_does_not_say_there_is_none(sentence):
    assert name_above([sentence], "python") == ""


def test_all_files_that_a_sentence_speaks_of_are_named_once():
    assert names_in("See `a.py`, b/c.py and `a.py` (not `a b`, e.g. x).") == ("a.py", "b/c.py")


def test_of_a_long_line_little_is_looked_at():
    assert names_in("add to " * 100_000) == ()
    assert name_above(["add " * 73 + "b.py"], "python") == "b.py"
    assert name_above(["add " * 80 + "b.py"], "python") == ""
