"""What a conversation is called."""

import re
import unicodedata

from paceline.chat.turns import Turn
from paceline.text import replace_surrogates, strip_controls

LONGEST = 200  # characters of a title that a person gave
MADE = 60  # characters of one that is made of a message
UNTITLED = "Untitled"
_MARKS = re.compile(r"^(?:#{1,6}\s+|>\s*|[-*+]\s+|`{3,}.*$|~{3,}.*$)+")  # of Markdown, at the start of a line


def one_line(text: str) -> str:
    """The text as one line that can be shown: without controls and lone surrogates, each white space one blank."""
    return " ".join(replace_surrogates(strip_controls(text.replace("\r", "\n"))).split())


def shortened(text: str, length: int) -> str:
    """At most so many characters, ended by "…" where some are missing: at a word if one is near, never in an emoji."""
    if len(text) <= length:
        return text
    end = length - 1
    blank = text.rfind(" ", end * 2 // 3, end + 1)
    if blank > 0:
        return text[:blank].rstrip() + "…"
    while end > 1 and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return text[:end].rstrip() + "…"


def made_of(turn: Turn) -> str:
    """A title for a conversation that begins with this message."""
    for line in strip_controls(turn.text.replace("\r", "\n")).splitlines():
        if words := one_line(_MARKS.sub("", line.strip())):
            return shortened(words, MADE)
    for attached in turn.attached:
        if words := one_line(attached.name):
            return shortened(words, MADE)
    return UNTITLED


def given(text: str) -> str:
    """A title that a person gave, as it is kept. "" if nothing of it can be shown."""
    return shortened(one_line(text), LONGEST)


def of_fork(title: str) -> str:
    """The title of a conversation that was forked from one with this title."""
    return title if title.endswith(" (fork)") else f"{shortened(title or UNTITLED, LONGEST - 7)} (fork)"


def _joins(character: str) -> bool:
    """Whether it belongs to the character before it."""
    return (
        character in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or unicodedata.combining(character) != 0
    )
