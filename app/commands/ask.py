"""`paceline ask`: one question, one answer, streamed."""

import contextlib
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline.commands.options import GenerationOptions, generation_options
from paceline.errors import InputError, PacelineError

if TYPE_CHECKING:
    from paceline.client.events import Message, Options
    from paceline.commands.answer import Answer, Drafts
    from paceline.commands.session import Engine
    from paceline.config import Config
    from paceline.prompts.context import Attachment


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
@click.option(
    "--show-drafts", is_flag=True, help="Colour accepted drafts in the answer by who made them; list them with --json."
)
@generation_options
def command(
    text: tuple[str, ...],
    files: tuple[Path, ...],
    system: str | None,
    show_drafts: bool,
    options: GenerationOptions,
) -> None:
    """Ask a question and stream the answer to stdout.

    Standard input is shown to the model too: `git diff | paceline ask "review this"`. Without TEXT it is the question.
    """
    from paceline.client.events import Message
    from paceline.commands.answer import Answer
    from paceline.commands.session import asked, opened, read_stdin, read_text
    from paceline.prompts.context import Attachment, with_files
    from paceline.status import Status

    attachments = list(dict.fromkeys(Attachment(str(path), read_text(path)) for path in files))
    question, piped = " ".join(text), read_stdin()
    if not question.strip():
        question, piped = piped or "", None
    if not question.strip():
        raise InputError("there is no question", 'write one: paceline ask "…", or pipe it in')
    with Status() as status, opened(status, options) as (engine, config):
        prompt = config.ask.system if system is None else system
        messages = [Message("system", prompt)] if prompt else []
        messages.append(Message("user", with_files(question, attachments, piped)))
        drafts = _shown_drafts(config, options) if show_drafts else "hidden"
        wish = asked(options, tell_drafts=drafts in ("coloured", "listed"), **_quotable(attachments, piped))
        answer = Answer(status, options, options.max_tokens or config.ask.max_tokens, drafts)
        _stream(engine, messages, wish, answer, daemon=options.daemon)


def _shown_drafts(config: "Config", options: GenerationOptions) -> "Drafts":
    """How drafts can be shown; says so where they cannot be."""
    from paceline.client.remote import parse
    from paceline.commands.drafts import why_plain
    from paceline.console import say

    if config.engine.url and options.daemon:
        say(f"--show-drafts: {parse(config.engine.url).netloc} does not tell who drafted what")
        return "unknown" if options.as_object else "hidden"
    if options.as_object:
        return "listed"
    why = why_plain(sys.stdout)
    if why:
        say(f"--show-drafts: {why}, so the answer stays plain")
    return "hidden" if why else "coloured"


def _quotable(attachments: "Sequence[Attachment]", piped: str | None) -> "Mapping[str, Any]":
    """Texts that the answer may repeat, as fields of Options: the only one is probably what is to be changed."""
    from paceline.client.events import Extra

    if len(attachments) > 1:
        return {"references": [Extra(each.name, each.text) for each in attachments]}
    return {"original": attachments[0].text if attachments else piped or ""}


def _stream(
    engine: "Engine", messages: "Sequence[Message]", wish: "Options", answer: "Answer", *, daemon: bool
) -> None:
    """Show the answer as it comes. Leaving early, for whatever reason, cancels it."""
    from paceline.client.cancel import Cancel
    from paceline.client.events import End
    from paceline.commands.ahead import read_ahead

    cancel = Cancel()
    events = engine.chat(messages, wish, cancel)
    with contextlib.closing(read_ahead(events, cancel) if daemon else events) as coming:
        try:
            for event in coming:
                answer.show(event)
        except KeyboardInterrupt:
            with contextlib.suppress(KeyboardInterrupt):
                answer.interrupt()
                for event in () if answer.ended else chain([coming.throw(KeyboardInterrupt())], coming):
                    if answer.whole or isinstance(event, End):  # the figures are still told, more text is not
                        answer.show(event)
            raise
        except PacelineError:
            answer.break_off()
            raise
