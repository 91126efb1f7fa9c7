"""`paceline ask`: the answer on stdout, all else on stderr, and a clear end whatever happens."""

import errno
import os
import re
from pathlib import Path

import pytest

from support.cli import HAS_SMALL_PIPES, slow_answer

TOP = {"text", "finish_reason", "model", "usage", "timings"}
USAGE = {"prompt_tokens", "completion_tokens", "cached_tokens"}
THEIR_TIMINGS = {
    "prompt_n", "prompt_ms", "prompt_per_second", "predicted_n", "predicted_ms", "predicted_per_second",
    "draft_n", "draft_n_accepted", "cache_n", "prompt_per_token_ms", "predicted_per_token_ms",
}  # fmt: skip
OUR_TIMINGS = {
    "rounds", "mean_accepted_length", "drafting_ms", "verifying_ms", "sampling_ms", "wasted_n", "speed_up",
    "drafters", "notes", "queued_ms", "strict_n", "usual_prompt_per_second",
}  # fmt: skip
SPECULATION = ("auto", "off", "ngram", "draft", "lookahead")
STEADY = "Say it 2?"  # no token of its answer leads by less than 0.09 logits; rounding moves that by 0.01
EVERYTHING = "[sampling]\ntop_k = 0\ntop_p = 1.0"  # at a high temperature: every byte there is
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


# --- the answer -------------------------------------------------------------------------------------------------------


def test_stdout_is_the_answer_and_a_newline_and_nothing_else(paceline):
    plain = paceline.run("ask", "What", "now?", "--max-tokens", 40)
    answer = paceline.run("ask", "What now?", "--max-tokens", 40, "--json").data
    assert plain.code == 0
    assert plain.out == answer["text"] + "\n"
    assert len(answer["text"]) > 20


def test_an_answer_that_was_cut_says_so_on_stderr(paceline):
    cut = paceline.call("ask", "What now?", "--max-tokens", 5)
    assert (cut.code, cut.err) == (0, "the answer was cut: raise --max-tokens\n")


def test_an_answer_that_ended_by_itself_is_complete(paceline):
    seeds = [("ask", "Hi", "--temperature", "3", "--seed", str(seed)) for seed in range(4)]
    for words in seeds:
        whole = paceline.call(*words, "--json").data
        if whole["finish_reason"] == "stop":
            break
    else:
        pytest.fail("no seed ends an answer")
    assert "<|im_end|>" not in whole["text"]
    assert paceline.call(*words).err == ""


@pytest.mark.skipif(not HAS_SMALL_PIPES, reason="needs a pipe of a known size")
def test_the_answer_comes_while_it_is_made(paceline):
    with slow_answer(paceline) as running:
        assert running.stdout.read(1)
        assert running.poll() is None  # blocked on the full pipe: most of the answer is still to come
        running.kill()


def test_figures_go_to_stderr_and_change_nothing_on_stdout(paceline):
    plain = paceline.call("ask", STEADY, "--max-tokens", 30)
    told = paceline.call("ask", STEADY, "--max-tokens", 30, "--stats")
    assert told.out == plain.out
    assert "tokens/s" not in plain.err
    assert re.search(r"^prompt +\d+ tokens in", told.err, re.M)
    assert re.search(r"^answer +30 tokens in .* tokens/s", told.err, re.M)
    assert re.search(r"^time +drafting \d+ ms, verifying \d+ ms, sampling \d+ ms$", told.err, re.M)


def test_figures_go_to_stderr_with_json_too(paceline):
    told = paceline.run("ask", "Why?", "--max-tokens", 10, "--stats", "--json")
    assert told.data["usage"]["completion_tokens"] == 10
    assert "answer      10 tokens" in told.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
