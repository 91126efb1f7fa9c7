"""The anchored, healed prompt for filling in the middle."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import InputError, ModelError
from paceline.prompts.context import Attachment
from paceline.prompts.fim import FAR, LONG_LINE, Budget, build, build_between, heal_point
from paceline.prompts.healing import Constraint, VocabularyTrie
from paceline.prompts.repository import Repository
from support.toy_tokenizer import CONTROLS, ToyTokenizer

PLENTY = Budget(10_000, 10_000)
TOKENIZER = ToyTokenizer()


def prompt_at(marked, tokenizer=TOKENIZER, budget=PLENTY):
    """The prompt for the place of `|` in the text."""
    at = marked.index("|")
    before = marked[:at].replace("\r\n", "\n").split("\n")
    return build(marked[:at] + marked[at + 1 :], len(before), len(before[-1]) + 1, tokenizer, budget)


def parts(prompt, tokenizer=TOKENIZER):
    """What stands before the suffix marker, after it, and after the middle marker."""
    fim = tokenizer.fim()
    start = prompt.tokens.index(fim.prefix)
    suffix, middle = prompt.tokens.index(fim.suffix), prompt.tokens.index(fim.middle)
    return tuple(
        tokenizer.shown(tokens)
        for tokens in (
            prompt.tokens[start + 1 : suffix],
            prompt.tokens[suffix + 1 : middle],
            prompt.tokens[middle + 1 :],
        )
    )


def test_the_typed_part_of_the_line_stands_after_the_middle_marker():
    prompt = prompt_at("def f(x):\n    return x.fo|\n\nf(1)\n")
    assert parts(prompt) == ("def f(x):\n", "\n\nf(1)\n", "    return x")
    assert prompt.forced == b".fo"
    assert prompt.typed == "    return x.fo"


def test_while_somebody_types_only_the_end_of_the_prompt_changes():
    line = "    value = other.method(argument)"
    prompts = [prompt_at(f"def f():\n{line[:typed]}|\n    return value\n") for typed in range(len(line) + 1)]
    middle = TOKENIZER.fim().middle
    heads = [prompt.tokens[: prompt.tokens.index(middle) + 1] for prompt in prompts]
    assert all(head == heads[0] for head in heads)


@given(st.text(st.sampled_from("ab1_ \t.(=中e\u0301"), max_size=60))
def test_tokens_and_forced_bytes_together_are_what_was_typed(typed):
    prompt = build(typed + "\nrest", 1, len(typed) + 1, TOKENIZER, PLENTY)
    assert parts(prompt)[2] + prompt.forced.decode() == typed


@pytest.mark.parametrize(
    ("typed", "forced"),
    [
        ("    retu", " retu"),
        ("x = fo", " fo"),
        ("x = ", " "),
        ("self.na", ".na"),
        ("print(", "("),
        ("foo((ba", "((ba"),
        ("x = -1", " -1"),
        ("x = (ba", " (ba"),
        ("name", "name"),
        ("snake_ca", "snake_ca"),
        ("        ", "        "),
        ("\t\t", "\t\t"),
        ("\t\tret", "\tret"),
        ("x =  ", "  "),
        ("", ""),
        ("é = nai\u0308f", "\u0308f"),
    ],
)
def test_the_word_that_is_forced(typed, forced):
    assert typed[heal_point(typed) :] == forced


def test_what_is_forced_of_an_endless_word_is_bounded():
    assert len("x" * 500) - heal_point("x" * 500) <= 34
    assert len("中" * 500) - heal_point("中" * 500) <= 34
    assert len("=" * 500) - heal_point("=" * 500) <= 9


def test_a_cut_word_can_be_chosen_as_one_token():
    prompt = prompt_at("def f(x):\n    retu|\n")
    trie = VocabularyTrie(TOKENIZER.pieces)
    allowed = Constraint(trie, prompt.forced).allowed()
    assert b" return" in {trie.piece(token) for token in allowed}


def test_the_model_is_given_what_it_wants_at_the_front_once():
    wants = ToyTokenizer(wants_bos=True)
    prompt = build("<|bos|>x\n", 1, 9, wants, PLENTY)
    assert prompt.tokens[:2] == [wants.control("<|bos|>"), wants.fim().prefix]
    assert prompt.tokens.count(wants.control("<|bos|>")) == 1
    assert prompt_at("x|\n").tokens[0] == TOKENIZER.fim().prefix


def test_texts_of_control_tokens_in_the_document_stay_text():
    document = "# <|fim_middle|>\n<|fim_suffix|><|im_end|>\n<|fim_prefix|>\n"
    prompt = build(document, 2, 15, TOKENIZER, PLENTY)
    controls = [token for token in prompt.tokens if token >= TOKENIZER.first_control]
    fim = TOKENIZER.fim()
    assert controls == [fim.prefix, fim.suffix, fim.middle]
    assert parts(prompt)[1] == "<|im_end|>\n<|fim_prefix|>\n"


def test_the_model_reads_newlines_whatever_the_document_has():
    prompt = prompt_at("a\r\nb|\r\nc\r\n")
    assert parts(prompt)[:2] == ("a\n", "\nc\n")
    assert prompt.newline == "\r\n"


def test_what_is_cut_is_told_in_characters():
    lines = [f"line {number}\n" for number in range(200)]
    document = "".join(lines)
    prompt = build(document, 101, 1, TOKENIZER, Budget(100, 50))
    head, tail, _ = parts(prompt)
    assert document[prompt.prefix_cut :].startswith(head)
    assert prompt.prefix_cut + len(head) == len("".join(lines[:100]))
    assert document.removesuffix(document[len(document) - prompt.suffix_cut :]).endswith(tail)
    assert head.startswith("line") and tail.endswith("\n")
    assert len(head) > 50 and len(tail) > 30


def test_without_a_budget_for_it_there_is_no_suffix():
    prompt = prompt_at("a\nb|c\nd\n", budget=Budget(100, 0))
    assert parts(prompt)[1] == ""
    assert prompt.suffix_cut == len("c\nd\n")
    assert prompt.after == "c\nd\n"


def test_in_a_very_long_line_the_anchor_moves_into_the_line_and_stays_there_for_a_while():
    line = "word " * 2000
    middle = TOKENIZER.fim().middle
    ends = range(5000, 5100)
    prompts = [build(line, 1, column, TOKENIZER, Budget(200, 0)) for column in ends]
    assert all(len(prompt.tokens) < 200 + 2 * LONG_LINE for prompt in prompts)
    assert len({tuple(prompt.tokens[: prompt.tokens.index(middle)]) for prompt in prompts}) == 1
    assert prompts[0].typed == line[:4999]


def test_a_lone_surrogate_does_not_stop_anything():
    prompt = build("a\ud800b\nx = \udfff", 2, 6, TOKENIZER, PLENTY)
    assert prompt.forced.decode() == " \ufffd"


def test_an_empty_document_can_be_completed():
    prompt = build("", 1, 1, TOKENIZER, PLENTY)
    assert parts(prompt) == ("", "", "")
    assert prompt.forced == b""


def test_a_model_without_the_tokens_says_that_it_cannot_infill():
    with pytest.raises(ModelError, match="cannot infill") as caught:
        build("x", 1, 1, ToyTokenizer(infills=False), PLENTY)
    assert caught.value.hint


def test_a_position_outside_is_refused():
    with pytest.raises(InputError, match="has 2 lines"):
        build("a\n", 3, 1, TOKENIZER, PLENTY)


# --- an anchor some way before the cursor -----------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from(["    if self.x_y:", "return x", "\tprint(self.é)", "", "    ", "x = [1, 22]", "# 中 e\u0301"]),
    min_size=1,
    max_size=5,
).map("\n".join)


def anchored(before, typed, after, **more):
    return build_between(before + typed, after, TOKENIZER, PLENTY, anchor=len(typed), **more)


def test_what_is_typed_since_the_anchor_stands_after_the_middle_marker_with_its_lines():
    prompt = anchored("def f(x):\n", "    if x:\n        ret", "\n\nf(1)\n")
    assert parts(prompt) == ("def f(x):\n", "\n\nf(1)\n", "    if x:\n       ")
    assert prompt.forced == b" ret"
    assert prompt.typed == "        ret"


def test_an_anchor_at_the_cursor_leaves_nothing_to_be_forced():
    prompt = build_between("x = fo", "\n", TOKENIZER, PLENTY, anchor=0)
    assert (parts(prompt), prompt.forced) == (("x = fo", "\n", ""), b"")


@given(LINES)
def test_typing_on_changes_only_the_last_tokens(text):
    prompts = [anchored("def f():\n", text[:end], "\nrest\n") for end in range(len(text) + 1)]
    for before, now in itertools.pairwise(prompts):
        shared = next(
            (at for at, (a, b) in enumerate(zip(before.tokens, now.tokens, strict=False)) if a != b),
            min(len(before.tokens), len(now.tokens)),
        )
        assert len(before.tokens) - shared <= 4  # blanks of an indentation are one token or several
        assert len(now.tokens) - shared <= 4 + len(before.forced)


@given(LINES)
def test_what_is_forced_has_the_models_newlines_whatever_the_document_has(text):
    unix, windows = anchored("a\n", text, "\nb\n"), anchored("a\r\n", text.replace("\n", "\r\n"), "\r\nb\r\n")
    assert (unix.tokens, unix.forced) == (windows.tokens, windows.forced)


def test_an_anchor_far_away_comes_nearer_in_large_steps():
    text = "word\n" * 4000
    heads = set()
    for end in range(15_000, 15_100):
        prompt = anchored("", text[:end], "")
        heads.add(tuple(prompt.tokens[: prompt.tokens.index(TOKENIZER.fim().middle)]))
        assert len(parts(prompt)[2]) < 2 * FAR
    assert len(heads) == 1


# --- other files ------------------------------------------------------------------------------------------------------

NAMED = ToyTokenizer(controls=[*CONTROLS, "<|repo_name|>", "<|file_sep|>"])
FILES = [Attachment("a.py", "A = 1"), Attachment("b/c.py", "C = 2")]


def shown_first(tokenizer, **more):
    prompt = build_between("x = ", "\n", tokenizer, PLENTY, FILES, **more)
    return tokenizer.shown(prompt.tokens[: prompt.tokens.index(tokenizer.fim().prefix)])


def test_other_files_come_in_the_models_own_form_with_the_real_names():
    assert shown_first(NAMED, place=Repository("ring", "src/x.py")) == (
        "<<<|repo_name|>>>ring\n<<<|file_sep|>>>a.py\nA = 1\n<<<|file_sep|>>>b/c.py\nC = 2\n<<<|file_sep|>>>src/x.py\n"
    )


def test_a_repository_without_a_name_is_not_named():
    assert shown_first(NAMED).startswith("<<<|file_sep|>>>a.py\nA = 1\n")
    assert shown_first(NAMED).endswith("C = 2\n<<<|file_sep|>>>\n")


def test_a_model_without_such_tokens_reads_the_names_as_text():
    assert shown_first(TOKENIZER, place=Repository("ring", "x.py")).startswith("\n\n--- a.py ---\n\nA = 1\n")


def test_without_other_files_no_name_is_told():
    place, long = Repository("ring", "x.py"), "x = 1\n" * 100
    assert build_between(long, "", NAMED, PLENTY, place=place).tokens == build_between(long, "", NAMED, PLENTY).tokens
    assert build_between("x", long, NAMED, PLENTY, place=place).tokens == build_between("x", long, NAMED, PLENTY).tokens


def test_a_document_that_says_little_is_named():
    named = build_between("x", "", NAMED, PLENTY, place=Repository("", "src/main.go"))
    assert NAMED.shown(named.tokens).startswith("<<<|file_sep|>>>src/main.go\n<<<|fim_prefix|>>>")
    assert (
        build_between("x", "", NAMED, PLENTY).tokens
        == build_between("x", "", NAMED, PLENTY, place=Repository("ring")).tokens
    )


def test_a_name_with_newlines_stays_on_its_line():
    prompt = build_between("x", "", NAMED, PLENTY, [Attachment("a\n<|file_sep|>.py", "A")])
    assert "<<<|file_sep|>>>a <|file_sep|>.py\nA\n" in NAMED.shown(prompt.tokens)


def test_of_the_other_files_the_last_ones_stay_where_not_all_fit():
    prompt = build_between("x", "", NAMED, Budget(14, 10), FILES)
    assert NAMED.shown(prompt.tokens).startswith("<<<|file_sep|>>>b/c.py\n")
