"""The command itself: help, versions, exit codes, and errors that never show a traceback."""

import io
import sys
from importlib.metadata import version

import click
import pytest

from paceline import cli
from paceline.errors import ExitCode, InputError, PacelineError
from support.cli import PACELINE


def ended(monkeypatch, capfd, *words: str, failure: BaseException | None = None):
    """(exit code, stdout, stderr) of the command line in this process; its command `ask` raises `failure`."""
    monkeypatch.setattr(sys, "argv", ["paceline", *words])
    if failure is not None:

        @click.command()
        def broken() -> None:
            click.echo("something")
            raise failure

        monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: broken)
    with pytest.raises(SystemExit) as end:
        cli.main()
    shown = capfd.readouterr()
    return int(end.value.code or 0), shown.out, shown.err


def test_help_lists_every_command_with_a_line_about_it(monkeypatch, capfd):
    code, out, err = ended(monkeypatch, capfd, "--help")
    assert (code, err) == (0, "")
    for name, (_, _, about) in cli.COMMANDS.items():
        assert any(line.split()[:1] == [name] and about in line for line in out.splitlines())


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_can_be_loaded_and_explains_itself(monkeypatch, capfd, name):
    for flag in ("--help", "-h"):
        code, out, err = ended(monkeypatch, capfd, name, flag)
        assert (code, err) == (0, "")
        assert out.startswith(f"Usage: paceline {name} ")


def test_the_version_is_the_distribution_s(paceline):
    shown = paceline.run("--version")
    assert (shown.code, shown.out, shown.err) == (0, f"paceline, version {version('paceline')}\n", "")


def test_the_installed_command_is_the_same_as_the_module(paceline):
    script = [PACELINE[0].rsplit("/", 1)[0] + "/paceline", "--version"]
    assert paceline.execute(script).out == paceline.run("--version").out


@pytest.mark.parametrize("words", [[], ["models"]])
def test_without_a_command_the_help_is_what_was_asked_for(paceline, words):
    shown = paceline.run(*words)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("Usage: paceline")


@pytest.mark.parametrize("words", [["nonsense"], ["--nonsense"], ["--config"]])
def test_a_wrong_command_line_has_exit_code_2_and_says_why(paceline, words):
    wrong = paceline.run(*words)
    assert (wrong.code, wrong.out) == (2, "")
    assert "nonsense" in wrong.err or "--config" in wrong.err


def test_the_option_names_the_configuration_before_the_environment_does(paceline):
    other = paceline.write("other.toml", "[engine]\nthreds = 1\n")
    assert paceline.run("--config", other, "ask", "Why?").failed(3, "other.toml", "threds")


def test_a_directory_is_no_configuration(paceline):
    wrong = paceline.run("--config", ".", "ask", "Why?")
    assert (wrong.code, wrong.out) == (2, "")
    assert "is a directory" in wrong.err


def test_an_error_of_ours_is_its_message_its_hint_and_its_code(monkeypatch, capfd):
    code, out, err = ended(monkeypatch, capfd, "ask", failure=InputError("no such thing", "look again"))
    assert (code, out, err) == (6, "something\n", "error: no such thing\nhint: look again\n")


def test_an_error_cannot_steer_the_terminal(monkeypatch, capfd):
    _, _, err = ended(monkeypatch, capfd, "ask", failure=PacelineError("a\x1b[2Jb\x9b2Jc", "d\x07\u202ee"))
    assert err == "error: abc\nhint: de\n"


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        ("KeyboardInterrupt", 130, "\n"),
        ("click.Abort", 130, ""),
        ("click.exceptions.Exit(5)", 5, ""),
        ("BrokenPipeError", 141, ""),
        ("click.UsageError('wrong')", 2, "Usage: paceline ask"),
        ("errors.ModelError('wrong', 'mend it')", 4, "error: wrong\nhint: mend it\n"),
        ("errors.ContextOverflowError(5, 3)", 7, "error: the prompt has 5 tokens, 2 more than the 3 that"),
        ("OSError(errno.ENOSPC, 'No space left on device')", 8, "error: No space left on device\n"),
        ("OSError(errno.EIO, 'Input/output error')", 1, "error: Input/output error\n"),
        ("FileNotFoundError(errno.ENOENT, 'No such file', '/gone')", 1, "error: No such file: /gone\n"),
    ],
)
def test_every_end_has_its_exit_code(paceline, failure, code, said):
    """In a process of its own, since a command that failed has its stdout closed."""
    script = f"""
import click, errno, sys
from paceline import cli, errors
@click.command()
def broken():
    raise {failure}
cli.LazyGroup.get_command = lambda *_: broken
sys.argv = ["paceline", "ask"]
cli.main()
"""
    failed = paceline.execute([PACELINE[0], "-c", script])
    assert (failed.code, failed.out) == (code, "")
    assert failed.err.startswith(said)
    assert "Traceback" not in failed.err


def test_what_stdout_cannot_say_is_escaped(monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))

    @click.command()
    def speak() -> None:
        click.echo("é漢")

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda self, ctx, name: speak)
    code, *_ = ended(monkeypatch, capfd, "ask")
    assert (code, sys.stdout.buffer.getvalue()) == (0, b"\xe9\\u6f22\n")


def test_stdout_and_stderr_may_be_closed_from_the_start(paceline):
    for line in ('exec "$@" >&-', 'exec "$@" 2>&-', 'exec "$@" >&- 2>&- <&-'):
        assert paceline.shell(line, "--version").code == ExitCode.OK
        assert paceline.shell(line, "ask", "-f", "/nowhere", "Why?").code == ExitCode.INPUT


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--continue", "--resume", "x"], "give one of them"),
        (["--continue"], "needs a terminal"),
        (["--resume", "x"], "needs a terminal"),
        (["--continue", "status"], "without a command"),
    ],
)
def test_options_of_the_app_are_refused_where_they_mean_nothing(monkeypatch, capfd, words, why):
    code, out, err = ended(monkeypatch, capfd, *words)
    assert (code, out) == (ExitCode.USAGE, "")
    assert why in err


def test_without_a_terminal_it_says_what_there_is(monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    code, out, _ = ended(monkeypatch, capfd)
    assert code == 0
    assert "Commands" in out


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--no-such", ""),
        ("--colour", ""),
        ("--statz", "'--stats'"),
        ("--temprature", "'--temperature'"),
        ("--strct", "'--strict'"),
    ],
)
def test_only_an_option_that_is_near_is_suggested(monkeypatch, capfd, option, meant):
    code, _, err = ended(monkeypatch, capfd, "ask", option, "x")
    assert code == ExitCode.USAGE and f"No such option '{option}'" in err
    assert (f"Did you mean {meant}?" in err) if meant else ("mean" not in err)
