"""The daemon's process: listens, and ends in an orderly way however it is asked to."""

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import uvicorn

from paceline import paths
from paceline.config import Config
from paceline.daemon import listen, log, log_writer, report
from paceline.daemon.connection import Connection
from paceline.daemon.host import LOADING, Host
from paceline.daemon.protocol import PROTOCOL, Control, Hello, HttpReport, StatusReport, When
from paceline.daemon.runtime import Runtime, State, access_token
from paceline.daemon.settings import Settings, config_digest
from paceline.errors import PacelineError

if TYPE_CHECKING:
    from paceline.daemon.service import Service

GRACE = 1.0  # seconds for cancelled requests to say so to their clients
LAST = 1.7  # seconds after which the process ends in any case
PRESENCE = 5.0  # seconds between two looks whether the socket is still there
HEADERS = 32 * 1024  # bytes of a request line with its headers
CONNECTIONS = 1024  # more are answered with 503
SIGNALS = (signal.SIGTERM, signal.SIGINT)

logger = logging.getLogger("paceline.daemon")


class CreateApp(Protocol):
    """Makes the ASGI application of one listener. token None: whoever can connect is the user. Lifespan is not run."""

    def __call__(self, host: Host, *, token: str | None, control: Control) -> Any:  # noqa: ANN401 - ASGI's types
        """One application."""
        ...


@dataclass(frozen=True)
class Listener:
    """A bound socket, and the token that is asked for there."""

    socket: socket.socket
    token: str | None


@dataclass(frozen=True)
class Traces:
    """What this daemon has put into the runtime folder."""

    runtime: Runtime
    identity: listen.Identity | None  # of the socket

    @property
    def socket(self) -> Path | None:
        """Path of the Unix socket."""
        return self.runtime.socket

    @property
    def visible(self) -> bool:
        """Whether clients still find this daemon."""
        return self.socket is None or listen.Identity.of(self.socket) == self.identity

    def remove(self) -> None:
        """Leave nothing behind, and nothing of another daemon's damaged."""
        if self.socket is not None and self.visible:
            with contextlib.suppress(OSError):
                self.socket.unlink()
        state = self.runtime.state()
        if state is not None and state.pid == os.getpid():
            with contextlib.suppress(OSError):
                self.runtime.state_file.unlink()

    def leave(self) -> None:
        """End the process here and now, whatever its threads do."""
        self.remove()
        logging.shutdown()
        os._exit(0)


