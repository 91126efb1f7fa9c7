"""`paceline stats`: what became of the suggestions in editors."""

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from paceline.commands.suggestions import Summary


@click.command()
@click.option(
    "--days", type=click.IntRange(min=1), default=30, show_default=True, help="How many days, today included."
)
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
@click.option("--reset", is_flag=True, help="Remove all figures.")
def command(days: int, as_object: bool, reset: bool) -> None:
    """Show how many suggestions were shown, accepted and kept in editors, and how fast they came.

    The figures are counts by day and language. They hold no text and no names of files, and stay on this machine.
    """
    from datetime import date, timedelta

    from paceline.commands.suggestions import summary
    from paceline.console import out
    from paceline.errors import ResourceError
    from paceline.lsp.figures_store import Store, default_path

    store = Store(default_path())
    if reset:
        if not store.reset():
            raise ResourceError(f"the figures in {store.path} cannot be changed", "remove the file")
        out("{}" if as_object else "all figures are removed")
        return
    since = date.today() - timedelta(days=days - 1)
    found = summary(store.read(since))
    if as_object:
        out(json.dumps({"since": since.isoformat(), "days": days, "file": str(store.path), **found.as_object()}))
        return
    _print(found, f"since {found.first or since.isoformat()}, in {store.path}")


def _print(found: "Summary", where: str) -> None:
    from paceline.commands.suggestions import HEADERS, lines, table
    from paceline.console import out, show_table

    if not found.languages:
        out(f"no suggestions {where}")
        return
    out(f"suggestions {where}")
    show_table(HEADERS, table(found))
    for line in lines(found):
        out(line)
