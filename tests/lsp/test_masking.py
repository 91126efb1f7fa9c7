"""Names stand for secrets while a model rewrites a text, and the secrets come back."""

import random

from hypothesis import given
from hypothesis import strategies as st

from paceline.lsp.masking import mask

KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


def test_a_secret_is_hidden_and_comes_back():
    found = mask(f"key = '{KEY}'", f"key = '{'*' * len(KEY)}'")
    assert found.hide(f"key = '{KEY}'") == "key = 'REDACTED1_'"
    assert found.restore("KEY = 'REDACTED1_'") == f"KEY = '{KEY}'"


def test_a_text_without_secrets_stays_as_it_is():
    assert mask("a = 1", "a = 1").hide("a = 1") == "a = 1"


def test_a_secret_that_stands_twice_has_one_name():
    found = mask("abcd abcd", "**** ****")
    assert found.hide("abcd abcd") == "REDACTED1_ REDACTED1_"


def test_a_secret_that_another_one_begins_with_is_another_one():
    found = mask("abcd abcdef", "**** ******")
    assert found.hide("abcd abcdef") == "REDACTED1_ REDACTED2_"


def test_a_name_that_the_text_has_already_is_not_taken():
    found = mask("REDACTED1_ = 'abcd'", "REDACTED1_ = '****'")
    assert found.restore(found.hide("REDACTED1_ = 'abcd'")) == "REDACTED1_ = 'abcd'"


def test_what_is_missing_is_noticed():
    found = mask("abcd efgh", "**** ****")
    shown = found.hide("abcd efgh")
    assert not found.lacks(shown, "REDACTED2_ REDACTED1_ REDACTED1_")
    assert found.lacks(shown, "REDACTED2_")
    assert not found.lacks("REDACTED2_", "REDACTED2_")


@given(st.text("abR1_ \n", max_size=60), st.integers())
def test_whatever_is_secret_the_text_comes_back(text: str, seed: int):
    chance = random.Random(seed)
    redacted = "".join("*" if not char.isspace() and chance.random() < 0.5 else char for char in text)
    found = mask(text, redacted)
    hidden = found.hide(text)
    assert found.restore(hidden) == text
    assert not found.lacks(hidden, hidden)
