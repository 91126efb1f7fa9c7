"""What an exported conversation says about itself and its turns, in words that are safe to show."""

from datetime import datetime, timezone

from paceline.chat import model_names
from paceline.chat.pastes import line_count
from paceline.chat.titles import UNTITLED, one_line
from paceline.chat.turns import Attached, Session, Turn
from paceline.chat.words import many
from paceline.text import replace_surrogates, strip_controls

_ENDINGS = {"done": "", "streaming": "not finished", "stopped": "stopped", "length": "cut at the token limit"}


def title(session: Session) -> str:
    """What it is called."""
    return one_line(session.title) or UNTITLED


def facts(session: Session) -> tuple[str, ...]:
    """Its id, folder and day."""
    known = (f"session {session.id}", session.workspace, when(session.created))
    return tuple(one_line(fact) for fact in known if fact)


def who(turn: Turn) -> str:
    """Whose words these are."""
    return "You" if turn.role == "user" else model(turn.model) or "Assistant"


def ending(turn: Turn) -> str:
    """How a turn ended; "" where there is nothing to say."""
    if turn.state == "failed":
        return f"failed: {one_line(turn.error)}" if turn.error else "failed"
    return _ENDINGS[turn.state]


def left_out(turn: Turn) -> str:
    """What the model was not shown from this turn on; "" where it was shown all."""
    if not turn.skipped:
        return ""
    how = "shown to the model as this summary" if turn.summary else "not shown to the model"
    return f"From here on, the first {turn.skipped} messages were {how}"


def attachment(attached: Attached) -> str:
    """What is attached, in a line: its name, how long it is, and what of it was left out."""
    name = one_line(attached.name)
    lines = many(line_count(attached.text), "line")
    told = name if lines in name else f"{name} ({lines})"
    return f"{told}, {one_line(attached.cut)}" if attached.cut else told


def model(*names: str) -> str:
    """What people call a model: "Qwen2.5-Coder 1.5B"; from the first of its names that tells, or the last as it is."""
    return model_names.called(*names) or one_line(names[-1])


def when(seconds: float) -> str:
    """A time, in seconds since the epoch; "" for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return ""


def body(text: str) -> str:
    """A text of several lines without controls, that every file can hold."""
    return replace_surrogates(strip_controls(text.replace("\r\n", "\n")))
