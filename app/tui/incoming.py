"""What a terminal sends, told apart: keys, and pastes, also where the terminal does not mark them. Pure."""

import re
from dataclasses import dataclass

AHEAD = 80  # characters that a person types without seeing any of them: ten seconds of a link that stands still
MOMENT = 0.015  # seconds between two pieces of what comes at once; nobody sees that a key waited so long
LAG = 0.15  # seconds that a paste may falter on a busy machine or a slow link
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
    down comes as often as it likes, Enter too; and what an input method commits at once is short.
    """
    lines = [line for line in _LINE_END.split(text) if _VISIBLE.search(line)]
    return len(lines) > 1 or (len(text) > AHEAD and len(set(text)) > 1)


class Incoming:
    """Takes what a terminal sends, in pieces that may end anywhere, and says what it was.

    Typing is told at once, as far as it can be known for typing; for the rest, `patience` says how long to wait for
    the next piece before it is told as it is, by `settle`. However it is cut, the same comes out.
    """

    def __init__(self, escape: float) -> None:
        """escape: seconds after which an escape character was the key and begins nothing."""
        self._escape = escape
        self._run: list[str] = []  # text that is not told yet
        self._pasting = False  # it is one of a paste
        self._begun = ""  # an escape sequence without its end
        self._marked: list[str] | None = None  # of a paste that the terminal marks, while it comes

    @property
    def patience(self) -> float | None:
        """Seconds to wait for what may belong to this; None: nothing is held back, or only its end tells it."""
        if self._marked is not None:
            return None
        if self._begun:
            return self._escape
        if self._pasting:
            return LAG
        if not self._run:
            return None
        run = "".join(self._run)
        if _LINE_END.search(run):
            return LAG if _VISIBLE.search(run) else MOMENT
        return MOMENT if len(set(run)) > 1 else 0

    def feed(self, piece: str) -> list[Came]:
        """What is known, now that this came too."""
        text, self._begun = self._begun + piece, ""
        came: list[Came] = []
        at = 0
        while at < len(text):
            if self._marked is not None:
                at = self._take_marked(text, at, came)
                continue
            escape = text.find("\x1b", at)
            self._add(text[at : escape if escape >= 0 else len(text)])
            if escape < 0:
                break
            if not self._pasting:
                came += self._told()
            if _BEGUN.fullmatch(text, escape):
                self._begun = text[escape:]
                break
            found = _SEQUENCE.match(text, escape) or _BROKEN.match(text, escape)
            assert found is not None  # the second one takes any escape
            at = found.end()
            if not _REPORT.fullmatch(found[0]):
                came += self._told()
            if found[0] == BEGIN:
                self._marked = []
            else:
                came.append(Alone(found[0]) if found.groupdict().get("alt") else Keys(found[0]))
        return came

    def settle(self) -> list[Came]:
        """What is left, as nothing more belongs to it."""
        if self._marked is not None:
            return []
        came = self._told()
        if self._begun:
            came.append(Alone(self._begun))
        self._pasting, self._begun = False, ""
        return came

    def _take_marked(self, text: str, at: int, came: list[Came]) -> int:
        """Text of a marked paste, up to its end if that is there. Returns where it ends."""
        assert self._marked is not None
        end = text.find(END, at)
        if end >= 0:
            came.append(Pasted("".join([*self._marked, text[at:end]])))
            self._marked = None
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
            self._pasting = is_paste(self._run[0])

    def _told(self) -> list[Came]:
        """The text that is held back. Control keys before and behind a paste, Ctrl-U say, are no part of it."""
        run, self._run = "".join(self._run), []
        if not self._pasting:
            return [Keys(run)] if run else []
        body = run.lstrip(CONTROLS)
        before, pasted = run[: len(run) - len(body)], body.rstrip(CONTROLS)
        behind = body[len(pasted) :]
        parts: list[Came] = [Keys(before), Pasted(pasted), Keys(behind)]
        return [each for each in parts if each.text]
