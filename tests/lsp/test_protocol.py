"""Every request is answered, whatever it says and whenever it comes; what is no message does no harm."""

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
    with pytest.raises(SystemExit):
        connection.send({"method": "exit"})
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
