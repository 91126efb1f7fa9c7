"""How answers in the terminal app fared, as a table for people: a row for each figure, a column for each model."""

from collections.abc import Iterator
from datetime import datetime

from paceline.chat import labels
from paceline.chat.figures import Answers, Fared
from paceline.chat.titles import one_line

COLUMNS = 3  # models that have one of their own; --json has all
UNKNOWN = "unknown"  # which model it was: it failed before it said so


def table(found: Answers) -> tuple[list[str], list[list[str]]]:
    """Headers and rows; the models with most answers first, and all together where there are several."""
    names = sorted(found.models, key=lambda name: (-found.models[name].answers, name))
    called = {name: _called(name, names) for name in names[:COLUMNS]}
    columns = [(called[name], found.models[name]) for name in called]
    if len(names) != 1:
        columns.append(("all", found.all))
    facts = [dict(_facts(each)) for _, each in columns]
    return ["", *(name for name, _ in columns)], [[what, *(each[what] for each in facts)] for what in facts[0]]


def lines(found: Answers) -> Iterator[str]:
    """What is not in the table."""
    others = len(found.models) - COLUMNS
    if others > 0:
        yield f"and {others} more model{'s' * (others != 1)}, which --json names"


def began(found: Answers) -> str:
    """The day of the first one, as in ISO 8601, local time; "" where no calendar has it."""
    try:
        return datetime.fromtimestamp(found.first).date().isoformat() if found.first else ""
    except (OverflowError, ValueError, OSError):
        return ""


def _called(name: str, names: list[str]) -> str:
    """A model as people call it, where that tells it from the others."""
    label = labels.model(name)
    return (label if sum(labels.model(each) == label for each in names) == 1 else one_line(name)) or UNKNOWN


def _facts(each: Fared) -> Iterator[tuple[str, str]]:
    yield "answers", f"{each.answers:,}"
    yield "stopped", f"{each.stopped:,}"
    yield "failed", f"{each.failed:,}"
    yield "tokens written", f"{each.tokens:,}"
    yield "tokens/s, median", "-" if each.per_second is None else f"{each.per_second:.1f}"
    yield "drafted tokens accepted", _share(each.accepted, each.drafted)
    yield "speed-up over plain", "-" if each.speed_up is None else f"{each.speed_up:.2f}x"
    yield "prompt tokens", f"{each.prompt:,}"
    yield "of these cached", _share(each.cached, each.prompt)
    yield "first token after, median", "-" if each.first_token_ms is None else _seconds(each.first_token_ms)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
