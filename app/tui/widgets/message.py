"""One turn of a conversation as rows, laid out when it is looked at. Nothing here draws."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import itemgetter

from paceline.chat import labels
from paceline.chat.turns import Attached, Run, Turn
from paceline.text import strip_controls
from paceline.tui.widgets.colouring import Colouring
from paceline.tui.widgets.drafted import Drafted
from paceline.tui.widgets.layout import BLANK, Laid, LaidFence, lay
from paceline.tui.widgets.markdown import Block, Plain, Reader
from paceline.tui.widgets.rows import Row, Span, breaks, measure, shorten, untab, wrap

YOU = "You"
SHOWN_LINES = 40  # of an attachment that is unfolded
AS_WRITTEN = "shown as it was written: Paceline could not lay it out"

_ENDS = {
    "stopped": "stopped",
    "length": "cut: the answer reached its token limit",
}


@dataclass(frozen=True)
class Place:
    """What stands in a row of a turn."""

    block: int | None = None  # the number of the code block
    offers: bool = False  # the row below a code block


class Entry:
    """A turn, its text read so far, and its rows at the width it was last laid out for."""

    def __init__(self, turn: Turn, branch: tuple[int, int] = (1, 1), *, drafts: bool = False) -> None:
        self.turn, self.branch = turn, branch
        self.unfolded = False
        self._drafts = drafts and turn.role == "assistant"
        self._pieces: list[tuple[str, str]] = list(_runs(turn.text, turn.runs))
        self._read = 0  # pieces that the reader has
        self._reader: Reader | Plain | None = None
        self._drafted = Drafted()  # of what the reader has, where that is shown
        self._finished = False
        self._colours: dict[int, Colouring] = {}
        self._sections: list[Laid | LaidFence] = []
        self._settled = 0  # sections that are right as they are
        self._starts: list[int] = []
        self.width = 0  # that it is laid out for; 0: it is not
        self.faults: list[Exception] = []  # that came up while it was laid out or drawn

    @property
    def height(self) -> int:
        """Rows, the blank one behind it included; 0 where it is not laid out."""
        return self._starts[-1] if self.width else 0

    def estimate(self, width: int) -> int:
        """About how many rows it has, without reading it closely."""
        lines = characters = 0
        for text, _ in self._pieces:
            lines += text.count("\n")
            characters += len(text)
        return 3 + lines + (characters - lines) // max(1, width) + len(self.turn.attached)

    def append(self, text: str, drafter: str = "") -> None:
        """More of its text."""
        self._pieces.append((text, drafter))

    def update(self, turn: Turn) -> None:
        """The turn is now so. Where the text goes on from what is known, that stays as it is."""
        known = "".join(text for text, _ in self._pieces)
        if self._finished and turn.state == "streaming":
            self.drop()  # it goes on
        if turn.text.startswith(known) and not (self._finished and len(turn.text) > len(known)):
            if rest := turn.text[len(known) :]:
                self._pieces.append((rest, ""))
            if turn.runs and self._drafts and not self._same_runs(turn):
                self._pieces = list(_runs(turn.text, turn.runs))
                self.drop()
        else:
            self._pieces = list(_runs(turn.text, turn.runs))
            self.drop()
        self.turn = turn

    def show_drafts(self, shown: bool) -> None:
        """Shows who drafted what instead of the styles of Markdown, or those again."""
        shown = shown and self.turn.role == "assistant"
        if shown == self._drafts:
            return
        self._drafts = shown
        if self.turn.runs and "".join(text for text, _ in self._pieces) == self.turn.text:
            self._pieces = list(_runs(self.turn.text, self.turn.runs))
        self.drop()

    def drop(self) -> None:
        """Forgets everything that can be worked out again."""
        self._reader, self._drafted, self._read, self._finished = None, Drafted(), 0, False
        self._colours.clear()
        self.unlay()

    def unlay(self) -> None:
        """Its rows have to be worked out again, for another width."""
        self._sections, self._starts, self._settled, self.width = [], [], 0, 0

    def give_up(self, fault: Exception) -> None:
        """Laying it out or drawing it has failed. From now on it is shown as it was written; if that fails as well, cut
        into rows without any regard.
        """
        self.faults.append(fault)
        self.drop()

    def lay(self, width: int) -> int:
        """Works the rows out, for what has changed only. Returns the first row that may look different.

        Raises nothing: an answer that cannot be laid out must not take the app down.
        """
        while len(self.faults) < 2:
            try:
                return self._lay(width)
            except Exception as fault:
                self.give_up(fault)
        self._lay_bare(width)
        return 0

    def _lay(self, width: int) -> int:
        if width != self.width:
            self.unlay()
        self._catch_up()
        reader = self._reader
        assert reader is not None
        same = self._settled + 1 if self._sections else 0  # the head is a section, too
        changed = self._starts[same - 1] if same and self._starts else 0
        before = self._sections[same] if same and same < len(self._sections) else None
        fence = before if isinstance(before, LaidFence) else None
        head = self._head(width)
        if self._sections and not _look_alike(self._sections[0], head):
            changed = 0
        sections: list[Laid | LaidFence] = [head, *self._sections[1:same]]
        more, start, extra = reader.hanging() if not self._finished else ("", 0, None)
        drafted = self._drafted if self._drafts and not self.faults else None
        blocks = reader.blocks if extra is None else [*reader.blocks, extra]
        for at in range(self._settled, len(blocks)):
            block, first = blocks[at], at == 0
            hanging = more if at == len(reader.blocks) - 1 and extra is None else ""
            if block.kind == "fence":
                coloured = [] if block is extra or self._drafts else self._coloured(at, block)
                kept = fence is not None and fence.block is block
                if fence is not None and kept:
                    laid = fence
                else:
                    laid = LaidFence(block, width, first=first, coloured=coloured, drafted=drafted)
                grown = laid.grow(hanging, start)
                changed += grown if kept else 0
                sections.append(laid)
            else:
                sections.append(lay(block, width, first=first, more=hanging, start=start, drafted=drafted))
        self._settled = max(0, len(reader.blocks) - (0 if self._finished else 1))
        sections.append(self._foot(width))
        self._sections, self.width = sections, width
        self._starts = list(accumulate(each.height for each in sections))
        return changed

    def _lay_bare(self, width: int) -> None:
        """The same without anything that may have failed."""
        text = strip_controls("".join(text for text, _ in self._pieces)).replace("\t", " ")
        parts = [line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width)]
        rows = [Row(((part, ()),)) for part in [*parts, AS_WRITTEN[:width]]]
        self._sections = [Laid([Row(((YOU if self.turn.role == "user" else "Paceline", ()),))]), Laid([*rows, BLANK])]
        self._starts = [1, len(rows) + 2]
        self.width = width

    def row(self, at: int) -> Row:
        """A row, of those there are."""
        section = bisect_right(self._starts, at)
        if section >= len(self._sections):
            return BLANK
        return self._sections[section].row(at - (self._starts[section - 1] if section else 0))

    def place(self, at: int) -> Place:
        """What stands in a row."""
        section = bisect_right(self._starts, at)
        laid = self._sections[section] if section < len(self._sections) else None
        if not isinstance(laid, LaidFence):
            return Place()
        within = at - (self._starts[section - 1] if section else 0)
        return Place(laid.block.number, laid.is_last(within))

    def in_head(self, at: int) -> bool:
        """Whether this row is above the text, where the turn's name stands and what goes with it."""
        return bool(self._starts) and at < self._starts[0]

    def blocks(self) -> int:
        """How many code blocks there are."""
        try:
            self._catch_up()
        except Exception as fault:
            self.give_up(fault)
            return 0
        assert self._reader is not None
        return sum(block.kind == "fence" for block in self._reader.blocks)

    def rows_of(self, number: int) -> range:
        """The rows of a code block, where it is laid out; without the blank one above it."""
        for at, laid in enumerate(self._sections):
            if isinstance(laid, LaidFence) and laid.block.number == number:
                return range(self._starts[at - 1] + laid.lead, self._starts[at])
        return range(0)

    def indent_of(self, number: int) -> int:
        """Cells before the rows of a code block."""
        found = (each for each in self._sections if isinstance(each, LaidFence) and each.block.number == number)
        return next((each.indent for each in found), 0)

    @property
    def uncoloured(self) -> bool:
        """Whether there is code whose colours have not been worked out yet."""
        return any(each.working for each in self._colours.values())

    def colour(self) -> list[range]:
        """Works on colours for a moment. Returns the rows that look different now."""
        at = next(at for at, each in self._colours.items() if each.working)
        lines = self._colours[at].work()
        laid = self._sections[at + 1] if at + 1 < len(self._sections) else None
        if not isinstance(laid, LaidFence) or not lines:
            return []
        within = laid.rows_of(lines)
        return [range(self._starts[at] + within.start, self._starts[at] + within.stop)]

    def _catch_up(self) -> None:
        if self._reader is None:
            self._reader = Plain() if self.turn.role == "user" or self.faults else Reader()
        for text, drafter in self._pieces[self._read :]:
            size = self._reader.size
            self._reader.feed(text)
            self._drafted.add(self._reader.size - size, drafter)
        self._read = len(self._pieces)
        if self.turn.state != "streaming" and not self._finished:
            before = self._reader.blocks
            self._reader.finish()
            self._finished = True
            self._pieces = _merged(self._pieces)
            self._read = len(self._pieces)
            if self._reader.blocks is not before:  # what is a fence was seen otherwise
                self._colours.clear()
                self.unlay()

    def _coloured(self, at: int, block: Block) -> Sequence[tuple[Span, ...] | None]:
        """The coloured lines of a fence, with those that have come since."""
        colouring = self._colours.setdefault(at, Colouring(block.info))
        if fresh := block.lines[len(colouring.lines) :]:
            colouring.add(fresh)
        if block.closed or self._finished:
            colouring.close()
        return colouring.lines

    def _head(self, width: int) -> Laid:
        who = YOU if self.turn.role == "user" else labels.model(self.turn.model) or "Paceline"
        which = f"< {self.branch[0]}/{self.branch[1]} >" if self.branch[1] > 1 else ""
        name = shorten(untab(who), max(1, width - measure([(which, ())]) - 1))
        blank = max(1, width - measure([(name + which, ())]))
        role = "you" if self.turn.role == "user" else "model"
        rows = [Row(((name, (role,)), (" " * blank, ()), (which, ("branch",))) if which else ((name, (role,)),))]
        for attached in self.turn.attached:
            rows += _attachment(attached, width, self.unfolded)
        if self.turn.skipped:
            rows += _forgotten(self.turn, width, self.unfolded)
        return Laid(rows)

    def _foot(self, width: int) -> Laid:
        turn = self.turn
        told = _ENDS.get(turn.state, "")
        if turn.state == "failed":
            told = "failed" + (f": {strip_controls(turn.error)}" if turn.error else "")
        names = "failed" if turn.state == "failed" else "state"
        rows = [Row(spans) for spans in wrap([(untab(told), (names,))], width)] if told else []
        if self.faults:
            rows += [Row(spans) for spans in wrap([(AS_WRITTEN, ("state",))], width)]
        return Laid([*rows, BLANK])

    def _same_runs(self, turn: Turn) -> bool:
        return _merged(self._pieces) == _merged(_runs(turn.text, turn.runs))


