"""What each editor needs: read from the table beside the editors' files, turned into changes on this machine."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from paceline import paths
from paceline.errors import InputError

PROGRAM = "paceline"
COMMANDS = ("command", "paceline.command", "path")  # keys of JSON that say how Paceline is started
IN_A_SHELL = 'sh -c \\"paceline lsp'  # and a text within JSON that does


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file to write, or to add to. `editors.toml` says what the fields mean."""

    kind: Literal["file", "line", "json", "toml"]
    target: tuple[str, ...]
    target_mac: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    base: str = ""  # folder of the sources that the target stands for; "": each is put into the target by its name
    own: bool = False  # the folder is Paceline's alone: files in it are replaced, whatever they are
    line: str = ""
    elsewhere: str = ""  # the line where the command is not on the PATH
    loaded: str = ""  # a pattern: what loads Paceline already
    comment: str = ""  # what begins a comment there
    only: str = ""  # a path: the step is for those who have it
    unless: str = ""  # and for those who have not
    programs: tuple[str, ...] = ()  # and for those whose editor is one of these
    by_path: bool = False  # and for those whose editor needs the command's whole path


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program to run once the files are there."""

    run: tuple[str, ...]
    folder: str


class Editor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An editor that Paceline knows to set up."""

    name: str
    title: str
    programs: tuple[str, ...]
    applications: tuple[str, ...]
    about: str
    after: str
    step: tuple[Step, ...]
    command: tuple[Command, ...] = ()


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    editor: tuple[Editor, ...]


@dataclass(frozen=True)
class Change:
    """A file as it is and as it should be."""

    path: Path
    before: str | None  # None: there is none yet
    after: str
    ours: bool  # all of it is Paceline's


@dataclass(frozen=True)
class Plan:
    """What is to do; nothing has been done."""

    changes: tuple[Change, ...]
    kept: tuple[str, ...]  # sentences about what stays as the person has it


# --- the table --------------------------------------------------------------------------------------------------------


def folder() -> Path:
    """Where the editors' files are installed."""
    return Path(str(resources.files("paceline.lsp") / "editors"))


def known() -> tuple[Editor, ...]:
    """All editors of the table."""
    from paceline.config import convert, read_toml

    table = folder() / "editors.toml"
    return convert(read_toml(table), _Table, table).editor


def found(editor: Editor) -> str:
    """The editor's program on this machine; "" where there is none."""
    for program in editor.programs:
        if there := shutil.which(program):
            return there
    if sys.platform == "darwin":
        for application in editor.applications:
            for root in (Path("/Applications"), Path.home() / "Applications"):
                if (root / application).exists():
                    return str(root / application)
    return ""


# --- paths ------------------------------------------------------------------------------------------------------------


def path_of(text: str) -> Path:
    """A path of the table on this machine."""
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    local = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    places = {"{emacs}": _emacs(config), "{config}": config, "{data}": str(paths.data_dir()), "{local}": local}
    for name, place in places.items():
        text = text.replace(name, place)
    return paths.expanded(text)


def _emacs(config: str) -> str:
    """The folder of Emacs's own files; by its rules the old place wins, if anything is there."""
    newer = f"{config}/emacs"
    old = any(paths.expanded(each).exists() for each in ("~/.emacs.d", "~/.emacs", "~/.emacs.el"))
    return newer if not old and paths.expanded(newer).exists() else "~/.emacs.d"


def target_of(step: Step) -> Path:
    """The file or folder that a step is about: of several the first that exists, else the last."""
    wanted = step.target_mac if step.target_mac and sys.platform == "darwin" else step.target
    candidates = [path_of(each) for each in wanted]
    return next((path for path in candidates if path.exists()), candidates[-1])


def command_here() -> str:
    """How an editor starts Paceline: by its name, or by its path where a shell would not find it, or would find it only
    because a virtual environment is active.
    """
    if there := shutil.which(PROGRAM):
        in_environment = sys.prefix != sys.base_prefix and Path(there).is_relative_to(sys.prefix)
        return there if in_environment else PROGRAM
    beside = Path(sys.executable).with_name(PROGRAM)
    return str(beside) if beside.exists() else PROGRAM


# --- the configuration ------------------------------------------------------------------------------------------------


def plan(editor: Editor, languages: Sequence[str]) -> Plan:
    """What setting up the editor changes. Raises InputError where a file is there that is not understood."""
    changes: list[Change] = []
    kept: list[str] = []
    for step in applicable(editor):
        for path, after, notes, ours in _wanted(step, languages):
            before = read(path)
            kept += notes
            if before != after:
                changes.append(Change(path, before, after, ours))
    return Plan(tuple(changes), tuple(kept))


