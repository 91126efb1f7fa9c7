"""What was begun and not sent, as the sessions' file has it. Each function is a part of one transaction.

Several windows may have unsent text in the same session: each has a row of its own, that the others leave alone as long
as its process lives. What a process leaves behind is taken by whoever opens the session next.
"""

import time
from sqlite3 import Connection

from paceline.chat import owners, rows
from paceline.chat.turns import Unsent

_HERE = "session IS ? AND (session IS NOT NULL OR workspace = ?)"


def keep(connection: Connection, owner: int, session: str | None, workspace: str, unsent: Unsent) -> None:
    """In place of what this process kept for the session; None for one in which nothing has been said yet."""
    connection.execute(
        f"DELETE FROM unsent WHERE owner = ? AND {_HERE}",  # noqa: S608
        (owner, session, rows.kept(workspace)),
    )
    if unsent == Unsent():
        return
    row = (session, rows.kept(workspace), owner, time.time(), rows.unsent_column(unsent))
    connection.execute("INSERT INTO unsent (session, workspace, owner, kept, content) VALUES (?, ?, ?, ?, ?)", row)


def there_is(connection: Connection, session: str | None, workspace: str) -> bool:
    """Whether anything is kept for the session, by whomever."""
    found = connection.execute(
        f"SELECT 1 FROM unsent WHERE {_HERE} LIMIT 1",  # noqa: S608
        (session, rows.kept(workspace)),
    )
    return found.fetchone() is not None


def take(connection: Connection, owner: int, session: str | None, workspace: str) -> Unsent | None:
    """The newest that is this process's own or nobody's any more; from now on it is this process's. None: nothing."""
    found = connection.execute(
        f"SELECT unsent.id, owner, pid, started, host, kept, content FROM unsent LEFT JOIN owner ON owner.id = owner "  # noqa: S608
        f"WHERE {_HERE} ORDER BY (owner IS ?) DESC, kept DESC",
        (session, rows.kept(workspace), owner),
    ).fetchall()
    for id_, its, pid, started, host, kept, content in found:
        if its == owner or pid is None or not owners.lives(pid, started, host, time.time() - kept):
            connection.execute("UPDATE unsent SET owner = ? WHERE id = ?", (owner, id_))
            return rows.unsent(content)
    return None


def let_go(connection: Connection, owner: int) -> None:
    """The process is gone: whoever comes may take what it left."""
    connection.execute("UPDATE unsent SET owner = NULL WHERE owner = ?", (owner,))
