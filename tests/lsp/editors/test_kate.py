"""Paceline in a real Kate on a screen of its own. Run with: pytest -m editors

Needs kate, xvfb-run and xdotool (Debian: kate, xvfb, xdotool) and dbus-run-session (dbus).
"""

import os
import subprocess

import pytest

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]
WHOLE = 'def area(width, height):\n    """The area of a rectangle."""\n    return width * height'
KEYS = """
dbus-run-session kate -n "$1" &
until grep -q '"open"' "$2"; do sleep 0.2; done 2>/dev/null
sleep 2  # the window is drawn once the file is open
xdotool mousemove 650 350 click 1
xdotool type --delay 80 'def are'
until grep -q '"popup"' "$2"; do sleep 0.2; done
sleep 2  # the list opens
xdotool key Return
until grep -q 'return width' "$2"; do sleep 0.2; done
xdotool key ctrl+s
until grep -q 'return width' "$1"; do sleep 0.2; done
kill %1
"""


def test_a_suggestion_is_in_kate_s_list_and_is_taken_with_all_its_lines(editor_program, script, folders, monkeypatch):
    for name in ("kate", "xdotool", "dbus-run-session"):
        editor_program(name)
    screen = editor_program("xvfb-run")
    programs, runtime, work = folders / "bin", folders / "run", folders / "work"
    for folder in (programs, runtime, work, folders / "config"):
        folder.mkdir(mode=0o700, exist_ok=True)
    starter = programs / "paceline"
    starter.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in script.command) + "\n")
    starter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    script.write_configuration("kate", "--language", "python")
    (folders / "config" / "katerc").write_text(
        f"[Kate Plugins]\nlspclientplugin=true\n\n[lspclient]\nAllowedServerCommandLines={starter} lsp\n"
    )
    document = work / "new.py"
    document.write_text("")
    script.log.touch()
    words = [screen, "-a", "-s", "-screen 0 1100x700x24", "bash", "-c", KEYS, "keys", str(document), str(script.log)]
    subprocess.run(words, check=False, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert document.read_text("utf-8").rstrip("\n") == WHOLE
    assert not script.heard("initialize")[0]["inline"]
