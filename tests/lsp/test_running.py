"""The server as a program: with a configuration that is wrong, at a socket, and when its editor goes."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.lsp_editor import INVOKED, lsp_editor, run

INITIALIZE = {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
CODE = "import os\nimport sys\nVALUES = [1, 2]\nvalue = |\n"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has set up nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PACELINE_"))}
    return {**kept, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}


def configure(home: Mapping[str, str], text: str) -> None:
    folder = Path(home["HOME"]) / ".config/paceline"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "word"),
    [("[editor\n", "TOML"), ("[engine]\nthreds = 1\n", "threads"), ('[engine]\nurl = "ftp://x"\n', "engine.url")],
)
def test_a_configuration_that_names_no_engine_is_one_message(home, text, word):
    configure(home, text)

    async def scenario() -> None:
        async with lsp_editor(home) as editor:
            page = editor.open(CODE)
            for _ in range(3):
                assert await page.ask(INVOKED) == []
                page.type("a")
            (message,) = editor.shown
            assert word in message
            await editor.do("paceline.restartEngine")
            assert await page.ask(INVOKED) == []
            assert editor.shown == [message, message]

    run(scenario)


def test_a_wrong_setting_in_the_persons_own_table_is_one_message_and_the_server_goes_on(home):
    configure(home, "[editor]\nfoo = 1\nenabled = false\n")

    async def scenario() -> None:
        async with lsp_editor(home) as editor:
            page = editor.open(CODE)
            assert await page.ask(INVOKED) == []
            (message,) = editor.shown
            assert "'foo'" in message

    run(scenario)


def framed(message: Mapping[str, object]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@contextmanager
def listening(home: Mapping[str, str]) -> "Iterator[tuple[subprocess.Popen[bytes], int]]":
    """A server at a socket, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "paceline", "lsp", "--tcp", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env=home, stderr=subprocess.PIPE)
    try:
        yield process, port
    finally:
        process.kill()
        process.communicate()


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)


def test_at_a_socket_there_is_one_editor_and_the_server_ends_when_it_goes(home):
    async def scenario(process: "subprocess.Popen[bytes]", port: int) -> None:
        reader, writer = await connected(port)
        writer.write(framed(INITIALIZE))
        assert (await reader.readline()).startswith(b"Content-Length")
        with pytest.raises((ConnectionRefusedError, asyncio.IncompleteReadError, ConnectionResetError)):
            second, _ = await asyncio.open_connection("127.0.0.1", port)
            await second.readexactly(1)
        writer.close()
        assert await asyncio.to_thread(process.wait, 20) == 0

    with listening(home) as (process, port):
        run(lambda: scenario(process, port))


@pytest.mark.parametrize(
    "said",
    [
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
        b"Content-Length: 99999999999\r\n\r\n",
        b"x" * 200_000,
    ],
    ids=["a browser's", "too large", "no lines"],
)
def test_what_is_no_message_of_the_protocol_ends_the_connection(home, said):
    async def scenario(process: "subprocess.Popen[bytes]", port: int) -> None:
        reader, writer = await connected(port)
        writer.write(said)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        assert await asyncio.to_thread(process.wait, 20) == 0

    with listening(home) as (process, port):
        run(lambda: scenario(process, port))


def test_a_port_that_is_taken_is_explained(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "paceline", "lsp", "--tcp", f"127.0.0.1:{port}"]
        ended = subprocess.run(command, env=home, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 6
    assert "cannot listen" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("shutdown", "status"), [(False, 1), (True, 0)])
def test_an_editor_may_go_while_a_request_is_computed(home, shutdown, status):
    """The engine never answers: it is a socket that takes connections."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        configure(home, f'[engine]\nurl = "http://127.0.0.1:{silent.getsockname()[1]}/v1"\n')
        text = CODE.replace("|", "")
        document = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": text}
        asked = {"textDocument": document, "position": {"line": 3, "character": 8}, "context": {"triggerKind": 1}}
        messages: list[dict[str, object]] = [
            INITIALIZE,
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
            {"id": 1, "method": "textDocument/inlineCompletion", "params": asked},
            *([{"id": 2, "method": "shutdown"}] if shutdown else []),
            {"method": "exit"},
        ]
        ended = subprocess.run(
            [sys.executable, "-m", "paceline", "lsp"],
            env=home,
            input=b"".join(map(framed, messages)),
            capture_output=True,
            timeout=30,
        )
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == status
