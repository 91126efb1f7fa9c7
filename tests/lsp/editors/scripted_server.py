"""A language server that knows what will be typed: completes documents towards a goal, writes down what it hears.

Runs as a program: scripted_server.py --goal FILE --log FILE [--delay SECONDS] [--lines N]
"""

import argparse
import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

BECOMES = "becomes "  # an edit whose wish begins so changes the first line that is selected
COMMANDS = ["accept", "acceptWord", "acceptLine", "restartEngine", "status", "edit"]


def read_message(stream: Any) -> dict[str, Any] | None:
    """The next message; None at the end."""
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body = stream.read(length) if length else b""
    return json.loads(body) if body else None


def offset(text: str, position: dict[str, int]) -> int:
    """The index in the text of an LSP position in UTF-16 units."""
    lines = text.split("\n")
    row = min(position["line"], len(lines) - 1)
    line = lines[row].encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le", "ignore")
    return sum(len(each) + 1 for each in lines[:row]) + len(line)


def changed(text: str, changes: list[dict[str, Any]]) -> str:
    """The text after a didChange notification."""
    for change in changes:
        if "range" not in change:
            text = change["text"]
            continue
        start, end = (offset(text, change["range"][side]) for side in ("start", "end"))
        text = text[:start] + change["text"] + text[end:]
    return text


