"""How code of answers is run."""

import os
import shutil
import sys

import pytest

from paceline.chat.blocks import blocks
from paceline.chat.context.running import Command, run
from paceline.chat.runnable import Runnable, commands, runnable
from paceline.errors import InputError


def block(language, text):
    (found,) = blocks(f"````{language}\n{text}````\n")
    return found


@pytest.fixture
def programs(tmp_path):
    """Makes a folder of programs, and the environment that finds nothing else."""

    def make(*names):
        folder = tmp_path / "programs"
        folder.mkdir()
        for name in names:
            (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
            (folder / name).chmod(0o755)
        return {"PATH": str(folder)}

    return make


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def interpreter(folder):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").touch()
    return folder / "bin/python"


@pytest.mark.parametrize("there", [("python3",), ("python",), ("python", "python3")])
def test_python_is_what_this_machine_has_of_it(programs, root, there):
    assert runnable(block("python", "1\n"), root, programs(*there)).line == f"{there[-1]} -"


def test_python_is_that_of_the_environment_that_is_active(programs, root, tmp_path):
    active, environ = interpreter(tmp_path / "my env"), programs("python3")
    interpreter(root / ".venv")
    found = runnable(block("py", "1\n"), root, {**environ, "VIRTUAL_ENV": str(tmp_path / "my env")})
    assert found.line == f"'{active}' -"


def test_python_is_that_of_the_workspace_where_none_is_active(programs, root):
    interpreter(root / ".venv")
    assert runnable(block("python", "1\n"), root, programs("python3")).line == ".venv/bin/python -"


@pytest.mark.parametrize("language", ["python", "js", "ruby", "cobol"])
def test_what_cannot_be_run_here_is_said(programs, root, language):
    with pytest.raises(InputError):
        runnable(block(language, "1\n"), root, programs())


def test_of_a_session_only_what_was_typed_is_run():
    session = "$ cd src\n$ for each in *; do\n> echo $each\n> done\nrm.py\n> rm -rf ..\n$ ls \\\n  -l\nrm -rf /\n"
    assert commands(session) == "cd src\nfor each in *; do\necho $each\ndone\nls \\\n  -l"


def test_a_script_is_run_as_it_is(root, programs):
    text = "for each in *; do\n  echo $each > out\ndone\n> out\n"
    assert runnable(block("bash", text), root, programs()) == Runnable(text.rstrip("\n"))


SHELLS = [each for each in map(shutil.which, ("sh", "bash", "zsh", "fish")) if each]


@pytest.mark.parametrize("shell", SHELLS)
async def test_code_that_ends_a_here_document_stays_code(root, monkeypatch, shell):
    monkeypatch.setenv("SHELL", shell)
    text = f"print('''\nPACELINE_END\ntouch {root}/broken\n''', __import__('os').getcwd())\n"
    found = runnable(block("python", text), root, {"PATH": os.environ["PATH"], "VIRTUAL_ENV": sys.prefix})
    ran = await run(Command(found.line, root, found.given), 60)
    assert (ran.how, ran.status) == ("exited", 0)
    assert ran.text.split() == ["PACELINE_END", "touch", f"{root}/broken", str(root)]
    assert list(root.iterdir()) == []


async def test_a_program_that_does_not_read_what_it_is_given_ends_all_the_same(root):
    ran = await run(Command("echo done", root, "x" * 1_000_000), 60)
    assert (ran.text, ran.status) == ("done\n", 0)