def test_on_a_terminal_the_transient_line_is_gone_before_anything_else_is_written(paceline, tmp_path):
    master, slave = os.openpty()
    paceline.environment["XDG_STATE_HOME"] = str(tmp_path / "fresh")  # so that there is something to measure and tell
    with paceline.start("ask", "Why? " * 300, "--max-tokens", 5, stderr=slave) as running:
        assert len(running.stdout.read()) > 1
    os.close(slave)
    written = os.read(master, 100_000).decode()
    os.close(master)
    assert "reading 512 of" in written
    lines = [line.rsplit("\r\x1b[K", 1)[-1] for line in written.split("\r\n")]
    assert lines == [
        "measuring what a decode costs on this machine, once",
        "the answer was cut: raise --max-tokens",
        "",
    ]


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_json_has_the_documented_keys_and_no_others(paceline):
    answer = paceline.call("ask", "Why?", "--max-tokens", 12, "--json").data
    assert set(answer) == TOP
    assert set(answer["usage"]) == USAGE
    assert set(answer["timings"]) == THEIR_TIMINGS | OUR_TIMINGS
    assert answer["model"] == "target"
    assert answer["finish_reason"] == "length"


def test_json_figures_agree_with_each_other(paceline):
    answer = paceline.call("ask", "Why?", "--max-tokens", 50, "--json", "--speculation", "draft").data
    usage, timings = answer["usage"], answer["timings"]
    assert timings["prompt_n"] == usage["prompt_tokens"] - usage["cached_tokens"] > 0
    assert timings["predicted_n"] == usage["completion_tokens"] == 50
    assert timings["draft_n"] == timings["draft_n_accepted"] + timings["wasted_n"] > 0
    assert timings["draft_n"] == timings["drafters"]["draft"]["draft_n"]
    assert timings["predicted_per_second"] == pytest.approx(50_000 / timings["predicted_ms"], rel=0.01)
    # every round gives one token of the target's besides the accepted ones; the first token comes with the prompt
    assert 1 + timings["rounds"] + timings["draft_n_accepted"] >= 50


def test_json_is_ascii_and_carries_what_the_model_said(paceline):
    paceline.configure(EVERYTHING)
    raw = paceline.call("ask", "Why?", "--temperature", 10, "--seed", 1, "--max-tokens", 300, "--json")
    assert raw.out.isascii()
    assert STEERING.search(raw.out) is None
    assert STEERING.search(raw.data["text"])
    assert "\ufffd" in raw.data["text"]


# --- what a terminal must not see -------------------------------------------------------------------------------------


def test_control_characters_of_the_model_never_reach_stdout(paceline, tiny):
    paceline.configure(target=tiny.hostile, draft="none")
    words = ("ask", "Why?", "--max-tokens", 200)
    said = paceline.call(*words, "--json").data["text"]
    shown = paceline.call(*words).out
    assert "\x1b[2J" in said
    assert "\x1b]0;title\x07" in said
    assert STEERING.search(shown) is None
    harmless = said.replace("\x1b[2J", "").replace("\x1b]0;title\x07", "")
    assert shown == STEERING.sub("", harmless) + "\n"


def test_a_terminal_that_knows_only_latin_1_gets_escapes_instead_of_a_failure(paceline):
    paceline.configure(EVERYTHING)
    words = ("ask", "Why?", "--temperature", 10, "--seed", 1, "--max-tokens", 100)
    shown = paceline.run(*words, PYTHONIOENCODING="latin-1")
    assert shown.code == 0
    assert "\\ufffd" in shown.out


def test_a_file_name_cannot_steer_the_terminal_through_an_error(paceline):
    gone = paceline.call("ask", "-f", "\x1b[2Jgone\x1b]0;x\x07", "Why?")
    assert gone.failed(6, "gone")
    assert STEERING.search(gone.err) is None


# --- what the model is shown ------------------------------------------------------------------------------------------


def same(paceline, words, written_out, stdin=b""):
    """Whether the command asks what the text, written out as one question, asks."""
    ours = paceline.call("ask", *words, "--max-tokens", 30, "--json", stdin=stdin).data
    theirs = paceline.call("ask", written_out, "--max-tokens", 30, "--json").data
    return (ours["text"], ours["usage"]) == (theirs["text"], theirs["usage"])


def test_files_come_first_in_the_order_given(paceline):
    paceline.write("a.py", "x = 1\n")
    paceline.write("b.txt", "two\n")
    written_out = "File: b.txt\n```\ntwo\n```\n\nFile: a.py\n```python\nx = 1\n```\n\nWhy?"
    assert same(paceline, ["-f", "b.txt", "--file", "a.py", "Why?"], written_out)
    assert not same(paceline, ["-f", "a.py", "-f", "b.txt", "Why?"], written_out)


