"""What happens in a conversation, as whoever shows it is told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from paceline.chat.turns import Turn
from paceline.client.events import Event, Loading, Pace, Progress, Reasoning

TELLING = 250.0  # milliseconds of an answer before which its speed is one of its first draft, and tells nothing


@dataclass(frozen=True)
class Working:
    """What the engine is doing for this conversation."""

    what: Literal["idle", "waiting", "loading", "reading", "thinking", "writing"] = "idle"
    done: int = 0  # of the prompt's tokens, while it is read
    total: int = 0
    ms_left: float | None = None
    tokens: int = 0  # of the answer so far, as all that follows
    milliseconds: float | None = None  # since the first of them
    per_second: float | None = None
    drafted: int = 0  # tokens, and how many of them stood
    accepted: int = 0
    speed_up: float | None = None  # over plain decoding

    @property
    def acceptance(self) -> float | None:
        """Share of the drafted tokens that stood; None where none were drafted."""
        return self.accepted / self.drafted if self.drafted else None


def working(event: Event) -> Working | None:
    """What an event says about how an answer is getting on; None where it says something else."""
    match event:
        case Pace():
            took = event.milliseconds
            if took is None and event.per_second > 0:  # the first token was there at the beginning of that time
                took = (event.tokens - 1) / event.per_second * 1000
            return Working(
                "writing",
                tokens=event.tokens,
                milliseconds=took,
                per_second=event.per_second if took is not None and took >= TELLING else None,
                drafted=event.drafted,
                accepted=event.accepted,
                speed_up=event.speed_up,
            )
        case Progress():
            return Working("reading", event.done, event.total, event.ms_left)
        case Loading():
            return Working("loading")
        case Reasoning():
            return Working("thinking")
        case _:
            return None


@dataclass(frozen=True)
class Added:
    """A turn stands at the end of what is shown."""

    turn: Turn


@dataclass(frozen=True)
class Grew:
    """More of the answer that is being written."""

    turn: int
    text: str
    drafter: str


@dataclass(frozen=True)
class Changed:
    """A turn is not as it was: its state, its figures."""

    turn: Turn


@dataclass(frozen=True)
class Moved:
    """Another branch is shown; `Conversation.path` has it."""


@dataclass(frozen=True)
class Told:
    """Something a person should know."""

    text: str
    error: bool = False


@dataclass(frozen=True)
class Queued:
    """So many messages wait for the answer before them."""

    count: int


Happening = Added | Grew | Changed | Moved | Told | Queued | Working
Tell = Callable[[Happening], None]
