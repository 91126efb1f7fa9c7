"""What a conversation is made of. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["user", "assistant"]
# of a turn: being written; complete; stopped by the person; cut at the token limit; broken off by an error
State = Literal["streaming", "done", "stopped", "length", "failed"]
Kind = Literal["file", "folder", "symbol", "diff", "output", "paste"]


@dataclass(frozen=True)
class Attached:
    """Something that goes with a message, exactly as the model is shown it."""

    kind: Kind
    name: str  # as a person reads it: a path relative to the workspace, "git diff", "$ pytest -q"
    text: str
    path: str = ""  # absolute, of a file
    cut: str = ""  # what was left out of it, in words; "": nothing


@dataclass(frozen=True)
class Run:
    """A stretch of an answer: who drafted it ("": the model by itself), and how long it is."""

    drafter: str
    characters: int


@dataclass(frozen=True)
class Turn:
    """One message. Turns are a tree: what was edited or generated again stands beside the first."""

    id: int
    parent: int | None  # None: the first of the conversation
    role: Role
    text: str
    attached: tuple[Attached, ...] = ()
    state: State = "done"
    created: float = 0.0  # seconds since the epoch
    model: str = ""
    timings: Mapping[str, Any] = field(default_factory=dict)  # as the engine's End event has them
    runs: tuple[Run, ...] = ()
    error: str = ""  # of a failed one: what a person is told
    skipped: int = 0  # from this one on, so many of the branch's first turns are not shown to the model
    summary: str = ""  # and this stands for them


@dataclass(frozen=True)
class Draft:
    """A message that is to be sent."""

    text: str
    attached: tuple[Attached, ...] = ()
    skipped: int = 0  # from now on, so many of the first turns are not shown to the model; 0: as before
    summary: str = ""  # and this stands for them


@dataclass(frozen=True)
class Unsent:
    """What was begun in a conversation, and not sent yet."""

    text: str = ""  # in the prompt
    attached: tuple[Attached, ...] = ()
    editing: int | None = None  # the turn that it takes the place of
    waiting: tuple[Draft, ...] = ()  # messages that wait for the answer before them


@dataclass(frozen=True)
class Session:
    """A conversation as it is kept."""

    id: str  # short enough to type: `paceline --resume ID`
    title: str
    workspace: str  # absolute path of the folder it was begun in
    created: float
    updated: float
    system: str = ""  # the system prompt
    leaf: int | None = None  # the last turn of the branch that is shown
