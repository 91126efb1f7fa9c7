"""Which model of a pair serves keystroke completions: the target, or the draft alone where the target is too slow."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from paceline.config import CompleteConfig
from paceline.engine.costs import Costs
from paceline.engine.engine import Engine

LINE = 16  # tokens of a line, its end included: what a person waits for
TYPED = 8  # tokens of the prompt that are not in the cache when one goes on typing
GAIN = 0.6  # the draft must take at most this share of the target's time: its lines are right much less often


@dataclass(frozen=True)
class Route:
    """Who completes, and why."""

    model: Literal["target", "draft"]
    reason: str
    name: str = ""  # what the model is called


TARGET = Route("target", "nothing else was asked for", "target model")
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z\d])", re.IGNORECASE)  # billions of weights, in a model's name


def line_ms(costs: Costs) -> float:
    """Milliseconds for a line while one types: the prompt's new tokens in one pass, then token by token."""
    return costs.at(TYPED) + (LINE - 1) * costs.at(1)


def called(target: str, draft: str = "") -> tuple[str, str]:
    """What the models of a pair are called, given their full names: by their sizes where those tell them apart."""
    sizes = [found[1] + "B" if (found := _SIZE.search(name)) else "" for name in (target, draft)]
    if sizes[0] and sizes[0] != sizes[1] and (sizes[1] or not draft):
        return sizes[0], sizes[1]
    return "target model", "draft model"


def route(
    config: CompleteConfig,
    target: Costs,
    draft: Costs | None,
    *,
    infills: bool,
    names: tuple[str, str] = ("target model", "draft model"),
    doubt: str = "",
) -> Route:
    """The decision. infills: whether the draft's vocabulary can infill at all; `draft` None: there is no draft model.

    names: of both, for people. doubt: why the costs may be wrong, or "".

    The target passes about 91 % of single-line holes where the draft passes 60 % (1.5B and 0.5B on HumanEval), so the
    draft takes over only where the target misses the budget and the draft comes much nearer to it.
    """
    large, small = names
    if config.model == "target":
        return Route("target", "the configuration says so", large)
    if draft is None:
        return Route("target", "there is no draft model", large)
    if not infills:
        return Route("target", "the draft model cannot infill", large)
    if config.model == "draft":
        return Route("draft", "the configuration says so", small)
    slow, quick, budget = line_ms(target), line_ms(draft), config.latency_ms
    but = f" (measured, but {doubt}: `paceline setup --measure-only`)" if doubt else ""
    if slow <= budget:
        return Route("target", f"a line takes about {_s(slow)}, and {_s(budget)} are wanted at most{but}", large)
    if quick > GAIN * slow:
        kept = f"a line takes about {_s(slow)}, more than the {_s(budget)} wanted"
        return Route("target", f"{kept}; the {small} ({_s(quick)}) is hardly quicker{but}", large)
    why = f"the {large} ({_s(slow)}) would take more than the {_s(budget)} wanted"
    return Route("draft", f"a line takes about {_s(quick)}; {why}{but}", small)


def _s(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s"


class Completer:
    """Gives the engine that completes, made when it is first asked for."""

    def __init__(self, target: Engine, draft: Callable[[], Engine] | None, route: Route) -> None:
        self._make = draft if draft is not None and route.model == "draft" else lambda: target
        self._lock = threading.Lock()
        self.made: Engine | None = None

    def __call__(self) -> Engine:
        """The engine. Raises ModelError, ResourceError."""
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made
