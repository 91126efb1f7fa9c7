"""What all tests may ask for."""

from pathlib import Path

import pytest
from hypothesis import settings

from support.cli import CommandLine, TinyModels

# a change is judged by the same examples each time; `--hypothesis-profile explore` looks for new ones
settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile("fixed")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """Tiny model files, shared."""
    return TinyModels(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, tiny: TinyModels) -> Path:
    """A folder of measurements, shared. The tiny pair's are in it."""
    state = tmp_path_factory.mktemp("state")
    first = CommandLine(tmp_path_factory.mktemp("first"), tiny, state).run("ask", "Hi", "--max-tokens", 1)
    assert first.code == 0, first.err
    return state


@pytest.fixture(autouse=True)
def idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else runs while the tests do, measurements are not doubted for it."""
    monkeypatch.setattr("paceline.daemon.assembly.busy", lambda: False)


@pytest.fixture
def paceline(tmp_path: Path, tiny: TinyModels, measured: Path) -> CommandLine:
    """The command line in a folder of its own."""
    return CommandLine(tmp_path, tiny, measured)
