"""`paceline bench`: tables and a sentence on stdout, all else on stderr; what stands in the way is said first."""

import json
import signal
import sys

import pytest

from paceline.daemon.service import Service
from paceline.errors import EngineError

SHORT = ("bench", "--tokens", 6, "--repetitions", 1)
ONE = (*SHORT, "--workload", "prose")


@pytest.fixture(autouse=True)
def idle(monkeypatch):
    """Whatever else runs while the tests do."""
    monkeypatch.setattr("paceline.models.hardware.busy", lambda: False)


def table(out: str, title: str) -> list[list[str]]:
    """The words of its rows."""
    return [line.split() for line in out.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()[1:]]


def test_the_whole_is_tables_and_a_sentence_with_progress_elsewhere(paceline):
    done = paceline.call(*SHORT)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split() == ["target", "target.gguf"]
    names = ["edit", "code", "prose", "completion"]
    for title in ("Tokens per second", "Drafted tokens"):
        assert list(dict.fromkeys(row[0] for row in table(done.out, title))) == names
    assert lines[-1].startswith("As far as a single run can tell, drafting ")
    assert "\x1b" not in done.out + done.err
    for name in names:
        assert f"{name}, plain\n{name}, auto\n" in done.err


def test_no_line_of_a_table_is_wider_than_a_terminal(paceline):
    modes = [word for mode in ("auto", "ngram", "draft", "lookahead") for word in ("--mode", mode)]
    done = paceline.call(*SHORT, *modes, "--workload", "completion")
    assert done.code == 0, done.err
    tables = done.out.partition("Tokens per second\n")[2].split("\n\n")[:2]
    assert [len(each.splitlines()) > 3 for each in tables] == [True, True]
    assert max(len(line) for each in tables for line in each.splitlines()) <= 80


def test_json_is_one_object_with_the_documented_keys(paceline):
    raw = paceline.call(*ONE, "--mode", "auto", "--mode", "ngram", "--json")
    assert raw.out.isascii()
    whole = raw.data
    assert set(whole) == {
        *("version", "target", "draft", "processor", "threads", "devices", "tokens", "repetitions", "complete"),
        *("curves", "workloads", "left_out", "warnings", "summary"),
    }
    assert (whole["target"], whole["draft"], whole["threads"]) == ("target.gguf", "draft.gguf", 1)
    assert (whole["tokens"], whole["repetitions"], whole["complete"]) == (6, 1, True)
    assert set(whole["curves"]) == {"target", "draft"}
    assert list(whole["workloads"]) == ["prose"]
    prose = whole["workloads"]["prose"]
    assert prose["predicted_n"] == 6 and prose["plain_tokens_per_second"] > 0
    assert list(prose["modes"]) == ["auto", "ngram"]
    for mode in prose["modes"].values():
        assert len(mode["speed_ups"]) == 1 and mode["first_difference"] is None


def test_only_what_was_chosen_is_run_once_and_in_the_usual_order(paceline):
    words = ("--workload", "prose", "--workload", "edit", "--workload", "prose", "--mode", "ngram", "--mode", "ngram")
    whole = paceline.call(*SHORT, *words, "--json").data
    assert list(whole["workloads"]) == ["edit", "prose"]
    assert [list(each["modes"]) for each in whole["workloads"].values()] == [["ngram"], ["ngram"]]


def test_repetitions_are_as_many_ratios(paceline):
    whole = paceline.call("bench", "--tokens", 6, "--repetitions", 3, "--workload", "prose", "--json").data
    assert len(whole["workloads"]["prose"]["modes"]["auto"]["speed_ups"]) == 3


# --- which models -----------------------------------------------------------------------------------------------------


def test_other_models_than_the_configured_ones_are_named_from_the_folder_one_is_in(paceline, tiny):
    paceline.configure(target="/nowhere/model.gguf")
    paceline.write("big.gguf", tiny.target.read_bytes())
    paceline.write("small.gguf", tiny.draft.read_bytes())
    pair = paceline.call(*ONE, "--target", "big.gguf", "--draft", "small.gguf", "--json").data
    alone = paceline.call(*ONE, "--target", "big.gguf", "--json").data
    assert (pair["target"], pair["draft"]) == ("big.gguf", "small.gguf")
    assert (alone["target"], alone["draft"]) == ("big.gguf", None)


def test_the_configured_target_can_have_another_draft_or_none(paceline, tiny):
    paceline.write("small.gguf", tiny.draft.read_bytes())
    for draft, found in (("small.gguf", "small.gguf"), ("none", None)):
        whole = paceline.call(*ONE, "--draft", draft, "--json").data
        assert (whole["target"], whole["draft"]) == ("target.gguf", found)


def test_without_models_the_hint_is_to_set_some_up(paceline):
    paceline.config.write_text("")
    assert paceline.call(*ONE).failed(4, "no models are chosen yet", "paceline setup")


def test_nothing_is_downloaded(paceline):
    paceline.config.write_text('[models]\ntarget = "owner/repository:model.gguf"\n')
    assert paceline.call(*ONE).failed(4, "is not here")


def test_a_draft_model_that_is_not_there_cannot_be_measured(paceline):
    paceline.configure(draft="none")
    assert paceline.call(*ONE, "--mode", "draft").failed(4, "there is no draft model", "--draft")


