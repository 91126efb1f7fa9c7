r"""Lines as editors and the language server protocol count them: ended by \n, \r\n or \r and by nothing else.

Python's own `splitlines` also breaks at form feeds, U+0085, U+2028 and more, which would shift every position.
"""

import re

from paceline.errors import InputError

_END = re.compile(r"\r\n|\n|\r")


def normalise(text: str) -> str:
    r"""The text with every line ended by \n."""
    return _END.sub("\n", text) if "\r" in text else text


def line_ending(text: str) -> str:
    r"""The line ending the text uses most; \n when it has none."""
    counts = {"\r\n": text.count("\r\n")}
    counts["\n"] = text.count("\n") - counts["\r\n"]
    counts["\r"] = text.count("\r") - counts["\r\n"]
    return max(("\n", "\r\n", "\r"), key=lambda end: counts[end])


def first_line(text: str) -> str:
    """The text up to its first line ending."""
    end = _END.search(text)
    return text[: end.start()] if end else text


def last_line_start(text: str) -> int:
    """Where the last line begins, as an offset of characters."""
    return max(text.rfind("\n"), text.rfind("\r")) + 1


def is_word(char: str) -> bool:
    """Whether a character is a part of words; an empty text is none."""
    return char.isalnum() or char == "_"


def line_starts(text: str) -> list[int]:
    """Where the lines after the first one begin, as offsets of characters."""
    return [end.end() for end in _END.finditer(text)]


def find_position(document: str, line: int, column: int) -> tuple[int, int]:
    """Offsets (start of the line, cursor) of a position; line and column count from 1, columns in characters.

    The column after the last character is the end of the line. Raises InputError for a position outside.
    """
    start, number = 0, 1
    ends = _END.finditer(document)
    end = next(ends, None)
    while number < line and end:
        start, number = end.end(), number + 1
        end = next(ends, None)
    if line < 1 or number < line:
        lines = len(line_starts(document)) + 1
        raise InputError(
            f"line {line} is outside of the document, which has {_some(lines, 'line')}", "lines count from 1"
        )
    length = (end.start() if end else len(document)) - start
    if not 1 <= column <= length + 1:
        raise InputError(
            f"column {column} is outside of line {line}, which has {_some(length, 'character')}",
            f"columns count from 1; {length + 1} is the end of this line",
        )
    return start, start + column - 1


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
