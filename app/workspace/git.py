"""What Git knows of a workspace: the repository's name, and what has changed since the last commit."""

import os
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Event, Timer

from paceline.errors import InputError
from paceline.workspace import files
from paceline.workspace.diffs import FileDiff, parsed
from paceline.workspace.ignoring import repository

SECONDS = 3.0  # that Git may take
LARGEST = 256 * 1024  # bytes of its output that are read
RENAMES = 400  # files that are compared with each other to find those that were renamed
FAILED = -1  # in place of an exit status
# Nothing here may lock, ask, reach a network, or start a program that a repository's configuration names. Submodules
# have configurations of their own: Git reads which commit they are at, and does not look into them.
_GIT = (
    *("git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"),
    *("-c", "diff.noprefix=false", "-c", "diff.autoRefreshIndex=false"),
)
_DIFF = (
    *("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", f"-l{RENAMES}", "--submodule=short"),
    *("--ignore-submodules=dirty", "--unified=2", "--relative", "--src-prefix=a/", "--dst-prefix=b/"),
)
_BELOW = ("--", ".")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
# sections may share a line; what only looks like one costs no more than the diff. Git before 2.45 fetches what is lazy
_STARTS_PROGRAMS = re.compile(r"\[\s*(filter|include|includeif)\b|worktreeConfig|partialClone|promisor", re.IGNORECASE)
_URL = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.MULTILINE | re.IGNORECASE)
_ORIGIN = re.compile(r'^\s*\[remote "origin"\]([^\[]*)', re.MULTILINE | re.IGNORECASE)


@lru_cache(maxsize=64)
def repository_name(root: str) -> str:
    """The name of a folder's repository: its remote's, else its folder's; "" for no local folder."""
    if not root:
        return ""
    top = repository(root)
    config = _config(top) if top is not None else None
    origin = _ORIGIN.search(config or "")
    url = _URL.search(origin[1]) if origin else None
    named = re.split(r"[/\\:]", url[1].rstrip("/\\").removesuffix(".git"))[-1] if url else ""
    return named or (top or Path(root)).name


@dataclass(frozen=True)
class Differences:
    """What has changed since the last commit, staged or not."""

    files: tuple[FileDiff, ...]
    cut: bool = False  # there was more than LARGEST bytes of it


def differences(root: str) -> Differences:
    """What of the files below the root that Git follows differs from the last commit; with none yet, all of them.

    Raises InputError where Git is not asked, or cannot say.
    """
    _check(root)
    said = _asked(root, *_DIFF, "HEAD", *_BELOW)
    if said.code and not said.cut and _asked(root, "rev-parse", "--quiet", "--verify", "HEAD").code == 1:
        nothing = _asked(root, "hash-object", "-t", "tree", "--stdin").text.strip()  # an empty tree's, never stored
        said = _asked(root, *_DIFF, nothing, *_BELOW)
    if said.code and not said.cut:
        raise InputError("Git cannot say what has changed", "see what `git diff HEAD` says")
    text = said.text[: said.text.rfind("\n") + 1] if said.cut else said.text
    return Differences(tuple(parsed(text)), said.cut)


def changes(root: str) -> tuple[tuple[str, str], ...]:
    """(file, its hunks) for every file below the root whose lines differ from the last commit, but not for those that
    are gone; nothing where Git fails.
    """
    try:
        found = differences(root).files
    except InputError:
        return ()
    return tuple((each.name, each.hunks) for each in found if each.hunks and not (each.deleted or each.submodule))


def untracked(root: str) -> tuple[str, ...]:
    """Files below the root that Git neither follows nor ignores, as far as it says so in time; none where it fails."""
    try:
        _check(root)
    except InputError:
        return ()
    said = _asked(root, "ls-files", "--others", "--exclude-standard", "-z", *_BELOW)
    return tuple(name for name in said.text.split("\0")[:-1] if name)


def _check(root: str) -> None:
    """Raises InputError where Git is not to be asked."""
    top = repository(root) or repository.__wrapped__(root)  # one that has been made since it was looked for
    if top is None:
        raise InputError("this folder is in no Git repository", "`git init` begins one")
    config = _config(top)
    if config is None:
        raise InputError("the configuration of this Git repository cannot be read", "see .git/config")
    if _STARTS_PROGRAMS.search(config):
        raise InputError(
            "Git is not asked here: what .git/config has could make it start programs or fetch",
            "it has a filter, an include, or a promisor; where you trust it, run !git diff HEAD and mention @output",
        )


@dataclass(frozen=True)
class _Said:
    """What Git printed, and how it ended."""

    text: str
    code: int  # its exit status; not 0 as well where it took too long or could not be started
    cut: bool  # it is long, and only its beginning was read


def _asked(root: str, *words: str) -> _Said:
    try:
        process = subprocess.Popen(
            [*_GIT, *words],
            cwd=root,
            env={**{key: value for key, value in os.environ.items() if not key.startswith("GIT_")}, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, ValueError):  # no git, no such folder
        return _Said("", FAILED, cut=False)
    late = Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = Timer(SECONDS, stop)
    timer.daemon = True
    with process:
        assert process.stdout is not None
        timer.start()
        data = process.stdout.read(LARGEST)
        if len(data) == LARGEST:
            process.kill()
        process.wait()
        timer.cancel()
    if late.is_set():
        return _Said("", FAILED, cut=False)
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return _Said(text, process.returncode, cut=len(data) == LARGEST)


def _config(top: Path) -> str | None:
    """What configures a repository, in it; None if that cannot be read."""
    folder = top / ".git"
    pointer = files.read(folder)
    if pointer is not None:  # a further working tree of a repository
        folder = top / pointer.removeprefix("gitdir:").strip()
        folder = folder / (files.read(folder / "commondir") or "").strip()
    return files.read(folder / "config")
