"""`ask` and `complete` through the daemon: what a person sees is what they see with the models in their own process."""

import json
import os
import re
import signal
import sys
import time
from dataclasses import replace

import pytest

from support.cli import CommandLine

CODE = "def area(r):\n    return 3.14 * r\n\n\ndef ring(a, b):\n    ret\n\n\nprint(ring(1, 2))\n"
HERE = "-:6:8"  # behind "ret"
LONG = ("ask", "Why?", "--max-tokens", 60_000, "--speculation", "off")  # takes many seconds
SECONDS = 20


@pytest.fixture(scope="module")
def module_line(tmp_path_factory, tiny, measured):
    with CommandLine(tmp_path_factory.mktemp("shared"), tiny, measured).sharing() as line:
        yield line


@pytest.fixture
def shared(module_line):
    """The command line with a daemon that the tests of this file share, as long as they do not change its models."""
    module_line.configure()
    return module_line


def report(line):
    return json.loads(line.call("status", "--json").out)


def until(true):
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


# --- the same as alone ------------------------------------------------------------------------------------------------


def both(line, *words, stdin=b""):
    """What a command says with the daemon, and without. Who comes first measures, and says so: that is left out."""
    daemon, alone = line.call(*words, stdin=stdin), line.call(words[0], "--no-daemon", *words[1:], stdin=stdin)
    return tuple(replace(each, err=re.sub("measuring what.*\n", "", each.err)) for each in (daemon, alone))


@pytest.mark.parametrize("speculation", ["auto", "off", "ngram", "draft", "lookahead"])
def test_an_answer_is_the_same(shared, speculation):
    words = ("ask", "Say it", "2?", "--max-tokens", 60, "--speculation", speculation)  # its tokens lead clearly
    daemon, alone = both(shared, *words)
    assert daemon == alone
    assert len(daemon.out) > 20


def test_a_seeded_answer_is_the_same(shared):
    daemon, alone = both(shared, "ask", "Why?", "--temperature", 1, "--seed", 8, "--max-tokens", 60)
    assert daemon == alone


@pytest.mark.parametrize("more", [[], ["--single-line"], ["--temperature", 1, "--seed", 1], ["--speculation", "draft"]])
def test_a_completion_is_the_same(shared, more):
    daemon, alone = both(shared, "complete", HERE, "--max-tokens", 60, *more, stdin=CODE)
    assert daemon == alone
    assert daemon.out


@pytest.mark.parametrize("words", [["ask", "Say it 2?"], ["complete", HERE]])
def test_json_has_the_same_keys_and_says_the_same(shared, words):
    daemon, alone = (each.data for each in both(shared, *words, "--max-tokens", 12, "--json", stdin=CODE))
    for data in (daemon, alone):
        del data["usage"]["cached_tokens"]
    assert set(daemon.pop("timings")) >= set(alone.pop("timings"))
    assert daemon == alone


def test_figures_have_the_same_lines(shared):
    words = ("ask", "Why?", "--max-tokens", 30, "--stats", "--speculation", "draft")
    daemon, alone = ([line.split()[0] for line in each.err.splitlines()] for each in both(shared, *words))
    assert daemon == alone
    assert daemon[-4:] == ["answer", "rounds", "time", "draft"]


def test_settings_that_are_no_matter_of_loading_are_taken_from_the_clients_configuration(shared):
    assert shared.call("ask", "Hi", "--max-tokens", 1).code == 0
    pid = report(shared)["pid"]
    shared.configure('[ask]\nsystem = "Be rude."\nmax_tokens = 7\n[complete]\nprefix_tokens = 200\nsuffix_tokens = 100')
    daemon, alone = both(shared, "ask", "Why?")
    assert daemon == alone
    head, tail = "first = 1\n" * 100, "last = 2\n" * 100
    words = ("complete", "-:101:2", "--max-tokens", 5, "--json")
    daemon, alone = (each.data for each in both(shared, *words, stdin=head + "x\n" + tail))
    cuts = [(each["text"], each["prefix_cut"], each["suffix_cut"]) for each in (daemon, alone)]
    assert cuts[0] == cuts[1] > ("", 500, 500)
    assert report(shared)["pid"] == pid


