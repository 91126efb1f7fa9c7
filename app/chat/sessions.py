"""Sessions in their file: kept under an id, and found by it or by how it begins.

Each function is a part of one transaction.
"""

import difflib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection

from paceline.chat import rows, titles
from paceline.chat.turns import Session
from paceline.errors import InputError

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # of an id: none that is mistaken for another
_ID_LENGTH = 8


def insert(connection: Connection, session: Session) -> Session:
    """Keep it under an id that is free."""
    new = replace(session, id=_new_id())
    while connection.execute("SELECT 1 FROM session WHERE id = ?", (new.id,)).fetchone():
        new = replace(session, id=_new_id())
    texts = [rows.kept(text) for text in (new.title, new.workspace, new.system)]
    connection.execute(
        "INSERT INTO session (id, title, workspace, system, created, updated, leaf) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (new.id, *texts, new.created, new.updated, new.leaf),
    )
    return new


def _new_id() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))


def exact(connection: Connection, id: str) -> Session:
    """The session with this id. Raises InputError."""
    row = connection.execute(f"SELECT {rows.SESSION} FROM session WHERE id = ?", (rows.kept(id),)).fetchone()  # noqa: S608
    if row is None:
        raise InputError(f"there is no session {id}", "it may have been deleted in another window")
    return rows.session(row)


def find(connection: Connection, id: str) -> Session:
    """The session with this id, or the only one whose id begins so. Raises InputError, naming those that are near."""
    wanted = titles.one_line(id).lower()
    found = connection.execute(
        f"SELECT {rows.SESSION} FROM session WHERE id = :id OR (:id <> '' AND substr(id, 1, :length) = :id) "  # noqa: S608
        "ORDER BY updated DESC LIMIT 6",
        {"id": wanted, "length": len(wanted)},
    ).fetchall()
    for row in found:
        if len(found) == 1 or row[0] == wanted:
            return rows.session(row)
    if found:
        raise InputError(f"several sessions begin with {wanted}", _named(connection, [row[0] for row in found]))
    known = [row[0] for row in connection.execute("SELECT id FROM session ORDER BY updated DESC")]
    if not known:
        raise InputError(f"there is no session {wanted!r}", "there are none yet")
    near = difflib.get_close_matches(wanted, known, n=3) or known[:3]
    raise InputError(f"there is no session {wanted!r}", _named(connection, near))


def _named(connection: Connection, ids: Sequence[str]) -> str:
    """Sessions in words: their ids and titles."""
    sessions = [exact(connection, each) for each in ids]
    return "there is " + ", ".join(f"{each.id} ({titles.shortened(each.title, 40)})" for each in sessions)
