"""What is pasted: made clean, attached where it is long, and recognised where the terminal does not say so. Pure."""

from collections.abc import Sequence
from typing import Literal

from paceline.chat.turns import Attached
from paceline.text import strip_controls

LONG = 8000  # characters that a prompt shows well
FASTEST = 0.012  # seconds between two keys; a quick typist needs 50 ms, a key held down repeats every 30 ms
ENOUGH = 3  # keys that came that fast, one behind the other, make another one a paste
HOLD = 0.04  # an Enter waits so long for what may follow it
LAG = 0.15  # a paste may falter so long on a busy machine; what comes later is typed
Key = Literal["typed", "held", "pasted"]


def cleaned(text: str) -> str:
    """The text with line ends as on Unix, and without anything that could steer a terminal."""
    return strip_controls(text.replace("\r\n", "\n").replace("\r", "\n"))


def line_count(text: str) -> int:
    """Lines of a text; the last one need not be ended."""
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def is_long(text: str, lines: int) -> bool:
    """Whether a clean paste is more than a prompt shows well: more lines than that, or as much text on few of them."""
    return line_count(text) > lines or len(text) > max(LONG, 100 * lines)


def as_attachment(text: str, lines: int, taken: Sequence[str] = ()) -> Attached | None:
    """A paste of more lines than that, or of very long ones, as an attachment; None for one that fits into the prompt.

    taken: names of what is attached already: the same name is not given twice.
    """
    text = cleaned(text)
    count = line_count(text)
    if not is_long(text, lines):
        return None
    base = f"pasted text, {count:,} lines" if count > lines else f"pasted text, {len(text):,} characters"
    name, again = base, 1
    while name in taken:
        again += 1
        name = f"{base} ({again})"
    return Attached("paste", name, text)


def placeholder(attached: Attached) -> str:
    """What stands in the prompt where it was pasted, so that the sentence around it can be read."""
    return f"[{attached.name}]"


def shown(attached: Sequence[Attached], text: str) -> tuple[Attached, ...]:
    """The pastes among what is attached whose placeholders stand in this text."""
    return tuple(each for each in attached if each.kind == "paste" and placeholder(each) in text)


def around(text: str, at: int, wholes: Sequence[str], *, before: bool) -> tuple[int, int] | None:
    """Where the placeholder begins and ends that the character before, or behind, a place belongs to; None: to none.

    wholes: the placeholders. Places are in characters of the text.
    """
    at = at - 1 if before else at
    for whole in wholes:
        start = text.find(whole, max(0, at - len(whole) + 1), at + len(whole)) if at >= 0 else -1
        if 0 <= start <= at < start + len(whole):
            return start, start + len(whole)
    return None


class Burst:
    """Tells keys of a paste from typed ones where a terminal does not bracket pastes: by how fast they come.

    Times in seconds, of any clock that only rises. Keys that come in one piece of input may all have the same.
    """

    def __init__(self) -> None:
        self._last = float("-inf")
        self._run: list[str] = []  # keys that came fast, one behind the other, and are no paste yet
        self._pasting = False

    def key(self, character: str, now: float) -> Key:
        """What a key is: "typed"; "held", an Enter that sends unless another key follows within HOLD; or "pasted".

        With the first that is "pasted", `beginning` has those before it that were a part of the paste, too.
        """
        gap, self._last = now - self._last, now
        if self._pasting and gap <= LAG:
            return "pasted"
        if not self._pasting and self._run[-1:] == ["\n"] and gap <= HOLD:
            return self._begin()
        if self._pasting or gap > FASTEST or self._run[-1:] == ["\n"]:
            self._pasting, self._run = False, []
        if character in "\r\n":
            self._run.append("\n")
            return "held"
        if len(self._run) >= ENOUGH:
            return self._begin()
        self._run.append(character)
        return "typed"

    def beginning(self) -> str:
        """Keys that turned out to be the beginning of a paste; asked once. An Enter among them is the last one."""
        found, self._run = "".join(self._run), []
        return found

    def _begin(self) -> Key:
        self._pasting = True
        return "pasted"
