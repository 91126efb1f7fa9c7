"""What ends a completion while it is generated: the line, the block, what stands there anyway, going round in circles.

Each rule is a function of the text behind the cursor; `Stop` asks it as the text comes, and trimming (see trim) asks
it again, so that an answer that went on a little too long is cut at the same place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from paceline.prompts import fences
from paceline.prompts.balance import imbalance, opened
from paceline.prompts.lines import first_line, is_word, last_line_start, normalise
from paceline.prompts.quotes import outside

StopAt = Literal["", "line", "block"]

MAX_BLANK_LINES = 4  # before the line that is wanted, after which nothing more is waited for
MAX_LINES = 64  # of a block
MAX_REPEATED = 32  # lines after the cursor that an answer is compared with
MAX_CYCLE = 4  # lines that are repeated again and again
ROUNDS = 3  # times that they are seen before it is over
MAX_BLANKS = 200  # on a line, after which nothing more is waited for
RESUMING = ("elif", "else", "elsif", "except", "finally", "catch", "rescue", "ensure")  # another branch begins with
TAB = 4  # columns, where blanks and tabs have to be compared
CLOSERS = ")]}"
PARTNERS = {"(": ")", "[": "]", "{": "}"}
OPENERS = ("(", "[", "{", ":", "=>", "->", " do", " then")


@dataclass(frozen=True)
class Around:
    """The text around the cursor, lines ended by a newline alone."""

    typed: str  # the cursor's line up to the cursor
    rest: str  # and behind it
    before: str  # all that is known before the cursor
    after: str  # and after it
    following: tuple[str, ...]  # the next lines that are not blank, without blanks at their ends
    language: str = ""  # as fenced blocks or the protocol call it; "" where it is not known

    @property
    def blank(self) -> bool:
        """Whether nothing but blanks is typed of the cursor's line."""
        return not self.typed.strip()

    @property
    def closer(self) -> str:
        """The bracket behind the cursor that closes the one right before it, as editors put it there; "" if none."""
        partner = PARTNERS.get(self.typed.rstrip()[-1:], "")
        return partner if partner and self.rest.lstrip().startswith(partner) else ""


def around(before: str, after: str, language: str = "") -> Around:
    """What rules look at."""
    before, after = normalise(before), normalise(after)
    typed = before[last_line_start(before) :]
    rest = first_line(after)
    lines = after[len(rest) + 1 :].split("\n") if len(after) > len(rest) else []
    following = islice((line.rstrip() for line in lines if line.strip()), MAX_REPEATED)
    return Around(typed, rest, before, after, tuple(following), language)


class Stop:
    """Says when the text generated so far, fed in pieces, holds all that is wanted."""

    def __init__(self, forced: str, place: Around, stop_at: StopAt, max_lines: int = MAX_LINES) -> None:
        """forced: what the text begins with; it stands before the cursor."""
        self._forced = forced
        self._place = place
        self._stop_at = stop_at
        self._max_lines = max_lines
        self._text = ""

    def feed(self, text: str) -> bool:
        """Whether nothing more is needed."""
        self._text += text
        generated, forced = normalise(self._text), self._forced
        if not generated.startswith(forced):
            return not forced.startswith(generated)
        behind = generated[len(forced) :]
        if self._stop_at == "line":
            return line_is_whole(behind, self._place)
        return block_end(behind, self._place, self._stop_at, self._max_lines) is not None


class IndentStop:
    """Says when the text generated so far, fed in pieces, begins a line that is indented less than is wanted."""

    def __init__(self, typed: str, columns: int) -> None:
        self._columns = columns
        self._line = typed
        self._first = True

    def feed(self, text: str) -> bool:
        """Whether a line after the first begins, with something else than a blank, left of the wanted column."""
        for char in normalise(text):
            if char == "\n":
                self._line, self._first = "", False
            elif not self._first and not char.isspace() and not self._line.strip():
                if len(self._line) < self._columns:
                    return True
                self._line += char
            else:
                self._line += char
        return False


def within_indent(text: str, columns: int) -> str:
    """The text up to the first line, its first and blank ones aside, that is indented by fewer characters."""
    lines = text.split("\n")
    for at, line in enumerate(lines[1:], 1):
        if line.strip() and len(line) - len(line.lstrip()) < columns:
            return "\n".join(lines[:at])
    return text


def line_is_whole(text: str, place: Around) -> bool:
    """Whether the text holds all of a single-line answer."""
    lines = text.split("\n")[:-1]
    if not place.blank:
        return bool(lines)
    return any(line.strip() for line in lines) or len(lines) > MAX_BLANK_LINES


def block_end(text: str, place: Around, stop_at: StopAt = "block", max_lines: int = MAX_LINES) -> int | None:
    """Where the text goes beyond what is wanted, as an offset behind which nothing counts; None while it doesn't.

    Only the beginning of a line after the first decides, or a bracket, so more text never changes an answer that was
    given. stop_at "": nothing but repetition ends it, and a fence in code.
    """
    lines = text.split("\n")
    rules: list[Callable[[list[str], Around], int | None]] = [_circle, _known, stray_fence]
    if stop_at == "block":
        rules += [_dedented, lambda found, _: max_lines if len(found) > max_lines else None]
    ends = [len("\n".join(lines[:end])) for rule in rules if (end := rule(lines, place)) is not None]
    closer = place.rest.lstrip()[:1] if stop_at == "block" else ""
    closed = closing_at(text, closer, whole=False) if closer in tuple(CLOSERS) else None
    return min([*ends, *([closed] if closed is not None else [])], default=None)


