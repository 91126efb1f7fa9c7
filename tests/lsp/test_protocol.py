"""Every request is answered, whatever it says and whenever it comes; what is no message does no harm."""

import asyncio
import json
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from paceline.lsp.protocol import DocumentProtocol

INITIALIZE = {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
OPEN = {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a.py", "text": "x"}}}


class Writer:
    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        self.said.append(json.loads(data))

    def close(self) -> None: ...


class Connection:
    """A server that is spoken to."""

    def __init__(self, *, ready: bool = True) -> None:
        self.server = LanguageServer("test", "1", protocol_cls=DocumentProtocol)
        self.protocol = self.server.protocol
        assert isinstance(self.protocol, DocumentProtocol)
        self.writer = Writer()
        self.protocol.set_writer(self.writer, include_headers=False)
        if ready:
            self.send(INITIALIZE)

    def send(self, message: Any) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message} if isinstance(message, dict) else message)
        self.protocol.handle_message(json.loads(text, object_hook=self.protocol.structure_message))

    def answer(self, number: object) -> dict[str, Any] | None:
        return next((each for each in self.writer.said if "method" not in each and each.get("id") == number), None)

    def code(self, number: object) -> int | None:
        found = self.answer(number)
        assert found is not None, self.writer.said
        return found["error"]["code"] if "error" in found else None


@pytest.mark.parametrize("params", [None, 3, [], "x", {}, {"textDocument": 3}, {"textDocument": {"uri": 3}}])
def test_a_request_with_wrong_parameters_is_answered_so(params: object):
    connection = Connection()
    connection.send({"id": 5, "method": "textDocument/inlineCompletion", "params": params})
    assert connection.code(5) == -32602


def test_a_request_after_the_shutdown_is_refused():
    connection = Connection()
    connection.send({"id": 1, "method": "shutdown"})
    connection.send({"id": 2, "method": "workspace/executeCommand", "params": {"command": "x"}})
    assert (connection.code(1), connection.code(2)) == (None, -32600)


def test_a_request_before_the_initialization_is_refused_and_a_notification_left_out():
    connection = Connection(ready=False)
    connection.send({"id": 1, "method": "shutdown"})
    connection.send(OPEN)
    connection.send(INITIALIZE)
    assert (connection.code(1), connection.code(0)) == (-32002, None)
    assert connection.protocol.documents.open == {}


def test_a_second_initialization_is_refused_and_leaves_what_is_open():
    connection = Connection()
    connection.send(OPEN)
    connection.send({**INITIALIZE, "id": 2})
    assert connection.code(2) == -32600
    assert list(connection.protocol.documents.open) == ["file:///a.py"]


@pytest.mark.parametrize("message", [[1, 2], "x", None, 7, True, []])
def test_what_is_no_message_is_refused(message: object):
    connection = Connection()
    connection.send(message)
    assert connection.code(None) == -32600


@pytest.mark.parametrize(
    "message", [{"id": 3, "method": "x", "jsonrpc": "1.0"}, {"id": {"a": 1}, "method": "shutdown"}, {"id": [1]}]
)
def test_a_message_of_another_kind_does_no_harm(message: dict[str, object]):
    connection = Connection()
    connection.send(message)
    connection.send({"id": 9, "method": "shutdown"})
    assert connection.code(9) is None


@pytest.mark.parametrize("result", [7, "x", {"applied": []}])
def test_who_waits_for_an_answer_that_is_nonsense_learns_of_it(result: object):
    connection = Connection()
    edit = types.ApplyWorkspaceEditParams(types.WorkspaceEdit())
    waiting = connection.protocol.send_request(types.WORKSPACE_APPLY_EDIT, edit)
    (asked,) = [each for each in connection.writer.said if each.get("method") == types.WORKSPACE_APPLY_EDIT]
    connection.send({"id": asked["id"], "result": result})
    assert waiting.done()


def test_an_answer_of_nothing_to_an_edit_ends_the_waiting():
    connection = Connection()
    waiting = connection.protocol.send_request(
        types.WORKSPACE_APPLY_EDIT, types.ApplyWorkspaceEditParams(types.WorkspaceEdit())
    )
    connection.send({"id": connection.writer.said[-1]["id"], "result": None})
    assert waiting.done()


@pytest.mark.parametrize(("before", "status"), [([], 1), ([{"id": 1, "method": "shutdown"}], 0)])
def test_an_editor_that_goes_is_sent_nothing_more(before: list[dict[str, object]], status: int):
    connection = Connection()
    for message in before:
        connection.send(message)
    gone: list[bool] = []
    connection.protocol.on_exit = lambda: gone.append(True)
    connection.send({"method": "exit"})
    assert gone == [True]
    count = len(connection.writer.said)
    connection.protocol.notify("paceline/status", {})
    assert len(connection.writer.said) == count
    assert connection.protocol.left == status


def test_changes_of_a_document_that_is_not_open_are_one_line_in_the_log(caplog: pytest.LogCaptureFixture):
    connection = Connection()
    for version in range(50):
        params = {"textDocument": {"uri": "file:///never", "version": version}, "contentChanges": [{"text": "x"}]}
        connection.send({"method": "textDocument/didChange", "params": params})
    assert len([each for each in caplog.records if "not open" in each.getMessage()]) == 1


def test_what_has_been_done_for_notifications_is_forgotten():
    async def scenario() -> None:
        connection = Connection()

        @connection.server.feature("test/told")
        async def told(params: object) -> None:
            await asyncio.sleep(0)

        @connection.server.feature(types.TEXT_DOCUMENT_DID_SAVE)
        async def saved(params: object) -> None:
            await asyncio.sleep(0)

        connection.send(OPEN)
        for version in range(100):
            which = {"uri": "file:///a.py", "version": version}
            change = {"textDocument": which, "contentChanges": [{"text": f"x{version}"}]}
            connection.send({"method": "textDocument/didChange", "params": change})
            connection.send({"method": "textDocument/didSave", "params": {"textDocument": which}})
            connection.send({"method": "test/told", "params": None})
        for _ in range(10):
            await asyncio.sleep(0)
        assert connection.protocol._request_futures == {}

    asyncio.run(scenario())


def test_a_shutdown_ends_what_waits_for_the_editor_and_leaves_no_complaint():
    """A handler waits for an answer of the editor's; another one, of a command, is what pygls calls by a generator."""

    async def scenario() -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        connection = Connection(ready=False)
        waiting = []

        async def asks(*_: object) -> None:
            waiting.append(True)
            await connection.server.client_register_capability_async(types.RegistrationParams([]))

        connection.server.feature(types.INITIALIZED)(asks)
        connection.server.command("ask")(asks)
        connection.send(INITIALIZE)
        connection.send({"method": "initialized", "params": {}})
        connection.send({"id": 1, "method": "workspace/executeCommand", "params": {"command": "ask"}})
        await asyncio.sleep(0.01)
        assert len(waiting) == 2
        connection.send({"id": 2, "method": "shutdown"})
        for _ in range(20):
            await asyncio.sleep(0)
        assert connection.code(2) is None
        assert connection.code(1) == -32800
        assert complaints == []

    asyncio.run(scenario())
