"""What answers took, added up by model: from the figures that are kept with each of them."""

import contextlib
import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Connection
from statistics import median
from typing import Any

import msgspec

from paceline.chat import schema
from paceline.chat.database import PATIENCE, is_damage
from paceline.errors import ResourceError

SHORTEST = 8  # tokens of an answer whose speed tells something
MOST = 1e15  # of anything; more is no figure
# A session changes with each of its turns, and sessions have an index by that: CROSS has SQLite begin with them.
_ENDED = """
    SELECT turn.created, model, state, timings FROM session CROSS JOIN turn ON turn.session = session.id
    WHERE session.updated >= :since AND turn.created >= :since AND role = 'assistant' AND state <> 'streaming'
"""


class Timings(msgspec.Struct, frozen=True):
    """Of engine.stats.Stats.timings; a server elsewhere may leave out any of them."""

    prompt_n: float | None = None
    prompt_ms: float | None = None
    cache_n: float | None = None
    predicted_n: float | None = None
    predicted_ms: float | None = None
    predicted_per_second: float | None = None
    draft_n: float | None = None
    draft_n_accepted: float | None = None
    queued_ms: float | None = None
    speed_up: float | None = None


_DECODER = msgspec.json.Decoder(Timings)


@dataclass(frozen=True)
class Answer:
    """What is kept of one."""

    model: str  # "": nobody said
    state: str  # as Turn has it
    created: float  # seconds since the epoch; 0: not known
    timings: Timings


@dataclass
class Fared:
    """How answers fared. A figure that nobody gave counts as none."""

    answers: int = 0  # whatever their end
    stopped: int = 0  # by the person
    failed: int = 0
    cut: int = 0  # at the token limit
    tokens: int = 0  # written
    drafted: int = 0  # tokens
    accepted: int = 0  # of those
    read: int = 0  # tokens of prompts, computed
    cached: int = 0  # and found in the cache
    _speeds: list[float] = field(default_factory=list)  # tokens/s
    _waits: list[float] = field(default_factory=list)  # ms to the first token
    _took: float = 0.0  # ms of answers whose speed-up is known
    _plain: float = 0.0  # and what they would have taken without drafts

    def add(self, answer: Answer) -> None:
        """Count one more."""
        timings, tokens = answer.timings, _count(answer.timings.predicted_n)
        self.answers += 1
        self.stopped += answer.state == "stopped"
        self.failed += answer.state == "failed"
        self.cut += answer.state == "length"
        self.tokens += tokens
        self.drafted += _count(timings.draft_n)
        self.accepted += _count(timings.draft_n_accepted)
        self.read += _count(timings.prompt_n)
        self.cached += _count(timings.cache_n)
        if (speed := _known(timings.predicted_per_second)) and tokens >= SHORTEST:
            self._speeds.append(speed)
        if (reading := _known(timings.prompt_ms)) is not None and tokens:
            self._waits.append(reading + (_known(timings.queued_ms) or 0.0))
        if (speed_up := _known(timings.speed_up)) and (took := _known(timings.predicted_ms)):
            self._took += took
            self._plain += took * speed_up

    @property
    def per_second(self) -> float | None:
        """Tokens a second, the median of all answers but the shortest; None where there is none."""
        return median(self._speeds) if self._speeds else None

    @property
    def first_token_ms(self) -> float | None:
        """Milliseconds until the first token, the median: the wait for one's turn, and the reading of the prompt."""
        return median(self._waits) if self._waits else None

    @property
    def acceptance(self) -> float | None:
        """Share of the drafted tokens that stood; None where none were drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def speed_up(self) -> float | None:
        """What answers would have taken one token at a time, over what they took; None where that is not known."""
        return self._plain / self._took if self._took else None

    @property
    def prompt(self) -> int:
        """Tokens of prompts."""
        return self.read + self.cached

    def as_object(self) -> dict[str, Any]:
        """For programs. Shares are of one; null where nothing is known."""
        return {
            "answers": self.answers,
            "stopped": self.stopped,
            "failed": self.failed,
            "cut": self.cut,
            "tokens": self.tokens,
            "tokens_per_second": self.per_second,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "acceptance": self.acceptance,
            "speed_up": self.speed_up,
            "prompt_tokens": self.prompt,
            "cached_tokens": self.cached,
            "first_token_ms": self.first_token_ms,
        }


@dataclass
class Answers:
    """How they fared by model, and all of them."""

    models: dict[str, Fared] = field(default_factory=lambda: defaultdict(Fared))
    all: Fared = field(default_factory=Fared)
    first: float = 0.0  # when the first of them was asked for, in seconds since the epoch; 0: there is none

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        models = {name: self.models[name].as_object() for name in sorted(self.models)}
        return {"models": models, "all": self.all.as_object()}


def added_up(answers: Iterable[Answer]) -> Answers:
    """All of them together."""
    found = Answers()
    for each in answers:
        found.models[each.model].add(each)
        found.all.add(each)
        if each.created:
            found.first = min(found.first or each.created, each.created)
    return found


def kept_in(path: Path, since: float) -> Answers:
    """Those that were begun since then, in seconds since the epoch. No file: none, and it is not made.

    The file is only read, whichever Paceline has written it and whatever is wrong with it. What somebody else has put
    into it in the place of a figure is none.

    Raises InputError for a newer Paceline's file, ResourceError where it cannot be read.
    """
    try:
        if not path.exists():
            return Answers()
        with contextlib.closing(_opened(path)) as connection:
            if not schema.version_of(connection, str(path)):
                return Answers()  # another process is making it
            return added_up(_answers(connection, since))
    except (sqlite3.Error, OSError) as error:
        said = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        damaged = isinstance(error, sqlite3.DatabaseError) and is_damage(error)
        raise ResourceError(
            f"the sessions in {path} cannot be read: {said}",
            "open the app: it sets a damaged file aside and begins a new one"
            if damaged
            else "check the disk, and whose the folder is",
        ) from error


def _opened(path: Path) -> Connection:
    """A connection that changes nothing. Raises sqlite3.Error."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=PATIENCE, uri=True)
    connection.text_factory = bytes  # so that a text need not be one
    return connection


def _answers(connection: Connection, since: float) -> Iterator[Answer]:
    """Each answer once: forks and copies of a session have the same ones again."""
    seen = set[int]()
    for row in connection.execute(_ENDED, {"since": since}):
        if (known := hash(row)) not in seen:
            seen.add(known)
            created, model, state, timings = row
            answer = Answer(_text(model), _text(state), _when(created), _read(timings))
            if answer.model or answer.state != "done" or answer.timings != Timings():  # else a note: nobody answered
                yield answer


def _read(column: object) -> Timings:
    if not isinstance(column, bytes) or not column:
        return Timings()
    try:
        return _DECODER.decode(column)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(_text(column)), Timings)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError):  # somebody else's, under these names
        return Timings()


def _text(column: object) -> str:
    """What rows.kept was given; of what is no text, what can be read."""
    if not isinstance(column, bytes):
        return str(column)
    try:
        return column.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return column.decode("utf-8", "replace")


def _when(column: object) -> float:
    return column if isinstance(column, float) and math.isfinite(column) else 0.0


def _known(number: float | None) -> float | None:
    """A figure, if it can be one."""
    return number if number is not None and 0 <= number < MOST else None


def _count(number: float | None) -> int:
    return int(_known(number) or 0)
