"""`ask` and `complete` with an engine elsewhere (`engine.url`), and how they tell what goes wrong there."""

import signal

import pytest

from support.api_server import (
    Reply,
    chat_answer,
    chat_chunk,
    data,
    infill_answer,
    json_reply,
    llama_server,
    running_api,
)

CODE = "def ring(a, b):\n    ret\n"
TOP = {"text", "finish_reason", "model", "usage", "timings"}


@pytest.fixture
def api():
    with running_api() as server:
        yield server


@pytest.fixture
def line(paceline, api):
    """The command line, told to ask the server; there are no models here."""
    paceline.shared = True
    name_server(paceline, api.url)
    return paceline


def name_server(paceline, url, more=""):
    paceline.config.write_text(f'[engine]\nurl = "{url}"\nmodel = "big"\n{more}')


def test_an_answer_comes_from_there_and_nothing_is_set_up_here(line, api):
    api.chat(chat_answer("Because", "."))
    ran = line.call("ask", "Why?")
    assert (ran.code, ran.out, ran.err) == (0, "Because.\n", "")
    assert api.of("/v1/chat/completions")[0].body["messages"][1] == {"role": "user", "content": "Why?"}
    assert list((line.root / "run").iterdir()) == []  # no daemon either


def test_what_the_command_line_says_is_asked_for(line, api):
    api.chat(chat_answer("x"))
    line.call("ask", "Why?", "--max-tokens", 5, "--temperature", 0.5, "--seed", 3)
    sent = api.of("/v1/chat/completions")[0].body
    assert (sent["max_tokens"], sent["temperature"], sent["seed"]) == (5, 0.5, 3)


def test_a_completion_comes_from_there(line, api):
    llama_server(api).answer("/infill", infill_answer("urn a + b  "))
    assert line.call("complete", "-:2:8", stdin=CODE).out == "urn a + b"
    told = line.call("complete", "-:2:8", "--json", stdin=CODE).data
    assert set(told) == TOP | {"prefix_cut", "suffix_cut"}
    assert told["usage"] == {"prompt_tokens": 20, "completion_tokens": 5, "cached_tokens": 8}


def test_json_has_the_same_keys_with_a_server_that_tells_no_figures(line, api):
    api.chat(Reply([chat_chunk("x"), chat_chunk(finish="stop")]))
    told = line.call("ask", "Why?", "--json").data
    assert set(told) == TOP
    assert told["usage"] == {"prompt_tokens": None, "completion_tokens": None, "cached_tokens": None}
    assert told["timings"] == {}


@pytest.mark.parametrize(
    ("reply", "figures"),
    [
        (Reply([chat_chunk("x"), chat_chunk(finish="stop")]), ""),
        (chat_answer("x", "y"), "prompt      5 tokens (4 more were cached)\nanswer      2 tokens\n"),
        (
            chat_answer("x", timings={"prompt_ms": 500.0, "predicted_ms": 250.0, "predicted_per_second": 4.0}),
            "prompt      5 tokens in 0.50 s (4 more were cached)\nanswer      1 tokens in 0.25 s, 4.0 tokens/s\n",
        ),
        (
            chat_answer("x", timings={"prompt_ms": "soon", "drafters": 5, "cache_n": "all", "predicted_n": []}),
            "prompt      5 tokens (4 more were cached)\nanswer      1 tokens\n",
        ),
    ],
    ids=["none", "usage", "llama.cpp's", "nonsense"],
)
def test_figures_are_those_that_the_server_gives(line, api, reply, figures):
    api.chat(reply)
    assert line.call("ask", "Why?", "--stats").err == figures


def test_terminal_controls_from_there_are_taken_out(line, api):
    note = b": note \x1b[2Jhm\n\n"
    api.chat(Reply([note, *chat_answer("a\x1b[2J", "b\x1b]0;title\x07").pieces]))
    shown = line.call("ask", "Why?")
    assert (shown.out, shown.err) == ("ab\n", "hm\n")


def test_an_error_there_does_not_steer_the_terminal(line, api):
    api.chat(json_reply({"error": {"message": "no \x1b[2J\x1b]0;x\x07way"}}, 400))
    refused = line.call("ask", "Why?")
    assert refused.err == "error: no way\n"
    assert refused.code == 6


def test_a_note_is_told_once(line, api):
    api.chat(Reply([b": note hm\n\n: note hm\n\n", *chat_answer("x").pieces]))
    assert line.call("ask", "Why?").err == "hm\n"


@pytest.mark.parametrize("words", [("ask", "Why?"), ("complete", "-:1:1")])
def test_a_server_that_is_not_there_is_named(line, words):
    name_server(line, "http://127.0.0.1:9/v1")
    assert line.call(*words).failed(5, "cannot reach 127.0.0.1:9", "engine.url")


def test_a_server_that_breaks_off_leaves_what_it_said(line, api):
    api.chat(Reply([chat_chunk("so far")], drop=True))
    ran = line.call("ask", "Why?")
    assert (ran.code, ran.out) == (5, "so far")
    assert "broke off in the middle of the answer" in ran.err


def test_a_server_elsewhere_is_not_asked_without_a_network(line):
    name_server(line, "http://big.example/v1")
    assert line.call("ask", "Why?", "--offline").failed(3, "engine.url", "--no-daemon")
    name_server(line, "http://big.example/v1", "[models]\noffline = true\n")
    assert line.call("ask", "Why?").failed(3, "engine.url", "--no-daemon")


def test_a_server_on_this_machine_needs_no_network(line, api):
    api.chat(chat_answer("x"))
    assert line.call("ask", "Why?", "--offline").out == "x\n"


def test_the_models_of_this_machine_can_be_asked_all_the_same(line, api, tiny):
    line.configure(engine=f'url = "{api.url}"')
    assert line.call("ask", "Why?", "--no-daemon", "--max-tokens", 5).code == 0
    assert api.requests == []


def test_ctrl_c_leaves_the_server_at_once(line, api):
    progress = data({"choices": [], "prompt_progress": {"total": 33, "cache": 0, "processed": 33, "time_ms": 1.0}})
    api.chat(Reply([progress, chat_chunk("so far")], stall=True))
    with line.start("ask", "Why?", "--stats") as running:
        assert running.stdout.read(6) == b"so far"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    assert (running.returncode, out) == (130, b"\n")
    assert api.gone.wait(10)
    assert err.strip() == b"prompt      33 tokens"


def test_a_pager_that_pauses_does_not_hold_up_the_server(line, api):
    many = [chat_chunk("x" * 1000)] * 2000
    api.chat(Reply([*many, *chat_answer("end").pieces], stall=True))
    with line.start("ask", "Why?") as running:
        assert api.gone.wait(20)  # all of it was taken, though nobody has read any
        out, _ = running.communicate(timeout=20)
    assert len(out) == 2_000_004


def test_a_reader_that_goes_away_leaves_the_server(line, api):
    api.chat(Reply([chat_chunk("x" * 1000)], repeat=True))
    with line.start("ask", "Why?") as running:
        running.stdout.read(1)
        running.stdout.close()
        err = running.stderr.read()
        assert (running.wait(20), err) == (141, b"")
    assert api.gone.wait(10)
