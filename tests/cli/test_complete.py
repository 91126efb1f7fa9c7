"""`paceline complete`: the text to insert on stdout and nothing else, for positions as editors count them."""

import re

import pytest

from paceline.commands.complete import parse_place
from paceline.errors import InputError

CODE = "def area(r):\n    return 3.14 * r\n\n\ndef ring(a, b):\n    ret\n\n\nprint(ring(1, 2))\n"
HERE = "6:8"  # behind "ret"
END = "10:1"  # where anything may follow
VARIED = ("--temperature", 1, "--seed", 1, "--max-tokens", 60)  # gives several lines


def test_stdout_is_the_completion_and_nothing_else_not_even_a_newline(paceline):
    name = paceline.write("a.py", CODE)
    plain = paceline.run("complete", f"{name}:{HERE}", "--max-tokens", 20)
    whole = paceline.run("complete", f"{name}:{HERE}", "--max-tokens", 20, "--json").data
    assert (plain.code, plain.err) == (0, "")
    assert plain.out == whole["text"]
    assert plain.out
    assert not plain.out.endswith("\n")
    assert (paceline.root / name).read_text() == CODE


def test_json_has_the_documented_keys_and_no_others(paceline):
    raw = paceline.call("complete", f"-:{HERE}", "--json", "--max-tokens", 9, stdin=CODE)
    assert raw.out.isascii()
    whole = raw.data
    assert set(whole) == {"text", "finish_reason", "model", "usage", "timings", "prefix_cut", "suffix_cut"}
    assert set(whole["usage"]) == {"prompt_tokens", "completion_tokens", "cached_tokens"}
    assert (whole["model"], whole["finish_reason"]) == ("target", "length")
    assert whole["usage"]["completion_tokens"] == whole["timings"]["predicted_n"] == 9
    assert (whole["prefix_cut"], whole["suffix_cut"]) == (0, 0)


def test_what_did_not_fit_is_counted(paceline):
    paceline.configure("[complete]\nprefix_tokens = 200\nsuffix_tokens = 100")
    head, tail = "first = 1\n" * 100, "last = 2\n" * 100
    words = ("complete", "-:101:2", "--max-tokens", 5)
    cut = paceline.call(*words, "--json", stdin=head + "x\n" + tail).data
    assert 500 < cut["prefix_cut"] < len(head)
    assert 500 < cut["suffix_cut"] < len(tail)
    assert 250 < cut["usage"]["prompt_tokens"] < 310
    told = paceline.call(*words, "--stats", stdin=head + "x\n" + tail).err
    assert f"{cut['prefix_cut']} characters before and {cut['suffix_cut']} after were left out" in told


def test_figures_go_to_stderr_and_change_nothing_on_stdout(paceline):
    plain, told = (
        paceline.call("complete", f"-:{HERE}", "--max-tokens", 9, *more, stdin=CODE) for more in ([], ["--stats"])
    )
    assert told.out == plain.out
    assert re.search(r"^answer +9 tokens", told.err, re.M)


def test_a_single_line_is_one_line(paceline):
    words = ("complete", f"-:{END}", *VARIED)
    free = paceline.call(*words, stdin=CODE).out
    single = paceline.call(*words, "--single-line", "--json", stdin=CODE).data
    assert "\n" in free
    assert single["text"] == free.split("\n")[0].rstrip()
    assert single["finish_reason"] == "stop"
    assert single["usage"]["completion_tokens"] < 60


@pytest.mark.parametrize(
    ("document", "place"),
    [("f()\n", "1:3"), ("# say \n", "1:7"), ('x = "say \n', "1:10"), ('def f():\n    """Say\n    \n', "3:5")],
)
def test_where_a_line_is_wanted_one_is_given_as_in_an_editor(paceline, document, place):
    paceline.write("a.py", document)
    words = ("complete", f"a.py:{place}", *VARIED, "--json")
    usual = paceline.call(*words, stdin=document).data
    assert usual["text"] == paceline.call(*words, "--single-line", stdin=document).data["text"]
    assert "\n" not in usual["text"]


def test_a_seed_gives_the_same_completion_whoever_drafts(paceline):
    words = ("complete", f"-:{HERE}", *VARIED)
    texts = [paceline.call(*words, "--speculation", each, stdin=CODE).out for each in ("off", "ngram", "draft")]
    assert len(set(texts)) == 1


# --- the place --------------------------------------------------------------------------------------------------------


