"""What is pasted: made clean, attached where it is long, and recognised where the terminal does not say so. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.chat.turns import Attached
from paceline.text import strip_controls

LONG = 8000  # characters that a prompt shows well
FASTEST = 0.012  # seconds between two keys; a quick typist needs 50 ms, a key held down repeats every 30 ms
AFTER = 0.06  # and after the last key of a burst, in which its last newline may still come
ENOUGH = 3  # keys that came that fast make a burst


def cleaned(text: str) -> str:
    """The text with line ends as on Unix, and without anything that could steer a terminal."""
    return strip_controls(text.replace("\r\n", "\n").replace("\r", "\n"))


def line_count(text: str) -> int:
    """Lines of a text; the last one need not be ended."""
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def as_attachment(text: str, lines: int, taken: Sequence[str] = ()) -> Attached | None:
    """A paste of more lines than that, or of very long ones, as an attachment; None for one that fits into the prompt.

    taken: names of what is attached already: the same name is not given twice.
    """
    text = cleaned(text)
    count = line_count(text)
    if count <= lines and len(text) <= LONG:
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


@dataclass
class Burst:
    """Tells keys of a paste from typed ones where a terminal does not bracket pastes: by how fast they come.

    A newline within a burst belongs to the text, and must not send it. Times in seconds, of any clock that only rises.
    """

    _last: float = field(default=float("-inf"), init=False)
    _fast: int = field(default=0, init=False)
    _until: float = field(default=float("-inf"), init=False)

    def key(self, now: float, *, newline: bool = False) -> bool:
        """Take a key; whether it is a part of a burst. Of a newline: whether it is text, and does not send.

        Keys that the application reads at once, from one piece of input, may all be given the same time.
        """
        gap = now - self._last
        self._last = now
        self._fast = self._fast + 1 if gap <= FASTEST else 0
        if self._fast >= ENOUGH:
            self._until = now + AFTER
        return self._fast >= ENOUGH or (newline and now <= self._until)
