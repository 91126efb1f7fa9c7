"""A client gets a daemon: the one that runs, a new one, or one in place of another that does not fit."""

import contextlib
import http.server
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

from paceline.daemon import launch, probe
from paceline.daemon.protocol import PROTOCOL, Hello
from paceline.daemon.settings import config_digest
from paceline.errors import BusyError, PacelineError
from support.daemons import PLAIN, SECONDS, kill, session, until, working

VERSION = installed_version("paceline")
CLIENT = (
    "import sys; from paceline import config, paths; from paceline.daemon.launch import ensure; "
    "print(ensure(config.load(paths.config_file()), serve=sys.argv[1:]).hello.pid)"
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    with session(tmp_path, monkeypatch) as opened:
        yield opened


# --- whether a daemon fits --------------------------------------------------------------------------------------------


def hello(version="1.2", protocol=PROTOCOL, config="a"):
    return Hello(version, protocol, 1, config, 0, 0.0)


@pytest.mark.parametrize(
    ("daemon", "fits"),
    [
        (hello(), True),
        (hello(config="b"), False),
        (hello(version="1.1"), False),
        (hello(version="1.2rc1"), False),
        (hello(protocol=PROTOCOL - 1), False),
        (hello(version="1.1", protocol=PROTOCOL - 1), False),
        (hello(version="1.10"), True),
        (hello(version="1.10", config="b"), True),
    ],
)
def test_a_daemon_fits_or_is_to_be_replaced(daemon, fits):
    assert launch.fits(daemon, "1.2", "a") is fits


def test_a_newer_daemon_with_another_protocol_is_an_error_that_tells_what_to_do():
    with pytest.raises(PacelineError, match=r"1\.3 .*older client \(1\.2\)") as refused:
        launch.fits(hello(version="1.3", protocol=PROTOCOL + 1), "1.2", "a")
    assert "paceline stop" in refused.value.hint


def test_versions_are_ordered():
    versions = [
        "nonsense",
        "0.9",
        "1.0.dev1",
        "1.0a2",
        "1.0b1",
        "1.0rc1",
        "1.0rc2",
        "1.0",
        "1.0.post1",
        "1.2",
        "1.10.1",
    ]
    assert sorted(versions, key=launch.order) == versions
    assert launch.order("1.0.0") == launch.order("1") == launch.order("1.0+local")


# --- getting one ------------------------------------------------------------------------------------------------------


def test_a_daemon_is_started_where_none_runs_and_used_where_one_does(own):
    first = own.ensure()
    assert first.hello.version == VERSION
    assert own.ensure().hello.pid == first.hello.pid == own.found.hello.pid


def test_clients_that_start_at_once_get_one_daemon(own):
    clients = [
        subprocess.Popen([sys.executable, "-c", CLIENT, *PLAIN], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    told = [client.communicate(timeout=SECONDS)[0] for client in clients]
    assert [client.returncode for client in clients] == [0] * 4
    assert set(told) == {f"{own.found.hello.pid}\n"}
    assert own.log.count("listening") == 1


def test_the_daemon_outlives_the_client_and_is_no_child_of_its_terminal(own):
    ended = subprocess.run([sys.executable, "-c", CLIENT, *PLAIN], capture_output=True, text=True, timeout=SECONDS)
    pid = own.found.hello.pid
    assert ended.stdout == f"{pid}\n"
    assert os.getsid(pid) == pid
    if sys.platform == "linux":
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
        assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)


def test_after_a_crash_the_next_client_starts_another(own):
    crashed = own.ensure().hello.pid
    kill(crashed)
    until(lambda: not own.runtime.occupied())
    assert own.runtime.socket.exists()
    assert own.ensure().hello.pid != crashed


@pytest.mark.parametrize("kind", ["socket", "file"])
def test_what_was_left_in_the_socket_s_place_does_not_matter(own, kind):
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(own.runtime.socket))
    else:
        own.runtime.socket.touch()
    assert own.ensure() == own.found


def test_a_configuration_named_from_here_is_read_by_the_daemon_too(own, monkeypatch):
    own.configure("[engine]\ncontext = 512\n")
    monkeypatch.chdir(own.root)
    monkeypatch.setenv("PACELINE_CONFIG", "settings.toml")
    assert own.ensure().hello.config == config_digest(own.config)


def test_an_unsafe_folder_is_refused_before_anything_is_started(own):
    own.runtime.folder.chmod(0o755)
    with pytest.raises(PacelineError, match="not safe"):
        own.ensure()


# --- replacing one ----------------------------------------------------------------------------------------------------


class Asking(threading.Thread):
    """A client on a thread: what it was told, and what it got."""

    def __init__(self, own):
        super().__init__(daemon=True)
        self.own, self.said, self.got = own, [], None
        self.start()

    def run(self):
        self.got = self.own.ensure(self.said.append)


def test_an_older_daemon_is_replaced_once_its_request_is_done(own):
    older = own.start("--version", "0.0.1")
    request = working(own.runtime)
    asking = Asking(own)
    until(lambda: asking.said)
    assert "waiting for the requests of a daemon" in asking.said[0]
    assert older.poll() is None
    own.finish_work()
    assert request.rest() == "done\n"
    asking.join(SECONDS)
    assert older.wait(SECONDS) == 0
    assert asking.got.hello.version == VERSION
    assert asking.got == own.found


def test_clients_that_come_while_one_is_replaced_wait_for_the_new_one(own):
    own.start("--version", "0.0.1")
    request = working(own.runtime)
    first = Asking(own)
    until(lambda: own.found is None)
    second = Asking(own)
    until(lambda: second.said)
    own.finish_work()
    request.rest()
    for asking in (first, second):
        asking.join(SECONDS)
    assert first.got == second.got == own.found


def test_other_models_need_another_daemon(own):
    before = own.ensure()
    own.configure("[engine]\ncontext = 512\n")
    after = own.ensure()
    assert after.hello.pid != before.hello.pid
    assert after.hello.config == config_digest(own.config)


def test_settings_of_requests_need_no_other_daemon(own):
    before = own.ensure()
    own.configure("[engine]\nstrict = true\n[sampling]\ntemperature = 1.0\n")
    assert own.ensure().hello.pid == before.hello.pid


def test_programs_with_an_old_configuration_use_the_daemon_that_goes_by_the_file(own):
    old = own.config
    own.configure("[engine]\ncontext = 512\n")
    daemon = own.ensure()
    for _ in range(2):
        assert launch.ensure(old, serve=PLAIN).hello.pid == daemon.hello.pid
        assert own.ensure().hello.pid == daemon.hello.pid


def test_programs_with_an_old_configuration_replace_a_daemon_that_goes_by_it(own):
    old = own.config
    before = own.ensure()
    own.configure("[engine]\ncontext = 512\n")
    after = launch.ensure(old, serve=PLAIN)
    assert after.hello.pid != before.hello.pid
    assert after.hello.config == config_digest(own.config)


def test_mistakes_in_the_file_need_no_other_daemon(own):
    old = own.config
    before = own.ensure()
    own.configure("[engine\n")
    assert launch.ensure(old, serve=PLAIN).hello.pid == before.hello.pid


def test_a_newer_daemon_is_used_as_it_is(own):
    newer = own.start("--version", "99")
    own.configure("[engine]\ncontext = 512\n")
    assert own.ensure().hello.pid == newer.pid


def test_a_newer_daemon_of_another_protocol_is_left_alone(own):
    newer = own.start("--version", "99", "--protocol", str(PROTOCOL + 1))
    with pytest.raises(PacelineError, match="older client"):
        own.ensure()
    assert own.found.hello.pid == newer.pid


def test_a_daemon_that_does_not_listen_yet_is_waited_for(own):
    with own.runtime.life_lock():
        asking = Asking(own)
        until(lambda: asking.said)
        assert asking.said == ["waiting for a daemon that is starting or ending"]
    asking.join(SECONDS)
    assert asking.got == own.found


# --- what cannot be helped --------------------------------------------------------------------------------------------


def failing(own, code):
    with pytest.raises(PacelineError) as failed:
        launch.ensure(own.config, serve=("-c", code))
    return failed.value


def test_a_daemon_that_cannot_start_shows_the_end_of_its_log(own):
    shown = failing(own, "import sys; print('much', 'more'); print('error: no luck', file=sys.stderr); sys.exit(3)")
    assert "did not start (exit code 3)" in shown.message
    assert "error: no luck" in shown.message
    assert "paceline logs" in shown.hint


def test_older_lines_of_the_log_are_not_shown(own):
    failing(own, "print('yesterday'); exit(1)")
    assert "yesterday" not in failing(own, "print('today'); exit(1)").message


def test_a_daemon_that_never_answers_is_given_up(own, monkeypatch):
    monkeypatch.setattr(launch, "STARTING", 0.3)
    assert "did not answer" in failing(own, "import time; time.sleep(60)").message


def test_after_a_failed_start_the_next_one_may_succeed(own):
    failing(own, "exit(1)")
    assert own.ensure() == own.found


@contextlib.contextmanager
def listening(path, handler):
    """A program that is no daemon, in the socket's place."""

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    with Server(str(path), handler) as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            other.shutdown()
            thread.join()


class NotFound(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def address_string(self):
        return "a client"

    def log_message(self, *_):
        pass


class OtherJson(NotFound):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


class NoHttp(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"220 mail.example ESMTP\r\n")


@pytest.mark.parametrize("handler", [NotFound, OtherJson, NoHttp])
def test_a_stranger_at_the_socket_is_recognised(own, handler):
    with listening(own.runtime.socket, handler), pytest.raises(PacelineError, match="not answer as Paceline's daemon"):
        own.ensure()


class Full(NotFound):
    def do_GET(self):
        self.send_error(503)


def test_a_daemon_with_too_many_connections_is_busy(own):
    with listening(own.runtime.socket, Full), pytest.raises(BusyError, match="as many connections as it takes"):
        own.ensure()


def test_a_daemon_that_hangs_is_reported_with_the_way_out(own, monkeypatch):
    process = own.start()
    process.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(probe, "PATIENCE", 0.3)
    with pytest.raises(PacelineError, match="does not answer") as hangs:
        own.ensure()
    assert "paceline stop --now" in hangs.value.hint


def test_looking_for_a_daemon_loads_nothing_that_is_slow_to_load():
    code = "import sys; from paceline.daemon import launch; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS).stdout
    assert "paceline.daemon.probe" in loaded.split()
    slow = {"numpy", "llama_cpp", "textual", "httpx", "starlette", "uvicorn", "asyncio", "filelock", "psutil", "rich"}
    assert not slow & set(loaded.split())
