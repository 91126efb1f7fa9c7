"""A real Paceline at an address: it is asked as the one on this machine is."""

from collections.abc import Iterator

import pytest

from paceline.client.client import Client, connect
from paceline.client.events import Options
from paceline.config import Config, EngineConfig
from support.cli import TinyModels
from support.real_daemon import real_daemon

HEAD = "import os\n\n\ndef area(r):\n" + "    r += 1\n" * 20
TYPED = "    value = 1\n    other = value\n    ret"


@pytest.fixture
def client(tiny: TinyModels, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    with real_daemon(tiny.target, engine="context = 2048") as daemon:
        monkeypatch.setenv("PACELINE_API_KEY", daemon.token)
        with connect(Config(engine=EngineConfig(url=f"{daemon.url}/v1"))) as made:
            yield made


def test_what_is_typed_over_several_lines_costs_a_few_tokens_a_key(client: Client):
    read = []
    for end in range(1, len(TYPED) + 1):
        wish = Options(anchor=end, max_tokens=2, temperature=0.0, stop_at="line")
        usage = client.complete(HEAD + TYPED[:end], "\n\nprint(area(2))\n", wish).usage
        if usage.prompt_tokens is not None:
            read.append(usage.prompt_tokens - (usage.cached_tokens or 0))
    assert len(read) > len(TYPED) // 2
    assert read[0] > 100
    assert max(read[1:]) <= 12
