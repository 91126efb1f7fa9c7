"""The README tells the truth about commands, configuration and exit codes."""

import re
import sys
from pathlib import Path

import msgspec
import pytest

from paceline.cli import COMMANDS
from paceline.config import Config
from paceline.errors import ExitCode

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()
