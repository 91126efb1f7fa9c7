"""Which files are kept from the model: by .gitignore and .git/info/exclude, by .pacelineignore, by settings."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from paceline.workspace import files
from paceline.workspace.kinds import is_secret_file
from paceline.workspace.patterns import Patterns, compiled

UP = 24  # folders above a workspace in which its repository is looked for


@dataclass
class Rules:
    """The rules of one workspace folder. Files of rules are read again when they change."""

    root: str
    extra: tuple[str, ...] = ()
    _specs: dict[Path, tuple[files.Stamp | None, Patterns | None]] = field(default_factory=dict)

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
        return self._matches(top, whole, (".git/info/exclude", ".gitignore"))

    def _excluded(self, path: str) -> bool:
        if is_secret_file(path) or matches(self.extra, path.lstrip("/")):
            return True
        return not path.startswith("/") and self._matches(Path(self.root), path, (".pacelineignore",))

    def _matches(self, top: Path, path: str, names: Sequence[str]) -> bool:
        """Whether the file or a folder that it lies in is matched; the nearest file of rules decides."""
        parts = path.split("/")
        specs: list[tuple[int, Patterns]] = []
        for depth in range(len(parts)):
            folder = top.joinpath(*parts[:depth])
            for name in names:
                if "/" not in name or depth == 0:
                    spec = self._spec(folder / name)
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
