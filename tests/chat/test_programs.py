"""Other commands run beside the app: every line comes, and none of them outlives whoever wanted it."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest

from paceline.chat.programs import OwnCommand
from paceline.errors import PacelineError

WAITING = """
import os, sys, time, subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
try:
    print(os.getpid(), child.pid)
    time.sleep(60)
except KeyboardInterrupt:
    print("so far: 3")
    child.kill()
    child.wait()
    sys.exit(130)
"""


@pytest.fixture
def program(tmp_path):
    """Makes a command out of a module's source."""

    def make(source, *words):
        (tmp_path / "made_up.py").write_text(source)
        return OwnCommand(*words, module="made_up", environment={"PYTHONPATH": str(tmp_path)})

    return make


async def collect(command):
    async with aclosing(command.lines()) as lines:
        return [line async for line in lines]


async def gone(*pids):
    for _ in range(500):
        if not any(alive(pid) for pid in pids):
            return True
        await asyncio.sleep(0.01)
    return False


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


async def test_output_and_messages_come_as_lines(program):
    command = program("import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('end without newline', end='')")
    assert await collect(command) == ["one", "two", "end without newline"]


async def test_the_words_reach_it_and_nobody_can_be_asked(program):
    command = program("import sys\nprint(sys.argv[1:], sys.stdin.read() == '')", "a b", "-x")
    assert await collect(command) == ["['a b', '-x'] True"]


async def test_a_very_long_line_and_bytes_that_are_no_text_are_no_trouble(program):
    command = program("import sys\nsys.stdout.buffer.write(b'\\xff' + b'x' * 300_000 + b'\\nlast\\n')")
    lines = await collect(command)
    assert sum(map(len, lines[:-1])) == 300_001
    assert lines[-1] == "last"


async def test_a_failure_is_raised_with_what_the_command_said(program):
    source = "import sys\nprint('half')\nprint('error: no models\\nhint: run setup', file=sys.stderr)\nsys.exit(4)"
    with pytest.raises(PacelineError) as raised:
        await collect(program(source))
    assert (raised.value.message, raised.value.hint) == ("no models", "run setup")


async def test_a_failure_without_a_word_has_the_exit_code(program):
    with pytest.raises(PacelineError, match="ended with exit code 7"):
        await collect(program("import sys; sys.exit(7)"))


@needs_proc
async def test_closing_ends_it_and_what_it_has_started(program):
    async with aclosing(program(WAITING).lines()) as lines:
        pids = [int(word) for word in (await anext(lines)).split()]
    assert await gone(*pids)


@needs_proc
async def test_cancelling_whoever_waits_ends_it(program):
    seen = asyncio.Queue()

    async def watch():
        async with aclosing(program(WAITING).lines()) as lines:
            async for line in lines:
                seen.put_nowait(line)

    task = asyncio.create_task(watch())
    pids = [int(word) for word in (await seen.get()).split()]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(*pids)


async def test_stopping_lets_it_say_what_it_has_so_far_and_is_no_failure(program):
    command, said = program(WAITING), []
    async with aclosing(command.lines()) as lines:
        async for line in lines:
            said.append(line)
            command.stop()
    assert said[1:] == ["so far: 3"]
    command.stop()  # harmless now


async def test_one_that_leaves_somebody_behind_is_over_all_the_same(program):
    source = (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\nprint('done')"
    )
    assert await asyncio.wait_for(collect(program(source)), 20) == ["done"]


@needs_proc
async def test_one_that_ignores_everything_is_killed(program, monkeypatch):
    monkeypatch.setattr("paceline.chat.programs.PATIENCE", 0.1)
    source = (
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(os.getpid())\ntime.sleep(60)"
    )
    async with aclosing(program(source).lines()) as lines:
        pid = int(await anext(lines))
    assert await gone(pid)


async def test_modules_in_the_persons_folder_are_not_run(tmp_path, monkeypatch):
    (tmp_path / "paceline.py").write_text("print('a stranger')")
    monkeypatch.chdir(tmp_path)
    lines = await collect(OwnCommand("--version"))
    assert lines[0].startswith("paceline, version")


async def test_ctrl_c_on_the_terminal_is_not_for_it(program):
    lines = await collect(program("import os\nprint(os.getpgid(0), os.getsid(0))"))
    group, session = map(int, lines[0].split())
    assert group != os.getpgid(0)
    assert session != os.getsid(0)
