"""What `@` may mean in a workspace: files, folders, symbols, the changes since the last commit, the last output."""

import heapq
import itertools
import re
import threading
import time
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from paceline.chat.context import ranking
from paceline.chat.context.mentions import of_symbol, symbol_readings, written
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
_IDENTIFIER = re.compile(r"[^\W\d][\w.$]*")
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


_Key: TypeAlias = tuple[str, str, str]  # kind, path and name: of any two things, one is different
_Symbols: TypeAlias = dict[str, tuple[int, int, tuple[Symbol, ...]]]  # by file: when it was changed, its size, symbols


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
    known: dict[_Key, Found] = field(default_factory=dict)  # files, folders and symbols
    defined: dict[str, tuple[Found, ...]] = field(default_factory=dict)  # symbols by name: one for each file


class Finder:
    """Everything in one workspace that can be mentioned."""

    def __init__(self, root: Path, ignore: Sequence[str] = ()) -> None:
        """ignore: patterns as in .gitignore, besides those of the workspace's own files."""
        self._root = root
        self._ignore = tuple(ignore)
        self._index = _index([], {})
        self._known: _Symbols = {}
        self._refreshing = threading.Lock()
        self._recent: tuple[_Key, ...] = ()  # the last chosen first
        self.note = ""  # what was left out, in words; "": nothing

    def refresh(self, seconds: float = 5.0) -> bool:
        """Look at the workspace again; False: there is more, which the next call goes on with. Blocks for about so
        long, and longer where finding the files alone takes that: call it in a thread.

        Files are offered before symbols are. What is left out for good is in `note`.
        """
        with self._refreshing:
            begun = time.monotonic()
            entries, note = listed(self._root, self._ignore, MOST_FILES, seconds)
            entries = [each for each in entries if not each.path.lower().endswith(NO_TEXT) and _in_a_line(each.path)]
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
            chosen = [found for key in recent if (found := index.known.get(key)) is not None]
            return tuple(dict.fromkeys([*chosen, DIFF, OUTPUT, *index.first]))[:limit]
        lots = [_SPECIAL, index.places, index.symbols] if len(typed) > 1 else [_SPECIAL, index.places]
        best = heapq.merge(*(lot.best(typed, limit) for lot in lots))
        ranked = [found for _, found in best][:limit]
        lifted = _lifted(typed, [index.known[key] for key in recent if key in index.known])
        together = [replace(each, positions=_positions(each, typed)) for each in dict.fromkeys([*lifted, *ranked])]
        return tuple([*_defined_in(index.symbols.found, typed, limit), *together][:limit])

    def resolve(self, name: str) -> Found | None:
        """The first of what a mention may mean by this name; None: nothing. Files need not have been found yet."""
        return next(iter(self.meanings(name)), None)

    def meanings(self, name: str) -> tuple[Found, ...]:
        """What a mention may mean by this name, in the order of paths. Several: so many files define this symbol.

        A symbol with its file, as in app/cli.py:main, is one of that file; the end of a path will do.
        """
        if name in ("diff", "output"):
            return (DIFF if name == "diff" else OUTPUT,)
        plain = name.replace("\\", "/").removeprefix("./")
        index = self._index
        for key in (("file", plain, plain), ("folder", plain, plain), ("folder", f"{plain}/", f"{plain}/")):
            if (place := index.known.get(key)) is not None:
                return (place,)
        if plain in index.defined:
            return index.defined[plain]
        there = self._there(name)
        return self._in_file(plain) if there is None else (there,)

    def defining(self, names: Collection[str], *, methods: bool = False) -> tuple[str, ...]:
        """The files that define all of these names, in order. methods: as methods of one class, whatever its name."""
        index, wanted = self._index, set(names)
        if not methods:
            files = [{each.path for each in index.defined.get(name, ())} for name in wanted]
            return tuple(sorted(set.intersection(*files))) if files else ()
        has: dict[tuple[str, str], set[str]] = {}
        for full, found in index.defined.items():
            above, dot, name = full.rpartition(".")
            if dot and name in wanted:
                for each in found:
                    has.setdefault((each.path, above), set()).add(name)
        return tuple(sorted({path for (path, _), there in has.items() if there == wanted}))

    def files(self, name: str) -> tuple[str, ...]:
        """The files that are meant by a path, or by the end of one where there is no such path; in order."""
        plain = name.replace("\\", "/").removeprefix("./")
        there = self._there(plain)
        if there is not None:
            return (plain,) if there.kind == "file" else ()
        found = [each.path for each in self._index.places.found if each.kind == "file"]
        return tuple(path for path in found if path.endswith(f"/{plain}")) if plain else ()

    def attached(self, found: Found) -> None:
        """It was chosen: what was chosen last comes first from now on."""
        others = [each for each in self._recent if each != _key(found)]
        self._recent = (_key(found), *others)[:REMEMBERED]

    def _in_file(self, name: str) -> tuple[Found, ...]:
        """A symbol with its file. In a file that is there, any may be: whoever reads it will see."""
        index = self._index
        for path, symbol in symbol_readings(name):
            if (exact := index.known.get(("symbol", path, symbol))) is not None:
                return (exact,)
            file = index.known.get(("file", path, path)) or self._there(path)
            if file is not None and file.kind == "file" and language_of(path) and _IDENTIFIER.fullmatch(symbol):
                return (Found("symbol", symbol, written(of_symbol(path, symbol)), path),)
            end = f"/{path}"
            if found := [each for each in index.defined.get(symbol, ()) if each.path.endswith(end)]:
                return tuple(found)
            if "." not in symbol and (found := _methods(index.symbols.found, symbol, end)):
                return tuple(found)
        return ()

    def _there(self, name: str) -> Found | None:
        """A file or folder that is not among those offered: new, ignored, or outside of the workspace."""
        if not name.strip() or "\0" in name:
            return None
        try:
            path = files.below(self._root, name)
            folder, regular = path.is_dir(), path.is_file()
        except (OSError, RuntimeError, ValueError):
            return None
        if folder:
            return _folder(name.rstrip("/") + "/") if name.strip("./") else None
        return _file(name) if regular else None

    def _read(self, entries: Iterable[Entry], deadline: float) -> tuple[_Symbols, bool]:
        """Symbols by file, what was known before and has not changed among them; and whether time was enough."""
        known: _Symbols = {}
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


