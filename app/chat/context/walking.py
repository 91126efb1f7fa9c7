"""The files of a workspace that may be shown to a model, found fast: what is ignored is not gone into."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from paceline.workspace.files import within
from paceline.workspace.ignoring import Rules, matches, repository
from paceline.workspace.kinds import is_secret_file
from paceline.workspace.patterns import Patterns

_SKIPPED = {".git", ".hg", ".svn", ".jj"}  # a repository's own folder
_OWN, _GIT = ".pacelineignore", ".gitignore"

# the folder that each belongs to, relative, with a slash at its end; the outermost first
Specs: TypeAlias = tuple[tuple[str, Patterns], ...]


@dataclass(frozen=True)
class Entry:
    """A file or folder. path: relative to the workspace, with "/", a folder's ends with one."""

    path: str
    modified: int = 0  # nanoseconds
    size: int = 0


class Walk(Rules):
    """Walks through a workspace. Says of each file what Rules.ignored says, without asking for every one."""

    def entries(self, folder: str = "", *, above: bool = True) -> Iterator[Entry]:
        """Files and folders, a folder before what is in it; each folder in the order of names.

        folder: only what is below it; relative to the workspace, with a slash at its end. above: the rules of the
        repository that the workspace lies in count, too.
        """
        root = Path(self.root)
        top = (repository(self.root) if above else None) or root
        inside = root.relative_to(top).as_posix() if root.is_relative_to(top) else "."
        prefix = "" if inside == "." else f"{inside}/"
        own: Specs = ()
        git: Specs = ()
        for path in _steps(prefix):
            if path and _verdict(git, path):
                return
            git += self._git(top, path) if path != prefix else ()
        for path in _steps(folder):
            if path and (_verdict(own, path) or _verdict(git, prefix + path) or self._kept(path, "/")):
                return
            if path != folder:
                own += _found(path, self._spec(root / path / _OWN))
                git += self._git(top, prefix + path)
        yield from self._below(folder, prefix, top, own, git)

    def _below(self, folder: str, prefix: str, top: Path, own: Specs, git: Specs) -> Iterator[Entry]:
        own += _found(folder, self._spec(Path(self.root) / folder / _OWN))
        git += self._git(top, prefix + folder)
        try:
            with os.scandir(Path(self.root) / folder) as listed:
                children = sorted(listed, key=lambda each: each.name)
        except OSError:
            return
        for child in children:
            if child.name in _SKIPPED:
                continue
            path = folder + child.name
            try:
                link, deep = child.is_symlink(), child.is_dir()
                state = child.stat()
            except OSError:
                continue
            end = "/" if deep and not link else ""
            if link and (deep or within(self.root, path) is None):
                continue
            if _verdict(own, path + end) or _verdict(git, prefix + path + end) or self._kept(path, end):
                continue
            if end:
                yield Entry(path + end)
                yield from self._below(path + end, prefix, top, own, git)
            elif child.is_file():
                yield Entry(path, state.st_mtime_ns, state.st_size)

    def _kept(self, path: str, end: str) -> bool:
        return matches(self.extra, path.rstrip("/") + end) or is_secret_file(path.rstrip("/") + (end and "/x"))

    def _git(self, top: Path, folder: str) -> Specs:
        specs = _found(folder, self._spec(self._exclude(top))) if not folder else ()
        return specs + _found(folder, self._spec(top / folder / _GIT))


def listed(root: Path, extra: tuple[str, ...], most: int, seconds: float) -> tuple[list[Entry], str]:
    """Files and folders of a workspace, and what was left out, in words: nothing, where there was room and time."""
    deadline = time.monotonic() + seconds
    found: list[Entry] = []
    for entry in Walk(str(root), extra).entries():
        if len(found) >= most:
            return found, f"only the first {most:,} files are offered"
        found.append(entry)
        if len(found) % 256 == 0 and time.monotonic() > deadline:
            return found, f"only {len(found):,} files are offered: looking for them took too long"
    return found, ""


def _steps(folder: str) -> list[str]:
    """The folders on the way to one, the outermost, "", first, itself last: "", "a/", "a/b/"."""
    parts = folder.split("/")[:-1]
    return ["".join(f"{part}/" for part in parts[:depth]) for depth in range(len(parts) + 1)]


def _found(folder: str, spec: Patterns | None) -> Specs:
    return () if spec is None else ((folder, spec),)


def _verdict(specs: Specs, path: str) -> bool:
    """Whether the nearest rules that know the path say that it is ignored."""
    for folder, spec in reversed(specs):
        verdict = spec.says(path[len(folder) :])
        if verdict is not None:
            return verdict
    return False
