"""The packaged extension in a real VS Code: code-server and a headless Chromium. Run with: pytest -m editors

Needs npm, code-server (npm install code-server; PACELINE_CODE_SERVER names its program), Chromium (Debian: chromium)
and the package playwright. Screenshots are left in the folder that PACELINE_SCREENSHOTS names.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
EXTENSION = ROOT / "lsp" / "editors" / "vscode"
SIGNATURE = "def area(width, height):"
BODY = ['    """The area of a rectangle."""', "    return width * height"]
SETTINGS = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": True,
    "telemetry.telemetryLevel": "off",
    "extensions.ignoreRecommendations": True,
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off"},
    "editor.autoClosingBrackets": "never",
    "files.autoSave": "off",
}
SERVER = os.environ.get("PACELINE_CODE_SERVER") or shutil.which("code-server")
pytestmark = [
    pytest.mark.editors,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not SERVER, reason="code-server is not here (npm install code-server; PACELINE_CODE_SERVER)"),
]


def needed(found: str | None, what: str) -> str:
    if not found:
        pytest.skip(f"{what} is not here")
    return found


@pytest.fixture(scope="module")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, built as its README says."""
    npm = needed(shutil.which("npm"), "npm")
    folder = tmp_path_factory.mktemp("extension") / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    for words in (["ci", "--no-audit", "--no-fund"], ["run", "package"]):
        ended = subprocess.run([npm, *words], cwd=folder, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
    return folder / "paceline.vsix"


@dataclass
class Window:
    """A window of VS Code with a folder open."""

    page: Any
    folder: Path
    screenshots: Path

    def open(self, name: str) -> None:
        self.page.keyboard.press("Control+P")
        self.page.wait_for_selector(".quick-input-widget input", state="visible")
        self.page.keyboard.type(name)
        self.page.wait_for_selector(f'.quick-input-list .monaco-list-row[aria-label*="{name}"]')
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(f'.tab[data-resource-name="{name}"]')
        self.page.wait_for_selector(".monaco-editor.focused")

    def shoot(self, name: str) -> None:
        self.page.screenshot(path=str(self.screenshots / f"{name}.png"))

    def ghost(self) -> str:
        """The ghost text, as soon as there is one; non-breaking spaces as spaces."""
        self.page.wait_for_selector('[class*="ghost-text"]', state="attached")
        pieces = self.page.locator('[class*="ghost-text"]').all_text_contents()
        return "".join(pieces).replace("\xa0", " ")

    def status(self, said: str) -> None:
        self.page.wait_for_selector(f'.statusbar-item[aria-label*="{said}"]')

    def command(self, title: str) -> None:
        self.page.keyboard.press("F1")
        self.page.wait_for_selector(".quick-input-widget input", state="visible")
        self.page.keyboard.type(title)
        self.page.wait_for_selector(f'.quick-input-list .monaco-list-row[aria-label*="{title}"]')
        self.page.keyboard.press("Enter")

    def edit(self, wish: str) -> None:
        """Have the selection edited."""
        self.command("Edit with Paceline")
        self.page.wait_for_selector('.quick-input-title:has-text("Edit with Paceline")')
        self.page.keyboard.type(wish)
        self.page.keyboard.press("Enter")

    def saved(self, name: str) -> str:
        self.page.keyboard.press("Control+S")
        self.page.wait_for_selector(f'.tab[data-resource-name="{name}"]:not(.dirty)')
        return (self.folder / name).read_text("utf-8")


@pytest.fixture
def window(vsix: Path, script: Any, folders: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    """VS Code with the extension, whose `paceline` is the scripted server."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright drives Chromium (pip install playwright)"
    )
    server = needed(SERVER, "code-server")
    chromium = needed(shutil.which("chromium") or shutil.which("google-chrome"), "Chromium")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    programs, work = folders / "bin", folders / "work"
    programs.mkdir()
    work.mkdir()
    words = " ".join(f"'{word}'" for word in script.command)
    (programs / "paceline").write_text(f"#!/bin/sh\nexec {words}\n")
    (programs / "paceline").chmod(0o755)
    (work / "new.py").write_text("")
    user = folders / "vscode"
    (user / "User").mkdir(parents=True)
    (user / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    (user / "Machine").mkdir()
    machine = {"paceline.command": str(programs / "paceline")}  # a login shell's PATH would not have it
    (user / "Machine" / "settings.json").write_text(json.dumps(machine))
    options = ["--user-data-dir", str(user), "--extensions-dir", str(folders / "extensions")]
    subprocess.run([server, *options, "--install-extension", str(vsix)], check=True, timeout=120)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    with (folders / "code-server.log").open("w") as log:
        words = [server, *options, *quiet, "--bind-addr", f"127.0.0.1:{port}"]
        running = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            _answers(port, running)
            with playwright.sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1100, "height": 620})
                page.set_default_timeout(60_000)
                page.goto(f"http://127.0.0.1:{port}/?folder={work}")
                page.wait_for_selector(".monaco-workbench .statusbar")
                shots = Path(os.environ.get("PACELINE_SCREENSHOTS", folders))
                shots.mkdir(parents=True, exist_ok=True)
                yield Window(page, work, shots)
                page.screenshot(path=str(shots / "end.png"))
                browser.close()
        finally:
            running.terminate()
            running.wait(30)


def _answers(port: int, running: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        assert running.poll() is None, "code-server has ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("code-server does not answer")


def test_the_package_contains_one_bundle_and_no_sources(vsix):
    names = {Path(name).name for name in zipfile.ZipFile(vsix).namelist()}
    assert {"package.json", "extension.js", "readme.md"} <= names
    assert not any("node_modules" in name or name.endswith("status.js") for name in zipfile.ZipFile(vsix).namelist())


def test_ghost_text_comes_while_typing_and_tab_takes_it(window, script):
    window.status("Paceline, ready")
    window.open("new.py")
    window.page.keyboard.type("def ar", delay=40)
    assert "ea(width, height):" in window.ghost()
    window.shoot("ghost")
    window.page.keyboard.type("ea(", delay=40)
    assert "width, height):" in window.ghost()
    window.page.keyboard.press("Tab")
    window.page.wait_for_selector('[class*="ghost-text"]', state="detached")
    window.shoot("accepted")
    assert window.saved("new.py").splitlines()[:3] == [SIGNATURE, *BODY]
    assert [entry["command"] for entry in script.wait("command")] == ["paceline.accept"]
    assert script.notified("textDocument/didShowCompletion")


def test_a_word_that_is_taken_is_told(window, script):
    window.status("Paceline, ready")
    window.open("new.py")
    window.page.keyboard.type("def area(", delay=40)
    assert "width" in window.ghost()
    window.page.keyboard.press("Control+ArrowRight")
    script.until(lambda: script.notified("textDocument/didPartiallyAcceptCompletion"))
    assert script.notified("textDocument/didPartiallyAcceptCompletion")[0]["acceptedLength"] == len("width")
    assert script.commands() == []


def test_editing_a_selection_asks_what_is_wanted(window, script):
    (window.folder / "old.py").write_text("one = 1\n")
    window.status("Paceline, ready")
    window.open("old.py")
    window.page.keyboard.press("Control+A")
    window.edit("make it two")
    sent = script.wait("command")[0]
    assert sent["command"] == "paceline.edit"
    assert sent["arguments"][0].endswith("old.py") and sent["arguments"][3] == "make it two"


def proposed(window: Window) -> None:
    """A file's first line, with an edit of it in front."""
    (window.folder / "old.py").write_text("one = 1\n")
    window.status("Paceline, ready")
    window.open("old.py")
    window.page.keyboard.press("Control+A")
    window.edit("becomes two = 2")
    window.page.wait_for_selector('.modified-in-monaco-diff-editor .view-line:has-text("two")')


def test_an_edit_is_shown_before_it_is_made_and_can_be_undone(window, script):
    proposed(window)
    window.shoot("proposal")
    assert (window.folder / "old.py").read_text("utf-8") == "one = 1\n"
    assert script.heard("applied") == []
    window.page.click('.editor-actions .action-label[aria-label^="Accept the Edit"]')
    assert script.wait("applied")[0]["result"]["applied"] is True
    window.page.wait_for_selector(".monaco-diff-editor", state="detached")
    assert window.saved("old.py") == "two = 2\n"
    window.page.keyboard.press("Control+Z")
    assert window.saved("old.py") == "one = 1\n"


def test_an_edit_whose_diff_is_closed_is_not_made(window, script):
    proposed(window)
    window.command("View: Close Editor")
    assert script.wait("applied")[0]["result"]["applied"] is False
    assert (window.folder / "old.py").read_text("utf-8") == "one = 1\n"


def test_an_edit_is_taken_over_by_the_button_of_its_message(window, script):
    proposed(window)
    window.page.click('.notification-toast .monaco-button:has-text("Accept")')
    assert script.wait("applied")[0]["result"]["applied"] is True


def test_the_status_bar_says_why_nothing_comes(window):
    window.status("Paceline, ready")
    window.open("new.py")
    window.page.keyboard.type("something else", delay=40)
    window.status("Paceline, silent: the model is not sure enough")
    window.shoot("silent")


def test_the_settings_that_the_person_made_are_sent_and_no_others(window, script):
    window.status("Paceline, ready")
    assert script.heard("initialize")[0]["options"] == {}
    assert script.heard("initialize")[0]["inline"]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-m", "editors"]))
