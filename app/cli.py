"""The command `paceline`: parse, call, print. A command's module is imported when that command runs."""

import errno
import importlib
import io
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from paceline import __version__
from paceline.errors import ConfigError, ExitCode, PacelineError

COMMANDS = {
    "ask": ("paceline.commands.ask", "command", "Ask a question and stream the answer."),
    "complete": ("paceline.commands.complete", "command", "Complete the code at a position in a file."),
    "setup": ("paceline.commands.setup", "command", "Choose models for this machine, fetch and measure them."),
    "bench": ("paceline.commands.bench", "command", "Measure what drafting brings on this machine."),
    "editor": ("paceline.commands.editor", "command", "Set up an editor for completions as you type."),
    "stats": ("paceline.commands.stats", "command", "Show how suggestions in editors and answers in the app fared."),
    "doctor": ("paceline.commands.doctor", "command", "Check that everything works, and say what does not."),
    "lsp": ("paceline.commands.lsp", "command", "Complete code in an editor: the language server."),
    "serve": ("paceline.commands.serve", "command", "Hold the models for all programs; they start it when needed."),
    "status": ("paceline.commands.daemon_status", "command", "Show the daemon: its models, memory and requests."),
    "stop": ("paceline.commands.stop", "command", "End the daemon when its requests are done."),
    "logs": ("paceline.commands.logs", "command", "Show what happened to the daemon."),
    "models": ("paceline.commands.models", "group", "List, fetch, inspect, verify and remove model files."),
}


NEAR = 0.75  # how much of two options' names has to be the same for one to be suggested for the other


class LazyGroup(click.Group):
    """Imports a subcommand when it is used, so that starting stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line each, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command returns
        """Run the command. A broken pipe gets its own exit code; click would make it a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise click.exceptions.Exit(ExitCode.BROKEN_PIPE) from error


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Use this configuration file [env: PACELINE_CONFIG].",
)
@click.option("-c", "--continue", "last", is_flag=True, help="Open the last conversation of this folder.")
@click.option("-r", "--resume", default="", metavar="ID", help="Open this conversation; the app lists them.")
@click.version_option(version=__version__, prog_name="paceline")
@click.pass_context
def cli(context: click.Context, config: Path | None, last: bool, resume: str) -> None:
    """A private coding assistant on your own machine. Without a command: chat in the terminal.

    A small model drafts, a large one verifies: you get the large model's own words, sooner.
    """
    if config is not None:
        if not config.exists():
            raise ConfigError(f"there is no configuration file {config}", "check the name, or leave --config out")
        os.environ["PACELINE_CONFIG"] = str(config)
    if context.invoked_subcommand is None:
        _chat(context, last=last, resume=resume)
    elif last or resume:
        raise click.UsageError("--continue and --resume open the app: they go without a command")


def _chat(context: click.Context, *, last: bool, resume: str) -> None:
    """The terminal app; help, where there is no terminal to show it on. Raises UsageError."""
    if last and resume:
        raise click.UsageError("--continue means the last conversation, --resume another: give one of them")
    if sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty():
        importlib.import_module("paceline.commands.chat").open_app(last=last, session=resume)
    elif last or resume:
        raise click.UsageError("the app needs a terminal")
    else:
        click.echo(context.get_help())


def main() -> NoReturn:
    """Run the command line and exit; every failure becomes one message and one exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what the terminal's encoding cannot say comes as an escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # click says 0, 2 or an Exit's code by itself; what it returns is a command's own exit code, or nothing
        result = cli.main(prog_name="paceline", standalone_mode=False)
        if sys.stdout is not None and not sys.stdout.closed:  # None: started with a closed one
            sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else ExitCode.OK)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.NoSuchOption as error:
        _nearer(error).show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PacelineError as error:
        click.echo(f"error: {_shown(error)}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        sys.exit(ExitCode.BROKEN_PIPE)
    except OSError as error:  # files that were named had their say already: this is the output, or a broken system
        _discard_output()
        click.echo(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), err=True)
        sys.exit(ExitCode.RESOURCE if error.errno in (errno.ENOSPC, errno.EDQUOT) else ExitCode.FAILURE)


def _nearer(error: click.NoSuchOption) -> click.NoSuchOption:
    """The same, without suggestions that share but a few letters with what was written."""
    from difflib import SequenceMatcher

    def same(each: str) -> float:
        return SequenceMatcher(None, each.lstrip("-"), error.option_name.lstrip("-")).ratio()

    near = [each for each in error.possibilities or () if same(each) >= NEAR]
    return click.NoSuchOption(error.option_name, error.message, near, error.ctx)


def _discard_output() -> None:
    """Python flushes stdout once more on exit; it must not fail a second time."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shown(error: PacelineError) -> str:
    from paceline.text import strip_controls

    return strip_controls(str(error))
