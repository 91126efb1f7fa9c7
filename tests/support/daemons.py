"""A person's session with daemons of its own: runtime folder, configuration and log in a temporary place."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paceline import config as configuration
from paceline.config import Config
from paceline.daemon import ending, launch, probe
from paceline.daemon.log import log_file
from paceline.daemon.probe import Daemon
from paceline.daemon.runtime import Runtime

PLAIN = (str(Path(__file__).with_name("plain_daemon.py")),)  # what the interpreter runs for a daemon without models
SECONDS = 20  # after which something hangs


class Session:
    """Folders and environment for this process and those it starts; what it started is ended with it."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.running: list[subprocess.Popen[bytes]] = []
        for name in [name for name in os.environ if name.startswith(("XDG_", "PACELINE_"))]:
            patch.delenv(name)
        for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"):
            patch.setenv(f"XDG_{name}", str(root / name.lower()))
        (root / "runtime_dir").mkdir(mode=0o700)
        patch.setenv("PACELINE_CONFIG", str(root / "settings.toml"))
        self.configure("")

    def configure(self, text: str) -> None:
        (self.root / "settings.toml").write_text(text)

    @property
    def config(self) -> Config:
        return configuration.load(self.root / "settings.toml")

    @property
    def runtime(self) -> Runtime:
        return Runtime.open()

    @property
    def log(self) -> str:
        return log_file().read_text()

    def start(self, *arguments: str, answers: bool = True) -> "subprocess.Popen[bytes]":
        """A daemon without models in the foreground; it answers, unless it should not."""
        command = [sys.executable, *PLAIN, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.root)
        self.running.append(process)
        if answers:
            until(lambda: process.poll() is not None or self.found is not None)
            assert process.poll() is None, process.communicate()
        return process

    def finish_work(self) -> None:
        """Let requests for /work end well."""
        (self.root / "finish").touch()

    def ensure(self, say: Callable[[str], None] = lambda _: None) -> Daemon:
        """What a client does."""
        return launch.ensure(self.config, say, serve=PLAIN)

    @property
    def found(self) -> Daemon | None:
        return probe.find(self.runtime)

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.communicate()
        with contextlib.suppress(Exception):
            ending.force(self.runtime)


@contextlib.contextmanager
def session(root: Path, patch: pytest.MonkeyPatch) -> Iterator[Session]:
    opened = Session(root, patch)
    try:
        yield opened
    finally:
        opened.close()


def until(condition: Callable[[], bool]) -> None:
    """Return when it holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


class Request:
    """A request on its way, over the daemon's socket."""

    def __init__(self, runtime: Runtime, path: str, method: str = "GET") -> None:
        self.connection = http.client.HTTPConnection("localhost", timeout=SECONDS)
        self.connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.sock.settimeout(SECONDS)
        self.connection.sock.connect(str(runtime.socket))
        self.connection.request(method, path)
        self.answer = self.connection.getresponse()

    def line(self) -> str:
        return self.answer.readline().decode().strip()

    def rest(self) -> str:
        return self.answer.read().decode()

    def close(self) -> None:
        self.connection.close()


def working(runtime: Runtime) -> Request:
    """A request that holds the models and goes on until it is told to finish, or cancelled."""
    request = Request(runtime, "/work")
    assert [request.line(), request.line()] == ["asked", "begun"]
    return request


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
