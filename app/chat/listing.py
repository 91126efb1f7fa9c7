"""Conversations in a list: the newest, or those in which something is found."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from sqlite3 import Connection

from paceline.chat import rows, search
from paceline.chat.index import text_of
from paceline.chat.turns import Session

_SHOWN = """
    WITH RECURSIVE branch(id) AS (
        VALUES(?) UNION ALL SELECT parent FROM branch JOIN turn USING (id) WHERE parent < id
    ) SELECT count(id) FROM branch
"""
Holding = Callable[[str, "str | bytes | None"], Iterable[tuple[str, int]]]  # see Index.holding


@dataclass(frozen=True)
class Summary:
    """A conversation in a list. All of it can be shown as it is."""

    session: Session
    turns: int  # of all branches
    shown: int  # of the branch that is shown
    preview: str  # the beginning of its last message, one line
    snippet: str = ""  # one line around what was looked for; "": nothing was, or only the title has it
    marks: tuple[tuple[int, int], ...] = ()  # where it stands in the snippet: start and end in characters
    title_marks: tuple[tuple[int, int], ...] = ()  # and in the title


def newest(connection: Connection, workspace: str, limit: int) -> tuple[Summary, ...]:
    """The last changed first; of a workspace, or "" for all."""
    return tuple(_summary(connection, each) for each in islice(_sessions(connection, workspace), limit))


def search_all(
    connection: Connection, holding: Holding, words: tuple[str, ...], workspace: str, limit: int
) -> tuple[Summary, ...]:
    """Those that have every word in their title or in one of their messages, the last changed first."""
    sessions = tuple(_sessions(connection, workspace))
    turns: dict[str, Counter[int]] = defaultdict(Counter)  # of a session: how many of the words each turn has
    found = {each.id for each in sessions}
    for word in words:
        having = {each.id for each in sessions if word in search.fold(each.title)}
        for session, turn in holding(word, rows.kept(workspace) if workspace else None):
            having.add(session)
            turns[session][turn] += 1
        found &= having
    chosen = islice((each for each in sessions if each.id in found), limit)
    return tuple(_summary(connection, each, turns[each.id], words) for each in chosen)


def _sessions(connection: Connection, workspace: str) -> Iterator[Session]:
    chosen = connection.execute(
        f"SELECT {rows.SESSION} FROM session WHERE (:all OR workspace = :workspace) "  # noqa: S608 - a constant
        "ORDER BY updated DESC, rowid DESC",
        {"all": not workspace, "workspace": rows.kept(workspace)},
    )
    return map(rows.session, chosen)


def _summary(
    connection: Connection, session: Session, hits: Counter[int] | None = None, words: tuple[str, ...] = ()
) -> Summary:
    (turns,) = connection.execute("SELECT count(*) FROM turn WHERE session = ?", (session.id,)).fetchone()
    (shown,) = connection.execute(_SHOWN, (session.leaf,)).fetchone()
    snippet, marks = "", ()  # type: tuple[str, tuple[tuple[int, int], ...]]
    if hits:
        best = max(hits, key=lambda turn: (hits[turn], turn))
        snippet, marks = search.excerpt(text_of(connection, best), words)
    preview, title_marks = _preview(connection, session), search.places(session.title, words)
    return Summary(session, turns, shown, preview, snippet, marks, title_marks)


def _preview(connection: Connection, session: Session) -> str:
    """Of the last message; of the one before, while that is empty."""
    leaf = session.leaf
    while leaf is not None:
        if shown := search.preview(text_of(connection, leaf)):
            return shown
        row = connection.execute("SELECT parent FROM turn WHERE id = ?", (leaf,)).fetchone()
        leaf = row[0] if row else None
    return ""
