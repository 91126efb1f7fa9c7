"""The daemon's folder: ours alone or refused, with a socket path that fits, and locks that no crash leaves behind."""

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile

import pytest

from paceline import paths
from paceline.daemon.runtime import LONGEST_SOCKET, Runtime, State, access_token, private, socket_path
from paceline.errors import ConfigError, PacelineError
from support.daemons import session

ROOT = os.getuid() == 0


@pytest.fixture
def own(tmp_path, monkeypatch):
    with session(tmp_path, monkeypatch) as opened:
        yield opened


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_follows_the_session_and_is_made_for_its_owner_alone(own):
    folder = Runtime.open().folder
    assert folder == own.root / "runtime_dir/paceline" == paths.runtime_dir()
    assert mode(folder) == 0o700


def test_without_a_session_folder_that_can_be_trusted_the_person_is_told(monkeypatch):
    def unsafe(*_, **__):
        raise PermissionError("/tmp/runtime-1 is owned by uid 2")

    monkeypatch.setattr("platformdirs.user_runtime_path", unsafe)
    with pytest.raises(ConfigError, match="owned by uid 2") as told:
        paths.runtime_dir()
    assert "XDG_RUNTIME_DIR" in told.value.hint


def test_a_folder_that_is_there_already_is_used(tmp_path):
    assert private(tmp_path / "a") == private(tmp_path / "a")


@pytest.mark.parametrize("open_to", [0o750, 0o701, 0o770, 0o777])
def test_a_folder_that_others_may_look_into_is_refused(tmp_path, open_to):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(open_to)
    with pytest.raises(PacelineError, match=f"others may look into .*{open_to:04o}") as refused:
        private(tmp_path / "a")
    assert "XDG_RUNTIME_DIR" in refused.value.hint


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    private(tmp_path / "a")
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(PacelineError, match=f"belongs to user {owner}"):
        private(tmp_path / "a")


@pytest.mark.skipif(not ROOT, reason="only root can give a folder away")
def test_a_folder_in_somebody_else_s_folder_is_refused(tmp_path):
    private(tmp_path / "theirs/ours")
    os.chown(tmp_path / "theirs", 12345, 12345)
    with pytest.raises(PacelineError, match="theirs belongs to user 12345"):
        private(tmp_path / "theirs/ours")


def test_a_folder_that_anybody_may_replace_is_refused_unless_names_are_protected_there(tmp_path):
    private(tmp_path / "all/ours")
    (tmp_path / "all").chmod(0o777)
    with pytest.raises(PacelineError, match="anybody may rename"):
        private(tmp_path / "all/ours")
    (tmp_path / "all").chmod(0o1777)
    assert private(tmp_path / "all/ours")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_the_folder_s_place_is_refused(tmp_path, kind):
    if kind == "file":
        (tmp_path / "a").touch(0o600)
    else:
        (tmp_path / "a").symlink_to(private(tmp_path / "elsewhere"))
    with pytest.raises(PacelineError, match="is not a folder"):
        private(tmp_path / "a")


def test_a_folder_that_cannot_be_made_is_explained(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(PacelineError, match=r"cannot use the folder .*Not a directory"):
        private(tmp_path / "a/b/c")


# --- the socket's path ------------------------------------------------------------------------------------------------


def bindable(path):
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    return True


@pytest.fixture
def short(monkeypatch):
    """A folder for temporary files with a short name, as most are."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="t") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield folder


def folder_with_socket_of(length, below):
    name = "d" * (length - len(os.fsencode(below)) - len("//daemon.sock"))
    return private(below / name)


def test_the_longest_path_that_fits_is_used(tmp_path, short):
    folder = folder_with_socket_of(LONGEST_SOCKET, tmp_path)
    path = socket_path(folder)
    assert path.parent == folder
    assert bindable(path)


def test_a_longer_one_is_replaced_by_one_in_a_private_folder_for_temporary_files(tmp_path, short):
    paths_found = [socket_path(folder_with_socket_of(LONGEST_SOCKET + more, tmp_path)) for more in (1, 2)]
    assert len(set(paths_found)) == 2
    for path in paths_found:
        assert str(path).startswith(short)
        assert mode(path.parent) == 0o700
        assert bindable(path)


def test_a_long_path_means_the_same_socket_every_time(tmp_path, short):
    folder = folder_with_socket_of(LONGEST_SOCKET + 1, tmp_path)
    assert socket_path(folder) == socket_path(folder)


def test_the_folder_for_temporary_files_is_checked_too(tmp_path, short):
    folder = folder_with_socket_of(LONGEST_SOCKET + 1, tmp_path)
    socket_path(folder).parent.chmod(0o755)
    with pytest.raises(PacelineError, match="others may look into"):
        socket_path(folder)


def test_without_any_short_folder_the_person_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("t" * 100)))
    with pytest.raises(PacelineError, match="too long for a socket"):
        socket_path(tmp_path / ("d" * 100))


# --- who runs ---------------------------------------------------------------------------------------------------------


def test_who_runs_is_written_for_the_owner_alone(own):
    state = State(12, "1.0", "http://127.0.0.1:8765", "secret")
    own.runtime.write(state)
    assert own.runtime.state() == state
    assert mode(own.runtime.state_file) == 0o600
    assert [path.name for path in own.runtime.folder.iterdir()] == ["daemon.json"]


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"pid": "x"}', b"\xff"])
def test_a_state_that_cannot_be_read_is_none(own, content):
    if content is not None:
        own.runtime.state_file.write_bytes(content)
    assert own.runtime.state() is None


def test_the_folder_is_occupied_while_a_daemon_lives(own):
    assert not own.runtime.occupied()
    with own.runtime.life_lock():
        assert own.runtime.occupied()
    assert not own.runtime.occupied()


def test_a_killed_daemon_occupies_nothing(own):
    holds = "import sys; from paceline.daemon.runtime import Runtime; lock = Runtime.open().life_lock(); lock.acquire()"
    wait = "; print('held', flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", holds + wait], **pipes) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert own.runtime.occupied()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert not own.runtime.occupied()


# --- the token of other programs --------------------------------------------------------------------------------------


@pytest.fixture
def token_file(own):
    access_token()
    return paths.state_dir() / "http-token"


def test_the_token_is_kept_and_readable_by_its_owner_alone(token_file):
    assert access_token() == access_token() == token_file.read_text()
    assert len(access_token()) >= 32
    assert mode(token_file) == 0o600


@pytest.mark.parametrize("content", ["", "short", "ä" * 40])
def test_a_damaged_token_is_replaced(token_file, content):
    token_file.write_text(content)
    assert access_token() not in ("", content)


def test_a_token_that_others_could_read_is_replaced(token_file):
    known = access_token()
    token_file.chmod(0o644)
    assert access_token() != known
    assert mode(token_file) == 0o600
