"""Texts of files are read once, and again as soon as a file is another one."""

import os

import pytest

from paceline.chat.context import remembering
from paceline.chat.context.attaching import Attaching
from paceline.chat.context.remembering import Texts
from paceline.errors import InputError

KEY = "ghp_" + "a1B2" * 9
HOUR = 3600 * 10**9


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(remembering, "RECENT", -HOUR)  # nothing is too new to be remembered
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    return path


@pytest.fixture
def reads(monkeypatch):
    """The names that were read."""
    found = []
    whole = remembering.read_text

    def read(path, name, most):
        found.append(name)
        return whole(path, name, most)

    monkeypatch.setattr(remembering, "read_text", read)
    return found


def test_a_file_that_nobody_has_touched_is_read_once(file, reads):
    texts = Texts()
    first = texts.read(file, "a.py")
    assert first == ("x = 1\n", False)
    assert texts.read(file, "a.py")[0] is first[0]
    assert reads == ["a.py"]


def test_a_file_of_another_size_is_read_again(file):
    texts = Texts()
    texts.read(file, "a.py")
    file.write_text("x = 10\n")
    assert texts.read(file, "a.py")[0] == "x = 10\n"


def test_a_file_of_the_same_size_at_another_time_is_read_again(file):
    texts = Texts()
    texts.read(file, "a.py")
    file.write_text("x = 2\n")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + HOUR // 2))
    assert texts.read(file, "a.py")[0] == "x = 2\n"


def test_another_file_in_its_place_with_its_size_and_its_time_is_read_again(file):
    texts = Texts()
    texts.read(file, "a.py")
    other = file.with_name("b.py")
    other.write_text("x = 3\n")
    os.utime(other, ns=(0, file.stat().st_mtime_ns))
    other.replace(file)
    assert texts.read(file, "a.py")[0] == "x = 3\n"


def test_a_file_that_has_only_just_changed_is_read_again_as_its_time_may_stay(file, reads, monkeypatch):
    monkeypatch.setattr(remembering, "RECENT", HOUR)
    texts = Texts()
    for _ in range(2):
        texts.read(file, "a.py")
    assert reads == ["a.py", "a.py"]


def test_a_file_that_has_gone_is_gone(file):
    texts = Texts()
    texts.read(file, "a.py")
    file.unlink()
    with pytest.raises(InputError, match="cannot read"):
        texts.read(file, "a.py")


def test_what_is_remembered_is_still_too_large_where_less_is_asked_for(file):
    texts = Texts()
    texts.read(file, "a.py")
    with pytest.raises(InputError, match="larger than 3 bytes"):
        texts.read(file, "a.py", 3)


def test_secrets_are_not_remembered_and_it_is(file):
    file.write_text(f"KEY = '{KEY}'\n")
    texts = Texts()
    for _ in range(2):
        text, hidden = texts.read(file, "a.py")
        assert hidden
        assert KEY not in text
    assert KEY not in repr(texts._known)


def test_no_more_is_remembered_than_there_is_room_for(file, reads, monkeypatch):
    monkeypatch.setattr(remembering, "MOST", 20)
    texts = Texts()
    names = [f"{at}.py" for at in range(4)]
    for name in names:
        (file.parent / name).write_text("1234567\n")
        texts.read(file.parent / name, name)
    reads.clear()
    for name in reversed(names):
        texts.read(file.parent / name, name)
    assert reads == ["1.py", "0.py"]


def test_a_mention_is_read_once_while_a_question_is_typed(file, reads):
    (file.parent / "app").mkdir()
    (file.parent / "app/b.py").write_text("def f(): ...\n")
    attaching = Attaching(file.parent)
    for _ in range(3):
        attaching.file("a.py")
        attaching.file("a.py", 1, 1)
        attaching.folder("app/")
    assert reads == ["a.py", "b.py"]
