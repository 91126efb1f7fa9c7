"""The one way to an engine for commands, the language server and the terminal app, whoever computes.

    with connect(config) as client, closing(client.chat([Message("user", "Why?")])) as events:
        for event in events: ...

This one blocks; async_client has its twin for asyncio. Leaving an answer early, by closing what yields its events,
closes the connection, and that ends the computation. Where the figures are wanted nevertheless, there is cancel.Cancel.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from paceline.client.calls import Answer, Call, Engine, Flow, Place
from paceline.client.cancel import PATIENCE, Cancel
from paceline.client.discretion import Discretion
from paceline.client.events import AS_CONFIGURED, Completion, Event, Message, Options
from paceline.client.gather import Gathering
from paceline.client.local import Local, Say
from paceline.client.replies import Reader
from paceline.client.transport import Line, is_whole, joined, may_repeat, reason, refused, settings
from paceline.config import Config
from paceline.errors import InputError

if TYPE_CHECKING:
    import httpx

    from paceline.daemon.protocol import StatusReport
    from paceline.daemon.runtime import Endpoint

T = TypeVar("T")
Notice = Callable[[Event], None]
EARLY = "it ended early"
TOLD = (202, 404)  # of a cancellation: it ends, or has ended


def connect(config: Config, say: Say = lambda _: None) -> "Client":
    """A client for the engine that the configuration names. Nothing is sent or started yet.

    `say` gets a line where starting a daemon takes a while. Raises ConfigError when `engine.url` or its key is none.
    """
    return Client(engine_of(config, say))


def engine_of(config: Config, say: Say) -> Engine:
    """The server that `engine.url` names, or else the daemon of this machine. Raises ConfigError."""
    if config.engine.url:
        from paceline.client.remote import Remote

        return Remote(config)
    return Local(config, _launched, say)


def _launched(config: Config, say: Say) -> "Endpoint":
    from paceline.daemon.launch import ensure

    return ensure(config, say).endpoint


def daemon_of(engine: Engine) -> Local:
    """The engine, if it is this machine's. Raises InputError."""
    if not isinstance(engine, Local):
        raise InputError(f"{engine.name} is not a daemon of this machine", "engine.url in the configuration names it")
    return engine


