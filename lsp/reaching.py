"""The engine that the person's configuration names, as the file has it now; and the settings that stand there."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from paceline import config as configuration
from paceline.client.async_client import AsyncClient
from paceline.client.client import engine_of
from paceline.client.events import Completion, Event, Message, Options
from paceline.client.local import Local
from paceline.errors import BusyError, ConfigError
from paceline.lsp import options
from paceline.lsp.engine import StoppedError
from paceline.lsp.options import Own


class Reaching:
    """Belongs to one event loop. Whoever asks learns what is wrong where the configuration names no engine."""

    def __init__(self, path: Path, own: Own, log: Callable[[str], None]) -> None:
        """own: what the file at `path` said at the start. log: takes lines, in any thread."""
        self._path = path
        self._log = log
        self._seen = own.version
        self._client: AsyncClient | None = None
        self._error: ConfigError | None = None
        self._turn_to(own)

    def news(self) -> Own | None:
        """What the file says, where it has been written since the last look. From then on its engine is asked.

        A file with mistakes takes no engine away that was there before.
        """
        if configuration.version(self._path) == self._seen:
            return None
        own = options.of_person(self._path)
        self._seen = own.version
        return replace(own, error=self._turn_to(own))

    def _turn_to(self, own: Own) -> ConfigError | None:
        """Ask what this configuration names from now on; or what is wrong with that."""
        self._error = own.error
        if own.error is None:
            try:
                engine = engine_of(own.config, self._log)
            except ConfigError as error:
                self._error = error
            else:
                self._client = self._client or AsyncClient(engine)
                self._client.turn_to(engine)
        return self._error

    async def complete(self, prefix: str, suffix: str, options: Options, notice: Callable[[Event], None]) -> Completion:
        """One completion. Raises PacelineError; StoppedError where the daemon has too much to do just now."""
        client = self._reached
        try:
            return await client.complete(prefix, suffix, options, notice)
        except BusyError as error:
            if not isinstance(client.engine, Local):  # a server elsewhere, which wants to be asked less often
                raise
            raise StoppedError(error.message, error.hint) from error

    async def chat(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[Event, None]:
        """The events of an answer. Raises PacelineError."""
        async with aclosing(self._reached.chat(messages, options)) as events:
            async for event in events:
                yield event

    async def renew(self) -> bool:
        """Have the daemon end, as AsyncClient.renew does it. Raises PacelineError."""
        return self._client is not None and await self._client.renew()

    @property
    def _reached(self) -> AsyncClient:
        if self._client is None:
            assert self._error is not None, "a configuration names an engine, or has mistakes"
            raise self._error
        return self._client
