"""What the editors' files say of the server is what the server says of itself."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from paceline.commands import editors
from paceline.config import EditorConfig
from paceline.lsp import options, quiet
from paceline.lsp.suggestions import BEGINNING

EDITORS = Path(__file__).parents[3] / "lsp" / "editors"
PACKAGE = json.loads((EDITORS / "vscode/package.json").read_text("utf-8"))
SETTINGS = PACKAGE["contributes"]["configuration"]["properties"]
OURS = {"paceline.command", "paceline.explain"}  # the extension's own
NOT_FOR_VS_CODE = {"popup"}  # it shows ghost text


def test_vs_code_offers_each_setting_of_the_server_with_its_default():
    usual = msgspec.to_builtins(EditorConfig())
    given = {name.removeprefix("paceline."): each["default"] for name, each in SETTINGS.items() if name not in OURS}
    merged = options.merge([options.given("the editor's settings", given)])
    assert merged.problems == ()
    assert merged.editor == EditorConfig()
    assert len(given) == len(usual) - len(NOT_FOR_VS_CODE)


def test_the_program_that_vs_code_starts_is_no_workspace_s_to_say():
    assert SETTINGS["paceline.command"]["scope"] == "machine"


def test_every_command_of_the_extension_is_one_that_it_registers():
    source = (EDITORS / "vscode/src/extension.js").read_text("utf-8")
    registered = set(re.findall(r"^      (\w+): \(\) =>", source, re.MULTILINE))
    assert {each["command"].removeprefix("paceline.ui.") for each in PACKAGE["contributes"]["commands"]} <= registered


def test_every_silence_has_its_words_in_the_status_bar():
    source = (EDITORS / "vscode/src/status.js").read_text("utf-8")
    words = dict(re.findall(r'^  (\w+): "([^$"]+)",$', source, re.MULTILINE))
    assert words == {reason: text for reason, text in quiet.REASONS.items() if reason != "superseded"}


@pytest.mark.parametrize(
    "name", ["template.json", "settings.json", "initializationOptions.json", "clientSettings.json"]
)
def test_the_template_for_jetbrains_is_json(name):
    assert isinstance(json.loads((EDITORS / "jetbrains" / name).read_text("utf-8")), dict)


def test_zed_s_languages_all_have_an_identifier():
    table = options.configuration.read_toml(EDITORS / "zed/extension.toml")["language_servers"]["paceline"]
    assert set(table["languages"]) == set(table["language_ids"])


def test_no_plug_in_tells_anybody_to_install_what_is_not_published():
    for path in EDITORS.rglob("*"):
        if path.suffix in {".js", ".lua", ".el", ".rs", ".toml", ".md"}:
            assert "pip install paceline" not in path.read_text("utf-8"), path


def test_vs_code_says_of_the_threshold_what_the_server_compares_with_it():
    said = SETTINGS["paceline.threshold"]["description"]
    assert said.startswith(f"Sum of the log-probabilities of the first {BEGINNING} tokens")


def test_every_file_of_the_extension_is_installed():
    (vscode,) = (each for each in editors.known() if each.name == "vscode")
    installed = {source for step in vscode.step if step.kind == "file" for source in step.sources}
    assert {f"vscode/src/{path.name}" for path in (EDITORS / "vscode/src").iterdir()} <= installed


def test_every_file_among_a_person_s_own_says_whose_it_is_so_a_later_one_may_replace_it():
    steps = [step for each in editors.known() for step in each.step if step.kind == "file" and not step.own]
    unsaid = [name for step in steps for name in step.sources if "Paceline" not in (EDITORS / name).read_text()[:200]]
    assert steps and unsaid == []


def test_every_file_of_the_plug_in_for_neovim_is_put_there():
    (neovim,) = (each for each in editors.known() if each.name == "neovim")
    assert {Path(name).name for name in neovim.step[0].sources} == {path.name for path in EDITORS.glob("neovim/*.lua")}
