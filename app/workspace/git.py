"""What Git knows of a workspace: the repository's name, and what has changed since the last commit."""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Event, Timer

from paceline.errors import InputError
from paceline.workspace import files, reftables
from paceline.workspace.diffs import FileDiff, listed, parsed
from paceline.workspace.ignoring import repository
from paceline.workspace.repository import HASH, UNREADABLE, Repository, StandIn, opened, standing_in

SECONDS = 3.0  # that Git may take
LARGEST = 256 * 1024  # characters of its output that are kept
READ = 16  # times as many bytes are read
MANY = 64  # files that are told of at least, before others are left out
RENAMES = 400  # files that are compared with each other to find those that were renamed
FEW = 4096  # bytes of a short answer
_MISSING = 2  # Git's exit status where a branch is not there
FAILED = -1  # in place of an exit status
# Git sees no configuration but this, and may not lock, ask, reach a network, or start a program. Of submodules it reads
# which commit they are at, and does not look into them.
_GIT = (
    *("--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"),
    *("-c", "diff.noprefix=false", "-c", "diff.autoRefreshIndex=false"),
)
_DIFF = (
    *("diff", "--raw", "--patch", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", f"-l{RENAMES}"),
    *("--submodule=short", "--ignore-submodules=dirty", "--unified=2", "--relative"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_BELOW = ("--", ".")
_NOWHERE = f"--git-dir={os.devnull}/none"  # no folder can be that
_OWN = r"^core\.(autocrlf|eol|excludesfile|attributesfile)$"
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_NO_FILTER = (b"unspecified", b"unset")
_URL = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.MULTILINE | re.IGNORECASE)
_ORIGIN = re.compile(r'^\s*\[remote "origin"\]([^\[]*)', re.MULTILINE | re.IGNORECASE)


@lru_cache(maxsize=64)
def repository_name(root: str) -> str:
    """The name of a folder's repository: its remote's, else its folder's; "" for no local folder."""
    if not root:
        return ""
    top = repository(root)
    known = opened(top) if top is not None else None
    origin = _ORIGIN.search(files.decoded(known.config.encode("latin-1"))) if known else None
    url = _URL.search(origin[1]) if origin else None
    named = re.split(r"[/\\:]", url[1].rstrip("/\\").removesuffix(".git"))[-1] if url else ""
    return named or (top or Path(root)).name


@dataclass(frozen=True)
class Differences:
    """What has changed since the last commit, staged or not."""

    files: tuple[FileDiff, ...]
    partly: tuple[str, ...] = ()  # of which only the beginning is there: together they would be more than LARGEST
    left: tuple[str, ...] = ()  # which are not among the files, for the same reason
    filtered: tuple[str, ...] = ()  # whose lines are left out
    cut: bool = False  # there may be more, whose names are not known either


def differences(root: str) -> Differences:
    """What of the files below the root that Git follows differs from the last commit; with none yet, all of them.

    Of files that pass through a filter no lines are told: no filter is run, and what Git has of them, such as a file
    encrypted, is not what the person sees. Raises InputError where Git is not asked, or cannot say.
    """
    with _readied(root) as ready:
        said = ready.asked(*_DIFF, ready.commit, *_BELOW, most=READ * LARGEST)
        if said.code and not said.cut:
            raise InputError("Git cannot say what has changed", "see what `git diff HEAD` says")
        text = said.text[: said.text.rfind("\n") + 1] if said.cut else said.text
        found = tuple(parsed(text))
        filtered = _filtered(ready, found)
    hidden = set(filtered)
    found = tuple(replace(each, hunks="") if each.name in hidden else each for each in found)
    if not said.cut:
        return _shared_out(found, filtered)
    names = listed(text)
    last = found[-1].name if found else ""
    after = names[names.index(last) + 1 :] if last in names else names
    return _shared_out(found, filtered, last, after, cut=not found)


def changes(root: str, may: Callable[[str], bool] = lambda _: True) -> tuple[tuple[str, str], ...]:
    """(file, its hunks) for every file below the root whose lines differ from the last commit, but not for those that
    are gone; nothing where Git fails. may: whether a file of this name may be shown.
    """
    try:
        found = differences(root).files
    except InputError:
        return ()
    return tuple(
        (each.name, each.hunks)
        for each in found
        if each.hunks and not (each.deleted or each.submodule) and may(each.name) and may(each.old)
    )


def untracked(root: str) -> tuple[str, ...]:
    """Files below the root that Git neither follows nor ignores, as far as it says so in time; none where it fails."""
    try:
        with _readied(root) as ready:
            said = ready.asked("ls-files", "--others", "--exclude-standard", "-z", *_BELOW, most=LARGEST)
    except InputError:
        return ()
    return tuple(name for name in said.text.split("\0")[:-1] if name)


@dataclass(frozen=True)
class _Ready:
    """A folder that Git can be asked about."""

    where: Path  # links followed
    commit: str  # what its files are compared with
    lent: StandIn
    options: tuple[str, ...]

    def asked(self, *words: str, most: int, source: Path | None = None) -> "_Said":
        options = (*self.lent.options, *self.options)
        return _asked(self.where, options, *words, environment=self.lent.environment, most=most, source=source)


@contextmanager
def _readied(root: str) -> Iterator[_Ready]:
    """The folder, while it can be asked about. Raises InputError: it cannot."""
    try:
        where = Path(root).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError("there is no such folder", "see whether it has been moved") from error
    top = repository(str(where))
    if top is None:
        raise InputError("this folder is in no Git repository", "`git init` begins one")
    known = opened(top)
    if known is None:
        raise InputError("the Git repository of this folder cannot be read", f"see {top / '.git'}")
    commit = _checked_out(where, known)
    options = tuple(word for each in (*_own(), *known.settings()) for word in ("-c", each))
    with standing_in(known, commit) as lent:
        yield _Ready(where, commit, lent, options)


def _checked_out(where: Path, known: Repository) -> str:
    """The commit that files are compared with. Raises InputError."""
    if known.format.unknown:
        raise InputError(UNREADABLE, "it has hashes or branches of a kind that Paceline does not know")
    if not known.format.reftable:
        return known.commit()
    with reftables.standing_in(known) as lent:

        def asked(*words: str) -> _Said:
            return _asked(where, lent.options, *words, environment=lent.environment, most=FEW)

        found = asked("rev-parse", "--verify", "--quiet", "HEAD")
        if not found.code and HASH.fullmatch(found.data.strip()):
            return found.data.strip().decode()
        branch = asked("symbolic-ref", "--quiet", "HEAD").text.strip()
        if branch.startswith("refs/") and asked("show-ref", "--exists", branch).code == _MISSING:
            return known.nothing
    version = re.search(r"(\d+)\.(\d+)", _asked(where, (_NOWHERE,), "version", most=FEW).text)
    if version is not None and (int(version[1]), int(version[2])) < reftables.SINCE:
        since = ".".join(map(str, reftables.SINCE))
        raise InputError(f"Git {version[0]} cannot read this repository's branches", f"Git {since} or newer can")
    raise InputError(UNREADABLE, "see what `git status` says")


def _filtered(ready: _Ready, found: tuple[FileDiff, ...]) -> tuple[str, ...]:
    """The files that the repository has a filter for; all of them where that cannot be said."""
    changed = [each for each in found if each.hunks]
    if not changed:
        return ()
    source = ready.lent.folder / "names"
    names = (name for each in changed for name in (each.name, each.old))
    source.write_bytes(b"".join(name.encode("utf-8", "replace") + b"\0" for name in names))
    said = ready.asked("check-attr", "-z", "--stdin", "filter", source=source, most=READ * LARGEST)
    words = said.data.split(b"\0")
    plain = {words[at].decode("utf-8", "replace") for at in range(0, len(words) - 2, 3) if words[at + 2] in _NO_FILTER}
    return tuple(each.name for each in changed if not {each.name, each.old} <= plain)


def _shared_out(
    found: Sequence[FileDiff],
    filtered: tuple[str, ...],
    unfinished: str = "",
    after: Sequence[str] = (),
    *,
    cut: bool = False,
) -> Differences:
    """The files, at most LARGEST characters of them: those that take the most are cut to the same length.

    unfinished: a file that is not there to its end. after: names of those that are not there at all.
    """
    share, room = _share([len(each.head) + len(each.hunks) for each in found]), LARGEST
    shown, partly, left = list[FileDiff](), list[str](), list[str]()
    for each in found:
        end, most = len(each.hunks), min(share, room) - len(each.head)
        if end > most:
            end = each.hunks.rfind("\n", 0, max(most, 0)) + 1
        if most < 0 or (each.hunks and each.hunks.count("\n", 0, end) < 2):  # not one line below its numbers
            left.append(each.name)
            continue
        if end < len(each.hunks) or each.name == unfinished:
            partly.append(each.name)
        shown.append(replace(each, hunks=each.hunks[:end]))
        room -= len(each.head) + end
    partly = [name for name in partly if name not in filtered]
    return Differences(tuple(shown), tuple(partly), (*left, *after), filtered, cut)


def _share(sizes: Sequence[int]) -> int:
    """The most that one may take, so that all together take no more than LARGEST; but where there are very many, so
    that some can be told.
    """
    room = LARGEST
    for at, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - at)
        if size > share:
            return max(share, LARGEST // MANY)
        room -= size
    return LARGEST


def _own() -> tuple[str, ...]:
    """What the person says of how files are compared and which are ignored, as options of Git."""
    home = Path(os.environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    said = _own_said(str(home), files.stamp(home / ".gitconfig"), files.stamp(folder / "config"))
    anyway = f"core.excludesFile={folder / 'ignore'}", f"core.attributesFile={folder / 'attributes'}"
    return anyway + said


@lru_cache(maxsize=8)
def _own_said(home: str, *stamps: files.Stamp | None) -> tuple[str, ...]:
    """The same as it stands in files of the person and of the system; read anew when the person's change."""
    said = _asked(Path(tempfile.gettempdir()), (_NOWHERE,), "config", "--null", "--path", "--get-regexp", _OWN)
    return tuple(each.replace("\n", "=", 1) for each in said.text.split("\0")[:-1] if "\n" in each)


@dataclass(frozen=True)
class _Said:
    """What Git printed, and how it ended."""

    data: bytes
    code: int  # its exit status; not 0 as well where it took too long or could not be started
    cut: bool  # it is long, and only its beginning was read

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace").replace("\r\n", "\n")


def _asked(
    where: Path,
    options: Sequence[str],
    *words: str,
    environment: Mapping[str, str] | None = None,
    source: Path | None = None,
    most: int = LARGEST,
) -> _Said:
    """What Git says in a folder. options: which repository is meant, as it must never look for one. source: its input.
    most: bytes that are read.
    """
    program = _program()
    if program is None:
        return _Said(b"", FAILED, cut=False)
    try:
        with (source or Path(os.devnull)).open("rb") as given:
            process = subprocess.Popen(
                [program, *_GIT, *options, *words],
                cwd=where,
                env={**_persons_environment(), **_ENVIRONMENT, **(environment or {})},
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
    except (OSError, ValueError):  # no such folder, or no program after all
        return _Said(b"", FAILED, cut=False)
    late = Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = Timer(SECONDS, stop)
    timer.daemon = True
    with process:
        assert process.stdout is not None
        timer.start()
        data = process.stdout.read(most)
        if len(data) == most:
            process.kill()
        process.wait()
        timer.cancel()
    if late.is_set():
        return _Said(b"", FAILED, cut=False)
    return _Said(data, process.returncode, cut=len(data) == most)


def _persons_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}


def _program() -> str | None:
    """Git, but never one that lies in the folder where somebody happens to be."""
    names = ("git.exe",) if os.name == "nt" else ("git",)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names:
            path = Path(folder, name)
            if path.is_absolute() and os.access(path, os.X_OK) and path.is_file():
                return str(path)
    return None