class Client:
    """Speaks to one engine; may be used by several threads. Keeps its connections until it is closed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._http: httpx.Client | None = None
        self._place: Place | None = None
        self._discreet = Discretion(lambda: self._place)
        self._opening = threading.Lock()

    def __enter__(self) -> "Client":
        """Use as a context: connections are closed at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections that are kept."""
        if self._http is not None:
            http, self._http = self._http, None
            http.close()

    def chat(
        self, messages: Sequence[Message], options: Options = AS_CONFIGURED, cancel: Cancel | None = None
    ) -> Generator[Event, None, None]:
        """Ask, and yield the answer as it comes; End is the last, also of one that is cancelled.

        Raises what the engine refuses with (InputError, ModelError, ContextOverflowError, BusyError and others),
        EngineError or NetworkError where the answer breaks off, the same where nobody can be reached.
        """
        call = self._asked(self.engine.chat(messages, options))
        yield from self._stream(call, Reader(self.engine.name), cancel or Cancel())

    def complete(
        self,
        prefix: str,
        suffix: str,
        options: Options = AS_CONFIGURED,
        notice: Notice = lambda _: None,
        cancel: Cancel | None = None,
    ) -> Completion:
        """What to insert between two texts. `notice` gets Loading, Note and Progress meanwhile.

        Raises as `chat` does, and ModelError when the engine cannot infill.
        """
        infilling = self._asked(self.engine.infill(prefix, suffix, options))
        gathering, reader = Gathering(infilling, notice), Reader(self.engine.name)
        with closing(self._stream(infilling.call, reader, cancel or Cancel())) as events:
            any(gathering.take(event) for event in events)
        return gathering.completion(reader)

    def models(self) -> tuple[str, ...]:
        """Names of the models that can be asked. Raises NetworkError, EngineError."""
        return self._asked(self.engine.models())

    def status(self) -> "StatusReport":
        """What the daemon does now; it is started if it does not run. Raises InputError for an engine elsewhere."""
        return self._asked(daemon_of(self.engine).status())

    def _asked(self, flow: Flow[T]) -> T:
        """A flow's result, with the answers that it needs."""
        result: T
        with self._discreet:
            try:
                call = next(flow)
                while True:
                    call = flow.send(self._fetched(call))
            except StopIteration as end:
                result = end.value
        return result

    def _fetched(self, call: Call) -> Answer:
        import httpx

        response = self._sent(call)
        try:
            return Answer(response.status_code, joined(response.iter_bytes(), self.engine))
        except httpx.TransportError as error:
            raise self.engine.broken(reason(error)) from error
        finally:
            response.close()

    def _stream(self, call: Call, reader: Reader, cancel: Cancel) -> Generator[Event, None, None]:
        with self._discreet, closing(self._streamed(call, reader, cancel)) as events:
            for event in events:
                yield self._discreet.event(event)

    def _streamed(self, call: Call, reader: Reader, cancel: Cancel) -> Generator[Event, None, None]:
        import httpx

        if cancel.asked():
            yield reader.cut()
            return
        response = self._sent(call)
        try:
            with Line(response) as line:
                if response.status_code != 200:
                    raise refused(response, joined(response.iter_bytes(), self.engine), self.engine)
                cancel.when_asked(lambda: self._end(line))
                yield from self._read(response, reader)
        except httpx.TransportError as error:
            if not cancel.asked():
                raise self.engine.broken(reason(error)) from error
        finally:
            cancel.over()
            response.close()
        if not reader.over:
            if not cancel.asked():
                raise self.engine.broken(EARLY)
            yield reader.cut()

    def _read(self, response: "httpx.Response", reader: Reader) -> Generator[Event, None, None]:
        if is_whole(response, self.engine):
            yield from reader.whole(joined(response.iter_bytes(), self.engine))
        else:
            for piece in response.iter_bytes():
                yield from reader.feed(piece)
                if reader.over:
                    return
        yield from reader.end()

    def _end(self, line: Line) -> None:
        """Let an answer end in good order if the engine can do that, and soon."""
        if self._told(self.engine.cancelling(line.name)):
            line.cut_after(PATIENCE)
        else:
            line.cut()

    def _told(self, call: Call | None) -> bool:
        """Whether the engine knows."""
        import httpx

        http = self._http
        if call is None or http is None:
            return False
        try:
            return http.request(call.method, call.path, content=call.body, timeout=PATIENCE).status_code in TOLD
        except (httpx.HTTPError, RuntimeError):  # the latter: it was closed
            return False

    def _sent(self, call: Call) -> "httpx.Response":
        """The beginning of an answer. Where nobody can have read the request, it is sent once more."""
        import httpx

        try:
            return self._once(call, again=False)
        except httpx.TransportError as error:
            if not may_repeat(error):
                raise self.engine.unreachable(reason(error)) from error
        try:
            return self._once(call, again=True)
        except httpx.TransportError as error:
            raise self.engine.unreachable(reason(error)) from error

    def _once(self, call: Call, *, again: bool) -> "httpx.Response":
        http = self._opened(again=again)
        return http.send(http.build_request(call.method, call.path, content=call.body), stream=True)

    def _opened(self, *, again: bool) -> "httpx.Client":
        import httpx

        with self._opening:
            place = self._place
            if self._http is None or place is None or again:
                place = self.engine.place()
            if self._http is None or place != self._place:  # the old one, if any, may still be read by other threads
                transport = httpx.HTTPTransport(uds=place.socket, verify=False) if place.socket else None
                self._http = httpx.Client(transport=transport, **settings(place, self.engine.silence))
                self._place = place
            return self._http
