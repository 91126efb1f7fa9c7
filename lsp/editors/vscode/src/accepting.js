// What becomes of a suggestion: typed over, taken word by word, or taken whole.
//
// The editor says nothing when a part of a suggestion is accepted. It is seen in the document: a change at the
// suggestion's place that inserts several characters of it at once, where a key would insert one.

"use strict";

const PAIRS = new Set(["()", "[]", "{}", "<>", '""', "''", "``"]); // that the editor closes by itself as one types

const vscode = require("vscode");

class Accepting {
  /** `tell(method, params)` sends a notification to the server. */
  constructor(tell) {
    this.tell = tell;
    this.now = undefined; // { uri, offset, rest, taken, item }
    this.asked = false; // one of our own commands accepts a part
    this.listening = vscode.workspace.onDidChangeTextDocument((event) => this.changed(event));
  }

  /** The editor has got these items for this place, and shows the first. */
  shown(document, position, items) {
    this.now = undefined;
    const item = items[0];
    const text = item && (typeof item.insertText === "string" ? item.insertText : item.insertText.value);
    if (!text) {
      return;
    }
    const range = item.range instanceof vscode.Range ? item.range : new vscode.Range(position, position);
    const covered = document.getText(new vscode.Range(range.start, position));
    if (!text.startsWith(covered)) {
      return;
    }
    const told = { insertText: text, command: item.command };
    const rest = text.slice(covered.length);
    this.now = { uri: document.uri.toString(), offset: document.offsetAt(position), rest, taken: covered.length };
    this.now.item = told;
    this.tell("textDocument/didShowCompletion", { item: told });
  }

  /** Run an editor command that accepts a part. */
  async part(command) {
    this.asked = true;
    try {
      await vscode.commands.executeCommand(command);
    } finally {
      this.asked = false;
    }
  }

  changed(event) {
    const now = this.now;
    if (!now || event.document.uri.toString() !== now.uri || event.contentChanges.length === 0) {
      return;
    }
    const change = event.contentChanges[0];
    const inserted = change.text.replace(/\r\n/g, "\n");
    const here = change.rangeOffset === now.offset && change.rangeLength === 0;
    const closed = PAIRS.has(inserted) && !this.asked; // the cursor is within it now: the suggestion is another one
    if (closed || event.contentChanges.length > 1 || !here || !now.rest.startsWith(inserted) || inserted === now.rest) {
      this.now = undefined; // something else happens, or all of it is taken: that runs the item's command
      return;
    }
    now.rest = now.rest.slice(inserted.length);
    now.offset += change.text.length;
    now.taken += inserted.length;
    if (this.asked || inserted.length > 1) {
      this.tell("textDocument/didPartiallyAcceptCompletion", { item: now.item, acceptedLength: now.taken });
    }
  }

  dispose() {
    this.listening.dispose();
  }
}

module.exports = { Accepting };
