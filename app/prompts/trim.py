"""What of a generated text is inserted at the cursor."""

import re
from collections.abc import Sequence

from paceline.prompts.balance import imbalance, opened
from paceline.prompts.beginnings import is_indented
from paceline.prompts.fim import NEARBY, FimPrompt
from paceline.prompts.lines import is_word, line_ending, normalise
from paceline.prompts.quotes import QUOTES, open_string, outside, string_end
from paceline.prompts.stops import (
    CLOSERS,
    MAX_LINES,
    PARTNERS,
    Around,
    StopAt,
    around,
    block_end,
    closing_at,
    columns,
    stray_fence,
)
from paceline.prompts.tags import MARKUP, without_stray_tags

LEAVING = ("return", "raise", "throw", "yield", "break", "continue", "goto")
UNIT = 4  # blanks for a tab, where a file does not tell
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


def finish(
    prompt: FimPrompt, text: str, stop_at: StopAt = "", *, max_lines: int = MAX_LINES, unfinished: bool = False
) -> str:
    """What to insert at the cursor, given the generated text (the forced beginning included).

    "line": only the rest of the cursor's line; where nothing but blanks is typed on it, the first line that has text.
    "block": up to the end of the block around the cursor. Then as `trim`. Text that does not begin as forced gives
    nothing. Finishing again what has been finished changes nothing. unfinished: the text breaks off somewhere, so of
    several lines the last one is left out.
    """
    text = normalise(text)
    if not text.startswith(prompt.forced_text):
        return ""
    text = text[len(prompt.forced_text) :]
    place = around(prompt.before, prompt.after, prompt.language)
    if stop_at == "line":
        text = _one_line(text, prompt.typed)
    else:
        end = block_end(text, place, stop_at, max_lines)
        text = text[:end]
        if unfinished and stop_at and end is None and text.strip("\n").count("\n"):
            text = text[: text.rindex("\n")]
    return _trimmed(place, text).replace("\n", prompt.newline)


def trim(before: str, after: str, text: str, language: str = "") -> str:
    """What of a text is worth inserting between two others.

    Blanks at the end go where a line ends there anyway, and so does whatever repeats what stands after the cursor:
    closing brackets, the rest of the line, whole lines. Nothing goes on behind a bracket, a string or a statement that
    is closed after the cursor, nor where what is no part of the language begins. Indentation is made of what the
    document is indented with; line endings become its own. Trimming again what has been trimmed changes nothing.

    language: as fenced blocks or the language server protocol call it; "" where it is not known.
    """
    whole, before, after = len(before) <= NEARBY, before[-NEARBY:], after[:NEARBY]
    place = around(before, after, language)
    trimmed = _trimmed(place, normalise(text))
    if language in MARKUP:
        trimmed = _trimmed(place, without_stray_tags(place.before, place.after, trimmed, whole=whole))
    return trimmed.replace("\n", line_ending(before + after))


def kept(prompt: FimPrompt, text: str, final: str) -> tuple[int, int]:
    """Which characters of a generated text are in what came of it, as two offsets."""
    text, final = normalise(text), normalise(final)
    for part in (final, final.rstrip(), next((line for line in final.split("\n") if line.strip()), "")):
        lines = map(re.escape, part.split("\n"))
        found = re.compile(r"[ \t]*\n".join(lines)).search(text, len(prompt.forced_text)) if part else None
        if found is not None:
            return found.start(), min(len(text), found.start() + max(len(found[0]), len(final)))
    return 0, 0


def _trimmed(place: Around, text: str) -> str:
    at_line_end = not place.rest.strip()
    trimmed = None
    while trimmed != text:
        trimmed = text
        text = _without_fence(place, text)
        text = _in_style(place, _from_first_column(place, _without_blanks(place, text)))
        text = _without_repeated_lines(place, text.rstrip() if at_line_end else text)
        text = _within_string(place, _within_brackets(place, _within_statement(place, text)))
        text = _without_excess(place, text) if at_line_end else _without_end(place, _without_overlap(place, text))
        text = _closed_below(place, _without_open_end(place, text))
    return text


