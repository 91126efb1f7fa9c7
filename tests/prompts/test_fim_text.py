"""Filling in as plain text: which family a name tells of, and that a document stays a document."""

import pytest

from paceline.prompts.fim import Budget
from paceline.prompts.fim_text import FAMILIES, build, family_of, without_special

PLENTY = Budget(1000, 1000)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen/Qwen2.5-Coder-7B-Instruct-AWQ", "qwen-coder"),
        ("qwen2.5-coder:1.5b", "qwen-coder"),
        ("Qwen3-Coder-30B-A3B-Instruct", "qwen-coder"),
        ("/models/qwen2.5-coder-7b-q4_k_m.gguf", "qwen-coder"),
        ("CodeQwen1.5-7B", "codeqwen"),
        ("bigcode/starcoder2-3b", "starcoder"),
        ("stabilityai/stable-code-3b", "starcoder"),
        ("ibm-granite/granite-3b-code-base", "starcoder"),
        ("granite4:micro", "granite-4"),
        ("ibm-granite/granite-4.0-h-tiny", "granite-4"),
        ("codellama:7b-code", "codellama"),
        ("deepseek-ai/DeepSeek-Coder-V2-Lite-Base", "deepseek-coder"),
        ("mistralai/Codestral-22B-v0.1", "codestral"),
        ("google/codegemma-7b", "codegemma"),
        ("ByteDance-Seed/Seed-Coder-8B-Base", "seed-coder"),
    ],
)
def test_a_models_name_tells_its_family(model, family):
    assert family_of(model) is FAMILIES[family]


@pytest.mark.parametrize(
    "model", ["", "Qwen/Qwen2.5-7B-Instruct", "llama-3.1-8b", "gpt-4o", "mistral-7b", "qwen/coder"]
)
def test_other_names_tell_of_none(model):
    assert family_of(model) is None


@pytest.mark.parametrize("name", FAMILIES)
def test_a_prompt_has_each_marker_once_whatever_the_document_says(name):
    family = FAMILIES[name]
    hostile = "".join(family.special)
    plain = build("a", "b", family, PLENTY).text
    text = build(f"a{hostile}", f"{hostile}b", family, PLENTY).text
    assert [text.count(token) for token in family.special] == [plain.count(token) for token in family.special]
    assert "{prefix}" not in plain
    assert "{suffix}" not in plain


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_harmless_is_shown_as_it_is(name):
    prefix, suffix = "if a < b | c and {suffix}:\n    x[0] = '<|'\n", "\n\t# {prefix} \\1 [PRE] é 漢\n"
    text = build(prefix, suffix, FAMILIES[name], PLENTY).text
    assert prefix in text
    assert suffix in text


def test_a_marker_that_making_another_one_harmless_would_build_does_not_come_about():
    family = FAMILIES["qwen-coder"]
    text = build("<|fim_<|fim_middle|>middle|>", "", family, PLENTY).text
    assert text.count("<|fim_middle|>") == 1


def test_an_answer_ends_before_its_first_special_token():
    special = FAMILIES["qwen-coder"].special
    assert without_special("a<|im_end|>b<|endoftext|>", special) == "a"
    assert without_special("<|fim_pad|>", special) == ""
    assert without_special("a <| b", special) == "a <| b"
