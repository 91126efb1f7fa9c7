"""Where Paceline keeps things, by the rules of each operating system (platformdirs)."""

import os
from pathlib import Path

import platformdirs

from paceline.errors import ConfigError

NAME = "paceline"


def expanded(path: str | Path, what: str = "the path") -> Path:
    """The path with `~` replaced by the home it means. Raises ConfigError, naming `what`, when that is nobody's."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(
            f"{what} {str(path)!r} begins with a home that does not exist", "write the whole path"
        ) from error


def config_dir() -> Path:
    """Configuration a person may edit; on Linux `$XDG_CONFIG_HOME/paceline`."""
    return platformdirs.user_config_path(NAME, appauthor=False)


def config_file() -> Path:
    """The configuration file: `$PACELINE_CONFIG` or `config.toml` in the configuration folder."""
    named = os.environ.get("PACELINE_CONFIG")
    return expanded(named) if named else config_dir() / "config.toml"


def user_catalogue_file() -> Path:
    """Models and pairs a person has added to ours."""
    return config_dir() / "catalogue.toml"


def data_dir() -> Path:
    """What is expensive to get again: the models; on Linux `$XDG_DATA_HOME/paceline`."""
    return platformdirs.user_data_path(NAME, appauthor=False)


def cache_dir() -> Path:
    """What can be made again: vocabulary fingerprints; on Linux `$XDG_CACHE_HOME/paceline`."""
    return platformdirs.user_cache_path(NAME, appauthor=False)


def state_dir() -> Path:
    """What was measured on this machine: decode-cost curves; on Linux `$XDG_STATE_HOME/paceline`."""
    return platformdirs.user_state_path(NAME, appauthor=False)
