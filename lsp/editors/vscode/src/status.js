// The item in the status bar: what Paceline does, or why it does nothing.

"use strict";

const vscode = require("vscode");

const ICONS = {
  starting: "$(loading~spin)",
  ready: "$(rocket)",
  working: "$(sync~spin)",
  silent: "$(mute)",
  off: "$(circle-slash)",
  error: "$(warning)",
};

// as `quiet.py` has them; the server sends the words
const REASONS = {
  unread: "the editor's last change could not be read",
  off: "completions are switched off",
  language: "completions are switched off for this language",
  ignored: "the settings say to leave this file alone",
  secret: "this file or line holds a secret",
  large: "the file is too large",
  binary: "this is no text",
  minified: "lines are so long that no person wrote them",
  generated: "a program wrote this file",
  deleted: "a character has just been deleted",
  word: "the cursor stands within a word",
  middle: "there is more text on the line behind the cursor",
  bare: "there is hardly any text yet to go by",
  comment: "this is prose in a comment or a document",
  string: "this is prose in a string",
  engine: "the engine failed a short while ago and is left alone",
  empty: "there is nothing to add",
  unsure: "the model is not sure enough",
  repeats: "it would repeat what stands there already",
  invented: "it would make up a number that cannot be known",
  closing: "only a closing bracket or quote is missing",
};

class Status {
  constructor() {
    this.item = vscode.window.createStatusBarItem("paceline.status", vscode.StatusBarAlignment.Right, 100);
    this.item.name = "Paceline";
    this.item.command = "paceline.ui.menu";
    this.requests = 0;
    this.state = "starting";
    this.reason = "";
    this.draw();
    this.item.show();
  }

  /** What the server or the client says: one of the states above, and a sentence. */
  show(state, reason) {
    this.state = state in ICONS ? state : "ready";
    this.reason = reason;
    this.draw();
  }

  /** What the server says: the model, and why the last suggestion did not come ("" if it did). */
  told({ model, silence, reason }) {
    if (this.state === "off") {
      return;
    }
    if (silence) {
      this.show("silent", reason || REASONS[silence] || silence);
    } else {
      this.show("ready", model || "");
    }
  }

  /** Nothing is wrong and nothing goes on. */
  idle() {
    const on = vscode.workspace.getConfiguration("paceline").get("enabled");
    this.show(on ? "ready" : "off", on ? "" : "completions are switched off in the settings");
  }

  /** One request more or less under way. */
  busy(step) {
    this.requests = Math.max(0, this.requests + step);
    this.draw();
  }

  get text() {
    return this.reason ? `${this.state}: ${this.reason}` : this.state;
  }

  draw() {
    const working = this.requests > 0 && this.state !== "error";
    this.item.text = `${ICONS[working ? "working" : this.state]} Paceline`;
    this.item.tooltip = `Paceline, ${working ? "working" : this.text}\nClick for more`;
    this.item.accessibilityInformation = { label: `Paceline, ${this.text}` };
    const warning = new vscode.ThemeColor("statusBarItem.warningBackground");
    this.item.backgroundColor = this.state === "error" ? warning : undefined;
  }

  dispose() {
    this.item.dispose();
  }
}

module.exports = { Status };
