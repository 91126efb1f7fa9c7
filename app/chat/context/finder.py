"""What `@` may mean in a workspace: files, folders, symbols, the changes since the last commit, the last output."""

import heapq
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from paceline.chat.context import ranking
from paceline.chat.context.mentions import written
from paceline.chat.context.symbols import Symbol, language_of, symbols
from paceline.chat.context.walking import Entry, listed
from paceline.workspace import files

FoundKind = Literal["file", "folder", "symbol", "diff", "output"]
MOST_FILES = 50_000
MOST_SYMBOLS = 25_000
LARGEST = 64 * 1024  # bytes of a file in which symbols are looked for
NO_TEXT = (  # endings of files that cannot be shown to a model of texts
    *(".pyc", ".pyo", ".so", ".o", ".a", ".dll", ".dylib", ".exe", ".class", ".jar", ".wasm", ".bin", ".gguf", ".whl"),
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".tiff", ".mp3", ".mp4", ".mov", ".wav", ".ogg"),
    *(".zip", ".gz", ".xz", ".bz2", ".zst", ".7z", ".tar", ".pdf", ".ttf", ".otf", ".woff", ".woff2", ".db", ".sqlite"),
)
REMEMBERED = 20  # things that were chosen, and come first


@dataclass(frozen=True)
class Found:
    """Something that can be mentioned. Lines from 1, the last one included; 0: all of it."""

    kind: FoundKind
    name: str  # as it is shown and matched: "app/cli.py", "app/", "Engine.step", "diff"
    mention: str  # what is put into the prompt, such as '@"a b.py"'
    path: str = ""  # relative to the workspace, with "/"; of files, folders and symbols
    first: int = 0
    last: int = 0
    detail: str = ""  # where it is or what it is: "app/engine.py:120"
    positions: tuple[int, ...] = ()  # of the characters of the name that were looked for


DIFF = Found("diff", "diff", "@diff", detail="what has changed since the last commit")
OUTPUT = Found("output", "output", "@output", detail="what the last command printed")


@dataclass(frozen=True)
class _Lot:
    """Things that are searched together, and their names."""

    found: tuple[Found, ...]
    names: ranking.Names

    def best(self, query: str, limit: int) -> list[tuple[ranking.Key, Found]]:
        return [(key, self.found[at]) for key, at in self.names.best(query, limit)]


@dataclass(frozen=True)
class _Index:
    """What is known of a workspace. Never changed, only replaced: whoever searches has one state of it."""

    places: _Lot  # files and folders
    symbols: _Lot
    first: tuple[Found, ...] = ()  # what is offered before anything is typed
    by_name: dict[str, Found] = field(default_factory=dict)


