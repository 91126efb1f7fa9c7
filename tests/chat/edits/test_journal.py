"""Writing what was agreed to, and taking it back."""

import os
import stat
import time

import msgspec
import pytest
from filelock import FileLock

from paceline.chat.edits import journal as journals
from paceline.chat.edits import store
from paceline.chat.edits.journal import Accepted, Journal
from paceline.errors import InputError


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "state" / "edits")


def put(root, name, data=b"one\r\ntwo"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def leftovers(root):
    return [path.name for path in root.rglob("*.tmp")]


def test_a_change_is_written_and_taken_back_byte_for_byte(root, journal):
    path = put(root, "a.py", b"\xef\xbb\xbfone\r\ntwo")
    before = store.read(root, "a.py")
    entry = journal.apply(root, [Accepted("a.py", before, before.replace("two", "three"))])
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\nthree"
    journal.undo(entry)
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\ntwo"
    assert leftovers(root) == []


def test_a_new_file_comes_with_its_folders_and_goes_again(root, journal):
    entry = journal.apply(root, [Accepted("new/deep/a.py", None, "x\n")])
    assert (root / "new/deep/a.py").read_text() == "x\n"
    journal.undo(entry)
    assert list(root.iterdir()) == []


def test_folders_stay_in_which_something_else_is_by_now(root, journal):
    (root / "old").mkdir()
    entry = journal.apply(root, [Accepted(name, None, "x\n") for name in ("old/a.py", "new/a.py", "new/deep/b.py")])
    put(root, "new/mine.py")
    journal.undo(entry)
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) == ["new", "new/mine.py", "old"]


def test_an_entry_of_an_earlier_version_can_be_undone(root, journal):
    entry = journal.apply(root, [Accepted("new/a.py", None, "x\n")])
    (path,) = (journal.folder / "entries").iterdir()
    older = msgspec.json.decode(path.read_bytes())
    for kept in older["files"]:
        del kept["made"]
    path.write_bytes(msgspec.json.encode(older))
    (known,) = journal.entries()
    assert known.id == entry.id
    journal.undo(known)
    assert list((root / "new").iterdir()) == []


def test_a_journal_in_which_nothing_can_be_written_is_said(root, journal):
    path = put(root, "a.py")
    (journal.folder / "lock").mkdir(parents=True)  # as good as a folder that is read-only, for root too
    with pytest.raises(InputError, match="cannot keep what is changed") as raised:
        journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    assert "whose the folder is" in raised.value.hint
    assert path.read_bytes() == b"one\r\ntwo"


def test_a_deleted_file_comes_back(root, journal):
    path = put(root, "a.py")
    path.chmod(0o750)
    entry = journal.apply(root, [Accepted("a.py", "one\r\ntwo", None)])
    assert not path.exists()
    journal.undo(entry)
    assert path.read_bytes() == b"one\r\ntwo"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_permissions_stay(root, journal):
    path = put(root, "run.sh")
    path.chmod(0o755)
    journal.apply(root, [Accepted("run.sh", "one\r\ntwo", "x")])
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_a_link_stays_a_link(root, journal):
    target = put(root, "real.py")
    (root / "link.py").symlink_to("real.py")
    entry = journal.apply(root, [Accepted("link.py", "one\r\ntwo", "x")])
    assert (root / "link.py").is_symlink()
    assert target.read_text() == "x"
    journal.undo(entry)
    assert target.read_bytes() == b"one\r\ntwo"


def test_a_hard_link_stays_one(root, journal):
    path = put(root, "a.py")
    os.link(path, root / "b.py")
    journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    assert (root / "b.py").read_text() == "x"


def test_a_file_that_has_changed_since_is_left_alone(root, journal):
    path = put(root, "a.py", b"changed")
    with pytest.raises(InputError, match=r"a\.py has been changed since"):
        journal.apply(root, [Accepted("a.py", "one", "two")])
    assert path.read_bytes() == b"changed"
    assert journal.entries() == []


