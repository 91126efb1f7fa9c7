"""What tests against a real daemon may ask for."""

from collections.abc import Iterator

import pytest

from support.cli import TinyModels
from support.real_daemon import RealDaemon, real_daemon


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "soak: two minutes of clients that come and go (pytest -m soak)")


@pytest.fixture(scope="module")
def daemon(tiny: TinyModels) -> Iterator[RealDaemon]:
    """One for all tests of a file, with the tiny pair and room for long answers."""
    with real_daemon(tiny.target, tiny.draft, engine="context = 16384") as running:
        yield running
