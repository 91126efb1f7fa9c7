"""What the person types over is not computed any further: counted in tokens, on a slow model."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lsp_editor import AUTOMATIC, lsp_editor, run
from support.real_daemon import RealDaemon, real_daemon
from support.slow_model import write_slow_model

TEXT = "import os\n\n\ndef total(values):\n    result = |\n    return result\n"
SETTINGS = "[editor]\nthreshold = -1000\nmax_tokens = 2000\nmax_lines = 200\nprefetch = false\nother_files = false"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    model = write_slow_model(tmp_path_factory.mktemp("slow") / "slow.gguf")
    with real_daemon(model, engine='context = 8192\nspeculation = "off"', tables=SETTINGS) as running:
        assert running.post("/completion", {"prompt": "x", "n_predict": 1}).status_code == 200  # loaded, and measured
        yield running


def computing(daemon: RealDaemon) -> int:
    """Tokens in the places where a completion is worked on; 0 where none is."""
    return max((slot["tokens"] for slot in daemon.slots if slot["state"] != "idle"), default=0)


def test_a_change_elsewhere_stops_a_completion_within_a_few_steps(daemon: RealDaemon):
    async def tokens_after_the_change() -> int:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(TEXT)
            request = asyncio.ensure_future(page.ask(AUTOMATIC))
            while not (before := await asyncio.to_thread(computing, daemon)):
                assert not request.done(), "it was over before anything could be seen of it"
                await asyncio.sleep(0.001)
            page.replace(0, 0, "#")
            after = before
            while now := await asyncio.to_thread(computing, daemon):
                after = now
            assert await request == []
            return after - before

    async def scenario() -> None:
        # reading the state takes steps, too, and a busy machine adds some: the best of three counts
        assert min([await tokens_after_the_change() for _ in range(3)]) <= 12

    run(scenario)
