"""A daemon that does not answer is ended, and no other process."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from paceline.client.client import Client, engine_of
from paceline.client.local import Local
from paceline.daemon import ending, probe
from paceline.errors import PacelineError
from support.daemons import session, working


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "PATIENCE", 0.3)
    monkeypatch.setattr(ending, "PROMISED", 0.5)
    with session(tmp_path, monkeypatch) as opened:
        yield opened


def local(own) -> Local:
    engine = engine_of(own.config, lambda text: None)
    assert isinstance(engine, Local)
    return engine


def test_a_daemon_that_hangs_is_ended_and_the_next_one_can_start(own):
    hanging = own.start()
    hanging.send_signal(signal.SIGSTOP)
    assert local(own).end_if_deaf()
    assert hanging.wait(20) == -signal.SIGKILL
    assert own.ensure().hello.pid != hanging.pid


def test_a_daemon_that_answers_is_left_alone(own):
    running = own.start()
    assert not local(own).end_if_deaf()
    assert running.poll() is None
    assert Client(local(own)).status().pid == running.pid


def test_without_a_daemon_there_is_nothing_to_end(own):
    assert not local(own).end_if_deaf()


def test_a_process_that_got_the_daemons_number_is_not_ended(own):
    hanging = own.start()
    hanging.send_signal(signal.SIGSTOP)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        state = own.runtime.state()
        assert state is not None
        own.runtime.write(msgspec.structs.replace(state, pid=other.pid))
        long_ago = time.time() - 1000
        os.utime(own.runtime.state_file, (long_ago, long_ago))
        with pytest.raises(PacelineError, match="does not tell its process"):
            ending.force(own.runtime)
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_a_daemon_that_answers_ends_when_its_requests_are_done_and_another_one_can_start(own):
    running = own.start()
    request = working(own.runtime)
    assert not local(own).renew()
    assert running.poll() is None
    own.finish_work()
    assert request.rest() == "done\n"
    assert running.wait(20) == 0
    assert own.ensure().hello.pid != running.pid


def test_a_daemon_that_hangs_is_renewed_by_force(own):
    hanging = own.start()
    hanging.send_signal(signal.SIGSTOP)
    assert local(own).renew()
    assert hanging.wait(20) == -signal.SIGKILL


def test_without_a_daemon_there_is_none_to_renew(own):
    assert not local(own).renew()
