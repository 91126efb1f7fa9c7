"""The protocol with our own documents, and with an answer to every request, whatever it says.

`DocumentProtocol` puts `Documents` in the place of pygls' own workspace, whose documents break lines where the
protocol does not, and read and join all of their lines for every change.
"""

from collections.abc import Callable, Generator, Hashable
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification

from paceline.lsp import changes
from paceline.lsp.documents import NO_VERSION, Documents
from paceline.lsp.positions import Encoding

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cattrs import Converter
    from pygls.lsp.server import LanguageServer

# what is said of texts, and whether it can be read
_TOLD: dict[str, Callable[[object], bool]] = {
    types.TEXT_DOCUMENT_DID_OPEN: changes.is_document,
    types.TEXT_DOCUMENT_DID_CHANGE: changes.is_readable,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: changes.is_readable_notebook,
}
_REFUSED = "$/refused"  # stands for a message that nobody is to handle


class DocumentProtocol(LanguageServerProtocol):
    """The protocol with our documents. `left`: the process' exit status, once the editor has said that it goes."""

    def __init__(self, server: "LanguageServer", converter: "Converter") -> None:
        self.documents = Documents(None, [])  # what is open; nothing before `initialize`, which makes it anew
        self.left: int | None = None
        self.warned = False  # it has asked for the shutdown, which may take a moment
        self.on_exit: Callable[[], None] = lambda: None
        super().__init__(server, converter)

    def structure_message(self, data: dict[str, Any]) -> Any:  # noqa: ANN401 - as pygls has it
        """As pygls does it, but a document whose version or language an editor leaves out is a document all the same.

        pygls refuses such a message, and would have a wrong text from then on. What is said of a document and cannot be
        read leaves its text unknown. A request that says nonsense is answered with an error, which pygls leaves without
        an answer; and who waits for an answer that is nonsense learns of it.
        """
        method = data.get("method")
        readable = _TOLD.get(method) if "jsonrpc" in data and isinstance(method, str) else None
        if readable is not None:
            _complete(data.get("params"))
            if not readable(data.get("params")):
                return self._lost(data)
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if readable is not None:
                return self._lost(data)
            if "id" in data and "method" in data:
                self._refuse(data["id"], JsonRpcInvalidParams())
            elif "id" in data and isinstance(data["id"], Hashable) and data["id"] in self._request_futures:
                error = types.ResponseError(JsonRpcInvalidParams.CODE, "the answer is not what was asked for")
                self._handle_response(data["id"], error=error)
            return JsonRPCNotification(_REFUSED, self.VERSION, None)

    def _lost(self, data: dict[str, Any]) -> JsonRPCNotification:
        """What was said of a document cannot be read."""
        uri = changes.named(data.get("params"))
        if uri is not None or data["method"] != types.TEXT_DOCUMENT_DID_OPEN:
            self.documents.lose(uri)
        if "id" in data:
            self._refuse(data["id"], JsonRpcInvalidParams())
        return JsonRPCNotification(_REFUSED, self.VERSION, None)

    def handle_message(self, message: Any) -> None:  # noqa: ANN401 - whatever the JSON was
        """As pygls does it, but a request that comes at the wrong time, or is none, is answered with an error."""
        method, number = getattr(message, "method", None), getattr(message, "id", None)
        if getattr(message, "jsonrpc", None) != self.VERSION:
            if isinstance(message, dict):
                number = message.get("id")
            if number is not None or not isinstance(message, dict):
                self._refuse(number, JsonRpcInvalidRequest("this is no message of JSON-RPC 2.0"))
        elif method is None or number is None:  # an answer, or a notification
            if self._workspace is not None or method in (None, types.EXIT):
                super().handle_message(message)
        elif self._shutdown:
            self._refuse(number, JsonRpcInvalidRequest("the server is shutting down"))
        elif (method == types.INITIALIZE) == (self._workspace is None):
            super().handle_message(message)
        elif self._workspace is None:
            self._refuse(number, JsonRpcServerNotInitialized("the first request is `initialize`"))
        else:
            self._refuse(number, JsonRpcInvalidRequest("the server is initialized already"))

    def _refuse(self, number: Any, error: JsonRpcException) -> None:  # noqa: ANN401 - what came as its id
        self._send_response(number, error=error.to_response_error())

    def _send_data(self, data: Any) -> None:  # noqa: ANN401 - as pygls has it
        """As pygls does it; nothing to an editor that has gone."""
        if self.left is None:
            super()._send_data(data)

    def _execute_handler(
        self,
        msg_id: int | str,
        handler: Callable[..., Any],
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """As pygls does it, and forget what has come to its end: pygls keeps what it did for each notification."""

        def ended(future: Any) -> None:  # noqa: ANN401 - one of two kinds
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)

    def _run_generator(
        self,
        future: Any,  # noqa: ANN401 - one of two kinds
        *,
        gen: Generator[Any, Any, Any],
        result_future: "Future[Any]",
    ) -> None:
        """As pygls does it; but what waits for something that was cancelled is cancelled, too, and raises nothing."""
        if future is not None and future.cancelled():
            gen.close()
            result_future.cancel()
        else:
            super()._run_generator(future, gen=gen, result_future=result_future)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:  # noqa: ANN401 - as pygls has it
        """As pygls does it, which stumbles where something ends by being cancelled."""
        self.warned = True
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        for number, future in list(self._request_futures.items()):
            if number != self.msg_id:
                future.cancel()
        self._shutdown = True

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: object) -> Generator[Any, Any, None]:
        """The editor goes. What is still computed is not answered any more."""
        self.left = 0 if self.warned else 1
        self.on_exit()
        yield from ()

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """As pygls does it; its workspace, which is empty then, is replaced before any handler of ours runs."""
        steps = super().lsp_initialize(params)
        try:
            step = next(steps)
        except StopIteration as end:
            self._replace_workspace()
            return cast(types.InitializeResult, end.value)
        self._replace_workspace()
        answer = yield step
        try:
            steps.send(answer)
        except StopIteration as end:
            return cast(types.InitializeResult, end.value)
        raise AssertionError("pygls asks one handler")

    def _replace_workspace(self) -> None:
        theirs = self.workspace
        encoding = types.PositionEncodingKind(theirs.position_encoding or "utf-16").value
        self.documents = Documents(theirs.root_uri, list(theirs.folders.values()), cast(Encoding, encoding))
        self._workspace = self.documents


def _complete(params: object) -> None:
    """Put in what an editor may leave out of a document, and take out what stands for nothing."""
    document = params.get("textDocument") if isinstance(params, dict) else None
    if isinstance(document, dict):
        version = document.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or abs(version) > changes.LARGEST:
            document["version"] = NO_VERSION
        if not isinstance(document.get("languageId"), str):
            document["languageId"] = ""
    changes.leave_out_nulls(params)
