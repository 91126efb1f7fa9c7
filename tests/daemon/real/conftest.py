"""What tests against a real daemon may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import TinyModels
from support.real_daemon import RealDaemon, real_daemon
from support.slow_model import write_slow_model


@pytest.fixture(scope="module")
def daemon(tiny: TinyModels) -> Iterator[RealDaemon]:
    """One for all tests of a file, with the tiny pair and room for long answers."""
    with real_daemon(tiny.target, tiny.draft, engine="context = 16384") as running:
        yield running


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose steps take long."""
    return write_slow_model(tmp_path_factory.mktemp("slow") / "slow.gguf")
