"""Configuration: frozen, every key with a default, unknown keys named."""

import difflib
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from paceline.errors import ConfigError
from paceline.plan import KVType

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MEND = "mend the line it names, or remove the file"
Speculation = Literal["auto", "off", "ngram", "draft", "lookahead"]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ModelsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which models are used and where they are kept."""

    pair: str = ""  # a pair of the catalogue; empty: not chosen yet, `paceline setup` chooses
    target: str = ""  # instead of the pair's: catalogue name, path of a GGUF, or owner/repository:file
    draft: str = ""  # the same; "none" for no draft model
    directory: str = ""  # the store; empty: paceline's data folder
    offline: bool = False  # never use the network


class EngineConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How models are loaded and decoded."""

    context: Natural = 0  # tokens; 0: chosen by memory
    threads: Annotated[int, msgspec.Meta(ge=0, le=512)] = 0  # 0: physical cores, within the container's limit
    gpu_layers: Natural | Literal["auto"] = "auto"
    main_gpu: Natural = 0
    tensor_split: tuple[float, ...] = ()
    flash_attention: bool = True
    kv_type: KVType = "f16"
    batch: Annotated[int, msgspec.Meta(ge=32, le=4096)] = 512
    speculation: Speculation = "auto"
    strict: bool = False  # near-ties are decided as plain decoding would; costs a little speed
    parallel: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8  # requests that are computed at the same time
    queue: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 64  # requests that may wait; more are refused
    step_ms: Annotated[float, msgspec.Meta(ge=1, le=10000)] = 100.0  # a step of several requests is kept this short
    parking_mb: Natural = 1024  # main memory for conversations that had to leave the context
    url: str = ""  # an OpenAI-compatible server instead of this machine, such as "http://big:8000/v1"
    model: str = ""  # the model's name there; empty: the first that it lists


class DaemonConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The process that holds the models, shared by everything on this machine."""

    idle_minutes: Annotated[float, msgspec.Meta(ge=0)] = 60.0  # without requests it ends; 0: never
    unload_minutes: Annotated[float, msgspec.Meta(ge=0)] = 20.0  # and drops the models; 0: never before it ends
    http: str = ""  # "127.0.0.1:8765": also listen there, for other programs; they need the token


class SamplingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a token is chosen from the model's distribution. Temperature 0 takes the likeliest, always."""

    temperature: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.0
    top_k: Natural = 40  # 0: off
    top_p: Fraction = 0.95  # 1: off
    min_p: Fraction = 0.0  # 0: off
    repetition_penalty: Annotated[float, msgspec.Meta(ge=0.01, le=10)] = 1.0  # 1: off
    repetition_window: Natural = 64  # tokens looked back at


class AskConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions and answers."""

    system: str = "You are a careful programmer. Answer briefly and show code where it helps."
    max_tokens: Positive = 2048


class CompleteConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Completions in a file."""

    max_tokens: Positive = 128
    prefix_tokens: Positive = 1024  # how much of the file before the cursor's line is shown to the model
    suffix_tokens: Natural = 256  # and after it
    model: Literal["auto", "target", "draft"] = "auto"  # auto: the draft where the target is too slow for the next key
    latency_ms: Annotated[float, msgspec.Meta(ge=1)] = 1500.0  # for a line: what too slow means


class EditorConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Completions as one types, through the language server."""

    enabled: bool = True  # completions; Edit with Paceline… is asked for by hand, and stays possible
    popup: Literal["auto", "on", "off"] = "auto"  # in the list of completions too; auto: where nothing else is shown
    disabled_languages: tuple[str, ...] = ()  # as the editor calls them, such as "markdown"
    ignore: tuple[str, ...] = ()  # files without completions, that are shown to no model; patterns as in .gitignore
    comments: bool = False  # complete the prose in comments and texts without being asked
    multiline: bool = True
    max_lines: Annotated[int, msgspec.Meta(ge=1, le=200)] = 12  # of one suggestion
    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=2048)] = 160  # of one suggestion
    candidates: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3  # when completions are asked for by hand
    latency_ms: Annotated[float, msgspec.Meta(ge=1)] = 400.0  # to the first token; decides how much is read before
    threshold: Annotated[float, msgspec.Meta(le=0)] = -2.0  # log-probability of the first 8 tokens; less stays hidden
    max_file_kb: Positive = 2048  # larger files get no completions
    other_files: bool = True  # show the model parts of other files, too
    git_diff: bool = True  # and what has changed since the last commit
    prefetch: bool = True  # compute ahead what is likely to be asked next


class ChatConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The terminal app."""

    theme: str = "auto"  # dark, light, contrast, ansi, or one of Textual's; auto: by what the terminal can show
    mouse: bool = True  # off: the terminal selects text by itself
    motion: bool = True  # off: nothing moves that need not
    drafts: bool = False  # colour accepted drafts by who made them
    diff: Literal["auto", "unified", "split"] = "auto"  # auto: side by side where there is room
    reserve_tokens: Positive = 1024  # of the context, kept free for the answer
    paste_lines: Positive = 30  # a longer paste becomes an attachment
    command_seconds: Annotated[float, msgspec.Meta(gt=0)] = 120.0  # a command that `!` runs is ended after that
    keys: dict[str, str] = {}  # action: keys, such as drafts = "f2,ctrl+t"


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of it; `Config()` is a working configuration."""

    models: ModelsConfig = ModelsConfig()
    engine: EngineConfig = EngineConfig()
    daemon: DaemonConfig = DaemonConfig()
    sampling: SamplingConfig = SamplingConfig()
    ask: AskConfig = AskConfig()
    complete: CompleteConfig = CompleteConfig()
    editor: EditorConfig = EditorConfig()
    chat: ChatConfig = ChatConfig()


FRONT_ENDS = ("editor", "chat")  # tables that the daemon has no use for


def load(path: Path, without: Collection[str] = ()) -> Config:
    """Read the configuration file; a missing one means the defaults. without: tables that are not looked at.

    Raises ConfigError when it cannot be read, is not TOML, has an unknown key or a value of the wrong kind.
    """
    try:
        data = read_toml(path)
    except ConfigError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return Config()
        raise
    return convert({name: table for name, table in data.items() if name not in without}, Config, path)


Version = tuple[int, int, int] | None


def version(path: Path) -> Version:
    """Differs when a file has been written; None: there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_toml(path: Path) -> dict[str, Any]:
    """The file's tables. Raises ConfigError."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", MEND) from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "check that it is a readable file") from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The tables in a file's text. Raises ConfigError, also for a number with too many digits or too deep a nesting."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", MEND) from error


def convert(data: Mapping[str, object], into: type[_Struct], path: Path) -> _Struct:
    """The data as an instance of a frozen struct; every unknown key is named. Raises ConfigError."""
    unknown = list(unknown_keys(data, into))
    if unknown:
        names = ", ".join(key for key, _ in unknown)
        meant = "; ".join(f"{key}: did you mean {guess}?" for key, guess in unknown if guess)
        raise ConfigError(f"{path} has unknown keys: {names}", meant or "remove them; the README lists the known ones")
    try:
        return msgspec.convert(data, into)
    except msgspec.ValidationError as error:
        words = allowed(into, str(error))
        hint = f"it may be {' or '.join(words)}" if words else "the path after $ names the key"
        raise ConfigError(f"{path}: {error}", hint) from error


def unknown_keys(data: object, into: object, prefix: str = "") -> list[tuple[str, str]]:
    """Keys of the data that the struct does not have, each with the nearest known name or an empty string."""
    if not (isinstance(data, dict) and isinstance(into, type) and issubclass(into, msgspec.Struct)):
        return []
    fields = {field.name: field.type for field in msgspec.structs.fields(into)}
    found: list[tuple[str, str]] = []
    for key, value in data.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            found.append((prefix + key, prefix + near[0] if near else ""))
        else:
            found += unknown_keys(value, fields[key], f"{prefix}{key}.")
    return found


def allowed(into: type[msgspec.Struct], said: str) -> list[str]:
    """What may stand where msgspec, reading a struct, complains of a word: empty where it complains of something else.

    `said`: its message, such as "Invalid enum value 'x' - at `$.engine.speculation`".
    """
    if not said.startswith("Invalid enum value"):
        return []
    from msgspec import inspect

    kinds: list[object] = [inspect.type_info(into)]
    for name in re.findall(r"\.(\w+)|\[", said.rpartition(" - at `$")[2]):
        kinds = [inner for kind in _alternatives(kinds) for inner in _inside(kind, name)]
    found: list[str] = []
    for kind in _alternatives(kinds):
        if isinstance(kind, inspect.LiteralType):
            found += [f'"{word}"' for word in kind.values]
        elif isinstance(kind, (inspect.IntType, inspect.FloatType)):
            found.append("a number")
        elif isinstance(kind, inspect.StructType):
            found.append("an object")
    return list(dict.fromkeys(found))


def _alternatives(kinds: Iterable[object]) -> Iterator[object]:
    """Types without what wraps them: unions are their members."""
    from msgspec import inspect

    for kind in kinds:
        if isinstance(kind, inspect.UnionType):
            yield from _alternatives(kind.types)
        elif isinstance(kind, inspect.Metadata):
            yield from _alternatives([kind.type])
        else:
            yield kind


def _inside(kind: object, name: str) -> list[object]:
    """The types of the field with this name; of items, where there is none."""
    from msgspec import inspect

    if isinstance(kind, inspect.StructType):
        return [field.type for field in kind.fields if field.encode_name == name]
    return [kind.item_type] if isinstance(kind, inspect.ListType) and not name else []
