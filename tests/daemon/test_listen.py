"""The loopback listener, as the event loop uses it."""

import asyncio
import socket

import pytest

from paceline.daemon.listen import bind_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_small_answers_are_sent_at_once(host):
    """Otherwise each waits for the acknowledgement of the one before: 40 ms on Linux."""

    async def scenario():
        delayed = asyncio.get_running_loop().create_future()

        async def serve(_, writer):
            accepted = writer.get_extra_info("socket")
            delayed.set_result(not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        try:
            bound = bind_loopback(host, 0)
        except Exception:
            pytest.skip(f"this machine has no {host}")
        async with await asyncio.start_server(serve, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname()[:2])
            assert not await asyncio.wait_for(delayed, 10)
            writer.close()

    asyncio.run(scenario())
