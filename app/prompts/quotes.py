"""Where strings end, and what stands outside of them. Comments are read like code: only marks that match mean much."""

from collections.abc import Iterator

QUOTES = "\"'`"
_OPENS, _CLOSES = "([{", ")]}"
_EMBEDDED = ("${", "#{")  # what begins code inside of a string


def string_end(text: str, mark: str, start: int = 0) -> int:
    """Where a string that stands open at `start` is closed; -1 where it is not, on its line if it can have only one.

    mark: what opened it.
    """
    at, depth, several = start, 0, len(mark) > 1 or mark == "`"
    while at < len(text):
        char = text[at + 1 : at + 2] if text[at] == "\\" else text[at]
        if char == "\n" and not several:
            return -1
        if text[at] == "\\":
            at += 2
        elif text.startswith(_EMBEDDED, at):
            depth, at = depth + 1, at + 2
        elif depth:
            depth, at = depth + (char == "{") - (char == "}"), at + 1
        elif text.startswith(mark, at):
            return at
        else:
            at += 1
    return -1


def outside(text: str, *, whole: bool = True) -> Iterator[tuple[int, str, int]]:
    """Offsets and characters outside of strings, and how many more brackets have been opened than closed up to there,
    the character included.

    A quote that nothing closes is an apostrophe, or something else besides; of a text that may go on (whole: False)
    nothing is said from there on.
    """
    at, depth = 0, 0
    while at < len(text):
        char = text[at]
        if char in QUOTES:
            mark = _mark(text, at)
            end = string_end(text, mark, at + len(mark))
            if end >= 0:
                at = end + len(mark)
                continue
            if not whole and (mark == "`" or len(mark) > 1 or "\n" not in text[at:]):
                return
        depth += (char in _OPENS) - (char in _CLOSES)
        yield at, char, depth
        at += 1


def open_string(line: str) -> str:
    """The mark of the string that stands open at the end of a line; "" where none does."""
    at = 0
    while at < len(line):
        if line[at] in QUOTES:
            mark = _mark(line, at)
            at = string_end(line, mark, at + len(mark))
            if at < 0:
                return mark
            at += len(mark)
        else:
            at += 1
    return ""


def _mark(text: str, at: int) -> str:
    """Of the string that is opened there."""
    return text[at] * 3 if text[at] != "`" and text.startswith(text[at] * 3, at) else text[at]
