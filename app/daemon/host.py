"""Holds the models for whoever asks: loaded when first needed, shared, dropped after a time without requests."""

import asyncio
import contextlib
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TypeVar

from paceline.config import Config, DaemonConfig
from paceline.errors import EngineError, PacelineError

if TYPE_CHECKING:
    from paceline.daemon.service import Service

T = TypeVar("T")
GLANCE = 60.0  # seconds between two looks whether the configuration has another time
LOADING, DROPPING = "paceline-load", "paceline-unload"  # threads

logger = logging.getLogger("paceline.daemon")


class Host:
    """One service, loaded on first use. All methods belong to one event loop's thread."""

    def __init__(self, config: Config, load: "Callable[[], Service]", now: Callable[[], Config] | None = None) -> None:
        """`load` runs on a thread of its own and may take its time. What it raises goes to all who wait for it.
        `now`: the configuration, where it may change; what `load` goes by does not.
        """
        self._now = now or (lambda: config)
        self._load = load
        self._service: Service | None = None
        self._loading: asyncio.Future[Service] | None = None
        self._filling: asyncio.Task[None] | None = None
        self._dropping: asyncio.Future[None] | None = None
        self._active = 0
        self._idle_since = time.monotonic()
        self._closed = False
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._busy = asyncio.Event()  # the contrary

    @property
    def config(self) -> Config:
        """As it is now."""
        return self._now()

    @property
    def loaded(self) -> "Service | None":
        """The service, where it is in memory now."""
        return self._service

    @property
    def loading(self) -> bool:
        """Whether models are on their way into memory."""
        return self._loading is not None

    @property
    def active(self) -> int:
        """Requests between the entry and the exit of `use`."""
        return self._active

    @property
    def idle_seconds(self) -> float:
        """Since the last request ended, or the start; 0 while one runs."""
        return 0.0 if self._active else time.monotonic() - self._idle_since

    @contextlib.asynccontextmanager
    async def use(self) -> "AsyncIterator[Service]":
        """The service, for one request; the models stay until it is left.

        Whoever leaves early while models are being loaded disturbs neither the loading nor the others.
        Raises PacelineError: what loading raised (the next request tries again), or that the daemon is ending.
        """
        self._active += 1
        self._quiet.clear()
        self._busy.set()
        try:
            service = await self._ready()
            service.config = self.config
            yield service
        finally:
            self._active -= 1
            if not self._active:
                self._idle_since = time.monotonic()
                self._busy.clear()
                self._quiet.set()

    async def drain(self) -> None:
        """Return when no request is being served."""
        await self._quiet.wait()

    async def idle_for(self, minutes: Callable[[DaemonConfig], float]) -> None:
        """Return when there has been no request for as long as this setting says; 0: never."""
        while True:
            await self._quiet.wait()
            seconds = minutes(self.config.daemon) * 60
            left = seconds - self.idle_seconds
            if seconds and left <= 0:
                return
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._busy.wait(), min(left, GLANCE) if seconds else GLANCE)

    async def unload_when_idle(self) -> None:
        """Drop the models whenever they were unused for `daemon.unload_minutes`; 0: never. Runs until cancelled."""
        while True:
            await self.idle_for(lambda daemon: daemon.unload_minutes)
            await self.unload()
            await self._busy.wait()

    async def unload(self) -> None:
        """Free the models, if there are any; requests that run end as cancelled. The next request loads them again."""
        service, self._service = self._service, None
        if service is not None:
            logger.info("dropping %s", service.model)
            self._dropping = _in_thread(service.close, DROPPING)
        del service
        if self._dropping is not None:
            await asyncio.shield(self._dropping)
            gc.collect()  # vocabularies are large, and objects that refer to each other outlive the last use

    async def close(self) -> None:
        """Refuse new requests, end running ones as cancelled and free the models. What loads is not waited for."""
        self._closed = True
        if self._loading is not None:
            self._settle(self._loading, None, _ending())
        await self.unload()

    async def _ready(self) -> "Service":
        if self._closed:
            raise _ending()
        if self._service is not None:
            return self._service
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_future()
            self._filling = asyncio.create_task(self._fill(self._loading))
        return await asyncio.shield(self._loading)

    async def _fill(self, loading: "asyncio.Future[Service]") -> None:
        """Load, once the models that were here before are gone, and tell those who wait."""
        try:
            if self._dropping is not None:
                await asyncio.shield(self._dropping)
            began = time.monotonic()
            service = await _in_thread(self._load, LOADING)
            logger.info("loaded %s in %.1f s", service.model, time.monotonic() - began)
        except PacelineError as error:
            logger.error("loading failed: %s", error.message)
            self._settle(loading, None, error)
        except Exception as error:  # whatever it is, somebody waits for an answer
            logger.exception("loading failed")
            self._settle(loading, None, EngineError(f"the models could not be loaded: {error!r}"))
        else:
            if self._closed:
                await _in_thread(service.close, DROPPING)
            else:
                self._settle(loading, service, None)

    def _settle(
        self, loading: "asyncio.Future[Service]", service: "Service | None", error: PacelineError | None
    ) -> None:
        self._loading, self._service = None, service
        if loading.done():  # the daemon is ending, and they know
            return
        if error is not None:
            loading.set_exception(error)
            loading.exception()  # all who waited may have left: that is nothing to complain about
        elif service is not None:
            self._idle_since = time.monotonic()
            loading.set_result(service)


def _ending() -> PacelineError:
    return EngineError("the daemon is ending", "try again: the next request starts a new one")


def _in_thread(work: Callable[[], T], name: str) -> "asyncio.Future[T]":
    """What the work returns or raises. The thread does not keep the process alive, unlike one of the loop's pool."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: list[T], error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result[0])

    def run() -> None:
        result: list[T] = []
        failure: BaseException | None = None
        try:
            result.append(work())
        except BaseException as error:  # a thread has nobody else to tell
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, result, failure)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
