"""`paceline ask`: one question, one answer, streamed."""

import contextlib
import queue
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paceline.commands.options import GenerationOptions, generation_options
from paceline.errors import InputError

PATIENCE = 2.0  # seconds for a cancelled request to end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paceline.engine.engine import Stream
    from paceline.engine.sequence import Event
    from paceline.status import Status


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "-f",
    "--file",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Show the model this file. Repeatable.",
)
@click.option("--system", help="System prompt, instead of the configured one.")
@generation_options
def command(
    text: tuple[str, ...],
    files: tuple[Path, ...],
    system: str | None,
    options: GenerationOptions,
) -> None:
    """Ask a question and stream the answer to stdout.

    Standard input is shown to the model too: `git diff | paceline ask "review this"`. Without TEXT it is the question.
    """
    from paceline.commands.session import opened, overrides, read_stdin, read_text
    from paceline.prompts.chat import Message
    from paceline.prompts.context import Attachment, with_files
    from paceline.status import Status

    attachments = [Attachment(str(path), read_text(path)) for path in files]
    question, piped = " ".join(text), read_stdin()
    if not question.strip():
        question, piped = piped or "", None
    if not question.strip():
        raise InputError("there is no question", 'write one: paceline ask "…", or pipe it in')
    with Status() as status, opened(status, options) as service:
        prompt = service.config.ask.system if system is None else system
        messages = [Message("system", prompt)] if prompt else []
        messages.append(Message("user", with_files(question, attachments, piped)))
        _print(service.chat(messages, overrides(options)), status, service.model, options)


def _until_interrupted(stream: "Stream") -> "Iterator[Event]":
    """The stream's events. Ctrl-C ends it early, but not without its figures; then it goes on to whoever handles it."""
    from paceline.engine.sequence import Finished

    try:
        yield from stream
    except KeyboardInterrupt:
        stream.cancel()
        with contextlib.suppress(queue.Empty):
            event = stream.events.get(timeout=PATIENCE)
            while not isinstance(event, (Finished, BaseException)):
                event = stream.events.get(timeout=PATIENCE)
            if isinstance(event, Finished):
                yield event
        raise


def _print(stream: "Stream", status: "Status", model: str, options: GenerationOptions) -> None:
    """Write the answer as it comes, or one object at the end."""
    from paceline.commands.session import as_json, report
    from paceline.console import say
    from paceline.engine.sequence import Delta, Finished, Prefilled
    from paceline.text import ControlFilter

    clean, whole = ControlFilter(), []
    for event in _until_interrupted(stream):
        if isinstance(event, Prefilled):
            status.show(f"reading {event.done} of {event.total} tokens …")
        elif isinstance(event, Delta):
            status.clear()
            whole.append(event.text)
            if not options.as_object:
                click.echo(clean.feed(event.text), nl=False)
        elif isinstance(event, Finished):
            status.clear()
            if options.as_object:
                click.echo(as_json("".join(whole), event.reason, model, event.stats))
            else:
                click.echo(clean.flush())
            if event.reason == "length" and not options.as_object:
                say(
                    "the answer was cut: "
                    + ("the context is full" if event.stats.context_full else "raise --max-tokens")
                )
            if options.stats:
                report(event.stats)
