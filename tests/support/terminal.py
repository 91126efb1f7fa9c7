"""A real terminal: tmux, driven with keys and read from its screen; and an engine that answers slowly."""

import json
import os
import shlex
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TMUX = shutil.which("tmux")
PATIENCE = 30.0  # seconds, on a busy machine


class Terminal:
    """One program on a screen of its own. Its own tmux server, so no person's is touched."""

    def __init__(self, folder: Path, environment: Mapping[str, str], command: list[str], size: tuple[int, int]) -> None:
        self._socket = f"paceline-{uuid.uuid4().hex[:12]}"
        line = " ".join(["exec", *map(shlex.quote, command)])
        self._environment = {**environment, "SHELL": "/bin/sh"}
        self._environment.pop("TMUX", None)
        width, height = map(str, size)
        # -f: nobody's settings; how the program ended is told, so that a test can see it
        shown = f"({line}); echo ENDED $?; cat"
        where = ["-x", width, "-y", height, "-c", str(folder)]
        self.tmux("-f", "/dev/null", "new-session", "-d", *where, shown)
        self.tmux("set-option", "-g", "status", "off")

    def tmux(self, *words: str) -> str:
        command = [str(TMUX), "-L", self._socket, *words]
        how = {"env": self._environment, "capture_output": True, "text": True, "timeout": 20, "check": True}
        ended = subprocess.run(command, **how)
        return ended.stdout

    def press(self, *keys: str) -> None:
        """Keys by tmux's names."""
        self.tmux("send-keys", *keys)

    def write(self, text: str) -> None:
        """Text as if typed by a person, who is slower than a paste."""
        for character in text:
            self.tmux("send-keys", "-l", character)
            time.sleep(0.03)

    def paste(self, text: str, *, bracketed: bool) -> None:
        file = Path(os.environ.get("TMPDIR", "/tmp")) / f"{self._socket}.txt"
        file.write_text(text, encoding="utf-8")
        try:
            self.tmux("load-buffer", str(file))
            # without brackets a terminal sends what the Enter key sends for each line's end
            self.tmux("paste-buffer", *(["-p", "-r"] if bracketed else []))
        finally:
            file.unlink()

    def resize(self, width: int, height: int) -> None:
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def record(self, file: Path) -> None:
        """Write all that is drawn from now on to a file, also what is on the screen for a moment only."""
        self.tmux("pipe-pane", f"cat > {shlex.quote(str(file))}")

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def shows(self, *words: str, without: str = "") -> str:
        """The screen, once it has these words, and not that one."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            shown = self.screen
            if all(word in shown for word in words) and not (without and without in shown):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{words} did not come (without {without!r}):\n{shown}")

    @property
    def pid(self) -> int:
        """Of the program: the child of the pane's shell."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True).stdout.split()
        inner = subprocess.run(["pgrep", "-P", found[0]], capture_output=True, text=True).stdout.split()
        return int((inner or found)[0])

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")


class SlowAnswers:
    """An OpenAI-compatible server on loopback that says `line 1`, `line 2`, … until it has said so many or is left."""

    def __init__(self, lines: int, pause: float) -> None:
        self.asked: list[list[dict[str, str]]] = []
        self.left = threading.Event()  # somebody has gone away before the end
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                known = self.path == "/v1/models"
                body = json.dumps({"data": [{"id": "slow"}]} if known else {}).encode()
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path != "/v1/chat/completions":
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                outer.asked.append(asked["messages"])
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    for number in range(1, lines + 1):
                        self._event({"choices": [{"delta": {"content": f"line {number}\n\n"}}]})
                        time.sleep(pause)
                    self._event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    outer.left.set()
                self.close_connection = True

            def _event(self, event: dict[str, object]) -> None:
                self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                self.wfile.flush()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
