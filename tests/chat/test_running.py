"""Commands that `!` runs: real processes that print, fork, flood and refuse to end."""

import asyncio
import os
from pathlib import Path

import pytest

from paceline.chat.context import running
from paceline.chat.context.running import HEAD, TAIL, Command, Ran, of_prompt, run
from paceline.errors import InputError
from support.running import awaited, gone, pid_in

LONG = 60  # seconds that no test takes


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/sh")


def ran(line, cwd, seconds=LONG, told=lambda text: None) -> Ran:
    return awaited(run(Command(line, cwd), seconds, told))


def stopped_once_it_speaks(line, cwd) -> Ran:
    """It is stopped as soon as it has printed something."""

    async def stopped():
        stop = asyncio.Event()
        return await run(Command(line, cwd), LONG, lambda text: stop.set(), stop)

    return awaited(stopped())


def test_what_a_command_prints_is_attached_with_how_it_ended(tmp_path):
    done = ran("echo out; echo err >&2; echo more; exit 3", tmp_path)
    assert (done.text, done.how, done.status) == ("out\nerr\nmore\n", "exited", 3)
    assert done.attached.kind == "output"
    assert done.attached.name == "$ echo out; echo err >&2; echo more; exit 3"
    assert done.attached.text == "out\nerr\nmore\n[exit status 3]"


def test_it_runs_in_its_folder_with_the_persons_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MINE", "yes")
    assert ran("pwd; echo $MINE $PAGER", tmp_path).text == f"{tmp_path.resolve()}\nyes cat\n"


def test_nobody_can_be_asked_anything(tmp_path):
    assert (
        ran('read answer; echo "[$answer]"; test -t 0 || test -t 1 || echo no terminal', tmp_path).text
        == "[]\nno terminal\n"
    )
    assert ran("exec 3</dev/tty && echo terminal", tmp_path).status != 0


def test_what_could_steer_a_terminal_is_not_shown(tmp_path):
    done = ran(r"printf '\033[31mred\033[0m \033]52;c;AAAA\007end\n'", tmp_path)
    assert done.text == "red end\n"
    assert ran("printf '10%%\\r50%%\\r100%%\\nnext\\r\\n'", tmp_path).text == "100%\nnext\n"


def test_a_name_has_one_line_and_no_controls(tmp_path):
    assert ran("echo a\necho '\x1b[31mb'", tmp_path).attached.name == "$ echo a echo 'b'"


def test_secrets_in_an_output_are_replaced_where_the_model_sees_it(tmp_path):
    key = "ghp_" + "a1B2" * 9
    done = ran(f"echo key {key}", tmp_path)
    assert key in done.text
    assert key not in done.attached.text
    assert "asterisks" in done.attached.cut


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    assert ran(r"printf 'a\377b\303'", tmp_path).text == "a\ufffdb\ufffd"


def test_a_command_that_takes_too_long_is_ended(tmp_path):
    done = ran("sleep 60", tmp_path, seconds=0.1)
    assert (done.text, done.how) == ("", "late")
    assert done.attached.text == "[ended after 0.1 s, the time that commands have]"


def test_a_command_that_does_not_want_to_end_is_made_to(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "GRACE", 0.1)
    done = stopped_once_it_speaks("trap '' TERM; echo $$ > pid; echo begun; while :; do sleep 0.05; done", tmp_path)
    assert (done.how, done.status) == ("stopped", 9)
    assert gone(pid_in(tmp_path / "pid"))


def test_what_a_command_has_started_ends_with_it(tmp_path):
    stopped_once_it_speaks("(trap '' HUP; sleep 60 & echo $! > child; echo begun; wait)", tmp_path)
    assert gone(pid_in(tmp_path / "child"))


def test_what_a_command_leaves_behind_holds_nobody_up(tmp_path):
    done = ran("sleep 60 & echo $! > child; echo done", tmp_path)
    assert (done.text, done.how, done.status) == ("done\n", "exited", 0)
    assert gone(pid_in(tmp_path / "child"))


def test_what_has_left_the_group_holds_nobody_up(tmp_path):
    done = ran(
        "setsid sh -c 'echo $$ > child; exec sleep 60' & until test -s child; do sleep 0.01; done; echo done", tmp_path
    )
    assert (done.text, done.how) == ("done\n", "exited")
    os.kill(pid_in(tmp_path / "child"), 9)


