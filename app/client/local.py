"""The engine of this machine: the daemon, started when nobody answers at its socket."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from paceline.client import refusals
from paceline.client.calls import Answer, Call, Flow, Infilling, Place, beyond, chat_body, infill_body, trimming
from paceline.client.events import Message, Options
from paceline.config import Config
from paceline.daemon.protocol import CANCEL, STATUS, CancelRequest, StatusReport
from paceline.daemon.runtime import Endpoint
from paceline.errors import BusyError, EngineError, PacelineError
from paceline.text import replace_surrogates

Say = Callable[[str], None]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
Launch = Callable[[Config, Say], Endpoint]


class Local:
    """What a client must know about the daemon; see calls.Engine."""

    name = "the daemon"
    silence: float | None = None  # it may compute for long; `check` tells whether it hangs

    def __init__(self, config: Config, launch: Launch, say: Say) -> None:
        """`launch` finds or starts the daemon; `say` is told when that takes a while."""
        self._config = config
        self._launch = launch
        self._say = say
        self._endpoint: Endpoint | None = None  # where it was found last

    def place(self) -> Place:
        """Where the daemon listens, which is running then. Raises PacelineError when it cannot be started."""
        found = self._endpoint = self._launch(self._config, self._say)
        headers = {"Authorization": f"Bearer {found.token}"} if found.token else {}
        return Place(found.url, found.socket, headers)

    def models(self) -> Flow[tuple[str, ...]]:
        """GET /v1/models."""
        answer = yield Call("GET", "/v1/models")
        return tuple(each.id for each in _read(answer, _Models, self.name).data)

    def status(self) -> Flow[StatusReport]:
        """GET /paceline/status."""
        answer = yield Call("GET", STATUS)
        return _read(answer, StatusReport, self.name)

    def chat(self, messages: Sequence[Message], options: Options) -> Flow[Call]:
        """POST /v1/chat/completions."""
        yield from ()
        return Call("POST", "/v1/chat/completions", chat_body(messages, options, self._config, "paceline"))

    def infill(self, prefix: str, suffix: str, options: Options) -> Flow[Infilling]:
        """POST /infill."""
        yield from ()
        prefix, suffix = replace_surrogates(prefix), replace_surrogates(suffix)
        prompt = trimming(prefix, suffix, beyond(len(prefix)), beyond(len(suffix)))
        body = infill_body(prompt, prefix, suffix, options, self._config, "paceline")
        return Infilling(Call("POST", "/infill", body), prompt, options)

    def cancelling(self, name: str) -> Call | None:
        """POST /paceline/cancel."""
        return Call("POST", CANCEL, msgspec.json.encode(CancelRequest(name))) if name else None

    def check(self) -> None:
        """Raises PacelineError where the daemon does not even say who it is. May block for some seconds."""
        from paceline.daemon.probe import greet
        from paceline.daemon.runtime import Runtime

        endpoint = self._endpoint or Runtime.open().endpoint()
        with suppress(BusyError):  # then it answers
            if endpoint is not None:
                greet(endpoint)

    def renew(self) -> bool:
        """Have the daemon end, if one runs: when all requests are done, or at once if it does not answer.

        Whether it did not. The next request starts another one, which goes by the configuration as it is then. May
        block for some seconds. Raises PacelineError where that fails.
        """
        from paceline.daemon import ending
        from paceline.daemon.runtime import Runtime

        if self.end_if_deaf():
            return True
        ending.ask_to_stop(Runtime.open(), "idle")
        return False

    def end_if_deaf(self) -> bool:
        """End the daemon's process if it does not answer; whether it did not. May block for some seconds.

        Raises PacelineError where that fails.
        """
        from paceline.daemon import ending
        from paceline.daemon.runtime import Runtime

        try:
            self.check()
        except PacelineError:
            ending.force(Runtime.open())
            return True
        return False

    def unreachable(self, why: str) -> PacelineError:
        """Nothing could be sent."""
        return EngineError(f"the daemon does not answer: {why}", "`paceline logs` says why, `paceline stop` ends it")

    def broken(self, why: str) -> PacelineError:
        """The answer ended before its end."""
        return EngineError(
            "the daemon ended in the middle of the answer", "ask again: a new one is started; `paceline logs` says why"
        )


class _Named(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Named]


def _read(answer: Answer, kind: type[_Struct], who: str) -> _Struct:
    if answer.status != 200:
        raise refusals.refusal(answer.status, answer.body, who)
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refusals.not_understood(who) from error
