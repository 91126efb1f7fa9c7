"""Filling in the middle as plain text, for servers that have no route for it: each family's template.

The templates are those of the model cards. What is typed of the line belongs to the prefix here: behind the middle's
marker it would need healing (see fim), for which a server of somebody else has no means.
"""

import re
from dataclasses import dataclass

from paceline.prompts.cut import cut_head, cut_tail
from paceline.prompts.fim import Budget

CHARACTERS_PER_TOKEN = 3  # of code, rather too few: what does not fit is refused by the server


@dataclass(frozen=True)
class Family:
    """How models of one family were trained to fill in."""

    template: str  # with {prefix} and {suffix}
    special: tuple[str, ...]  # texts that its tokenizer takes for special tokens; those that end an answer come first
    names: str  # what model names look like, as a regular expression


@dataclass(frozen=True)
class TextPrompt:
    """A prompt for one completion."""

    text: str
    prefix_cut: int  # characters cut from the document's head
    suffix_cut: int  # characters cut from its tail


_STARCODER = ("<|endoftext|>", "<file_sep>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<repo_name>")
_QWEN = (
    "<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
    "<|repo_name|>", "<|im_start|>",
)  # fmt: skip

# the first whose pattern is found in the name is taken, so the narrower come first
FAMILIES: dict[str, Family] = {
    "codeqwen": Family("<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>", _STARCODER, r"codeqwen"),
    "qwen-coder": Family(
        "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>", _QWEN, r"qwen[^/]{0,40}coder"
    ),
    "granite-4": Family(
        "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
        ("<|end_of_text|>", "<|fim_pad|>", "<|filename|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
        r"granite-?4",
    ),
    "starcoder": Family(
        "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
        _STARCODER,
        r"star[-_ ]?coder|stable[-_ ]?code|refact|granite",
    ),
    "codegemma": Family(
        "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
        ("<|file_separator|>", "<eos>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<end_of_turn>"),
        r"code[-_ ]?gemma",
    ),
    "codellama": Family(
        "<PRE> {prefix} <SUF>{suffix} <MID>", ("<EOT>", "</s>", "<PRE>", "<SUF>", "<MID>"), r"code[-_ ]?llama"
    ),
    "deepseek-coder": Family(
        "<\uff5cfim▁begin\uff5c>{prefix}<\uff5cfim▁hole\uff5c>{suffix}<\uff5cfim▁end\uff5c>",
        ("<\uff5cend▁of▁sentence\uff5c>", "<|EOT|>", "<\uff5cfim▁begin\uff5c>", "<\uff5cfim▁hole\uff5c>",
         "<\uff5cfim▁end\uff5c>", "<\uff5cbegin▁of▁sentence\uff5c>"),
        r"deepseek[-_ ]?coder",
    ),
    "codestral": Family(
        "[SUFFIX]{suffix}[PREFIX]{prefix}", ("</s>", "[SUFFIX]", "[PREFIX]", "[MIDDLE]"), r"codestral"
    ),
    "seed-coder": Family(
        "<[fim-suffix]>{suffix}<[fim-prefix]>{prefix}<[fim-middle]>",
        ("<[end▁of▁sentence]>", "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>", "<[begin▁of▁sentence]>"),
        r"seed[-_ ]?coder",
    ),
}  # fmt: skip


def family_of(model: str) -> Family | None:
    """The family that a model's name (or path, or repository) tells of; None where it tells of none."""
    return next((each for each in FAMILIES.values() if re.search(each.names, model, re.IGNORECASE)), None)


def build(prefix: str, suffix: str, family: Family, budget: Budget) -> TextPrompt:
    """The prompt for a completion between two texts, cut to the budget by an estimate of their tokens.

    Texts of the family's special tokens in the document are made harmless: a server would read them as tokens.
    """
    head, tail = cut(prefix, suffix, budget)
    shown = {"prefix": _disarmed(prefix[head:], family), "suffix": _disarmed(suffix[:tail], family)}
    text = re.sub(r"\{(prefix|suffix)\}", lambda place: shown[place[1]], family.template)
    return TextPrompt(text, head, len(suffix) - tail)


def cut(prefix: str, suffix: str, budget: Budget) -> tuple[int, int]:
    """Where to begin in the prefix and to end in the suffix, by an estimate of their tokens."""
    return cut_head(prefix, budget.prefix_tokens, _tokens), cut_tail(suffix, budget.suffix_tokens, _tokens)


def without_special(text: str, special: tuple[str, ...]) -> str:
    """The text before the first special token in it: nothing that a person wants follows one."""
    return text[: min((at for each in special if (at := text.find(each)) >= 0), default=len(text))]


def _disarmed(text: str, family: Family) -> str:
    """A blank goes behind the first character of whatever would be a special token."""
    pattern = "|".join(map(re.escape, sorted(family.special, key=len, reverse=True)))
    return re.sub(pattern, lambda found: f"{found[0][0]} {found[0][1:]}", text)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
