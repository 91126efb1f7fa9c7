"""The catalogue: which model files there are, where they come from, and which of them make a pair.

Ours is `catalogue.toml` beside this file; a person's own file of the same format comes on top of it.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from paceline import paths
from paceline.config import Natural, Positive, convert, read_toml
from paceline.errors import ConfigError, ModelError

Role = Literal["chat", "infill"]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]

_REPOSITORY = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_NUMBER = re.compile(r"\{n(?::0(\d))?\}")
_Entry = TypeVar("_Entry", "ModelFile", "Pair")

# Bits a weight takes on disk, scales included (ggml's block layouts); Q4_K_M mixes Q4_K with some Q6_K.
_BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0, "Q8_0": 8.5, "Q6_K": 6.56, "Q5_K_M": 5.7, "Q4_K_M": 4.9, "Q4_1": 5.0}


class Carrier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Python packages whose wheels, joined in order, hold a model file byte for byte.

    In `package` and `member`, `{n}` stands for the part's number from 1, `{n:02}` for the same with two digits.
    """

    package: str
    version: str
    member: str  # path inside the wheel, relative to the package's folder
    parts: Positive = 1
    part_bytes: Natural = 0  # bytes of each part but the last; 0: not known, so resuming reads the parts before again

    def package_name(self, n: int) -> str:
        """The n-th package, as an index knows it."""
        return _numbered(self.package, n)

    def member_path(self, n: int) -> str:
        """Where the n-th wheel holds its bytes; the folder is named as the package, with underscores (PEP 427)."""
        folder = re.sub(r"[-_.]+", "_", self.package_name(n))
        return f"{folder}/{_numbered(self.member, n)}"


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One GGUF file: on the Hub (`repository` and `file`) or the person's own (`path`)."""

    id: Name
    repository: str = ""  # owner/name on the Hub
    revision: str = "main"  # commit, tag or branch
    file: str = ""  # path inside the repository
    bytes: Positive | None = None
    sha256: Digest | None = None
    licence: str = ""
    parameters: Natural = 0  # weights in the file; 0: not known
    context: Natural = 0  # tokens the model was trained on; 0: not known
    fim: str = ""  # family of the fill-in-the-middle format; "" where it has none or none is known
    quantisation: str = ""
    carriers: tuple[Carrier, ...] = ()
    path: str = ""  # a local file; nothing is fetched
    note: str = ""  # what a person should know before using it

    @property
    def size_estimate(self) -> int:
        """Bytes on disk: exact where known, else parameters times the quantisation's bits; 0 where nothing is known."""
        if self.bytes is not None:
            return self.bytes
        return int(self.parameters * _BITS.get(self.quantisation.upper(), 0.0) / 8)


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A target model with its draft model, and what the two are for."""

    id: Name
    target: str  # id of a model
    draft: str = ""  # id of a model; "" for none
    roles: tuple[Role, ...] = ("chat", "infill")
    audience: str = ""  # for whom, one sentence
    recommended: bool = False  # the one to offer first among pairs of its size


@dataclass(frozen=True)
class Catalogue:
    """All known models and pairs by id, in the order of the files that name them."""

    models: dict[str, ModelFile]
    pairs: dict[str, Pair]

    def model(self, name: str) -> ModelFile:
        """The model of this id. Raises ModelError, naming near ones."""
        if name not in self.models:
            raise ModelError(f"no model is called {name!r}", _hint(name, self.models, "paceline models list"))
        return self.models[name]

    def pair(self, name: str) -> Pair:
        """The pair of this id. Raises ModelError, naming near ones."""
        if name not in self.pairs:
            raise ModelError(f"no pair is called {name!r}", _hint(name, self.pairs, "paceline models list"))
        return self.pairs[name]

    def files(self, pair: Pair) -> tuple[ModelFile, ...]:
        """Target, then draft if there is one."""
        return tuple(self.model(name) for name in (pair.target, pair.draft) if name)

    def resolve(self, spec: str, folder: Path = Path()) -> ModelFile:
        """What a person means by a catalogue id, the path of a GGUF, or `owner/repository:file.gguf`.

        folder: where relative paths begin. An existing file wins over a Hub name that reads the same. Raises
        ModelError for anything else.
        """
        if spec in self.models:
            return self.models[spec]
        local = folder / paths.expanded(spec)
        if spec and _is_file(local):
            return local_file(local)
        repository, colon, file = spec.partition(":")
        if colon and _REPOSITORY.fullmatch(repository):
            return self._on_hub(repository, file)
        if colon and "/" in repository and not spec.startswith(("/", "./", "../", "~")):
            raise ModelError(f"{repository!r} cannot be a Hub repository", "write owner/repository:file.gguf")
        if ("/" in spec or "\\" in spec) and spec.lower().endswith(".gguf"):
            return local_file(local)
        raise ModelError(f"no model is called {spec!r}", _hint(spec, self.models, "paceline models list"))

    def _on_hub(self, repository: str, file: str) -> ModelFile:
        fault = file_name_fault(file)
        if fault:
            raise ModelError(
                f"{file!r} cannot be the name of a model file: {fault}", "write owner/repository:file.gguf"
            )
        for model in self.models.values():  # ours knows the hash and where else the bytes are to be had
            if (model.repository, model.file) == (repository, file):
                return model
        return ModelFile(id=_id_of(Path(file).stem), repository=repository, file=file)


def load(user_file: Path | None = None) -> Catalogue:
    """Our catalogue with the person's own (`paths.user_catalogue_file()`, or the file named) on top of it.

    Raises ConfigError that names file and entry: unknown key, wrong value, duplicate, dangling reference.
    """
    with resources.as_file(resources.files("paceline.models") / "catalogue.toml") as ours:
        models, pairs = _read(ours)
    theirs = paths.user_catalogue_file() if user_file is None else user_file
    if theirs.exists():
        more_models, more_pairs = _read(theirs)
        models, pairs = models | more_models, pairs | more_pairs
    for pair in pairs.values():
        for role, name in (("target", pair.target), ("draft", pair.draft)):
            if name not in models and not (role == "draft" and name == ""):
                raise ConfigError(
                    f"{theirs if theirs.exists() else 'the catalogue'}: pair {pair.id!r} names the {role} {name!r}, "
                    "which is no model",
                    _hint(name, models, "add a [[model]] with that id"),
                )
    return Catalogue(models, pairs)


def local_file(path: Path) -> ModelFile:
    """A model file of the person's own, used where it lies."""
    return ModelFile(id=_id_of(path.stem), path=str(path.absolute()), file=path.name)


