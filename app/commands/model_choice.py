"""The model picker's side towards store, catalogue and network: each question is a process of its own.

So the app loads neither llama.cpp nor the network, and a download that is no longer wanted ends at once.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from paceline.chat.models_port import PairChoice, Told, Transfer
from paceline.chat.programs import OwnCommand
from paceline.commands.pairs import read
from paceline.errors import PacelineError

MODULE = "paceline.commands.pairs"


class ModelChoice:
    """Implements `paceline.chat.models_port.Models`."""

    async def pairs(self) -> Sequence[PairChoice]:
        """See Models.pairs."""
        async with aclosing(_ask("list")) as answers:
            return [PairChoice(**facts["pair"]) async for facts in answers if "pair" in facts]

    async def fetch(self, pair: str) -> AsyncGenerator[Transfer | Told, None]:
        """See Models.fetch."""
        async with aclosing(_ask("fetch", pair)) as answers:
            async for facts in answers:
                if "note" in facts:
                    yield Told(facts["note"])
                elif "total" in facts:
                    yield Transfer(facts["label"], facts["done"], facts["total"])

    async def choose(self, pair: str) -> None:
        """See Models.choose."""
        async with aclosing(_ask("choose", pair)) as answers:
            async for _ in answers:
                pass


async def _ask(*words: str) -> AsyncGenerator[dict[str, Any], None]:
    """What the process answers. Raises PacelineError: what it says, or that it failed without a word."""
    async with aclosing(OwnCommand(*words, module=MODULE).lines()) as lines:
        async for line in lines:
            facts = read(line)
            if facts is None:
                continue
            if "error" in facts:
                raise PacelineError(facts["error"], facts["hint"])
            yield facts
