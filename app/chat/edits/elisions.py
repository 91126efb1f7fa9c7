"""Marks that stand for what an answer leaves out, `# ... existing code ...`, and what belongs in their place."""

import re
from collections.abc import Sequence, Set
from difflib import SequenceMatcher

_MARK = re.compile(r"\s*(?:#+|//+|/\*+|<!--|--|;+|%|\{/\*|\*)?\s*(?P<said>.*?)\s*(?:\*+/\}?|-->)?\s*")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|<!--|--|;|%|\{/\*|\*)")
_DOTS = re.compile(r"(?:\.{3,}|…)(?P<words>[^=(){}\[\];\"']{0,100})")
_WORDS = re.compile(
    r"\b(?:rest of|remaining|existing|previous|unchanged|remains?|stays?|other|same as|omitted|as before|no changes)\b"
    r".{0,60}"
    r"\b(?:code|methods?|functions?|file|class(?:es)?|contents?|imports?|implementation|same|unchanged|before|here|definitions?"
    r"|sections?|fields?|routes?|lines?|parts?|logic|elements?|above|below|omitted|changes)\b|\b(?:unchanged|omitted)\b",
    re.IGNORECASE,
)
LONGEST = 160  # characters of a line that may be a mark


def is_mark(line: str, had: Set[str]) -> bool:
    """Whether a line stands for others. had: the file's own lines, without blanks around them, which never do."""
    bare = line.strip()
    if not bare or len(bare) > LONGEST or bare in had:
        return False
    found = _MARK.fullmatch(bare)
    said = found["said"] if found else bare
    if _DOTS.fullmatch(said):
        return True
    return _COMMENT.match(bare) is not None and _WORDS.search(said) is not None


def filled(old: Sequence[str], new: Sequence[str], marks: Set[int]) -> tuple[list[str], bool] | None:
    """New lines with old ones in the places of those that are marks (their numbers), and whether that is certain.

    What stands next to a mark must be a line of the old text to say where it goes on. None: it cannot be told.
    """
    pieces = _pieces(new, marks)
    result, at, sure = list[str](), 0, True
    for number, piece in enumerate(pieces):
        first, last = number == 0, number == len(pieces) - 1
        if not piece:  # a mark at either end, or two in a row
            continue
        span = _span(old, piece, at, opens=not first, closes=not last)
        if span is None:
            return None
        start, end, good = span
        sure = sure and good
        result += old[at:start] if not first else []
        result += piece
        at = len(old) if last else end
    if not pieces[-1]:
        result += old[at:]
    return result, sure


def _pieces(new: Sequence[str], marks: Set[int]) -> list[list[str]]:
    """The lines between marks, without empty ones next to the marks."""
    pieces = [list[str]()]
    for at, line in enumerate(new):
        if at in marks:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return [_bare(piece, number, len(pieces)) for number, piece in enumerate(pieces)]


def _bare(piece: list[str], number: int, count: int) -> list[str]:
    """A piece without empty lines where it touches a mark: the file has its own there."""
    start, end = 0, len(piece)
    while number and start < end and not piece[start].strip():
        start += 1
    while number < count - 1 and end > start and not piece[end - 1].strip():
        end -= 1
    return piece[start:end]


def _span(
    old: Sequence[str], piece: Sequence[str], at: int, *, opens: bool, closes: bool
) -> tuple[int, int, bool] | None:
    """Which old lines from `at` on a piece replaces, and whether that is certain.

    opens: a mark stands before it, so that its first line has to be found; closes: one stands after it.
    """
    keys = [line.strip() for line in old[at:]]
    said = [line.strip() for line in piece]
    blocks = SequenceMatcher(None, keys, said, autojunk=len(keys) > 1000).get_matching_blocks()
    pairs = {new + step: one + step for one, new, size in blocks for step in range(size) if keys[one + step]}
    if not pairs:
        return None
    known = sorted(pairs)
    start, end, sure = 0, len(keys), True
    if opens:
        start = pairs[known[0]]
        sure = known[0] == 0 and keys.count(said[0]) == 1
    if closes:
        end = pairs[known[-1]] + 1
        tail = keys[start:]
        sure = sure and known[-1] == len(said) - 1 and (tail.count(said[-1]) == 1 or len(known) == len(said))
    return at + start, at + end, sure
