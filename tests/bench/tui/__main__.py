"""What the terminal app costs while an answer streams in, and how fast long sessions open; prints JSON.

    python tests/bench/tui                      all of it, about a minute
    python tests/bench/tui --lines 2000 --begin 0    the whole answer of 2,000 lines, token by token

Each figure is taken by a process of its own, whose terminal is a real pseudo-terminal that is read all the time. The
share of a core is the process's CPU time over the time the stream took. `textual` is Textual's own Markdown widget
with its MarkdownStream, for comparison.
"""

import argparse
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

SIZE = (40, 120)  # rows, columns


def main() -> None:
    chosen = parse()
    kinds = ("prose", "fence", "mixed")
    report: dict[str, object] = {
        f"{widget} {kind}": in_terminal("stream", widget, kind, chosen)
        for widget in chosen.widgets
        for kind in (kinds if widget == "ours" else ("mixed",))
    }
    report["open 2,000 messages"] = in_terminal("open", "ours", "mixed", chosen)
    report["500 turns"] = in_terminal("turns", "ours", "mixed", chosen)
    report["idle"] = in_terminal("idle", "ours", "mixed", chosen)
    print(json.dumps(report, indent=2))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000, help="of the answer")
    parser.add_argument("--begin", type=int, default=1900, help="lines that are there when the stream begins")
    parser.add_argument("--rate", type=float, default=200, help="tokens per second")
    parser.add_argument("--widgets", nargs="*", default=["ours", "textual"], choices=["ours", "textual"])
    return parser.parse_args()


def in_terminal(task: str, widget: str, kind: str, chosen: argparse.Namespace) -> object:
    """Runs one measurement on a terminal of its own."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        words = [task, widget, kind, str(chosen.lines), str(chosen.begin), str(chosen.rate), str(found)]
        leader, follower = pty.openpty()
        ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        command = [sys.executable, str(Path(__file__).parent / "measured.py"), *words]
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, env=environment, start_new_session=True
        )
        os.close(follower)
        written = drain(leader, process, started + 600)
        os.close(leader)
        if not found.exists():
            return {"failed": process.returncode}
        return {**json.loads(found.read_text()), "kilobytes_written": round(written / 1024)}


def drain(leader: int, process: subprocess.Popen, until: float) -> int:
    """Reads what the app draws until it ends. Returns how many bytes that was."""
    written = 0
    while process.poll() is None:
        if time.monotonic() > until:
            process.kill()
        if select.select([leader], [], [], 0.2)[0]:
            try:
                written += len(os.read(leader, 65536))
            except OSError:
                break
    process.wait()
    return written


if __name__ == "__main__":
    main()
