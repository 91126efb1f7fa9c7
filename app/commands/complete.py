"""`paceline complete FILE:LINE:COL`: one fill-in-the-middle completion."""

from pathlib import Path

import click

from paceline.commands.ask import SPECULATION, TEMPERATURE
from paceline.config import Speculation
from paceline.errors import InputError

DIGITS = 100  # of a line or column: more than any file has, fewer than Python refuses to read


class PlaceCommand(click.Command):
    """A command whose argument may begin with a dash: `-:3:14` is standard input, not an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the place behind the options, where nothing is taken for one."""
        places = [arg for arg in args if arg.startswith("-:")]
        if places:
            args = [*(arg for arg in args if arg not in places and arg != "--"), "--", *places]
        return super().parse_args(ctx, args)


@click.command(cls=PlaceCommand)
@click.argument("place", metavar="FILE:LINE:COL")
@click.option("--single-line", is_flag=True, help="Only the rest of this line.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of the completion, at most.")
@click.option("--temperature", type=TEMPERATURE, help="0 takes the likeliest token, always.")
@click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), help="The same seed gives the same completion.")
@click.option("--speculation", type=SPECULATION, help="Who drafts: auto decides by what pays on this machine.")
@click.option("--offline", is_flag=True, help="Never use the network.")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object instead of the text.")
@click.option("--stats", is_flag=True, help="Print figures about the completion to stderr.")
def command(
    place: str,
    single_line: bool,
    max_tokens: int | None,
    temperature: float | None,
    seed: int | None,
    speculation: Speculation | None,
    offline: bool,
    as_object: bool,
    stats: bool,
) -> None:
    """Complete the code at a position; the text to insert goes to stdout, nothing else does.

    LINE and COL count from 1, columns in characters. `-:LINE:COL` takes the text from standard input.
    """
    from paceline.commands.session import as_json, opened, read_stdin, read_text, report
    from paceline.console import say
    from paceline.daemon.service import Overrides
    from paceline.prompts.lines import find_position
    from paceline.status import Status
    from paceline.text import strip_controls

    name, line, column = parse_place(place)
    document = (read_stdin() or "") if name == "-" else read_text(Path(name))
    find_position(document, line, column)  # before the models are loaded
    with Status() as status, opened(status, offline=offline, speculation=speculation) as service:
        status.show("completing …")
        overrides = Overrides(max_tokens, temperature, seed, speculation)
        done = service.complete(document, line, column, single_line=single_line, overrides=overrides)
        status.clear()
        if as_object:
            cut = {"prefix_cut": done.prompt.prefix_cut, "suffix_cut": done.prompt.suffix_cut}
            click.echo(as_json(done.text, done.finish_reason, service.model, done.stats, **cut))
        else:
            click.echo(strip_controls(done.text), nl=False)
        if stats:
            report(done.stats)
            before, after = done.prompt.prefix_cut, done.prompt.suffix_cut
            say(f"context     {before} characters before and {after} after were left out")


def parse_place(place: str) -> tuple[str, int, int]:
    """("file", 3, 14) from "file:3:14"; the file's name may have colons. Raises InputError."""
    name, _, rest = place.rpartition(":")
    name, _, first = name.rpartition(":")
    numbers = all(each.isascii() and each.isdigit() and len(each) <= DIGITS for each in (first, rest))
    if not (name and numbers):
        raise InputError(
            f"{place!r} is not FILE:LINE:COL", "for example src/main.py:12:5; lines and columns count from 1"
        )
    return name, int(first), int(rest)
