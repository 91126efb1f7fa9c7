"""What else than the text around the cursor the model is shown, ranked and within a budget."""

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath
from threading import Lock
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from paceline.config import EditorConfig
from paceline.lsp.context.chunks import Chunks, inside, line_set
from paceline.lsp.context.pieces import Piece, choose
from paceline.lsp.context.regions import Open
from paceline.lsp.context.workspace import Live, Material, Module, Workspace
from paceline.lsp.place import Place
from paceline.prompts.context import Attachment
from paceline.prompts.lines import last_line_start
from paceline.workspace import diffs, files, git
from paceline.workspace.ignoring import matches
from paceline.workspace.kinds import is_secret_file
from paceline.workspace.outline import identifiers, rendered
from paceline.workspace.redaction import redact, redact_part

QUERY = (1500, 500)  # characters before and after the cursor that decide what helps
USED = (20000, 5000)  # and that decide which definitions are used
READ = (8000, 3000)  # and that the model may see anyway: what stands there is not shown twice
TWICE = 0.6  # of a piece's lines, standing elsewhere, that make it superfluous
SIGNATURES, REGION = (0.25, 400), (0.3, 500)  # of the budget, and characters anyway, that one file's may take,
MOST = 0.5  # but no more of it than this
VIEW = 40  # lines around a cursor, where the editor does not tell what is visible
FAR = 64  # lines that a person goes from one place to another
DOCUMENTS = 512  # remembered
LOOKED = 2.0  # seconds for which what rules say of a document is used
QUOTED, QUOTABLE = 4, 32 * 1024  # documents that an answer is guessed from, and characters of all of them
WHOLE = 256 * 1024  # characters of a document that is looked through for that
LARGE = 4096  # characters of a piece that is more than somebody cuts or pastes
_IMPORTING = re.compile(r"\s*(?:from|import|export|use|const)\b")  # a line that begins so may import something
_Value = TypeVar("_Value")
LOCAL = ("file:", "vscode-notebook-cell:")


@dataclass(frozen=True)
class ContextSettings:
    """What may be shown."""

    other_files: bool = True
    git_diff: bool = True
    ignore: tuple[str, ...] = ()  # patterns as in .gitignore, for files that are shown to no model

    @classmethod
    def of(cls, settings: EditorConfig) -> "ContextSettings":
        """The part of all settings that is about that."""
        return cls(settings.other_files, settings.git_diff, settings.ignore)


@dataclass(frozen=True)
class Verdict:
    """What the rules say of a document."""

    shown: bool  # it may help in other documents
    version: int  # of its text, when that was looked at


