"""Open documents: changes, places, folders, and what a client must not be able to break."""

import logging
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from paceline.lsp.documents import Document, Documents
from paceline.lsp.positions import LineIndex
from paceline.lsp.protocol import DocumentProtocol

Position, Range = types.Position, types.Range


def partial(text, start, end):
    return types.TextDocumentContentChangePartial(text=text, range=Range(Position(*start), Position(*end)))


def whole(text):
    return types.TextDocumentContentChangeWholeDocument(text=text)


def opened(text, uri="file:///w/a.py", folders=("file:///w",), encoding="utf-16"):
    documents = Documents(None, [types.WorkspaceFolder(uri=each, name="") for each in folders], encoding)
    documents.put_text_document(types.TextDocumentItem(uri=uri, language_id="python", version=1, text=text))
    return documents


def versioned(uri="file:///w/a.py", version=2):
    return types.VersionedTextDocumentIdentifier(uri=uri, version=version)


pieces = st.sampled_from(["a", "bc", "\n", "\r\n", "\r", "\f", "\x85", "\u2028", "é", "😀", "\ud83d", "e\u0301"])
texts = st.lists(pieces, max_size=20).map("".join)


def to_client(text, offset, encoding):
    """A position the slow way, or None inside of a line ending, where a client has none."""
    if offset and text[offset - 1 : offset + 1] == "\r\n":
        return None
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    return len(before) - 1, sum(len(char.encode(codec, "surrogatepass")) // width for char in before[-1])


@settings(deadline=None)
@given(texts, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8), texts, st.booleans()), max_size=6), st.data())
def test_changes_give_the_text_that_the_client_has(text, edits, data):
    encoding = data.draw(st.sampled_from(["utf-8", "utf-16", "utf-32"]))
    document = Document("u", "python", 1, text, encoding)
    for at, length, inserted, full in edits:
        start = min(at, len(text))
        end = min(start + length, len(text))
        old, new = text, text[:start] + inserted + text[end:]
        ends = to_client(text, start, encoding), to_client(text, end, encoding)
        if full:
            edit = document.apply(whole(new))
        elif None not in ends:
            edit = document.apply(partial(inserted, *ends))
        else:
            continue
        text = new
        assert document.text == text
        assert document.lines == LineIndex(text).count
        if edit is None:
            assert text == old
        else:
            start, removed, inserted = edit
            assert old.startswith(removed, start)
            assert old[:start] + inserted + old[start + len(removed) :] == text


def test_a_whole_text_is_a_change_of_the_part_that_differs():
    document = Document("u", "python", 1, "one\ntwo\nthree\n")
    assert document.apply(whole("one\nto\nthree\n")) == (5, "w", "")
    assert document.apply(whole("one\nto\nthree\n")) is None
    assert document.apply(whole("one\nto\ntwo\nthree\n")) == (8, "", "wo\nt")
    assert document.apply(whole("")) == (0, "one\nto\ntwo\nthree\n", "")


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((0, 0), (99, 0), "X"),
        ((99, 99), (99, 99), "ab\ncdX"),
        ((0, 99), (0, 99), "abX\ncd"),
        ((1, 1), (0, 1), "aXd"),
    ],
)
def test_a_range_that_the_text_does_not_have_is_clamped(start, end, expected):
    document = Document("u", "python", 1, "ab\ncd")
    document.apply(partial("X", start, end))
    assert document.text == expected


def test_each_change_is_told_with_offsets_in_the_text_before_it():
    documents = opened("ab\n😀d\n")
    told = []
    documents.on_change = lambda uri, start, removed, inserted, document: told.append(
        (start, removed, inserted, document.text)
    )
    documents.update_text_document(versioned(), partial("X", (1, 2), (1, 3)))
    documents.update_text_document(versioned(version=3), whole("ab\n😀XY\n"))
    assert told == [(4, "d", "X", "ab\n😀X\n"), (5, "", "Y", "ab\n😀XY\n")]
    assert documents.document("file:///w/a.py").version == 3


