"""Copying: by a tool of the desktop, by the terminal (OSC 52), and into a file, with an honest word about which."""

import base64
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from paceline.text import replace_surrogates, strip_controls

Means = Literal["tool", "terminal", "file", "none"]
SECONDS = 1.0  # that one tool may take
MOST_BYTES = 74_994  # of base64 that terminals take in one sequence, as far as is known of them
SCREEN_PIECE = 700  # bytes that GNU screen passes on at once, at most 768
FILE = "clipboard.txt"
_WITHOUT = {"", "dumb", "linux"}  # terminals that have no clipboard, or write the sequence on the screen


@dataclass(frozen=True)
class Copied:
    """How it went. certain: it is known to be in the clipboard."""

    how: Means
    certain: bool
    message: str  # for the person


@dataclass(frozen=True)
class Tool:
    """A program that reads a text and puts it into a clipboard."""

    words: tuple[str, ...]
    encoding: str = "utf-8"


def copy(
    text: str,
    environ: Mapping[str, str],
    write: Callable[[str], None],
    folder: Path,
    platform: str = sys.platform,
) -> Copied:
    """Copy a text. write: sends a sequence to the terminal, past everything that filters. folder: for the file.

    Blocks for as long as the tools take, about SECONDS each: call it in a thread if `write` may be called there.
    """
    if not text:
        return Copied("none", certain=False, message="there is nothing to copy")
    text = replace_surrogates(text)
    for tool in tools(environ, platform):
        if _given_to(tool, text, environ):
            return Copied("tool", certain=True, message="copied")
    buffered = bool(environ.get("TMUX")) and _given_to(Tool(("tmux", "load-buffer", "-w", "-")), text, environ)
    sent = _sent(text, environ, write)
    file = _into_file(text, folder)
    place = f"; it is also in {file}" if file else ""
    said = "in tmux's buffer and " if buffered else ""
    if sent:
        return Copied("terminal", False, f"{said}sent to the terminal, which does not say whether it took it{place}")
    if buffered:
        return Copied("tool", False, f"in tmux's buffer{place}")
    if file:
        return Copied("file", False, f"not copied: {_why(text, environ)}; it is in {file}")
    return Copied("none", False, f"not copied: {_why(text, environ)}, and no file could be written in {folder}")


def tools(environ: Mapping[str, str], platform: str) -> Iterator[Tool]:
    """Tools for the clipboard in front of which the person sits.

    On a machine that they are logged in to from elsewhere only an X display leads back to them.
    """
    here = not (environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    if here and platform == "darwin":
        yield Tool(("pbcopy",))
    if here and (environ.get("WSL_DISTRO_NAME") or environ.get("WSL_INTEROP")):
        yield Tool(("clip.exe",), "utf-16-le")
    if here and environ.get("WAYLAND_DISPLAY"):
        yield Tool(("wl-copy",))
    if environ.get("DISPLAY"):
        yield Tool(("xclip", "-selection", "clipboard"))
        yield Tool(("xsel", "--clipboard", "--input"))


def sequence(text: str, environ: Mapping[str, str]) -> str:
    """What makes a terminal copy a text; "" where none that we know would. tmux and screen get it wrapped."""
    data = base64.b64encode(text.encode("utf-8", errors="replace")).decode("ascii")
    if environ.get("TERM", "") in _WITHOUT or len(data) > MOST_BYTES:
        return ""
    plain = f"\x1b]52;c;{data}\x07"
    if environ.get("TMUX"):
        # with what tmux itself understands, as it passes nothing on unless it is told to
        return "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\" + plain
    if environ.get("STY") or environ.get("TERM", "").startswith("screen"):
        pieces = [plain[at : at + SCREEN_PIECE] for at in range(0, len(plain), SCREEN_PIECE)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def _sent(text: str, environ: Mapping[str, str], write: Callable[[str], None]) -> bool:
    wanted = sequence(text, environ)
    if not wanted:
        return False
    try:
        write(wanted)
    except (OSError, ValueError):  # the terminal has gone
        return False
    return True


def _why(text: str, environ: Mapping[str, str]) -> str:
    if environ.get("TERM", "") in _WITHOUT:
        return "this terminal has no clipboard"
    data = len(text.encode("utf-8", errors="replace"))
    return f"{data:,} bytes are more than terminals take" if data * 4 / 3 > MOST_BYTES else "the terminal is gone"


def _given_to(tool: Tool, text: str, environ: Mapping[str, str]) -> bool:
    """Whether a tool is there and took it."""
    program = shutil.which(tool.words[0], path=environ.get("PATH", os.defpath))
    if program is None:
        return False
    words: Sequence[str] = [program, *tool.words[1:]]
    try:
        ended = subprocess.run(
            words,
            input=text.encode(tool.encoding, errors="replace"),
            stdout=subprocess.DEVNULL,  # some stay to serve the text, and would keep a pipe open
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            timeout=SECONDS,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return ended.returncode == 0


def _into_file(text: str, folder: Path) -> str:
    """The file, as it can be shown; "" where it cannot be written. Nobody else can read it."""
    path = folder / FILE
    name = ""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=folder, prefix=FILE)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        if name:
            with suppress(OSError):
                Path(name).unlink()
        return ""
    return strip_controls(str(path))
