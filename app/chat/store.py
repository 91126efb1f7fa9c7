"""Conversations on disk: kept at every turn, and while an answer grows. One SQLite file, for many processes."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection

from paceline.chat import listing, owners, rows, search, sessions, titles, tree, turn_rows
from paceline.chat import unsent as unsents
from paceline.chat.database import Database
from paceline.chat.index import Index
from paceline.chat.listing import Summary
from paceline.chat.owed import Owed
from paceline.chat.turns import Run, Session, Turn, Unsent
from paceline.errors import InputError, ResourceError

__all__ = ["Store", "Summary"]

BRIEFLY = 0.2  # seconds for another process that writes, where somebody is typing or reading an answer as it comes
_STOP = "UPDATE turn SET state = 'stopped', owner = NULL WHERE state = 'streaming' AND owner IS ?"


class Store:
    """Used by the thread that made it. Every method is one transaction: done whole, or not at all.

    Every method raises ResourceError where the file cannot be read or written, for instance as the disk is full; what
    was kept before stays, and the next call may be tried. What `update` and `append` could not keep is remembered, and
    kept with the next change that can be. InputError is raised for a session or turn that is not there: another process
    may have deleted it.

    `note`: for a person, that a damaged file was set aside when this one was opened; "" if none was.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the file, or make it; None for one in memory, that is gone at the end.

        Answers that a process which is gone has left half written are marked as stopped. Raises InputError for a file
        of a newer Paceline or another program, ResourceError where it cannot be opened.
        """
        self._database = Database(path)
        self.note = self._database.note
        self._index = Index(self._database.connection)
        self._owner: int | None = None  # the note that this store writes answers; none until it does
        self._owed = Owed()
        with contextlib.suppress(ResourceError):  # on a full disk the rest can be read all the same
            self._stop_orphans()

    def close(self) -> None:
        """Let go of the file. Answers that this store still writes are marked as stopped."""
        self._settle_if_possible()
        if self._owner is not None:
            with contextlib.suppress(ResourceError), self._database.writing() as connection:
                _forget(connection, self._owner)
        self._owner = None
        self._database.close()

    def create(self, workspace: str, system: str = "", title: str = "") -> Session:
        """A new conversation. Without a title it gets one from its first message."""
        now = time.time()
        with self._database.writing() as connection:
            return sessions.insert(connection, Session("", titles.given(title), workspace, now, now, system))

    def session(self, id: str) -> Session:
        """The conversation with this id, or the only one whose id begins so. Raises InputError."""
        with self._database.reading() as connection:
            return sessions.find(connection, id)

    def latest(self, workspace: str = "") -> Session | None:
        """What was last gone on with in this folder, or in any for ""; None where there is nothing."""
        found = self.list("", workspace, 1)
        return found[0].session if found else None

    def list(self, query: str = "", workspace: str = "", limit: int = 200) -> tuple[Summary, ...]:
        """The last changed conversations; with a query, those that have all its words in their title or messages.

        Words are found inside of others, and whether small or capital; what stands in double quotes is one word.
        """
        words = search.terms(query)
        if not words:
            with self._database.reading() as connection:
                return listing.newest(connection, workspace, limit)
        try:
            with self._database.reading():
                behind = self._index.behind()
            if behind:
                with self._database.writing(lasting=False):
                    self._index.catch_up(growing=True)
            with self._database.reading() as connection:
                return listing.search_all(connection, self._index.holding, words, workspace, limit)
        except ResourceError:  # a full disk, or a damaged index
            with self._database.reading() as connection:
                return listing.search_all(connection, self._index.holding_by_scan, words, workspace, limit)

    def rename(self, id: str, title: str) -> Session:
        """Give it another title; for one that is empty, the one that its first message makes."""
        with self._database.writing() as connection:
            session = sessions.find(connection, id)
            title = titles.given(title) or _made_title(connection, session.id)
            connection.execute("UPDATE session SET title = ? WHERE id = ?", (title, session.id))
            return replace(session, title=title)

    def delete(self, id: str) -> None:
        """Delete it with all its turns, for good."""
        with self._database.writing() as connection:
            session = sessions.find(connection, id)
            turns = connection.execute("SELECT id FROM turn WHERE session = ?", (session.id,)).fetchall()
            connection.execute("DELETE FROM session WHERE id = ?", (session.id,))
        with contextlib.suppress(ResourceError), self._database.writing():
            self._index.drop([turn for (turn,) in turns])
        self._database.wipe()

    def fork(self, id: str, turn: int) -> Session:
        """A new conversation with a copy of the turns that lead to this one. An answer that still grows ends there."""
        with self._database.writing() as connection:
            session = sessions.find(connection, id)
            turns = turn_rows.of_session(connection, session.id)
            if all(each.id != turn for each in turns):
                raise turn_rows.missing(session.id, turn)
            new = replace(session, title=titles.of_fork(session.title), created=time.time(), leaf=turn)
            return _copy(connection, new, tree.path(turns, turn))

    def insert(self, session: Session, turns: Sequence[Turn]) -> Session:
        """A copy of a conversation with all its branches, under a new id: of one that was exported, for instance.

        Raises InputError unless parents stand before their children.
        """
        with self._database.writing() as connection:
            return _copy(connection, session, turns)

    def add(self, session: str, turn: Turn) -> Turn:
        """Keep a new turn, after its parent. It becomes the end of the branch that is shown, and gets its id.

        `created` becomes now where it is 0. Raises InputError for a parent that is not of this session.
        """
        self._settle_if_possible()
        owner = self._own() if turn.state == "streaming" else None
        with self._database.writing() as connection:
            its = sessions.exact(connection, session)
            if turn.parent is not None:
                turn_rows.check(connection, session, turn.parent)
            now = time.time()
            added = turn_rows.insert(connection, session, replace(turn, created=turn.created or now), owner)
            connection.execute("UPDATE session SET leaf = ?, updated = ? WHERE id = ?", (added.id, now, session))
            if not its.title and turn.role == "user":
                connection.execute("UPDATE session SET title = ? WHERE id = ?", (titles.made_of(turn), session))
        self._take_in()
        return added

    def update(self, turn: Turn) -> None:
        """Keep what a turn is now: text, state, model, timings, runs and error. The rest of it never changes.

        Waits for no other process for long, as `append`. Raises InputError for one that another process is writing.
        """
        self._owed.whole(turn.id, lambda connection, owner: turn_rows.update(connection, turn, owner))
        try:
            self.settle()
        except InputError:
            if not self._stop_orphans():
                raise
            self._owed.whole(turn.id, lambda connection, owner: turn_rows.update(connection, turn, owner))
            self.settle()  # whoever wrote it is gone
        self._take_in()

    @property
    def owing(self) -> bool:
        """Whether something of an answer could not be kept yet."""
        return bool(self._owed)

    def settle(self) -> None:
        """Keep what could not be kept before. InputError: some of it never can be, and is forgotten."""
        if not self._owed:
            return
        owner = self._own()
        with self._database.writing(lasting=self._owed.lasting, patience=BRIEFLY) as connection:
            refused = self._owed.pay(connection, owner)
        self._owed.clear()
        if refused is not None:
            raise refused

    def free(self) -> bool:
        """Whether what is kept now has to wait for no other process."""
        return self._database.free()

    def shorten(self, turn: Turn) -> None:
        """Keep what a turn says of those before it: how many the model is not shown, and what stands for them."""
        with self._database.writing() as connection:
            changed = connection.execute(
                "UPDATE turn SET skipped = ?, summary = ? WHERE id = ?",
                (turn.skipped, rows.kept(turn.summary), turn.id),
            )
            if not changed.rowcount:
                raise turn_rows.missing("", turn.id)

    def append(self, turn_id: int, text: str, runs: Sequence[Run]) -> None:
        """Keep more of a growing answer, and who drafted it. Costs the same however long the answer is already.

        Survives a crash of the program; a loss of power may take the last ones, up to the last `add` or `update`.
        Raises InputError for one that another process is writing.
        """
        self._owed.more(turn_id, lambda connection, owner: turn_rows.append(connection, turn_id, text, runs, owner))
        self.settle()

    def turns(self, session: str) -> tuple[Turn, ...]:
        """All turns of all branches, in rising order of their ids."""
        self._settle_if_possible()
        with self._database.reading() as connection:
            sessions.exact(connection, session)
            turns = turn_rows.of_session(connection, session)
            others = connection.execute(
                "SELECT 1 FROM turn WHERE state = 'streaming' AND session = ? AND owner IS NOT ? LIMIT 1",
                (session, self._owner),
            ).fetchone()
        if others and self._stop_orphans():
            with self._database.reading() as connection:
                return turn_rows.of_session(connection, session)
        return turns

    def select(self, session: str, leaf: int | None) -> None:
        """Show the branch that ends with this turn; None for none, as before the first message."""
        with self._database.writing() as connection:
            sessions.exact(connection, session)
            if leaf is not None:
                turn_rows.check(connection, session, leaf)
            connection.execute("UPDATE session SET leaf = ? WHERE id = ?", (leaf, session))

    def set_system(self, session: str, text: str) -> None:
        """Give it another system prompt."""
        with self._database.writing() as connection:
            sessions.exact(connection, session)
            connection.execute("UPDATE session SET system = ? WHERE id = ?", (rows.kept(text), session))

    def keep_unsent(self, unsent: Unsent, session: str, workspace: str, *, shown: bool = True) -> None:
        """Keep what was begun in a session and not sent. session: "" for one of this folder that is not begun yet.

        shown: a window has it, from which no other takes it. Survives a crash of the program; a loss of power may take
        what was written in the last seconds. Waits for no other process for long.
        """
        owner = self._own()
        with self._database.writing(lasting=False, patience=BRIEFLY) as connection:
            if session:
                sessions.exact(connection, session)
            unsents.keep(connection, owner, session or None, workspace, unsent, shown=shown)
        if unsent == Unsent():
            self._database.wipe()

    def unsent(self, session: str, workspace: str) -> Unsent | None:
        """What this process kept so, or one that is gone. What another window shows stays that one's."""
        with self._database.reading() as connection:
            found = unsents.find(connection, self._owner, session or None, workspace)
        if found is None:
            return None
        with contextlib.suppress(ResourceError):  # it can be shown all the same
            owner = self._own()
            with self._database.writing(lasting=False, patience=BRIEFLY) as connection:
                unsents.own(connection, owner, found[0])
        return found[1]

    def _take_in(self) -> None:
        """Let the index know of new texts: apart from keeping them, as its failure must not be theirs."""
        with contextlib.suppress(ResourceError), self._database.writing(lasting=False, patience=BRIEFLY):
            self._index.catch_up()

    def _settle_if_possible(self) -> None:
        with contextlib.suppress(ResourceError, InputError):
            self.settle()

    def _own(self) -> int:
        """The note that this process writes answers, made when it is needed first."""
        if self._owner is None:
            with self._database.writing(lasting=False, patience=BRIEFLY) as connection:
                owner = owners.enter(connection)
            self._owner = owner
        return self._owner

    def _stop_orphans(self) -> bool:
        """Mark as stopped what nobody writes any more. Whether there was any."""
        with self._database.reading() as connection:
            writers = connection.execute(
                "SELECT turn.owner, pid, started, host, max(updated) FROM turn JOIN session ON session.id = session "
                "LEFT JOIN owner ON owner.id = turn.owner WHERE state = 'streaming' GROUP BY turn.owner"
            ).fetchall()
        gone = [
            owner
            for owner, pid, started, host, updated in writers
            if owner != self._owner and (pid is None or not owners.lives(pid, started, host, time.time() - updated))
        ]
        if gone:
            with self._database.writing() as connection:
                for owner in gone:
                    _forget(connection, owner)
        return bool(gone)


