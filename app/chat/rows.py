"""Turns and sessions as rows of the database, and back. Every text comes back as it was, whatever is in it."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from paceline.chat.turns import Attached, Draft, Run, Session, Turn, Unsent

TURN = "id, parent, role, text, attached, state, created, model, timings, runs, error, skipped, summary"
SESSION = "id, title, workspace, created, updated, system, leaf"
_RUNS = msgspec.json.Decoder(tuple[list[str], list[int], list[int]])
LONG = 4096  # characters of a text that stands on its own
_TEXT = 2  # which of an attachment's fields its text is
_EMPTY = ""  # stands for an empty tuple or mapping


def kept(text: str) -> str | bytes:
    """The text as SQLite can hold it: as bytes where it has a lone surrogate or NUL, at which TEXT would end."""
    if "\0" not in text:
        try:
            text.encode("utf-8")
            return text
        except UnicodeEncodeError:
            pass
    return text.encode("utf-8", "surrogatepass")


def told(value: str | bytes) -> str:
    """What `kept` was given."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def attached_column(attached: Sequence[Attached]) -> str | bytes:
    """Attachments as JSON."""
    return _json(_lists(attached)) if attached else _EMPTY


def unsent_column(unsent: Unsent) -> tuple[str | bytes, dict[str, str]]:
    """What was not sent, as JSON, and the long texts in it, by digest: those stand elsewhere."""
    long = dict[str, str]()

    def lists(attached: Sequence[Attached]) -> list[list[Any]]:
        found: list[list[Any]] = [*_lists(attached)]
        for each in found:
            text = each[_TEXT]
            if len(text) > LONG:
                each[_TEXT] = [digest(text)]
                long[digest(text)] = text
        return found

    waiting = [[each.text, lists(each.attached), each.skipped, each.summary] for each in unsent.waiting]
    return _json([unsent.text, lists(unsent.attached), unsent.editing, waiting]), long


def unsent(column: str | bytes, long: Mapping[str, str]) -> Unsent:
    """What `unsent_column` was given. Raises KeyError where a long text is missing."""

    def attachments(lists: Sequence[list[Any]]) -> tuple[Attached, ...]:
        for each in lists:
            if isinstance(each[_TEXT], list):
                each[_TEXT] = long[each[_TEXT][0]]
        return _attached(lists)

    text, attached, editing, waiting = json.loads(told(column))
    drafts = tuple(Draft(asked, attachments(more), skipped, summary) for asked, more, skipped, summary in waiting)
    return Unsent(text, attachments(attached), editing, drafts)


@lru_cache(maxsize=8)  # they are held
def digest(text: str) -> str:
    """A name for a text: the same for the same text, and for no other."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def timings_column(timings: Mapping[str, Any]) -> str | bytes:
    """Timings as JSON; what JSON does not know becomes its text."""
    return _json(dict(timings)) if timings else _EMPTY


def runs_column(runs: Sequence[Run]) -> str | bytes:
    """Who drafted what as JSON: the names, which of them each run has, and its length. Read faster than pairs."""
    joined = join(runs)
    if not joined:
        return _EMPTY
    names = {name: at for at, name in enumerate(dict.fromkeys(run.drafter for run in joined))}
    return _json([list(names), [names[run.drafter] for run in joined], [run.characters for run in joined]])


def join(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The same with neighbours by the same drafter as one, and without empty ones."""
    joined: list[Run] = []
    for run in runs:
        if joined and joined[-1].drafter == run.drafter:
            joined[-1] = Run(run.drafter, joined[-1].characters + run.characters)
        elif run.characters:
            joined.append(run)
    return tuple(joined)


class _Lengths(dict[int, Run]):
    """The runs of one drafter, each length made once."""

    def __init__(self, drafter: str) -> None:
        super().__init__()
        self._drafter = drafter

    def __missing__(self, characters: int) -> Run:
        self[characters] = run = Run(self._drafter, characters)
        return run


class Reader:
    """Rows to turns. Equal runs are one object: a long session has hundreds of thousands of a few kinds."""

    def __init__(self) -> None:
        self._runs: dict[str, _Lengths] = {}

    def turn(self, row: Sequence[Any], pieces: Sequence[tuple[Any, Any]] = ()) -> Turn:
        """A row of the columns TURN, and what was appended since as text and runs."""
        id_, parent, role, text, attached, state, created, model, timings, runs, error, skipped, summary = row
        whole, drafted = told(text), self.runs(runs) if runs else ()
        if pieces:
            whole += "".join(told(more) for more, _ in pieces)
            drafted = join([*drafted, *(run for _, more in pieces for run in self.runs(more))])
        return Turn(
            id_,
            parent,
            role,
            whole,
            _attached(json.loads(told(attached))) if attached else (),
            state,
            created,
            told(model),
            json.loads(told(timings)) if timings else {},
            drafted,
            told(error),
            skipped,
            told(summary),
        )

    def runs(self, column: str | bytes) -> tuple[Run, ...]:
        """What `runs_column` was given, joined."""
        if not column:
            return ()
        names, which, lengths = _RUNS.decode(column) if isinstance(column, str) else json.loads(told(column))
        known = [self._runs.setdefault(name, _Lengths(name)) for name in names]
        return tuple([known[at][length] for at, length in zip(which, lengths, strict=True)])


def session(row: Sequence[Any]) -> Session:
    """A row of the columns SESSION."""
    id_, title, workspace, created, updated, system, leaf = row
    return Session(id_, told(title), told(workspace), created, updated, told(system), leaf)


def _lists(attached: Sequence[Attached]) -> list[list[str]]:
    return [[each.kind, each.name, each.text, each.path, each.cut] for each in attached]


def _attached(lists: Sequence[Sequence[Any]]) -> tuple[Attached, ...]:
    return tuple(Attached(*each) for each in lists)


def _json(value: object) -> str | bytes:
    # not escaped: two lone surrogates that stand side by side would come back as one character
    return kept(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