def _without_fence(place: Around, text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines[: stray_fence(lines, place)])


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


def _without_blanks(place: Around, text: str) -> str:
    """The text without blanks on lines that hold nothing else, and without empty lines in front, where the cursor is on
    an indented line: that line would keep its blanks. It begins with its first line that has text, as that goes in
    after what is typed; one that is indented less cannot be had so.
    """
    first, *later = text.split("\n")
    if not later:
        return text
    *inner, last = later
    lines = ["" if not first.strip() else first, *("" if not line.strip() else line for line in inner), last]
    at = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if at and place.typed and place.blank and lines[at].startswith(place.typed):
        lines[: at + 1] = [lines[at][len(place.typed) :]]
    return "\n".join(lines)


def _from_first_column(place: Around, text: str) -> str:
    """The text without blanks that it begins with, where what stands before the cursor is all the indentation that
    the line can have (see is_indented).
    """
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    if not blanks or text[len(blanks) :].startswith("\n") or not is_indented(place.before, place.after):
        return text
    lines = text.split("\n")
    wide = place.typed + blanks
    if all(line.startswith(wide) for line in lines[1:] if line.strip()):
        lines[1:] = [place.typed + line[len(wide) :] if line.strip() else line for line in lines[1:]]
    return "\n".join([lines[0][len(blanks) :], *lines[1:]])