def test_what_the_model_cannot_do_is_left_out_unless_it_was_asked_for(paceline, tiny):
    paceline.configure(target=tiny.without_fim, draft="none")
    done = paceline.call(*SHORT)
    assert done.code == 0
    assert "completion was left out: the model cannot infill" in done.out
    assert paceline.call(*SHORT, "--workload", "completion").failed(4, "cannot infill")


# --- what disturbs ----------------------------------------------------------------------------------------------------


def test_a_busy_machine_is_told_before_and_with_the_figures(paceline, monkeypatch):
    monkeypatch.setattr("paceline.models.hardware.busy", lambda: True)
    done = paceline.call(*ONE)
    assert "warning: other programs use the processor" in done.err
    assert "warning: other programs used the processor when these were measured: prose" in done.out
    whole = paceline.call(*ONE, "--json").data
    assert whole["workloads"]["prose"]["busy"] is True and whole["warnings"]


def test_an_idle_machine_is_no_matter(paceline):
    done = paceline.call(*ONE)
    assert "warning" not in done.out + done.err


def test_a_daemon_with_models_in_memory_is_told(paceline):
    with paceline.sharing():
        paceline.call("ask", "Why?", "--max-tokens", 1)
        done = paceline.call(*ONE)
        assert "warning: the daemon holds" in done.err and "paceline stop" in done.err
        assert "warning: the daemon holds" in done.out
    assert "daemon" not in paceline.call(*ONE).err


# --- ends -------------------------------------------------------------------------------------------------------------


def fail(monkeypatch, at: int, failure: BaseException) -> None:
    """The answer of this number fails."""
    generate, number = Service.generate, iter(range(1, 1000))

    def failing(*args, **more):
        if next(number) == at:
            raise failure
        return generate(*args, **more)

    monkeypatch.setattr(Service, "generate", failing)


def test_ctrl_c_ends_with_the_table_of_what_was_measured_until_then(paceline, monkeypatch):
    fail(monkeypatch, 4 + 4, KeyboardInterrupt())  # one workload is done, the next is running
    done = paceline.call(*SHORT, "--workload", "edit", "--workload", "code")
    assert done.code == 130
    assert {row[0] for title in ("Tokens per second", "Drafted tokens") for row in table(done.out, title)} == {"edit"}
    assert "ended early" in done.out
    assert done.out.splitlines()[-1].startswith("As far as a single run can tell, drafting ")


def test_ctrl_c_before_anything_was_measured_shows_no_table(paceline, monkeypatch):
    fail(monkeypatch, 1, KeyboardInterrupt())
    done = paceline.call(*ONE)
    assert (done.code, done.out) == (130, "")


def test_an_object_says_that_it_was_ended_early(paceline, monkeypatch):
    fail(monkeypatch, 4 + 4, KeyboardInterrupt())
    done = paceline.call(*SHORT, "--workload", "edit", "--workload", "code", "--json")
    assert done.code == 130
    assert json.loads(done.out)["complete"] is False and list(json.loads(done.out)["workloads"]) == ["edit"]


def test_a_failure_on_the_way_does_not_lose_what_was_measured(paceline, monkeypatch):
    fail(monkeypatch, 4 + 4, EngineError("the model is gone", "find it"))
    done = paceline.call(*SHORT, "--workload", "edit", "--workload", "code")
    assert done.code == 1
    assert "Tokens per second" in done.out and "error: the model is gone\nhint: find it\n" in done.err


def test_ctrl_c_in_earnest_ends_the_process_with_130(paceline):
    running = paceline.start("bench", "--workload", "prose", "--repetitions", 1_000_000, "--tokens", 50)
    try:
        while b"prose, auto" not in running.stderr.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130
    assert b"Traceback" not in err


# --- the picture ------------------------------------------------------------------------------------------------------


def test_a_picture_is_drawn_beside_the_table(paceline):
    done = paceline.call(*ONE, "--plot", "a.png")
    assert done.code == 0, done.err
    assert "Tokens per second" in done.out and "drawn into a.png" in done.err
    assert (paceline.root / "a.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_measured_until_ctrl_c_is_drawn(paceline, monkeypatch):
    fail(monkeypatch, 4 + 4, KeyboardInterrupt())
    assert paceline.call(*SHORT, "--workload", "edit", "--workload", "code", "--plot", "a.png").code == 130
    assert (paceline.root / "a.png").exists()


@pytest.mark.parametrize(("name", "word"), [("gone/a.png", "No such file"), ("a.txt", "no picture")])
def test_a_picture_that_cannot_be_written_is_an_error_before_the_models_are_even_looked_for(paceline, name, word):
    paceline.configure(target="/nowhere/model.gguf")
    assert paceline.call(*ONE, "--plot", name).failed(6, name, word)


def test_without_matplotlib_the_hint_comes_before_the_models_are_even_looked_for(paceline, monkeypatch):
    paceline.configure(target="/nowhere/model.gguf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    assert paceline.call(*ONE, "--plot", "a.png").failed(1, "Matplotlib", "pip install 'paceline[plot]'")


@pytest.mark.parametrize(
    "words", [["--tokens", "1"], ["--repetitions", "0"], ["--mode", "off"], ["--workload", "poetry"], ["--nonsense"]]
)
def test_a_wrong_option_is_explained(paceline, words):
    assert paceline.misused("bench", *words, naming=words[0])
