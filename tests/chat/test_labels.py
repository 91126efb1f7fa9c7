"""Attachments and models are called what people call them."""

from pathlib import Path

import pytest

from paceline.chat import labels
from paceline.chat.turns import Attached
from paceline.models import catalogue


@pytest.mark.parametrize(
    ("attached", "told"),
    [
        (Attached("file", "a.py", "x\ny\n"), "a.py (2 lines)"),
        (Attached("file", "a.py", "x"), "a.py (1 line)"),
        (Attached("paste", "pasted text, 1,144 lines", "x\n" * 1144), "pasted text, 1,144 lines"),
        (Attached("file", "a\x1b[2J\nb.py", "x\n", cut="lines 1-1 of 9"), "a b.py (1 line), lines 1-1 of 9"),
    ],
)
def test_an_attachment_says_once_how_long_it_is(attached, told):
    assert labels.attachment(attached) == told


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("qwen2.5-coder-1.5b-instruct-q4_k_m", "Qwen2.5-Coder 1.5B"),
        ("Qwen2.5 Coder 1.5B Instruct", "Qwen2.5-Coder 1.5B"),
        ("Qwen3-Coder-30B-A3B-Instruct-UD-Q4_K_XL", "Qwen3-Coder 30B-A3B"),
        ("smollm2-135m-instruct-q4_1", "SmolLM2 135M"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Llama 3.1 8B"),
        ("llama-3.2-1b-instruct-q8_0", "Llama 3.2 1B"),
        ("deepseek-coder-6.7b-instruct.Q4_K_M", "DeepSeek-Coder 6.7B"),
        ("DeepSeek-Coder-V2-Lite-Instruct-Q4_K_M", "DeepSeek-Coder-V2-Lite"),
        ("starcoder2-3b-q4_k_m", "StarCoder2 3B"),
        ("codellama-7b-instruct.Q5_K_M", "CodeLlama 7B"),
        ("mistral-7b-instruct-v0.3-q4_k_m", "Mistral 7B"),
        ("Mistral-Small-24B-Instruct-2501", "Mistral Small 24B"),
        ("codestral-22b-v0.1.Q4_K_M", "Codestral 22B"),
        ("gemma-2-9b-it-Q4_K_M", "Gemma 2 9B"),
        ("codegemma-2b", "CodeGemma 2B"),
        ("Phi-3.5-mini-instruct-Q4_K_M", "Phi-3.5-mini"),
        ("phi-4", "Phi-4"),
        ("granite-3.1-8b-instruct", "Granite 3.1 8B"),
        ("granite-8b-code-instruct", "Granite 8B Code"),
        ("seed-coder-8b-base", "Seed-Coder 8B"),
        ("glm-4-9b-chat", "GLM-4 9B"),
        ("gpt-oss-20b-mxfp4", "gpt-oss 20B"),
        ("acme/Foo-Coder-3B-GGUF", "Foo-Coder 3B"),
        ("my-coder-7b-q4_0", "My-Coder 7B"),
        *((name, name) for name in ("my model", "tiny-target", "models", "llama.cpp", "7b", "")),
        ("a\x1b[2J-7b", "a-7b"),
        ("x" * 200 + "-7b", "x" * 200 + "-7b"),
    ],
)
def test_a_model_is_called_by_its_family_and_size(name, called):
    assert labels.model(name) == called


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (("Qwen2.5-Coder-1.5B", "Qwen2.5 Coder 1.5B Instruct", "q.gguf"), "Qwen2.5-Coder 1.5B"),
        (("models", "smollm2-135m-instruct-q4_1"), "SmolLM2 135M"),
        (("models", "mine"), "mine"),
    ],
)
def test_the_first_name_that_tells_something_counts(names, called):
    assert labels.model(*names) == called


def test_every_model_of_the_catalogue_is_called_by_a_name_of_its_family():
    for id in catalogue.load(Path("none")).models:
        family, size = labels.model(id).split(" ")
        assert family in ("Qwen2.5-Coder", "SmolLM2") and size in id.upper(), id
