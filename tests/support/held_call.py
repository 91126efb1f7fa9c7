"""A request over a raw socket that a test holds in its hands: sent in parts, read in parts, broken off."""

import json
import re
import select
import socket
from collections.abc import Iterator
from http.client import HTTPResponse

from support.real_daemon import SECONDS, RealDaemon

_EVENT = re.compile(rb"^data: (.*)\n\n", re.MULTILINE)  # no event is split between chunks


def request_bytes(path: str, body: object = None, *, token: str = "", method: str = "POST", name: str = "") -> bytes:
    """A request as it goes over the wire."""
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    head += f"X-Request-Id: {name}\r\n" if name else ""
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def connect(daemon: RealDaemon, *, tcp: bool = False) -> socket.socket:
    if tcp:
        host, _, port = daemon.url.removeprefix("http://").rpartition(":")
        return socket.create_connection((host, int(port)), timeout=SECONDS)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(SECONDS)
    connection.connect(str(daemon.socket))
    return connection


class HeldCall:
    """One request. A stream's events are those that carry JSON; `done`: the last one has come."""

    def __init__(self, daemon: RealDaemon, path: str, body: dict, *, tcp: bool = False, name: str = "") -> None:
        """`name`: the id by which it can be cancelled."""
        self.connection = connect(daemon, tcp=tcp)
        self.connection.sendall(request_bytes(path, body, token=daemon.token if tcp else "", name=name))
        self.events: list[dict] = []
        self.done = False
        self.ended = False  # the connection
        self._unread = b""

    def _receive(self) -> None:
        try:
            data = self.connection.recv(1 << 16)
        except ConnectionError:
            data = b""
        self.ended = self.ended or not data
        self._unread += data
        end = 0
        for found in _EVENT.finditer(self._unread):
            end = found.end()
            if found[1] == b"[DONE]":
                self.done = True
            else:
                self.events.append(json.loads(found[1]))
                self.done = self.done or self.events[-1].get("stop") is True  # llama.cpp's routes
        self._unread = self._unread[end:]

    def read(self, events: int) -> None:
        """Wait until there are so many events."""
        while len(self.events) < events:
            assert not self.ended, (self.events[-2:], self._unread)
            self._receive()

    def drain(self) -> list[dict]:
        """Everything that has arrived so far."""
        while not self.ended and select.select([self.connection], [], [], 0)[0]:
            self._receive()
        return self.events

    def rest(self) -> list[dict]:
        """Everything up to the end of the stream or the connection."""
        while not (self.done or self.ended):
            self._receive()
        return self.events

    def answer(self) -> tuple[int, dict]:
        """Status and body of an answer in one piece."""
        response = HTTPResponse(self.connection)
        response.begin()
        return response.status, json.loads(response.read())

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "HeldCall":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def said(events: list[dict]) -> Iterator[str]:
    """The texts of a stream's events, whichever route they come from."""
    for event in events:
        if "content" in event:
            yield event["content"]
        for choice in event.get("choices", ()):
            yield choice["text"] if "text" in choice else choice["delta"].get("content", "")
