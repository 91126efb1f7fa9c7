"""Attachments and models are called what people call them."""

import pytest

from paceline.chat import labels
from paceline.chat.turns import Attached


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
        ("smollm2-135m-instruct-q4_1", "Smollm2 135M"),
        ("my model", "my model"),
        ("tiny-target", "tiny-target"),
    ],
)
def test_a_model_is_called_by_its_family_and_size(name, called):
    assert labels.model(name) == called