def _index(entries: Sequence[Entry], known: _Symbols) -> _Index:
    places = tuple(_folder(each.path) if each.path.endswith("/") else _file(each.path) for each in entries)
    named = _symbols(known, {"diff", "output", *(each.path.rstrip("/") for each in entries)})
    latest = heapq.nlargest(
        200, (each for each in entries if each.modified), key=lambda each: (each.modified, each.path)
    )
    defined: dict[str, list[Found]] = {}
    for each in named:
        defined.setdefault(each.name, []).append(each)
    return _Index(
        _Lot(places, ranking.Names(tuple(each.name for each in places), "/", 1)),
        _Lot(named, ranking.Names(tuple(each.name for each in named), ".", 2)),
        tuple(_file(each.path) for each in latest),
        {_key(each): each for each in (*places, *named)},
        {name: tuple(found) for name, found in defined.items()},
    )


def _symbols(known: _Symbols, taken: Container[str]) -> tuple[Found, ...]:
    """The symbols of all files, each once for a file: definitions of one name in one file belong together.

    taken: names that mean something else where they are mentioned.
    """
    lines: dict[tuple[str, str], list[int]] = {}
    for path, (_, _, found) in known.items():
        for each in found:
            lines.setdefault((path, each.name), []).append(each.first)
    holders = Counter(name for _, name in lines)
    return tuple(
        Found(
            "symbol",
            name,
            written(of_symbol(path, name) if holders[name] > 1 or name in taken else name),
            path,
            places[0],
            detail=f"{path}:{', '.join(map(str, places[:3]))}{', …' if places[3:] else ''}",
        )
        for (path, name), places in itertools.islice(lines.items(), MOST_SYMBOLS)
    )


def _defined_in(found: Iterable[Found], typed: str, limit: int) -> list[Found]:
    """Of symbols, those that are meant by what is typed of a path, a colon, and what is typed of a name."""
    path, colon, name = typed.rpartition(":")
    if not colon or not path or re.fullmatch(r"[\d-]+", name):  # lines
        return []
    low = path.lower()
    inside = [each for each in found if low in each.path.lower()]
    mine = [each for each in inside if f"/{each.path}".endswith(f"/{path}")] or inside
    if name:
        best = ranking.Names([each.name for each in mine], ".").best(name, limit)
        mine = [replace(mine[at], positions=ranking.positions(mine[at].name, name, ".")) for _, at in best]
    return [replace(each, mention=written(of_symbol(each.path, each.name))) for each in mine[:limit]]


def _methods(found: Iterable[Found], name: str, end: str) -> list[Found]:
    """For each file whose path ends so, and in which a class has a method of this name: the name in that file."""
    paths = dict.fromkeys(each.path for each in found if each.name.endswith(f".{name}") and each.path.endswith(end))
    return [Found("symbol", name, written(of_symbol(path, name)), path) for path in paths]


def _in_a_line(path: str) -> bool:
    """Whether a path can be mentioned: a mention ends with its line."""
    return path.splitlines() == [path]


def _key(found: Found) -> _Key:
    return found.kind, found.path, found.name


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
