"""Branches that are stored as a reftable: Git reads them, in a stand-in of ours that has a copy and nothing else."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paceline.errors import InputError
from paceline.workspace import files
from paceline.workspace.repository import PACKED, UNREADABLE, Repository, StandIn, environment

SINCE = (2, 45)  # the first Git that knows them
_LISTED = 64 * 1024  # bytes of the list of a table's parts
_TRIES = 3  # Git puts other parts in their place now and then
_PART = re.compile(rb"[0-9A-Za-z][0-9A-Za-z_-]*\.ref")
_NOWHERE = "ref: refs/heads/.invalid\n"
_TREE = "tree"  # the stand-in's name of a further working tree


@contextmanager
def standing_in(repository: Repository) -> Iterator[StandIn]:
    """A repository with the other's branches, as long as it is needed. Raises InputError where they cannot be read."""
    try:
        with tempfile.TemporaryDirectory(prefix="paceline-git-", ignore_cleanup_errors=True) as made:
            common = own = Path(made)
            _fill(common, repository.common)
            (common / "config").write_text(repository.format.config())
            if repository.own.resolve() != repository.common.resolve():
                own = common / "worktrees" / _TREE
                _fill(own, repository.own)
                (own / "commondir").write_text("../..\n")
            yield StandIn(own, environment(common, repository), (f"--git-dir={own}",))
    except OSError as error:
        raise InputError("a folder for Git could not be made", error.strerror or str(error)) from error


def _fill(folder: Path, source: Path) -> None:
    (folder / "refs").mkdir(parents=True)
    (folder / "HEAD").write_text(_NOWHERE)
    (folder / "reftable").mkdir()
    for name, data in _copied(source / "reftable").items():
        (folder / "reftable" / name).write_bytes(data)


def _copied(folder: Path) -> dict[str, bytes]:
    """A reftable's parts and their list. Raises InputError."""
    for _ in range(_TRIES):
        listed = files.content(folder / "tables.list", _LISTED)
        names = [] if listed is None else listed.split(b"\n")[:-1]
        if listed is None or not all(map(_PART.fullmatch, names)):
            break
        found, room = {"tables.list": listed}, PACKED
        for name in map(bytes.decode, names):
            data = files.content(folder / name, room)
            if data is None:
                break
            found[name], room = data, room - len(data)
        else:
            return found
    raise InputError(UNREADABLE, "see what `git status` says")
