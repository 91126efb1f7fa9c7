"""A small Hub on this machine that can misbehave in every way a real one does, and counts what it sends."""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Served:
    """One file and how it is served. The faults apply to GET, except where they say otherwise."""

    content: bytes
    sha256: str | None = ""  # "" for the true one; None for no hash in the metadata
    size: int | None = None  # announced in the metadata; None for the true one
    drops: list[int] = field(default_factory=list)  # of the next answers: close after so many bytes
    stalls: list[int] = field(default_factory=list)  # of the next answers: fall silent after so many bytes
    statuses: list[int] = field(default_factory=list)  # of the next answers to GET or HEAD
    retry_after: str = ""
    error_code: str = ""
    ignore_range: bool = False
    extra: bytes = b""  # sent after the content, without announcing it
    length: int | None = None  # what Content-Length and Content-Range lie
    wrong: bytes | None = None  # sent instead of the content, the same length
    wrong_answers: int = 1_000_000  # so many answers are wrong, then they are right
    redirect: str = ""  # GET answers with 302 to here
    pause: float = 0.0  # seconds between blocks
    block: int = 16_384


class Hub:
    """Serves `/<owner>/<repo>/resolve/<revision>/<file>`. `sent[path]` counts the bytes of bodies really written."""

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.sent = 0
        self.silent = threading.Event()  # set: a HEAD gets no answer until released
        self.release = threading.Event()
        self.url = ""

    def add(self, name: str, served: Served) -> Served:
        self.files[name] = served
        return served

    def of(self, method: str) -> list[dict[str, str]]:
        """Headers of all requests with this method, in lower case."""
        return [headers for verb, _, headers in self.requests if verb == method]


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.release.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client has gone, as killed ones do
            self.close_connection = True

    def _served(self) -> Served | None:
        self.hub.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        parts = self.path.strip("/").split("/")
        if self.path.startswith("/cdn/"):
            return self.hub.files.get(self.path.removeprefix("/cdn/"))
        return self.hub.files.get(f"{parts[0]}/{parts[1]}:{'/'.join(parts[4:])}") if len(parts) > 4 else None

    def _refuse(self, status: int, served: Served | None) -> None:
        self.send_response(status)
        if served and served.retry_after:
            self.send_header("Retry-After", served.retry_after)
        if served and served.error_code:
            self.send_header("X-Error-Code", served.error_code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self) -> None:
        served = self._served()
        if self.hub.silent.is_set():
            self.hub.release.wait(30)
            self.close_connection = True
            return
        if served is None or served.statuses:
            self._refuse(served.statuses.pop(0) if served else 404, served)
            return
        digest = hashlib.sha256(served.content).hexdigest() if served.sha256 == "" else served.sha256
        self.send_response(302)
        self.send_header("Location", "http://cdn.invalid/elsewhere")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-Size", str(len(served.content) if served.size is None else served.size))
        self.send_header("X-Linked-Etag" if digest else "X-No-Etag", f'"{digest}"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        served = self._served()
        if served is None or served.statuses:
            self._refuse(served.statuses.pop(0) if served else 404, served)
            return
        if served.redirect:
            self.send_response(302)
            self.send_header("Location", served.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = served.content
        if served.wrong is not None and served.wrong_answers > 0:
            served.wrong_answers -= 1
            body = served.wrong
        total = len(body) if served.length is None else served.length
        wanted = self.headers.get("Range", "")
        first = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted and not served.ignore_range else 0
        if first >= total:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{total}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{total - 1}/{total}")
        if served.extra:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(total - first))
        self.end_headers()
        self._send(body[first:] + served.extra, served)

    def _send(self, body: bytes, served: Served) -> None:
        drop = served.drops.pop(0) if served.drops else None
        stall = served.stalls.pop(0) if served.stalls else None
        end = min(x for x in (drop, stall, len(body)) if x is not None)
        try:
            for at in range(0, end, served.block):
                piece = body[at : min(at + served.block, end)]
                self.wfile.write(piece)
                self.hub.sent += len(piece)
                if served.pause:
                    time.sleep(served.pause)
            if stall is not None:
                self.hub.release.wait(30)
            if stall is not None or drop is not None:
                self.close_connection = True
                self.connection.shutdown(2)
        except OSError:  # the client has gone
            self.close_connection = True
