// The settings that the person has made. Defaults stay unsaid: they would win over Paceline's own configuration file.

"use strict";

const vscode = require("vscode");

const OURS = new Set(["command", "explain"]); // the extension's, not the server's

/** The settings that are set somewhere, by their names. */
function given() {
  const settings = vscode.workspace.getConfiguration("paceline");
  const found = {};
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value === "function" || OURS.has(name)) {
      continue;
    }
    const said = settings.inspect(name);
    const chosen = said && (said.workspaceFolderValue ?? said.workspaceValue ?? said.globalValue);
    if (chosen !== undefined) {
      found[name] = chosen;
    }
  }
  return found;
}

module.exports = { given };
