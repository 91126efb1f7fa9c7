"""Clients that connect, ask, and drop at any point; the same ones in the same order for the same seed."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from support.held_call import request_bytes
from support.real_daemon import RealDaemon

PATIENCE = 120  # seconds for those who still wait when nobody comes any more; in a crowd the least urgent wait long

# where a client leaves
FATES = ("connected", "in the head", "in the body", "asked", "in the answer", "abruptly", "served", "served again")
WORDS = ("in the", "for a in", "def f(", "x = 1\n", "return", "Why?", "\N{SNAKE}", "open the")
PRIORITIES = ("completion", "chat", "prefetch", "background")
ROUTES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/completion",
    "/infill",
    "/tokenize",
    "/detokenize",
    "/apply-template",
    "/v1/embeddings",
    "/v1/models",
    "/props",
    "/slots",
    "/metrics",
    "/health",
    "/paceline/status",
    "/nowhere",
)
BODIES = ROUTES[:8]


@dataclass
class Tally:
    """What became of all of them."""

    fates: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def clients(self) -> int:
        return self.fates.total()


class Crowd:
    """Up to `size` clients at a time, until the time is over or so many have come."""

    def __init__(self, daemon: RealDaemon, seed: int, size: int) -> None:
        self._daemon = daemon
        self._random = random.Random(seed)
        self._size = size
        self.tally = Tally()

    def run(self, seconds: float, most: int) -> Tally:
        asyncio.run(self._run(seconds, most))
        return self.tally

    async def _run(self, seconds: float, most: int) -> None:
        end, running = time.monotonic() + seconds, set()
        for _ in range(most):
            if time.monotonic() > end:
                break
            client = Client(self._daemon, random.Random(self._random.random()), self.tally)
            running.add(asyncio.create_task(client.live()))
            if len(running) >= self._size:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    each.result()
        await asyncio.wait_for(asyncio.gather(*running), PATIENCE)


class Client:
    """One client's life."""

    def __init__(self, daemon: RealDaemon, dice: random.Random, tally: Tally) -> None:
        self._daemon = daemon
        self._dice = dice
        self._tally = tally

    async def live(self) -> None:
        fate = self._dice.choice(FATES)
        await self._live(fate)
        self._tally.fates[fate] += 1

    async def _live(self, fate: str) -> None:
        reader, writer = await self._connect()
        try:
            if fate == "connected":
                await asyncio.sleep(self._dice.random() * 0.05)
                return
            for _ in range(3 if fate == "served again" else 1):
                await self._ask(fate, reader, writer)
        except ConnectionError:  # the daemon has refused what came of it
            self._tally.statuses[0] += 1
        finally:
            if fate == "abruptly":
                writer.transport.abort()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._tcp = self._dice.random() < 0.5
        if self._tcp:
            host, _, port = self._daemon.url.removeprefix("http://").rpartition(":")
            return await asyncio.open_connection(host, int(port))
        return await asyncio.open_unix_connection(self._daemon.socket)

    async def _ask(self, fate: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = self._request()
        head = sent.index(b"\r\n\r\n") + 4
        cuts = {"in the head": self._dice.randrange(1, head), "in the body": self._dice.randrange(head, len(sent) + 1)}
        writer.write(sent[: cuts.get(fate, len(sent))])
        await writer.drain()
        if fate in ("in the answer", "abruptly"):
            await self._begin_to_read(reader)
        if fate in ("served", "served again"):
            try:
                await self._read_answer(reader)
            except asyncio.IncompleteReadError as error:
                raise AssertionError(f"no whole answer to {sent[:40]!r}, but {error.partial[-200:]!r}") from error

    async def _begin_to_read(self, reader: asyncio.StreamReader) -> None:
        """A few bytes of the head, or some lines of a stream."""
        if self._dice.random() < 0.3:
            await reader.read(self._dice.randrange(1, 60))
            return
        head = await reader.readuntil(b"\r\n\r\n")
        lines = self._dice.randrange(20) if b"chunked" in head else 0
        while lines and await reader.readline() != b"0\r\n":
            lines -= 1

    async def _read_answer(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        self._tally.statuses[int(head.split()[1])] += 1
        if "transfer-encoding: chunked" in head:
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + 2)
            await reader.readline()
        else:
            await reader.readexactly(int(head.partition("content-length:")[2].split()[0]))

    def _request(self) -> bytes:
        path = self._dice.choice(ROUTES)
        token = self._daemon.token if self._tcp else ""
        if path not in BODIES:
            return request_bytes(path, method="GET", token=token)
        return request_bytes(path, self._body(path), token=token)

    def _body(self, path: str) -> dict:
        dice, text = self._dice, " ".join(self._dice.choices(WORDS, k=self._dice.choice((1, 5, 80))))
        how = {
            "stream": dice.random() < 0.6,
            "priority": dice.choice(PRIORITIES),
            "speculation": dice.choice(("off", "auto", "ngram", "draft")),
            "temperature": dice.choice((0, 0.8, 2)),
            "n": dice.choice((1, 1, 3)),
            "max_tokens": dice.choice((1, 20, 300)),
            "supersedes": dice.choice(("", "", "one", "two")),
            "logprobs": None if dice.random() < 0.7 else 1 if path == "/v1/completions" else True,
            "return_progress": dice.random() < 0.3,
        }
        messages = [{"role": "user", "content": text}]
        if path == "/v1/chat/completions" and dice.random() < 0.3:
            how["response_format"] = {"type": "json_object"}
        return {
            "/v1/chat/completions": {"messages": messages, **how},
            "/v1/completions": {"prompt": [text] * dice.choice((1, 1, 2)), **how},
            "/completion": {"prompt": text, **how},
            "/infill": {"input_prefix": text, "input_suffix": "\n", **how},
            "/tokenize": {"content": text * dice.choice((1, 100))},
            "/detokenize": {"tokens": [dice.randrange(300) for _ in range(20)]},
            "/apply-template": {"messages": messages},
            "/v1/embeddings": {"input": text},
        }[path]
