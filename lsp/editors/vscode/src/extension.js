// Paceline for Visual Studio Code: starts `paceline lsp`, shows what it says, and tells it what becomes of that.

"use strict";

const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");
const { Accepting } = require("./accepting");
const { program } = require("./program");
const { Proposing } = require("./proposing");
const { given } = require("./settings");
const { Status } = require("./status");

const MISSING =
  "Paceline is not found. Where it is installed, run `paceline editor vscode --write` again, " +
  "or name its whole path in paceline.command.";
const EDIT = "Edit with Paceline"; // what the server calls an edit that is to be looked at
const STARTING = ["command", "explain"]; // settings that hold from the server's start
const SCHEMES = ["file", "untitled", "vscode-remote", "vscode-vfs", "vscode-notebook-cell"];

class Extension {
  constructor(context) {
    this.log = vscode.window.createOutputChannel("Paceline", { log: true });
    this.status = new Status();
    this.client = undefined;
    this.accepting = new Accepting((method, params) => this.tell(method, params));
    this.proposing = new Proposing();
    this.told = ""; // the command whose absence has been told
    context.subscriptions.push(this.log, this.status, this.accepting, this.proposing);
    const commands = {
      menu: () => this.menu(),
      suggest: () => vscode.commands.executeCommand("editor.action.inlineSuggest.trigger"),
      acceptWord: () => this.accepting.part("editor.action.inlineSuggest.acceptNextWord"),
      acceptLine: () => this.accepting.part("editor.action.inlineSuggest.acceptNextLine"),
      edit: () => this.edit(),
      acceptEdit: () => this.proposing.decide(true),
      discardEdit: () => this.proposing.decide(false),
      toggle: () => this.toggle(),
      restartEngine: () => this.ask("paceline.restartEngine"),
      restartServer: () => this.restart(),
      log: () => this.log.show(),
    };
    for (const [name, run] of Object.entries(commands)) {
      context.subscriptions.push(vscode.commands.registerCommand(`paceline.ui.${name}`, run));
    }
    context.subscriptions.push(
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (STARTING.some((name) => event.affectsConfiguration(`paceline.${name}`))) {
          this.restart();
        } else if (event.affectsConfiguration("paceline")) {
          this.status.idle();
        }
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor) {
          const [seen] = editor.visibleRanges;
          const lines = seen && { start: { line: seen.start.line }, end: { line: seen.end.line } };
          this.tell("textDocument/didFocus", {
            textDocument: { uri: editor.document.uri.toString() },
            visibleRange: lines,
          });
        }
      }),
    );
  }

  // --- the server

  async start() {
    const settings = vscode.workspace.getConfiguration("paceline");
    const wanted = settings.get("command") || "paceline";
    const command = program(wanted);
    if (!command) {
      this.status.show("error", MISSING);
      this.missing(wanted);
      return;
    }
    this.status.show("starting", "the language server starts");
    const run = { command, args: settings.get("explain") ? ["lsp", "--explain"] : ["lsp"] };
    const client = new LanguageClient("paceline", "Paceline", run, this.options());
    client.onDidChangeState((event) => {
      if (this.client !== client) {
        return;
      }
      if (event.newState === State.Running) {
        this.status.idle();
      } else if (event.newState === State.Stopped) {
        this.status.show("error", "the language server has ended; its log says why");
      }
    });
    client.onNotification("paceline/status", (said) => this.status.told(said));
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.status.show("error", `the language server does not start: ${error.message}`);
    }
  }

  options() {
    return {
      documentSelector: SCHEMES.map((scheme) => ({ scheme })),
      initializationOptions: given(),
      synchronize: { configurationSection: "paceline" },
      outputChannel: this.log,
      middleware: {
        provideInlineCompletionItems: (...all) => this.completions(...all),
        executeCommand: (command, args, next) => this.execute(command, args, next),
        workspace: {
          handleApplyEdit: (params, next) => this.propose(params, next),
          configuration: async (params, token, next) => {
            const found = await next(params, token);
            return Array.isArray(found)
              ? found.map((values, i) => (params.items[i].section === "paceline" ? given() : values))
              : found;
          },
          didChangeConfiguration: () =>
            this.client.sendNotification("workspace/didChangeConfiguration", { settings: { paceline: given() } }),
        },
      },
    };
  }

  async stop() {
    const client = this.client;
    this.client = undefined;
    if (client) {
      await client.dispose().catch(() => undefined);
    }
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  async missing(wanted) {
    if (this.told === wanted) {
      return;
    }
    this.told = wanted;
    if (await vscode.window.showErrorMessage(MISSING, "Open Settings")) {
      // the program is where the extension runs, which may be another machine than the one with the window
      const where = vscode.env.remoteName ? "openRemoteSettings" : "openSettings";
      await vscode.commands.executeCommand(`workbench.action.${where}`, { query: "paceline.command" });
    }
  }

  tell(method, params) {
    if (this.client && this.client.state === State.Running) {
      this.client.sendNotification(method, params).catch(() => undefined);
    }
  }

  async ask(command, ...args) {
    if (!this.client || this.client.state !== State.Running) {
      await this.menu();
      return undefined;
    }
    return this.client.sendRequest("workspace/executeCommand", { command, arguments: args });
  }

  // --- completions and edits

  async completions(document, position, context, token, next) {
    this.status.busy(1);
    try {
      const found = await next(document, position, context, token);
      const items = Array.isArray(found) ? found : found ? found.items : [];
      if (!token.isCancellationRequested) {
        this.accepting.shown(document, position, items);
      }
      return found;
    } finally {
      this.status.busy(-1);
    }
  }

  async execute(command, args, next) {
    if (command === "paceline.edit" && !args[3]) {
      const prompt = "What is to change in the selection?";
      const wish = await vscode.window.showInputBox({ title: "Edit with Paceline", prompt, ignoreFocusOut: true });
      if (!wish) {
        return undefined;
      }
      args = [args[0], args[1], args[2], wish];
    }
    return next(command, args);
  }

  /** What the server wants changed. An edit that the person has asked for is shown before it is made. */
  async propose(params, next) {
    const [change, ...others] = params.edit.documentChanges ?? [];
    if (params.label !== EDIT || !change || !change.textDocument || others.length > 0) {
      return next(params);
    }
    const converter = this.client.protocol2CodeConverter;
    const document = await vscode.workspace.openTextDocument(converter.asUri(change.textDocument.uri));
    const plain = change.edits.map(({ range, newText }) => ({ range, newText }));
    const title = Object.values(params.edit.changeAnnotations ?? {})[0]?.label ?? EDIT;
    return this.proposing.apply(document, change.textDocument.version, await converter.asTextEdits(plain), title);
  }

  async edit() {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.selection.isEmpty || !this.client) {
      return;
    }
    const { document, selection } = editor;
    const range = this.client.code2ProtocolConverter.asRange(selection);
    await vscode.commands.executeCommand("paceline.edit", document.uri.toString(), range, document.version);
  }

  // --- what a person sees

  async toggle() {
    const settings = vscode.workspace.getConfiguration("paceline");
    await settings.update("enabled", !settings.get("enabled"), vscode.ConfigurationTarget.Global);
  }

  async menu() {
    const on = vscode.workspace.getConfiguration("paceline").get("enabled");
    const running = this.client && this.client.state === State.Running;
    const said = running ? await this.ask("paceline.status").catch((error) => error.message) : undefined;
    if (said) {
      this.log.info(typeof said === "string" ? said : JSON.stringify(said, undefined, 2));
    }
    const choices = [
      { label: on ? "$(circle-slash) Switch completions off" : "$(check) Switch completions on", run: "toggle" },
      { label: "$(refresh) Restart the engine", run: "restartEngine" },
      { label: "$(debug-restart) Restart the language server", run: "restartServer" },
      { label: "$(output) Show the log", run: "log", detail: "with what the server says of itself" },
    ];
    const offered = running ? choices : choices.filter((each) => each.run !== "restartEngine");
    const chosen = await vscode.window.showQuickPick(offered, { title: `Paceline: ${this.status.text}` });
    if (chosen) {
      await vscode.commands.executeCommand(`paceline.ui.${chosen.run}`);
    }
  }
}

let extension;

async function activate(context) {
  extension = new Extension(context);
  await extension.start();
}

async function deactivate() {
  await extension?.stop();
}

module.exports = { activate, deactivate };
