"""Files are read whatever they are, and nothing outside of the workspace is."""

import os

import pytest

from paceline.workspace import files


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("naïve 漢字".encode(), "naïve 漢字"),
        (b"\xef\xbb\xbfx", "x"),
        ("naïve".encode("utf-16"), "naïve"),
        ("naïve".encode("utf-32"), "naïve"),
        ("# coding: koi8-r\nЖЩЮ".encode("koi8-r"), "# coding: koi8-r\nЖЩЮ"),
        ("naïve".encode("latin-1"), "naïve"),
        (b"# coding: nonsense\n\xff", "# coding: nonsense\nÿ"),
        (b"# coding: hex\n\xff", "# coding: hex\nÿ"),
        (b"", ""),
    ],
)
def test_bytes_are_read_as_what_they_say_they_are(data, text):
    assert files.decoded(data) == text


def test_all_line_ends_become_one_kind(tmp_path):
    (tmp_path / "a").write_bytes(b"1\r\n2\r3\n")
    assert files.read(tmp_path / "a") == "1\n2\n3\n"


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (files.LARGEST + 1))
    (tmp_path / "fits").write_bytes(b"x" * files.LARGEST)
    assert files.read(tmp_path / "large") is None
    assert files.stamp(tmp_path / "large") is None
    assert files.read(tmp_path / "fits") is not None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names on Unix only")
@pytest.mark.timeout(10)
def test_a_pipe_holds_nothing_up(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert files.read(tmp_path / "pipe") is None
    assert files.stamp(tmp_path / "pipe") is None


def test_folders_missing_files_and_impossible_names_are_no_files(tmp_path):
    for path in (tmp_path, tmp_path / "missing", tmp_path / "a\0b"):
        assert files.read(path) is None
        assert files.stamp(path) is None


def test_a_link_within_the_workspace_is_followed_and_one_that_leads_out_is_not(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.py").write_text("x")
    (tmp_path / "out.py").write_text("x")
    (root / "a.py").symlink_to(root / "in.py")
    (root / "b.py").symlink_to(tmp_path / "out.py")
    (root / "c.py").symlink_to(root / "c.py")
    (root / "d").symlink_to(tmp_path)
    assert files.within(str(root), "a.py") == (root / "in.py").resolve()
    for path in ("b.py", "c.py", "d/out.py", "../out.py", "missing", "a\0b"):
        assert files.within(str(root), path) is None


def test_a_folder_that_may_not_be_looked_into_is_as_good_as_empty(tmp_path, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(13, "forbidden")

    (tmp_path / "a.py").write_text("x")
    monkeypatch.setattr(type(tmp_path), "stat", forbidden)
    monkeypatch.setattr(os, "open", forbidden)
    assert not files.there(tmp_path / "a.py")
    assert files.stamp(tmp_path / "a.py") is None
    assert files.read(tmp_path / "a.py") is None


def test_a_changed_file_has_another_stamp(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("one")
    before = files.stamp(path)
    assert files.stamp(path) == before
    path.write_text("three")
    assert files.stamp(path) != before
