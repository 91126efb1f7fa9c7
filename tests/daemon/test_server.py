"""The daemon as a process: how it ends, whom it lets in, and what it writes down."""

import asyncio
import http.client
import logging
import os
import signal
import socket
import stat
import time

import pytest

from paceline.config import Config
from paceline.daemon import ending, listen, log_writer, probe, server
from paceline.daemon.host import Host
from paceline.daemon.log import log_file
from paceline.daemon.protocol import HELLO, HttpReport
from paceline.errors import ConfigError
from support.daemons import SECONDS, Request, kill, session, until, working
from support.plain_daemon import PlainApp, PlainService

PROMISED = 2.0  # seconds within which a signal ends a daemon
BUSY = 10.0  # the same where nobody knows how long a process waits for a core


@pytest.fixture
def own(tmp_path, monkeypatch):
    with session(tmp_path, monkeypatch) as opened:
        yield opened


def ended_by(process, number):
    """Seconds until it has ended, which it does as if nothing had happened."""
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(SECONDS) == 0
    return time.monotonic() - began


def left_behind(own):
    return {path.name for path in own.runtime.folder.iterdir()} - {"start.lock", "daemon.lock"}


# --- ending -----------------------------------------------------------------------------------------------------------


def test_what_a_signal_waits_for_takes_less_than_was_promised():
    assert server.GRACE < server.LAST < PROMISED


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_daemon_that_leaves_nothing_behind(own, number):
    process = own.start()
    assert left_behind(own) == {"daemon.sock", "daemon.json"}
    assert ended_by(process, number) < BUSY
    assert left_behind(own) == set()


def test_a_signal_cancels_a_running_request_that_is_told_so(own):
    process = own.start()
    request = working(own.runtime)
    assert ended_by(process, signal.SIGTERM) < BUSY
    assert request.rest() == "cancelled\n"
    assert left_behind(own) == set()


def test_a_signal_ends_a_daemon_that_is_loading(own):
    process = own.start("--load-seconds", "600")
    request = Request(own.runtime, "/work")
    assert request.line() == "asked"
    until(lambda: probe.status(own.found).models[0].state == "loading")
    assert ended_by(process, signal.SIGTERM) < BUSY
    assert request.rest() == "the daemon is ending\n"


def test_a_signal_ends_a_daemon_whose_client_does_not_read(own):
    process = own.start()
    request = Request(own.runtime, "/flood")
    assert request.answer.read(1)
    assert ended_by(process, signal.SIGTERM) < BUSY
    assert left_behind(own) == set()


def test_a_signal_ends_a_daemon_that_waits_for_a_request_to_end(own):
    process = own.start()
    request = working(own.runtime)
    ending.ask_to_stop(own.runtime, "idle")
    until(lambda: own.found is None)
    assert ended_by(process, signal.SIGTERM) < BUSY
    assert request.rest() == "cancelled\n"


def test_a_stop_when_idle_lets_a_request_finish_and_takes_no_new_one(own):
    process = own.start()
    request = working(own.runtime)
    assert ending.ask_to_stop(own.runtime, "idle") == process.pid
    until(lambda: own.found is None)
    with pytest.raises(OSError):
        Request(own.runtime, HELLO)
    assert own.runtime.occupied()
    assert process.poll() is None
    own.finish_work()
    assert request.rest() == "done\n"
    assert process.wait(SECONDS) == 0


def test_a_stop_now_cancels(own):
    process = own.start()
    request = working(own.runtime)
    ending.ask_to_stop(own.runtime, "now")
    assert request.rest() == "cancelled\n"
    assert process.wait(SECONDS) == 0


def test_a_daemon_ends_when_it_was_idle_for_long_enough_but_not_during_a_request(own):
    process = own.start()
    request = working(own.runtime)
    own.configure("[daemon]\nidle_minutes = 0.002\n")  # it goes by the file, also now
    time.sleep(0.002 * 60 * 3)
    assert process.poll() is None
    own.finish_work()
    assert request.rest() == "done\n"
    assert process.wait(SECONDS) == 0
    assert left_behind(own) == set()


def test_models_are_dropped_before_the_daemon_ends(own):
    own.configure("[daemon]\nunload_minutes = 0.002\n")
    own.start()
    own.finish_work()
    assert Request(own.runtime, "/work").rest() == "asked\nbegun\ndone\n"
    until(lambda: not probe.status(own.found).models)
    assert "dropping plain" in own.log


def test_a_killed_daemon_blocks_nothing(own):
    killed = own.start()
    working(own.runtime)
    kill(killed.pid)
    killed.wait()
    assert left_behind(own) == {"daemon.sock", "daemon.json"}
    assert own.found is None
    assert own.start().pid == own.found.hello.pid


@pytest.mark.parametrize("kind", ["file", "socket"])
def test_whatever_is_in_the_socket_s_place_gives_way(own, kind):
    path = own.runtime.socket
    if kind == "file":
        path.touch()
    else:
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
    own.start()
    assert own.found


def test_there_is_one_daemon_at_a_time(own):
    first = own.start()
    second = own.start(answers=False)
    _, err = second.communicate(timeout=SECONDS)
    assert second.returncode != 0
    assert f"a daemon is running already (process {first.pid})".encode() in err
    assert own.found.hello.pid == first.pid