@dataclass
class Context:
    """What is known of other files. One for a server.

    `refresh` may run in another thread than all the rest, once at a time. What it has not yet judged is not shown.
    """

    settings: ContextSettings = ContextSettings()
    folders: Mapping[str, ContextSettings] = field(default_factory=dict)  # workspace folders with others
    clock: Callable[[], float] = time.monotonic
    _open: dict[str, Open] = field(default_factory=dict)
    _chunks: Chunks = field(default_factory=Chunks)
    _verdicts: "OrderedDict[str, Verdict]" = field(default_factory=OrderedDict)
    _materials: "OrderedDict[str, Material]" = field(default_factory=OrderedDict)
    _shown: "OrderedDict[str, tuple[Piece, ...]]" = field(default_factory=OrderedDict)
    _workspaces: dict[str, Workspace] = field(default_factory=dict)
    _looked: dict[tuple[str, str], tuple[float, bool]] = field(default_factory=dict)  # root, path: when, excluded
    _times: int = 0  # that settings have changed
    _events: int = 0
    _lock: Lock = field(default_factory=Lock)
    _refreshing: Lock = field(default_factory=Lock)

    def configure(self, settings: EditorConfig, folders: Mapping[str, EditorConfig] = MappingProxyType({})) -> None:
        """What may be shown, from now on: in these workspace folders, and elsewhere."""
        with self._lock:
            self.settings = ContextSettings.of(settings)
            self.folders = {root: ContextSettings.of(each) for root, each in folders.items()}
            self._times += 1
            for known in (self._verdicts, self._materials, self._shown, self._workspaces, self._looked):
                known.clear()

    def opened(self, uri: str, path: str, root: str, language: str, text: str) -> None:
        """An editor has opened a document. path and root: as in Place."""
        with self._lock:
            self._verdicts.pop(uri, None)
            self._open[uri] = Open(uri, path, root if uri.startswith(LOCAL) else "", language, text, self._event())

    def closed(self, uri: str) -> None:
        """And closed it: where somebody worked last in it may still help."""
        with self._lock:
            document = self._open.get(uri)
            if document is not None:
                self._leave(document)
                del self._open[uri]
            self._shown.pop(uri, None)
            self._materials.pop(uri, None)

    def saved(self, uri: str) -> None:
        """And saved it."""
        with self._lock:
            document = self._open.get(uri)
            if document is not None:
                self._leave(document)

    def changed(self, uri: str, text: str, start: int, end: int, inserted: str) -> None:
        """The characters from start to end have been replaced; `text` is what the document is now."""
        with self._lock:
            document = self._open.get(uri)
            if document is None:
                return
            removed = document.text[start:end] if end - start < LARGE else ""
            for piece in (removed, inserted):
                if len(piece) > 20 and piece.count("\n", 0, LARGE) > 1:
                    self._chunks.add(uri, document.name(), piece)
            document.edited(text, start, end, len(inserted), self._event())

    def visible(self, uri: str, first_line: int, last_line: int) -> None:
        """These lines are where a person looks; or the one that the cursor is in. Counted from 0."""
        with self._lock:
            document = self._open.get(uri)
            if document is None:
                return
            line = (first_line + last_line) // 2
            if document.seen is not None and abs(line - document.left) > FAR:
                self._leave(document)
            if document.seen is None or abs(line - document.left) > FAR:
                document.left = line
            wide = last_line - first_line >= VIEW // 2
            document.seen = (first_line, last_line) if wide else (max(0, line - VIEW // 2), line + VIEW // 2)
            document.when = self._event()

    def focused(self, uri: str) -> None:
        """A person looks at this document: where they did last, or at its beginning."""
        with self._lock:
            document = self._open.get(uri)
            if document is not None:
                document.seen = document.seen or (0, VIEW)
                document.when = self._event()

    def excluded(self, uri: str, path: str = "", root: str = "") -> bool:
        """Whether a document gets no completions: it is secret, or a person's rules for us say so.

        path and root: as in Place; of an open document they are known. Rules are looked for on the disk, not again
        for the next key.
        """
        document = self._open.get(uri)
        if document is not None and not path:
            path, root = document.path, document.root
        if is_secret_file(uri) or self._said(uri, path, root):
            return True
        if not path or not root or not uri.startswith(LOCAL):
            return False
        now, known = self.clock(), self._looked.get((root, path))
        if known is None or now - known[0] >= LOOKED:
            known = self._looked[(root, path)] = now, self._workspace(root).rules.excluded(path)
            while len(self._looked) > DOCUMENTS:
                del self._looked[next(iter(self._looked))]
        return known[1]

    def repository_name(self, root: str) -> str:
        """What a workspace folder's repository is called; "" for none."""
        return git.repository_name(root)

    def gather(self, place: Place, characters: int) -> tuple[Attachment, ...]:
        """What helps at this place, within the budget; what changes rarely comes first."""
        if not self._of(place.root).other_files or characters <= 0 or self._leaves_alone(place):
            return ()
        step = 2 ** (math.floor(math.log2(characters) * 2) / 2)  # sizes change rarely though the budget is measured
        with self._lock:
            pieces = self._pieces(place, int(step))
        near = place.before[-QUERY[0] :] + place.after[: QUERY[1]]
        found = choose(pieces, identifiers(near), characters, self._shown.get(place.uri, ()))
        _keep(self._shown, place.uri, found)
        return tuple(Attachment(piece.name, piece.text) for piece in found)

    def quotable(self, place: Place) -> tuple[Attachment, ...]:
        """What an answer here may repeat word for word: other open documents, around where they were edited last.

        The model is not shown it. It goes along with each request, and an engine remembers what it knows already.
        """
        if not self._of(place.root).other_files or self._leaves_alone(place):
            return ()
        found, left = list[Attachment](), QUOTABLE
        with self._lock:
            others = [each for each in self._others(place) if each.text.strip() and len(each.text) <= WHOLE][:QUOTED]
            for document in others:
                middle = document.edits[-1].start if document.edits else 0
                start = max(0, min(middle - left // 2, len(document.text) - left))
                text = redacted(document.text)[start : start + left]
                found.append(Attachment(document.name(), text))
                left -= len(text)
                if not left:
                    break
        return tuple(found)

    def _leaves_alone(self, place: Place) -> bool:
        return self.excluded(place.uri, place.path, place.root)

    def refresh(self, place: Place) -> None:
        """Read what `gather` needs from the place's workspace. Takes its time; nothing on a disk makes it fail."""
        with self._refreshing:
            with self._lock:
                documents = [replace(each) for each in self._open.values()]
                times = self._times
            for each in documents:
                self._judge(each, times)
            document = next((each for each in documents if each.uri == place.uri), None)
            root = place.root if place.uri.startswith(LOCAL) else ""
            if not root or not self._of(root).other_files:
                return
            workspace = self._workspace(root)
            live: Live = {each.path: each.text for each in documents if each.root == root and each.path}
            language = place.language or (document.language if document else "")
            material = Material(
                workspace.modules(language, place.before + place.after, place.path, live),
                workspace.changes(live) if self._of(root).git_diff else (),
            )
            with self._lock:
                if times == self._times:
                    _keep(self._materials, place.uri, material)

    def _event(self) -> int:
        self._events += 1
        return self._events

    def _leave(self, document: Open) -> None:
        """Remember the place in a document where somebody was."""
        spans = document.spans(LARGE // 2)
        if spans:
            (start, end), _ = max(spans, key=lambda each: each[1])
            self._chunks.add(document.uri, document.name(), redact_part(document.text, start, end))

    def _said(self, uri: str, path: str, root: str) -> bool:
        """What can be said without a look at the disk: whether a document is to be left alone."""
        name = path or unquote(urlsplit(uri).path).lstrip("/")
        return is_secret_file(path or uri) or matches(self._of(root).ignore, name)

    def _judge(self, document: Open, times: int) -> None:
        """What the rules say of an open document."""
        known = self._verdicts.get(document.uri)
        excluded, ignored = self._said(document.uri, document.path, document.root), False
        if document.root and document.path and not excluded:
            rules = self._workspace(document.root).rules
            excluded, ignored = rules.excluded(document.path), rules.ignored(document.path)
        shown = not excluded and not ignored
        if shown and (known is None or not known.shown or known.version != document.version):
            shown = files.useful(document.name(), document.text)
        with self._lock:
            if times == self._times:  # what has been said by former settings does not hold
                _keep(self._verdicts, document.uri, Verdict(shown, document.version))

    def _workspace(self, root: str) -> Workspace:
        return self._workspaces.setdefault(root, Workspace(root, self._of(root).ignore))

    def _of(self, root: str) -> ContextSettings:
        return self.folders.get(root, self.settings)

    def _may(self, uri: str) -> bool:
        verdict = self._verdicts.get(uri)
        return verdict is not None and verdict.shown

    def _pieces(self, place: Place, characters: int) -> list[Piece]:
        """Everything that could be shown. characters: the budget, about."""
        material = self._materials.get(place.uri, Material())
        used = identifiers(place.before[-USED[0] :] + place.after[: USED[1]])
        around = line_set(place.before[-READ[0] :] + "\n" + place.after[: READ[1]])
        typed = place.before[last_line_start(place.before) :]
        found = [
            _signatures(module, used | _on_offer(module, typed), _part(characters, SIGNATURES))
            for module in material.modules
        ]
        regions = self._regions(place, _part(characters, REGION))
        elsewhere = around.union(*(line_set(piece.text) for piece in regions))
        found += [piece for piece in regions if inside(line_set(piece.text), around) < TWICE]
        for age, chunk in enumerate(self._chunks):
            if self._may(chunk.uri) and inside(chunk.lines, elsewhere) < TWICE:
                text = redacted(chunk.text)
                found.append(Piece(f"chunk:{chunk.number}", "chunk", chunk.name, text, text, 1 / (1 + age / 8)))
        for name, hunks in material.changes:
            text = _fitting(diffs.redacted(hunks), characters // 6)
            found.append(Piece(f"diff:{name}", "diff", name, text, text))
        return [piece for piece in found if piece.text.strip()]

    def _regions(self, place: Place, characters: int) -> list[Piece]:
        """Where somebody works in other documents, the newest first."""
        found = []
        for age, document in enumerate(self._others(place)):
            for number, (span, _) in enumerate(document.spans(characters)):
                text = redact_part(document.text, *span)
                key = f"region:{document.uri}:{number}"
                prior = 1 / (1 + age / 5) / (1 + number / 4)
                found.append(Piece(key, "region", document.name(), text, (span, text), prior))
        return found

    def _others(self, place: Place) -> list[Open]:
        """Open documents besides the place's own that may be shown, the last that somebody was in first."""
        others = [
            each
            for each in self._open.values()
            if each.uri != place.uri
            and self._may(each.uri)
            and (not each.path or (each.root, each.path) != (place.root, place.path))
        ]
        return sorted(others, key=lambda each: -each.when)


def redacted(text: str) -> str:
    """The text without secrets; see redact."""
    return _redacted(text)


@lru_cache(maxsize=128)
def _redacted(text: str) -> str:
    return redact(text)


def _signatures(module: Module, used: frozenset[str], characters: int) -> Piece:
    text, named = rendered(module.outline, used | module.names, characters)
    needed = frozenset(each.name for each in module.outline) & (used | module.names) & named
    prior = (1.0 if needed else 0.4) * (1.0 if module.hops == 1 else 0.8)
    return Piece(
        f"signatures:{module.path}", "signatures", module.path, redacted(text), module.source, prior, needed, named
    )


def _on_offer(module: Module, typed: str) -> frozenset[str]:
    """The names that a module defines, where one of them is about to be imported."""
    if not _IMPORTING.match(typed) or PurePosixPath(module.path).stem not in identifiers(typed):
        return frozenset()
    return frozenset(each.name for each in module.outline if not each.name.startswith("_"))


def _part(budget: int, of: tuple[float, int]) -> int:
    share, anyway = of
    return int(min(MOST * budget, max(share * budget, anyway)))


def _fitting(text: str, characters: int) -> str:
    """Whole lines of a text, at most so many characters."""
    return text if len(text) <= characters else text[: text.rfind("\n", 0, characters) + 1]


def _keep(store: "OrderedDict[str, _Value]", key: str, value: _Value) -> None:
    """Remember, and forget what is oldest."""
    store[key] = value
    store.move_to_end(key)
    while len(store) > DOCUMENTS:
        store.popitem(last=False)
