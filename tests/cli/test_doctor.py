"""`paceline doctor`: a healthy home has no problem, and every fault is found with a way to mend it."""

import json
import re
import subprocess
import sys

import pytest

from paceline.commands import checks
from paceline.errors import ExitCode
from paceline.models.hardware import GPU
from support.api_server import chat_answer, infill_answer, json_reply, llama_server, running_api, with_model
from support.home import ONE_THREAD, Home
from support.real_daemon import real_daemon
from support.tiny_model import SPARE, write_tiny_model


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    return Home(tmp_path, monkeypatch, capsys)


def examine(home: Home, *options: str) -> dict[str, dict]:
    """The checks by name; of several with one name, the worst."""
    ended = home.run("doctor", "--json", *options)
    whole = json.loads(ended.out)
    worst: dict[str, dict] = {}
    order = ["ok", "warning", "problem"]
    for check in whole["checks"]:
        known = worst.get(check["name"])
        if known is None or order.index(check["verdict"]) > order.index(known["verdict"]):
            worst[check["name"]] = check
    problems = any(check["verdict"] == "problem" for check in whole["checks"])
    assert whole["ok"] is not problems and ended.code == (ExitCode.FAILURE if problems else ExitCode.OK)
    for check in whole["checks"]:
        assert check["verdict"] == "ok" or check["hint"], f"{check['name']} names no next step"
    return worst


def verdicts(found: dict[str, dict]) -> set[str]:
    return {check["verdict"] for check in found.values()}


def test_a_daemon_is_looked_for_and_none_is_started(home):
    found = examine(home)["daemon"]
    assert found["verdict"] == "ok"
    assert "the next request starts one" in found["found"]
    assert not list((home.root / "run").rglob("*.sock"))


def test_after_setup_all_is_well(home):
    home.tiny_pair()
    home.run("setup", "--pair", "tiny")
    found = examine(home)
    assert verdicts(found) <= {"ok"} or {name for name, c in found.items() if c["verdict"] != "ok"} == {"GPU"}
    assert {"packages", "config", "catalogue", "daemon", "store", "target", "draft", "llama.cpp", "GPU", "plan", "pair",
            "chat", "infilling", "costs", "self-test", "completion"} == set(found)  # fmt: skip
    assert "answer" in found["self-test"]["found"]
    assert re.search(r"goes on with `.+`; it took \d+\.\d s$", found["completion"]["found"])
    assert "tokens/s" in found["costs"]["found"]


def test_people_get_a_line_for_each_check_and_a_sum(home):
    home.tiny_pair()
    home.run("setup", "--pair", "tiny")
    ended = home.run("doctor")
    assert ended.code == 0 and ended.err == ""
    lines = ended.out.splitlines()
    assert lines[0].startswith("packages   ok") and lines[-1].startswith("0 problems, ")
    assert any("tokens of context, of the" in line for line in lines), "the plan comes with its reasons"
    assert "\x1b" not in ended.out


def test_details_are_shown_on_demand(home):
    assert "numpy" not in home.run("doctor").out and "numpy" in home.run("doctor", "-v").out


def test_before_setup_the_next_step_is_setup(home):
    found = examine(home)
    assert found["models"]["verdict"] == "problem" and "paceline setup" in found["models"]["hint"]
    assert "plan" not in found and "self-test" not in found


def test_a_broken_configuration_is_one_problem_and_the_other_checks_go_on(home):
    home.write("[models]\npear = 1\n")
    found = examine(home)
    assert found["config"]["verdict"] == "problem" and "models.pair" in found["config"]["hint"]
    assert found["llama.cpp"]["verdict"] == "ok"
    assert "models" not in found, "what the defaults would give is not what the person has"


def test_values_of_the_app_that_mean_nothing_are_warnings_each(home):
    home.write('[chat]\ntheme = "solarised"\n[chat.keys]\nfoo = "f9"\ndrafts = "ctrl-t"\n')
    said = [line for line in home.run("doctor", "--no-load").out.splitlines() if line.startswith("config")]
    assert [line.split()[1] for line in said] == ["warning"] * 3
    assert '"solarised"' in said[0] and '"foo"' in said[1] and "mean ctrl+t?" in said[2]
    assert examine(home, "--no-load")["llama.cpp"]["verdict"] == "ok"


def test_a_broken_catalogue_is_a_problem(home):
    home.catalogue.write_text("[[model]]\n")
    assert examine(home)["catalogue"]["verdict"] == "problem"


def test_a_pair_nobody_knows_is_a_problem(home):
    home.choose("tinny")
    assert "tinny" in examine(home)["models"]["found"]


def test_a_missing_model_is_named_with_the_command_that_gets_it(home):
    home.choose("qwen2.5-coder-0.5b")
    found = examine(home)
    assert found["target"]["hint"] == "paceline models pull qwen2.5-coder-0.5b-instruct-q4_k_m" and "plan" not in found


