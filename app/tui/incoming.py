"""What a terminal sends, told apart: keys, and pastes, also where the terminal does not mark them. Pure."""

import re
from dataclasses import dataclass

from paceline.chat.pastes import LAG

AHEAD = 80  # characters that a person types without seeing any of them: ten seconds of a link that stands still
HELD = 8000  # of one key that is held down: minutes of such a link
MOMENT = 0.015  # seconds between two pieces of what comes at once; nobody sees that a key waited so long
LOST = 2.0  # seconds of silence in a marked paste after which its end is lost
BEGIN, END = "\x1b[200~", "\x1b[201~"
CONTROLS = "".join(map(chr, range(32))).translate({ord(each): None for each in "\t\n\r\x1b"}) + "\x7f"

_VISIBLE = re.compile(r"[^\x00-\x20\x7f]")
_LINE_END = re.compile(r"[\r\n]")
# ECMA-48's control sequences, and what is none: mice of the oldest kind, the Linux console's F1 to F5, Alt and a key
_CONTROL = r"\[(?:M[^\x1b]{3}|\[[^\x1b]|(?![M\[])[0-?]*[ -/]*[@-~])|O[0-9;]*[^0-9;\x1b]"
_SEQUENCE = re.compile(rf"\x1b(?:{_CONTROL}|(?P<alt>[^\[O\x1b]))", re.DOTALL)
_BEGUN = re.compile(r"\x1b(?:\[(?:M[^\x1b]{0,2}|\[|[0-?]{0,32}[ -/]?)?|O[0-9;]{0,8})?")
_BROKEN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O[0-9;]*)?")
# no key: mouse, focus, size and modes of the terminal, and the colours of a text that is pasted with them
_REPORT = re.compile(r"\x1b\[(?:<?[\d;:-]*[mM]|M...|[IO]|[\d;:]+t|\?[\d;]+\$y)", re.DOTALL)
# of them, what presses nothing: a mouse that moves, lets go or turns its wheel, focus, size and modes
_HARMLESS = re.compile(r"\x1b\[(?:<(?:3[2-9]|[4-9]\d);[\d;.-]+M|<[\d;.-]+m|[IO]|[\d;]+t|\?[\d;]+\$y)")
_NO_TEXT = dict.fromkeys(map(ord, CONTROLS))


@dataclass(frozen=True)
class Keys:
    """Whole keys, and reports of the terminal: for the parser that knows them."""

    text: str


@dataclass(frozen=True)
class Alone:
    """An escape character that begins no sequence: the Escape key, or Alt and a key."""

    text: str


@dataclass(frozen=True)
class Pasted:
    """A whole paste, as it came."""

    text: str


Came = Keys | Alone | Pasted


def is_paste(text: str) -> bool:
    """Whether text without escape sequences, come all at once, is a paste: nobody types it, even on a bad link.

    A link that stands still for seconds brings at once what was typed meanwhile: a line and its Enter, at most. So
    text on a second line, behind a line's end, is a paste; and taking it for one, should it be typed after all, only
    means that it is not sent yet. On one line it takes more characters than anybody types blindly. A key that is held
    down comes as often as it can, Enter too; and what an input method commits at once is short.
    """
    lines = [line for line in _LINE_END.split(text) if _VISIBLE.search(line)]
    return len(lines) > 1 or len(text) > HELD or (len(text) > AHEAD and len(set(text)) > 1)