@pytest.mark.parametrize(("name", "before"), [("a.py", None), ("gone.py", "x")])
def test_a_file_that_is_there_or_not_against_expectation_is_left_alone(root, journal, name, before):
    put(root, "a.py")
    with pytest.raises(InputError, match="there"):
        journal.apply(root, [Accepted(name, before, "y")])


def test_all_files_are_written_or_none(root, journal):
    first = put(root, "a.py")
    put(root, "b.py", b"changed")
    with pytest.raises(InputError):
        journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x"), Accepted("b.py", "other", "y")])
    assert first.read_bytes() == b"one\r\ntwo"


def test_a_failure_half_way_puts_everything_back(root, journal, monkeypatch):
    first, second = put(root, "a.py"), put(root, "b.py")
    real = store.write

    def full(file, data, name, mode=None):
        if file == second:
            raise InputError("cannot write b.py: no space left on device")
        real(file, data, name, mode)

    monkeypatch.setattr(store, "write", full)
    with pytest.raises(InputError, match="no space"):
        journal.apply(
            root, [Accepted(name, "one\r\ntwo", "x") for name in ("a.py", "new.py", "b.py") if name != "new.py"]
        )
    assert first.read_bytes() == second.read_bytes() == b"one\r\ntwo"
    assert journal.entries() == []


def test_undoing_is_refused_where_the_file_has_been_changed_since(root, journal):
    path = put(root, "a.py")
    entry = journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    path.write_text("by hand")
    with pytest.raises(InputError, match="changed since"):
        journal.undo(entry)
    assert path.read_text() == "by hand"
    journal.undo(entry, force=True)
    assert path.read_bytes() == b"one\r\ntwo"


def test_undoing_several_files_is_all_or_none(root, journal):
    first, second = put(root, "a.py"), put(root, "b.py")
    entry = journal.apply(root, [Accepted(name, "one\r\ntwo", "x") for name in ("a.py", "b.py")])
    second.write_text("by hand")
    with pytest.raises(InputError):
        journal.undo(entry)
    assert first.read_text() == "x"


def test_the_last_change_of_a_workspace_is_found_by_another_process(root, journal, tmp_path):
    put(root, "a.py")
    first = journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    second = journal.apply(root, [Accepted("a.py", "x", "y")])
    other = Journal(journal.folder)
    assert other.last(root) == second
    assert other.last(tmp_path) is None
    other.undo(second)
    assert other.last(root) == first
    other.undo(first)
    assert other.last(root) is None
    assert list((journal.folder / "texts").iterdir()) == []


def test_what_cannot_be_read_as_text_is_refused(root, journal):
    put(root, "latin.py", b"caf\xe9")
    put(root, "zero", b"a\0b")
    (root / "folder").mkdir()
    (root / "big").write_bytes(b"x" * (store.LARGEST + 1))
    os.mkfifo(root / "pipe")
    for name, why in [
        ("latin.py", "UTF-8"),
        ("zero", "null"),
        ("folder", "regular"),
        ("big", "bytes"),
        ("pipe", "regular"),
    ]:
        with pytest.raises(InputError, match=why):
            store.read(root, name)
    with pytest.raises(InputError, match="UTF-8"):
        journal.apply(root, [Accepted("latin.py", "x", "y")])
    assert store.read(root, "nothing.py") is None


def test_what_cannot_be_written_is_refused(root, journal):
    path = put(root, "a.py")
    path.chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    put(root, "file")
    with pytest.raises(InputError):
        journal.apply(root, [Accepted("file/below.py", None, "x")])
    with pytest.raises(InputError, match="half a character"):
        journal.apply(root, [Accepted("new.py", None, "\ud800")])
    with pytest.raises(InputError, match="nothing to write"):
        journal.apply(root, [Accepted("a.py", "x", "x")])
    with pytest.raises(InputError, match="twice"):
        journal.apply(root, [Accepted("new.py", None, "x"), Accepted("./new.py", None, "y")])


