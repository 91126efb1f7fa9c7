"""What a line cannot sensibly begin with, where that follows from the lines around it.

Small models look at what comes next less than they should: they write `return` where the block goes on, or an `else`
where nothing has been said yet. What nobody wants there is kept from being chosen, so the next best is.
"""

from paceline.prompts.balance import opened
from paceline.prompts.comments import comment_mark
from paceline.prompts.context import language
from paceline.prompts.stops import CLOSERS, OPENERS, RESUMING, Around, around, columns, first_word, goes_on

LEAVING = ("return", "raise", "break", "continue", "throw", "goto")  # what follows in the same block is never reached
SIMPLE = (*LEAVING, "pass", "import", "from", "del", "assert", "global", "nonlocal")  # opens no block
BRANCHING = (*RESUMING, "if", "for", "while", "try", "begin", "when", "unless", "with")
UNFINISHED = (",", "\\", ".", "=", "+", "&&", "||")  # a line that goes on ends so


def is_indented(before: str, after: str) -> bool:
    """Whether nothing but blanks stands on the cursor's line, and as many as the line can have: as many as the line
    before it has, or more where that opens a block, or fewer, which somebody wanted.
    """
    place = around(before, after)
    last = _last_line(place.before)
    if not (place.typed and place.blank and last):
        return False
    if opened(last) > 0 or last.rstrip().endswith(UNFINISHED):
        return False
    deeper = columns(place.typed) - columns(last)
    return deeper > 0 or not last.rstrip().endswith(OPENERS)


def barred(before: str, after: str, filename: str = "") -> tuple[str, ...]:
    """Words and marks that the text for a line on which nothing stands must not begin with."""
    place = around(before, after)
    if not place.blank or place.rest.strip():
        return ()
    last = _last_line(place.before)
    return ("pass", *_by_next(place), *_by_last(place), *_comments(last, language(filename)))


def _by_next(place: Around) -> tuple[str, ...]:
    """By the next line: one that is indented more belongs to a block that has to be opened here."""
    typed, following = place.typed, place.following
    if not following or not typed or following[0].lstrip()[0] in CLOSERS:
        return ()
    base = columns(typed)
    if columns(following[0]) > base:
        return SIMPLE
    return LEAVING if goes_on(place, base) else ()


def _by_last(place: Around) -> tuple[str, ...]:
    """By the lines before: a branch goes on where one ends that is indented as the cursor is."""
    if not place.typed:
        return ()
    above = (line for line in reversed(place.before.split("\n")[:-1]) if line.strip())
    last = next((line for line in above if columns(line) <= columns(place.typed)), "")
    same = columns(last) == columns(place.typed)
    return () if same and (first_word(last) in BRANCHING or last.lstrip()[0] in CLOSERS) else RESUMING


def _comments(last: str, tag: str) -> tuple[str, ...]:
    """Code is wanted, not a comment on it, unless a comment goes on."""
    mark = comment_mark(tag)
    marks = ("//", "/*") if mark == "//" else (mark,) if mark else ()
    return () if last.lstrip().startswith((*marks, "*")) else marks


def _last_line(before: str) -> str:
    """The last line before the cursor's that is not blank."""
    return next((line for line in reversed(before.split("\n")[:-1]) if line.strip()), "")
