"""What a request took, in words: from the timings that our engine, llama.cpp's server, or nobody gives."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from paceline.client.events import Usage

POSITIONS = 8  # in a draft, whose acceptance is shown


class _Drafter(msgspec.Struct):
    rounds: int
    draft_n: int
    draft_n_accepted: int
    acceptance_by_position: list[float]
    drafting_ms: float | None = None


class _Timings(msgspec.Struct):
    """Of engine.stats.Stats.timings; a server elsewhere may leave out any of them."""

    prompt_ms: float | None = None
    predicted_ms: float | None = None
    predicted_per_second: float | None = None
    speed_up: float | None = None
    rounds: int = 0
    mean_accepted_length: float = 0.0
    wasted_n: int = 0
    drafting_ms: float | None = None
    verifying_ms: float = 0.0
    sampling_ms: float = 0.0
    strict_n: int = 0  # near-ties that were decided again
    drafters: dict[str, _Drafter] = {}
    notes: list[str] = []


def figures(usage: Usage, timings: Mapping[str, Any]) -> Iterator[str]:
    """Lines for a person. A figure that is not there, or is none, is left out."""
    told, cached = _read(timings), usage.cached_tokens or 0
    if usage.prompt_tokens is not None:
        more = f" ({cached} more were cached)" if cached else ""
        yield f"prompt      {usage.prompt_tokens - cached} tokens{_seconds(told.prompt_ms)}{more}"
    if usage.completion_tokens is not None:
        pace = "" if told.predicted_per_second is None else f", {told.predicted_per_second:.1f} tokens/s"
        over = "" if told.speed_up is None else f", {told.speed_up:.2f}x of plain decoding on this machine"
        yield f"answer      {usage.completion_tokens} tokens{_seconds(told.predicted_ms)}{pace}{over}"
    if told.rounds:
        yield (
            f"rounds      {told.rounds}, mean accepted length {told.mean_accepted_length:.2f}, "
            f"{told.wasted_n} drafted tokens wasted"
        )
    if told.drafting_ms is not None:
        yield (
            f"time        drafting {told.drafting_ms:.0f} ms, verifying {told.verifying_ms:.0f} ms, "
            f"sampling {told.sampling_ms:.0f} ms"
        )
    if told.strict_n:
        yield f"strict      {_count(told.strict_n, 'near-tie')} decided again by a decode of one token"
    for name, each in told.drafters.items():
        yield f"{name:11} {', '.join(_part(each, usage.completion_tokens))}"
    for note in told.notes:
        yield f"note        {note}"


def _part(drafter: _Drafter, tokens: int | None) -> Iterator[str]:
    """What a drafter did for an answer of so many tokens. Each token of it that stands saves a decode of the target."""
    if not drafter.draft_n:
        yield "drafted nothing"
        return
    yield f"{drafter.draft_n_accepted} of {drafter.draft_n} accepted in {_count(drafter.rounds, 'draft')}"
    if tokens:
        yield f"{min(1.0, drafter.draft_n_accepted / tokens):.0%} of the answer"
    yield f"{_count(drafter.draft_n_accepted, 'decode')} of the target saved"
    if drafter.drafting_ms is not None:
        yield f"{drafter.drafting_ms:.0f} ms drafting"
    shares = " ".join(f"{share:.0%}" for share in drafter.acceptance_by_position[:POSITIONS])
    if shares:
        yield f"by position {shares}"


def _read(timings: Mapping[str, Any]) -> _Timings:
    try:
        return msgspec.convert(dict(timings), _Timings)
    except msgspec.ValidationError:  # somebody else's, under the same names
        return _Timings()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _seconds(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f" in {milliseconds / 1000:.2f} s"