def applicable(editor: Editor) -> Iterator[Step]:
    """The steps that are for this machine."""
    for step in editor.step:
        if step.only and not path_of(step.only).exists():
            continue
        if step.unless and path_of(step.unless).exists():
            continue
        if step.programs and Path(found(editor)).name not in step.programs:
            continue
        if step.by_path and command_here() == PROGRAM:
            continue
        yield step


def snippet(step: Step, languages: Sequence[str]) -> str:
    """What a person would write into the file by hand; "" where whole files are put there."""
    if step.kind == "line":
        return _line(step)
    if step.kind == "json":
        return json.dumps(_keys(step, languages), indent=2, ensure_ascii=False)
    if step.kind == "toml":
        from paceline.commands.helix import added

        return added("", _source(step.sources[0]), command_here(), languages)[0].rstrip("\n")
    return ""


def placed(step: Step) -> Iterator[tuple[Path, Path]]:
    """(our file, where it goes) of a step that puts whole files."""
    target = target_of(step)
    for source in step.sources:
        name = str(Path(source).relative_to(step.base)) if step.base else Path(source).name
        yield folder() / source, target / name


def read(path: Path) -> str | None:
    """A file of the person's, with the line endings it has; None where there is none. Raises InputError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8", "add the configuration by hand; without --write it is shown"
        ) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check that it is a readable file") from error


def _wanted(step: Step, languages: Sequence[str]) -> Iterator[tuple[Path, str, list[str], bool]]:
    """(path, text, what is kept, whether all of it is ours) of the files of a step."""
    if step.kind == "file":
        for source, path in placed(step):
            text, there = _file(source), read(path)
            if there is not None and there != text and not step.own and not _is_ours(there):
                raise InputError(f"{path} is there and is not Paceline's", "move it out of the way, or copy by hand")
            yield path, text, [], True
        return
    path = target_of(step)
    text = read(path) or ""
    try:
        after, kept = _added(step, text, languages)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", error.hint) from error
    yield path, after, [f"{path}: {name} stays as it is" for name in kept], False


def _file(source: Path) -> str:
    """A file of ours, with the command of this machine."""
    text, command = source.read_text(encoding="utf-8"), command_here()
    if source.suffix == ".json" and command != PROGRAM:
        text = text.replace(IN_A_SHELL, f'sh -c \\"{json.dumps(shlex.quote(command))[1:-1]} lsp')
    return text


def _added(step: Step, text: str, languages: Sequence[str]) -> tuple[str, list[str]]:
    if step.kind == "json":
        from paceline.commands import jsonc

        return jsonc.added(text, _keys(step, languages))
    if step.kind == "toml":
        from paceline.commands.helix import added

        return added(text, _source(step.sources[0]), command_here(), languages)
    return _with_line(text, step), []


def _with_line(text: str, step: Step) -> str:
    loads = re.compile(step.loaded)
    if any(loads.search(line) and not line.lstrip().startswith(step.comment) for line in text.splitlines()):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    return text + (newline if text and not text.endswith("\n") else "") + _line(step) + newline


def _line(step: Step) -> str:
    command = command_here()
    return step.line if command == PROGRAM else step.elsewhere.replace("{paceline}", json.dumps(command))


def _keys(step: Step, languages: Sequence[str]) -> dict[str, Any]:
    """The keys of a JSON source, with the command of this machine; its servers by language, where those are named."""
    data: dict[str, Any] = json.loads(_source(step.sources[0]))
    if languages and isinstance(servers := data.get("servers"), dict):
        pattern = next(iter(servers.values()))
        data = {**data, "servers": dict.fromkeys(languages, pattern)}
    here: dict[str, Any] = with_command(data, command_here())
    return here


def with_command(data: Any, command: str) -> Any:  # noqa: ANN401 - any JSON value
    """The data with another way to start Paceline."""
    if isinstance(data, Mapping):
        return {
            key: _started(value, command) if key in COMMANDS else with_command(value, command)
            for key, value in data.items()
        }
    return [with_command(each, command) for each in data] if isinstance(data, list) else data


def _started(value: Any, command: str) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(value, list):
        return [command, *value[1:]] if value[:1] == [PROGRAM] else value
    return command if value == PROGRAM else value


def _source(name: str) -> str:
    return (folder() / name).read_text(encoding="utf-8")


def _is_ours(text: str) -> bool:
    """Whether a file begins as ours do."""
    return "Paceline" in text[:200]
