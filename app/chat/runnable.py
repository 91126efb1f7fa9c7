"""How the code of an answer is run: which program gets it, and which lines of it are commands."""

import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from paceline.chat.blocks import Block
from paceline.errors import InputError

_SESSIONS = {"console", "shell-session", "shellsession", "sh-session"}  # what was typed, and what came of it
SHELLS = {"bash", "sh", "shell", "zsh", "fish", *_SESSIONS}
_PYTHON = "python"
_PROGRAMS = {_PYTHON: _PYTHON, "py": _PYTHON, "python3": _PYTHON} | {"javascript": "node", "js": "node"}
_PROGRAMS |= {"ruby": "ruby", "perl": "perl"}
_IN_ENVIRONMENT = ("bin/python", "Scripts/python.exe")


@dataclass(frozen=True)
class Runnable:
    """A line for the shell, and what the program that it starts reads."""

    line: str
    given: str = ""  # on its standard input: no line of it can be taken for the shell's


def runnable(block: Block, root: Path, environ: Mapping[str, str]) -> Runnable:
    """How a block is run in a workspace. Raises InputError where that is not known, or its program is not there."""
    if block.language in SHELLS or not block.language:
        return Runnable(commands(block.text))
    name = _PROGRAMS.get(block.language)
    if name is None:
        raise InputError(f"it is not known how to run {block.language}", "save it, and run it with !")
    program = _python(root, environ) if name == _PYTHON else _found(name, environ)
    if not program:
        raise InputError(f"there is no {name} here to run it", "install it, or save the block and run it with !")
    return Runnable(f"{shlex.quote(program)} -", block.text)


def commands(text: str) -> str:
    """The commands of a shell's block: where some stand behind a prompt, "$ ", the rest is what they printed."""
    lines = text.splitlines()
    if not any(line.startswith("$ ") for line in lines):
        return "\n".join(lines)
    return "\n".join(_typed(lines))


def _typed(lines: list[str]) -> Iterator[str]:
    goes_on = behind_prompt = False
    for line in lines:
        if line.startswith("$ "):
            behind_prompt, shown = True, line[2:]
        elif behind_prompt and line.startswith("> "):
            shown = line[2:]
        elif goes_on:
            shown = line
        else:
            behind_prompt = False
            continue
        goes_on = _is_open(shown)
        yield shown


def _is_open(line: str) -> bool:
    """Whether its end is escaped, so that the next line belongs to it."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _python(root: Path, environ: Mapping[str, str]) -> str:
    """That of the environment that is active, or that lies in the workspace; else the system's. "": there is none."""
    active = environ.get("VIRTUAL_ENV")
    for folder in [*([Path(active)] if active else []), root / ".venv"]:
        for name in _IN_ENVIRONMENT:
            if (folder / name).is_file():
                inside = folder.is_relative_to(root)
                return (folder / name).relative_to(root).as_posix() if inside else str(folder / name)
    return _found("python3", environ) or _found("python", environ)


def _found(name: str, environ: Mapping[str, str]) -> str:
    return name if shutil.which(name, path=environ.get("PATH")) else ""
