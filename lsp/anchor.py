"""Which part of a document a model is shown, chosen so that it changes rarely while somebody types.

    head … anchor | after the line … tail | anchor … cursor
    ------ prefix   --------------- suffix  ------- typed

The model reads the prefix, then the suffix, then what has been typed since the anchor. Typing lengthens the last part
only, so a key costs a token or two. A window holds as long as the text before the anchor and the suffix stand where
they stood; closing marks that an editor puts behind the cursor by itself do not count.
"""

import math
from dataclasses import dataclass

from paceline.client.events import Extra
from paceline.lsp.place import Place
from paceline.lsp.suggestions import CLOSERS
from paceline.prompts.lines import first_line, last_line_start, line_starts
from paceline.workspace.redaction import REACH, redact, redact_part

FAR = 600  # characters typed since the anchor, after which it is time for a new one
TOO_FAR = 2400  # and after which the old one is of no use
SKIPPED = 64  # characters of closing marks and blanks that may have come behind the cursor
STEP = 0.5  # of the budget, that a head keeps when it has to move: it then stays while the rest fills up


@dataclass(frozen=True)
class Budget:
    """How many characters a window may have."""

    prefix: int
    suffix: int


@dataclass(frozen=True)
class Window:
    """A part of a document. `head` and `anchor` are offsets of characters."""

    head: int
    anchor: int
    prefix: str  # from head to anchor
    suffix: str
    full: bool = False  # with the whole budget; otherwise it is one that is read at once
    extra: tuple[Extra, ...] = ()  # parts of other files, shown before it

    def typed(self, place: Place) -> str | None:
        """What stands between anchor and cursor, where the window still holds; otherwise None."""
        before = place.before
        if not self.anchor <= len(before) <= self.anchor + TOO_FAR:
            return None
        if before[self.head : self.anchor] != self.prefix or behind(place.after, self.suffix) is None:
            return None
        return before[self.anchor :]

    def shown(self, place: Place, typed: str) -> tuple[str, str]:
        """What the model is shown before and after the cursor: without secrets, also those that an edge cuts.

        Lengths stay as they are. typed: what stands between anchor and cursor, or "" to show nothing of it.
        """
        first = max(0, self.head - REACH)
        near = place.before[first:]
        start, end = self.head - first, self.anchor + len(typed) - first
        skipped = behind(place.after, self.suffix)
        if skipped is None:  # a place that this is no window of any more
            return redact(self.prefix + typed), redact(self.suffix)
        tail = len(near) + len(skipped)
        near += place.after[: len(skipped) + len(self.suffix) + REACH]
        found = redact_part(near, start, tail + len(self.suffix))
        return found[: end - start], found[tail - start :]

    def far(self, typed: str) -> bool:
        """Whether it is time to choose a new anchor."""
        return len(typed) > FAR


def behind(after: str, suffix: str) -> str | None:
    """What stands between cursor and suffix, where that is nothing that the model has to know; otherwise None.

    Nothing to know are closing marks and blanks.
    """
    if after.startswith(suffix) and (suffix or not after.strip()):
        return ""
    for length in range(1, min(len(after), SKIPPED) + 1):
        char = after[length - 1]
        if char not in CLOSERS and not char.isspace():
            return None
        if after.startswith(suffix, length) and (suffix or length == len(after)):
            return after[:length]
    return None


def choose(place: Place, budget: Budget, last: Window | None = None) -> Window:
    """A window for the place, anchored at the start of the cursor's line.

    last: the one before it, whose head is kept as long as the budget allows it, so that a cache knows its beginning.
    """
    before = place.before
    near = max(0, len(before) - FAR)  # in a longer line the anchor stands within it
    anchor = near + last_line_start(before[near:])
    head = _head(before, anchor, budget.prefix, last)
    return Window(head, anchor, before[head:anchor], _suffix(place.after, budget.suffix))


def _head(before: str, anchor: int, most: int, last: Window | None) -> int:
    if anchor <= most:
        return 0
    if last is not None and last.head <= anchor <= last.head + most and before.startswith(last.prefix[:256], last.head):
        return last.head
    least = anchor - (int(most * STEP) if last is not None else most)
    starts = line_starts(before[least : min(anchor, least + 400)])
    return least + starts[0] if starts else least


def _suffix(after: str, most: int) -> str:
    """Whole lines after the cursor's, as many as fit; with the rest of that where it has text of its own."""
    rest = first_line(after)
    start = len(rest) if all(char in CLOSERS or char.isspace() for char in rest) else 0
    text = after[start : start + most]
    if start + most >= len(after):
        return text
    ends = line_starts(text)
    return text[: ends[-1]] if ends and ends[-1] > len(text) // 2 else text


@dataclass
class Reach:
    """How much can be read at once, learned from what was read."""

    speed: float = 200.0  # tokens of a prompt in a second
    characters: float = 3.2  # of code in a token
    weight: float = 0.2  # of a new observation
    known: bool = False  # the speed is more than a guess

    def told(self, speed: float) -> None:
        """The engine says how many tokens of a prompt it usually reads in a second. What was seen here counts more."""
        if not self.known and 0 < speed < math.inf:
            self.speed, self.known = speed, True

    def read(self, tokens: int, seconds: float) -> None:
        """So many tokens of a prompt took so long. Few say little: a decode costs something by itself."""
        if tokens >= 16 and seconds > 0:
            self.known = True
            self.speed += self.weight * (tokens / seconds - self.speed)

    def counted(self, characters: int, tokens: int) -> None:
        """A text had so many tokens."""
        if tokens >= 64:
            self.characters += self.weight * (characters / tokens - self.characters)

    def small(self, latency: float, most: Budget) -> Budget:
        """What is read within so many seconds; at most `most`."""
        total = self.speed * latency * self.characters
        return Budget(min(most.prefix, max(200, int(total * 0.75))), min(most.suffix, max(60, int(total * 0.25))))
