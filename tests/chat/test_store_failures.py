"""Sessions outlive crashes, full disks, damaged files and other processes."""

import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.chat import schema
from paceline.chat.store import Store
from paceline.chat.turns import Run
from paceline.errors import InputError, ResourceError
from support import stream_writer
from support.written_turns import answer, user


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "sessions.sqlite3"


class Writer:
    """Another process that writes an answer; see support/stream_writer.py."""

    def __init__(self, file: Path) -> None:
        command = [sys.executable, stream_writer.__file__, str(file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._said = self._process.stdout
        session, turn = self._said.readline().split()
        self.session, self.turn = session, int(turn)
        self.kept = 0  # pieces that it said are kept

    def wait_for(self, pieces: int) -> None:
        """Until so many pieces are kept."""
        while self.kept < pieces:
            self.kept = int(self._said.readline()) + 1

    def kill(self) -> None:
        """At once, wherever it is."""
        self._process.send_signal(signal.SIGKILL)
        for line in self._said:
            if line.endswith("\n"):  # the last one may be cut
                self.kept = int(line) + 1
        self._process.wait(timeout=30)


@pytest.fixture
def writer(file: Path) -> Iterator[Writer]:
    started = Writer(file)
    yield started
    started.kill()


def test_a_killed_process_loses_nothing_that_was_kept(file, writer):
    writer.wait_for(50)
    writer.kill()
    store = Store(file)
    _, turn = store.turns(writer.session)
    pieces = turn.text.splitlines(keepends=True)
    assert writer.kept <= len(pieces) <= writer.kept + 1
    assert pieces == [stream_writer.piece(number) for number in range(len(pieces))]
    assert turn.state == "stopped"
    assert turn.runs == (Run("draft", len(turn.text)),)
    assert store.latest().id == writer.session
    assert store.session(writer.session).title == "Tell me a story"
    assert store.note == ""
    store.close()


def test_the_answer_of_a_living_process_is_left_alone_until_it_is_gone(file, writer):
    writer.wait_for(1)
    store = Store(file)
    assert store.turns(writer.session)[1].state == "streaming"
    store.add(store.create("/work").id, user("written meanwhile"))
    writer.wait_for(10)
    writer.kill()
    assert store.turns(writer.session)[1].state == "stopped"
    store.close()


def test_a_process_with_the_same_number_as_one_that_is_gone_is_not_taken_for_it(file):
    store = Store(file)
    session = store.create("/work")
    store.add(session.id, answer("half", None, "streaming"))
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE owner SET started = started - 1000")
        other.commit()
    second = Store(file)
    assert second.turns(session.id)[0].state == "stopped"
    second.close()
    store.close()


@pytest.mark.parametrize(("silent", "state"), [(3600, "streaming"), (2 * 86400, "stopped")])
def test_a_writer_on_another_machine_is_given_a_day(file, silent, state):
    store = Store(file)
    session = store.create("/work")
    store.add(session.id, answer("half", None, "streaming"))
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE owner SET host = 'elsewhere', pid = 999999999")
        other.execute("UPDATE session SET updated = updated - ?", (silent,))
        other.commit()
    second = Store(file)
    assert second.turns(session.id)[0].state == state
    second.close()
    store.close()


def test_what_a_store_still_writes_is_stopped_when_it_is_closed(file):
    store, other = Store(file), Store(file)
    session = store.create("/work")
    turn = store.add(session.id, answer("", None, "streaming"))
    store.append(turn.id, "half", ())
    assert other.turns(session.id)[0].state == "streaming"
    store.close()
    (found,) = other.turns(session.id)
    assert (found.state, found.text) == ("stopped", "half")
    other.close()


def test_a_turn_that_was_taken_for_stopped_can_be_finished_all_the_same(file):
    store = Store(file)
    session = store.create("/work")
    turn = store.add(session.id, answer("", None, "streaming"))
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE turn SET state = 'stopped', owner = NULL")
        other.commit()
    store.append(turn.id, "more", ())
    store.update(replace(turn, text="more and more", state="done"))
    assert store.turns(session.id)[0].state == "done"
    store.close()


def test_many_processes_begin_the_same_file_and_write_at_once(file):
    code = (
        "import sys; from pathlib import Path; from paceline.chat.store import Store; "
        "from paceline.chat.turns import Turn\n"
        "store = Store(Path(sys.argv[1])); session = store.create('/work')\n"
        "for n in range(15): store.add(session.id, Turn(0, None, 'user', f'text {n}'))\n"
        "assert len(store.list('text')) >= 1; store.close()"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(file)]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    store = Store(file)
    assert [summary.turns for summary in store.list("text")] == [15] * 4
    store.close()


def test_nobody_else_may_read_what_is_kept(file):
    store = Store(file)
    store.add(store.create("/work").id, user("secret"))
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {0o600}
    assert len(list(file.parent.iterdir())) == 3  # the log and its index, too
    store.close()
    file.chmod(0o644)
    Store(file).close()
    assert file.stat().st_mode & 0o777 == 0o600


def damaged(file: Path, content: bytes | None = None) -> str:
    """A file with one session, and then other bytes in it. The session's id."""
    store = Store(file)
    session = store.create("/work")
    for number in range(50):
        store.add(session.id, user(f"{number} " * 500))
    store.close()
    if content is None:  # a page in the middle, and not the first
        whole = bytearray(file.read_bytes())
        whole[8192 : len(whole) // 2] = bytes(len(whole) // 2 - 8192)
        content = bytes(whole)
    file.write_bytes(content)
    return session.id


def set_aside(file: Path) -> list[Path]:
    return sorted(file.parent.glob("*.damaged-*"))


@pytest.mark.parametrize("content", [b"this is no database at all " * 100, b"SQLite format 3\0" + bytes(4080)])
def test_a_damaged_file_is_set_aside_whole_and_a_new_one_begun(file, content):
    damaged(file, content)
    store = Store(file)
    (aside,) = set_aside(file)
    assert aside.read_bytes() == content
    assert str(aside) in store.note and "\n" not in store.note
    assert store.list() == ()
    store.add(store.create("/work").id, user("again"))
    store.close()
    again = Store(file)
    assert (again.note, len(again.list())) == ("", 1)
    again.close()


def test_damage_that_is_met_later_is_said_and_the_file_is_set_aside_at_the_next_start(file):
    id = damaged(file)
    store = Store(file)
    with pytest.raises(ResourceError, match="malformed") as error:
        store.turns(id)
    assert "start Paceline again" in error.value.hint
    store.close()
    assert set_aside(file) == []
    store = Store(file)
    assert len(set_aside(file)) == 1 and store.note
    store.close()


def test_a_second_damaged_file_does_not_replace_the_first(file, monkeypatch):
    monkeypatch.setattr("time.strftime", lambda _: "today")
    for content in (b"one" * 1000, b"two" * 1000):
        damaged(file, content)
        Store(file).close()
    assert [path.read_bytes()[:3] for path in set_aside(file)] == [b"one", b"two"]


def test_a_damaged_index_costs_nothing_but_time(file):
    store = Store(file)
    session = store.create("/work", title="t")
    store.add(session.id, user("with needle"))
    store.close()
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE found_data SET block = x'00ff00ff00ff' WHERE id >= 10")
        other.commit()
    store = Store(file)
    assert len(store.list("needle")) == 1
    store.close()
    store = Store(file)
    assert (len(store.list("needle")), store.note) == (1, "")
    store.add(session.id, user("another thimble"))
    assert len(store.list("thimble")) == 1
    store.close()


def test_a_newer_file_is_refused_with_a_hint_and_left_as_it_is(file):
    Store(file).close()
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = file.read_bytes()
    with pytest.raises(InputError, match="newer Paceline") as error:
        Store(file)
    assert "update Paceline" in error.value.hint
    assert file.read_bytes() == before


def test_another_programs_file_is_refused_and_left_as_it_is(file):
    file.parent.mkdir()
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE bookmarks (url)")
        other.commit()
    with pytest.raises(InputError, match="another program"):
        Store(file)
    with contextlib.closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]


def test_a_folder_in_the_place_of_the_file_is_said(file):
    file.mkdir(parents=True)
    with pytest.raises(ResourceError, match="cannot be opened"):
        Store(file)


def test_a_file_in_the_place_of_the_folder_is_said(file):
    file.parent.write_text("")
    with pytest.raises(ResourceError, match="cannot be opened"):
        Store(file)


@contextlib.contextmanager
def full_disk(at: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_said_and_what_was_kept_stays_and_it_goes_on_when_there_is_room(file):
    store = Store(file)
    session = store.create("/work")
    first = store.add(session.id, user("kept"))
    growing = store.add(session.id, answer("", first.id, "streaming"))
    before = store.turns(session.id)
    size = file.with_name(file.name + "-wal").stat().st_size
    with full_disk(size):
        for act in (
            lambda: store.add(session.id, user("x" * 100_000)),
            lambda: store.append(growing.id, "x" * 100_000, ()),
            lambda: store.update(replace(growing, text="x" * 100_000)),
            lambda: store.create("/work"),
            lambda: store.delete(session.id),
        ):
            with pytest.raises(ResourceError) as error:
                act()
            assert "free some space" in error.value.hint
        assert store.turns(session.id) == before
        assert len(store.list("kept")) == 1
    store.append(growing.id, "on we go", ())
    store.update(replace(growing, text="on we go", state="done"))
    assert [turn.text for turn in store.turns(session.id)] == ["kept", "on we go"]
    store.close()


def test_the_file_opens_on_a_full_disk_even_if_an_answer_was_left_half_written(file, writer):
    writer.wait_for(3)
    writer.kill()
    Store(file.with_name("copy")).close()
    with full_disk(2**20):  # room for the index of the log, and none for more
        store = Store(file)
    assert len(store.turns(writer.session)) == 2
    store.close()


def test_waiting_for_another_writer_ends_with_a_reason(file, monkeypatch):
    monkeypatch.setattr("paceline.chat.database.PATIENCE", 0.05)
    store = Store(file)
    session = store.create("/work")
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ResourceError, match="locked") as error:
            store.add(session.id, user("Hi"))
        assert "another Paceline is writing" in error.value.hint
        assert store.turns(session.id) == ()
        other.execute("ROLLBACK")
    store.add(session.id, user("Hi"))
    store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_said(file):
    file.parent.mkdir(mode=0o500)
    with pytest.raises(ResourceError, match="cannot be opened"):
        Store(file)


def test_a_file_that_is_gone_while_it_is_open_does_not_raise_anything_unknown(file):
    store = Store(file)
    session = store.create("/work")
    shutil.rmtree(file.parent)
    with contextlib.suppress(ResourceError):
        store.add(session.id, user("Hi"))
    store.close()
    again = Store(file)
    assert again.list() == ()
    again.close()


def test_a_closed_store_says_so_and_may_be_closed_again(file):
    store = Store(file)
    session = store.create("/work")
    store.close()
    for act in (lambda: store.turns(session.id), lambda: store.add(session.id, user("Hi")), lambda: store.list("hi")):
        with pytest.raises(ResourceError, match="closed"):
            act()
    store.close()


def test_an_interrupted_change_is_not_made(file, monkeypatch):
    store = Store(file)
    session = store.create("/work")

    def interrupted(turn):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("paceline.chat.titles.made_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.add(session.id, user("Hi"))
    assert store.turns(session.id) == ()
    store.add(session.id, user("Hello"))
    assert [turn.text for turn in store.turns(session.id)] == ["Hello"]
    store.close()


def test_opening_needs_psutil_only_where_an_answer_was_left(file):
    code = (
        "import sys; from pathlib import Path; from paceline.chat.store import Store\n"
        "Store(Path(sys.argv[1])).list('x')\n"
        "heavy = {'psutil', 'numpy', 'rich', 'textual', 'filelock', 'pygments', 'markdown_it', 'llama_cpp'}\n"
        "print(*heavy & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout.strip()) == (0, ""), ended.stderr
