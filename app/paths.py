"""Where Paceline keeps things, by the rules of each operating system (platformdirs)."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import platformdirs

from paceline.errors import ConfigError

NAME = "paceline"
USE_ANOTHER = "set XDG_RUNTIME_DIR to a folder that belongs to you alone (mode 0700)"


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
    return _of_person(platformdirs.user_config_path)


def config_file() -> Path:
    """The configuration file: `$PACELINE_CONFIG` or `config.toml` in the configuration folder."""
    named = os.environ.get("PACELINE_CONFIG")
    return expanded(named) if named else config_dir() / "config.toml"


def user_catalogue_file() -> Path:
    """Models and pairs a person has added to ours."""
    return config_dir() / "catalogue.toml"


def data_dir() -> Path:
    """What is expensive to get again: the models; on Linux `$XDG_DATA_HOME/paceline`."""
    return _of_person(platformdirs.user_data_path)


def cache_dir() -> Path:
    """What can be made again: vocabulary fingerprints; on Linux `$XDG_CACHE_HOME/paceline`."""
    return _of_person(platformdirs.user_cache_path)


def state_dir() -> Path:
    """What was measured on this machine: decode-cost curves; on Linux `$XDG_STATE_HOME/paceline`."""
    return _of_person(platformdirs.user_state_path)


def runtime_dir() -> Path:
    """What lives as long as a session: the daemon's socket; on Linux `$XDG_RUNTIME_DIR/paceline`.

    Where the system has no such folder it is one in the folder for temporary files, which others may have made first:
    whoever uses it has to check whose it is. Raises ConfigError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs warns of that on every start
        try:
            return _of_person(platformdirs.user_runtime_path)
        except OSError as error:
            raise ConfigError(f"no folder for the daemon's socket: {error}", USE_ANOTHER) from error


def _of_person(where: Callable[..., Path]) -> Path:
    """A folder of platformdirs. Raises ConfigError for a user without a home, as containers may have."""
    try:
        found = where(NAME, appauthor=False)
    except RuntimeError as error:
        raise ConfigError("this user has no home folder", "set HOME, or XDG_CONFIG_HOME and its like") from error
    if "~" in found.parts:
        raise ConfigError("this user has no home folder", "set HOME, or XDG_CONFIG_HOME and its like")
    return found
