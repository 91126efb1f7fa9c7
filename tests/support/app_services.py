"""What the terminal app stands on, without an engine: answers are scripted, everything else is real."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paceline.chat.edits.journal import Journal
from paceline.chat.history import History
from paceline.chat.models_port import PairChoice, Told, Transfer
from paceline.chat.services import Services
from paceline.chat.store import Store
from paceline.client.calls import Flow
from paceline.config import Config
from paceline.errors import EngineError
from support.counting_server import CountingServer
from support.scripted_chat import ScriptedChat


@dataclass
class ScriptedClient(ScriptedChat):
    """`counter`: whose tokens and context messages are measured by; None: nobody counts, so nothing is too long."""

    counter: CountingServer | None = None
    closed: bool = False

    async def follow(self, flow: Flow) -> object:
        if self.counter is None:
            flow.close()
            raise EngineError("nobody counts", "ask somebody else")
        return self.counter.run(flow)

    async def aclose(self) -> None:
        self.closed = True


@dataclass
class ScriptedModels:
    """One pair, which is fetched at once."""

    chosen: list[str] = field(default_factory=list)

    async def pairs(self) -> Sequence[PairChoice]:
        return (PairChoice("tiny", "tiny-target", "tiny-draft", bytes=1000, here="ready", recommended=True),)

    async def fetch(self, pair: str) -> AsyncGenerator[Transfer | Told, None]:
        yield Transfer("target", 1000, 1000)

    async def choose(self, pair: str) -> None:
        self.chosen.append(pair)


@dataclass
class ScriptedProgram:
    title: str
    said: tuple[str, ...] = ("one", "two")

    async def lines(self) -> AsyncGenerator[str, None]:
        for each in self.said:
            await asyncio.sleep(0)
            yield each

    def stop(self) -> None:
        pass


def services(
    tmp_path: Path,
    client: ScriptedClient,
    *,
    config: Config | None = None,
    environ: Mapping[str, str] | None = None,
    is_set_up: bool = True,
) -> Services:
    root = tmp_path / "workspace"
    root.mkdir(exist_ok=True)
    return Services(
        config=config or Config(),
        root=root,
        store=Store(tmp_path / "chat.db"),
        history=History(tmp_path / "inputs"),
        journal=lambda: Journal(tmp_path / "edits"),
        models=ScriptedModels(),
        connect=lambda config, say: client,
        reload=lambda: config or Config(),
        is_set_up=lambda _: is_set_up,
        programs={
            "bench": lambda argument: ScriptedProgram("bench"),
            "stats": lambda argument: ScriptedProgram("stats"),
        },
        environ={"TERM": "xterm-256color", "COLORTERM": "truecolor", **(environ or {})},
        cache=tmp_path / "cache",
        workloads=lambda: ("edit", "prose"),
    )
