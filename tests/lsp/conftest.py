"""What tests of the language server may ask for."""

from collections.abc import Iterator

import pytest

from support.cli import TinyModels
from support.real_daemon import RealDaemon, real_daemon


@pytest.fixture(scope="module")
def daemon(tiny: TinyModels) -> Iterator[RealDaemon]:
    """One for all tests of a file; the tiny model is not sure of anything, so nothing is held back for that."""
    with real_daemon(tiny.target, engine="context = 8192", tables="[editor]\nthreshold = -1000") as running:
        yield running