def test_a_change_of_a_document_that_is_not_open_is_left_out(caplog):
    documents = opened("a")
    told = []
    documents.on_change = lambda *change: told.append(change)
    with caplog.at_level(logging.WARNING):
        documents.update_text_document(versioned("file:///w/other.py"), whole("text"))
    assert not told
    assert "other.py" in caplog.text
    assert documents.document("file:///w/other.py") is None
    assert documents.place("file:///w/other.py", Position(0, 0)) is None


def test_a_closed_document_is_told_once_and_gone():
    documents = opened("a")
    closed = []
    documents.on_close = closed.append
    documents.remove_text_document("file:///w/a.py")
    documents.remove_text_document("file:///w/a.py")
    assert [each.uri for each in closed] == ["file:///w/a.py"]
    assert documents.document("file:///w/a.py") is None


def test_a_document_is_never_read_from_the_disk(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("on disk")
    documents = opened("open", path.as_uri())
    assert documents.document(path.as_uri()).text == "open"
    documents.remove_text_document(path.as_uri())
    assert documents.document(path.as_uri()) is None
    with pytest.raises(LookupError):
        documents.get_text_document(path.as_uri())


def test_a_place_has_the_text_on_both_sides_with_its_own_line_endings():
    place = opened("ab\r\nc😀d\r\n").place("file:///w/a.py", Position(1, 3))
    assert (place.before, place.after) == ("ab\r\nc😀", "d\r\n")
    assert (place.language, place.version, place.uri) == ("python", 1, "file:///w/a.py")
    assert (place.path, place.root) == ("a.py", "/w")


posix = pytest.mark.skipif(sys.platform == "win32", reason="paths of other systems")


@posix
@pytest.mark.parametrize(
    ("uri", "folders", "expected"),
    [
        ("file:///w/sub/a.py", ["file:///w", "file:///w/sub"], ("a.py", "/w/sub")),
        ("file:///w/sub/a.py", ["file:///w/sub/", "file:///w/"], ("a.py", "/w/sub")),
        ("file:///w/subway/a.py", ["file:///w/sub"], ("", "")),
        ("file:///w%20x/%C3%A9/a%23b.py", ["file:///w x"], ("é/a#b.py", "/w x")),
        ("file:///a.py", ["file:///"], ("a.py", "/")),
        ("file://localhost/w/a.py", ["file://localhost/w"], ("a.py", "/w")),
        ("file:///C%3A/w/a.py", ["file:///c:/w"], ("a.py", "c:/w")),
        ("file:///c%3A/w/a.py", ["file:///C%3A/w"], ("a.py", "c:/w")),
        ("file://server/share/a.py", ["file://server/share"], ("a.py", "")),
        ("vscode-remote://ssh-remote%2Bbox/w/a.py", ["vscode-remote://ssh-remote%2Bbox/w"], ("a.py", "")),
        ("vscode-remote://ssh-remote%2Bbox/w/a.py", ["file:///w"], ("", "")),
        ("untitled:Untitled-1", ["file:///w"], ("", "")),
        ("untitled:/w/a.py", ["file:///w"], ("", "")),
        ("git:/w/a.py", [], ("", "")),
        ("", ["file:///w"], ("", "")),
    ],
)
def test_a_path_is_that_within_the_innermost_folder_of_this_machine(uri, folders, expected):
    assert opened("", folders=folders).located(uri) == expected


def test_without_folders_the_root_is_the_folder():
    assert Documents("file:///w", []).located("file:///w/a.py") == ("a.py", "/w")


def test_folders_come_and_go():
    documents = opened("", folders=["file:///w"])
    documents.add_folder(types.WorkspaceFolder("file:///w/sub", ""))
    assert documents.located("file:///w/sub/a.py")[0] == "a.py"
    documents.remove_folder("file:///w/sub")
    assert documents.located("file:///w/sub/a.py")[0] == "sub/a.py"


class Writer:
    """Takes what a server says."""

    def __init__(self):
        self.said = b""

    def write(self, data):
        self.said += data

    def close(self):
        """Nothing is kept open."""


def served(*messages, encodings=("utf-8",), handler=False):
    """A server that has been told these messages, and what it said."""
    server = LanguageServer("test", "1", protocol_cls=DocumentProtocol)
    seen = []
    if handler:
        server.feature(types.INITIALIZE)(lambda params: seen.append(type(server.workspace)))
    protocol, writer = server.protocol, Writer()
    protocol.set_writer(writer)
    capabilities = {"general": {"positionEncodings": list(encodings)}}
    first = {"id": 1, "method": "initialize", "params": {"capabilities": capabilities, "rootUri": "file:///w"}}
    say(server, first, *messages)
    return server, writer.said.decode(), seen


def say(server, *messages):
    """Tell a server these messages."""
    for message in messages:
        server.protocol.handle_message(server.protocol.structure_message({"jsonrpc": "2.0", **message}))


def did_open(text, uri="file:///w/a.py"):
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    return {"method": "textDocument/didOpen", "params": {"textDocument": item}}


def did_change(*changes, uri="file:///w/a.py"):
    return {
        "method": "textDocument/didChange",
        "params": {"textDocument": {"uri": uri, "version": 2}, "contentChanges": list(changes)},
    }


def range_of(start, end):
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


@pytest.mark.parametrize("handler", [False, True])
def test_pygls_fills_our_documents(handler):
    server, said, seen = served(
        did_open("a\fb\u2028c\nd😀e\n"),
        did_change({"range": range_of((1, 5), (1, 6)), "text": "XY"}, {"range": range_of((1, 5), (1, 6)), "text": ""}),
        handler=handler,
    )
    assert '"positionEncoding": "utf-8"' in said
    assert isinstance(server.workspace, Documents)
    assert seen == ([Documents] if handler else [])
    document = server.protocol.documents.document("file:///w/a.py")
    assert (document.text, document.version, document.encoding) == ("a\fb\u2028c\nd😀Y\n", 2, "utf-8")
    assert server.protocol.documents.located("file:///w/a.py") == ("a.py", "/w")


def test_the_encoding_is_utf_16_where_the_client_offers_none():
    server, said, _ = served(did_open("x"), encodings=())
    assert server.protocol.documents.document("file:///w/a.py").encoding == "utf-16"
    assert '"positionEncoding": "utf-16"' in said


def test_a_change_out_of_nowhere_is_no_error_for_the_client():
    _, said, _ = served(did_change({"text": "x"}, uri="file:///w/never.py"))
    assert "error" not in said
    assert "showMessage" not in said


@pytest.mark.parametrize("version", [{}, {"version": None}])
def test_a_document_without_a_version_or_language_is_followed_all_the_same(version):
    uri = {"uri": "file:///w/b.py"}
    server, said, _ = served(
        {"method": "textDocument/didOpen", "params": {"textDocument": {**uri, **version, "text": "abc"}}},
        {
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {**uri, **version},
                "contentChanges": [{"range": range_of((0, 3), (0, 3)), "text": "d"}],
            },
        },
    )
    document = server.protocol.documents.document("file:///w/b.py")
    assert (document.text, document.version, document.language) == ("abcd", None, "")
    assert "showMessage" not in said


