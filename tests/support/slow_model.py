"""A tiny model whose steps take long: what happens within one step can be told from what happens after it."""

from pathlib import Path
from typing import Any

from support.tiny_model import write_tiny_model

LAYERS = 2  # llama.cpp spares the last one all tokens but those whose logits are wanted
FEED = 120_000


def write_slow_model(path: Path, **more: Any) -> Path:
    """Write the model (185 MB; a step of one token takes several milliseconds) and return its path.

    `more`: as write_tiny_model has it.
    """
    return write_tiny_model(path, layers=LAYERS, feed=FEED, **more)
