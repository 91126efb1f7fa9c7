"""Which model files the configuration means, and where they are. Loads no engine, so that asking is quick."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline import paths
from paceline.config import Config
from paceline.errors import ConfigError
from paceline.models import catalogue, download
from paceline.models.catalogue import Catalogue, ModelFile
from paceline.models.progress import Once, Progress
from paceline.models.store import Store

MakeProgress = Callable[[str], Progress]


@dataclass(frozen=True)
class PairFiles:
    """The model files that the configuration names."""

    target: ModelFile
    draft: ModelFile | None

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """Target, then draft if there is one."""
        return (self.target,) if self.draft is None else (self.target, self.draft)


def store_of(config: Config) -> Store:
    """The folder of models: `models.directory`, or `models` in our data folder. Raises ConfigError."""
    folder = config.models.directory
    return Store(_base() / paths.expanded(folder, "models.directory") if folder else paths.data_dir() / "models")


def _base() -> Path:
    """Relative paths in the configuration begin at its file, whatever folder a command, or the daemon, runs in."""
    return paths.config_file().absolute().parent


def pair_files(config: Config, known: Catalogue | None = None) -> PairFiles | None:
    """The files the configuration names; None when it names none yet. Raises ConfigError, ModelError."""
    known = known or catalogue.load()
    models = config.models
    if not (models.pair or models.target):
        return None
    pair = known.pair(models.pair) if models.pair else None
    target = known.resolve(models.target, _base()) if models.target else None
    if target is None:
        if pair is None:
            raise ConfigError("no model is chosen", "run `paceline setup`")
        target = known.model(pair.target)
    draft = models.draft or (pair.draft if pair and not models.target else "")
    return PairFiles(target, None if draft in ("", "none") else known.resolve(draft, _base()))


def fetch(files: PairFiles, config: Config, progress: MakeProgress, *, offline: bool = False) -> list[Path]:
    """The files' paths, downloaded where they are missing. Raises NetworkError, ModelError, ResourceError."""
    store, said = store_of(config), set[str]()
    return [
        download.fetch(file, store, offline=offline or config.models.offline, progress=Once(progress(file.id), said))
        for file in files.files
    ]
