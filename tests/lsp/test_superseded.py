"""What the person types over is not computed any further: counted in tokens, on a model that reads slowly."""

import asyncio
from collections.abc import Iterator

import pytest

from support.lsp_editor import AUTOMATIC, lsp_editor, run
from support.real_daemon import RealDaemon, real_daemon
from support.slow_model import write_slow_model

LINES, OTHERS = (
    "".join(f"{name}_{number} = {number} * {name}s[{number}]\n" for number in range(400)) for name in ("value", "thing")
)
SETTINGS = "[editor]\nthreshold = -1000\nlatency_ms = 1e9\nprefetch = false\nother_files = false"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    model = write_slow_model(tmp_path_factory.mktemp("slow") / "slow.gguf")
    with real_daemon(model, engine="context = 8192\nbatch = 32", tables=SETTINGS) as running:
        assert running.post("/completion", {"prompt": "x", "n_predict": 1}).status_code == 200  # loaded, and measured
        yield running


def computing(daemon: RealDaemon) -> int:
    """Tokens in the places where a completion is worked on; 0 where none is."""
    return max((slot["tokens"] for slot in daemon.slots if slot["state"] != "idle"), default=0)


def test_a_change_elsewhere_stops_a_completion_whose_prompt_is_being_read(daemon: RealDaemon):
    async def read(text: str, *, change: bool) -> int:
        """Tokens that were read for a completion at the text's end."""
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(f"{text}result = |\n")
            request, most = asyncio.ensure_future(page.ask(AUTOMATIC)), 0
            while not request.done():
                most = max(most, await asyncio.to_thread(computing, daemon))
                if most and change:
                    page.replace(0, 0, "#")
                    change = False
            while now := await asyncio.to_thread(computing, daemon):
                most = max(most, now)
            return most

    async def scenario() -> None:
        whole = await read(LINES, change=False)
        assert await read(OTHERS, change=True) < whole / 2

    run(scenario)
