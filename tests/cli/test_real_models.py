"""The real pair, end to end through the command line. Fetches 1.6 GB on the first run: `pytest -m models`."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from bench.workloads import INVENTORY
from paceline import config as configuration
from paceline import paths
from paceline.daemon import assembly, selection
from paceline.engine.backend import Span
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Finished, Request
from paceline.models.progress import Silent
from paceline.prompts.chat import Message, encode_chat

pytestmark = [pytest.mark.models, pytest.mark.timeout(1200)]

NEAR_TIE = 0.5  # logits; batches of different size round differently, and nothing else may tip a choice
CODE = """\
def average(values):
    total = 0
    for value in values:
        total += value
    ret


print(average([1, 2, 3]))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Configuration, state and cache of our own; the models are those that the person has, or will have."""
    folder = tmp_path_factory.mktemp("home")
    names = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}
    with tempfile.TemporaryDirectory() as runtime:  # short, and open to nobody else: a daemon of our own listens there
        yield {**os.environ, **{name: str(folder / part) for name, part in names.items()}, "XDG_RUNTIME_DIR": runtime}
        paceline({**os.environ, "XDG_RUNTIME_DIR": runtime}, "stop", "--now")


def paceline(home, *args, stdin=""):
    return subprocess.run(
        [sys.executable, "-m", "paceline", *args], env=home, input=stdin, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def set_up(home):
    done = paceline(home, "setup", "--yes", "--pair", "qwen2.5-coder-1.5b")
    assert done.returncode == 0, done.stderr
    return home


def test_setup_names_the_pair_in_the_configuration_and_shows_the_cost_of_decoding(set_up):
    done = paceline(set_up, "setup", "--yes", "--offline")
    assert done.returncode == 0, done.stderr
    assert "qwen2.5-coder-1.5b" in done.stdout
    assert "tokens/s" in done.stdout
    config = (paths.Path(set_up["XDG_CONFIG_HOME"]) / "paceline" / "config.toml").read_text()
    assert 'pair = "qwen2.5-coder-1.5b"' in config


def test_an_answer_is_python_and_comes_with_figures(set_up):
    done = paceline(
        set_up, "ask", "--json", "--offline", "--max-tokens", "150", "Write a Python function that adds two numbers"
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "def " in answer["text"]
    assert answer["usage"]["completion_tokens"] == answer["timings"]["predicted_n"] > 10
    assert answer["model"].startswith("qwen2.5-coder-1.5b")


def test_a_file_that_is_copied_with_a_change_is_mostly_drafted_from_itself(set_up, tmp_path):
    file = tmp_path / "inventory.py"
    file.write_text(INVENTORY)
    question = (
        "Rename the parameter `quantity` of the methods add and remove to `amount`. Answer with the whole file only."
    )
    # by name: whether it pays depends on the machine, and "auto" would have a reason to leave it
    how = ("--json", "--offline", "--max-tokens", "400", "--speculation", "ngram")
    done = paceline(set_up, "ask", *how, "-f", str(file), question)
    assert done.returncode == 0, done.stderr
    timings = json.loads(done.stdout)["timings"]
    assert timings["draft_n_accepted"] > timings["predicted_n"] / 2, timings


def test_the_draft_model_drafts_when_it_is_asked_for(set_up):
    done = paceline(
        set_up,
        "ask",
        "--json",
        "--offline",
        "--speculation",
        "draft",
        "--max-tokens",
        "60",
        "What is a list in Python?",
    )
    assert done.returncode == 0, done.stderr
    drafter = json.loads(done.stdout)["timings"]["drafters"]["draft"]
    assert drafter["draft_n_accepted"] > 0.3 * drafter["draft_n"] > 0


def test_a_word_that_is_being_typed_is_completed_to_what_the_function_must_return(set_up, tmp_path):
    file = tmp_path / "average.py"
    file.write_text(CODE)
    done = paceline(set_up, "complete", "--offline", "--single-line", f"{file}:5:8")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "urn total / len(values)"


def test_a_model_without_infill_tokens_answers_and_says_that_it_cannot_complete(home, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[models]\npair = "smollm2-135m"\n')
    env = {**home, "PACELINE_CONFIG": str(config)}
    assert paceline(env, "models", "pull", "smollm2-135m").returncode == 0
    asked = paceline(env, "ask", "--max-tokens", "20", "--offline", "Say hello")
    assert asked.returncode == 0 and asked.stdout.strip(), asked.stderr
    completed = paceline(env, "complete", "-:1:1", "--offline", stdin="x\n")
    assert completed.returncode == 4
    assert "cannot infill" in completed.stderr and "hint:" in completed.stderr


def test_the_engine_is_shared_and_the_second_question_about_a_text_reads_only_what_is_new(set_up, tmp_path):
    file = tmp_path / "inventory.py"
    file.write_text(INVENTORY)
    first, second = (
        json.loads(
            paceline(set_up, "ask", "--json", "--offline", "--max-tokens", "20", "-f", str(file), question).stdout
        )
        for question in ("What does add do?", "What does remove do?")
    )
    assert first["usage"]["prompt_tokens"] > 350
    assert second["timings"]["prompt_n"] < 20
    shown = json.loads(paceline(set_up, "status", "--json").stdout)
    assert shown["models"][0]["id"].startswith("qwen2.5-coder-1.5b")


@pytest.mark.parametrize(
    "question", ["Write a function that reverses a string.", "Explain recursion in two sentences."]
)
@pytest.mark.parametrize("speculation", ["ngram", "draft"])
def test_speculation_changes_an_answer_only_where_two_tokens_nearly_tie(set_up, monkeypatch, question, speculation):
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, set_up[name])
    config = configuration.load(paths.config_file())
    files = selection.pair_files(config)
    assert files is not None
    target, draft = selection.fetch(files, config, lambda label: Silent(), offline=True)
    engine = assembly.load(assembly.inspect(target, draft, config), print)
    try:
        vocabulary = engine.target.vocabulary
        prompt = encode_chat(vocabulary.chat_template, [Message("user", question)], vocabulary)
        plain, fast = (answer(engine, prompt, mode) for mode in ("off", speculation))
        same = next((i for i, (a, b) in enumerate(zip(plain, fast, strict=False)) if a != b), None)
        if same is not None:
            answer(engine, [*prompt, *plain[:same]], "off", tokens=1)
            engine.target.truncate(0, len(prompt) + same - 1)
            last = [*prompt, *plain[:same]][-1:]
            row = np.sort(engine.target.decode([Span(0, len(prompt) + same - 1, last, 1)])[0])
            assert row[-1] - row[-2] < NEAR_TIE
    finally:
        engine.close()


def answer(engine, prompt, speculation, tokens=80):
    for event in engine.submit(Request(prompt, tokens, SamplerSettings(), speculation=speculation)):
        if isinstance(event, Finished):
            return list(event.tokens)
    raise AssertionError
