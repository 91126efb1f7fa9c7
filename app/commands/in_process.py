"""The models in this process (`--no-daemon`), asked in the same way as a client asks its engine."""

import contextlib
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from paceline.client.cancel import Cancel
from paceline.client.events import AS_CONFIGURED, Completion, End, Event, Message, Options, Progress, Text, Usage
from paceline.commands.options import GenerationOptions
from paceline.config import Config
from paceline.console import say
from paceline.daemon import assembly, selection
from paceline.daemon.service import Overrides, Service, Wish
from paceline.engine import sequence
from paceline.engine.engine import Engine
from paceline.engine.stats import Stats
from paceline.engine.stream import Stream
from paceline.prompts import chat
from paceline.prompts.repository import Repository
from paceline.prompts.stops import MAX_LINES
from paceline.status import Status

PATIENCE = 2.0  # seconds for a cancelled request to end


class InProcess:
    """Speaks to a service as client.client.Client speaks to a server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def chat(
        self, messages: Sequence[Message], options: Options = AS_CONFIGURED, cancel: Cancel | None = None
    ) -> Generator[Event, None, None]:
        """As Client.chat. Ctrl-C ends the answer, but not without its figures; then it goes on."""
        stream = self._service.chat([chat.Message(each.role, each.content) for each in messages], _overrides(options))
        if cancel is not None:
            cancel.when_asked(stream.cancel)
        try:
            for event in stream:
                if isinstance(event, sequence.Prefilled):
                    yield Progress(event.done, event.total)
                elif isinstance(event, sequence.Delta):
                    yield Text(event.text, event.drafter)
                elif isinstance(event, sequence.Finished):
                    yield self._end(event)
        except KeyboardInterrupt:
            stream.cancel()
            end = _last(stream)
            if end is not None:
                yield self._end(end)
            raise

    def complete(
        self,
        prefix: str,
        suffix: str,
        options: Options = AS_CONFIGURED,
        notice: Callable[[Event], None] = lambda _: None,
    ) -> Completion:
        """As Client.complete."""
        stop_at = options.stop_at or ("line" if options.single_line else "")
        wish = Wish(stop_at, options.max_lines or MAX_LINES, place=Repository(options.repository, options.filename))
        done = self._service.complete_between(prefix, suffix, wish, _overrides(options))
        return Completion(
            text=done.text,
            finish_reason=done.finish_reason,
            usage=_usage(done.stats),
            timings=done.stats.timings(),
            model=self._service.model,
            prefix_cut=done.prompt.prefix_cut,
            suffix_cut=done.prompt.suffix_cut,
        )

    def _end(self, event: sequence.Finished) -> End:
        return End(event.reason, _usage(event.stats), event.stats.timings(), self._service.model)


@contextmanager
def in_process(config: Config, status: Status, options: GenerationOptions) -> Iterator[InProcess]:
    """The configured pair, loaded here. Raises ModelError, ResourceError, ConfigError, NetworkError."""
    engine, service, installed = open_service(config, status, options)
    try:
        yield InProcess(service)
        assembly.review(engine, installed)
    finally:
        service.close()


def open_service(
    config: Config, status: Status, options: GenerationOptions
) -> tuple[Engine, Service, assembly.Installed]:
    """Load the pair that the configuration names; its files are here already, or are fetched."""
    from paceline.progress import ProgressBar

    files = selection.pair_files(config)
    assert files is not None, "set-up names a pair"
    found = selection.fetch(files, config, ProgressBar, offline=options.offline)

    def tell(text: str) -> None:
        status.clear()
        say(text)

    status.show("loading the models …")
    installed = assembly.inspect(found[0], found[1] if len(found) > 1 else None, config)
    engine = assembly.load(installed, tell, speculation=options.speculation or config.engine.speculation)
    status.clear()
    return engine, Service(engine, config, files.target.id), installed


def _overrides(options: Options) -> Overrides:
    return Overrides(
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
        speculation=options.speculation,
        strict=options.strict,
        tell_drafts=options.tell_drafts,
        original=options.original,
        references=tuple((each.filename, each.text) for each in options.references),
    )


def _usage(stats: Stats) -> Usage:
    return Usage(stats.prompt_tokens, stats.predicted_tokens, stats.cached_tokens)


def _last(stream: Stream) -> sequence.Finished | None:
    """The end of a cancelled stream; None where it does not come soon."""
    with contextlib.suppress(queue.Empty):
        event = stream.events.get(timeout=PATIENCE)
        while not isinstance(event, (sequence.Finished, BaseException)):
            event = stream.events.get(timeout=PATIENCE)
        if isinstance(event, sequence.Finished):
            return event
    return None
