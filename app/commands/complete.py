"""`paceline complete FILE:LINE:COL`: one fill-in-the-middle completion."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from paceline.commands.options import GenerationOptions, generation_options
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
@generation_options
def command(
    place: str,
    single_line: bool,
    options: GenerationOptions,
) -> None:
    """Complete the code at a position; the text to insert goes to stdout, nothing else does.

    LINE and COL count from 1, columns in characters. `-:LINE:COL` takes the text from standard input.
    """
    from paceline.commands.session import Telling, as_json, asked, opened, read_stdin, read_text, report
    from paceline.console import is_terminal, say
    from paceline.prompts.context import language
    from paceline.prompts.lines import find_position
    from paceline.prompts.shape import extent
    from paceline.status import Status
    from paceline.text import strip_controls

    name, line, column = parse_place(place)
    document = (read_stdin() or "") if name == "-" else read_text(Path(name))
    _, cursor = find_position(document, line, column)  # before the models are loaded
    before, after = document[:cursor], document[cursor:]
    with Status() as status, opened(status, options) as (engine, config):
        status.show("completing …")
        most = options.max_tokens or config.complete.max_tokens
        wanted = extent(before, after, language(name), most, multiline=not single_line)
        wish = asked(options, stop_at=wanted.stop_at, filename=Path(name).name, priority="completion")
        wish = wish if options.max_tokens else replace(wish, max_tokens=wanted.max_tokens)
        done = engine.complete(before, after, wish, Telling(status))
        status.clear()
        cut = {"prefix_cut": done.prefix_cut, "suffix_cut": done.suffix_cut}
        if options.as_object:
            click.echo(as_json(done.text, done, **cut))
        else:
            click.echo(strip_controls(done.text), nl=False)
        if options.stats:
            if not options.as_object and is_terminal(sys.stdout):
                click.echo()
            report(done.usage, done.timings)
            if any(cut.values()):
                say(f"context     {done.prefix_cut} characters before and {done.suffix_cut} after were left out")


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
