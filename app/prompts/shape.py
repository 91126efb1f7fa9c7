"""How much is wanted at a place: the rest of a line, or a block. Told from the text around it, without a parser."""

import re
from typing import Literal

from paceline.prompts.comments import comment_mark
from paceline.prompts.stops import Around, around

Shape = Literal["line", "block"]

PROSE = frozenset(["asciidoc", "git-commit", "latex", "markdown", "plaintext", "restructuredtext", "tex"])
_STRING = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`")
_FENCE = re.compile(r'"""|\'\'\'')
_BLOCK_COMMENT = re.compile(r"/\*|\*/")


def shape(before: str, after: str, language: str = "") -> Shape:
    """What is wanted: a block where the cursor's line ends at the cursor, which is a single line where nothing opens
    one; otherwise, and in comments, texts and prose, a line.

    language: the protocol's languageId, "" where it is not known.
    """
    place = around(before, after)
    wanted = not place.rest.strip() and language not in PROSE and not _in_prose(place, language)
    return "block" if wanted else "line"


def _in_prose(place: Around, language: str) -> bool:
    """Whether the cursor is in a comment or in a text, as far as the lines before it tell."""
    if language in ("", "python") and len(_FENCE.findall(place.before)) % 2:
        return True
    mark = comment_mark(language) or "//"
    if mark == "//":
        marks = _BLOCK_COMMENT.findall(_without_strings(place.before))
        if marks and marks[-1] == "/*":
            return True
    code = _without_strings(place.typed)
    return mark in code or any(quote in code for quote in '"`')


def _without_strings(text: str) -> str:
    """The text with nothing in its quotes; where a quote is not closed, it is still there."""
    return _STRING.sub("", text)