def test_a_command_that_dies_of_a_signal_says_of_which(tmp_path):
    done = ran("kill -9 $$", tmp_path)
    assert (done.how, done.status) == ("signal", 9)
    assert done.attached.text == "[ended by SIGKILL]"


def test_a_flood_is_kept_at_both_ends_and_it_is_said(tmp_path):
    done = ran("seq 1 200000", tmp_path)
    assert done.text.startswith("1\n2\n3\n")
    assert done.text.endswith("199999\n200000\n")
    assert len(done.text) <= HEAD + TAIL + 100
    assert "bytes in the middle are left out" in done.attached.cut
    numbers = [line for line in done.text.split("\n") if line and not line.startswith("[")]
    assert all(number.isdecimal() for number in numbers)  # whole lines
    left_out = int(done.attached.cut.split(" ")[0].replace(",", ""))
    marked = next(line for line in done.text.split("\n") if line.startswith("["))
    assert left_out + len(done.text) - len(marked) - 2 == len("".join(f"{at}\n" for at in range(1, 200001)))


def test_just_as_much_as_is_kept_is_whole(tmp_path):
    done = ran(f"head -c {HEAD + TAIL} /dev/zero | tr '\\0' x", tmp_path)
    assert done.text == "x" * (HEAD + TAIL)
    assert done.attached.cut == ""


def test_a_flood_without_lines_is_kept_at_both_ends(tmp_path):
    done = ran("head -c 300000 /dev/zero | tr '\\0' x", tmp_path)
    assert done.text.count("x") == HEAD + TAIL


def test_an_endless_flood_ends_in_time(tmp_path):
    done = ran("yes", tmp_path, seconds=0.5)
    assert done.how == "late"
    assert len(done.text) < HEAD + TAIL + 100


def test_an_output_is_told_as_it_comes(tmp_path):
    async def watched():
        told, first = [], asyncio.Event()

        def tell(text):
            told.append(text)
            first.set()

        task = asyncio.create_task(run(Command("echo one; read x < go; echo two", tmp_path), LONG, tell))
        await first.wait()
        before = "".join(told)
        with (tmp_path / "go").open("w") as pipe:
            pipe.write("\n")
        return before, await task, "".join(told)

    os.mkfifo(tmp_path / "go")
    before, done, told = awaited(watched())
    assert before == "one\n"
    assert told == done.text == "one\ntwo\n"


def test_a_command_can_be_stopped_and_keeps_what_it_printed(tmp_path):
    done = stopped_once_it_speaks("echo begun; sleep 60", tmp_path)
    assert (done.text, done.how) == ("begun\n", "stopped")
    assert done.attached.text == "begun\n[stopped before its end]"


def test_cancelling_the_task_ends_the_command(tmp_path):
    async def cancelled():
        begun = asyncio.Event()
        line = "echo $$ > pid; echo begun; sleep 60"
        task = asyncio.create_task(run(Command(line, tmp_path), LONG, lambda text: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    awaited(cancelled())
    assert gone(pid_in(tmp_path / "pid"))


def test_what_cannot_be_started_is_said(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        ran("ls", tmp_path / "gone")
    with pytest.raises(InputError, match="NUL"):
        ran("a\0b", tmp_path)
    assert ran("no-such-command-here", tmp_path).status == 127


def test_no_descriptor_is_left_open(tmp_path):
    async def many():
        for _ in range(5):
            await run(Command("echo x", tmp_path), LONG)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            await run(Command("echo x", tmp_path), LONG)
        with pytest.raises(InputError):
            await run(Command("ls", tmp_path / "gone"), LONG)
        return len(list(Path("/proc/self/fd").iterdir())) - before

    assert awaited(many()) <= 0


def test_an_unknown_shell_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/sbin/nologin")
    assert ran("echo x", tmp_path).text == "x\n"


@pytest.mark.parametrize(("prompt", "line"), [("!ls -l", "ls -l"), ("! ls ", "ls"), ("!", ""), ("ls!", ""), ("", "")])
def test_a_prompt_that_is_a_command_begins_with_a_mark(prompt, line):
    assert of_prompt(prompt) == line
