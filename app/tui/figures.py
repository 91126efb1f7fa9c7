"""What the footer says of an answer: while it is written, and when it is complete. Pure."""

from dataclasses import replace
from typing import Any

from paceline.chat import labels
from paceline.chat.happenings import Working
from paceline.chat.turns import Turn
from paceline.tui.widgets.footer import Figures, reading

STATES = {"idle": "", "waiting": "waiting", "loading": "loading the models", "thinking": "thinking"}


def while_working(before: Figures, work: Working) -> Figures:
    """What is known already stays until something else is known."""
    return replace(before, **changed_by(work))


def changed_by(work: Working, writing: str = "writing") -> dict[str, Any]:
    """Fields of Figures that are others now. writing: the state while text is written."""
    if work.what == "reading":
        left = None if work.ms_left is None else work.ms_left / 1000
        return {"state": reading(work.done, work.total, left)}
    if work.what == "writing":
        rates = {"rate": work.per_second, "acceptance": work.acceptance, "speedup": work.speed_up}
        return {"state": writing, **rates}
    return {"state": STATES[work.what]}


def at_the_end(before: Figures, turn: Turn) -> Figures:
    """Those of the whole answer stay until the next one."""
    told = turn.timings
    drafted = told.get("draft_n") or 0
    return replace(
        before,
        model=labels.model(turn.model) or before.model,
        rate=told.get("predicted_per_second") or None,
        acceptance=told.get("draft_n_accepted", 0) / drafted if drafted else None,
        speedup=told.get("speed_up"),
    )
