"""The README tells the truth about commands, configuration and exit codes."""

import re
import sys
from pathlib import Path

import msgspec
import pytest

from paceline.cli import COMMANDS
from paceline.config import Config
from paceline.errors import ExitCode
from paceline.tui import keymap, themes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_configuration_in_the_readme_is_the_default_one_key_by_key():
    shown = tomllib.loads(re.search(r"<!-- defaults -->\n```toml\n(.*?)```", README, re.DOTALL)[1])
    assert shown == msgspec.json.decode(msgspec.json.encode(Config()))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme(name):
    assert f"paceline {name}" in README


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_in_the_readme(code):
    assert re.search(rf"\b{code.value} [a-z]", README.split("Exit codes:")[1])


def test_the_two_commands_are_what_continuous_integration_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert README.count('\npip install . && paceline ask "') == 1
    assert README.count("\npip install '.[test]' && pytest\n") == 1
    assert "^pip install \\. && paceline ask " in script and "pytest$" in script


def test_contributors_change_what_they_test_and_continuous_integration_does_what_they_are_told():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert CONTRIBUTING.count("\npython3 -m venv .venv && .venv/bin/pip install -e '.[dev]'\n") == 1
    assert len(re.findall(r"^rm -rf build && pip install .* && mypy -p paceline$", CONTRIBUTING, re.MULTILINE)) == 1
    assert "pip install -q -e '.[dev]'" in script and "^rm -rf build && pip install .*mypy -p paceline$" in script


def test_all_actions_of_the_conversation_are_in_the_readme_and_those_of_other_places_that_it_names_exist():
    told = README.split("Actions under `[chat.keys]`: ")[1].split("\n")[0]
    usual = keymap.actions()
    assert set(re.findall(r"\w+", told.split(".")[0])) == {
        name.removeprefix("chat.") for name in usual if name.startswith("chat.")
    }
    assert set(re.findall(r"`(\w+\.\w+)`", told)) <= set(usual)


def test_the_themes_of_the_readme_are_those_that_are_offered_first():
    for name in themes.ABOUT:
        assert re.search(rf"^theme = .*\b{name}\b", README, re.MULTILINE)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
