"""How `paceline ask` ends when it cannot go on: signals, outputs that go away, models and settings that are no good."""

import os
import re
import signal

import pytest

from support.cli import HAS_SMALL_PIPES, slow_answer

linux = pytest.mark.skipif(not HAS_SMALL_PIPES, reason="needs a pipe of a known size")


@linux
def test_ctrl_c_ends_the_answer_with_130(paceline):
    with slow_answer(paceline) as running:
        running.stdout.read(1)
        running.send_signal(signal.SIGINT)
        rest, err = running.communicate(timeout=30)
        assert running.returncode == 130
        assert b"Traceback" not in err
        assert len(rest) < 10_000  # of 12,000 tokens or more


@linux
def test_a_termination_signal_ends_the_answer(paceline):
    with slow_answer(paceline) as running:
        running.stdout.read(1)
        running.terminate()
        _, err = running.communicate(timeout=30)
        assert running.returncode == -signal.SIGTERM
        assert err == b""


@linux
def test_a_reader_that_goes_away_ends_the_answer_quietly(paceline):
    with slow_answer(paceline) as running:
        running.stdout.read(1)
        running.stdout.close()
        err = running.stderr.read()
        assert (running.wait(timeout=30), err) == (141, b"")


def test_a_pipe_that_nobody_reads_is_no_failure_of_ours(paceline):
    piped = paceline.shell('"$@" 2>err; echo $? >code', "ask", "Why?", "--max-tokens", 5)
    assert piped.code == 0
    gone = paceline.shell('{ "$@" 2>err; echo $? >code; } | head -c 1 >head', "ask", "Why?", "--max-tokens", 2000)
    assert gone.code == 0
    assert (paceline.root / "code").read_text().strip() in ("0", "141")  # 0: all was written before head went away
    assert "Traceback" not in (paceline.root / "err").read_text()


@pytest.mark.parametrize("redirection", [">&-", "2>&-"])
def test_a_closed_output_is_no_failure(paceline, redirection):
    closed = paceline.shell(f'exec "$@" {redirection}', "ask", "Why?", "--max-tokens", 5)
    assert closed.code == 0
    assert "Traceback" not in closed.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")  # noqa: PTH110
@pytest.mark.parametrize("words", [("ask", "Why?", "--max-tokens", 5), ("--version",), ("ask", "--help")])
def test_a_full_disk_behind_stdout_is_an_error_with_its_own_code(paceline, words):
    full = paceline.shell('exec "$@" >/dev/full', *words)
    assert full.code == 8
    assert full.err.endswith("error: No space left on device\n")


# --- models and configuration that cannot be used ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["option", "configuration"])
def test_without_models_and_without_a_network_the_missing_model_is_named(paceline, how):
    paceline.config.write_text("[models]\noffline = true\n" if how == "configuration" else "")
    words = ("--offline",) if how == "option" else ()
    assert paceline.run("ask", "Why?", *words).failed(4, "is not here", "forbids downloads", "paceline models pull")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("text", ("text.gguf is not a GGUF file",)),
        ("truncated", ("truncated.gguf is truncated", "1000 bytes of")),
        ("empty", ("empty.gguf is empty",)),
        ("base", ("no chat template", "instruct model")),
    ],
)
def test_a_model_that_cannot_answer_is_named_with_the_reason(paceline, tiny, model, words):
    paceline.configure(target=getattr(tiny, model), draft="none")
    assert paceline.call("ask", "Why?").failed(4, *words)


@pytest.mark.parametrize("model", ["text", "truncated"])
def test_a_draft_that_is_no_model_is_named(paceline, tiny, model):
    paceline.configure(draft=getattr(tiny, model))
    assert paceline.call("ask", "Why?").failed(4, f"{model}.gguf")


def test_a_model_file_that_is_not_there_is_named(paceline):
    paceline.configure(target="/nowhere/model.gguf")
    assert paceline.call("ask", "Why?").failed(4, "/nowhere/model.gguf")


def test_a_model_that_nobody_knows_is_named(paceline):
    paceline.configure(target="gpt-9")
    assert paceline.call("ask", "Why?").failed(4, "'gpt-9'", "paceline models list")


def test_a_draft_of_another_vocabulary_is_left_out_and_the_reason_said(paceline, tiny):
    words = ("ask", "Why?", "--max-tokens", 30)
    alone = paceline.call(*words, "--speculation", "off")
    paceline.configure(draft=tiny.foreign)
    left_out = paceline.call(*words)
    assert left_out.out == alone.out
    assert re.search(r"no draft model: foreign\.gguf does not fit target\.gguf: .*'other' in the draft", left_out.err)
    assert paceline.call(*words, "--speculation", "ngram").err == alone.err


def test_a_draft_of_another_vocabulary_is_an_error_when_asked_for(paceline, tiny):
    paceline.configure(draft=tiny.foreign)
    refused = paceline.run("ask", "Why?", "--speculation", "draft")
    assert refused.failed(4, "foreign.gguf does not fit target.gguf", "'other' in the draft")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("[models\n", ("not valid TOML", "line 1")),
        ("[engine]\nthreds = 1\n", ("engine.threds", "did you mean engine.threads?")),
        ('[engine]\nthreads = "two"\n', ("$.engine.threads", "int")),
        ("[sampling]\ntemperature = nan\n", ("$.sampling.temperature",)),
        ("a = " + "[" * 10_000, ("not valid TOML",)),
        (b"\xff\xfe", ("not valid TOML",)),
    ],
    ids=["syntax", "unknown key", "wrong type", "not a number", "too deep", "not UTF-8"],
)
def test_a_broken_configuration_is_explained(paceline, settings, words):
    paceline.write("settings.toml", settings)
    assert paceline.call("ask", "Why?").failed(3, "settings.toml", *words)


def test_a_configuration_that_cannot_be_read_is_explained(paceline):
    assert paceline.run("ask", "Why?", PACELINE_CONFIG="/").failed(3, "cannot read /", "Is a directory")
    assert paceline.run("ask", "Why?", PACELINE_CONFIG="a" * 300).failed(3, "File name too long")


def test_a_folder_of_a_person_who_does_not_exist_is_explained(paceline):
    paceline.configure()
    text = paceline.config.read_text().replace("[models]\n", '[models]\ndirectory = "~nobody-of-this-name/x"\n')
    paceline.config.write_text(text)
    assert paceline.call("ask", "Why?").failed(3, "models.directory", "~nobody-of-this-name/x")
