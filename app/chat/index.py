"""Which turns hold a word: with an index of all three-letter pieces where SQLite has one, else by looking at all texts.

The index only narrows down; whether a word is there is decided on the text, so that both ways find the same.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator

from paceline.chat.rows import told
from paceline.chat.search import fold

PIECES = 48  # of a word, that the index is asked for
_CREATE = "CREATE VIRTUAL TABLE found USING fts5 (text, tokenize = 'trigram case_sensitive 1', detail = none)"
_SCOPE = "JOIN session ON session.id = turn.session WHERE (:workspace IS NULL OR workspace = :workspace)"
_LACKS = ("no such module", "no such tokenizer", "error in tokenizer")  # an SQLite without FTS5, or before 3.34


class Index:
    """Of the turns in one database. All methods run within a transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._usable: bool | None = None  # not tried yet

    def behind(self) -> bool:
        """Whether the index can be used, or may be, and does not know all texts."""
        if self._usable is False:
            return False
        unknown = self._connection.execute("SELECT 1 FROM turn WHERE indexed = 0 LIMIT 1").fetchone()
        return self._usable is None or unknown is not None

    def catch_up(self, *, growing: bool = False) -> None:
        """Take in all texts that changed; of answers that grow only if asked. Needs a transaction that may write."""
        if self._ready():
            which = "indexed = 0" if growing else "indexed = 0 AND state <> 'streaming'"
            for (turn,) in self._connection.execute(f"SELECT id FROM turn WHERE {which}").fetchall():  # noqa: S608
                text = fold(text_of(self._connection, turn))
                self._connection.execute("DELETE FROM found WHERE rowid = ?", (turn,))
                self._connection.execute("INSERT INTO found (rowid, text) VALUES (?, ?)", (turn, text))
                self._connection.execute("UPDATE turn SET indexed = 1 WHERE id = ?", (turn,))

    def drop(self, turns: Iterable[int]) -> None:
        """Forget these turns. Needs a transaction that may write."""
        if self._ready():
            self._connection.executemany("DELETE FROM found WHERE rowid = ?", ((turn,) for turn in turns))

    def holding(self, word: str, workspace: str | bytes | None) -> Iterator[tuple[str, int]]:
        """Session and number of every turn whose text has this folded word; of a workspace, or None for all."""
        if not self._usable or self.behind():
            yield from self.holding_by_scan(word, workspace)
            return
        pieces = _query(word)
        matching = "found MATCH :pieces AND" if pieces else ""
        yield from self._connection.execute(
            f"SELECT turn.session, turn.id FROM found JOIN turn ON turn.id = found.rowid {_SCOPE} "  # noqa: S608 - ours
            f"AND {matching} instr(found.text, :word)",
            {"word": word, "workspace": workspace, "pieces": pieces},
        )

    def holding_by_scan(self, word: str, workspace: str | bytes | None) -> Iterator[tuple[str, int]]:
        """The same without the index."""
        more: dict[int, str] = defaultdict(str)
        for turn, text in self._connection.execute("SELECT turn, text FROM piece ORDER BY id"):
            more[turn] += told(text)
        scope = f"SELECT session, turn.id, text FROM turn {_SCOPE}"  # noqa: S608 - ours
        for session, turn, text in self._connection.execute(scope, {"workspace": workspace}):
            if word in fold(told(text) + more.get(turn, "")):
                yield session, turn

    def _ready(self) -> bool:
        """Whether SQLite has what the index needs; makes it where it is missing."""
        if self._usable is None:
            try:
                known = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'found'").fetchone()
                self._connection.execute("SELECT rowid FROM found LIMIT 1" if known else _CREATE).fetchone()
                self._usable = True
            except sqlite3.OperationalError as error:
                if not str(error).startswith(_LACKS):
                    raise
                self._usable = False
        return self._usable


def text_of(connection: sqlite3.Connection, turn: int) -> str:
    """The whole text of a turn, also of one that grows; "" for one that is gone."""
    parts = connection.execute(
        "SELECT text FROM (SELECT 0 AS id, text FROM turn WHERE id = :turn "
        "UNION ALL SELECT id, text FROM piece WHERE turn = :turn) ORDER BY id",
        {"turn": turn},
    )
    return "".join(told(text) for (text,) in parts)


def _query(word: str) -> str:
    """For the index: all pieces of three characters, "" for a word that has none. No operator can stand in it."""
    pieces = dict.fromkeys(word[at : at + 3] for at in range(min(len(word) - 2, PIECES)))
    return " AND ".join('"' + piece.replace('"', '""') + '"' for piece in pieces)
