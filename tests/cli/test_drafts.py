"""`ask --show-drafts`: who drafted what, in colours for a person and as a list for a program."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.client.events import Text
from paceline.commands.drafts import Painter, listed, why_plain
from paceline.errors import EngineError
from paceline.text import ControlFilter
from support.api_server import chat_answer, running_api
from support.scripted_engine import ScriptedEngine

SGR = re.compile("\x1b\\[[0-9;]*m")
GREEN, CYAN, MAGENTA, RED, BLUE = (f"\x1b[{code}m" for code in (32, 36, 35, 31, 34))
RESET = "\x1b[0m"
SAID = (Text("def "), Text("area", "ngram"), Text("(r):\n    return", "edit"), Text(" 3"), Text(".14\n", "draft"))
PLAIN = "def area(r):\n    return 3.14\n\n"
ASK = ("ask", "Why?", "--show-drafts")
TYPED = st.text(st.sampled_from("ab\n\r\t\x1b[]m;0\x07\x9bé漢"), max_size=6)
PIECES = st.lists(st.builds(Text, TYPED, st.sampled_from(["", "ngram", "draft", "eagle"])), max_size=8)


@pytest.fixture
def says(monkeypatch):
    """Lets an engine answer that says this."""
    return lambda *script: ScriptedEngine(*script).answer_for(monkeypatch)


# --- colours ----------------------------------------------------------------------------------------------------------


def test_each_drafter_has_a_colour_and_the_targets_own_words_have_none(paceline, says):
    engine = says(*SAID)
    shown = paceline.call(*ASK, terminal=True)
    first = f"def {GREEN}area{RESET}{CYAN}(r):{RESET}\n"
    assert shown.out == first + f"{CYAN}    return{RESET} 3{MAGENTA}.14{RESET}\n\n"
    assert engine.asked.tell_drafts


def test_without_the_option_nobody_is_asked_and_nothing_is_coloured(paceline, says):
    engine = says(*SAID)
    shown = paceline.call("ask", "Why?", terminal=True)
    assert (shown.out, shown.err) == (PLAIN, "")
    assert not engine.asked.tell_drafts


def test_a_legend_explains_the_colours_and_tells_how_much_each_drafter_brought(paceline, says):
    says(*SAID)
    told = paceline.call(*ASK, terminal=True).err
    shares = "ngram in green (14%), edit in cyan (52%), draft in magenta (14%)"  # of 29 characters
    assert told == f"drafts      {shares}; the rest is the target's own\n"


def test_the_legend_of_an_answer_without_drafts_says_so(paceline, says):
    says(Text("Because."))
    assert paceline.call(*ASK, terminal=True).err == "drafts      none in this answer\n"


@pytest.mark.parametrize(("name", "colour"), [("lookahead", RED), ("eagle", BLUE)])
def test_a_drafter_of_a_later_version_has_a_colour_too(name, colour):
    assert Painter().paint("x", name) == f"{colour}x{RESET}"


@given(PIECES)
def test_without_our_colours_the_text_is_the_filtered_one(pieces):
    clean, painter = ControlFilter(), Painter()
    shown = "".join(painter.paint(clean.feed(each.text), each.drafter) for each in pieces) + clean.flush()
    plain = ControlFilter()
    assert SGR.sub("", shown) == plain.feed("".join(each.text for each in pieces)) + plain.flush()


@given(PIECES)
def test_a_colour_never_reaches_over_the_end_of_a_piece_or_of_a_line(pieces):
    clean, painter = ControlFilter(), Painter()
    for each in pieces:
        for line in painter.paint(clean.feed(each.text), each.drafter).split("\n"):
            codes = SGR.findall(line)
            assert codes[1::2] == [RESET] * (len(codes) // 2)
            assert len(codes) % 2 == 0


def test_a_model_cannot_steer_the_terminal_across_pieces_of_different_drafters(paceline, says):
    says(Text("a\x1b"), Text("[2", "ngram"), Text("Jb\x1b]0;ti", "draft"), Text("tle\x07c"), Text("\r", "ngram"))
    shown = paceline.call(*ASK, terminal=True).out
    assert SGR.sub("", shown) == "abc\n"


# --- where there are no colours ---------------------------------------------------------------------------------------


def test_where_the_output_is_no_terminal_it_stays_as_it_is_and_that_is_said(paceline, says):
    engine = says(*SAID)
    shown = paceline.call(*ASK)
    assert shown.out == PLAIN
    assert shown.err.startswith("--show-drafts: the output is no terminal")
    assert not engine.asked.tell_drafts


def test_colours_can_be_forced_into_a_pipe_with_a_legend_in_plain_words(paceline, says):
    says(*SAID)
    paceline.environment["FORCE_COLOR"] = "1"
    shown = paceline.call(*ASK)
    assert f"{GREEN}area{RESET}" in shown.out
    assert "ngram in green" in shown.err
    assert "\x1b" not in shown.err


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"NO_COLOR": "1"}, "NO_COLOR is set"),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, "NO_COLOR is set"),
        ({"TERM": "dumb"}, "this terminal has no colours"),
    ],
)
def test_whoever_wants_no_colours_gets_none(paceline, says, variables, why):
    says(*SAID)
    paceline.environment |= variables
    shown = paceline.call(*ASK, terminal=True)
    assert (shown.out, shown.err) == (PLAIN, f"--show-drafts: {why}, so the answer stays plain\n")


def test_an_output_that_is_closed_is_no_terminal():
    assert "no terminal" in why_plain(None, {"TERM": "xterm"})


# --- answers that break off -------------------------------------------------------------------------------------------


def test_colours_end_where_an_answer_breaks_off(paceline, says):
    says(Text("area", "ngram"), EngineError("the engine failed", "ask again"))
    shown = paceline.call(*ASK, terminal=True)
    assert (shown.code, shown.out) == (1, f"{GREEN}area{RESET}{RESET}")
    assert "the engine failed" in shown.err


def test_colours_end_at_ctrl_c_even_where_the_terminal_drops_what_was_written(paceline, says):
    says(Text("area", "ngram"), KeyboardInterrupt())
    shown = paceline.call(*ASK, terminal=True)
    assert (shown.code, shown.out) == (130, f"{GREEN}area{RESET}{RESET}\n")
    assert shown.err.strip() == "drafts      ngram in green (100%); the rest is the target's own"


def test_colours_end_where_ctrl_c_comes_while_the_answer_is_written(paceline, says, monkeypatch):
    def interrupted(painter, text, drafter):
        raise KeyboardInterrupt

    says(Text("area", "ngram"))
    monkeypatch.setattr(Painter, "paint", interrupted)
    shown = paceline.call(*ASK, terminal=True)
    assert (shown.code, shown.out) == (130, RESET)


# --- for programs -----------------------------------------------------------------------------------------------------


def test_json_lists_who_drafted_what(paceline, says):
    says(Text("a", "ngram"), Text("b", "ngram"), Text("c"), Text("\x1b", "draft"))
    told = paceline.call(*ASK, "--json").data
    assert told["drafts"] == [
        {"drafter": "ngram", "text": "ab"},
        {"drafter": "", "text": "c"},
        {"drafter": "draft", "text": "\x1b"},
    ]
    assert told["text"] == "abc\x1b"
    assert "drafts" not in paceline.call("ask", "Why?", "--json").data


def test_json_is_the_same_whatever_is_said_about_colours(paceline, says):
    says(*SAID)
    usual = paceline.call(*ASK, "--json")
    paceline.environment |= {"NO_COLOR": "1"}
    assert paceline.call(*ASK, "--json", terminal=True) == usual
    assert usual.err == ""


@given(PIECES)
def test_the_list_has_the_whole_text_and_no_drafter_twice_in_a_row(pieces):
    found = listed(pieces)
    assert "".join(each["text"] for each in found) == "".join(each.text for each in pieces)
    drafters = [each["drafter"] for each in found]
    assert all(left != right for left, right in pairwise(drafters))


def test_a_server_elsewhere_does_not_tell_and_that_is_said(paceline):
    with running_api() as api:
        paceline.shared = True
        paceline.config.write_text(f'[engine]\nurl = "{api.url}"\nmodel = "big"\n')
        api.chat(chat_answer("yes"))
        shown, listed_ = paceline.call(*ASK, terminal=True), paceline.call(*ASK, "--json")
        assert all("tell_drafts" not in each.body for each in api.of("/v1/chat/completions"))
    host = api.url.removeprefix("http://").removesuffix("/v1")
    said = f"--show-drafts: {host} does not tell who drafted what\n"
    assert (shown.out, shown.err, listed_.err) == ("yes\n", said, said)
    assert (listed_.data["text"], listed_.data["drafts"]) == ("yes", None)


# --- what is asked for besides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "strict"), [((), None), (("--strict",), True), (("--no-strict",), False)])
@pytest.mark.parametrize("command", [("ask", "Why?"), ("complete", "-:1:1")])
def test_near_ties_are_decided_strictly_where_that_is_asked_for(paceline, says, command, words, strict):
    engine = says()
    assert paceline.call(*command, *words).code == 0
    assert engine.asked.strict is strict


@pytest.mark.parametrize("name", ["auto", "off", "ngram", "draft", "lookahead"])
def test_every_drafter_can_be_asked_for_by_name(paceline, says, name):
    engine = says()
    assert paceline.call("ask", "Why?", "--speculation", name).code == 0
    assert engine.asked.speculation == name


def test_an_unknown_drafter_is_refused_with_the_known_ones(paceline):
    assert paceline.misused("ask", "Why?", "--speculation", "wild", naming="'lookahead'")


def test_the_only_text_that_goes_with_a_question_is_taken_for_what_the_answer_repeats(paceline, says):
    engine = says()
    one, two = paceline.write("one.py", "x = 1\n"), paceline.write("two.py", "y = 2\n")

    def asked(*words, stdin=b""):
        assert paceline.call("ask", "Rename x.", *words, stdin=stdin).code == 0
        return engine.asked.original, [(each.filename, each.text) for each in engine.asked.references]

    assert asked() == ("", [])
    assert asked("-f", one) == asked("-f", one, "-f", one) == asked(stdin="x = 1\n") == ("x = 1\n", [])
    assert asked("-f", one, stdin="a log") == ("x = 1\n", [])
    assert asked("-f", one, "-f", two) == ("", [("one.py", "x = 1\n"), ("two.py", "y = 2\n")])


def test_a_question_from_standard_input_is_not_what_the_answer_repeats(paceline, says):
    engine = says()
    assert paceline.call("ask", stdin="Why is it so?").code == 0
    assert engine.asked.original == ""


def test_a_server_elsewhere_is_told_nothing_of_drafting_and_that_is_said(paceline):
    with running_api() as api:
        paceline.shared = True
        paceline.config.write_text(f'[engine]\nurl = "{api.url}"\nmodel = "big"\n')
        api.chat(chat_answer("yes"))
        ran = paceline.call("ask", "Why?", "--strict", "--speculation", "lookahead")
        assert not {"strict", "speculation"} & set(api.of("/v1/chat/completions")[0].body)
    assert (ran.code, ran.out) == (0, "yes\n")
    assert ran.err.startswith("--speculation and --strict: not passed on, 127.0.0.1:")


# --- with models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speculation", ["draft", "ngram"])
def test_drafts_of_the_models_in_this_process_are_listed(paceline, speculation):
    words = ("ask", "Say it again. Say it again.", "--max-tokens", 80, "--json", "--speculation", speculation)
    told = paceline.call(*words, "--show-drafts").data
    assert "".join(each["text"] for each in told["drafts"]) == told["text"] == paceline.call(*words).data["text"]
    drafted = {each["drafter"] for each in told["drafts"]} - {""}
    assert drafted == {name for name, each in told["timings"]["drafters"].items() if each["draft_n_accepted"]} != set()


def test_drafts_of_the_daemon_are_listed_and_coloured(paceline):
    words = ("ask", "Why?", "--max-tokens", 80, "--speculation", "draft", "--show-drafts")
    with paceline.sharing() as line:
        told, shown = line.call(*words, "--json").data, line.call(*words, terminal=True)
    assert {each["drafter"] for each in told["drafts"]} == {"", "draft"}
    assert "".join(each["text"] for each in told["drafts"]) == told["text"]
    assert SGR.sub("", shown.out) == ControlFilter().feed(told["text"]) + "\n"
    assert MAGENTA in shown.out
    assert "draft in magenta" in shown.err