class Finder:
    """Everything in one workspace that can be mentioned."""

    def __init__(self, root: Path, ignore: Sequence[str] = ()) -> None:
        """ignore: patterns as in .gitignore, besides those of the workspace's own files."""
        self._root = root
        self._ignore = tuple(ignore)
        self._index = _index([], {})
        self._known: dict[str, tuple[int, int, tuple[Symbol, ...]]] = {}
        self._refreshing = threading.Lock()
        self._recent: tuple[str, ...] = ()  # mentions, the last chosen first
        self.note = ""  # what was left out, in words; "": nothing

    def refresh(self, seconds: float = 5.0) -> bool:
        """Look at the workspace again; False: there is more, which the next call goes on with. Blocks for about so
        long, and longer where finding the files alone takes that: call it in a thread.

        Files are offered before symbols are. What is left out for good is in `note`.
        """
        with self._refreshing:
            begun = time.monotonic()
            entries, note = listed(self._root, self._ignore, MOST_FILES, seconds)
            entries = [each for each in entries if not each.path.lower().endswith(NO_TEXT)]
            known = {path: kept for path, kept in self._known.items() if kept[2]}
            self._index = _index(entries, known)
            deadline = max(begun + seconds, time.monotonic() + seconds / 4)
            self._known, complete = self._read(entries, deadline)
            self._index = _index(entries, self._known)
            many = sum(len(found) for _, _, found in self._known.values()) >= MOST_SYMBOLS
            self.note = note or (f"only the first {MOST_SYMBOLS:,} symbols are offered" if many else "")
            return complete

    def find(self, query: str, limit: int = 50) -> tuple[Found, ...]:
        """The best matches, the best first. May be called at any time, from any thread."""
        index, recent = self._index, self._recent
        typed = query.strip().replace("\\", "/").removeprefix("./")
        if not typed:
            chosen = [found for name in recent if (found := index.by_name.get(name)) is not None]
            return tuple(dict.fromkeys([*chosen, DIFF, OUTPUT, *index.first]))[:limit]
        lots = [_SPECIAL, index.places, index.symbols] if len(typed) > 1 else [_SPECIAL, index.places]
        best = heapq.merge(*(lot.best(typed, limit) for lot in lots))
        ranked = [found for _, found in best][:limit]
        lifted = _lifted(typed, [index.by_name[name] for name in recent if name in index.by_name])
        together = tuple(dict.fromkeys([*lifted, *ranked]))[:limit]
        return tuple(replace(each, positions=_positions(each, typed)) for each in together)

    def resolve(self, name: str) -> Found | None:
        """What a mention means by this name; None: nothing. Files need not have been found yet.

        A name that several symbols have means the first of them, in the order of paths.
        """
        if name in ("diff", "output"):
            return DIFF if name == "diff" else OUTPUT
        plain = name.replace("\\", "/").removeprefix("./")
        index = self._index
        for spelled in (plain, plain + "/"):
            found = index.by_name.get(written(spelled))
            if found is not None and found.kind != "symbol":
                return found
        there = self._there(name)
        return there or index.by_name.get(written(plain))

    def attached(self, found: Found) -> None:
        """It was chosen: what was chosen last comes first from now on."""
        others = [each for each in self._recent if each != found.mention]
        self._recent = (found.mention, *others)[:REMEMBERED]

    def _there(self, name: str) -> Found | None:
        """A file or folder that is not among those offered: new, ignored, or outside of the workspace."""
        if not name.strip() or "\0" in name:
            return None
        try:
            path = self._root / Path(name).expanduser()
            folder, regular = path.is_dir(), path.is_file()
        except (OSError, RuntimeError, ValueError):
            return None
        if folder:
            return _folder(name.rstrip("/") + "/") if name.strip("./") else None
        return _file(name) if regular else None

    def _read(
        self, entries: Iterable[Entry], deadline: float
    ) -> tuple[dict[str, tuple[int, int, tuple[Symbol, ...]]], bool]:
        """Symbols by file, what was known before and has not changed among them; and whether time was enough."""
        known: dict[str, tuple[int, int, tuple[Symbol, ...]]] = {}
        complete, count, late = True, 0, False
        for entry in entries:
            if count >= MOST_SYMBOLS:
                break
            language = "" if entry.path.endswith("/") or entry.size > LARGEST else language_of(entry.path)
            if not language:
                continue
            before = self._known.get(entry.path)
            if before is not None and before[:2] == (entry.modified, entry.size):
                known[entry.path] = before
            elif late:
                complete = False
                continue
            else:
                text = files.read(self._root / entry.path)
                found = symbols(language, text, ends=False) if text else ()
                known[entry.path] = entry.modified, entry.size, found
                late = time.monotonic() > deadline  # at least one is read each time
                time.sleep(0)  # whoever draws the screen comes first
            count += len(known[entry.path][2])
        return known, complete


def _index(entries: Sequence[Entry], known: dict[str, tuple[int, int, tuple[Symbol, ...]]]) -> _Index:
    places = tuple(_folder(each.path) if each.path.endswith("/") else _file(each.path) for each in entries)
    named = [
        Found("symbol", each.name, written(each.name), path, each.first, detail=f"{path}:{each.first}")
        for path, (_, _, found) in known.items()
        for each in found
    ][:MOST_SYMBOLS]
    latest = heapq.nlargest(
        200, (each for each in entries if each.modified), key=lambda each: (each.modified, each.path)
    )
    by_name = {found.mention: found for found in reversed(named)}  # the first of one name stays
    by_name.update((found.mention, found) for found in places)
    return _Index(
        _Lot(places, ranking.Names(tuple(each.name for each in places), "/", 1)),
        _Lot(tuple(named), ranking.Names(tuple(each.name for each in named), ".", 2)),
        tuple(_file(each.path) for each in latest),
        by_name,
    )


def _file(path: str) -> Found:
    return Found("file", path, written(path), path)


def _folder(path: str) -> Found:
    return Found("folder", path, written(path), path)


def _lifted(typed: str, recent: Sequence[Found]) -> list[Found]:
    """Those of the things that were chosen before in which what is typed stands without gaps."""
    found: list[Found] = []
    for each in recent:
        key = ranking.Names((each.name,), _separator(each)).key(0, typed)
        if key is not None and key[0] <= ranking.WHOLE:
            found.append(each)
    return found


def _positions(found: Found, typed: str) -> tuple[int, ...]:
    return ranking.positions(found.name, typed, _separator(found))


def _separator(found: Found) -> str:
    return "." if found.kind == "symbol" else "/"


_SPECIAL = _Lot((DIFF, OUTPUT), ranking.Names(("diff", "output"), "/", 0))