NOTEBOOK = "file:///w/n.ipynb"


def cell_uri(number):
    return f"vscode-notebook-cell:/w/n.ipynb#{number}"


def notebook_open(*cells):
    return {
        "method": "notebookDocument/didOpen",
        "params": {
            "notebookDocument": {
                "uri": NOTEBOOK,
                "notebookType": "jupyter-notebook",
                "version": 1,
                "cells": [{"kind": kind, "document": cell_uri(at)} for at, (kind, _, _) in enumerate(cells)],
            },
            "cellTextDocuments": [
                {"uri": cell_uri(at), "languageId": language, "version": 1, "text": text}
                for at, (_, language, text) in enumerate(cells)
            ],
        },
    }


def notebook_change(cells, uri=NOTEBOOK):
    return {
        "method": "notebookDocument/didChange",
        "params": {"notebookDocument": {"uri": uri, "version": 2}, "change": {"cells": cells}},
    }


def test_cells_of_a_notebook_are_seen_from_each_other():
    text_change = {
        "document": {"uri": cell_uri(2), "version": 2},
        "changes": [{"range": range_of((0, 5), (0, 5)), "text": "!"}],
    }
    server, said, _ = served(
        notebook_open(
            (2, "python", "import os"), (1, "markdown", "List files."), (2, "python", "files"), (2, "python", "q")
        ),
        notebook_change({"textContent": [text_change]}),
    )
    place = server.protocol.documents.place(cell_uri(2), Position(0, 6))
    assert place.before == "import os\n\n# List files.\n\nfiles!"
    assert place.after == "\n\nq"
    assert (place.path, place.root, place.uri) == ("n.ipynb", "/w", cell_uri(2))
    assert "showMessage" not in said


