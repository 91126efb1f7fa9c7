"""`paceline setup`: from a bare machine to a measured pair; and `ensure`, which other commands call."""

import hashlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
import tomlkit

from paceline import config as configuration
from paceline import console
from paceline.commands.setup import ensure, recommend, remember_pair
from paceline.config import Config, ModelsConfig
from paceline.errors import ConfigError, ExitCode, ModelError
from paceline.models import catalogue
from paceline.models.hardware import Hardware
from paceline.models.store import Store
from support.home import ONE_THREAD, Home
from support.http_server import Hub, Served, running_hub
from support.tiny_model import SPARE, write_tiny_model

GB = 1_000_000_000


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    return Home(tmp_path, monkeypatch, capsys)


@pytest.fixture
def hub():
    with running_hub() as running:
        yield running


def offer(home: Home, hub: Hub, *, recommended: bool = True) -> None:
    """Put a pair on the server, and let it be what this machine gets recommended."""
    for role, noise in (("target", 0.0), ("draft", 0.05)):
        content = write_tiny_model(home.root / "upload.gguf", noise=noise).read_bytes()
        hub.add(f"owner/{role}:{role}.gguf", Served(content))
        digest = hashlib.sha256(content).hexdigest()
        home.add(
            id=f"hub-{role}", repository=f"owner/{role}", file=f"{role}.gguf", bytes=len(content), sha256=digest,
            licence="Apache-2.0", parameters=1,
        )  # fmt: skip
    if not recommended:
        home.add_pair(id="tiny", target="hub-target", draft="hub-draft")
        return
    for pair in catalogue.load(Path("none")).pairs.values():
        home.add_pair(id=pair.id, target="hub-target", draft="hub-draft", recommended=True)


def machine(**changes) -> Hardware:
    facts = {
        "system": "Linux",
        "machine": "x86_64",
        "cpu": "a processor",
        "physical_cores": 2,
        "usable_cores": 2,
        "memory_total": 16 * GB,
        "memory_available": 14 * GB,
        "disk_free": 100 * GB,
        "gpus": (),
    }
    return Hardware(**{**facts, **changes})


# --- the whole way ----------------------------------------------------------------------------------------------------


def test_a_named_pair_is_checked_planned_measured_and_remembered(home):
    home.tiny_pair()
    ended = home.run("setup", "--pair", "tiny")
    assert ended.code == 0
    assert configuration.load(home.settings).models.pair == "tiny"
    for part in (
        "processor",
        "memory",
        "disk",
        "GPU",
        "tiny-target",
        "MIT",
        "tokens of context",
        "target ms",
        "tokens/s",
    ):
        assert part in ended.out, part
    assert "paceline ask" in ended.out.splitlines()[-1]
    assert len(list(home.measured.glob("curve-*.json"))) == 2


def test_what_a_person_wrote_in_the_configuration_stays_as_it_is(home):
    home.tiny_pair()
    mine = '# mine\n[engine]  # fast\nthreads = 1 # one\n\n[models]\n# where they are\ndirectory = ""\n'
    home.write(mine)
    assert home.run("setup", "--pair", "tiny").code == 0
    after = home.settings.read_text()
    assert after.replace('pair = "tiny"\n', "") == mine and configuration.load(home.settings).models.pair == "tiny"


def test_the_recommended_pair_is_downloaded_without_a_question_where_nobody_can_answer(home, hub):
    offer(home, hub)
    home.use(hub)
    ended = home.run("setup")
    assert ended.code == 0
    assert "Recommended: " in ended.out and "to be downloaded" in ended.out and "Apache-2.0" in ended.out
    assert "no terminal to ask on" in ended.err
    assert sorted(path.name for path in home.store.glob("*/*.gguf")) == ["draft.gguf", "target.gguf"]
    assert configuration.load(home.settings).models.pair in catalogue.load().pairs