def file_name_fault(name: str) -> str:
    """Why this name inside a repository is refused, or "". It must not lead out of the store on any system."""
    if not name.lower().endswith(".gguf"):
        return "it does not end in .gguf"
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in name):
        return "it has control characters"
    if "\\" in name or ":" in name:
        return "it has a backslash or a colon"
    parts = name.split("/")
    if any(part in ("", ".", "..") or part != part.strip() for part in parts):
        return "it is absolute, or has an empty, '.' or '..' part"
    if any(len(part.encode("utf-8", "surrogateescape")) > 200 for part in parts):
        return "it is too long"
    return ""


def _read(path: Path) -> tuple[dict[str, ModelFile], dict[str, Pair]]:
    data = read_toml(path)
    unknown = [key for key in data if key not in ("model", "pair")]
    if unknown:
        raise ConfigError(
            f"{path} has unknown keys: {', '.join(unknown)}", "a catalogue has [[model]] and [[pair]] only"
        )
    models = {entry.id: _checked(entry, path) for entry in _entries(data, "model", ModelFile, path)}
    return models, {entry.id: entry for entry in _entries(data, "pair", Pair, path)}


def _entries(data: dict[str, Any], key: str, into: type[_Entry], path: Path) -> Iterable[_Entry]:
    entries = data.get(key, [])
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: {key} is one table", f"write [[{key}]] with two brackets")
    seen: set[str] = set()
    for number, entry in enumerate(entries, 1):
        name = f"{key} {entry.get('id', number)!r}" if isinstance(entry, dict) else f"{key} {number}"
        if not isinstance(entry, dict):
            raise ConfigError(f"{path}: {name} is not a table", f"write [[{key}]] and its keys below")
        try:
            made: _Entry = convert(entry, into, path)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error.message}", error.hint) from error
        if made.id in seen:
            raise ConfigError(f"{path}: {name} is there twice", "give each its own id")
        seen.add(made.id)
        yield made


def _checked(model: ModelFile, path: Path) -> ModelFile:
    """The entry, its local path made absolute, if it makes sense; msgspec has checked the kinds of its values."""
    where = f"{path}: model {model.id!r}"
    if model.path:
        if model.repository or model.carriers:
            raise ConfigError(f"{where} has both a path and a repository or carriers", "keep one of them")
        local = path.parent.absolute() / paths.expanded(model.path)
        return msgspec.structs.replace(model, path=str(local), file=local.name)
    if not _REPOSITORY.fullmatch(model.repository):
        raise ConfigError(f"{where} has no usable repository: {model.repository!r}", "write owner/name, or give a path")
    fault = file_name_fault(model.file)
    if fault:
        raise ConfigError(f"{where} has no usable file {model.file!r}: {fault}", "name a .gguf inside the repository")
    if not re.fullmatch(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/-]*", model.revision):
        raise ConfigError(f"{where} has no usable revision: {model.revision!r}", "a commit, a tag or a branch")
    if model.carriers and (model.bytes is None or model.sha256 is None):
        raise ConfigError(
            f"{where} has carriers but not both bytes and sha256", "carriers are trusted only by their hash"
        )
    for carrier in model.carriers:
        _check_carrier(carrier, where)
    return model


def _check_carrier(carrier: Carrier, where: str) -> None:
    """What goes into pip's command line and into a path must be plain names."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", carrier.package_name(1)):
        raise ConfigError(f"{where}: {carrier.package!r} is no package name", "letters, digits, '-', '_', '.' and {n}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+!_-]*", carrier.version):
        raise ConfigError(f"{where}: {carrier.version!r} is no version", "write one exact version, such as 0.9.0")
    if carrier.parts > 1 and carrier.package_name(1) == carrier.package_name(2):
        raise ConfigError(f"{where}: {carrier.parts} parts of the one package {carrier.package!r}", "put {n} into it")


def _numbered(template: str, n: int) -> str:
    return _NUMBER.sub(lambda match: f"{n:0{int(match.group(1) or 1)}}", template)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or a NUL in it: certainly none of ours
        return False


def _id_of(text: str) -> str:
    """A usable id out of any text."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip("._-") or "model"


def _hint(name: str, known: Iterable[str], otherwise: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"see: {otherwise}"