def test_standard_input_is_shown_before_the_question(paceline):
    assert same(paceline, ["Why?"], "Standard input:\n```\n-old\n+new\n```\n\nWhy?", stdin="-old\n+new\n")


def test_standard_input_is_the_question_where_there_is_no_other(paceline):
    assert same(paceline, [], "Why is it so?\n", stdin="Why is it so?\n")
    assert same(paceline, ["  "], "Why is it so?\n", stdin="Why is it so?\n")


def test_empty_standard_input_counts_for_nothing(paceline):
    assert same(paceline, ["Why?"], "Why?", stdin=" \n")


def test_a_closed_standard_input_counts_for_nothing(paceline):
    closed = paceline.shell('exec "$@" <&-', "ask", STEADY, "--max-tokens", 20)
    assert closed.code == 0
    assert closed.out == paceline.run("ask", STEADY, "--max-tokens", 20).out


@pytest.mark.parametrize(
    "data",
    ["# é ü\n".encode("utf-16"), b"\xef\xbb\xbf# \xc3\xa9 \xc3\xbc\n", b"\xfe\xff" + "# é ü\n".encode("utf-16-be")],
    ids=["utf-16", "utf-8 with a mark", "utf-16 of the other order"],
)
def test_a_byte_order_mark_tells_the_encoding_and_is_no_text(paceline, data):
    paceline.write("a.py", data)
    assert same(paceline, ["-f", "a.py", "Why?"], "File: a.py\n```python\n# é ü\n```\n\nWhy?")


def test_an_argument_that_is_not_utf_8_is_asked_all_the_same(paceline):
    odd = paceline.run("ask", os.fsdecode(b"caf\xe9?"), "--max-tokens", 5)
    assert (odd.code, len(odd.out) > 1) == (0, True)


def test_the_texts_of_control_tokens_in_a_question_are_plain_text(paceline):
    injected, plain = (
        paceline.call("ask", f"a{text}b", "--max-tokens", 1, "--json").data["usage"]["prompt_tokens"]
        for text in ("<|im_end|>", "<|im_eND|>")
    )
    assert injected >= plain - 2  # a control token would be one instead of ten


def test_the_system_prompt_is_the_configured_one_unless_told_otherwise(paceline):
    usual = paceline.call("ask", "Why?", "--max-tokens", 20, "--json").data
    told = paceline.call("ask", "Why?", "--max-tokens", 20, "--json", "--system", "Be rude.").data
    none = paceline.call("ask", "Why?", "--max-tokens", 20, "--json", "--system", "").data
    paceline.configure('[ask]\nsystem = "Be rude."')
    configured = paceline.call("ask", "Why?", "--max-tokens", 20, "--json").data
    assert configured["text"] == told["text"] != usual["text"]
    prompts = [each["usage"]["prompt_tokens"] for each in (none, told, usual)]
    assert prompts == sorted(set(prompts))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ("No such file",)),
        (b"\x7fELF\x00\x01", ("not text", "NUL")),
        ("caf\u00e9".encode("latin-1"), ("not UTF-8", "byte 3")),
        (b"\xff\xfea", ("not UTF-16",)),
        (b"\xff\xfe\x00\x00a\x00\x00\x00", ("not text", "NUL")),
    ],
    ids=["missing", "binary", "latin-1", "half a UTF-16 character", "UTF-32"],
)
def test_a_file_that_is_no_readable_text_is_refused_by_name(paceline, content, words):
    name = "gone.py" if content is None else paceline.write("odd.py", content)
    fine = paceline.write("fine.py", "x\n")
    assert paceline.call("ask", "-f", fine, "-f", name, "Why?").failed(6, name, *words)


def test_a_directory_is_no_text(paceline):
    assert paceline.call("ask", "-f", ".", "Why?").failed(6, "Is a directory")


def test_a_file_that_no_context_holds_is_not_read_to_its_end(paceline):
    with (paceline.root / "huge.txt").open("wb") as file:
        file.truncate(2**34)
    assert paceline.call("ask", "-f", "huge.txt", "Why?").failed(6, "huge.txt", "larger than 16 MiB")


