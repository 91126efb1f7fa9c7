"""What the extension for VS Code tells of changes at a suggestion's place, in Node with a stand-in for the editor."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "lsp/editors/vscode/src/accepting.js"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(not NODE, reason="Node is not here")
SCRIPT = """
const told = [];
let change;
class Range { constructor(start, end) { Object.assign(this, { start, end }); } }
const vscode = { Range, workspace: { onDidChangeTextDocument: (listener) => { change = listener; return {}; } } };
require("node:module")._load = ((load) => (name, ...more) => (name === "vscode" ? vscode : load(name, ...more)))(
  require("node:module")._load,
);
const [source, rest, typed] = process.argv.slice(1);
const { Accepting } = require(source);
const accepting = new Accepting((method, params) => told.push([method, params.acceptedLength ?? 0]));
const uri = { toString: () => "file:///a.py" };
const document = { uri, getText: () => "", offsetAt: () => 10 };
accepting.shown(document, 10, [{ insertText: rest }]);
let rangeOffset = 10;
for (const text of JSON.parse(typed)) {
  change({ document, contentChanges: [{ text, rangeOffset, rangeLength: 0 }] });
  rangeOffset += text.length;
}
console.log(JSON.stringify(told.filter(([method]) => method.endsWith("PartiallyAcceptCompletion"))));
"""


def accepted(rest: str, *typed: str) -> list[int]:
    """Of a suggestion at whose place this is inserted, piece by piece: the lengths that are said to be accepted."""
    assert NODE
    words = [NODE, "-e", SCRIPT, "--", str(SOURCE), rest, json.dumps(typed)]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    return [length for _, length in json.loads(ended.stdout)]


def test_a_word_that_is_inserted_at_once_was_accepted():
    assert accepted("width, height):", "width", ", height") == [5, 13]


def test_what_is_typed_key_by_key_was_not_accepted():
    assert accepted("width, height):", "w", "i") == []


@pytest.mark.parametrize("pair", ["()", "[]", "{}", '""', "''", "``"])
def test_a_mark_that_the_editor_closes_by_itself_was_typed(pair):
    assert accepted(f"{pair} rest", pair) == []
