"""Fences of Markdown end completions of code while they are computed."""

from collections.abc import Iterator

import pytest

from paceline.config import Config, EngineConfig
from paceline.daemon import assembly
from paceline.daemon.service import Service, Wish
from paceline.prompts.repository import Repository
from paceline.prompts.stops import StopAt

BEFORE = "def f(x):\n    return x\n\n\n"


@pytest.fixture
def service(tiny, tmp_path, monkeypatch) -> Iterator[Service]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = Config(engine=EngineConfig(threads=1, context=1024))
    made = Service(assembly.load(assembly.inspect(tiny.target, None, config), lambda _: None), config, "tiny")
    yield made
    made.close()


@pytest.mark.parametrize("stop_at", ["", "block"])
@pytest.mark.parametrize(("path", "ends"), [("src/a.py", True), ("notes.md", False), ("", False)])
def test_nothing_is_computed_behind_a_fence_in_code(service: Service, path: str, ends: bool, stop_at: StopAt):
    infill = service.prepare_infill(BEFORE, "", Wish(stop_at, place=Repository("", path)))
    assert infill.until is not None
    assert not infill.until("f(1)\n``")
    assert infill.until("`") == ends
    assert infill.finish("f(1)\n```\nSaid") == ("f(1)" if ends else "f(1)\n```\nSaid")
