"""What the server asks about, given what the protocol says: a cell of a notebook, and a popup's choice."""

import asyncio

import pytest
from lsprotocol import types

from paceline.config import EditorConfig
from paceline.lsp.completing import Answer
from paceline.lsp.place import Place
from paceline.lsp.server import Server
from paceline.lsp.session import Shown

NOTEBOOK = "file:///work/n.ipynb"
FIRST, SECOND, THIRD = (f"{NOTEBOOK}#{number}" for number in (1, 2, 3))
TEXTS = {FIRST: "import os\n", SECOND: "x = 1\nos.pa", THIRD: "print(x)"}


class Remembering:
    """A session that says one thing everywhere, and remembers where."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.chosen: list[bool] = []
        self.seen: list[int] = []

    async def suggest(self, place: Place, *, asked: bool = False, chosen: bool = False) -> list[Shown]:
        self.places.append(place)
        self.chosen.append(chosen)
        return [Shown(len(self.places), place, "()", Answer("()"))]


@pytest.fixture
def server() -> Server:
    """With a notebook of three cells open."""
    made = Server(EditorConfig(), lambda editor: (Remembering(), None))  # type: ignore[arg-type, return-value]
    made.__dict__["_made"] = (Remembering(), None)
    cells = [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in TEXTS]
    documents = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in TEXTS.items()]
    notebook = types.NotebookDocument(NOTEBOOK, "jupyter-notebook", 1, cells)
    made.documents.put_notebook_document(types.DidOpenNotebookDocumentParams(notebook, documents))
    return made


def ask(server: Server, chosen: types.SelectedCompletionInfo | None = None) -> types.InlineCompletionList:
    """At the end of the second cell."""
    context = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked, chosen)
    params = types.InlineCompletionParams(context, types.TextDocumentIdentifier(SECOND), types.Position(1, 5))
    return asyncio.run(server._inline(params))


def choice(text: str) -> types.SelectedCompletionInfo:
    return types.SelectedCompletionInfo(range=types.Range(types.Position(1, 3), types.Position(1, 5)), text=text)


def test_a_cell_is_asked_about_with_what_stands_in_the_others(server: Server):
    ask(server)
    (place,) = server.session.places
    assert place.before == "import os\n\n" + TEXTS[SECOND]
    assert place.after == "\n\nprint(x)"


@pytest.mark.parametrize("chosen", [None, choice("path")])
def test_where_a_suggestion_goes_is_counted_within_its_cell(server: Server, chosen):
    ask(server, chosen)
    (place,) = server.session.places
    grown = len("path") - len("pa") if chosen else 0
    assert place.before[place.elsewhere :] == (TEXTS[SECOND][:-2] + "path" if chosen else TEXTS[SECOND])
    assert place.offset == len(TEXTS[SECOND]) + grown
    assert server.session.chosen == [chosen is not None]


def test_what_a_popup_has_chosen_in_a_cell_is_continued(server: Server):
    (item,) = ask(server, choice("path")).items
    assert item.insert_text == "path()"
    assert item.range == choice("path").range
