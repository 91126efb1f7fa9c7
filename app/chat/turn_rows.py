"""Turns as rows of their table. Each function is a part of one transaction; those that change raise InputError where
a turn is not there, or is another process's.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection

from paceline.chat import rows
from paceline.chat.turns import Run, Turn
from paceline.errors import InputError

_TURN = (
    "INSERT INTO turn (session, parent, role, state, created, owner, skipped, attached, summary, "
    "model, error, timings, runs, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE = (
    "UPDATE turn SET state = ?, owner = ?, indexed = 0, model = ?, error = ?, timings = ?, runs = ?, text = ? "
    "WHERE id = ?"
)


def insert(connection: Connection, session: str, turn: Turn, owner: int | None) -> Turn:
    """With its new id."""
    place = (session, turn.parent, turn.role, turn.state, turn.created, owner, turn.skipped)
    row = (*place, rows.attached_column(turn.attached), rows.kept(turn.summary), *_columns(turn))
    return replace(turn, id=int(connection.execute(_TURN, row).lastrowid or 0))


def update(connection: Connection, turn: Turn, owner: int) -> None:
    """Raises InputError where it is not there, or another process's."""
    _check_writer(connection, turn.id, owner)
    mine = owner if turn.state == "streaming" else None
    connection.execute(_UPDATE, (turn.state, mine, *_columns(turn), turn.id))
    connection.execute("DELETE FROM piece WHERE turn = ?", (turn.id,))
    connection.execute(
        "UPDATE session SET updated = ? WHERE id = (SELECT session FROM turn WHERE id = ?)", (time.time(), turn.id)
    )


def append(connection: Connection, turn: int, text: str, runs: Sequence[Run], owner: int) -> None:
    """Raises InputError where it is not there, or another process's."""
    _check_writer(connection, turn, owner)
    row = (turn, rows.kept(text), rows.runs_column(runs))
    connection.execute("INSERT INTO piece (turn, text, runs) VALUES (?, ?, ?)", row)
    connection.execute("UPDATE turn SET indexed = 0 WHERE id = ? AND indexed", (turn,))


def _check_writer(connection: Connection, turn: int, owner: int) -> None:
    """Raises InputError where the turn is not there, or another process writes it."""
    found = connection.execute("SELECT state, owner FROM turn WHERE id = ?", (turn,)).fetchone()
    if found is None:
        raise missing("", turn)
    if found[0] == "streaming" and found[1] != owner:
        raise InputError("this answer is being written in another window", "look at it there, or wait for its end")


def of_session(connection: Connection, session: str) -> tuple[Turn, ...]:
    """All of them, in rising order of their ids."""
    pieces: dict[int, list[tuple[str | bytes, str | bytes]]] = defaultdict(list)
    for turn, text, runs in connection.execute(
        "SELECT turn, piece.text, piece.runs FROM piece JOIN turn ON turn.id = turn WHERE session = ? "
        "ORDER BY piece.id",
        (session,),
    ):
        pieces[turn].append((text, runs))
    reader = rows.Reader()
    chosen = connection.execute(f"SELECT {rows.TURN} FROM turn WHERE session = ? ORDER BY id", (session,))  # noqa: S608
    return tuple(reader.turn(row, pieces.get(row[0], ())) for row in chosen)


def check(connection: Connection, session: str, turn: int) -> None:
    """Raises InputError unless the session has this turn."""
    if not connection.execute("SELECT 1 FROM turn WHERE id = ? AND session = ?", (turn, session)).fetchone():
        raise missing(session, turn)


def missing(session: str, turn: int) -> InputError:
    """What is raised for it."""
    whose = f"session {session} has" if session else "there is"
    return InputError(f"{whose} no turn {turn}", "it may have been deleted in another window")


def _columns(turn: Turn) -> tuple[str | bytes, ...]:
    """Of what changes: model, error, timings, runs, text."""
    return (
        rows.kept(turn.model),
        rows.kept(turn.error),
        rows.timings_column(turn.timings),
        rows.runs_column(turn.runs),
        rows.kept(turn.text),
    )