def test_a_file_and_standard_input_are_completed_alike(paceline):
    paceline.write("a.py", CODE)
    from_file = paceline.run("complete", f"a.py:{HERE}", "--max-tokens", 20)
    assert from_file.out
    for words in (
        [f"-:{HERE}", "--max-tokens", 20],
        ["--max-tokens", 20, f"-:{HERE}"],
        ["--max-tokens", 20, "--", f"-:{HERE}"],
    ):
        assert paceline.run("complete", *words, stdin=CODE).out == from_file.out


@pytest.mark.parametrize("name", ["a:b.py", "a:1:2", "-", "é 漢.py", "a.rs"])
def test_any_file_name_may_be_completed_in(paceline, name):
    paceline.write(name, CODE)
    named = paceline.call("complete", f"{'./' if name == '-' else ''}{name}:{HERE}", "--max-tokens", 20)
    assert named.code == 0
    assert named.out == paceline.call("complete", f"-:{HERE}", "--max-tokens", 20, stdin=CODE).out


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ("a.py:3:14", ("a.py", 3, 14)),
        ("-:1:1", ("-", 1, 1)),
        ("C:\\code\\a.py:3:14", ("C:\\code\\a.py", 3, 14)),
        ("a:1:2:3:4", ("a:1:2", 3, 4)),
        (":a:1:2", (":a", 1, 2)),
        ("a:007:0", ("a", 7, 0)),
        (f"a:{'9' * 100}:1", ("a", int("9" * 100), 1)),
    ],
)
def test_a_place_is_a_name_a_line_and_a_column(place, parts):
    assert parse_place(place) == parts


@pytest.mark.parametrize(
    "place",
    [
        "",
        "a",
        "a.py:3",
        "a:b:c",
        ":1:2",
        "::",
        "a:1:",
        "a::1",
        "a:-1:2",
        "a:1:+2",
        "a:1:²",
        "a:٣:1",
        "a:1:1.5",
        "a:1 :2",
    ],
)
def test_anything_else_is_no_place(place):
    with pytest.raises(InputError, match="is not FILE:LINE:COL"):
        parse_place(place)


def test_numbers_longer_than_python_reads_are_no_place():
    for place in (f"a:{'9' * 5000}:1", f"a:1:{'9' * 5000}"):
        with pytest.raises(InputError, match="is not FILE:LINE:COL"):
            parse_place(place)


def test_a_broken_place_is_explained_with_an_example(paceline):
    assert paceline.call("complete", "a.py").failed(6, "'a.py' is not FILE:LINE:COL", "src/main.py:12:5")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("0:1", ("line 0 is outside", "10 lines")),
        ("11:1", ("line 11 is outside", "10 lines")),
        ("99999999999999999999:1", ("is outside", "10 lines")),
        ("6:0", ("column 0 is outside of line 6", "7 characters")),
        ("6:9", ("column 9 is outside of line 6", "7 characters", "8 is the end")),
        ("3:2", ("column 2 is outside of line 3", "0 characters")),
    ],
)
def test_a_position_outside_of_the_document_is_refused_before_models_are_loaded(paceline, place, words):
    paceline.configure(target="/nowhere/model.gguf")
    assert paceline.call("complete", f"-:{place}", stdin=CODE).failed(6, *words)


@pytest.mark.parametrize("place", ["10:1", "6:8", "3:1", "1:1"])
def test_the_edges_of_the_document_are_inside(paceline, place):
    assert paceline.call("complete", f"-:{place}", "--max-tokens", 1, stdin=CODE).code == 0


def test_columns_are_characters_whatever_they_take_in_bytes_or_cells(paceline):
    line = "s = '😀漢字e\u0301👩‍👩‍👧'"
    document = f"# é\n{line}\nx = 1\n"
    beyond = paceline.call("complete", f"-:2:{len(line) + 2}", stdin=document)
    assert beyond.failed(6, f"{len(line)} characters")
    inside = paceline.call("complete", f"-:2:{len(line) + 1}", stdin=document)
    assert (inside.code, bool(inside.out)) == (0, True)


def test_the_text_before_the_column_is_what_is_completed(paceline):
    """The quote behind the emoji is the suffix; the prompt has it as one token more than without it."""
    words = ("--max-tokens", 30, "--json")
    quote_follows = paceline.call("complete", "-:1:8", *words, stdin="a = '😀😀'").data
    nothing_follows = paceline.call("complete", "-:1:8", *words, stdin="a = '😀😀").data
    assert quote_follows["usage"]["prompt_tokens"] == nothing_follows["usage"]["prompt_tokens"] + 1