def test_a_model_placed_by_hand_is_to_be_verified(home):
    home.add(id="mine", repository="owner/repo", file="mine.gguf")
    home.write(f'{ONE_THREAD}[models]\ntarget = "mine"\n')
    (home.store / "owner--repo").mkdir(parents=True)
    write_tiny_model(home.store / "owner--repo/mine.gguf")
    found = examine(home, "--no-load")
    assert found["target"]["verdict"] == "warning" and found["target"]["hint"] == "paceline models verify mine"


@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("damage", [b"nonsense" * 10, None], ids=["not a GGUF", "truncated"])
def test_a_damaged_file_is_a_problem_and_is_not_loaded(home, role, damage):
    target, draft = home.tiny_pair()
    home.choose()
    path = target if role == "target" else draft
    path.write_bytes(path.read_bytes()[:-500] if damage is None else damage)
    found = examine(home)
    assert found[role]["verdict"] == "problem" and str(path) in found[role]["found"] and "self-test" not in found


def test_a_draft_with_other_tokens_is_used_through_text(home):
    home.tiny_pair(token_changes={SPARE: "elsewhere"})
    home.choose()
    found = examine(home)
    assert found["pair"]["verdict"] == "ok"
    assert "through text" in found["pair"]["found"] and "elsewhere" in found["pair"]["found"]


def test_a_draft_that_cannot_write_every_text_is_a_problem(home):
    home.tiny_pair(token_changes={0xF0: "elsewhere"})
    home.choose()
    found = examine(home)
    assert found["pair"]["verdict"] == "problem" and "elsewhere" in found["pair"]["found"]
    assert "does not fit" in " ".join(found["self-test"]["details"]), "the target works without its draft"


def test_a_target_alone_is_no_problem(home):
    target, _ = home.tiny_pair()
    home.write(f'{ONE_THREAD}[models]\ntarget = "{target}"\n')
    found = examine(home)
    assert "problem" not in verdicts(found) and "no draft model" in found["pair"]["found"]


def test_a_model_that_can_neither_chat_nor_infill_is_told_so(home):
    bare = write_tiny_model(home.root / "bare.gguf", template=False, fim=False)
    home.write(f'{ONE_THREAD}[models]\ntarget = "{bare}"\n')
    found = examine(home)
    assert found["chat"]["verdict"] == found["infilling"]["verdict"] == "warning"
    assert "paceline ask" in found["chat"]["hint"] and "paceline complete" in found["infilling"]["hint"]
    assert found["self-test"]["found"] == "loaded the target"
    assert found["completion"]["verdict"] == "warning" and "cannot infill" in found["completion"]["found"]
    assert "Qwen2.5-Coder" in found["completion"]["hint"]


def test_unmeasured_costs_name_the_command_that_measures(home):
    home.tiny_pair()
    home.choose()
    found = examine(home, "--no-load")
    assert found["costs"]["verdict"] == "warning" and found["costs"]["hint"] == "paceline setup --measure-only"
    home.run("setup", "--measure-only")
    assert examine(home, "--no-load")["costs"]["verdict"] == "ok"


def test_without_loading_there_is_no_self_test(home):
    home.tiny_pair()
    home.choose()
    assert "self-test" not in examine(home, "--no-load")


def test_a_context_larger_than_memory_is_a_problem_with_a_hint(home):
    home.tiny_pair()
    home.choose()
    home.write(home.settings.read_text().replace("threads = 1", "threads = 1\ncontext = 2000000000"))
    found = examine(home)
    assert found["plan"]["verdict"] == "problem" and "engine.context" in found["plan"]["hint"]


def test_an_idle_gpu_comes_with_the_command_that_mends_the_build(home, monkeypatch):
    monkeypatch.setattr("paceline.models.hardware.gpus", lambda root: (GPU("nvidia", "NVIDIA H200", None),))
    monkeypatch.setattr("paceline.engine.llama.supports_gpu", lambda: False)
    monkeypatch.setattr("paceline.engine.llama.devices", list)
    found = examine(home)
    assert found["GPU"]["verdict"] == "warning" and "NVIDIA H200" in found["GPU"]["found"]
    assert "GGML_CUDA" in found["GPU"]["hint"]


def test_a_gpu_that_llama_cpp_does_not_see_is_told_though_the_build_could(home, monkeypatch):
    monkeypatch.setattr("paceline.models.hardware.gpus", lambda root: (GPU("amd", "AMD card", None),))
    monkeypatch.setattr("paceline.engine.llama.supports_gpu", lambda: True)
    monkeypatch.setattr("paceline.engine.llama.devices", list)
    assert "AMD card" in examine(home)["GPU"]["found"]


def test_a_store_that_cannot_be_written_is_told(home):
    (home.root / "file").write_text("")
    home.write(f'[models]\ndirectory = "{home.root}/file/models"\n')
    assert examine(home)["store"]["verdict"] == "warning"


