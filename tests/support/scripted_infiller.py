"""Completes as its script says, when it is let; remembers what it was asked. In the place of the daemon's client."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from paceline.client.events import Completion, Event, Options, Text, Usage
from paceline.errors import PacelineError

Script = Callable[[str, str, Options], str]


@dataclass
class Asked:
    prefix: str
    suffix: str
    options: Options
    notice: Callable[[Event], None]
    cancelled: bool = False
    over: bool = False


@dataclass
class ScriptedInfiller:
    """`says`: the text for a prefix and a suffix. `gate`: while it is closed, no answer ends, and pieces in `partial`
    come at once."""

    says: Script = lambda prefix, suffix, options: "1"
    model: str = "scripted"
    error: PacelineError | None = None
    logprobs: tuple[float, ...] = (-0.1,)
    tokens: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()

    @property
    def completions(self) -> list[Asked]:
        """Those that somebody waited for."""
        return [each for each in self.asked if each.options.priority == "completion"]

    @property
    def warmed(self) -> list[Asked]:
        return [each for each in self.asked if each.options.warm]

    @property
    def prefetched(self) -> list[Asked]:
        return [each for each in self.asked if each.options.priority == "prefetch"]

    async def complete(self, prefix: str, suffix: str, options: Options, notice: Callable[[Event], None]) -> Completion:
        asked = Asked(prefix, suffix, options, notice)
        self.asked.append(asked)
        try:
            for piece in self.partial:
                notice(Text(piece))
            await asyncio.sleep(0)
            await self.gate.wait()
        except asyncio.CancelledError:
            asked.cancelled = True
            raise
        asked.over = True
        if self.error is not None:
            raise self.error
        text = "" if options.warm else self.says(prefix, suffix, options)
        tokens = max(1, len(prefix + suffix) // 3)
        timings = {"prompt_n": 4, "prompt_ms": 10.0}
        usage = Usage(tokens, 1, 0)
        return Completion(text, "stop", usage, timings, self.model, logprobs=self.logprobs, tokens=self.tokens)


class NoSurroundings:
    """No other files."""

    def configure(self, *_: object) -> None: ...

    def refresh(self, place: object) -> None: ...

    def repository_name(self, root: str) -> str:
        return ""

    def excluded(self, uri: str, path: str = "", root: str = "") -> bool:
        return False

    def gather(self, place: object, characters: int) -> tuple[()]:
        return ()

    def quotable(self, place: object) -> tuple[()]:
        return ()

    def visible(self, *_: object) -> None: ...

    def focused(self, *_: object) -> None: ...

    def opened(self, *_: object) -> None: ...

    def changed(self, *_: object) -> None: ...

    def saved(self, *_: object) -> None: ...

    def closed(self, *_: object) -> None: ...
