"""How long a person waits before the first picture and the first answer of an editor's server; prints JSON.

    python tests/bench/starting.py                    five rounds of everything, about a minute and a half
    python tests/bench/starting.py --rounds 9 --idle 30

Every figure is of processes of their own, from their start, with folders of their own and an engine that nobody asks:
the app in a pseudo-terminal that is read all the time, the language server on pipes. In each round everything is
measured once, so that whatever else the machine does meets all of it alike; medians are told, with all values. A round
before them is not counted: it fills the caches. `bare python` is an interpreter that does nothing, for comparison.
"""

import argparse
import contextlib
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from fcntl import ioctl
from pathlib import Path

import psutil

from paceline.chat.store import Store
from paceline.chat.turns import Session, Turn

SIZE = (34, 110)  # rows, columns
PATIENCE = 60.0  # seconds
SETTLING = 3.0  # seconds after the first picture that do not count as idle
LIMITS = {"first picture ms": 500, "initialize ms": 400, "initialize mb": 70, "idle percent of a core": 0.5}
ANSWER = """Here it is:

```python
{code}```

That adds **numbers**.

answer {number}
"""
CODE = "".join(f"def add_{number}(value):\n    return value + {number}\n\n" for number in range(12))


def main() -> None:
    chosen = parse()
    print(json.dumps(report(chosen.rounds, chosen.messages, chosen.idle), indent=2))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=2000, help="of the session that is opened")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds of doing nothing that are watched")
    return parser.parse_args()


def report(rounds: int, messages: int, idle: float) -> dict[str, object]:
    """Medians by what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        environment = home(Path(folder), messages)
        measures: tuple[Callable[[], dict[str, float]], ...] = (
            lambda: bare(environment),
            lambda: app(environment, "project", "Ask something", idle),
            lambda: app(environment, "talked", f"answer {messages - 1}", 0, "--continue"),
            lambda: server(environment),
        )
        found: dict[str, list[float]] = {}
        for at in range(rounds + 1):
            for measure in measures:
                for name, value in measure().items():
                    if at:
                        found.setdefault(name, []).append(value)
    return {name: summary(name, values) for name, values in found.items()}


def summary(name: str, values: list[float]) -> dict[str, object]:
    limit = {"limit": LIMITS[name]} if name in LIMITS else {}
    return {"median": round(statistics.median(values), 2), **limit, "all": [round(value, 2) for value in values]}


def home(folder: Path, messages: int) -> dict[str, str]:
    """Folders with an empty project, and one that has been talked in; the variables that lead there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PACELINE_", "XDG_"))}
    names = ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR")
    ours = {f"XDG_{name}": str(folder / name.lower()) for name in names}
    (folder / "runtime_dir").mkdir(mode=0o700)
    for name in ("project", "talked"):
        (folder / name).mkdir()
    settings = folder / "settings.toml"
    settings.write_text('[engine]\nurl = "http://127.0.0.1:9/v1"\n', encoding="utf-8")  # nobody is there
    (folder / "data_home" / "paceline").mkdir(parents=True)
    store = Store(folder / "data_home" / "paceline" / "chat.db")
    now = time.time()
    store.insert(Session("", "Talk", str(folder / "talked"), now, now, leaf=messages), turns(messages))
    store.close()
    return {**kept, **ours, "PACELINE_CONFIG": str(settings), "HERE": str(folder)}


def turns(count: int) -> list[Turn]:
    """Questions and answers of some twenty lines in turn."""
    return [
        Turn(at + 1, at or None, "user", f"question {at}")
        if at % 2 == 0
        else Turn(at + 1, at, "assistant", ANSWER.format(code=CODE, number=at))
        for at in range(count)
    ]


def bare(environment: Mapping[str, str]) -> dict[str, float]:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", ""], env=environment, check=True)
    return {"bare python ms": 1000 * (time.perf_counter() - began)}


def app(environment: Mapping[str, str], folder: str, words: str, idle: float, *arguments: str) -> dict[str, float]:
    """From the command until these words are on the screen; then, for so many seconds, what doing nothing takes."""
    where = Path(environment["HERE"]) / folder
    began = time.perf_counter()
    with in_terminal([*command(), *arguments], environment, where) as (leader, process):
        drawn = b""
        while words.encode() not in drawn:
            drawn += read(leader, 0.05)
            if time.perf_counter() - began > PATIENCE or process.poll() is not None:
                raise SystemExit(f"{words!r} did not come; drawn were {len(drawn):,} bytes, at last {drawn[-500:]!r}")
        took = 1000 * (time.perf_counter() - began)
        if arguments:
            return {"session opened ms": took}
        return {"first picture ms": took, **idling(leader, process, idle)}


def idling(leader: int, process: "subprocess.Popen[bytes]", seconds: float) -> dict[str, float]:
    drain(leader, min(seconds, SETTLING))
    watched = psutil.Process(process.pid)
    before, began = watched.cpu_times(), time.perf_counter()
    written = drain(leader, seconds)
    after, took = watched.cpu_times(), time.perf_counter() - began
    spent = after.user + after.system - before.user - before.system
    return {"idle percent of a core": 100 * spent / took, "idle bytes drawn": float(written)}


def server(environment: Mapping[str, str]) -> dict[str, float]:
    """`initialize` of the language server: from the command to the answer, and the memory it has by then."""
    asked = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}).encode()
    began = time.perf_counter()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*command(), "lsp"], env=environment, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        process.stdin.flush()
        answered = process.stdout.readline()
        took = 1000 * (time.perf_counter() - began)
        memory = psutil.Process(process.pid).memory_info().rss / 1e6
        process.kill()
    assert answered.startswith(b"Content-"), answered
    return {"initialize ms": took, "initialize mb": memory}


def command() -> list[str]:
    """What a person types."""
    script = Path(sys.executable).with_name("paceline")
    return [str(script)] if script.exists() else [sys.executable, "-m", "paceline"]


@contextlib.contextmanager
def in_terminal(
    words: list[str], environment: Mapping[str, str], folder: Path
) -> "Iterator[tuple[int, subprocess.Popen[bytes]]]":
    """A program on a terminal of its own, ended afterwards."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
    variables = {**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    streams = {"stdin": follower, "stdout": follower, "stderr": follower}
    process = subprocess.Popen(words, env=variables, cwd=folder, start_new_session=True, **streams)
    os.close(follower)
    try:
        yield leader, process
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def read(leader: int, seconds: float) -> bytes:
    """What is drawn next; nothing after so many seconds, or where the program has ended."""
    if select.select([leader], [], [], seconds)[0]:
        with contextlib.suppress(OSError):
            return os.read(leader, 65536)
    return b""


def drain(leader: int, seconds: float) -> int:
    """Read for so long; how many bytes that was."""
    until, drawn = time.perf_counter() + seconds, 0
    while (left := until - time.perf_counter()) > 0:
        drawn += len(read(leader, left))
    return drawn


if __name__ == "__main__":
    main()
