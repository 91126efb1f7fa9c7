"""When a connection gives its client up: a connection whose clock and transport the test holds."""

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from paceline.daemon.connection import ABORT, Connection


class Transport:
    """Holds what a client has not taken."""

    def __init__(self):
        self.waiting = 0
        self.limit = None
        self.aborted = False

    def set_write_buffer_limits(self, high):
        self.limit = high

    def get_write_buffer_size(self):
        return self.waiting

    def get_extra_info(self, name):
        return None

    def abort(self):
        self.aborted = True


class Clock:
    """A loop that does what is due when the test says so."""

    def __init__(self):
        self.due = []

    def call_later(self, seconds, what, *arguments):
        handle = asyncio.TimerHandle(seconds, what, arguments, self)
        self.due.append(handle)
        return handle

    def _timer_handle_cancelled(self, handle):
        pass

    def get_debug(self):
        return False

    def ring(self):
        """Let the time of a connection's patience pass."""
        due, self.due = self.due, []
        for handle in due:
            if not handle.cancelled():
                handle._run()


@pytest.fixture
def connection():
    async def app(scope, receive, send):
        pass

    made = Connection(
        config=uvicorn.Config(app, log_config=None), server_state=ServerState(), app_state={"kept": 1}, _loop=Clock()
    )
    made.connection_made(Transport())
    return made


def paused(connection, waiting):
    connection.transport.waiting = waiting
    connection.pause_writing()


def test_it_is_paused_as_soon_as_anything_waits(connection):
    assert connection.transport.limit == 0


def test_a_client_that_takes_nothing_is_given_up(connection):
    paused(connection, 500)
    connection.loop.ring()
    assert connection.transport.aborted


def test_one_that_takes_a_little_each_time_is_not(connection):
    paused(connection, 500)
    for left in (499, 200, 1):
        connection.transport.waiting = left
        connection.loop.ring()
    assert not connection.transport.aborted
    connection.loop.ring()
    assert connection.transport.aborted


def test_one_that_has_taken_all_is_left_alone(connection):
    paused(connection, 500)
    connection.resume_writing()
    connection.loop.ring()
    paused(connection, 500)
    connection.resume_writing()
    connection.connection_lost(ConnectionResetError())
    connection.loop.ring()
    assert not connection.transport.aborted


def test_an_application_can_end_its_own(connection):
    assert connection.app_state["kept"] == 1
    connection.app_state[ABORT]()
    assert connection.transport.aborted
