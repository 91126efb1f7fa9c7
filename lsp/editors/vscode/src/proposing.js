// Shows an edit beside what stands there now, for the person to accept or discard. Nothing is written before.

"use strict";

const vscode = require("vscode");

const SCHEME = "paceline-proposal";
const ACCEPT = "Accept";
const DISCARD = "Discard";

class Proposing {
  constructor() {
    this.proposals = new Map(); // by the URI of the text that is proposed: { text, settle }
    this.made = 0;
    const contents = { provideTextDocumentContent: (uri) => this.proposals.get(uri.toString())?.text ?? "" };
    this.listening = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, contents),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        for (const tab of closed) {
          this.settle(shownBy(tab), false);
        }
      }),
    );
  }

  /** Make the edits of one document, as the language server sends them, if the person accepts them. */
  async apply(document, version, edits, title) {
    const changed = { applied: false, failureReason: "the document has changed meanwhile" };
    if (typeof version === "number" && document.version !== version) {
      return changed;
    }
    const before = document.version;
    if (!(await this.accepted(document, edits, title))) {
      return { applied: false };
    }
    if (document.version !== before) {
      return changed;
    }
    const edit = new vscode.WorkspaceEdit();
    edit.set(document.uri, edits);
    return { applied: await vscode.workspace.applyEdit(edit) };
  }

  /** Show what would come of the edits; whether the person accepts it. */
  async accepted(document, edits, title) {
    this.made += 1;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: document.uri.path, query: String(this.made) });
    const key = uri.toString();
    const decided = new Promise((settle) => this.proposals.set(key, { text: withEdits(document, edits), settle }));
    this.announce();
    try {
      await vscode.commands.executeCommand("vscode.diff", document.uri, uri, title, { preview: false });
    } catch (error) {
      this.settle(key, false);
      throw error;
    }
    const text = `${title}: take this over?`;
    vscode.window.showInformationMessage(text, ACCEPT, DISCARD).then((chosen) => {
      if (chosen) {
        this.settle(key, chosen === ACCEPT);
      }
    });
    return decided;
  }

  /** What the buttons above a diff do: with the one in front, or the last that was made. */
  decide(accepted) {
    const front = shownBy(vscode.window.tabGroups.activeTabGroup.activeTab);
    this.settle(this.proposals.has(front) ? front : [...this.proposals.keys()].pop(), accepted);
  }

  async settle(key, accepted) {
    const proposal = this.proposals.get(key);
    if (!proposal) {
      return;
    }
    this.proposals.delete(key);
    this.announce();
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => shownBy(tab) === key);
    await vscode.window.tabGroups.close(tabs).then(undefined, () => undefined);
    proposal.settle(accepted);
  }

  announce() {
    vscode.commands.executeCommand("setContext", "paceline.proposing", this.proposals.size > 0);
  }

  dispose() {
    this.listening.dispose();
  }
}

/** The URI of the proposal that a tab shows; "" for any other tab. */
function shownBy(tab) {
  const input = tab && tab.input;
  const there = input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME;
  return there ? input.modified.toString() : "";
}

function withEdits(document, edits) {
  let text = document.getText();
  const spans = edits.map(({ range, newText }) => [document.offsetAt(range.start), document.offsetAt(range.end), newText]);
  for (const [start, end, inserted] of spans.sort((one, other) => other[0] - one[0])) {
    text = text.slice(0, start) + inserted + text.slice(end);
  }
  return text;
}

module.exports = { Proposing };
