"""Which files are kept from the model: by .gitignore and .git/info/exclude, by .pacelineignore, by settings."""

import os
import stat
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from paceline.workspace import files
from paceline.workspace.kinds import is_secret_file
from paceline.workspace.patterns import Patterns, compiled
from paceline.workspace.repository import opened

UP = 24  # folders above a workspace in which its repository is looked for


@dataclass(frozen=True)
class _Exclude:
    """Where a repository's own rules are, as long as the files that lead there stay as they are."""

    state: tuple[files.Stamp | None, files.Stamp | None]
    pointer: Path
    path: Path


@dataclass
class Rules:
    """The rules of one workspace folder. Files of rules are read again when they change."""

    root: str
    extra: tuple[str, ...] = ()
    _specs: dict[Path, tuple[files.Stamp | None, Patterns | None]] = field(default_factory=dict)
    _excludes: dict[Path, _Exclude] = field(default_factory=dict)

    def ignored(self, path: str) -> bool:
        """Whether a file is kept from models that complete in other files. path: within the root, with "/".

        What a link leads to is asked about as well, here and in `excluded`.
        """
        return any(self._excluded(each) or self._by_git(each) for each in self._names(path))

    def excluded(self, path: str) -> bool:
        """Whether it gets no completions either: it is secret, or a person said so to us."""
        return any(map(self._excluded, self._names(path)))

    def _names(self, path: str) -> tuple[str, ...]:
        """What a file is called: as it is asked for, and where links lead, which may be an absolute path."""
        real = files.real(self.root, path)
        return (path,) if real == path else (path, real)

    def _by_git(self, path: str) -> bool:
        if path.startswith("/"):  # outside
            return False
        top = repository(self.root) or Path(self.root)
        try:
            inside = Path(self.root).relative_to(top).as_posix()
        except ValueError:
            inside = "."
        whole = path if inside == "." else f"{inside}/{path}"
        return self._matches(top, whole, ".gitignore", self._exclude(top))

    def _exclude(self, top: Path) -> Path:
        """The file of rules that all working trees of a repository have in common."""
        known = self._excludes.get(top)
        if known is None or known.state != (files.stamp(top / ".git"), files.stamp(known.pointer)):
            found = opened(top)
            own, common = (found.own, found.common) if found is not None else (top / ".git", top / ".git")
            pointer = own / "commondir"
            state = files.stamp(top / ".git"), files.stamp(pointer)
            known = self._excludes[top] = _Exclude(state, pointer, common / "info" / "exclude")
        return known.path

    def _excluded(self, path: str) -> bool:
        if is_secret_file(path) or matches(self.extra, path.lstrip("/")):
            return True
        return not path.startswith("/") and self._matches(Path(self.root), path, ".pacelineignore")

    def _matches(self, top: Path, path: str, name: str, *more: Path) -> bool:
        """Whether the file or a folder that it lies in is matched; the nearest file of rules decides.

        name: of a file of rules in any folder. more: files of rules that are farther away than all of those.
        """
        parts = path.split("/")
        specs: list[tuple[int, Patterns]] = [(0, spec) for spec in map(self._spec, more) if spec is not None]
        for depth in range(len(parts)):
            spec = self._spec(top.joinpath(*parts[:depth], name))
            if spec is not None:
                specs.append((depth, spec))
            end = "/" if depth + 1 < len(parts) else ""
            for base, spec in reversed(specs):
                verdict = spec.says("/".join(parts[base : depth + 1]) + end)
                if verdict:
                    return True
                if verdict is not None:
                    break
        return False

    def _spec(self, path: Path) -> Patterns | None:
        stamp = files.stamp(path)
        known = self._specs.get(path)
        if known is None or known[0] != stamp:
            text = files.read(path) if stamp is not None else None
            known = self._specs[path] = stamp, compiled(text.split("\n")) if text else None
        return known[1]


def matches(patterns: tuple[str, ...], path: str) -> bool:
    """Whether patterns as in .gitignore match the path, or a folder in it."""
    return bool(patterns) and bool(path) and _compiled(patterns).hide(path)


def repository(root: str) -> Path | None:
    """The folder of the Git repository that a folder belongs to. Looked for anew each time: one may have been made."""
    passed = None
    for folder, known, head in _above(root):
        try:
            regular = stat.S_ISREG(os.stat(known).st_mode)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        if regular or os.path.exists(head):  # noqa: PTH110
            return folder
        passed = passed or folder  # Git itself looks farther up
    return passed


@lru_cache(maxsize=256)
def _above(root: str) -> tuple[tuple[Path, str, str], ...]:
    """(folder, its .git, the HEAD in that) of a folder and of those above it."""
    folder = Path(root)
    return tuple((each, str(each / ".git"), str(each / ".git" / "HEAD")) for each in [folder, *folder.parents][:UP])


@lru_cache(maxsize=64)
def _compiled(lines: tuple[str, ...]) -> Patterns:
    return compiled(lines)
