"""What Git knows of a workspace: the repository's name, and what has changed since the last commit."""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from threading import Event, Timer

from paceline.workspace import files
from paceline.workspace.ignoring import repository

SECONDS = 3.0  # that `git diff` may take
LARGEST = 256 * 1024  # bytes of its output that are read
# Nothing here may lock, ask, reach a network, or start a program that a repository's configuration names.
_COMMAND = (
    *("git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"),
    *("-c", "diff.noprefix=false", "-c", "diff.autoRefreshIndex=false", "diff", "HEAD", "--no-color", "--no-ext-diff"),
    *("--no-textconv", "--no-renames", "--ignore-submodules", "--unified=2", "--relative", "--src-prefix=a/"),
    *("--dst-prefix=b/", "--", "."),
)
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
_FILE = re.compile(r"^diff --git .*$", re.MULTILINE)
_NAME = re.compile(r"^\+\+\+ b/(.+?)\t?$", re.MULTILINE)


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


def changes(root: str) -> tuple[tuple[str, str], ...]:
    """(file, its hunks) for every file below the root that differs from the last commit; nothing where Git fails."""
    top = repository(root)
    config = _config(top) if top is not None else None
    if config is None or _STARTS_PROGRAMS.search(config):
        return ()
    return tuple(parsed(_output(root)))


def parsed(diff: str) -> Iterator[tuple[str, str]]:
    """The files of a diff: names, and hunks without what stands before them."""
    heads = [*_FILE.finditer(diff)]
    for head, after in zip_longest(heads, heads[1:]):
        part = diff[head.end() : after.start() if after else len(diff)]
        name, first = _NAME.search(part), part.find("\n@@ ")
        if name is not None and first >= 0 and name.start() < first:
            yield name[1], part[first + 1 :]


def _output(root: str) -> str:
    """What git says; cut at a line's end where it is long, empty where it fails or takes too long."""
    try:
        process = subprocess.Popen(
            _COMMAND,
            cwd=root,
            env={**{key: value for key, value in os.environ.items() if not key.startswith("GIT_")}, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, ValueError):  # no git, no such folder
        return ""
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
        timer.cancel()
        process.kill()
    if late.is_set():
        return ""
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return text if len(data) < LARGEST else text[: text.rfind("\n") + 1]


def _config(top: Path) -> str | None:
    """What configures a repository, in it; None if that cannot be read."""
    folder = top / ".git"
    pointer = files.read(folder)
    if pointer is not None:  # a further working tree of a repository
        folder = top / pointer.removeprefix("gitdir:").strip()
        folder = folder / (files.read(folder / "commondir") or "").strip()
    return files.read(folder / "config")
