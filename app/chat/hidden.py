"""Characters that nobody sees: they steer a terminal, turn the order of letters, take no room, or look like a blank.

What a person agrees to is shown with all of them (`reveal`), and what brings new ones says so (`warned`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from paceline.chat.edits.changes import Change

NAMED = 4  # of the kinds of such characters, how many a note names
# C0 without tab and newline, DEL, C1; soft hyphen, joiners and fillers; directions; separators; invisible operators;
# variation selectors; a byte order mark, notes between the lines, shorthand and music controls; tags; lone surrogates
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_LOOKS = "\ufe0e\ufe0f"  # after a symbol: as text, or as a picture
_KEYS, _KEYCAP = "#*0123456789", "\u20e3"


def hidden(text: str) -> list[tuple[int, str]]:
    """The characters that nobody sees, and where they stand: all but those that the letters or pictures need."""
    return [(each.start(), each[0]) for each in _SUSPECT.finditer(text) if not _belongs(text, each.start())]


def hides(text: str) -> bool:
    """Whether there is any."""
    return any(not _belongs(text, each.start()) for each in _SUSPECT.finditer(text))


def reveal(text: str, *, ascii_only: bool = False) -> str:
    """The text with a sign for each of them: `␛` for a control character, `<U+202E>` for others.

    ascii_only: for terminals that have nothing else; then all look like `<U+001B>`.
    """

    def sign(each: re.Match[str]) -> str:
        return each[0] if _belongs(text, each.start()) else _sign(each[0], ascii_only)

    return _SUSPECT.sub(sign, text)


def reveal_ending(ending: str, *, ascii_only: bool = False) -> str:
    """How a line is ended: signs for its newline, or words where there is none."""
    if not ending:
        return " (no newline at the end)"
    return "".join(_sign(each, ascii_only) for each in ending)


def warned(change: Change) -> Change:
    """The change, uncertain and with a note where it brings such characters into lines that did not have them."""
    note = _added(change)
    if not note or note in change.notes:
        return change
    return replace(change, certain=False, notes=(*change.notes, note))


def _added(change: Change) -> str:
    """A sentence about those that are new in their hunk; "": there are none."""
    if not change.after or not hides(change.after):
        return ""
    found = Counter[str]()
    first = 0  # line as people count
    for hunk in change.hunks:
        old = Counter(_kinds(hunk.old))
        for number, line in enumerate(hunk.new, hunk.new_start + 1):
            more = Counter(_kinds([line])) - old
            old -= Counter(_kinds([line]))
            first = first or (number if more else 0)
            found += more
    if not found:
        return ""
    names = [f"U+{ord(each):04X}" for each in sorted(found)]
    others = ", ..." if len(names) > NAMED else ""
    what = f"{found.total()} characters" if found.total() > 1 else "a character"
    where = f"from line {first} on" if found.total() > 1 else f"in line {first}"
    return f"{what} that cannot be seen would be added, {where}: {', '.join(names[:NAMED])}{others}"


def _kinds(lines: Iterable[str]) -> list[str]:
    return [each for line in lines for _, each in hidden(line.rstrip("\r\n"))]


def _sign(character: str, ascii_only: bool) -> str:
    code = ord(character)
    if not ascii_only and (code < 0x20 or code == 0x7F):
        return "\u2421" if code == 0x7F else chr(0x2400 + code)
    return f"<U+{code:04X}>"


def _belongs(text: str, at: int) -> bool:
    """Whether what stands there is a part of what stands around it: of a picture, or of letters that join."""
    character, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if character in _LOOKS:
        return bool(before) and (_is_symbol(before) or (before in _KEYS and after == _KEYCAP))
    if character == _JOINER and after and _is_symbol(after) and before:
        return _is_symbol(before) or before in _LOOKS
    if character in (_NON_JOINER, _JOINER):
        return _joins(before) and _joins(after)
    return False


def _is_symbol(character: str) -> bool:
    """Pictures, arrows, colours of skin, and the few marks and letters that can be pictures."""
    return not character.isascii() and unicodedata.category(character) in ("So", "Sk", "Sm", "Po", "Pd", "Ll")


def _joins(character: str) -> bool:
    """Letters of Arabic, Indic and South-East Asian scripts, which joiners change the look of."""
    return "\u0600" <= character <= "\u109f" or "\u1780" <= character <= "\u18aa"
