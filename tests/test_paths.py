"""Folders by the rules of the system, and a plain word where there are none."""

from pathlib import Path

import pytest

from paceline import paths
from paceline.errors import ConfigError

FOLDERS = {
    "XDG_CONFIG_HOME": paths.config_dir,
    "XDG_DATA_HOME": paths.data_dir,
    "XDG_CACHE_HOME": paths.cache_dir,
    "XDG_STATE_HOME": paths.state_dir,
}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_system_s_variables_are_followed(monkeypatch, tmp_path, name):
    monkeypatch.setenv(name, str(tmp_path))
    assert FOLDERS[name]() == tmp_path / "paceline"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_user_without_a_home_is_told_what_to_set(monkeypatch, name):
    def homeless(self):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(homeless))
    monkeypatch.setattr(Path, "expanduser", homeless)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(ConfigError, match="no home") as told:
        FOLDERS[name]()
    assert "HOME" in told.value.hint


def test_a_home_that_nobody_has_is_named_with_the_setting():
    with pytest.raises(ConfigError, match=r"models\.directory '~nobody-of-this-name/x'"):
        paths.expanded("~nobody-of-this-name/x", "models.directory")
