"""Settings of completions, from four places; later ones win, key by key.

    [editor] of the person's configuration file < .paceline.toml of the project < initializationOptions
    < the editor's own settings (workspace/configuration, section "paceline")

A project's file comes with somebody else's code: it may hide more from models, and never less. It holds for the
documents of its own folder alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from paceline import config as configuration
from paceline.config import Config, EditorConfig
from paceline.errors import ConfigError
from paceline.text import strip_controls
from paceline.workspace import files

PROJECT_FILE = ".paceline.toml"
SECTION = "paceline"
TABLE = "editor"
LONGEST = 2**16  # characters of a project's file
NAMED = 3  # wrong settings of one kind that a message names; of more it tells the number
SHOWN = 60  # characters of a key or a value in a message
DEFAULTS = EditorConfig()
ADDED = frozenset({"ignore", "disabled_languages"})  # a later place adds to what an earlier one says
CAREFUL = frozenset({"ignore", "disabled_languages", "enabled", "other_files", "git_diff", "comments", "multiline"})


@dataclass(frozen=True)
class Source:
    """One place that settings come from."""

    name: str  # as messages call it
    values: Mapping[str, object]
    trusted: bool = True  # the person's own


@dataclass(frozen=True)
class Settings:
    """What holds, and what was wrong, a sentence each."""

    editor: EditorConfig
    problems: tuple[str, ...] = ()


def merge(sources: Sequence[Source], usual: EditorConfig = DEFAULTS) -> Settings:
    """What all of them say together. What is wrong is left out, and told."""
    editor, problems = usual, list[str]()
    for source in sources:
        unknown = list[str]()
        for key, value in source.values.items():
            name, said = _snake(key), value
            if name not in EditorConfig.__struct_fields__:
                if value is not None:
                    unknown.append(key)
                continue
            if not source.trusted and name in ADDED and isinstance(value, (list, tuple)):
                said = [each for each in value if not _takes_back(each)]
                if len(said) < len(value):
                    problems.append(f"{source.name}: {name!r} of a project may only hide more; '!' is left out")
            changed = _with(editor, source, name, said)
            if isinstance(changed, str):
                problems.append(f"{source.name}: {changed}")
            else:
                editor = changed
        if unknown:
            problems.append(f"{source.name}: {_strangers(unknown)}")
    return Settings(editor, tuple(dict.fromkeys(problems)))


def _strangers(names: Sequence[str]) -> str:
    """That there are no such settings: a project's file may have thousands of them."""
    said = []
    for name in names[:NAMED]:
        near = next(iter(configuration.unknown_keys({_snake(name[:SHOWN]): 0}, EditorConfig)), (name, ""))[1]
        said.append(_short(name) + (f" (did you mean {near!r}?)" if near else ""))
    more = f" and {len(names) - NAMED} others" if len(names) > NAMED else ""
    return f"there is no setting {', '.join(said)}{more}"


def _short(value: object) -> str:
    """A value from a file as it may stand in a message: on one line and not too long."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # a number with too many digits
        text = f"of kind {type(value).__name__}"
    text = strip_controls(" ".join(text[: 4 * SHOWN].split()))
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…") if isinstance(value, str) else text[:SHOWN]


def given(name: str, value: object) -> Source:
    """Settings as an editor sends them: as they are, or below the section's name."""
    inner = value.get(SECTION, value) if isinstance(value, Mapping) else {}
    return Source(name, inner if isinstance(inner, Mapping) else {})


@dataclass(frozen=True)
class Own:
    """What the person's configuration file says; `error` where all of it had to be left out."""

    config: Config
    problems: tuple[str, ...] = ()  # of its table for editors
    error: ConfigError | None = None
    version: configuration.Version = None  # of the file


def of_person(path: Path) -> Own:
    """The person's configuration, without what is wrong in the tables of front ends. Reads the disk."""
    version = configuration.version(path)
    try:
        config = configuration.load(path, without=configuration.FRONT_ENDS)
        data = configuration.read_toml(path) if path.exists() else {}
    except ConfigError as error:
        return Own(Config(), error=error, version=version)
    found = merge([given(str(path), data.get(TABLE))])
    return Own(msgspec.structs.replace(config, editor=found.editor), found.problems, version=version)


def of_project(folder: Path) -> tuple[Source | None, str]:
    """The settings in a workspace folder's own file, if it has one; and what is wrong with that. Reads the disk."""
    path = folder / PROJECT_FILE
    text = files.read(path)
    if text is None or len(text) > LONGEST:
        return None, f"{path} is too large, or no file that can be read; it is left out" if files.there(path) else ""
    try:
        data = configuration.parse_toml(text, path)
    except ConfigError as error:
        return None, f"{error.message[:500]} ({error.hint})"
    table = data.get(TABLE, {})
    others = [_short(key) for key in data if key != TABLE]
    named = ", ".join(others[:NAMED]) + (f" and {len(others) - NAMED} others" if len(others) > NAMED else "")
    wrong = f"{path}: only the table [{TABLE}] is read, not {named}" if others else ""
    return Source(str(path), table if isinstance(table, dict) else {}, trusted=False), wrong


def _with(editor: EditorConfig, source: Source, key: str, value: object) -> EditorConfig | str:
    """The settings with one of them changed; or what is wrong with it."""
    if value is None:  # how editors say that something is not set
        return editor
    if key in ADDED and isinstance(value, (list, tuple)):
        value = [*getattr(editor, key), *value]
    elif not source.trusted and _loosens(editor, key, value):
        return f"{key!r} is not a project's to say"
    try:
        checked: dict[str, Any] = {key: getattr(msgspec.convert({key: value}, EditorConfig), key)}
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        return f"{key!r} cannot be {_short(value)}: {str(error).partition(' - at ')[0]}"
    return msgspec.structs.replace(editor, **checked)


def _takes_back(pattern: object) -> bool:
    """Whether a pattern shows again what an earlier one hides, with or without blanks before it."""
    return isinstance(pattern, str) and pattern.strip().startswith("!")


def _loosens(editor: EditorConfig, key: str, value: object) -> bool:
    return key not in CAREFUL or (value is True and not getattr(editor, key))


def _snake(key: str) -> str:
    """Editors write names as gitDiff."""
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: "_" + found[0], key).lower()


def told(problems: Sequence[str]) -> Iterator[str]:
    """The problems, as a person is told of them once: no more than a few messages."""
    for problem in problems[:NAMED]:
        yield f"Paceline ignores a setting. {problem}"
    if len(problems) > NAMED:
        yield f"Paceline ignores more settings. {'; '.join(problems[NAMED:])}"
