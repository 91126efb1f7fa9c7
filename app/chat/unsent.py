"""What was begun and not sent, as the sessions' file has it. Each function is a part of one transaction.

Several windows may have unsent text in the same session: each has a row of its own, that the others leave alone as long
as its process lives. What a process leaves behind is taken by whoever opens the session next.
"""

import time
from collections.abc import Mapping
from sqlite3 import Connection

from paceline.chat import owners, rows
from paceline.chat.turns import Unsent

_HERE = "session IS ? AND (session IS NOT NULL OR workspace = ?)"


def keep(
    connection: Connection, owner: int, session: str | None, workspace: str, unsent: Unsent, *, shown: bool
) -> None:
    """In place of what this process kept for the session; None for one in which nothing has been said yet.

    shown: it stays this process's, until it is gone.
    """
    here = (owner, session, rows.kept(workspace))
    known = connection.execute(f"SELECT id FROM unsent WHERE owner = ? AND {_HERE} ORDER BY kept DESC", here).fetchall()  # noqa: S608
    for (id_,) in known if unsent == Unsent() else known[1:]:
        connection.execute("DELETE FROM unsent WHERE id = ?", (id_,))
    if unsent == Unsent():
        return
    content, long = rows.unsent_column(unsent)
    row = (owner if shown else None, time.time(), content)
    if known:
        (id_,) = known[0]
        connection.execute("UPDATE unsent SET owner = ?, kept = ?, content = ? WHERE id = ?", (*row, id_))
    else:
        id_ = connection.execute(
            "INSERT INTO unsent (owner, kept, content, session, workspace) VALUES (?, ?, ?, ?, ?)",
            (*row, session, rows.kept(workspace)),
        ).lastrowid
    _keep_texts(connection, id_, long)


def _keep_texts(connection: Connection, id_: int | None, long: Mapping[str, str]) -> None:
    """These and no others; those that are there stay as they are."""
    there = {digest for (digest,) in connection.execute("SELECT digest FROM unsent_text WHERE unsent = ?", (id_,))}
    for digest in there - long.keys():
        connection.execute("DELETE FROM unsent_text WHERE unsent = ? AND digest = ?", (id_, digest))
    for digest in long.keys() - there:
        row = (id_, digest, rows.kept(long[digest]))
        connection.execute("INSERT INTO unsent_text (unsent, digest, text) VALUES (?, ?, ?)", row)


def find(connection: Connection, owner: int | None, session: str | None, workspace: str) -> tuple[int, Unsent] | None:
    """The newest that is this process's own or nobody's any more, and its number. One that cannot be read is none."""
    found = connection.execute(
        f"SELECT unsent.id, owner, pid, started, host, kept, content FROM unsent LEFT JOIN owner ON owner.id = owner "  # noqa: S608
        f"WHERE {_HERE} ORDER BY (owner IS ?) DESC, kept DESC",
        (session, rows.kept(workspace), owner),
    ).fetchall()
    for id_, its, pid, started, host, kept, content in found:
        if its == owner or pid is None or not owners.lives(pid, started, host, time.time() - kept):
            try:
                return id_, rows.unsent(content, _texts(connection, id_))
            except (ValueError, TypeError, LookupError):
                continue
    return None


def _texts(connection: Connection, id_: int) -> dict[str, str]:
    """The long texts that belong to it, by digest."""
    found = connection.execute("SELECT digest, text FROM unsent_text WHERE unsent = ?", (id_,))
    return {digest: rows.told(text) for digest, text in found}


def own(connection: Connection, owner: int, id_: int) -> None:
    """From now on it is this process's."""
    connection.execute("UPDATE unsent SET owner = ? WHERE id = ?", (owner, id_))


def let_go(connection: Connection, owner: int) -> None:
    """The process is gone: whoever comes may take what it left."""
    connection.execute("UPDATE unsent SET owner = NULL WHERE owner = ?", (owner,))
