"""Documents that are open in the editor: their text comes from it, change by change, and never from the disk."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls import IS_WIN
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

from paceline.lsp import notebooks
from paceline.lsp.changes import is_elsewhere
from paceline.lsp.place import Place
from paceline.lsp.positions import Encoding, LineIndex, offset_of, position_of

logger = logging.getLogger(__name__)

NO_VERSION = -1  # of a document whose version the editor does not tell
_CELL = "vscode-notebook-cell"  # how the URI of a cell begins; its path is the notebook's


@dataclass
class Document:
    """A text that is open in the editor. Offsets count characters; positions are the protocol's."""

    uri: str
    language: str  # the protocol's languageId; "" where the editor does not say
    version: int | None
    text: str
    encoding: Encoding = "utf-16"
    lost: bool = False  # a change could not be read: the editor's text is another one, until it is told whole
    _index: LineIndex = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the lines."""
        self._index = LineIndex(self.text)

    @property
    def lines(self) -> int:
        """Number of lines; at least one."""
        return self._index.count

    def offset(self, position: types.Position) -> int:
        """Offset of a position, clamped as the protocol says: after a line's end it is that end."""
        return offset_of(self.text, self._index, position.line, position.character, self.encoding)

    def position(self, offset: int) -> types.Position:
        """Position of an offset, which is clamped to the text."""
        line, character = position_of(self.text, self._index, offset, self.encoding)
        return types.Position(line, character)

    def range(self, start: int, end: int) -> types.Range:
        """Range of two offsets."""
        return types.Range(self.position(start), self.position(end))

    def apply(self, change: types.TextDocumentContentChangeEvent) -> tuple[int, str, str] | None:
        """Change the text. Gives what that was: where, what stood there, and what stands there now.

        A change of the whole text is cut down to the part that differs; None where nothing does.
        """
        if isinstance(change, types.TextDocumentContentChangePartial):
            ends = self.offset(change.range.start), self.offset(change.range.end)
            start, end, inserted = min(ends), max(ends), change.text
        else:
            start, end, inserted = _difference(self.text, change.text)
        if start == end and not inserted:
            return None
        removed = self.text[start:end]
        self.text = self.text[:start] + inserted + self.text[end:]
        self._index.replace(self.text, start, end, len(inserted))
        return start, removed, inserted


def _difference(old: str, new: str) -> tuple[int, int, str]:
    """The smallest single edit that makes the new text from the old one."""
    most = min(len(old), len(new))
    head = _agreeing(most, lambda length: old.startswith(new[:length]))
    tail = _agreeing(most - head, lambda length: old.endswith(new[len(new) - length :]))
    return head, len(old) - tail, new[head : len(new) - tail]


def _agreeing(most: int, holds: Callable[[int], bool]) -> int:
    """The largest length for which it holds, given that it holds for all shorter ones."""
    low = 0
    while low < most:
        half = (low + most + 1) // 2
        if holds(half):
            low = half
        else:
            most = half - 1
    return low


def _no_change(uri: str, start: int, removed: str, inserted: str, document: Document) -> None:
    """Nobody wants to know."""