def test_the_second_time_no_network_is_used_and_the_configured_pair_stays(home, hub):
    offer(home, hub)
    home.use(hub)
    assert home.run("setup", "--yes").code == 0
    before, asked = home.settings.read_bytes(), len(hub.requests)
    home.forbid_network()
    ended = home.run("setup")
    assert ended.code == 0 and len(hub.requests) == asked and home.settings.read_bytes() == before
    assert "to be downloaded" not in ended.out


def test_yes_is_said_to_be_taken_for_an_answer(home, hub, monkeypatch):
    offer(home, hub)
    home.use(hub)
    monkeypatch.setattr(console, "can_ask", lambda: True)
    ended = home.run("setup", "--yes")
    assert ended.code == 0 and "as --yes says" in ended.err and "[Y/n]" not in ended.err


def test_a_no_on_the_terminal_changes_nothing_and_tells_how_to_choose(home, hub, monkeypatch):
    offer(home, hub)
    home.use(hub)
    monkeypatch.setattr(console, "can_ask", lambda: True)
    ended = home.run("setup", stdin="n\n")
    assert ended.code == 0 and "[Y/n]" in ended.err and "--pair" in ended.out
    assert home.settings.read_text() == ONE_THREAD and hub.requests == [] and not home.store.exists()


def test_enter_on_the_terminal_means_yes(home, hub, monkeypatch):
    offer(home, hub)
    home.use(hub)
    monkeypatch.setattr(console, "can_ask", lambda: True)
    assert home.run("setup", stdin="\n").code == 0 and configuration.load(home.settings).models.pair


def test_on_a_real_terminal_it_waits_for_the_answer(home, hub):
    offer(home, hub)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "paceline", "setup"], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
        env={**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}, text=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"[Y/n]" not in seen:
        seen += os.read(ours, 1000)
    os.write(ours, b"no\n")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0 and "Nothing was changed" in out and hub.requests == []


def test_measuring_again_changes_nothing_else(home):
    home.tiny_pair()
    home.choose()
    before = home.settings.read_bytes()
    ended = home.run("setup", "--measure-only")
    assert ended.code == 0 and "target ms" in ended.out and home.settings.read_bytes() == before
    assert len(list(home.measured.glob("curve-*.json"))) == 2


def test_on_a_busy_machine_the_measurement_is_doubted(home, monkeypatch):
    home.tiny_pair()
    home.choose()
    monkeypatch.setattr("paceline.daemon.assembly.TOY", 0.0)
    monkeypatch.setattr("paceline.daemon.assembly.implausible", lambda target, draft=None: "")
    for busy in (True, False):
        monkeypatch.setattr("paceline.daemon.assembly.busy", lambda busy=busy: busy)
        out = home.run("setup", "--measure-only").out
        assert ("other programs kept the machine busy" in out) is busy


def test_there_is_nothing_to_measure_before_models_are_chosen(home):
    assert home.run("setup", "--measure-only").failed(ExitCode.MODEL)


# --- what can go wrong ------------------------------------------------------------------------------------------------


def test_offline_says_what_is_missing_and_creates_nothing(home, hub):
    offer(home, hub)
    home.use(hub)
    ended = home.run("setup", "--offline")
    assert ended.failed(ExitCode.MODEL) and "--offline" in ended.err and "paceline models pull hub-target" in ended.err
    assert hub.requests == [] and not home.store.exists() and home.settings.read_text() == ONE_THREAD


def test_the_configuration_can_forbid_downloads(home, hub):
    offer(home, hub)
    home.use(hub)
    home.write("[models]\noffline = true\n")
    ended = home.run("setup", "--yes")
    assert ended.failed(ExitCode.MODEL) and "models.offline" in ended.err and hub.requests == []
    assert "downloading" not in ended.err


def test_a_broken_configuration_is_named_and_not_overwritten(home):
    home.tiny_pair()
    home.write("[models\n")
    ended = home.run("setup", "--pair", "tiny")
    assert (
        ended.failed(ExitCode.CONFIG) and str(home.settings) in ended.err and home.settings.read_text() == "[models\n"
    )


