"""A daemon that is killed in the middle of everything: all who wait are told, and whoever comes next is served."""

import os
import re
import signal

import pytest

from support.cli import CommandLine
from support.real_daemon import until

LONG = ("--max-tokens", 60_000, "--speculation", "off")
SECONDS = 30


@pytest.fixture
def shared(tmp_path, tiny, measured, slow):
    line = CommandLine(tmp_path, tiny, measured)
    line.configure(engine="context = 65536", target=slow, draft="none")
    with line.sharing():
        yield line


def report(line):
    return line.call("status", "--json").data


def test_everybody_who_waits_is_told_and_the_next_ones_share_one_new_daemon(shared):
    files = [shared.root / f"{at}.py" for at in range(3)]
    asking = [shared.start("ask", "Why?", *LONG) for _ in range(3)]
    for each in asking:
        assert each.stdout.read(1)
    for file in files:
        file.write_text("def ")
    filling = [shared.start("complete", f"{file.name}:1:5", *LONG) for file in files]
    until(lambda: report(shared)["active"] == 6, "all are served")
    killed = report(shared)["pid"]
    os.kill(killed, signal.SIGKILL)
    for each in asking:
        out, err = each.communicate(timeout=SECONDS)
        assert each.returncode == 1
        assert b"error: the daemon ended in the middle of the answer\nhint: ask again" in err, err
        assert len(out) > 1
    for each in filling:
        _, err = each.communicate(timeout=SECONDS)
        assert (each.returncode, b"Traceback" in err) == (1, False)
        assert re.search(rb"^error: the daemon ended.*\nhint: .+\n", err, re.MULTILINE), err
    again = [shared.start("ask", "Why?", "--max-tokens", 5) for _ in range(3)]
    answers = {each.communicate(timeout=SECONDS)[0] for each in again}
    assert [each.returncode for each in again] == [0, 0, 0]
    assert len(answers) == 1
    assert report(shared)["pid"] != killed


def test_who_waits_for_the_models_to_be_loaded_is_told_too(shared):
    with shared.start("ask", "Why?", "--max-tokens", 5) as first:
        until(lambda: shared.call("status", "--json").code == 0, "a daemon answers")
        pid = report(shared)["pid"]
        os.kill(pid, signal.SIGKILL)
        _, err = first.communicate(timeout=SECONDS)
    assert first.returncode in (0, 1)  # it may have been answered already, or have started another one
    assert b"Traceback" not in err
    assert shared.call("ask", "Why?", "--max-tokens", 5).code == 0
    assert report(shared)["pid"] != pid
