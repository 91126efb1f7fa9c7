"""Models that a test fetches step by step."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from paceline.chat.models_port import PairChoice, Told, Transfer
from paceline.errors import PacelineError

SMALL = PairChoice("small", "small-target", bytes=500_000_000, here="ready", licence="MIT", speed=61.2)
MIDDLE = PairChoice(
    "middle",
    "middle-target",
    "middle-draft",
    bytes=1_600_000_000,
    missing=1_100_000_000,
    here="part",
    recommended=True,
    licence="Apache-2.0",
    note="For machines like this.",
)
LARGE = PairChoice(
    "large",
    "large-target",
    bytes=20_000_000_000,
    missing=20_000_000_000,
    purpose="only for trying",
    misfit="it takes about 21 GB of memory",
    note="[b]x[/b]\x1b[2J",
)


class FakeModels:
    """Implements `paceline.chat.models_port.Models`. A download waits for `give` and `fail`."""

    def __init__(self, pairs: Sequence[PairChoice] = (SMALL, MIDDLE, LARGE)) -> None:
        self._pairs = list(pairs)
        self.trouble: list[PacelineError] = []  # of the next questions what there is
        self.fetched: list[str] = []
        self.chosen: list[str] = []
        self.stopped = 0
        self.steps: asyncio.Queue[Transfer | Told | PacelineError | None] = asyncio.Queue()

    async def pairs(self) -> Sequence[PairChoice]:
        if self.trouble:
            raise self.trouble.pop(0)
        return self._pairs

    async def fetch(self, pair: str) -> AsyncGenerator[Transfer | Told, None]:
        self.fetched.append(pair)
        try:
            while (step := await self.steps.get()) is not None:
                if isinstance(step, PacelineError):
                    raise step
                yield step
        except (asyncio.CancelledError, GeneratorExit):
            self.stopped += 1
            raise

    async def choose(self, pair: str) -> None:
        self.chosen.append(pair)