def test_only_line_endings_end_lines(paceline):
    document = "a\u2028b\x0cc\x0bd\x85e\x1cf\ng\rh\r\ni"
    assert paceline.call("complete", "-:5:1", stdin=document).failed(6, "4 lines")
    assert paceline.call("complete", "-:1:13", stdin=document).failed(6, "line 1, which has 11 characters")


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_a_completion_has_the_line_endings_of_its_document(paceline, ending):
    usual = paceline.call("complete", f"-:{END}", *VARIED, stdin=CODE).out
    other = paceline.call("complete", f"-:{END}", *VARIED, stdin=CODE.replace("\n", ending)).out
    assert "\n" in usual
    # a lone carriage return steers a terminal, and so is taken out of plain output
    assert other == usual.replace("\n", "\r\n" if ending == "\r\n" else "")


def test_json_keeps_carriage_returns(paceline):
    usual = paceline.call("complete", f"-:{END}", *VARIED, "--json", stdin=CODE).data["text"]
    other = paceline.call("complete", f"-:{END}", *VARIED, "--json", stdin=CODE.replace("\n", "\r")).data["text"]
    assert "\n" in usual
    assert other == usual.replace("\n", "\r")


@pytest.mark.parametrize(("document", "place"), [("", "1:1"), ("x", "1:2"), ("a\n    b", "2:6"), ("\n", "2:1")])
def test_small_documents_and_last_lines_without_an_ending_are_completed(paceline, document, place):
    done = paceline.call("complete", f"-:{place}", "--max-tokens", 8, "--json", stdin=document).data
    assert done["usage"]["completion_tokens"] == 8


def test_a_byte_order_mark_is_no_column(paceline):
    marked = paceline.call("complete", "-:1:2", "--max-tokens", 20, stdin=b"\xef\xbb\xbfx")
    assert marked.code == 0
    assert marked.out == paceline.call("complete", "-:1:2", "--max-tokens", 20, stdin="x").out


# --- files and models that cannot be used -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "word"),
    [(None, "No such file"), (b"\x00\x01\x02", "not text"), ("é".encode("latin-1"), "not UTF-8")],
    ids=["missing", "binary", "latin-1"],
)
def test_a_file_that_is_no_readable_text_is_refused_by_name(paceline, content, word):
    name = "gone.py" if content is None else paceline.write("odd.py", content)
    assert paceline.call("complete", f"{name}:1:1").failed(6, name, word)


def test_a_directory_is_no_text(paceline):
    assert paceline.call("complete", ".:1:1").failed(6, "Is a directory")


def test_binary_standard_input_is_refused(paceline):
    assert paceline.call("complete", "-:1:1", stdin=b"a\x00").failed(6, "standard input", "not text")


def test_a_model_that_cannot_infill_says_so_and_what_would(paceline, tiny):
    paceline.configure(target=tiny.without_fim, draft="none")
    assert paceline.run("complete", "-:1:1", stdin="x").failed(4, "cannot infill", "Qwen2.5-Coder")
    assert paceline.run("ask", "Why?", "--max-tokens", 3).code == 0


def test_a_model_without_a_chat_template_can_infill(paceline, tiny):
    paceline.configure(target=tiny.base, draft="none")
    assert paceline.call("complete", "-:1:2", "--max-tokens", 5, stdin="x").code == 0


@pytest.mark.parametrize("text", ["<|fim_middle|>", "<|fim_suffix|>", "<|endoftext|>", "<|im_end|>"])
def test_the_texts_of_control_tokens_in_a_file_are_plain_text(paceline, text):
    document, disarmed = f"x = '{text}'\ny = ", f"x = '{text.replace('|>', '|)')}'\ny = "
    injected, plain = (
        paceline.call("complete", "-:2:5", "--max-tokens", 1, "--json", stdin=each).data["usage"]["prompt_tokens"]
        for each in (document, disarmed)
    )
    assert injected == plain


def test_control_characters_of_the_model_never_reach_stdout(paceline, tiny):
    paceline.configure(target=tiny.hostile, draft="none")
    words = ("complete", f"-:{END}", "--temperature", 1, "--seed", 6, "--max-tokens", 120)
    said = paceline.call(*words, "--json", stdin=CODE).data["text"]
    shown = paceline.call(*words, stdin=CODE).out
    assert "\x1b]0;title\x07" in said
    assert "\x1b" not in shown
    assert "title" not in shown


@pytest.mark.parametrize(
    "words", [["--temperature", "nan"], ["--max-tokens", "0"], ["--nonsense"], ["--speculation", "wild"], ["b.py:1:1"]]
)
def test_a_wrong_option_is_explained(paceline, words):
    assert paceline.misused("complete", "a.py:1:1", *words, naming=words[0])


def test_a_place_is_needed(paceline):
    assert paceline.misused("complete", naming="FILE:LINE:COL")
