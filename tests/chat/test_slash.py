"""Lines that begin with a slash."""

import pytest

from paceline.chat.slash import COMMANDS, Slash, Unknown, argument_of, complete, parse


def name_of(line):
    found = parse(line)
    assert isinstance(found, Slash)
    return found.command.name, found.argument


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("/help", ("help", "")),
        ("/HELP", ("help", "")),
        ("/rename  A better title ", ("rename", "A better title")),
        ("/q", ("quit", "")),
        ("/system You are terse.\nAlways.", ("system", "You are terse.\nAlways.")),
        ("/edit\tapp/cli.py make it shorter", ("edit", "app/cli.py make it shorter")),
        ("/compact\nkeep the names", ("compact", "keep the names")),
    ],
)
def test_a_command_is_read(line, meant):
    assert name_of(line) == meant


@pytest.mark.parametrize(
    "line",
    ["/etc/hosts is empty, why?", "/", "/ help", "//", "// a comment", "/tmp.x", "/2", "", "help", " /help", " /usr"],
)
def test_a_message_is_none(line):
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "near"), [("/hlep", "help"), ("/sesions", "sessions"), ("/exprt x", "export"), ("/comp", "compact")]
)
def test_a_slip_is_understood_as_one(line, near):
    found = parse(line)
    assert isinstance(found, Unknown)
    assert near in found.near


def test_a_word_that_is_like_no_command_has_nothing_near():
    assert parse("/xyzzy") == Unknown("xyzzy")


def test_a_missing_argument_is_noticed():
    assert parse("/rename").missing
    assert not parse("/rename x").missing
    assert not parse("/resume").missing


@pytest.mark.parametrize(
    ("typed", "first"),
    [("/", "help"), ("/ex", "export"), ("/se", "sessions"), ("/MO", "model"), ("/exi", "quit"), ("/ntinu", "continue")],
)
def test_what_is_typed_so_far_is_completed(typed, first):
    assert complete(typed)[0].name == first


@pytest.mark.parametrize("typed", ["", "help", "/etc/", "/help ", "/zzz", "a /he", "/help\n"])
def test_nothing_is_completed_where_no_name_is_typed(typed):
    assert complete(typed) == ()


def test_all_commands_are_offered_at_first():
    assert complete("/") == COMMANDS


def test_an_argument_is_completed_by_its_kind():
    command, typed = argument_of("/theme da")
    assert (command.completes, typed) == ("theme", "da")
    assert argument_of("/theme ")[1] == ""
    assert argument_of("/theme") is None
    assert argument_of("/nonsense da") is None


def test_no_two_commands_share_a_name():
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))
    for command in COMMANDS:
        assert command.help and parse(f"/{command.name} x").command is command
