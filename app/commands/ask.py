"""`paceline ask`: one question, one answer, streamed."""

import contextlib
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paceline import console
from paceline.commands.options import GenerationOptions, generation_options
from paceline.errors import InputError, PacelineError

if TYPE_CHECKING:
    from paceline.client.events import End, Event, Message
    from paceline.commands.session import Engine
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
    from paceline.client.events import Message
    from paceline.commands.session import opened, read_stdin, read_text
    from paceline.prompts.context import Attachment, with_files
    from paceline.status import Status

    attachments = [Attachment(str(path), read_text(path)) for path in files]
    question, piped = " ".join(text), read_stdin()
    if not question.strip():
        question, piped = piped or "", None
    if not question.strip():
        raise InputError("there is no question", 'write one: paceline ask "…", or pipe it in')
    with Status() as status, opened(status, options) as (engine, config):
        prompt = config.ask.system if system is None else system
        messages = [Message("system", prompt)] if prompt else []
        messages.append(Message("user", with_files(question, attachments, piped)))
        _answer(engine, messages, status, options, options.max_tokens or config.ask.max_tokens)


def _answer(
    engine: "Engine", messages: "list[Message]", status: "Status", options: GenerationOptions, max_tokens: int
) -> None:
    """Write the answer as it comes, or one object at the end. Leaving early, for whatever reason, cancels it."""
    from paceline.client.cancel import Cancel
    from paceline.client.events import End, Text
    from paceline.commands.ahead import read_ahead
    from paceline.commands.session import Telling, as_json, asked
    from paceline.text import ControlFilter

    clean, whole, tell, ended = ControlFilter(), list[str](), Telling(status), False

    def show(event: "Event") -> None:
        nonlocal ended
        if isinstance(event, Text):
            status.clear()
            whole.append(event.text)
            if not options.as_object:
                click.echo(clean.feed(event.text), nl=False)
        elif isinstance(event, End):
            ended = True
            status.clear()
            click.echo(as_json("".join(whole), event) if options.as_object else clean.flush())
            _tell_end(event, options, max_tokens)
        else:
            tell(event)

    cancel = Cancel()
    events = engine.chat(messages, asked(options), cancel)
    with contextlib.closing(read_ahead(events, cancel) if options.daemon else events) as coming:
        try:
            for event in coming:
                show(event)
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):
                for event in () if ended else chain([coming.throw(KeyboardInterrupt())], coming):
                    if options.as_object or isinstance(event, End):  # the figures are still told, more text is not
                        show(event)
            raise
        except PacelineError:
            if whole and not options.as_object and console.is_terminal(sys.stderr):
                click.echo()  # what is said next does not belong to the answer's last line
            raise


def _tell_end(end: "End", options: GenerationOptions, max_tokens: int) -> None:
    from paceline.commands.session import report
    from paceline.console import say

    if end.reason == "length" and not options.as_object:
        produced = end.usage.completion_tokens
        full = produced is not None and produced < max_tokens
        say("the answer was cut: " + ("the context is full" if full else "raise --max-tokens"))
    if options.stats:
        report(end.usage, end.timings)