def _forget(connection: Connection, owner: int | None) -> None:
    """Whoever this was writes no more."""
    connection.execute(_STOP, (owner,))
    if owner is not None:
        unsents.let_go(connection, owner)
    connection.execute("DELETE FROM owner WHERE id IS ?", (owner,))


def _copy(connection: Connection, session: Session, turns: Sequence[Turn]) -> Session:
    """Keep a session and these turns of it under new ids. Raises InputError."""
    fresh = replace(session, title=titles.given(session.title), updated=time.time(), leaf=None)
    new = sessions.insert(connection, fresh)
    ids: dict[int | None, int | None] = {None: None}
    for turn in turns:
        if turn.parent not in ids or turn.id in ids:
            raise InputError(f"turn {turn.id} does not follow a turn before it", "the file may be damaged")
        state = "stopped" if turn.state == "streaming" else turn.state
        added = turn_rows.insert(connection, new.id, replace(turn, parent=ids[turn.parent], state=state), None)
        ids[turn.id] = added.id
    if session.leaf not in ids:
        raise InputError(f"turn {session.leaf}, the last one shown, is missing", "the file may be damaged")
    connection.execute("UPDATE session SET leaf = ? WHERE id = ?", (ids[session.leaf], new.id))
    return replace(new, leaf=ids[session.leaf])


def _made_title(connection: Connection, session: str) -> str:
    """What the first message makes; "" where there is none."""
    first = connection.execute(
        f"SELECT {rows.TURN} FROM turn WHERE session = ? AND role = 'user' ORDER BY id LIMIT 1",  # noqa: S608
        (session,),
    ).fetchone()
    return titles.made_of(rows.Reader().turn(first)) if first else ""
