"""`paceline stats`: what became of the suggestions in editors, and how answers in the app fared."""

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from datetime import date

    from paceline.chat.figures import Answers
    from paceline.commands.suggestions import Summary


@click.command()
@click.option(
    "--days", type=click.IntRange(min=1), default=30, show_default=True, help="How many days, today included."
)
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
@click.option("--reset", is_flag=True, help="Remove the figures about editors. Those about answers go with a session.")
def command(days: int, as_object: bool, reset: bool) -> None:
    """Show how many suggestions were shown, accepted and kept in editors, and how fast they came; and how fast answers
    in the app were written, by model.

    The figures about editors are counts by day and language, without any text or names of files. Those about answers
    are added up from the sessions that are kept. All of it stays on this machine.
    """
    from datetime import date, timedelta

    from paceline.commands.suggestions import summary
    from paceline.console import out, say
    from paceline.errors import PacelineError, ResourceError
    from paceline.lsp.figures_store import Store, default_path

    store = Store(default_path())
    if reset:
        if not store.reset():
            raise ResourceError(f"the figures in {store.path} cannot be changed", "remove the file")
        out("{}" if as_object else "all figures about editors are removed; those about answers stay with the sessions")
        return
    days = min(days, (date.today() - date(1971, 1, 1)).days)  # where times are counted from, in every zone
    since = date.today() - timedelta(days=days - 1)
    found = summary(store.read(since))
    answers: Answers | None = None
    try:
        answers = _answers(since)
    except PacelineError as error:  # the others can be shown all the same
        say(f"no figures about answers: {error}")
    if as_object:
        chat: dict[str, Any] | None = None if answers is None else answers.as_object()
        told = {"since": since.isoformat(), "days": days, "file": str(store.path), **found.as_object(), "chat": chat}
        out(json.dumps(told))
        return
    _print(found, f"since {found.first or since.isoformat()}, in {store.path}")
    if answers is not None:
        out("")
        _print_answers(answers, since.isoformat())


def _answers(since: "date") -> "Answers":
    """Those of the sessions that are kept. Raises PacelineError."""
    from datetime import datetime, time

    from paceline.chat.database import default_path
    from paceline.chat.figures import kept_in

    return kept_in(default_path(), datetime.combine(since, time.min).timestamp())


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


def _print_answers(found: "Answers", since: str) -> None:
    from paceline.commands.answers import began, lines, table
    from paceline.console import out, show_table

    if not found.all.answers:
        out(f"no answers in the app since {since}")
        return
    out(f"answers in the app since {began(found) or since}")
    show_table(*table(found))
    for line in lines(found):
        out(line)
