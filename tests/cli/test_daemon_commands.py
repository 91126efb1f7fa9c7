"""`paceline status`, `stop`, `logs` and `serve`, around a daemon without models."""

import itertools
import json
import signal
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from paceline.cli import cli
from paceline.commands.logs import followed
from paceline.daemon import ending, launch
from paceline.daemon.log import log_file
from paceline.errors import PacelineError
from support.daemons import SECONDS, session, until, working


@pytest.fixture
def own(tmp_path, monkeypatch):
    with session(tmp_path, monkeypatch) as opened:
        yield opened


def run(*words):
    return CliRunner().invoke(cli, words)


# --- status -----------------------------------------------------------------------------------------------------------


def test_status_starts_no_daemon_and_says_that_none_runs(own):
    told = run("status")
    assert (told.exit_code, told.stdout) == (1, "no daemon is running; the next request starts one\n")
    as_object = run("status", "--json")
    assert (as_object.exit_code, json.loads(as_object.stdout)) == (1, {"pid": None})
    assert own.found is None


def test_status_tells_programs_everything_by_the_documented_keys(own):
    process = own.start("--http", "127.0.0.1:0")
    own.finish_work()
    working(own.runtime).rest()
    told = run("status", "--json")
    assert told.exit_code == 0
    report = json.loads(told.stdout)
    assert report["pid"] == process.pid
    assert report["version"] == own.found.hello.version
    assert report["socket"] == str(own.runtime.socket)
    assert report["http"]["url"] == own.runtime.state().url
    assert report["http"]["token"] == own.runtime.state().token
    assert [(model["id"], model["state"]) for model in report["models"]] == [("plain", "loaded")]
    assert 2**20 < report["memory"]["resident"] < report["memory"]["total"]
    assert report["memory"]["cells"] == 64
    assert report["slots"] == [
        {"id": 0, "state": "idle", "tokens": 3, "prompt_tokens": 2, "produced": 1, "priority": "chat"}
    ]


def test_status_tells_a_person(own):
    own.start("--http", "127.0.0.1:0")
    before = run("status").stdout
    assert "none in memory" in before
    assert str(own.runtime.socket) in before
    assert own.runtime.state().token in before
    request = working(own.runtime)
    during = run("status").stdout
    assert "plain, context of 64 tokens" in during
    assert "completions by the draft model: there is no other" in during
    assert "nothing is loaded" in during  # a note of the service's
    assert ", 1 request\n" in during
    request.close()


def test_status_says_that_a_daemon_is_on_its_way(own):
    with own.runtime.life_lock():
        assert "starting or ending" in run("status").stdout


# --- stop -------------------------------------------------------------------------------------------------------------


def test_stop_without_a_daemon_has_nothing_to_do(own):
    told = run("stop")
    assert (told.exit_code, told.stderr) == (0, "no daemon is running\n")


def test_stop_lets_requests_finish_and_returns_when_the_daemon_has_ended(own):
    process = own.start()
    request = working(own.runtime)
    stopping = subprocess.Popen([sys.executable, "-m", "paceline", "stop"], stderr=subprocess.PIPE, text=True)
    assert "waiting for running requests" in stopping.stderr.readline()
    assert process.poll() is None
    own.finish_work()
    assert request.rest() == "done\n"
    assert stopping.communicate(timeout=SECONDS)[1] == "the daemon has ended\n"
    assert stopping.returncode == 0
    assert not own.runtime.occupied()


def test_stop_now_cancels_requests(own):
    own.start()
    request = working(own.runtime)
    assert run("stop", "--now").exit_code == 0
    assert request.rest() == "cancelled\n"
    assert not own.runtime.occupied()


def test_stop_now_ends_a_daemon_that_waits_for_requests(own):
    process = own.start()
    request = working(own.runtime)
    ending.ask_to_stop(own.runtime, "idle")
    until(lambda: own.found is None)
    assert process.poll() is None
    assert run("stop", "--now").exit_code == 0
    assert process.wait(SECONDS) == 0
    assert request.rest() == "cancelled\n"


def test_stop_now_ends_a_daemon_that_hangs(own, monkeypatch):
    monkeypatch.setattr("paceline.daemon.probe.PATIENCE", 0.2)
    monkeypatch.setattr(ending, "PROMISED", 0.2)
    process = own.start()
    process.send_signal(signal.SIGSTOP)
    assert run("stop", "--now").exit_code == 0
    assert process.wait(SECONDS) == -signal.SIGKILL


def test_a_daemon_that_nobody_can_find_is_not_ended_by_guessing(own):
    with own.runtime.life_lock(), pytest.raises(PacelineError, match="does not tell its process"):
        ending.force(own.runtime)


# --- logs -------------------------------------------------------------------------------------------------------------


def test_logs_shows_the_last_lines(own):
    log_file().parent.mkdir(parents=True)
    log_file().write_text("".join(f"line {number}\n" for number in range(100)))
    assert run("logs", "-n", "3").stdout == "line 97\nline 98\nline 99\n"
    assert len(run("logs").stdout.splitlines()) == 50
    assert run("logs", "-n", "0").stdout == ""


def test_logs_clears_what_could_steer_a_terminal(own):
    log_file().parent.mkdir(parents=True)
    log_file().write_text("a\x1b[2Jb\n")
    assert run("logs").stdout == "ab\n"


def test_logs_without_a_log_is_explained(own):
    told = subprocess.run([sys.executable, "-m", "paceline", "logs"], capture_output=True, text=True, timeout=SECONDS)
    assert told.returncode == 6
    assert "there is no log yet" in told.stderr


def test_a_followed_log_goes_on_in_the_next_file(tmp_path):
    path, seen = tmp_path / "daemon.log", []

    def follow():
        seen.extend(itertools.islice(followed(path, 0), 3))

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    path.write_text("one\ntw")
    until(lambda: path.stat().st_size == 6)
    with path.open("a") as file:
        file.write("o\n")
    later = threading.Timer(0.5, lambda: (path.rename(tmp_path / "daemon.log.1"), path.write_text("three\n")))
    later.start()
    following.join(SECONDS)
    assert seen == ["one", "two", "three"]


def test_logs_follows_until_it_is_interrupted(own):
    own.start()
    process = subprocess.Popen(
        [sys.executable, "-m", "paceline", "logs", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert "listening" in process.stdout.readline()
    ending.ask_to_stop(own.runtime, "now")
    assert "ending now" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err.strip()) == (130, "")


# --- serve ------------------------------------------------------------------------------------------------------------


def test_a_network_address_is_refused(own):
    told = subprocess.run(
        [sys.executable, "-m", "paceline", "serve", "--http", "0.0.0.0:8765"], capture_output=True, timeout=SECONDS
    )
    assert told.returncode == 3
    assert b"loopback" in told.stderr
    assert not own.runtime.occupied()


def test_the_real_daemon_starts_small_answers_and_ends(own):
    daemon = launch.ensure(own.config)
    report = json.loads(run("status", "--json").stdout)
    assert report["pid"] == daemon.hello.pid
    assert report["models"] == []
    assert report["memory"]["resident"] < 120 * 2**20
    assert run("stop").exit_code == 0
    assert own.found is None


def test_llama_cpp_is_not_loaded_before_a_model_is():
    code = "import sys; from paceline.daemon import loading, server; from paceline.daemon.http import app; "
    told = subprocess.run([sys.executable, "-c", code + "print(*sys.modules)"], capture_output=True, text=True)
    loaded = set(told.stdout.split())
    assert "paceline.daemon.server" in loaded
    assert not {"llama_cpp", "textual", "huggingface_hub"} & loaded
