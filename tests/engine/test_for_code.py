"""Whether a model's name says that it was made for code."""

import pytest

from paceline.engine.vocabulary import is_for_code


@pytest.mark.parametrize(
    "name",
    ["Codestral-22B-v0.1", "mamba-codestral", "CodeNinja", "mistral-7b-code-16k", "MistralCode", "code", "x-FIM-7b"],
)
def test_a_name_with_the_word_is_one_for_code(name):
    assert is_for_code(["Mistral", name])


@pytest.mark.parametrize(
    "name",
    ["Mistral-7B-v0.3", "barcode-7b", "unicode", "transcoder", "codec-7b", "x-codecs", "vscode", "nocode", ""],
)
def test_a_name_with_the_word_within_another_is_not(name):
    assert not is_for_code(["Mistral", name])
