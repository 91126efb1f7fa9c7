"""Filling in the middle as a person types: the anchored, healed prompt.

    <prefix> text before the cursor's line <suffix> text after the cursor <middle> what is typed of the line …

While the person types only the end of this changes, so nearly all of it stays in the cache. The last word typed is
left out of the tokens: its bytes are `forced` on the answer, which may spell them with any tokens (see healing).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline.errors import ModelError
from paceline.prompts.balance import imbalance
from paceline.prompts.context import Attachment
from paceline.prompts.cut import cut_head, cut_tail
from paceline.prompts.lines import find_position, first_line, line_ending, line_starts, normalise
from paceline.prompts.tokenizer import FimMarkers, Tokenizer
from paceline.text import replace_surrogates

LONG_LINE = 1024  # characters typed of a line after which the anchor moves into it
MAX_WORD = 32  # characters of a word that are forced
MAX_MARKS = 8  # characters of punctuation that are forced
NEARBY = 8192  # characters around the cursor that are kept for trimming the answer
MAX_REPEATED = 32  # lines after the cursor that an answer is compared with
MAX_BLANK_LINES = 4  # before the line that is wanted, after which nothing more is waited for


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
    before: str, after: str, tokenizer: Tokenizer, budget: Budget, others: Sequence[Attachment] = ()
) -> FimPrompt:
    """The prompt for a completion between two texts. others: more files or snippets, the least important first.

    Texts are plain whatever they say: texts of control tokens in them are not those tokens. Of the other files as many
    as fit into a prefix's budget are shown, the last ones first. Raises ModelError when the model cannot infill.
    """
    fim = _markers(tokenizer)
    before, after = replace_surrogates(before), replace_surrogates(after)
    start = max(line_starts(before), default=0)
    typed = before[start:]
    anchor = start if len(typed) < LONG_LINE else start + (len(typed) // LONG_LINE) * LONG_LINE - LONG_LINE // 2

    def encode(text: str) -> list[int]:
        return tokenizer.encode(normalise(text))

    head = cut_head(before[:anchor], budget.prefix_tokens, lambda text: len(encode(text)))
    tail = cut_tail(after, budget.suffix_tokens, lambda text: len(encode(text)))
    middle = before[anchor:]
    heal = heal_point(middle)
    front = tokenizer.encode("", bos=True)
    if front[-1:] == [fim.prefix]:
        front = front[:-1]
    shown = _other_files(others, fim, encode, budget.prefix_tokens)
    tokens = [*front, *shown, fim.prefix, *encode(before[head:anchor]), fim.suffix, *encode(after[:tail]), fim.middle]
    return FimPrompt(
        tokens=tokens + encode(middle[:heal]),
        forced=middle[heal:].encode("utf-8"),
        typed=typed,
        before=before[-NEARBY:],
        after=after[:NEARBY],
        newline=line_ending(before + after),
        prefix_cut=head,
        suffix_cut=len(after) - tail,
    )


def _markers(tokenizer: Tokenizer) -> FimMarkers:
    fim = tokenizer.fim()
    if fim is None:
        raise ModelError(
            "the model cannot infill: its vocabulary has no tokens for filling in the middle",
            "choose a model made for completions, for example one of the Qwen2.5-Coder family",
        )
    return fim


def _other_files(
    others: Sequence[Attachment], fim: FimMarkers, encode: Callable[[str], list[int]], budget: int
) -> list[int]:
    """Tokens that show other files before the document, as models of whole repositories were trained to see them:
    a separator token, the name, the text. Without such a token, a line of text introduces each.
    """
    shown: list[int] = []
    for other in reversed(others):
        name, text = replace_surrogates(other.name), replace_surrogates(other.text)
        if fim.separator is not None:
            block = [fim.separator, *encode(f"{name}\n{text}\n")]
        else:
            block = encode(f"\n\n--- {name} ---\n\n{text}\n")
        if len(shown) + len(block) > budget:
            break
        shown = block + shown
    if shown and fim.separator is not None:
        shown.append(fim.separator)  # the document's own name is not known; its text follows
        shown += encode("\n")
    return shown


def heal_point(typed: str) -> int:
    """Offset where the forced part of the typed text begins.

    Tokenizers split text into words that take one blank or mark with them, and into runs of marks and of blanks.
    So the forced part is the last word, the marks right before it, and one blank before those; where the text ends
    in blanks, all of them, since what follows decides how many belong to its token.
    """
    at = _back(typed, len(typed), MAX_WORD, _is_word)
    at = _back(typed, at, MAX_MARKS, lambda char: not _is_word(char) and not char.isspace())
    if at == len(typed):
        return _back(typed, at, len(typed), str.isspace)
    return _back(typed, at, 1, str.isspace)


def _back(text: str, at: int, most: int, belongs: Callable[[str], bool]) -> int:
    least = max(0, at - most)
    while at > least and belongs(text[at - 1]):
        at -= 1
    return at


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def finish(prompt: FimPrompt, text: str, *, single_line: bool) -> str:
    """What to insert at the cursor, given the generated text (the forced beginning included).

    single_line: only the rest of the cursor's line; where nothing but blanks is typed on it, the first line that has
    text. Blanks at the end go where a line ends there anyway, and so does whatever repeats what stands after the
    cursor: closing brackets, the rest of the line, whole lines. Text that does not begin as forced gives nothing.
    Finishing again what has been finished changes nothing.
    """
    text = normalise(text)
    if not text.startswith(prompt.forced_text):
        return ""
    text = text[len(prompt.forced_text) :]
    if single_line:
        text = _one_line(text, prompt.typed)
    at_line_end = not first_line(prompt.after).strip()
    trimmed = None
    while trimmed != text:
        trimmed = text
        text = _without_repeated_lines(prompt, text.rstrip() if at_line_end else text)
        text = text if at_line_end else _without_overlap(prompt, text)
    return text.replace("\n", prompt.newline)


class LineStop:
    """Says when the text generated so far, fed in pieces, holds a whole single-line answer."""

    def __init__(self, prompt: FimPrompt) -> None:
        self._prompt = prompt
        self._text = ""

    def feed(self, text: str) -> bool:
        """Whether nothing more is needed for `finish(…, single_line=True)`."""
        self._text += text
        generated, forced = normalise(self._text), self._prompt.forced_text
        if not generated.startswith(forced):
            return not forced.startswith(generated)
        lines = generated[len(forced) :].split("\n")[:-1]
        if self._prompt.typed.strip():
            return bool(lines)
        return any(line.strip() for line in lines) or len(lines) > MAX_BLANK_LINES


class IndentStop:
    """Says when the text generated so far, fed in pieces, begins a line that is indented less than is wanted."""

    def __init__(self, prompt: FimPrompt, columns: int) -> None:
        self._columns = columns
        self._line = prompt.typed
        self._first = True

    def feed(self, text: str) -> bool:
        """Whether a line after the first begins, with something else than a blank, left of the wanted column."""
        for char in normalise(text):
            if char == "\n":
                self._line, self._first = "", False
            elif not self._first and not char.isspace() and not self._line.strip():
                if len(self._line) < self._columns:
                    return True
                self._line += char
            else:
                self._line += char
        return False


def within_indent(text: str, columns: int) -> str:
    """The text up to the first line, its first and blank ones aside, that is indented by fewer characters."""
    lines = text.split("\n")
    for at, line in enumerate(lines[1:], 1):
        if line.strip() and len(line) - len(line.lstrip()) < columns:
            return "\n".join(lines[:at])
    return text


def _one_line(text: str, typed: str) -> str:
    """The answer's line, as it goes in after what is typed.

    A later line than the cursor's brings its own indentation, of which the typed blanks are a part; one that is
    indented less cannot be had by inserting here.
    """
    lines = text.split("\n")
    if lines[0].strip() or typed.strip():
        return lines[0]
    found = next((line for line in lines[1:] if line.strip()), "")
    return found[len(typed) :] if found.startswith(typed) else ""


def _without_repeated_lines(prompt: FimPrompt, text: str) -> str:
    """The text without whole lines at its end that repeat the next lines of the document, blank ones aside.

    The last of several may be unfinished. Lines that the brackets need are no repetition.
    """
    rest = first_line(prompt.after)
    following = _filled(normalise(prompt.after[len(rest) :]).split("\n"))[:MAX_REPEATED]
    lines = text.split("\n")
    alone = not prompt.typed.strip() and not rest.strip()  # then the cursor's line itself may be a repetition
    whole = [prompt.typed + lines[0], *lines[1:]]
    for at in range(0 if alone else 1, len(lines)):
        tail = _filled(whole[at:])
        next_lines = following[: len(tail)]
        if not tail or len(next_lines) < len(tail) or tail[:-1] != next_lines[:-1]:
            continue
        unfinished = len(tail) > 1 and next_lines[-1].startswith(tail[-1])
        kept = "\n".join(lines[:at])
        if (unfinished or tail[-1] == next_lines[-1]) and _not_worse(prompt, kept, text):
            return kept
    return text


def _filled(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


def _without_overlap(prompt: FimPrompt, text: str) -> str:
    """The text without its longest end that repeats the beginning of the rest of the cursor's line.

    A part of a word is no repetition unless all of the rest is repeated; nor are brackets that the text needs.
    """
    rest = first_line(prompt.after)
    for length in range(min(len(text), len(rest)), 0, -1):
        kept = text[:-length]
        if text.endswith(rest[:length]) and _not_worse(prompt, kept, text):
            inside_word = _is_word(rest[0]) and _is_word((prompt.typed + kept)[-1:])
            if length == len(rest) or not inside_word:
                return kept
    return text


def _not_worse(prompt: FimPrompt, kept: str, text: str) -> bool:
    """Whether brackets and quotes around the cursor match at least as well with `kept` as with `text`."""

    def unmatched(inserted: str) -> int:
        line = prompt.typed + inserted + first_line(prompt.after)
        return imbalance(prompt.before + inserted + prompt.after) + sum(line.count(quote) % 2 for quote in "\"'`")

    return unmatched(kept) <= unmatched(text)