def test_an_unknown_pair_is_answered_with_near_ones(home):
    ended = home.run("setup", "--pair", "qwen2.5-coder-1.5")
    assert ended.failed(ExitCode.MODEL) and "did you mean qwen2.5-coder-1.5b" in ended.err and ended.out == ""


def test_a_missing_file_is_named(home):
    target, _ = home.tiny_pair()
    target.unlink()
    ended = home.run("setup", "--pair", "tiny")
    assert ended.failed(ExitCode.MODEL) and str(target) in ended.err


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"MZ" * 100, "not a GGUF"), (b"", "empty"), (None, "truncated")],
    ids=["not a GGUF", "empty", "truncated"],
)
def test_a_file_that_is_no_model_is_refused_before_anything_is_remembered(home, content, reason):
    target, _ = home.tiny_pair()
    target.write_bytes(target.read_bytes()[:-1000] if content is None else content)
    ended = home.run("setup", "--pair", "tiny")
    assert ended.failed(ExitCode.MODEL) and reason in ended.err and home.settings.read_text() == ONE_THREAD


def test_a_draft_with_other_tokens_is_taken(home):
    home.tiny_pair(token_changes={SPARE: "elsewhere"})
    assert home.run("setup", "--pair", "tiny").code == 0


def test_a_draft_that_cannot_write_every_text_is_refused_with_the_token(home):
    home.tiny_pair(token_changes={0xF0: "elsewhere"})
    ended = home.run("setup", "--pair", "tiny")
    assert ended.failed(ExitCode.MODEL) and "'elsewhere'" in ended.err and "models.draft" in ended.err
    assert home.settings.read_text() == ONE_THREAD


def test_a_draft_whose_vocabulary_is_only_padded_is_taken(home):
    home.tiny_pair(extra_tokens=10)
    assert home.run("setup", "--pair", "tiny").code == 0


def test_a_pair_cannot_be_chosen_against_a_configured_target(home):
    target, _ = home.tiny_pair()
    home.write(f'[models]\ntarget = "{target}"\n')
    ended = home.run("setup", "--pair", "tiny")
    assert ended.failed(ExitCode.CONFIG) and "models.target" in ended.err


def test_a_configured_target_is_measured_and_kept(home):
    target, _ = home.tiny_pair()
    mine = f'{ONE_THREAD}[models]\ntarget = "{target}"\n'
    home.write(mine)
    ended = home.run("setup")
    assert ended.code == 0 and str(target) in ended.out and home.settings.read_text() == mine


def test_a_full_disk_is_said_before_anything_is_asked_or_fetched(home, hub, monkeypatch):
    offer(home, hub)
    home.use(hub)
    monkeypatch.setattr("paceline.models.hardware.disk_free", lambda folder: 100_000)
    ended = home.run("setup", "--pair", "qwen2.5-coder-1.5b")
    assert ended.failed(ExitCode.RESOURCE) and "models.directory" in ended.err and hub.requests == []


# --- first use --------------------------------------------------------------------------------------------------------


def test_first_use_sets_up_and_leaves_stdout_to_the_answer(home, hub, capsys):
    offer(home, hub)
    home.use(hub)
    said: list[str] = []
    config = ensure(configuration.load(home.settings), said.append)
    assert config.models.pair and config == configuration.load(home.settings)
    assert "target ms" in "\n".join(said) and capsys.readouterr().out == ""