def closing_at(text: str, closer: str, *, whole: bool = True) -> int | None:
    """Where a text closes with this bracket what stood open before it; None where it doesn't. whole: see `outside`."""
    found = next(((at, char) for at, char, depth in outside(text, whole=whole) if depth < 0), None)
    return found[0] if found and found[1] == closer else None


def stray_fence(lines: list[str], place: Around) -> int | None:
    """The first line that begins with a fence where that is no part of the language."""
    for at, line in enumerate(lines):
        if line.lstrip().startswith(fences.FENCES) and (at > 0 or place.blank):
            before = place.before + "".join(f"{each}\n" for each in lines[:at])
            if fences.is_stray(before, place.typed + line if at == 0 else line, place.language):
                return at
    return None


def columns(line: str) -> int:
    """How far a line is indented."""
    blanks = line[: len(line) - len(line.lstrip())]
    return len(blanks.expandtabs(TAB))


def _dedented(lines: list[str], place: Around) -> int | None:
    """The first line that does not belong to the block around the cursor any more.

    Where that block goes on after the cursor, or the cursor stands behind something, a single statement is wanted,
    with what belongs to it; and a single line where what belongs to it stands there already.
    """
    whole = [place.typed + lines[0], *lines[1:]]
    first = next((at for at, line in enumerate(whole) if line.strip()), None)
    if first is None:
        return 0 if len(lines) > MAX_BLANK_LINES or len(lines[0]) > MAX_BLANKS else None
    if first >= MAX_BLANK_LINES:  # it was over before there was any text
        return 0
    base = columns(place.typed) if place.blank and place.typed else columns(whole[first])
    depth = opened("\n".join(lines[: first + 1]))  # of brackets that the answer has opened
    single = not place.blank or goes_on(place, base)
    if len(lines) > first + 1:  # the first line is complete
        if place.following and columns(place.following[0]) > base:
            return first + 1
        if single and depth <= 0 and not whole[first].rstrip().endswith(OPENERS) and not _leads(whole[first]):
            return first + 1
    gap = deeper = False  # since the first line: a blank line before this one, one that is indented more
    for at, line in enumerate(whole[first + 1 :], first + 1):
        inside, depth = depth, depth + opened(line)
        if not line.strip():
            gap = True
            continue
        closes, indent = line.lstrip()[0] in CLOSERS, columns(line)
        if at == first + 1 and inside <= 0 and indent <= base and _opens_block(whole[first], line, place.language):
            return 0  # it was meant for another column
        if closes and inside <= 0:  # what stood open before the cursor
            return at if _closed_after(place) else at + 1
        if not closes and inside <= 0:
            led = _leads(whole[at - 1]) or (first_word(line) in RESUMING and not _resumes(place, base))
            unclear = at == len(lines) - 1 and any(word.startswith(line.lstrip()) for word in (*RESUMING, "//"))
            if indent < base or (indent == base and single and not led and not unclear):
                return at
            if indent == base == 0 and gap and deeper:
                return at
        deeper = deeper or indent > base
        gap = False
    return None


def _opens_block(line: str, following: str, language: str) -> bool:
    """Whether a line has to be followed by one that is indented more, which this one is not."""
    text = line.rstrip()
    if language in ("python", "yaml"):
        item = language == "yaml" and following.lstrip().startswith("-")
        return text.endswith(":") and not item and not _leads(text) and text.lstrip()[0] not in "\"'"
    if language in ("ruby", "elixir", "lua"):
        whole = text.endswith(("end", ",")) or ";" in text or " = " in text
        return text.endswith((" do", " then")) or (first_word(text) in ("def", "class", "module") and not whole)
    return False


def goes_on(place: Around, base: int) -> bool:
    """Whether the next line belongs to the block around the cursor, which is indented by so many columns."""
    if not place.following or columns(place.following[0]) != base:
        return False
    return place.following[0].lstrip()[0] not in CLOSERS and not _resumes(place, base)


def _resumes(place: Around, base: int) -> bool:
    """Whether the next line is another branch of the statement around the cursor."""
    following = place.following[:1]
    return bool(following) and columns(following[0]) == base and first_word(following[0]) in RESUMING


def _leads(line: str) -> bool:
    """Whether a line says something about the next one: a decorator, or a comment."""
    return line.lstrip().startswith(("@", "#", "//"))


def first_word(line: str) -> str:
    """The word that a line begins with, blanks aside; "" where it begins with something else."""
    stripped = line.lstrip()
    end = next((at for at, char in enumerate(stripped) if not is_word(char)), len(stripped))
    return stripped[:end]


def _closed_after(place: Around) -> bool:
    """Whether what stands open before the cursor is closed after it."""
    return imbalance(place.before + place.after) == 0


def _known(lines: list[str], place: Around) -> int | None:
    """The first whole line that is the next one after the cursor: from there on the text repeats what stands there.

    Brackets alone may as well belong to the answer, unless those around the cursor match without it.
    """
    depth = 0
    begin = 0 if place.blank and not place.rest.strip() else 1
    for at, text in enumerate(lines[:-1] if place.following else ()):
        line = (place.typed + text if at == 0 else text).rstrip()
        same = at >= begin and depth <= 0 and line == place.following[0]
        if same and (any(map(is_word, line)) or _closed_after(place)):
            return at
        depth += opened(text)
    return None


def _circle(lines: list[str], _: Around) -> int | None:
    """Where lines begin to come again, after they have come several times in a row."""
    whole = lines[:-1]  # the last one may go on
    for size in range(1, MAX_CYCLE + 1):
        for at in range(len(whole) - ROUNDS * size + 1):
            cycle = whole[at : at + size]
            if any(line.strip() for line in cycle) and cycle * ROUNDS == whole[at : at + ROUNDS * size]:
                return at + size
    return None