class _Server(uvicorn.Server):
    """Leaves signals to the daemon, which has two of these."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield

    def refuse(self) -> None:
        """Take no more connections from now on, and end when those that are open have their answers."""
        self.should_exit = True
        if self.started:  # by itself it would go on listening for some time
            for listening in self.servers:
                listening.close()

    def cut(self) -> None:
        """End all connections now, whatever is being written to them."""
        self.force_exit = True
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            transport: Any = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()


class Daemon:
    """One daemon while it runs. Implements protocol.Control."""

    def __init__(self, host: Host, traces: "Traces", http: HttpReport, notes: tuple[str, ...] = ()) -> None:
        """`http` is the loopback listener; `notes` tell what is not as configured."""
        self._host = host
        self._traces = traces
        self._http = http
        self._notes = notes
        self._version = installed_version("paceline")
        self._digest = config_digest(host.config)
        self._started = time.time()
        self._when: When | None = None
        self._servers: list[_Server] = []
        self._ending: asyncio.Task[None] | None = None

    def hello(self) -> Hello:
        """Who this is."""
        return Hello(self._version, PROTOCOL, os.getpid(), self._digest, self._host.active, self._started)

    def status(self) -> StatusReport:
        """What goes on."""
        service = self._host.loaded
        engine = service.status() if service is not None else None
        return StatusReport(
            pid=os.getpid(),
            version=self._version,
            protocol=PROTOCOL,
            started=self._started,
            socket=str(self._traces.socket) if self._traces.socket else None,
            http=self._http,
            models=report.models(self._host),
            memory=report.memory(engine),
            slots=report.slots(engine),
            active=self._host.active,
            waiting=engine.waiting if engine is not None else 0,
            idle_seconds=self._host.idle_seconds,
            stopping=self._when is not None,
            log=str(log.log_file()),
            notes=self._notes,
        )

    def stop(self, when: When) -> None:
        """Accept nothing more from now on, and end: when the requests are done, or within two seconds."""
        if self._when in ("now", when):
            return
        logger.info("ending %s, running requests: %d", "now" if when == "now" else "when idle", self._host.active)
        self._when = when
        for server in self._servers:
            server.refuse()
        if when == "now":
            deadline = threading.Timer(LAST, self._traces.leave)
            deadline.daemon = True
            deadline.start()
            self._ending = asyncio.get_running_loop().create_task(self._cancel())

    async def run(self, create_app: CreateApp, listeners: list[Listener]) -> None:
        """Serve until asked to stop, or idle for `daemon.idle_minutes`."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(log_writer.loop_failed)
        self._listen_to_signals(loop)
        for each in listeners:
            self._servers.append(_Server(_settings(create_app(self._host, token=each.token, control=self))))
        chores = [loop.create_task(chore) for chore in (self._host.unload_when_idle(), self._idle(), self._present())]
        pairs = zip(self._servers, listeners, strict=True)
        try:
            await asyncio.gather(*(server.serve([each.socket]) for server, each in pairs))
        finally:
            for chore in chores:
                chore.cancel()
            await self._host.close()
            if self._ending is not None:
                self._ending.cancel()

    def _listen_to_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        def asked(*_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: it is ending already
                loop.call_soon_threadsafe(self.stop, "now")

        for number in SIGNALS:
            signal.signal(number, asked)

    async def _cancel(self) -> None:
        """End what generates, and a little later whoever has not taken the news."""
        closing = asyncio.ensure_future(self._host.close())
        await asyncio.sleep(GRACE)
        for server in self._servers:
            server.cut()
        await closing

    async def _idle(self) -> None:
        await self._host.idle_for(lambda daemon: daemon.idle_minutes)
        logger.info("nothing was asked for %.1f minutes", self._host.idle_seconds / 60)
        self.stop("idle")

    async def _present(self) -> None:
        """A daemon that nobody can find any more, because its socket was removed, only holds memory."""
        while self._traces.visible:
            await asyncio.sleep(PRESENCE)
        logger.warning("the socket %s has been removed", self._traces.socket)
        self.stop("idle")


def serve(config: Config, load: "Callable[[], Service]", create_app: CreateApp, *, http: str = "") -> None:
    """Be the daemon until asked to end. Belongs to the main thread: it handles SIGTERM and SIGINT.

    `config`: what the configuration file says; what of it is not fixed from now on is read again when it changes.
    `http`: "HOST:PORT" of the loopback listener; without it, what the configuration says about one.
    Raises PacelineError: a daemon runs already, the runtime folder is not safe, or a socket cannot be made.
    """
    from filelock import Timeout

    os.umask(0o077)
    runtime = Runtime.open()
    alive = runtime.life_lock()
    try:
        alive.acquire(timeout=1.0)  # clients take it for a moment, to see whether it is free
    except Timeout as error:
        state = runtime.state()
        pid = f" (process {state.pid})" if state is not None else ""
        raise PacelineError(
            f"a daemon is running already{pid}",
            "`paceline stop && paceline serve …`; or set daemon.http in the configuration, which holds for every start",
        ) from error
    with alive:
        runtime.state_file.unlink(missing_ok=True)  # it names a process that is no more
        log_writer.start(log.log_file())
        with contextlib.suppress(OSError, ValueError, AttributeError):  # no stderr to write to
            faulthandler.enable()
        _serve(Host(config, load, Settings(config, paths.config_file()).now), runtime, create_app, http)


def _serve(host: Host, runtime: Runtime, create_app: CreateApp, http: str) -> None:
    notes: list[str] = []
    loopback = _loopback(http, host.config.daemon.http, notes, needed=runtime.socket is None)
    listeners = [loopback] if loopback is not None else []
    if runtime.socket is not None:
        listeners.append(Listener(listen.bind_unix(runtime.socket), None))
    other = HttpReport(listen.url_of(loopback.socket), loopback.token) if loopback else HttpReport()
    traces = Traces(runtime, listen.Identity.of(runtime.socket) if runtime.socket else None)
    try:
        runtime.write(State(os.getpid(), installed_version("paceline"), other.url, other.token))
        logger.info("listening on %s", ", ".join(str(each) for each in (runtime.socket, other.url) if each))
        asyncio.run(Daemon(host, traces, other, tuple(notes)).run(create_app, listeners))
        logger.info("ended")
    finally:
        traces.remove()
    if any(thread.name == LOADING for thread in threading.enumerate()):
        traces.leave()  # a library that is loading a model must not be torn down under its own feet


def _loopback(given: str, configured: str, notes: list[str], *, needed: bool) -> Listener | None:
    """The listener for other programs, or for all where there are no Unix sockets.

    One that was asked for by option and cannot be had is an error; a configured one becomes a note, since completions
    in the editor should not depend on it.
    """
    wanted = given or configured or ("127.0.0.1:0" if needed else "")
    if not wanted:
        return None
    address = listen.parse_address(wanted)
    try:
        bound = listen.bind_loopback(*address)
    except PacelineError as error:
        if given or needed:
            raise
        notes.append(error.message)
        logger.warning(error.message)
        return None
    return Listener(bound, access_token())


def _settings(app: Any) -> uvicorn.Config:  # noqa: ANN401 - ASGI's types
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=HEADERS,
    )
