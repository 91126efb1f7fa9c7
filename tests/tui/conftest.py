"""Pictures are compared where they were drawn by the same Textual: another one may round a corner differently."""

import pytest
import textual

DRAWN_BY = "8.2.8"  # pytest tests/tui --snapshot-update draws them anew


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip comparing with another version's pictures."""
    if textual.__version__ == DRAWN_BY:
        return
    for item in items:
        if "snap_compare" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=f"the pictures are those of Textual {DRAWN_BY}"))
