"""`paceline ask`: one question, one answer, streamed."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline.config import Speculation
from paceline.errors import InputError

if TYPE_CHECKING:
    from paceline.engine.engine import Stream
    from paceline.status import Status

SPECULATION = click.Choice(["auto", "off", "ngram", "draft"])


class Temperature(click.FloatRange):
    """0 to 10. click's own range lets "nan" through, which is neither below nor above anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """The number. Fails as click's types do."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


TEMPERATURE = Temperature(0, 10)


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
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of the answer, at most.")
@click.option("--temperature", type=TEMPERATURE, help="0 takes the likeliest token, always.")
@click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), help="The same seed gives the same answer.")
@click.option("--speculation", type=SPECULATION, help="Who drafts: auto decides by what pays on this machine.")
@click.option("--offline", is_flag=True, help="Never use the network.")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object instead of streaming text.")
@click.option("--stats", is_flag=True, help="Print figures about the answer to stderr.")
def command(
    text: tuple[str, ...],
    files: tuple[Path, ...],
    system: str | None,
    max_tokens: int | None,
    temperature: float | None,
    seed: int | None,
    speculation: Speculation | None,
    offline: bool,
    as_object: bool,
    stats: bool,
) -> None:
    """Ask a question and stream the answer to stdout.

    Standard input is shown to the model too: `git diff | paceline ask "review this"`. Without TEXT it is the question.
    """
    from paceline.commands.session import opened, read_stdin, read_text
    from paceline.daemon.service import Overrides
    from paceline.prompts.chat import Message
    from paceline.prompts.context import Attachment, with_files
    from paceline.status import Status

    attachments = [Attachment(str(path), read_text(path)) for path in files]
    question, piped = " ".join(text), read_stdin()
    if not question.strip():
        question, piped = piped or "", None
    if not question.strip():
        raise InputError("there is no question", 'write one: paceline ask "…", or pipe it in')
    with Status() as status, opened(status, offline=offline, speculation=speculation) as service:
        prompt = service.config.ask.system if system is None else system
        messages = [Message("system", prompt)] if prompt else []
        messages.append(Message("user", with_files(question, attachments, piped)))
        overrides = Overrides(max_tokens, temperature, seed, speculation)
        _print(service.chat(messages, overrides), status, service.model, as_object=as_object, stats=stats)


def _print(stream: "Stream", status: "Status", model: str, *, as_object: bool, stats: bool) -> None:
    """Write the answer as it comes, or one object at the end."""
    from paceline.commands.session import as_json, report
    from paceline.console import say
    from paceline.engine.sequence import Delta, Finished, Prefilled
    from paceline.text import ControlFilter

    clean, whole = ControlFilter(), []
    for event in stream:
        if isinstance(event, Prefilled):
            status.show(f"reading {event.done} of {event.total} tokens …")
        elif isinstance(event, Delta):
            status.clear()
            whole.append(event.text)
            if not as_object:
                click.echo(clean.feed(event.text), nl=False)
        elif isinstance(event, Finished):
            status.clear()
            if as_object:
                click.echo(as_json("".join(whole), event.reason, model, event.stats))
            else:
                click.echo(clean.flush())
            if event.reason == "length" and not as_object:
                say(
                    "the answer was cut: "
                    + ("the context is full" if event.stats.context_full else "raise --max-tokens")
                )
            if stats:
                report(event.stats)
