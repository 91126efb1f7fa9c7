"""How much is wanted at a place: the rest of a line, or a block. Told from the text around it, without a parser."""

import re
from dataclasses import dataclass
from typing import Literal

from paceline.prompts.comments import comment_mark
from paceline.prompts.fences import PROSE
from paceline.prompts.lines import first_line, last_line_start, normalise
from paceline.prompts.stops import PARTNERS, StopAt

Shape = Literal["line", "block"]

WINDOW = 2**16  # characters before the cursor that are looked at: all of an ordinary file
LINE = 64  # tokens of the rest of a line, at most
ARROWS = ("=>", "->")
# what is called, or put in brackets; parameters and conditions are a matter of one line
_CALL = re.compile(r"(?:^|[^\w\s]|\b(?:return|await|yield|new|throw|raise|in|and|or|not)\b)\s*([\w$.]*)[!?]? ?\($")
_HEADS = frozenset({"catch", "elif", "for", "foreach", "fun", "func", "function", "if", "match", "switch", "while"})
_STRING = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`")
_FENCE = re.compile(r'"""|\'\'\'')
_CODE_LINE = re.compile(
    r"^(?:@\w|(?:async def|def|class|import|from|function|export|const|public|static)\b)", re.MULTILINE
)
_BLOCK_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Extent:
    """Where a completion ends."""

    stop_at: StopAt
    max_tokens: int


def extent(before: str, after: str, language: str, max_tokens: int, *, multiline: bool = True) -> Extent:
    """How far to go at a place. multiline: more than a line may come, where that is wanted.

    language: the protocol's languageId, or a fenced block's; "" where it is not known.
    """
    if multiline and shape(before, after, language) == "block":
        return Extent("block", max_tokens)
    return Extent("line", min(max_tokens, LINE))


def shape(before: str, after: str, language: str = "") -> Shape:
    """What is wanted: a block where the cursor's line ends at the cursor, or with what an editor puts behind an opening
    bracket by itself, which is a single line where nothing opens one; otherwise, and in comments, texts and prose, a
    line.

    language: the protocol's languageId, "" where it is not known.
    """
    rest = first_line(after[:WINDOW])
    wanted = not rest.strip() or _between_brackets(before, rest)
    wanted = wanted and language not in PROSE and not _in_prose(_near(before), language)
    return "block" if wanted else "line"


def _between_brackets(before: str, rest: str) -> bool:
    """Whether the cursor stands between two brackets that belong together, or where a function's body is all that is
    missing before a closing one.
    """
    typed, closer = before[last_line_start(before) :].rstrip(), rest.lstrip()[:1]
    if closer not in PARTNERS.values():
        return False
    if closer == ")" and typed.endswith("("):
        found = _CALL.search(typed)
        return found is not None and found[1] not in _HEADS
    return closer == PARTNERS.get(typed[-1:]) or typed.endswith(ARROWS)


def _near(before: str) -> str:
    """The end of a text; that of a long one begins where code does, so that quotes are counted from outside of them."""
    if len(before) <= WINDOW:
        return normalise(before)
    near = normalise(before[-WINDOW:])
    found = _CODE_LINE.search(near)
    return near[found.start() if found else near.find("\n") + 1 :]


def _in_prose(before: str, language: str) -> bool:
    """Whether the cursor is in a comment or in a text, as far as the lines before it tell."""
    if language in ("", "python") and len(_FENCE.findall(before)) % 2:
        return True
    mark = comment_mark(language) or "//"
    if mark == "//" and "/*" in before:
        marks = _BLOCK_COMMENT.findall(_without_strings(before))
        if marks and marks[-1] == "/*":
            return True
    code = _without_strings(before[last_line_start(before) :])
    return mark in code or any(quote in code for quote in '"`')


def _without_strings(text: str) -> str:
    """The text with nothing in its quotes; where a quote is not closed, it is still there."""
    return _STRING.sub("", text)