def test_first_use_that_is_declined_is_no_answer(home, hub, monkeypatch):
    import io

    offer(home, hub)
    home.use(hub)
    monkeypatch.setattr(console, "can_ask", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    with pytest.raises(click.exceptions.Exit) as ended:
        ensure(configuration.load(home.settings), lambda _: None)
    assert ended.value.exit_code == ExitCode.FAILURE


def test_when_all_is_there_nothing_is_done(home):
    home.tiny_pair()
    home.choose()
    said: list[str] = []
    config = configuration.load(home.settings)
    assert ensure(config, said.append, offline=True) is config and said == [] and not home.measured.exists()


def test_models_that_are_named_but_missing_are_fetched(home, hub):
    offer(home, hub, recommended=False)
    home.choose()
    home.use(hub)
    config = configuration.load(home.settings)
    assert ensure(config, lambda _: None) is config
    assert len(list(home.store.glob("*/*.gguf"))) == 2
    asked = len(hub.requests)
    ensure(config, lambda _: None)
    assert len(hub.requests) == asked


def test_models_that_are_named_but_missing_are_not_fetched_offline(home, hub):
    offer(home, hub, recommended=False)
    home.choose()
    home.use(hub)
    with pytest.raises(ModelError) as error:
        ensure(configuration.load(home.settings), lambda _: None, offline=True)
    assert "--offline" in error.value.message and hub.requests == []


# --- choosing ---------------------------------------------------------------------------------------------------------


def pick(tmp_path, *, offline: bool = False, **changes) -> str:
    return recommend(catalogue.load(Path("none")), Store(tmp_path), machine(**changes), [], offline=offline)[0]


def place(tmp_path, name: str) -> None:
    file = catalogue.load(Path("none")).model(name)
    path = Store(tmp_path).path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        out.truncate(file.size_estimate)  # a hole, which takes no space


def test_two_cores_get_the_small_pair(tmp_path, monkeypatch):
    monkeypatch.setattr("paceline.models.hub.offline", lambda: False)
    assert pick(tmp_path) == "qwen2.5-coder-1.5b"


def test_a_tiny_machine_gets_a_smaller_one_that_can_do_all(tmp_path, monkeypatch):
    monkeypatch.setattr("paceline.models.hub.offline", lambda: False)
    assert pick(tmp_path, usable_cores=1, memory_total=4 * GB, memory_available=3 * GB) == "qwen2.5-coder-0.5b"


def test_what_is_here_already_needs_no_more_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("paceline.models.hub.offline", lambda: False)
    assert pick(tmp_path, disk_free=GB) == "qwen2.5-coder-0.5b"
    place(tmp_path, "qwen2.5-coder-1.5b-instruct-q4_k_m")
    assert pick(tmp_path, disk_free=GB) == "qwen2.5-coder-1.5b"


def test_offline_a_pair_that_is_here_is_taken(tmp_path):
    place(tmp_path, "qwen2.5-coder-0.5b-instruct-q4_k_m")
    assert pick(tmp_path, offline=True) == "qwen2.5-coder-0.5b"


# --- remembering ------------------------------------------------------------------------------------------------------


def test_a_new_file_is_made_with_its_folders(tmp_path):
    path = tmp_path / "a/b/config.toml"
    remember_pair(path, "some-pair")
    assert configuration.load(path) == Config(models=ModelsConfig(pair="some-pair"))


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# only a comment",
        "[ask]\nmax_tokens = 5",
        '[models]\npair = "old" # since May\noffline = true\n',
        "models = { offline = true }\n",
        "models.offline = true\n",
        "[models]\r\noffline = true\r\n# end\r\n",
    ],
)
def test_every_other_key_and_comment_stays(tmp_path, before):
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    remember_pair(path, "new")
    old, new = (tomlkit.parse(text).unwrap() for text in (before, path.read_bytes().decode()))
    assert new == {**old, "models": {**old.get("models", {}), "pair": "new"}}
    for line in before.replace('"old"', '"new"').replace("{ offline = true }", "").splitlines():
        assert line in path.read_bytes().decode()


def test_a_link_stays_a_link_and_the_mode_is_kept(tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    real.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    remember_pair(link, "new")
    assert link.is_symlink() and 'pair = "new"' in real.read_text() and real.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_made_is_an_error_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as error:
        remember_pair(tmp_path / "file/config.toml", "new")
    assert 'pair = "new"' in error.value.hint