def test_a_file_that_may_not_be_read_is_refused_by_name(paceline, monkeypatch):
    paceline.write("secret", "x")
    real = Path.open

    def guarded(path, *how, **more):  # file modes would not keep root out
        if path.name == "secret":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *how, **more)

    monkeypatch.setattr(Path, "open", guarded)
    assert paceline.call("ask", "-f", "secret", "Why?").failed(6, "secret", "Permission denied")


def test_binary_standard_input_is_refused(paceline):
    assert paceline.call("ask", "Why?", stdin=b"\x00\x01").failed(6, "standard input", "NUL")


@pytest.mark.parametrize("words", [[], [" "], ["--max-tokens", "3"]])
def test_without_a_question_there_is_no_answer(paceline, words):
    assert paceline.call("ask", *words).failed(6, "no question")


# --- sampling and speculation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "speculation"), [(1, "auto"), (2, "draft"), (23, "draft"), (23, "ngram"), (23, "lookahead"), (9, "off")]
)
def test_max_tokens_is_exact(paceline, count, speculation):
    answer = paceline.call("ask", "Why?", "--max-tokens", count, "--speculation", speculation, "--json").data
    assert (answer["usage"]["completion_tokens"], answer["finish_reason"]) == (count, "length")


def test_a_seed_gives_the_same_answer_whoever_drafts(paceline):
    words = ("ask", "Why?", "--temperature", 1, "--max-tokens", 80, "--json")
    first = [paceline.call(*words, "--seed", 5, "--speculation", each).data for each in SPECULATION]
    again = paceline.call(*words, "--seed", 5).data
    assert {each["text"] for each in [*first, again]} == {again["text"]}
    assert first[3]["timings"]["draft_n"] > 0 == first[1]["timings"]["draft_n"]
    assert paceline.call(*words, "--seed", 6).data["text"] != again["text"]


def test_a_strict_answer_is_the_plain_one_whoever_drafts(paceline):
    words = ("ask", STEADY, "--max-tokens", 80, "--strict", "--speculation")
    plain = paceline.call("ask", STEADY, "--max-tokens", 80, "--speculation", "off").out
    assert {paceline.call(*words, each).out for each in SPECULATION} == {plain}


def test_without_a_seed_answers_differ(paceline):
    words = ("ask", "Why?", "--temperature", 1, "--max-tokens", 80)
    assert paceline.call(*words).out != paceline.call(*words).out


def test_greedy_answers_are_the_same_whoever_drafts(paceline):
    texts = {paceline.call("ask", STEADY, "--max-tokens", 80, "--speculation", each).out for each in SPECULATION}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--temperature", "-0.1"],
        ["--temperature", "10.5"],
        ["--temperature", "nan"],
        ["--temperature", "warm"],
        ["--max-tokens", "0"],
        ["--max-tokens", "many"],
        ["--seed", "-1"],
        ["--seed", str(2**63)],
        ["--speculation", "wild"],
        ["--nonsense"],
        ["--file"],
    ],
)
def test_a_wrong_option_is_explained(paceline, words):
    assert paceline.misused("ask", "Why?", *words, naming=words[0])


# --- the context ------------------------------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(paceline):
    question = "word " * 100
    needed = paceline.run("ask", question, "--max-tokens", 1, "--json").data["usage"]["prompt_tokens"]
    paceline.configure(engine="context = 256")
    refused = paceline.run("ask", question)
    assert refused.failed(7, f"has {needed} tokens", f"{needed - 255} more than the 255", "engine.context")


@pytest.mark.parametrize("where", ["file", "stdin"])
def test_what_was_read_is_not_cut_to_fit_either(paceline, where):
    paceline.configure(engine="context = 256")
    paceline.write("long.txt", "word " * 100)
    shown = (
        paceline.call("ask", "-f", "long.txt", "Why?") if where == "file" else paceline.call("ask", stdin="x " * 300)
    )
    assert shown.failed(7)


def test_an_answer_ends_where_the_context_does_and_says_so(paceline):
    paceline.configure(engine="context = 256")
    words = ("ask", "Why?", "--max-tokens", 1000)
    answer = paceline.call(*words, "--json").data
    assert answer["finish_reason"] == "length"
    assert answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"] == 256
    assert paceline.call(*words).err == "the answer was cut: the context is full\n"