def _in_style(place: Around, text: str) -> str:
    """The text with its later lines indented by tabs or blanks as the document is, where that has only one of them."""
    lines = text.split("\n")
    found = _INDENT.findall(f"{place.before}\n{place.after}")
    tabs, blanks = any("\t" in indent for indent in found), any(" " in indent for indent in found)
    if tabs == blanks:
        return text
    unit = UNIT if tabs else min((len(indent) for indent in found), default=UNIT)
    for at, line in enumerate(lines[1:], 1):
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if tabs and " " in indent:
            wide = columns(indent)
            lines[at] = "\t" * (wide // unit) + " " * (wide % unit) + line[len(indent) :]
        elif blanks and "\t" in indent:
            lines[at] = indent.replace("\t", " " * unit) + line[len(indent) :]
    return "\n".join(lines)


def _without_repeated_lines(place: Around, text: str) -> str:
    """The text without whole lines at its end that repeat the next lines of the document, blank ones aside.

    The last of several may be unfinished. Lines that the brackets need are no repetition.
    """
    lines = text.split("\n")
    alone = place.blank and not place.rest.strip()  # then the cursor's line itself may be a repetition
    whole = [place.typed + lines[0], *lines[1:]]
    for at in range(0 if alone else 1, len(lines)):
        tail = [line.rstrip() for line in whole[at:] if line.strip()]
        next_lines = list(place.following[: len(tail)])
        if not tail or len(next_lines) < len(tail) or tail[:-1] != next_lines[:-1]:
            continue
        unfinished = len(tail) > 1 and next_lines[-1].startswith(tail[-1])
        shorter = "\n".join(lines[:at])
        if (unfinished or tail[-1] == next_lines[-1]) and _not_worse(place, shorter, text):
            return shorter
    shorter = "\n".join(lines[:-1])
    again = len(lines) > 1 and _does_again(lines[-1], place.following[:1])
    return shorter if again and _not_worse(place, shorter, text) else text


def _does_again(line: str, following: Sequence[str]) -> bool:
    """Whether a line does, further inside, what the document's next line does anyway: it would be done twice.

    A line that leaves the block is none: then the next one is not reached.
    """
    if not following or line.strip() != following[0].strip() or columns(line) <= columns(following[0]):
        return False
    return ("(" in line or "=" in line) and not line.split()[0].startswith(LEAVING)


def _within_brackets(place: Around, text: str) -> str:
    """The text up to the bracket that closes what was opened before the cursor, where that is closed after it."""
    rest = place.rest.lstrip()
    if not rest or rest[0] not in CLOSERS:
        return text
    at = closing_at(text, rest[0])
    return text[:at] if at is not None and _not_worse(place, text[:at], text) else text


def _within_string(place: Around, text: str) -> str:
    """The text up to the end of the string that the cursor stands in, where that is closed right after it."""
    rest = place.rest.lstrip()
    if not rest or rest[0] not in QUOTES:
        return text
    mark = rest[0] * 3 if rest.startswith(rest[0] * 3) else rest[0]
    typed = place.before if len(mark) > 1 or mark == "`" else place.typed
    at = string_end(text, mark) if open_string(typed) == mark else -1
    return text[:at] if at >= 0 and _not_worse(place, text[:at], text) else text


def _within_statement(place: Around, text: str) -> str:
    """The text up to the end of the statement, where that ends right after the cursor."""
    if not place.rest.lstrip().startswith(";") or open_string(place.typed):
        return text
    at = next((at for at, char, depth in outside(text) if char == ";" and depth <= 0), None)
    return text[:at].rstrip() if at is not None and _not_worse(place, text[:at], text) else text


def _without_open_end(place: Around, text: str) -> str:
    """Nothing of a line that ends in an opening bracket, where that is left open before a closing one."""
    opens = "\n" not in text and text.rstrip()[-1:] in PARTNERS and place.rest.lstrip()[:1] in tuple(CLOSERS)
    return "" if opens and not _not_worse(place, text, "") else text


def _closed_below(place: Around, text: str) -> str:
    """The text between two brackets that stand next to each other: one of several lines is followed by the closing one
    on a line of its own, that is indented as the opening one's; one on the same line has blanks on both sides or none.
    """
    first, *later = text.split("\n")
    if not place.closer or not text.strip():
        return "" if place.closer else text
    if later and not (first.strip() and later[-1].strip()):
        indent = place.typed[: len(place.typed) - len(place.typed.lstrip())]
        return f"{text.rstrip()}\n{indent}"
    padded = place.closer == "}" and text[0] == " " and text[-1] != " " and not later and place.rest[0] != " "
    return f"{text} " if padded else text


def _without_overlap(place: Around, text: str) -> str:
    """The text without its longest end that repeats the beginning of the rest of the cursor's line.

    A part of a word is no repetition unless all of the rest is repeated; nor are brackets that the text needs.
    """
    rest = place.rest
    for length in range(min(len(text), len(rest)), 0, -1):
        shorter = text[:-length]
        if text.endswith(rest[:length]) and _not_worse(place, shorter, text):
            inside_word = is_word(rest[0]) and is_word((place.typed + shorter)[-1:])
            if length == len(rest) or not inside_word:
                return shorter
    return text


def _without_end(place: Around, text: str) -> str:
    """The text without the end of a statement, where that has begun before the cursor and goes on after it."""
    comment = place.rest.lstrip().startswith(("//", "/*", "#", "--"))
    if comment or not text.rstrip().endswith(";") or not any(map(is_word, place.rest)):
        return text
    begun = place.typed.rstrip()
    if not begun or begun[-1] in ";{}" or opened(begun) > 0:  # another statement, or the head of a loop
        return text
    return text.rstrip().rstrip(";")


def _without_excess(place: Around, text: str) -> str:
    """The text without closing brackets at its end that close nothing. What they close may be too far away to see."""
    if len(place.before) >= NEARBY or text[-1:] not in tuple(CLOSERS):
        return text
    whole = place.before + text + place.after
    return text[:-1] if imbalance(place.before + text[:-1] + place.after) < imbalance(whole) else text


def _not_worse(place: Around, shorter: str, text: str) -> bool:
    """Whether brackets and quotes around the cursor match at least as well with the shorter text."""

    def unmatched(inserted: str) -> int:
        line = place.typed + inserted + place.rest
        return imbalance(place.before + inserted + place.after) + sum(line.count(quote) % 2 for quote in "\"'`")

    return unmatched(shorter) <= unmatched(text)
