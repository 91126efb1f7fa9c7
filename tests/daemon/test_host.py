"""The models are loaded once for all who want them, dropped when nobody does, and a failure is not for ever."""

import asyncio
import contextlib
import threading

import pytest

from paceline.config import Config, DaemonConfig, SamplingConfig
from paceline.daemon.host import Host
from paceline.errors import EngineError, ModelError, PacelineError

SECONDS = 10  # after which something hangs
SHORT = 0.02 / 60  # minutes


class FakeService:
    model = "fake"

    def __init__(self):
        self.closed = False
        self.may_close = threading.Event()
        self.may_close.set()

    def close(self):
        assert self.may_close.wait(SECONDS)
        self.closed = True


class Loader:
    """Loads a fake service; `gate` holds it up, `errors` come first."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.made = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self):
        assert self.gate.wait(SECONDS)
        if self.errors:
            raise self.errors.pop(0)
        self.made.append(FakeService())
        return self.made[-1]


def host_of(loader, *, unload_minutes=0.0):
    return Host(Config(daemon=DaemonConfig(unload_minutes=unload_minutes)), loader)


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario, SECONDS))


async def used(host):
    async with host.use() as service:
        return service


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


def test_nothing_is_loaded_before_it_is_needed():
    async def scenario():
        loader = Loader()
        host = host_of(loader)
        assert host.loaded is None
        assert not host.loading
        service = await used(host)
        assert loader.made == [service]
        assert host.loaded is service

    run(scenario())


def test_several_requests_share_one_load_and_one_service():
    async def scenario():
        loader = Loader()
        loader.gate.clear()
        host = host_of(loader)
        requests = [asyncio.create_task(used(host)) for _ in range(5)]
        await until(lambda: host.active == 5)
        assert host.loading
        assert host.loaded is None
        loader.gate.set()
        services = await asyncio.gather(*requests)
        assert loader.made == [services[0]]
        assert set(services) == {services[0]}
        assert await used(host) is services[0]
        assert not host.loading

    run(scenario())


def test_a_failed_load_fails_all_who_wait_and_the_next_request_tries_again():
    async def scenario():
        loader = Loader(ModelError("it is damaged", "fetch it again"))
        loader.gate.clear()
        host = host_of(loader)
        requests = [asyncio.create_task(used(host)) for _ in range(3)]
        await until(lambda: host.active == 3)
        loader.gate.set()
        failed = await asyncio.gather(*requests, return_exceptions=True)
        assert [(type(each), each.message, each.hint) for each in failed] == [
            (ModelError, "it is damaged", "fetch it again")
        ] * 3
        assert (host.loaded, host.loading, host.active) == (None, False, 0)
        assert await used(host) is loader.made[0]

    run(scenario())


def test_whatever_else_a_load_raises_becomes_an_error_of_ours():
    async def scenario():
        with pytest.raises(EngineError, match="could not be loaded: MemoryError"):
            await used(host_of(Loader(MemoryError())))

    run(scenario())


def test_who_leaves_during_the_load_disturbs_nobody():
    async def scenario():
        loader = Loader()
        loader.gate.clear()
        host = host_of(loader)
        leaving, staying = (asyncio.create_task(used(host)) for _ in range(2))
        await until(lambda: host.active == 2)
        leaving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await leaving
        assert host.active == 1
        loader.gate.set()
        assert await staying is loader.made[0]

    run(scenario())


def test_a_load_that_nobody_waits_for_any_more_is_kept_for_the_next():
    async def scenario():
        loader = Loader()
        loader.gate.clear()
        host = host_of(loader)
        leaving = asyncio.create_task(used(host))
        await until(lambda: host.loading)
        leaving.cancel()
        loader.gate.set()
        await until(lambda: host.loaded is not None)
        assert await used(host) is loader.made[0]

    run(scenario())


def test_requests_are_counted_and_drained():
    async def scenario():
        host = host_of(Loader())
        await host.drain()
        async with host.use():
            async with host.use():
                assert host.active == 2
            draining = asyncio.create_task(host.drain())
            await asyncio.sleep(0.01)
            assert not draining.done()
            assert host.idle_seconds == 0
        await draining
        assert host.active == 0

    run(scenario())


def test_a_request_that_fails_is_no_longer_counted():
    async def scenario():
        host = host_of(Loader())
        with pytest.raises(KeyError):
            async with host.use():
                raise KeyError
        assert host.active == 0

    run(scenario())


def test_unused_models_are_dropped_and_loaded_again_when_needed():
    async def scenario():
        loader = Loader()
        host = host_of(loader, unload_minutes=SHORT)
        chore = asyncio.create_task(host.unload_when_idle())
        first = await used(host)
        await until(lambda: first.closed)
        assert host.loaded is None
        second = await used(host)
        assert second is not first
        await until(lambda: second.closed)
        chore.cancel()

    run(scenario())


def test_models_in_use_are_not_dropped():
    async def scenario():
        host = host_of(Loader(), unload_minutes=SHORT)
        chore = asyncio.create_task(host.unload_when_idle())
        async with host.use() as service:
            await asyncio.sleep(SHORT * 60 * 5)
            assert not service.closed
            assert host.loaded is service
        await until(lambda: service.closed)
        chore.cancel()

    run(scenario())


def test_without_a_time_they_stay():
    async def scenario():
        host = host_of(Loader(), unload_minutes=0)
        chore = asyncio.create_task(host.unload_when_idle())
        service = await used(host)
        await asyncio.sleep(0.05)
        assert host.loaded is service
        chore.cancel()

    run(scenario())


def test_a_time_that_changes_counts_from_the_next_request_on():
    async def scenario():
        now = [Config(daemon=DaemonConfig(unload_minutes=0))]
        host = Host(now[0], Loader(), lambda: now[0])
        chore = asyncio.create_task(host.unload_when_idle())
        first = await used(host)
        now[0] = Config(daemon=DaemonConfig(unload_minutes=SHORT))
        assert await used(host) is first
        await until(lambda: first.closed)
        chore.cancel()

    run(scenario())


def test_each_request_gets_the_service_with_the_configuration_of_now():
    async def scenario():
        now = [Config()]
        host = Host(now[0], Loader(), lambda: now[0])
        assert (await used(host)).config is now[0]
        now[0] = Config(sampling=SamplingConfig(temperature=1.0))
        assert (await used(host)).config is now[0] is host.config

    run(scenario())


def test_new_models_wait_until_the_old_ones_are_gone():
    async def scenario():
        loader = Loader()
        host = host_of(loader)
        old = await used(host)
        old.may_close.clear()
        dropping = asyncio.create_task(host.unload())
        await until(lambda: host.loaded is None)
        wanted = asyncio.create_task(used(host))
        await asyncio.sleep(0.02)
        assert loader.made == [old]
        old.may_close.set()
        await dropping
        assert await wanted is loader.made[1]

    run(scenario())


def test_idleness_begins_when_the_last_request_ends():
    async def scenario():
        host = host_of(Loader())
        async with host.use():
            waiting = asyncio.create_task(host.idle_for(lambda _: 0.02 / 60))
            await asyncio.sleep(0.1)
            assert not waiting.done()
        await waiting
        assert host.idle_seconds >= 0.02

    run(scenario())


def test_closing_frees_the_models_and_refuses_requests():
    async def scenario():
        host = host_of(Loader())
        service = await used(host)
        await host.close()
        assert service.closed
        with pytest.raises(PacelineError, match="ending") as refused:
            await used(host)
        assert refused.value.hint

    run(scenario())


def test_closing_does_not_wait_for_a_load_but_throws_away_what_comes_of_it():
    async def scenario():
        loader = Loader()
        loader.gate.clear()
        host = host_of(loader)
        waiting = asyncio.create_task(used(host))
        await until(lambda: host.loading)
        await host.close()
        with pytest.raises(PacelineError, match="ending"):
            await waiting
        loader.gate.set()
        await until(lambda: loader.made and loader.made[0].closed)
        assert host.loaded is None

    run(scenario())
