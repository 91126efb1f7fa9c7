"""The prompt for models that were trained with the text after the cursor in front."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.engine.vocabulary import suffix_first
from paceline.prompts.context import Attachment
from paceline.prompts.fim import Budget, build_between
from paceline.prompts.repository import Repository
from support.tiny_model import CODESTRAL, FIM, SEED
from support.toy_tokenizer import CONTROLS, ToyTokenizer

PLENTY = Budget(10_000, 10_000)
BEFORE, AFTER = "def f(x):\n    return x.fo", "\n\nf(1)\n"


class SuffixFirst(ToyTokenizer):
    """Markers as Seed-Coder has them, or, without the one for the middle, Codestral."""

    def __init__(self, *, middle: bool = True, **how) -> None:
        super().__init__(**how)
        self._middle = middle

    def fim(self):
        usual = super().fim()
        return dataclasses.replace(usual, suffix_first=True, middle=usual.middle if self._middle else None)


SEED_CODER, MISTRAL = SuffixFirst(), SuffixFirst(middle=False, wants_bos=True)


def shown(tokenizer, before=BEFORE, after=AFTER, **how):
    return tokenizer.shown(build_between(before, after, tokenizer, PLENTY, **how).tokens)


def test_the_suffix_comes_first_and_what_is_typed_last():
    assert shown(SEED_CODER) == f"<<<|fim_suffix|>>>{AFTER}<<<|fim_prefix|>>>def f(x):\n    return x<<<|fim_middle|>>>"
    assert shown(MISTRAL) == f"<<<|bos|>>><<<|fim_suffix|>>>{AFTER}<<<|fim_prefix|>>>def f(x):\n    return x"


@pytest.mark.parametrize("tokenizer", [SEED_CODER, MISTRAL])
def test_only_the_last_word_is_forced(tokenizer):
    assert build_between(BEFORE, AFTER, tokenizer, PLENTY).forced == b".fo"


@pytest.mark.parametrize("tokenizer", [SEED_CODER, MISTRAL])
@pytest.mark.parametrize("anchor", [None, 0, 5, 20])
def test_where_the_anchor_is_changes_nothing(tokenizer, anchor):
    if anchor != 0:
        assert shown(tokenizer, anchor=anchor) == shown(tokenizer)
    text = build_between(BEFORE, AFTER, tokenizer, PLENTY, anchor=anchor)
    assert tokenizer.shown(text.tokens).replace("<<<|fim_middle|>>>", "").endswith("return x" + ".fo" * (anchor == 0))


@given(st.text(st.sampled_from("ab1_ \t.(=\n中e\u0301"), max_size=60), st.sampled_from([SEED_CODER, MISTRAL]))
def test_prefix_and_forced_bytes_together_are_what_was_typed(typed, tokenizer):
    prompt = build_between(typed, "\nrest", tokenizer, PLENTY, anchor=len(typed))
    prefix = tokenizer.shown(prompt.tokens).split("<<<|fim_prefix|>>>")[1].removesuffix("<<<|fim_middle|>>>")
    assert prefix + prompt.forced.decode() == typed


@pytest.mark.parametrize("tokenizer", [SEED_CODER, MISTRAL])
def test_while_somebody_types_only_the_last_tokens_change(tokenizer):
    line = "    value = other.method(argument)\n    return value"
    head = "def f():\n" * 50
    prompts = [
        build_between(head + line[:typed], AFTER * 20, tokenizer, PLENTY, anchor=typed).tokens
        for typed in range(len(line) + 1)
    ]
    for before, now in itertools.pairwise(prompts):
        same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))
        assert len(before) - same <= 8  # of one byte each


@pytest.mark.parametrize("tokenizer", [SEED_CODER, MISTRAL])
def test_other_files_stand_before_the_document_with_their_names(tokenizer):
    others = [Attachment("far.py", "x = 1\n"), Attachment("near.py", "y = 2\n")]
    text = shown(tokenizer, others=others, place=Repository("tools", "a.py"))
    assert "<<<|fim_prefix|>>>+++++ far.py\nx = 1\n\n\n+++++ near.py\ny = 2\n\n\n+++++ a.py\ndef f(x):" in text
    few = build_between(BEFORE, AFTER, tokenizer, Budget(40, 40), others)
    assert "+++++ near.py" in tokenizer.shown(few.tokens)
    assert "far.py" not in tokenizer.shown(few.tokens)
    assert "+++++" not in tokenizer.shown(build_between(BEFORE, AFTER, tokenizer, Budget(5, 40), others).tokens)


def test_the_head_is_cut_where_it_stays_while_somebody_types():
    head = "".join(f"line_{number} = {number}\n" for number in range(200))
    small = Budget(100, 100)
    cuts = {build_between(head + "x" * n, AFTER, SEED_CODER, small, anchor=n).prefix_cut for n in range(60)}
    assert len(cuts) == 1
    assert cuts.pop() > 0


@pytest.mark.parametrize(
    "name", ["codestral-22b-v0.1.Q4_K_M", "Mamba-Codestral-7B", "mistral-7b-code", "My-FIM", "CodeX"]
)
def test_a_model_for_code_has_codestral_s_format(name):
    codestral = {text: number for number, text in enumerate(CODESTRAL)}
    found = suffix_first(codestral, ["somebody's", name])
    assert found is not None and found.suffix_first


@pytest.mark.parametrize("name", ["Mistral-7B-Instruct-v0.3", "Mistral Nemo Decoder", "encoder", "confimed", ""])
def test_a_model_that_only_shares_codestral_s_vocabulary_has_not(name):
    codestral = {text: number for number, text in enumerate(CODESTRAL)}
    assert suffix_first(codestral, [name]) is None
    assert suffix_first(codestral) is None


def test_the_format_is_known_by_the_texts_of_control_tokens():
    seed, codestral = ({text: number for number, text in enumerate(texts)} for texts in (SEED, CODESTRAL))
    found = suffix_first(seed)
    assert found is not None
    assert (found.prefix, found.suffix, found.middle, found.suffix_first) == (0, 1, 2, True)
    found = suffix_first(codestral, ["Codestral-22B-v0.1"])
    assert found is not None
    assert (found.prefix, found.suffix, found.middle) == (0, 1, None)
    assert suffix_first({text: number for number, text in enumerate(FIM)}) is None
    assert suffix_first({text: number for number, text in enumerate(CONTROLS)}) is None
    assert suffix_first({"[PREFIX]": 1}) is None