def _look_alike(one: Laid | LaidFence, other: Laid) -> bool:
    return one.height == other.height and all(one.row(at) == other.row(at) for at in range(other.height))


def branch_columns(entry: Entry) -> tuple[range, range]:
    """Where in the first row the marks for the branch before and the one after stand."""
    if entry.branch[1] <= 1 or not entry.width:
        return range(0), range(0)
    size = len(f"< {entry.branch[0]}/{entry.branch[1]} >")
    first = max(0, entry.width - size)
    return range(first, first + size // 2), range(first + size // 2, first + size)


def _attachment(attached: Attached, width: int, unfolded: bool) -> list[Row]:
    rows = [Row(((shorten(f"+ {labels.attachment(attached)}", width), ("attached",)),))]
    return [*rows, *_unfolded(attached.text, width)] if unfolded else rows


def _forgotten(turn: Turn, width: int, unfolded: bool) -> list[Row]:
    """What the model is no longer shown from this turn on."""
    rows = [Row(spans) for spans in wrap([(labels.left_out(turn), ("state",))], width)]
    return [*rows, *_unfolded(turn.summary, width)] if unfolded else rows


def _unfolded(text: str, width: int) -> list[Row]:
    """The beginning of a text that goes with a turn."""
    rows, shown = [], strip_controls(text).splitlines()
    for line in map(untab, shown[:SHOWN_LINES]):
        rows += [Row((("  " + line[a:b], ("quote",)),)) for a, b in breaks(line, max(1, width - 2))]
    if len(shown) > SHOWN_LINES:
        rows.append(Row(((f"  … {len(shown) - SHOWN_LINES:,} more lines", ("attached",)),)))
    return rows


def _runs(text: str, runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The text by who drafted it; what no run covers is the model's own."""
    pieces: list[tuple[str, str]] = []
    at = 0
    for run in runs:
        if part := text[at : at + run.characters]:
            pieces.append((part, run.drafter))
        at += run.characters
    return [*pieces, (text[at:], "")] if at < len(text) else pieces


def _merged(pieces: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same text in as few pieces as its drafters allow."""
    runs = groupby(filter(itemgetter(0), pieces), key=itemgetter(1))
    return [("".join(text for text, _ in run), drafter) for drafter, run in runs]
