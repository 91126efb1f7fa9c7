"""The tables of the file that sessions are kept in, and how an older file becomes one of today."""

import sqlite3

from paceline.errors import InputError

APPLICATION = 0x5061634C  # "PacL", in the file's header: tells our files from those of other programs

# Texts that SQLite cannot hold as TEXT (lone surrogates, NUL) are kept as BLOB; see rows.py. A turn's parent and a
# session's leaf are checked by the store and not by foreign keys, whose cascades end at a depth of 1,000.
_FIRST = (
    """CREATE TABLE session (
        id TEXT PRIMARY KEY NOT NULL,
        title NOT NULL,
        workspace NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        system NOT NULL,
        leaf INTEGER
    )""",
    "CREATE INDEX session_updated ON session (updated)",
    # a process that writes answers: from its number and start others see whether it is still there
    """CREATE TABLE owner (
        id INTEGER PRIMARY KEY,
        pid INTEGER NOT NULL,
        started REAL NOT NULL,
        host TEXT NOT NULL
    )""",
    # AUTOINCREMENT: the number of a turn that was deleted never comes again. What may be long stands last: SQLite reads
    # a row from its start.
    """CREATE TABLE turn (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
        parent INTEGER,
        role TEXT NOT NULL,
        state TEXT NOT NULL,
        created REAL NOT NULL,
        owner INTEGER,
        indexed INTEGER NOT NULL DEFAULT 0,
        model NOT NULL,
        error NOT NULL,
        skipped INTEGER NOT NULL DEFAULT 0,
        summary NOT NULL DEFAULT '',
        timings NOT NULL,
        runs NOT NULL,
        text NOT NULL,
        attached NOT NULL
    )""",
    "CREATE INDEX turn_session ON turn (session)",
    "CREATE INDEX turn_streaming ON turn (id) WHERE state = 'streaming'",
    "CREATE INDEX turn_unindexed ON turn (id) WHERE indexed = 0",
    # what a streaming answer grows by, so that what stands is not written again each time
    """CREATE TABLE piece (
        id INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
        text NOT NULL,
        runs NOT NULL
    )""",
    "CREATE INDEX piece_turn ON piece (turn)",
)
_UNSENT = (
    # what stands in a prompt, attached and waiting. session: NULL for one that nothing has been said in yet; owner: the
    # process that shows it, NULL where nobody does
    """CREATE TABLE unsent (
        id INTEGER PRIMARY KEY,
        session TEXT REFERENCES session (id) ON DELETE CASCADE,
        workspace NOT NULL,
        owner INTEGER,
        kept REAL NOT NULL,
        content NOT NULL
    )""",
    "CREATE INDEX unsent_session ON unsent (session)",
)
_LONG = (
    # long texts of what is attached to it, so that they are not written again with each word that is typed
    """CREATE TABLE unsent_text (
        id INTEGER PRIMARY KEY,
        unsent INTEGER NOT NULL REFERENCES unsent (id) ON DELETE CASCADE,
        digest TEXT NOT NULL,
        text NOT NULL
    )""",
    "CREATE UNIQUE INDEX unsent_text_digest ON unsent_text (unsent, digest)",
)
MIGRATIONS = (_FIRST, _UNSENT, _LONG)  # what leads from version 0 to 1, from 1 to 2, and so on; none is ever changed
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the tables up to date, all of it or nothing; begins and ends its own transaction.

    Raises InputError for a file that a newer Paceline or another program has written.
    """
    if version_of(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    for steps in MIGRATIONS[version_of(connection, path) :]:  # again: another process may have been faster
        for statement in steps:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def forget_index(connection: sqlite3.Connection) -> None:
    """Have the index of words made anew when it is needed next."""
    connection.execute("DROP TABLE IF EXISTS found")
    connection.execute("UPDATE turn SET indexed = 0")


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The version of the tables; 0 for a new file. Raises InputError."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or tables or version):
        raise InputError(f"{path} is another program's file", "name another place for the sessions")
    if version > VERSION:
        raise InputError(
            f"the sessions in {path} were written by a newer Paceline (version {version} of its tables, not {VERSION})",
            "update Paceline, or move the file away to begin anew",
        )
    return int(version)
