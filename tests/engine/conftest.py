"""Tiny models on the disk, written once."""

import pytest

from support.tiny_model import write_tiny_model


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "target.gguf")


@pytest.fixture(scope="session")
def tiny_draft(tmp_path_factory):
    """The same model with a little noise: agrees on most tokens."""
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "draft.gguf", noise=0.05)
