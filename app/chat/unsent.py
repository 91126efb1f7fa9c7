"""What was begun and not sent, as the sessions' file has it. Each function is a part of one transaction.

Several windows may have unsent text in the same session: each has a row of its own, that the others leave alone as long
as its process lives. What a process leaves behind is taken by whoever opens the session next.
"""

import time
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
    connection.execute(
        f"DELETE FROM unsent WHERE owner = ? AND {_HERE}",  # noqa: S608
        (owner, session, rows.kept(workspace)),
    )
    if unsent == Unsent():
        return
    row = (session, rows.kept(workspace), owner if shown else None, time.time(), rows.unsent_column(unsent))
    connection.execute("INSERT INTO unsent (session, workspace, owner, kept, content) VALUES (?, ?, ?, ?, ?)", row)


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
                return id_, rows.unsent(content)
            except (ValueError, TypeError, KeyError):
                continue
    return None


def own(connection: Connection, owner: int, id_: int) -> None:
    """From now on it is this process's."""
    connection.execute("UPDATE unsent SET owner = ? WHERE id = ?", (owner, id_))


def let_go(connection: Connection, owner: int) -> None:
    """The process is gone: whoever comes may take what it left."""
    connection.execute("UPDATE unsent SET owner = NULL WHERE owner = ?", (owner,))