class ScriptedServer:
    """One connection over stdin and stdout."""

    def __init__(self, goal: str, log: Path, delay: float, lines: int) -> None:
        self.goal, self.log, self.delay, self.lines = goal, log, delay, lines
        self.texts: dict[str, str] = {}
        self.cancelled: set[object] = set()
        self.lock = threading.Lock()
        self.asked = 0

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.lock:
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            sys.stdout.buffer.flush()

    def note(self, kind: str, **facts: object) -> None:
        with self.lock, self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **facts}) + "\n")

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        inline = "inlineCompletion" in params["capabilities"].get("textDocument", {})
        self.note("initialize", inline=inline, options=params.get("initializationOptions"))
        capabilities: dict[str, Any] = {
            "textDocumentSync": {"openClose": True, "change": 2},
            "codeActionProvider": {"codeActionKinds": ["refactor.rewrite"]},
            "executeCommandProvider": {"commands": [f"paceline.{name}" for name in COMMANDS]},
            "inlineCompletionProvider": {},
        }
        if not inline:
            capabilities["completionProvider"] = {"triggerCharacters": [".", " ", "("]}
        return {"capabilities": capabilities, "serverInfo": {"name": "scripted"}}

    def suggestion(self, params: dict[str, Any]) -> str:
        """What the goal says behind the cursor, if it is on the way there."""
        text = self.texts.get(params["textDocument"]["uri"], "")
        before, after = text[: (at := offset(text, params["position"]))], text[at:]
        if after.strip() or not self.goal.startswith(before):
            return ""
        kept = self.goal[len(before) :].split("\n")[: self.lines]
        return "\n".join(kept).rstrip("\n")

    def completions(self, params: dict[str, Any]) -> dict[str, Any]:
        text = self.suggestion(params)
        silence = "" if text else "unsure"
        self.send({"method": "paceline/status", "params": {"model": "scripted", "silence": silence}})
        if not text:
            return {"items": []}
        command = {"title": "Accept", "command": "paceline.accept", "arguments": [self.asked]}
        place = {"start": params["position"], "end": params["position"]}
        return {"items": [{"insertText": text, "range": place, "command": command}]}

    def popup(self, params: dict[str, Any]) -> dict[str, Any]:
        text, place = self.suggestion(params), params["position"]
        before = self.texts[params["textDocument"]["uri"]].split("\n")[place["line"]][: place["character"]]
        word = re.findall(r"\w*$", before)[0]
        start = {**place, "character": place["character"] - len(word)}
        edit = {"range": {"start": start, "end": place}, "newText": word + text}
        label = (word + text).split("\n")[0]
        item = {"label": label, "filterText": label, "textEdit": edit, "kind": 12, "preselect": True, "sortText": " "}
        item["insertTextMode"] = 1  # as it is
        item["command"] = {"title": "Accept", "command": "paceline.accept", "arguments": [1]}
        return {"isIncomplete": True, "items": [item] if text else []}

    def answer(self, message: dict[str, Any], result: object) -> None:
        if message["id"] in self.cancelled:
            self.send({"id": message["id"], "error": {"code": -32800, "message": "cancelled"}})
        else:
            self.send({"id": message["id"], "result": result})

    def edit(self, uri: str, line: int, text: str) -> None:
        """Ask the editor to put a text in the place of a line, once the person agrees."""
        length = len(self.texts[uri].split("\n")[line].encode("utf-16-le")) // 2
        span = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": length}}
        change = {
            "textDocument": {"uri": uri, "version": None},
            "edits": [{"range": span, "newText": text, "annotationId": "paceline"}],
        }
        note = {"label": "Edit with Paceline", "needsConfirmation": True}
        edit = {"documentChanges": [change], "changeAnnotations": {"paceline": note}}
        params = {"edit": edit, "label": "Edit with Paceline"}
        self.send({"id": "edit", "method": "workspace/applyEdit", "params": params})

    def command(self, params: dict[str, Any]) -> object:
        self.note("command", command=params["command"], arguments=params.get("arguments", []))
        return (
            {"state": "ready", "reason": "the scripted server is here"}
            if params["command"].endswith("status")
            else None
        )

    def handle(self, message: dict[str, Any]) -> None:
        method, params = message.get("method", ""), message.get("params") or {}
        document = params.get("textDocument", {}) if isinstance(params, dict) else {}
        if method == "textDocument/didOpen":
            self.texts[document["uri"]] = document["text"]
            self.note("open", uri=document["uri"], language=document["languageId"])
        elif method == "textDocument/didChange":
            self.texts[document["uri"]] = changed(self.texts[document["uri"]], params["contentChanges"])
            self.note("text", text=self.texts[document["uri"]])
        elif method == "$/cancelRequest":
            self.cancelled.add(params["id"])
            self.note("cancel", id=params["id"])
        elif method == "textDocument/inlineCompletion":
            self.asked += 1
            self.note("ask", id=message["id"], position=params["position"], context=params["context"])
            threading.Timer(self.delay, self.answer, (message, self.completions(params))).start()
        elif method == "textDocument/completion":
            self.note("popup", position=params["position"])
            self.answer(message, self.popup(params))
        elif method == "textDocument/codeAction":
            action = {"title": "Edit with Paceline…", "kind": "refactor.rewrite"}
            arguments = [document["uri"], params["range"], None]
            command = {"title": action["title"], "command": "paceline.edit", "arguments": arguments}
            self.answer(message, [{**action, "command": command}])
        elif method == "workspace/executeCommand":
            self.answer(message, self.command(params))
            uri, place, _, wish = (*params.get("arguments", []), None, None, None, None)[:4]
            if params["command"].endswith("edit") and str(wish).startswith(BECOMES):
                self.edit(uri, place["start"]["line"], wish.removeprefix(BECOMES))
        elif method == "initialize":
            self.answer(message, self.initialize(params))
        elif message.get("id") == "edit" and not method:
            self.note("applied", result=message.get("result"))
        elif "id" in message and method:
            self.answer(message, None)
        elif method:
            self.note("heard", method=method, params=params)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--goal", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--lines", type=int, default=3)
    options, _ = parser.parse_known_args()
    server = ScriptedServer(options.goal.read_text("utf-8"), options.log, options.delay, options.lines)
    while (message := read_message(sys.stdin.buffer)) is not None and message.get("method") != "exit":
        server.handle(message)
    server.note("end")


if __name__ == "__main__":
    main()
