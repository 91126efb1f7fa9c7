"""However an editor goes, what was counted is kept, and nothing is complained about."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from paceline.lsp.figures_store import NAME, Store
from paceline.lsp.watching import Watch, is_alive
from support.lsp_editor import INVOKED, capabilities, lsp_editor, run

CODE = "import os\nimport sys\nVALUES = [1, 2]\nvalue = |\n"
Going = Callable[["asyncio.subprocess.Process"], object]


def told(number: int) -> Going:
    return lambda process: process.send_signal(number)


def pipe_closed(process: "asyncio.subprocess.Process") -> None:
    assert process.stdin is not None
    process.stdin.close()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A person whose completions are off: each request is counted as silent, and no engine is needed for that."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PACELINE_"))}
    (tmp_path / "settings.toml").write_text("[editor]\nenabled = false\n")
    places = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    return {**kept, **places, "PACELINE_CONFIG": str(tmp_path / "settings.toml")}


@pytest.mark.parametrize(
    "going",
    [pipe_closed, told(signal.SIGTERM), told(signal.SIGHUP), told(signal.SIGINT), ("exit",), ("shutdown", "exit")],
    ids=[
        "its end of the pipe is closed",
        "SIGTERM",
        "SIGHUP",
        "SIGINT",
        "exit without shutdown",
        "shutdown and exit at once",
    ],
)
def test_what_was_counted_is_kept_however_an_editor_goes(
    home: dict[str, str], going: Going | tuple[str, ...], tmp_path: Path
):
    """The editor never answers the server's own requests, so that some wait at the end."""

    async def scenario() -> None:
        errors = (tmp_path / "errors").open("wb")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "paceline", "lsp"), env=home, stdin=-1, stdout=-1, stderr=errors
        )
        speaking = Speaking(process)
        changes = {"dynamicRegistration": True}
        can = {"textDocument": {"inlineCompletion": {}}, "workspace": {"didChangeConfiguration": changes}}
        await speaking.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": can})
        speaking.say("initialized", {})
        text = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": CODE.replace("|", "")}
        speaking.say("textDocument/didOpen", {"textDocument": text})
        asked = {"textDocument": text, "position": {"line": 3, "character": 8}, "context": {"triggerKind": 1}}
        await speaking.ask("textDocument/inlineCompletion", asked)
        while "client/registerCapability" not in speaking.heard:
            await speaking.hear()
        if isinstance(going, tuple):
            for method in going:
                speaking.say(method, None, **({"id": 0} if method == "shutdown" else {}))
        else:
            going(process)
        assert await asyncio.wait_for(process.wait(), 20) == (1 if going == ("exit",) else 0)
        errors.close()
        assert (tmp_path / "errors").read_text() == ""
        assert sum(Store(tmp_path / "state/paceline" / NAME).read().values()) == 1

    run(scenario)


class Speaking:
    """The editor's end of the pipes."""

    def __init__(self, process: "asyncio.subprocess.Process") -> None:
        self.process = process
        self.heard = ""
        self.number = 0

    def say(self, method: str, params: object, **more: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def ask(self, method: str, params: object) -> None:
        """Return once it has been answered."""
        self.number += 1
        self.say(method, params, id=f"mine {self.number}")
        while f'"mine {self.number}"' not in self.heard:
            await self.hear()

    async def hear(self) -> None:
        assert self.process.stdout is not None
        data = await self.process.stdout.read(65536)
        assert data, self.heard
        self.heard += data.decode()


def test_an_editor_that_reads_nothing_any_more_has_gone(home: dict[str, str]):
    async def scenario() -> None:
        read, write = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "paceline", "lsp"), env=home, stdin=-1, stdout=write, stderr=-1
        )
        os.close(write)
        os.close(read)
        Speaking(process).say("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, id=1)
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert process.stderr is not None
        assert await process.stderr.read() == b""

    run(scenario)


def test_the_server_ends_with_the_process_that_the_editor_named(home: dict[str, str]):
    """The pipe stays open: another process has inherited it."""
    code = (
        "import asyncio, sys; from pathlib import Path; from paceline.lsp import watching, running, options; "
        "watching.Watch.__init__.__defaults__ = (0.05,); running.serve_stdio(options.of_person(Path('none')))"
    )

    async def scenario() -> None:
        editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=home, stdin=-1, stdout=-1)
        speaking = Speaking(process)
        await speaking.ask("initialize", {"processId": editor.pid, "rootUri": None, "capabilities": {}})
        assert process.returncode is None
        editor.kill()
        editor.wait()
        assert await asyncio.wait_for(process.wait(), 20) == 0

    run(scenario)


def in_a_loop(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_a_process_that_is_not_there_at_the_start_is_not_watched():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    async def scenario() -> None:
        gone: list[int] = []
        for process in (ended.pid, 0, -1, 2**40):
            Watch(process, lambda: gone.append(1), interval=0.0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert gone == []

    in_a_loop(scenario)


def test_only_a_process_that_lives_is_alive():
    assert is_alive(os.getpid())
    assert is_alive(1)  # another user's, perhaps
    assert not any(map(is_alive, (0, -1, -os.getpid(), 2**40)))


def test_a_leave_taking_is_not_held_up_by_a_daemon_that_is_waited_for(tmp_path: Path, home: dict[str, str]):
    """Another program has held the daemon's start for long: a thread waits for that."""
    code = (
        "import sys, time; from paceline.daemon.runtime import Runtime; lock = Runtime.open().start_lock(); "
        "lock.acquire(); print('held', flush=True); time.sleep(100)"
    )
    (tmp_path / "settings.toml").write_text("")
    holding = subprocess.Popen([sys.executable, "-c", code], env=home, stdout=subprocess.PIPE)
    try:
        assert holding.stdout is not None
        assert holding.stdout.readline() == b"held\n"

        async def scenario() -> None:
            async with lsp_editor(home, can=capabilities()) as editor:
                page = editor.open(CODE)
                asking = asyncio.ensure_future(page.ask(INVOKED))
                while not any("waiting for another program" in each for each in editor.logged):
                    await asyncio.sleep(0.01)
                process = editor.client._server
                assert process is not None
                process.send_signal(signal.SIGTERM)
                assert await asyncio.wait_for(process.wait(), 20) == 0
                asking.cancel()
                raise Gone

        with pytest.raises(Gone):
            run(scenario)
    finally:
        holding.kill()
        holding.communicate()


class Gone(Exception):
    """The server has, so there is nobody to say goodbye to."""
