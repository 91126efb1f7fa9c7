"""A server that speaks just enough of the OpenAI API and of llama.cpp's, over TCP or a Unix socket, and misbehaves."""

import contextlib
import json
import select
import socket
import socketserver
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

SECONDS = 20  # after which a client that should have gone counts as staying
PROPS = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1}


@dataclass
class Reply:
    """One answer. Pieces are sent one after the other, each as a chunk of its own."""

    pieces: Sequence[bytes] = ()
    status: int = 200
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False  # close the connection instead of ending the body
    refuse: bool = False  # close the connection instead of answering at all
    stall: bool = False  # behind the pieces: silence until the client goes
    repeat: bool = False  # the pieces again and again, until the client goes
    break_off: bool = False  # a body that says how long it is, and ends early
    until: str = ""  # behind the pieces: silence until somebody asks for this address, or the client goes
    rest: Sequence[bytes] = ()  # what comes then


@dataclass(frozen=True)
class Seen:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: dict


class ApiServer:
    """Answers by path: `replies[path]` are used up in order, the last one stays. Others get 404."""

    def __init__(self) -> None:
        self.replies: dict[str, list[Reply]] = {}
        self.requests: list[Seen] = []
        self.gone = threading.Event()  # a client has left in the middle of an answer
        self.asked = threading.Condition()  # something was
        self.url = ""
        self.socket = ""

    def answer(self, path: str, *replies: Reply) -> None:
        self.replies[path] = list(replies)

    def chat(self, *replies: Reply) -> None:
        self.answer("/v1/chat/completions", *replies)

    def of(self, path: str) -> list[Seen]:
        return [seen for seen in self.requests if seen.path == path]

    def next_reply(self, path: str) -> Reply:
        waiting = self.replies.get(path)
        if not waiting:
            return json_reply({"error": {"message": "no such route", "type": "not_found_error"}}, 404)
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


def data(event: object) -> bytes:
    """An event as it goes over the wire."""
    return b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n"


DONE = data(b"[DONE]")


def chat_chunk(text: str | None = None, finish: str | None = None, drafter: str = "", **more: object) -> bytes:
    delta = {} if text is None else {"content": text}
    if drafter:
        delta["drafter"] = drafter
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return data({"object": "chat.completion.chunk", "model": "big", "choices": [choice], **more})


def usage(prompt: int, answer: int, cached: int) -> dict:
    details = {"cached_tokens": cached}
    return {"prompt_tokens": prompt, "completion_tokens": answer, "prompt_tokens_details": details}


def chat_answer(*texts: str, finish: str = "stop", timings: dict | None = None) -> Reply:
    """A whole answer as OpenAI streams it: usage comes in a chunk of its own."""
    last = {"choices": [], "model": "big", "usage": usage(9, len(texts), 4)}
    if timings is not None:
        last["timings"] = timings
    return Reply([*map(chat_chunk, texts), chat_chunk(finish=finish), data(last), DONE])


def text_answer(*texts: str, finish: str = "stop") -> Reply:
    """Of /v1/completions."""
    chunks = [{"model": "big", "choices": [{"index": 0, "text": text, "finish_reason": None}]} for text in texts]
    last = {"model": "big", "choices": [{"index": 0, "text": "", "finish_reason": finish}], "usage": usage(7, 3, 0)}
    return Reply([*map(data, [*chunks, last]), DONE])


def infill_answer(*texts: str, stop_type: str = "eos", **more: object) -> Reply:
    """Of llama.cpp's /infill, which ends without [DONE]."""
    last = {"content": "", "stop": True, "stop_type": stop_type, "tokens_evaluated": 20, "tokens_predicted": 5}
    timings = {"prompt_n": 12, "predicted_n": 5, "predicted_ms": 10.0, "predicted_per_second": 500.0}
    chunks = [{"content": text, "stop": False} for text in texts]
    return Reply([*map(data, chunks), data({**last, "model": "big", "timings": timings, **more})])


def json_reply(body: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([json.dumps(body).encode()], status, "application/json", named)


def llama_server(server: ApiServer) -> ApiServer:
    """It is llama.cpp's."""
    server.answer("/props", json_reply(PROPS))
    return server


def with_model(server: ApiServer, *names: str) -> ApiServer:
    server.answer("/v1/models", json_reply({"object": "list", "data": [{"id": name} for name in names]}))
    return server


@contextmanager
def running_api(path: Path | None = None) -> Iterator[ApiServer]:
    """A server on a Unix socket at `path`, or on loopback."""
    api = ApiServer()
    handler = type("Handler", (_Handler,), {"api": api})
    kind = _UnixServer if path is not None else _TcpServer
    with kind(str(path) if path is not None else ("127.0.0.1", 0), handler) as server:
        if path is None:
            api.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        else:
            api.socket = str(path)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64


class _TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64


class _Handler(BaseHTTPRequestHandler):
    api: ApiServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client has gone
            self.api.gone.set()
            self.close_connection = True

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.api.asked:
            self.api.requests.append(Seen(self.command, self.path, headers, json.loads(body or b"{}")))
            self.api.asked.notify_all()
        reply = self.api.next_reply(self.path)
        if reply.refuse:
            self._hang_up()
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.break_off:
            self.send_header("Content-Length", "1000000")
        else:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._send_all(reply)

    def _send_all(self, reply: Reply) -> None:
        while True:
            for piece in reply.pieces:
                self.wfile.write(piece if reply.break_off else b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if not reply.repeat:
                break
        if reply.until:
            with self.api.asked:
                self.api.asked.wait_for(lambda: self.api.of(reply.until), SECONDS)
            for piece in reply.rest:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if reply.stall:
            ready, _, _ = select.select([self.connection], [], [], SECONDS)
            if ready and not self._received():
                self.api.gone.set()
            self.close_connection = True
        elif reply.drop or reply.break_off:
            self._hang_up()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _received(self) -> bytes:
        try:
            return self.connection.recv(1)
        except ConnectionError:
            return b""

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