def test_an_overflow_is_the_same(shared):
    shared.configure(engine="context = 256")
    daemon, alone = both(shared, "ask", "word " * 100)
    assert daemon == alone
    assert daemon.failed(7, "more than the 255", "engine.context")
    cut, alone = both(shared, "ask", "Say it 2?", "--max-tokens", 1000)
    assert cut == alone
    assert cut.err == "the answer was cut: the context is full\n"


@pytest.mark.parametrize("model", ["text", "truncated", "base"])
def test_a_model_that_cannot_answer_is_refused_in_the_same_words(shared, tiny, model):
    shared.configure(target=getattr(tiny, model), draft="none")
    daemon, alone = both(shared, "ask", "Why?")
    assert daemon == alone
    assert daemon.failed(4)


def test_a_model_that_cannot_infill_is_refused_in_the_same_words(shared, tiny):
    shared.configure(target=tiny.without_fim, draft="none")
    daemon, alone = both(shared, "complete", "-:1:1", stdin="x")
    assert daemon == alone
    assert daemon.failed(4, "cannot infill", "Qwen2.5-Coder")


def test_what_was_found_out_while_loading_is_told(shared, tiny):
    shared.configure(draft=tiny.foreign)
    daemon, alone = both(shared, "ask", "Why?", "--max-tokens", 3)
    assert daemon == alone
    assert re.search(r"no draft model: foreign\.gguf does not fit target\.gguf", daemon.err)


def test_the_next_question_finds_the_prompt_of_the_last_one_read(shared):
    assert shared.call("ask", "Why now?", "--max-tokens", 5).code == 0
    again = shared.call("ask", "Why now?", "--max-tokens", 5, "--json").data
    assert again["usage"]["cached_tokens"] == again["usage"]["prompt_tokens"] - 1


def asked(line, path, body):
    """The events of a stream that another program asks for."""
    import httpx

    transport = httpx.HTTPTransport(uds=report(line)["socket"])
    with httpx.Client(transport=transport, base_url="http://paceline", timeout=SECONDS) as client:
        text = client.post(path, json={**body, "stream": True, "return_progress": True}).text
    found = [each.removeprefix("data: ") for each in text.split("\n\n") if each.startswith("data: ")]
    return [json.loads(each) for each in found if each != "[DONE]"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/completion"])
def test_progress_tells_what_was_in_the_cache(shared, path):
    assert shared.call("ask", "Hi", "--max-tokens", 1).code == 0
    text = f"{path} " + "one two three " * 150
    body = {"messages": [{"role": "user", "content": text}], "prompt": text, "max_tokens": 1}
    for times in range(2):
        events = asked(shared, path, body)
        told = [each["prompt_progress"] for each in events if "prompt_progress" in each]
        total = told[0]["total"]
        assert total > 1000
        cached = events[-1]["timings"]["cache_n"]
        assert {each["cache"] for each in told} == {cached}
        assert cached < 30 if times == 0 else cached == total - 1
        assert told[0]["processed"] == cached  # before anything was read
        assert told[-1]["processed"] == total
        done = [each["processed"] for each in told]
        assert done == sorted(done)


# --- ends -------------------------------------------------------------------------------------------------------------


def stopped_early(line):
    """Whether the daemon has stopped computing a long answer."""
    until(lambda: report(line)["active"] == 0)
    return all(slot["state"] == "idle" and slot["tokens"] < 50_000 for slot in report(line)["slots"])


def test_ctrl_c_stops_the_computation(shared):
    shared.configure(engine="context = 65536")
    with shared.start(*LONG) as running:
        assert running.stdout.read(1)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 130
    assert b"Traceback" not in err
    assert stopped_early(shared)


def interrupted(line, *words, alone=False):
    """What a long answer says that Ctrl-C ended after its first words."""
    alone = ["--no-daemon"] if alone else []
    with line.start(LONG[0], *alone, *LONG[1:], *words) as running:
        first = running.stdout.read(40)  # of several rounds
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 130, err
    return (first + out).decode(), err.decode()


def test_after_ctrl_c_the_figures_are_the_same_as_alone(shared):
    shared.configure(engine="context = 65536")
    told = [interrupted(shared, "--stats", alone=alone) for alone in (False, True)]
    words = [[line.split()[0] for line in err.splitlines() if line] for _, err in told]
    assert words[0] == words[1]
    assert words[0][:2] == ["prompt", "answer"]
    prompts = [re.search("prompt +([0-9]+) tokens.*?(?:([0-9]+) more|$)", err, re.M).groups("0") for _, err in told]
    assert len({sum(map(int, each)) for each in prompts}) == 1
    assert stopped_early(shared)


def test_after_ctrl_c_the_object_has_the_figures(shared):
    shared.configure(engine="context = 65536")
    with shared.start(*LONG, "--json") as running:
        until(lambda: any(slot["state"] == "decode" and slot["produced"] > 9 for slot in report(shared)["slots"]))
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=SECONDS)
    assert running.returncode == 130
    said = json.loads(out)
    assert (said["finish_reason"], said["model"]) == ("cancelled", "target")
    assert said["usage"]["prompt_tokens"] > 9
    assert said["usage"]["completion_tokens"] == said["timings"]["predicted_n"] > 9
    assert len(said["text"]) > 9
    assert stopped_early(shared)


