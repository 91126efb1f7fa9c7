"""`paceline doctor`: look at everything that an answer depends on, and say what is wrong and how to mend it."""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict

import click

from paceline import console
from paceline.commands.checks import Check, Examination
from paceline.errors import ExitCode

COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
@click.option("--no-load", is_flag=True, help="Do not load the models: leave the self-test out.")
@click.option("-v", "--verbose", is_flag=True, help="Show the details of each check.")
def command(as_object: bool, no_load: bool, verbose: bool) -> None:
    """Check that everything works, and say what does not.

    Looks at packages, configuration, models, memory, GPU and measurements, and makes a tiny answer and a tiny
    completion; or asks the server that engine.url names for these, and nobody else outside of this machine.
    The exit code is 0 when there is no problem, else 1; warnings are no problems.
    """
    checks = Examination(load=not no_load).run()
    seen = list(checks if as_object else _shown(checks, verbose=verbose))
    problems = sum(check.verdict == "problem" for check in seen)
    if as_object:
        console.out(json.dumps({"ok": not problems, "checks": [asdict(check) for check in seen]}))
    else:
        warnings = sum(check.verdict == "warning" for check in seen)
        console.out(f"\n{_count(problems, 'problem')}, {_count(warnings, 'warning')}")
    if problems:
        raise click.exceptions.Exit(ExitCode.FAILURE)


def _shown(checks: Iterable[Check], *, verbose: bool) -> Iterable[Check]:
    """Each check as it is made: should one of them take the process down, the last line tells which came before."""
    for check in checks:
        verdict = console.coloured(f"{check.verdict:8}", COLOURS[check.verdict], sys.stdout)
        click.echo(f"{check.name:11}{verdict}", nl=False)
        console.out(check.found)
        if check.hint:
            console.out(f"{'':19}hint: {check.hint}")
        if verbose or check.name in ("plan", "costs"):
            for line in check.details:
                console.out(f"{'':19}- {line}")
        yield check


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