def test_paths_that_lead_out_are_told(root, tmp_path):
    (tmp_path / "other").mkdir()
    (root / "link").symlink_to(tmp_path / "other")
    (root / "loop").symlink_to("loop")
    out = ["../x", "/etc/passwd", "link/x", "a/../../x", "x\0y", str(tmp_path / "work2"), "loop/x"]
    assert [name for name in out if not store.outside(root, name)] in ([], ["loop/x"])  # Python 3.13 follows no loop
    assert [name for name in ("a", "a/b", "./a", "a/../b", str(root / "c"), "..a") if store.outside(root, name)] == []


def test_the_journal_is_private(root, journal):
    put(root, "a.py")
    journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    for path in journal.folder.rglob("*"):
        if path.name != "lock":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_old_and_many_entries_go(root, journal, monkeypatch):
    path = put(root, "a.txt", b"0")
    monkeypatch.setattr(journals, "MOST_ENTRIES", 3)
    for number in range(6):
        journal.apply(root, [Accepted("a.txt", str(number), str(number + 1))])
    assert len(journal.entries()) == 3
    assert len(list((journal.folder / "texts").iterdir())) == 3
    monkeypatch.setattr(time, "time", lambda: 4e9)
    journal.apply(root, [Accepted("a.txt", "6", "7")])
    assert len(journal.entries()) == 1
    journal.undo(journal.entries()[0])
    assert path.read_text() == "6"


def test_entries_go_where_their_texts_are_too_large(root, journal, monkeypatch):
    monkeypatch.setattr(journals, "MOST_BYTES", 2500)
    put(root, "a.txt", b"0" * 1000)
    for number in range(5):
        journal.apply(root, [Accepted("a.txt", str(number) * 1000, str(number + 1) * 1000)])
    assert len(journal.entries()) == 2


def test_a_damaged_journal_is_said_and_changes_nothing(root, journal):
    path = put(root, "a.py")
    entry = journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    (text,) = (journal.folder / "texts").iterdir()
    text.write_bytes(b"other")
    with pytest.raises(InputError, match="damaged"):
        journal.undo(entry)
    text.unlink()
    with pytest.raises(InputError, match="lost"):
        journal.undo(entry)
    assert path.read_text() == "x"
    (journal.folder / "entries" / "1.json").write_bytes(b"{")
    assert journal.entries() == [entry]


def test_entries_are_written_before_the_file_is_touched(root, journal, monkeypatch):
    path = put(root, "a.py")
    seen = []
    real = store.write

    def watched(file, data, name, mode=None):
        if file == path:
            seen.extend(msgspec.json.decode(each.read_bytes()) for each in (journal.folder / "entries").iterdir())
        real(file, data, name, mode)

    monkeypatch.setattr(store, "write", watched)
    journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    assert [each["files"][0]["name"] for each in seen] == ["a.py"]


def test_what_was_never_written_can_be_undone(root, journal, monkeypatch):
    """As after a power failure between the entry and the file."""
    path = put(root, "a.py")
    entry = journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    path.write_bytes(b"one\r\ntwo")
    journal.undo(entry)
    assert path.read_bytes() == b"one\r\ntwo"
    assert journal.entries() == []


def test_a_journal_that_another_program_holds_is_said(root, journal, monkeypatch):
    path = put(root, "a.py")
    journal.folder.mkdir(parents=True)
    monkeypatch.setattr(journals, "PATIENCE", 0)
    with FileLock(journal.folder / "lock"), pytest.raises(InputError, match="another program"):
        journal.apply(root, [Accepted("a.py", "one\r\ntwo", "x")])
    assert path.read_bytes() == b"one\r\ntwo"


def test_a_new_file_has_the_usual_permissions(root, journal):
    journal.apply(root, [Accepted("new.py", None, "x")])
    (root / "usual").touch()
    assert (root / "new.py").stat().st_mode == (root / "usual").stat().st_mode
