"""`paceline logs`: what happened to the daemon."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import click

INTERVAL = 0.2  # seconds between two looks for new lines


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on showing lines as they are written, until Ctrl-C.")
@click.option("-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="Lines of the past.")
def command(follow: bool, lines: int) -> None:
    """Show the daemon's log. It tells what happened to the daemon, never what was asked or answered."""
    from paceline.console import out
    from paceline.daemon.log import log_file, size, tail
    from paceline.errors import InputError

    path = log_file()
    begun = size(path)
    try:
        for line in tail(path, lines):
            out(line)
    except FileNotFoundError as error:
        if not follow:
            raise InputError("there is no log yet", "a daemon writes it; start one: paceline serve") from error
    if follow:
        for line in followed(path, begun):
            out(line)


def followed(path: Path, at: int) -> Iterator[str]:
    """Whole lines as they are added behind byte `at`; goes on with the new file when the log begins one."""
    rest, inode = b"", _inode(path)
    while True:
        now = _inode(path)
        if now != inode:
            inode, at, rest = now, 0, b""
        try:
            with path.open("rb") as file:
                file.seek(at)
                data = file.read()
        except FileNotFoundError:
            data = b""
        at += len(data)
        *whole, rest = (rest + data).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole)
        time.sleep(INTERVAL)


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return 0
