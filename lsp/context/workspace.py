"""What is read from the disk of a workspace: outlines of imported files, changes since the last commit, rules."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from os import scandir

from paceline.lsp.context import imports
from paceline.workspace import files, git
from paceline.workspace.ignoring import Rules
from paceline.workspace.outline import Outline, outline

HEAD = 64 * 1024  # characters of a document in which its imports are looked for
OUTLINES = 256  # kept
PER_FOLDER = 200  # names of a folder that are looked at
HOPS = 2  # files that a name is followed through
FRESH = 10.0  # seconds for which what Git says is used
TOTAL = 2 * 1024 * 1024  # characters that are read in one go

Live = Mapping[str, str]  # texts of the files that are open in the editor, by their path in this workspace


@dataclass(frozen=True)
class Module:
    """A file that is imported."""

    path: str
    outline: Outline
    names: frozenset[str]  # taken from it by name
    hops: int  # 1: imported by the document itself
    source: int  # tells its states apart


@dataclass(frozen=True)
class Material:
    """What was found for one document."""

    modules: tuple[Module, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()  # (file, hunks)


@dataclass
class Workspace:
    """One workspace folder on this machine. Used by one thread at a time."""

    root: str
    ignore: tuple[str, ...] = ()
    clock: Callable[[], float] = time.monotonic
    rules: Rules = field(init=False)
    _outlines: "OrderedDict[object, Outline | None]" = field(default_factory=OrderedDict)
    _good: dict[str, Outline] = field(default_factory=dict)  # the last that was understood, by path
    _changes: tuple[tuple[str, str], ...] = ()
    _asked: float = -FRESH
    _read: int = 0

    def __post_init__(self) -> None:
        """Its rules."""
        self.rules = Rules(self.root, self.ignore)

    def modules(self, language: str, text: str, path: str, live: Live) -> tuple[Module, ...]:
        """What a document imports, and what that imports the same names from."""
        self._read = 0
        return tuple(self._followed(imports.imported(language, text[:HEAD], path, self._tree(live)), live))

    def changes(self, live: Live) -> tuple[tuple[str, str], ...]:
        """(file, hunks) of the files that differ from the last commit; not of those that are open."""
        if self.clock() - self._asked >= FRESH:
            found = git.changes(self.root, self._may)
            self._changes = tuple((name, text) for name, text in found if files.useful(name, text))
            self._asked = self.clock()
        return tuple(each for each in self._changes if each[0] not in live)

    def _followed(self, found: Iterable[imports.Imported], live: Live) -> Iterator[Module]:
        seen: set[str] = set()
        for hop in range(1, HOPS + 1):
            further: list[imports.Imported] = []
            for each in found:
                if each.path in seen or len(seen) >= imports.MOST or self._read > TOTAL:
                    continue
                seen.add(each.path)
                known = self._known(each.path, live)
                if known is None:
                    continue
                text, state, defined = known
                missing = each.names - {definition.name for definition in defined}
                if defined and (hop == 1 or len(missing) < len(each.names)):
                    yield Module(each.path, defined, each.names, hop, hash((each.path, state)))
                if missing and hop < HOPS:
                    language = imports.language_of(each.path)
                    for one in imports.imported(language, text[:HEAD], each.path, self._tree(live)):
                        if wanted := one.names & missing:
                            further.append(imports.Imported(one.path, wanted))
            found = further

    def _known(self, path: str, live: Live) -> tuple[str, object, Outline] | None:
        """(text, state, outline) of a file that may be shown."""
        if not self._may(path):
            return None
        text: str | None
        state: object
        if path in live:
            text, state = live[path], hash(live[path])
        else:
            file = files.within(self.root, path)
            state = files.stamp(file) if file is not None else None
            text = files.read(file) if file is not None and state is not None else None
        if text is None or len(text) > files.LARGEST:
            return None
        self._read += len(text)
        key = (path, state)
        if key not in self._outlines:
            self._outlines[key] = outline(imports.language_of(path), text) if files.useful(path, text) else ()
            while len(self._outlines) > OUTLINES:
                self._outlines.popitem(last=False)
        defined = self._outlines[key]
        if defined is None:  # in the middle of an edit
            defined = self._good.get(path, ())
        else:
            self._good[path] = defined
            if len(self._good) > OUTLINES:
                del self._good[next(iter(self._good))]
        return text, hash(defined), defined

    def _may(self, path: str) -> bool:
        return not self.rules.ignored(path)

    def _tree(self, live: Live) -> imports.Tree:
        return imports.Tree(
            exists=lambda path: path in live or self._is_file(path),
            names=self._names,
            text=lambda path: live[path] if path in live else self._text(path),
        )

    def _is_file(self, path: str) -> bool:
        file = files.within(self.root, path)
        return file is not None and files.stamp(file) is not None

    def _text(self, path: str) -> str | None:
        file = files.within(self.root, path)
        return files.read(file) if file is not None else None

    def _names(self, path: str) -> list[str]:
        """Names in a folder, boundedly many."""
        folder = files.within(self.root, path)
        if folder is None:
            return []
        try:
            with scandir(folder) as entries:
                return sorted(entry.name for entry in islice(entries, PER_FOLDER))
        except OSError:
            return []