def test_a_daemon_ends_when_its_socket_has_been_removed(own, monkeypatch):
    monkeypatch.setattr(server, "PRESENCE", 0.01)
    path = own.runtime.socket
    listener = server.Listener(listen.bind_unix(path), None)
    traces = server.Traces(own.runtime, listen.Identity.of(path))
    daemon = server.Daemon(Host(Config(), PlainService), traces, HttpReport())

    async def scenario():
        running = asyncio.create_task(daemon.run(lambda host, **how: PlainApp(host, claimed={}, **how), [listener]))
        await asyncio.sleep(0.05)
        assert not running.done()
        path.unlink()
        await asyncio.wait_for(running, SECONDS)

    handlers = {number: signal.getsignal(number) for number in server.SIGNALS}
    try:
        asyncio.run(scenario())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def test_another_daemon_s_socket_is_left_alone(own):
    path = own.runtime.socket
    with listen.bind_unix(path):
        traces = server.Traces(own.runtime, listen.Identity.of(path))
        path.rename(path.with_name("old"))
        with listen.bind_unix(path):
            assert not traces.visible
            traces.remove()
            assert path.exists()


# --- listening --------------------------------------------------------------------------------------------------------


def test_the_socket_is_its_owner_s_alone(own):
    own.start()
    assert stat.S_IMODE(own.runtime.socket.stat().st_mode) == 0o600


def asked_over_loopback(url, token):
    address = url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=SECONDS)
    connection.request("GET", HELLO, headers={"Authorization": f"Bearer {token}"} if token else {})
    return connection.getresponse().status


@pytest.mark.parametrize("how", ["option", "configuration"])
def test_other_programs_are_let_in_over_loopback_with_the_token(own, how):
    if how == "configuration":
        own.configure('[daemon]\nhttp = "localhost:0"\n')
    process = own.start(*(["--http", "127.0.0.1:0"] if how == "option" else []))
    told = probe.status(own.found).http
    assert told.url.startswith("http://127.0.0.1:")
    assert [asked_over_loopback(told.url, token) for token in (None, "wrong", told.token)] == [401, 401, 200]
    assert own.runtime.state().url == told.url
    assert ended_by(process, signal.SIGTERM) < BUSY


def test_the_token_stays_the_same(own):
    tokens = []
    for _ in range(2):
        process = own.start("--http", "127.0.0.1:0")
        tokens.append(probe.status(own.found).http.token)
        ended_by(process, signal.SIGTERM)
    assert tokens[0] == tokens[1]


@pytest.fixture
def taken():
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_a_port_that_is_taken_is_an_error_where_it_was_asked_for(own, taken):
    process = own.start("--http", taken, answers=False)
    _, err = process.communicate(timeout=SECONDS)
    assert f"cannot listen on {taken}".encode() in err
    assert left_behind(own) == set()


def test_and_a_note_where_it_is_configured(own, taken):
    own.configure(f'[daemon]\nhttp = "{taken}"\n')
    own.start()
    report = probe.status(own.found)
    assert report.http == HttpReport()
    assert f"cannot listen on {taken}" in report.notes[0]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8765", ("127.0.0.1", 8765)),
        ("127.8.8.8:1", ("127.8.8.8", 1)),
        ("localhost:0", ("127.0.0.1", 0)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_addresses_of_this_machine_are_understood(text, address):
    assert listen.parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "example.org:80", "localhost.example.org:80", "127.1:80"]
)
def test_addresses_of_a_network_are_refused(text):
    with pytest.raises(ConfigError, match="not this machine's loopback"):
        listen.parse_address(text)


@pytest.mark.parametrize("text", ["", "8765", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ConfigError, match="not HOST:PORT"):
        listen.parse_address(text)


# --- the log ----------------------------------------------------------------------------------------------------------


def test_the_log_tells_what_happened_and_never_what_was_said(own):
    process = own.start()
    assert Request(own.runtime, "/fail?text=my-secret-prompt").answer.status == 500
    ended_by(process, signal.SIGTERM)
    assert "builtins.ValueError" in own.log
    assert "plain_daemon.py" in own.log
    assert "secret" not in own.log
    assert stat.S_IMODE(log_file().stat().st_mode) == 0o600


def test_an_error_in_the_event_loop_is_logged_without_its_text(tmp_path, caplog):
    async def scenario():
        async def failing():
            raise ValueError("my secret prompt")

        asyncio.get_running_loop().set_exception_handler(log_writer.loop_failed)
        task = asyncio.create_task(failing())
        await asyncio.wait([task])
        del task

    asyncio.run(scenario())
    [record] = caplog.records
    shown = log_writer.Discreet().format(record)
    assert "ValueError" in shown
    assert "secret" not in shown


def test_causes_are_shown_in_order():
    try:
        try:
            raise KeyError("secret")
        except KeyError as error:
            raise ValueError("secret") from error
    except ValueError as error:
        shown = log_writer.Discreet().formatException((type(error), error, error.__traceback__))
    assert shown.index("builtins.KeyError") < shown.index("builtins.ValueError")
    assert "secret" not in shown


def test_the_log_begins_anew_before_it_grows_large_and_stderr_goes_along(tmp_path, monkeypatch):
    monkeypatch.setattr(log_writer, "LARGEST", 1000)
    path = tmp_path / "logs/daemon.log"
    kept = os.dup(1), os.dup(2)
    try:
        path.parent.mkdir()
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        handler = log_writer.LogFile(path)
        for number in range(100):
            handler.emit(logging.makeLogRecord({"msg": f"line {number:03}" + "." * 42}))
        os.write(2, b"from below\n")
    finally:
        for target, original in enumerate(kept, 1):
            os.dup2(original, target)
            os.close(original)
    handler.close()
    assert path.read_text().endswith("from below\n")
    assert sorted(each.name for each in path.parent.iterdir()) == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(each.stat().st_size < 1100 for each in path.parent.iterdir())
