"""Filling in the middle as a person types: the anchored, healed prompt.

    <prefix> text before the anchor <suffix> text after the cursor <middle> what is typed since the anchor …

While the person types only the end of this changes, so nearly all of it stays in the cache. The last word typed is
left out of the tokens: its bytes are `forced` on the answer, which may spell them with any tokens (see healing).

Models that were trained with the suffix in front get it there. What is typed stands at the end of that in any case:

    <suffix> text after the cursor <prefix> text before the cursor <middle>, where the model has that, …
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline.errors import ModelError
from paceline.prompts.context import Attachment, language
from paceline.prompts.cut import cut_head, cut_tail
from paceline.prompts.lines import find_position, is_word, last_line_start, line_ending, normalise
from paceline.prompts.repository import BRIEF, UNNAMED, Repository, shown_before, text_before
from paceline.prompts.tokenizer import FimMarkers, Tokenizer
from paceline.text import replace_surrogates

LONG_LINE = 1024  # characters typed of a line after which the anchor moves into it
FAR = 4096  # and characters typed since an anchor that was asked for
MAX_WORD = 32  # characters of a word that are forced
MAX_MARKS = 8  # characters of punctuation that are forced
NEARBY = 8192  # characters around the cursor that are kept for trimming the answer


@dataclass(frozen=True)
class Budget:
    """How many tokens of the document the model is shown, at most."""

    prefix_tokens: int
    suffix_tokens: int


@dataclass(frozen=True)
class FimPrompt:
    """A prompt for one completion, and what is needed to trim the answer. Texts have the document's line endings."""

    tokens: list[int]
    forced: bytes  # UTF-8 that the answer has to begin with: the last word typed
    typed: str  # the cursor's line up to the cursor
    before: str  # up to NEARBY characters before the cursor
    after: str  # up to NEARBY characters after it
    newline: str  # the document's line ending
    prefix_cut: int  # characters cut from the document's head
    suffix_cut: int  # characters cut from its tail
    language: str = ""  # as a fenced block would name it; "" where it is not known

    @property
    def forced_text(self) -> str:
        """The forced bytes as text."""
        return self.forced.decode("utf-8")


def build(document: str, line: int, column: int, tokenizer: Tokenizer, budget: Budget) -> FimPrompt:
    """The prompt for a completion at a position; line and column count from 1, columns in characters.

    Raises InputError when the position is outside of the document, ModelError when the model cannot infill.
    """
    _markers(tokenizer)
    _, cursor = find_position(replace_surrogates(document), line, column)
    return build_between(document[:cursor], document[cursor:], tokenizer, budget)


def build_between(
    before: str,
    after: str,
    tokenizer: Tokenizer,
    budget: Budget,
    others: Sequence[Attachment] = (),
    *,
    anchor: int | None = None,
    place: Repository = UNNAMED,
) -> FimPrompt:
    """The prompt for a completion between two texts. others: more files or snippets, the least important first.

    anchor: how many characters right before the cursor have been typed since the last prompt that a cache should know
    all of; None: the cursor's line. While they grow and nothing else changes, prompts share all but their last word.
    place: names of the repository and of the document in it.

    Texts are plain whatever they say: texts of control tokens in them are not those tokens. Of the other files as many
    as fit into a prefix's budget are shown, the last ones first. Raises ModelError when the model cannot infill.
    """
    fim = _markers(tokenizer)
    before, after = replace_surrogates(before), replace_surrogates(after)
    start = last_line_start(before)
    at = _anchored(before, start, anchor)

    def encode(text: str) -> list[int]:
        return tokenizer.encode(normalise(text))

    head = cut_head(before[:at], budget.prefix_tokens, lambda text: len(encode(text)))
    tail = cut_tail(after, budget.suffix_tokens, lambda text: len(encode(text)))
    middle = normalise(before[at:])
    heal, brief = heal_point(middle), len(before) + len(after) < BRIEF
    front = tokenizer.encode("", bos=True)
    if front[-1:] in ([fim.prefix], [fim.suffix]):
        front = front[:-1]
    ending = [] if fim.middle is None else [fim.middle]
    if fim.suffix_first:
        shown = text_before(others, place, encode, budget.prefix_tokens, brief=brief)
        prefix = encode(shown + before[head:at] + middle[:heal])
        tokens = [*front, fim.suffix, *encode(after[:tail]), fim.prefix, *prefix, *ending]
    else:
        files = shown_before(others, place, fim, encode, budget.prefix_tokens, brief=brief)
        shown_first = [*front, *files, fim.prefix, *encode(before[head:at])]
        tokens = [*shown_first, fim.suffix, *encode(after[:tail]), *ending, *encode(middle[:heal])]
    return FimPrompt(
        tokens=tokens,
        forced=middle[heal:].encode("utf-8"),
        typed=before[start:],
        before=before[-NEARBY:],
        after=after[:NEARBY],
        newline=line_ending(before + after),
        prefix_cut=head,
        suffix_cut=len(after) - tail,
        language=language(place.path),
    )


def _markers(tokenizer: Tokenizer) -> FimMarkers:
    fim = tokenizer.fim()
    if fim is None:
        raise ModelError(
            "the model cannot infill: it has no tokens for filling in the middle, or was not trained with them",
            "choose a model made for completions, for example one of the Qwen2.5-Coder family",
        )
    return fim


def _anchored(before: str, line: int, wanted: int | None) -> int:
    """Where the typed part begins. One that has become too long loses its beginning, in large steps."""
    at, most = (line, LONG_LINE) if wanted is None else (max(0, len(before) - wanted), FAR)
    if before[at - 1 : at + 1] == "\r\n" and at:
        at += 1
    length = len(before) - at
    return at if length < most else at + (length // most) * most - most // 2


def heal_point(typed: str) -> int:
    """Offset where the forced part of the typed text begins.

    Tokenizers split text into words that take one blank or mark with them, and into runs of marks and of blanks.
    So the forced part is the last word, the marks right before it, and one blank before those; where the text ends
    in blanks, all of them, since what follows decides how many belong to its token.
    """
    at = _back(typed, len(typed), MAX_WORD, is_word)
    at = _back(typed, at, MAX_MARKS, lambda char: not is_word(char) and not char.isspace())
    if at == len(typed):
        return _back(typed, at, len(typed), str.isspace)
    return _back(typed, at, 1, str.isspace)


def _back(text: str, at: int, most: int, belongs: Callable[[str], bool]) -> int:
    least = max(0, at - most)
    while at > least and belongs(text[at - 1]):
        at -= 1
    return at