def test_cells_come_and_go():
    structure = {
        "array": {"start": 0, "deleteCount": 1, "cells": [{"kind": 2, "document": cell_uri(9)}]},
        "didOpen": [{"uri": cell_uri(9), "languageId": "python", "version": 1, "text": "new"}],
        "didClose": [{"uri": cell_uri(0)}],
    }
    server, _, _ = served(
        notebook_open((2, "python", "old"), (2, "python", "x")), notebook_change({"structure": structure})
    )
    documents = server.protocol.documents
    assert documents.place(cell_uri(1), Position(0, 1)).before == "new\n\nx"
    assert documents.document(cell_uri(0)) is None


def test_a_notebook_s_change_that_cannot_be_read_leaves_its_cells_unknown_until_they_are_told_whole():
    good = {"document": {"uri": cell_uri(1), "version": 3}, "changes": [{"text": "y"}]}
    server, _, _ = served(
        did_open("x"),
        notebook_open((2, "python", "old"), (2, "python", "x")),
        notebook_change({"textContent": [{"document": {"uri": cell_uri(0), "version": 2}, "changes": 3}]}),
    )
    documents = server.protocol.documents
    assert [documents.document(cell_uri(number)).lost for number in (0, 1)] == [True, True]
    assert not documents.document("file:///w/a.py").lost
    say(server, notebook_change({"textContent": [good]}))
    place = documents.place(cell_uri(1), Position(0, 0))
    assert (place.lost, place.before, place.after) == (False, "", "y")  # without the cell that is not known


def test_a_version_that_falls_is_taken_all_the_same():
    documents = opened("abc")
    documents.update_text_document(versioned(version=5), partial("d", (0, 3), (0, 3)))
    documents.update_text_document(versioned(version=5), partial("e", (0, 4), (0, 4)))
    for version in (4, 6, 7):
        documents.update_text_document(versioned(version=version), partial("x", (0, 0), (0, 0)))
    document = documents.document("file:///w/a.py")
    assert (document.text, document.version, document.lost) == ("xxxabcde", 7, False)


FAR = 2**31 - 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"range": range_of((0, 99), (0, FAR)), "text": "X"}, "abX\ncd"),  # behind the line's end
        ({"range": range_of((1, 0), (FAR, 0)), "text": "X"}, "ab\nX"),  # behind the last line
        ({"range": range_of((2, 0), (2, 0)), "text": "X"}, "ab\ncdX"),  # as some editors append
        ({"range": range_of((1, 1), (0, 1)), "text": "X"}, "aXd"),  # its end before its start
        ({"range": range_of((0.0, 1.0), (0, 1)), "text": "X"}, "aXb\ncd"),
        ({"range": None, "rangeLength": None, "text": "X"}, "X"),
    ],
)
def test_what_the_protocol_gives_a_meaning_to_is_read(change, text):
    server, _, _ = served(did_open("ab\ncd"), did_change(change))
    document = server.protocol.documents.document("file:///w/a.py")
    assert (document.text, document.lost) == (text, False)


def test_a_change_that_begins_behind_the_last_line_is_of_another_text():
    for line, text in ((1, "ab\ncdX"), (2, "ab\ncdX"), (3, "ab\ncd")):
        documents = opened("ab\ncd")
        documents.update_text_document(versioned(), partial("X", (line, 2), (line, 2)))
        document = documents.document("file:///w/a.py")
        assert (document.text, document.lost) == (text, line == 3)


def test_a_change_of_a_notebook_that_is_not_open_is_no_error_for_the_client():
    _, said, _ = served(notebook_change({"textContent": []}, uri="file:///w/never.ipynb"))
    assert "showMessage" not in said
