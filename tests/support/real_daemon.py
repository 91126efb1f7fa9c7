"""`paceline serve` as a process of its own on a tiny real model, and what a test asks it."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from paceline import config as configuration
from paceline.config import Config

OURS = ("PACELINE_", "XDG_", "HF_", "PIP_", "OPENAI_")  # variables
SECONDS = 30  # after which something hangs


def until(condition: Callable[[], bool], what: str) -> None:
    """Return when it holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"it did not come to this: {what}"
        time.sleep(0.005)


class RealDaemon:
    """A daemon with folders of its own. It listens on its Unix socket and on loopback."""

    def __init__(self, target: Path, draft: Path | None, *, engine: str = "", tables: str = "") -> None:
        """`engine`: lines of the table [engine]; `tables`: others. One thread, and the target completes."""
        self.root = Path(tempfile.mkdtemp(prefix="pl"))  # short: paths of sockets are bounded
        models = f"target = {json.dumps(str(target))}\ndraft = {json.dumps(str(draft or 'none'))}\n"
        self.settings = self.root / "settings.toml"
        self.settings.write_text(f"[models]\n{models}[engine]\nthreads = 1\n{engine}\n{tables}\n", encoding="utf-8")
        self.variables = {f"XDG_{name}_HOME": str(self.root / name.lower()) for name in ("DATA", "STATE", "CACHE")}
        self.variables |= {"XDG_CONFIG_HOME": str(self.root / "config"), "XDG_RUNTIME_DIR": str(self.root / "run")}
        self.variables |= {"PACELINE_CONFIG": str(self.settings), "HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1"}
        (self.root / "run").mkdir(mode=0o700)
        self._open_clients: list[httpx.Client] = []

    @property
    def environment(self) -> dict[str, str]:
        return {key: value for key, value in os.environ.items() if not key.startswith(OURS)} | self.variables

    @property
    def config(self) -> Config:
        return configuration.load(self.settings)

    def start(self) -> None:
        command = [sys.executable, "-m", "paceline", "serve", "--http", "127.0.0.1:0"]
        self.errors = (self.root / "stderr").open("wb")
        self.process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self.errors,
            stderr=self.errors,
        )
        until(self._answers, "the daemon answers")
        report = self.status
        self.url, self.token = report["http"]["url"], report["http"]["token"]

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.root / "stderr").read_text()
        self.socket = next((self.root / "run").rglob("*.sock"), None)
        if self.socket is None:
            return False
        with contextlib.suppress(httpx.TransportError):
            return self.get("/paceline/hello").is_success
        return False

    def close(self) -> None:
        for client in self._open_clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.errors.close()
        shutil.rmtree(self.root, ignore_errors=True)

    # --- asking -------------------------------------------------------------------------------------------------------

    @property
    def unix(self) -> httpx.Client:
        """A client over the Unix socket."""
        return self._client(
            httpx.Client(transport=httpx.HTTPTransport(uds=str(self.socket)), base_url="http://paceline")
        )

    @property
    def tcp(self) -> httpx.Client:
        """A client over loopback, with the token."""
        return self._client(httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}))

    def _client(self, client: httpx.Client) -> httpx.Client:
        client.timeout = httpx.Timeout(SECONDS)
        self._open_clients.append(client)
        return client

    @contextlib.contextmanager
    def looking(self) -> Iterator[httpx.Client]:
        """A client that leaves no connection behind."""
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(self.socket)), base_url="http://paceline") as client:
            client.timeout = httpx.Timeout(SECONDS)
            yield client

    def get(self, path: str) -> httpx.Response:
        with self.looking() as client:
            return client.get(path)

    def post(self, path: str, body: object) -> httpx.Response:
        with self.looking() as client:
            return client.post(path, json=body)

    @property
    def status(self) -> dict:
        return self.get("/paceline/status").json()

    @property
    def slots(self) -> list[dict]:
        return self.get("/slots").json()

    @property
    def metrics(self) -> dict[str, float]:
        """Every sample by name; those with labels as name{label=value,...}."""
        found = {}
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for name, labels, value, *_ in family.samples:
                said = ",".join(f"{key}={each}" for key, each in labels.items())
                found[f"{name}{{{said}}}" if said else name] = value
        return found

    def quiet(self) -> bool:
        """Whether nobody is being served, or computed for, or waits."""
        report = self.status
        return report["active"] == report["waiting"] == 0 and all(slot["state"] == "idle" for slot in report["slots"])

    def settle(self) -> None:
        until(self.quiet, "nobody is served any more")

    @property
    def log(self) -> str:
        return (self.root / "state/paceline/logs/daemon.log").read_text()

    # --- the process --------------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        return self.process.pid

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """The process stands still: what a test does meanwhile happens all at once for it."""
        self.process.send_signal(signal.SIGSTOP)
        process = psutil.Process(self.pid)
        until(lambda: process.status() == psutil.STATUS_STOPPED, "the daemon stands still")
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @property
    def held(self) -> "Held":
        process = psutil.Process(self.pid)
        with process.oneshot():
            return process.num_fds(), process.num_threads(), process.memory_info().rss


Held = tuple[int, int, int]  # file descriptors, threads, bytes of main memory


@contextlib.contextmanager
def real_daemon(target: Path, draft: Path | None = None, *, engine: str = "", tables: str = "") -> Iterator[RealDaemon]:
    """A daemon that answers, and is ended afterwards."""
    daemon = RealDaemon(target, draft, engine=engine, tables=tables)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.close()