def test_a_check_that_fails_itself_is_a_problem_and_the_others_go_on(home, monkeypatch):
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(checks, "_catalogue", fail)
    found = examine(home)
    assert found["catalogue"]["verdict"] == "problem" and "ZeroDivisionError" in found["catalogue"]["found"]
    assert "llama.cpp" in found


# --- a daemon that runs -----------------------------------------------------------------------------------------------


def examined_beside(daemon) -> dict[str, dict]:
    """What doctor finds in the daemon's folders, by name."""
    words = [sys.executable, "-m", "paceline", "doctor", "--json"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, env=daemon.environment, cwd=daemon.root)
    return {check["name"]: check for check in json.loads(ended.stdout)["checks"]}


def test_a_daemon_that_runs_is_asked_and_the_models_are_not_loaded_twice(tmp_path):
    with real_daemon(write_tiny_model(tmp_path / "target.gguf")) as daemon:
        found = examined_beside(daemon)
        assert daemon.status["models"][0]["state"] == "loaded", "the daemon has them for this"
    assert found["self-test"]["found"].startswith("the daemon made an answer of ")
    assert "goes on with" in found["completion"]["found"]


def test_a_daemon_whose_model_cannot_infill_says_so(tmp_path):
    with real_daemon(write_tiny_model(tmp_path / "target.gguf", fim=False)) as daemon:
        found = examined_beside(daemon)
    assert found["completion"]["verdict"] == "warning" and "cannot infill" in found["completion"]["found"]
    assert found["self-test"]["verdict"] == "ok"


# --- an engine elsewhere ----------------------------------------------------------------------------------------------


@pytest.fixture
def api():
    with running_api() as server:
        yield with_model(server, "big", "bigger")


def elsewhere(home: Home, url: str, model: str = "big") -> None:
    home.write(f'[engine]\nurl = "{url}"\nmodel = "{model}"\n')


def test_an_engine_elsewhere_is_asked_instead_of_looking_at_models_here(home, api):
    llama_server(api).answer("/infill", infill_answer("a + b\n"))
    api.chat(chat_answer("Hello", "!"))
    elsewhere(home, api.url)
    found = examine(home)
    assert set(found) == {"packages", "config", "catalogue", "engine", "self-test", "completion"}
    assert verdicts(found) == {"ok"}
    assert api.url in found["engine"]["found"] and "big" in found["engine"]["found"]
    assert found["self-test"]["found"].endswith("made an answer of 2 tokens")
    assert "goes on with `a + b`" in found["completion"]["found"]


def test_an_engine_elsewhere_that_is_away_is_a_problem_and_nothing_more_is_asked(home, api):
    elsewhere(home, "http://127.0.0.1:9/v1")
    found = examine(home)
    assert found["engine"]["verdict"] == "problem" and "engine.url" in found["engine"]["hint"]
    assert "self-test" not in found and "completion" not in found


def test_a_model_that_is_not_there_is_told_with_those_that_are(home, api):
    elsewhere(home, api.url, "tiny")
    found = examine(home, "--no-load")["engine"]
    assert found["verdict"] == "warning" and "tiny" in found["found"] and "big, bigger" in found["found"]


def test_a_model_elsewhere_that_nobody_knows_how_to_infill_with_can_answer_all_the_same(home, api):
    api.chat(chat_answer("Hello"))
    elsewhere(home, api.url)
    found = examine(home)
    assert found["self-test"]["verdict"] == "ok"
    assert found["completion"]["verdict"] == "warning" and "big" in found["completion"]["found"]


def test_an_engine_elsewhere_that_refuses_is_a_problem_with_its_reason(home, api):
    api.answer("/v1/chat/completions", json_reply({"error": {"message": "out of order"}}, 500))
    elsewhere(home, api.url)
    found = examine(home)
    assert found["self-test"]["verdict"] == "problem" and "out of order" in found["self-test"]["found"]


def test_without_loading_an_engine_elsewhere_computes_nothing(home, api):
    elsewhere(home, api.url)
    examine(home, "--no-load")
    assert {seen.path for seen in api.requests} == {"/v1/models"}


def test_a_model_that_completes_nothing_is_told(home, api):
    llama_server(api).answer("/infill", infill_answer(""))
    api.chat(chat_answer("Hello"))
    elsewhere(home, api.url)
    assert examine(home)["completion"]["verdict"] == "warning"


def test_status_tells_of_an_engine_elsewhere(home, api):
    elsewhere(home, api.url)
    told = home.run("status")
    assert told.code == 0 and api.url in told.out and "big" in told.out
    whole = json.loads(home.run("status", "--json").out)
    assert whole == {"pid": None, "url": api.url, "model": "big", "models": ["big", "bigger"]}


def test_status_of_an_engine_elsewhere_that_is_away_fails_with_the_reason(home):
    elsewhere(home, "http://127.0.0.1:9/v1")
    assert home.run("status").failed(ExitCode.NETWORK)