def test_ctrl_c_waits_for_no_daemon_that_stands_still(shared):
    shared.configure(engine="context = 65536")
    with shared.start(*LONG, "--json") as running:
        until(lambda: any(slot["state"] == "decode" for slot in report(shared)["slots"]))
        daemon = report(shared)["pid"]
        os.kill(daemon, signal.SIGSTOP)
        try:
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=SECONDS)
        finally:
            os.kill(daemon, signal.SIGCONT)
    assert running.returncode == 130
    said = json.loads(out)
    assert (said["finish_reason"], said["usage"]["completion_tokens"]) == ("cancelled", None)
    assert said["usage"]["prompt_tokens"] > 9
    assert stopped_early(shared)


def test_a_reader_that_goes_away_stops_the_computation(shared):
    shared.configure(engine="context = 65536")
    with shared.start(*LONG) as running:
        assert running.stdout.read(1)
        running.stdout.close()
        err = running.stderr.read()
        assert (running.wait(SECONDS), err) == (141, b"")
    assert stopped_early(shared)


def test_a_client_that_is_killed_stops_the_computation(shared):
    shared.configure(engine="context = 65536")
    with shared.start(*LONG) as running:
        assert running.stdout.read(1)
        running.kill()
    assert stopped_early(shared)


def test_a_daemon_that_is_killed_is_one_clear_error_and_the_next_question_starts_another(shared):
    shared.configure(engine="context = 65536")
    with shared.start(*LONG) as running:
        said = running.stdout.read(20)
        os.kill(report(shared)["pid"], signal.SIGKILL)
        _, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 1
    assert b"error: the daemon ended in the middle of the answer\nhint: ask again" in err
    assert len(said) == 20, "what was said before it arrives"
    assert shared.call("ask", "Why?", "--max-tokens", 3).code == 0


# --- what it takes ----------------------------------------------------------------------------------------------------


def test_a_client_loads_no_engine(shared):
    code = (
        "import sys; sys.argv = ['paceline', 'ask', 'Why?', '--max-tokens', '1']\n"
        "from paceline.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)\n"
    )
    done = shared.execute([sys.executable, "-c", code])
    loaded = set(done.err.splitlines()[-1].split())
    assert "httpx" in loaded
    assert not loaded & {"llama_cpp", "numpy", "textual", "paceline.engine.engine", "jinja2", "starlette"}