class Documents(Workspace):
    """What is open, by URI: files, files that have no name yet, remote ones, and the cells of notebooks.

    `on_open` and `on_close` are told of each document; `on_change` of each change after it was made: the document's
    URI, the offset, what stood there, what stands there now, and the document.
    `on_lost` is told of each document whose text is not known any more.
    """

    def __init__(
        self, root_uri: str | None, folders: list[types.WorkspaceFolder], encoding: Encoding = "utf-16"
    ) -> None:
        super().__init__(root_uri, workspace_folders=folders, position_encoding=encoding)
        self.encoding = encoding
        self.open: dict[str, Document] = {}
        self._wondered: set[str] = set()
        self.on_open: Callable[[Document], None] = lambda document: None
        self.on_change: Callable[[str, int, str, str, Document], None] = _no_change
        self.on_close: Callable[[Document], None] = lambda document: None
        self.on_lost: Callable[[Document], None] = lambda document: None

    def document(self, uri: str) -> Document | None:
        """The open document; None for any other, whatever the disk has."""
        return self.open.get(unquote(uri))

    def place(self, uri: str, position: types.Position) -> Place | None:
        """The cursor at a position, in what it stands in; None for a document that is not open."""
        document = self.document(uri)
        if document is None:
            return None
        offset = document.offset(position)
        before, after, earlier = document.text[:offset], document.text[offset:], ""
        notebook = self.get_notebook_document(cell_uri=uri)
        if notebook is not None:
            earlier, later = self._around(notebook, uri)
            before, after = earlier + before, after + later
        path, root = self.home(uri)
        which = document.uri, document.language, document.version
        return Place(*which, before, after, path, root, lost=document.lost, elsewhere=len(earlier))

    def home(self, uri: str) -> tuple[str, str]:
        """As `located`; a notebook's cell is where the notebook is."""
        notebook = self.get_notebook_document(cell_uri=uri)
        if notebook is not None:
            return self.located(notebook.uri)
        parts = urlsplit(uri)
        whole = parts._replace(scheme="file", fragment="").geturl() if parts.scheme == _CELL else uri
        return self.located(whole)

    def located(self, uri: str) -> tuple[str, str]:
        """A document's path in the innermost workspace folder that has it, and that folder's path on this machine.

        Both are "" for a document outside of all folders; the second one is for a folder on another machine.
        """
        site, path = _split(uri)
        best = ""
        folder = ""
        for each in self._roots():
            its_site, its_path = _split(each)
            if its_site == site and path.startswith(its_path + "/") and len(its_path) >= len(best):
                best, folder = its_path, each
        return (path[len(best) + 1 :], _local_path(folder)) if folder else ("", "")

    def get_text_document(self, doc_uri: str) -> TextDocument:
        """Not to be had: pygls would read a file that is not open from the disk. Raises LookupError."""
        raise LookupError("documents are to be had by `document`")

    def put_text_document(self, text_document: types.TextDocumentItem, notebook_uri: str | None = None) -> None:
        """A document has been opened, or opened again."""
        uri, key = text_document.uri, unquote(text_document.uri)
        if notebook_uri:
            self._cell_in_notebook[key] = unquote(notebook_uri)
        version = _version(text_document.version)
        document = Document(uri, text_document.language_id or "", version, text_document.text, self.encoding)
        self.open[key] = document
        self.on_open(document)

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        """A document has changed. One that is not open is none of ours."""
        document = self.document(text_doc.uri)
        if document is None:
            self._wonder("a change of a document that is not open is left out: %s", text_doc.uri)
            return
        version, known = _version(text_doc.version), document.version
        document.version = version
        if isinstance(change, types.TextDocumentContentChangePartial):
            if version is not None and known is not None and version < known:
                self._wonder("a change of %s has an older version than the one before", document.uri)
            if is_elsewhere(change, document.lines):
                self._lose(document)
            if document.lost:
                return
        edit = document.apply(change)
        document.lost = False
        if edit is not None:
            self.on_change(document.uri, *edit, document)

    def lose(self, uri: str | None) -> None:
        """A change of a document, or of a notebook's cells, cannot be read. None: it does not even tell of which."""
        notebook = self.get_notebook_document(notebook_uri=uri) if uri is not None else None
        uris = [uri] if uri is not None else list(self.open)
        for each in uris if notebook is None else [cell.document for cell in notebook.cells]:
            document = self.document(each)
            if document is not None:
                self._lose(document)

    def _lose(self, document: Document) -> None:
        if not document.lost:
            document.lost = True
            logger.warning("a change that cannot be read, of %s", repr(document.uri[:200]))
            self.on_lost(document)

    def remove_text_document(self, doc_uri: str) -> None:
        """A document has been closed."""
        super().remove_text_document(doc_uri)
        document = self.open.pop(unquote(doc_uri), None)
        if document is not None:
            self.on_close(document)

    def update_notebook_document(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """A notebook's cells have changed. One that is not open is none of ours."""
        if self.get_notebook_document(notebook_uri=params.notebook_document.uri) is None:
            self._wonder("a change of a notebook that is not open is left out: %s", params.notebook_document.uri)
            return
        super().update_notebook_document(params)

    def _wonder(self, what: str, uri: str) -> None:
        """Log it, the first time only: an editor that does so does it for every key."""
        if what not in self._wondered:
            self._wondered.add(what)
            logger.warning(what, repr(uri[:200]))

    def _roots(self) -> list[str]:
        folders = [folder.uri for folder in self._folders.values()]
        return folders or ([self.root_uri] if self.root_uri else [])

    def _around(self, notebook: types.NotebookDocument, uri: str) -> tuple[str, str]:
        """What stands in a notebook's cells before and after this one."""
        cells: list[notebooks.Cell] = []
        at = None
        for each in notebook.cells:
            document = self.document(each.document)
            if document is not None and not (document.lost and unquote(each.document) != unquote(uri)):
                if unquote(each.document) == unquote(uri):
                    at = len(cells)
                prose = each.kind == types.NotebookCellKind.Markup
                cells.append(notebooks.Cell(document.text, document.language, prose))
        return notebooks.around(cells, at) if at is not None else ("", "")


def _version(number: int) -> int | None:
    """A document's version; None where the editor tells none."""
    return None if number == NO_VERSION else number


def _split(uri: str) -> tuple[tuple[str, str], str]:
    """Where a URI's path is, and the path: decoded, without a "/" at its end, a drive's letter in lower case."""
    parts = urlsplit(uri)
    path = unquote(parts.path).rstrip("/")
    if path[2:3] == ":" and path[1:2].isalpha():
        path = path[0] + path[1].lower() + path[2:]
    return (parts.scheme, unquote(parts.netloc)), path


def _local_path(folder: str) -> str:
    """The path of a folder on this machine; "" for any other."""
    host = urlsplit(folder).netloc
    if host and host != "localhost" and not IS_WIN:
        return ""
    path = to_fs_path(folder.replace("://localhost/", ":///", 1)) or ""
    return path.rstrip("/\\") or path[:1]
