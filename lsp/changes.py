"""What an editor says of a document's changes, before it is believed: whether all of it can be read.

What the protocol, or its reference implementation (vscode-languageserver-textdocument), gives a meaning to can be read:
a position behind a line's end is that end, one behind the last line is the text's end, and a range whose end stands
before its start is the same range.
"""

from lsprotocol import types

LARGEST = 2**31 - 1  # of the protocol's numbers


def is_document(params: object) -> bool:
    """Whether these are parameters of `textDocument/didOpen`, with a text."""
    document = _get(params, "textDocument")
    return isinstance(_get(document, "uri"), str) and isinstance(_get(document, "text"), str)


def is_readable(params: object) -> bool:
    """Whether these are parameters of `textDocument/didChange` that tell of a document and of changes."""
    document, changes = _get(params, "textDocument"), _get(params, "contentChanges")
    return isinstance(_get(document, "uri"), str) and isinstance(changes, list) and all(map(_is_change, changes))


def is_readable_notebook(params: object) -> bool:
    """Whether these are parameters of `notebookDocument/didChange` whose changes of texts can be read."""
    texts = _get(_get(_get(params, "change"), "cells"), "textContent")
    if texts is None:
        return True
    return isinstance(texts, list) and all(map(_is_text_of_a_cell, texts))


def named(params: object) -> str | None:
    """The URI of the document, or of the notebook, that parameters are about; None: they do not tell."""
    for name in ("textDocument", "notebookDocument"):
        uri = _get(_get(params, name), "uri")
        if isinstance(uri, str):
            return uri
    return None


def leave_out_nulls(params: object) -> None:
    """A change whose range is `null` is one of the whole text, as some editors write it: take the range out of it."""
    changes = _get(params, "contentChanges")
    for each in changes if isinstance(changes, list) else ():
        if isinstance(each, dict) and "range" in each and each["range"] is None:
            del each["range"]
            each.pop("rangeLength", None)


def is_elsewhere(change: types.TextDocumentContentChangePartial, lines: int) -> bool:
    """Whether a change begins where a text of so many lines has none: then it is about another text.

    One line more than there are is where some editors append.
    """
    start, end = change.range.start, change.range.end
    return min(start.line, end.line) > lines


def _is_text_of_a_cell(told: object) -> bool:
    changes = _get(told, "changes")
    return (
        isinstance(_get(_get(told, "document"), "uri"), str)
        and isinstance(changes, list)
        and all(map(_is_change, changes))
    )


def _is_change(change: object) -> bool:
    if not isinstance(change, dict) or not isinstance(change.get("text"), str):
        return False
    where = change.get("range")
    return where is None or (_is_position(_get(where, "start")) and _is_position(_get(where, "end")))


def _is_position(at: object) -> bool:
    return _is_count(_get(at, "line")) and _is_count(_get(at, "character"))


def _is_count(value: object) -> bool:
    """Whether it is one of the protocol's unsigned numbers. Python takes a truth value for a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (isinstance(value, int) or value.is_integer()) and 0 <= value <= LARGEST


def _get(data: object, name: str) -> object:
    return data.get(name) if isinstance(data, dict) else None
