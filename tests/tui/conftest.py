"""Pictures are compared where they were drawn by the same Textual: another one may round a corner differently."""

from collections.abc import Callable
from pathlib import Path

import pytest
import textual

from paceline.tui.app import PacelineApp
from paceline.tui.screens.dialog import Dialog
from support.app_services import ScriptedClient, services

DRAWN_BY = "8.2.8"  # pytest tests/tui --snapshot-update draws them anew


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip comparing with another version's pictures."""
    if textual.__version__ == DRAWN_BY:
        return
    for item in items:
        if "snap_compare" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=f"the pictures are those of Textual {DRAWN_BY}"))


@pytest.fixture(autouse=True)
def keys_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests press keys as soon as a dialog is there; what a person types by then is tested in test_screen_guard.py."""
    monkeypatch.setattr(Dialog, "GUARD", 0.0)


@pytest.fixture
def client() -> ScriptedClient:
    """Who answers, as its script says."""
    return ScriptedClient()


@pytest.fixture
def app(tmp_path: Path, client: ScriptedClient) -> Callable[..., PacelineApp]:
    """Makes apps over one folder and that client."""

    def make(session: str = "", **more: object) -> PacelineApp:
        return PacelineApp(services(tmp_path, client, **more), session)

    return make