class Incoming:
    """Takes what a terminal sends, in pieces that may end anywhere, and says what it was.

    Typing is told at once, as far as it can be known for typing; for the rest, `patience` says how long to wait for
    the next piece before it is told as it is, by `settle`. However it is cut, the same comes out.

    What comes right behind the end of a marked paste is pasted as well, and no key: in a terminal that lets escape
    characters through, a text that is pasted can itself hold that end, and an Enter behind it.
    """

    def __init__(self, escape: float) -> None:
        """escape: seconds after which an escape character was the key and begins nothing."""
        self._escape = escape
        self._run: list[str] = []  # text that is not told yet
        self._pasting = False  # it is one of a paste
        self._begun = ""  # an escape sequence without its end
        self._marked: list[str] | None = None  # of a paste that the terminal marks, while it comes
        self._silent = False  # such a paste has not gone on for a while
        self._behind = False  # such a paste has just ended
        self._lost = False  # such a paste has no end yet, and is waited for no more

    @property
    def patience(self) -> float | None:
        """Seconds to wait for what may belong to this; None: nothing is held back."""
        if self._marked is not None:
            return LOST - LAG if self._silent else LAG
        if self._behind:
            return MOMENT if self._can_be_typed() else LAG
        if len(self._begun) > 2 and BEGIN.startswith(self._begun):  # nobody types half of the mark of a paste
            return LOST
        if self._pasting or (self._begun and self._run):
            return LAG
        if self._begun:
            return self._escape
        if not self._run:
            return None
        run = "".join(self._run)
        if _LINE_END.search(run):
            return LAG if _VISIBLE.search(run) else MOMENT
        return MOMENT if len(set(run)) > 1 else 0

    def feed(self, piece: str) -> list[Came]:
        """What is known, now that this came too."""
        came: list[Came] = []
        if self._silent and piece and not piece.strip(CONTROLS):  # somebody presses Ctrl-C, and will not wait
            came += self._give_up()
        self._silent = False
        text, self._begun = self._begun + piece, ""
        at = 0
        while at < len(text):
            if self._marked is not None:
                at = self._take_marked(text, at, came)
                continue
            escape = text.find("\x1b", at)
            self._add(text[at : escape if escape >= 0 else len(text)])
            if escape < 0:
                break
            if _BEGUN.fullmatch(text, escape):
                self._begun = text[escape:]
                break
            found = _SEQUENCE.match(text, escape) or _BROKEN.match(text, escape)
            assert found is not None  # the second one takes any escape
            at = found.end()
            self._take(found, came)
        return came

    def settle(self) -> list[Came]:
        """What is left, as nothing more belongs to it."""
        if self._marked is not None:
            if self._silent:
                return self._give_up()
            self._silent = True
            return []
        if self._behind and self._can_be_typed():  # then it is to be seen at once; what follows is pasted all the same
            return self._told()
        came = self._told()
        if self._begun and not self._behind:
            came.append(Alone(self._begun))
        self._pasting, self._begun, self._behind = False, "", False
        return came

    def _take(self, found: re.Match[str], came: list[Came]) -> None:
        """An escape sequence outside of a marked paste."""
        sequence = found[0]
        if sequence == END:  # of a paste that was begun before, or whose beginning nobody has seen
            self._pasting, self._behind, self._lost = True, True, False
        elif sequence == BEGIN:
            came += self._told()
            self._marked, self._lost = [], False
        elif self._behind:
            if _HARMLESS.fullmatch(sequence):
                came.append(Keys(sequence))
        else:
            if not self._pasting or not _REPORT.fullmatch(sequence):
                came += self._told()
            came.append(Alone(sequence) if found.groupdict().get("alt") else Keys(sequence))

    def _can_be_typed(self) -> bool:
        """Whether what came behind a marked paste is a key or two."""
        if len(self._run) != 1 or self._begun:
            return False
        return len(self._run[0]) <= AHEAD and not _LINE_END.search(self._run[0])

    def _give_up(self) -> list[Came]:
        """A marked paste as far as it came; keys are keys again."""
        assert self._marked is not None
        text = "".join([*self._marked, self._begun])
        self._marked, self._silent, self._begun, self._lost = None, False, "", True
        self._pasting = self._behind = False
        return [Pasted(text)] if text else []

    def _take_marked(self, text: str, at: int, came: list[Came]) -> int:
        """Text of a marked paste, up to its end if that is there. Returns where it ends."""
        assert self._marked is not None
        end = text.find(END, at)
        if end >= 0:
            came.append(Pasted("".join([*self._marked, text[at:end]])))
            self._marked = None
            self._pasting = self._behind = True
            return end + len(END)
        escape = text.rfind("\x1b", max(at, len(text) - len(END) + 1))
        kept = escape if escape >= 0 and END.startswith(text[escape:]) else len(text)
        self._marked.append(text[at:kept])
        self._begun = text[kept:]
        return len(text)

    def _add(self, plain: str) -> None:
        if not plain:
            return
        self._run.append(plain)
        if not self._pasting:
            self._run = ["".join(self._run)]
            self._pasting = is_paste(self._run[0]) or (self._lost and _is_line(self._run[0]))

    def _told(self) -> list[Came]:
        """The text that is held back. Control keys before and behind a paste, Ctrl-U say, are no part of it."""
        run, self._run = "".join(self._run), []
        if not self._pasting:
            return [Keys(run)] if run else []
        if self._behind:
            text = run.translate(_NO_TEXT)
            return [Pasted(text)] if text else []
        body = run.lstrip(CONTROLS)
        before, pasted = run[: len(run) - len(body)], body.rstrip(CONTROLS)
        behind = body[len(pasted) :]
        parts: list[Came] = [Keys(before), Pasted(pasted), Keys(behind)]
        return [each for each in parts if each.text]


def _is_line(text: str) -> bool:
    """Whether there is text and a line's end."""
    return _VISIBLE.search(text) is not None and _LINE_END.search(text) is not None
