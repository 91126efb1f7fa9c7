"""What a person looks for in conversations, and where it stands in a text. Pure."""

import re

from paceline.chat.titles import one_line
from paceline.text import replace_surrogates, strip_controls

AROUND = 40  # characters shown before a match
LENGTH = 160  # of an excerpt, in characters
_TERM = re.compile(r'"([^"]+)"|(\S+)')


def fold(text: str) -> str:
    """The text as it is compared: small letters, and nothing that SQLite would end a text at. As long as the text."""
    lower = text.lower()
    if len(lower) != len(text):  # the rare letter whose small form has two characters stays as it is
        lower = "".join(small if len(small := character.lower()) == 1 else character for character in text)
    return replace_surrogates(lower).replace("\0", "\ufffd").replace("ς", "σ")  # noqa: RUF001 - Greek is meant


def terms(query: str) -> tuple[str, ...]:
    """The words of a query, folded, each once; what stands in double quotes is one. Any text is a query."""
    found = (fold(quoted or word) for quoted, word in _TERM.findall(query))
    return tuple(dict.fromkeys(term for term in found if term.strip()))


def places(text: str, words: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Where the words stand in a text: start and end in characters, in order; those that touch are one."""
    folded = fold(text)
    found: list[tuple[int, int]] = []
    for word in words:
        at = folded.find(word)
        while at >= 0:
            found.append((at, at + len(word)))
            at = folded.find(word, at + len(word))
    joined: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)


def excerpt(text: str, words: tuple[str, ...]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line of the text around the first match, safe to show, and the places of the words in it."""
    folded = fold(text)
    first = min((at for word in words if (at := folded.find(word)) >= 0), default=0)
    start = max(0, first - AROUND)
    if start:
        blank = re.search(r"\s", text[start:first])
        start += blank.end() if blank else 0
    shown = one_line(text[start : start + 2 * LENGTH])  # twice as much as is shown, as white space shrinks
    lead = "…" if start else ""
    line = lead + shown[:LENGTH]
    marks = tuple((at, min(end, len(line))) for at, end in places(lead + shown, words) if at < len(line))
    return line + ("…" if len(shown) > LENGTH else ""), marks


def preview(text: str) -> str:
    """The beginning of a text as one line, safe to show."""
    line = one_line(strip_controls(text[: 4 * LENGTH]))
    return line if len(line) <= LENGTH else line[: LENGTH - 1] + "…"
