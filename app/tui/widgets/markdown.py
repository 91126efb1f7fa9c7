"""An answer's Markdown as blocks, read line by line while it arrives. Nothing here draws.

A block is settled once a later one has begun, and never changes after that: what comes next costs only its own length.
Lines decide alone what they begin, so that the blocks do not depend on the pieces in which the text came.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from paceline.chat.blocks import MARKDOWN, Item
from paceline.chat.blocks import Block as Fenced
from paceline.chat.blocks import blocks as fenced_blocks
from paceline.text import ControlFilter, replace_surrogates

Kind = Literal["paragraph", "heading", "item", "quote", "rule", "table", "fence", "indented", "literal"]

LINE_LIMIT = 2_000  # characters; a longer line is taken apart, so that it costs no more than several
TEXT_LIMIT = 2_000  # characters of a paragraph after which the next line begins another

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINED = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|$)")
_QUOTE = re.compile(r" {0,3}> ?(.*)")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ONLY_MARKS = re.compile(r"[ \t]*(?:`+|~+)[ \t]*$")


@dataclass
class Block:
    """A paragraph, a list's item, a fence. Lines are added to the last one only."""

    kind: Kind
    lines: list[str] = field(default_factory=list)
    indent: int = 0  # cells from the left
    gap: bool = False  # a blank line stands before it
    mark: str = ""  # of an item "-" or "1."; of a heading its #; of a fence what it was opened with
    info: str = ""  # of a fence
    closed: bool = False  # of a fence: the line that ends it has come
    number: int = -1  # of a fence: how many came before it
    size: int = 0  # characters of its lines
    starts: list[int] = field(default_factory=list)  # of each line: where in the text, without controls, it begins


class Reader:
    """Text in pieces to blocks. `blocks` holds the complete lines, `hanging()` what the unfinished last one shows."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._filter = ControlFilter()
        self.size = 0  # characters of the text so far, without controls
        self._tail = ""  # the line that is not complete yet
        self._start = 0  # where in the text it begins
        self._now = ("", 0)  # the line that is read now, and where it begins
        self._inside = False  # that line's beginning was longer than a line may be, and is a line already
        self._gap = False
        self._column = 0  # of the text of the list's item that is open: what is indented may belong to it
        self._ended = False  # the last block takes no more lines
        self._of = Item(0)  # that the last fence is in
        self._fences = 0
        self._pieces: list[str] = []
        self._prose = False  # fences are text

    def feed(self, text: str) -> None:
        """Reads on."""
        self._take(self._filter.feed(text))

    def finish(self) -> None:
        """The text is complete. Which fences it has is now told by the whole of it, as for what is done with them."""
        self._take(self._filter.flush())
        self._end()
        text = "".join(self._pieces)
        if "```" in text or "~~~" in text:
            found = fenced_blocks(text)
            mine = [block for block in self.blocks if block.kind == "fence"]
            if [_lines(each) for each in found] != [block.lines for block in mine]:
                self._read_again(text, found)

    def _end(self) -> None:
        if self._tail:
            self._line(self._tail.removesuffix("\r"), self._start)
        self._start += len(self._tail)
        self._tail, self._inside = "", False

    def _read_again(self, text: str, found: tuple[Fenced, ...]) -> None:
        self.blocks, self._fences, self._gap, self._column, self._prose = [], 0, False, 0, True
        at = 0
        for each in found:
            self._start = at
            self._take(text[at : each.start])
            opening = text[each.start : each.body_start].partition("\n")[0]
            before, mark, _ = re.split(r"(`{3,}|~{3,})", opening, maxsplit=1)
            self._take(before if re.search(r"\w", before) else "")
            self._end()
            indent = len(before.expandtabs(4)) if not before.strip() else 0
            lines = _lines(each)
            block = Block("fence", lines, indent, mark=mark, info=each.info.strip(), closed=True)
            block.starts = list(_starts(text, each.body_start, lines))
            self._open(block, ended=True)
            at = each.end
        self._start = at
        self._take(text[at:])
        self._end()

    def hanging(self) -> tuple[str, int, Block | None]:
        """What the unfinished line would be: text that the last block goes on with and where that begins, or a block
        of its own.
        """
        tail = self._tail.removesuffix("\r")
        if not tail.strip() or _ONLY_MARKS.match(tail):
            return "", 0, None  # may become a fence's beginning or end
        fence = self._open_fence()
        left = fence is not None and not self._inside and self._of.leaves(tail)
        if fence is not None and not left:
            text = self._unindented(fence, tail)
            return text, self._start + _within(tail, text), None
        trial = Reader()
        trial._gap, trial._column, trial._fences = self._gap, self._column, self._fences
        trial._ended, trial._inside = self._ended or left, self._inside
        before = self.blocks[-1] if self.blocks else None
        if before is not None:  # a stand-in that shows whether the line goes into the block or not
            stand_in = Block(before.kind, [""], before.indent, mark=before.mark, size=before.size, starts=[0])
            trial.blocks.append(stand_in)
        trial._line(tail, self._start)
        first = trial.blocks[0]
        if before is not None and len(trial.blocks) == 1:
            return "\n".join(first.lines[1:]), first.starts[-1], None
        return "", 0, trial.blocks[-1]

    def _take(self, text: str) -> None:
        text = replace_surrogates(text)
        if not self._prose:
            self._pieces.append(text)
            self.size += len(text)
        tail = self._tail + text
        at = 0
        while at < len(tail):
            end = tail.find("\n", at, at + LINE_LIMIT + 1)
            if end >= 0:
                self._line(tail[at:end].removesuffix("\r"), self._start + at)
                at, self._inside = end + 1, False
            elif len(tail) - at > LINE_LIMIT:
                self._line(tail[at : at + LINE_LIMIT], self._start + at)
                at, self._inside = at + LINE_LIMIT, True
            else:
                break
        self._tail = tail[at:]
        self._start += at

    def _line(self, line: str, start: int) -> None:
        self._now = (line, start)
        if self._inside and self.blocks and not self._ended:  # the rest of a line that is too long
            self._add(line)
        elif fence := self._open_fence():
            self._in_fence(fence, line)
        elif not line.strip():
            self._ended = self._gap = True
        else:
            self._begin(line)

    def _begin(self, line: str) -> None:
        lead = len(line) - len(line.lstrip())
        fence = None if self._prose else _FENCE.fullmatch(line)
        if fence is not None and self._opens(fence, lead):
            self._open(Block("fence", indent=len(fence[1].expandtabs(4)), mark=fence[2], info=fence[3].strip()))
            return
        last = self.blocks[-1] if self.blocks and not self._ended else None
        if last is not None and last.kind == "paragraph" and self._changed(last, line):
            return
        if lead < 2 and self._gap and not _ITEM.fullmatch(line):
            self._column = 0
        if _RULE.match(line):
            self._open(Block("rule"), ended=True)
        elif match := _HEADING.match(line):
            self._open(Block("heading", [match[2] or ""], mark=match[1]), ended=True)
        elif match := _ITEM.fullmatch(line):
            self._item(match, last)
        elif match := _QUOTE.match(line):
            self._same_or_new("quote", match[1], last)
        elif lead >= 4 and not self._column and (last is None or last.kind == "indented"):
            self._same_or_new("indented", line[:lead].expandtabs(4)[4:] + line[lead:], last)
        else:
            self._text(line, lead, last)

    def _opens(self, match: re.Match[str], lead: int) -> bool:
        return (lead < 4 or self._column > 0) and not (match[2][0] == "`" and "`" in match[3])

    def _changed(self, last: Block, line: str) -> bool:
        """Whether this line makes something else of the paragraph's last line: a heading, a table's head."""
        if match := _UNDERLINED.match(line):
            if len(last.lines) == 1:
                last.kind, last.mark = "heading", "#" if match[1][0] == "=" else "##"
                self._ended = True
                return True
        elif "|" in line and "|" in last.lines[-1] and _DELIMITERS.match(line):
            head, starts = last.lines.pop(), [last.starts.pop(), self._now[1]]
            last.size -= len(head)
            if last.lines:
                self._open(Block("table", [head, line], last.indent, starts=starts))
            else:
                last.kind, last.lines, last.starts = "table", [head, line], starts
            return True
        return False

    def _item(self, match: re.Match[str], last: Block | None) -> None:
        lead = len(match[1].expandtabs(4))
        numbered = match[2][0].isdigit()
        plain = last is not None and last.kind == "paragraph" and last.indent == 0
        if (lead > 3 and not self._column) or (plain and numbered and match[2][:-1] != "1" and not self._column):
            self._text(match[0], lead, last)  # indented text, or a number that a line happens to begin with
            return
        self._column = lead + len(match[2]) + 1
        self._open(Block("item", [match[3] or ""], lead, mark=match[2]))

    def _text(self, line: str, lead: int, last: Block | None) -> None:
        text = line.strip()
        if last is not None and last.kind == "table" and "|" in line and last.size < 10 * TEXT_LIMIT:
            self._add(line)
        elif last is not None and last.kind in ("paragraph", "item", "quote") and last.size < TEXT_LIMIT:
            self._add(text)
        else:
            indent = min(len(line[:lead].expandtabs(4)), self._column) if self._column else 0
            self._open(Block("paragraph", [text], indent))

    def _same_or_new(self, kind: Kind, line: str, last: Block | None) -> None:
        if last is not None and last.kind == kind and last.size < TEXT_LIMIT:
            self._add(line)
        else:
            self._open(Block(kind, [line]))

    def _add(self, line: str) -> None:
        self.blocks[-1].lines.append(line)
        self.blocks[-1].starts.append(self._now[1] + _within(self._now[0], line))
        self.blocks[-1].size += len(line)

    def _open(self, block: Block, *, ended: bool = False) -> None:
        block.gap, block.size = self._gap and bool(self.blocks), sum(map(len, block.lines))
        block.starts = block.starts or [self._now[1] + _within(self._now[0], line) for line in block.lines]
        if block.kind == "fence":
            block.number = self._fences
            self._fences += 1
            inside = block.indent >= self._column and block.info.lower() not in MARKDOWN
            self._of = Item(self._column if inside else 0)
        self.blocks.append(block)
        self._gap, self._ended = False, ended

    def _open_fence(self) -> Block | None:
        last = self.blocks[-1] if self.blocks else None
        return last if last is not None and last.kind == "fence" and not last.closed and not self._ended else None

    def _in_fence(self, fence: Block, line: str) -> None:
        if self._of.leaves(line):  # as the item ends, so does what is in it
            self._ended = True
            self._begin(line)
            return
        match = _FENCE.fullmatch(line)
        if match and match[2].startswith(fence.mark) and not match[3]:
            fence.closed = self._ended = True
        else:
            self._add(self._unindented(fence, line))

    def _unindented(self, fence: Block, line: str) -> str:
        """The line without the indentation that the fence itself has."""
        blank = line[: fence.indent]
        return line[fence.indent :] if not blank.strip(" ") else line.lstrip(" ") if not blank.strip() else line


def _lines(fenced: Fenced) -> list[str]:
    return fenced.text.removesuffix("\n").split("\n") if fenced.text else []


def _within(line: str, text: str) -> int:
    """Where in a line a text begins that is all of it but marks. Where it is indented by more characters than there,
    as by blanks for a tab, that is before the line: what counts are the characters behind the indentation.
    """
    return line.find(text.strip()) - (len(text) - len(text.lstrip()))


def _starts(text: str, at: int, lines: list[str]) -> Iterator[int]:
    """Where in the text the lines of a fence begin that begins there."""
    for line in lines:
        end = text.find("\n", at)
        whole = text[at:] if end < 0 else text[at:end]
        yield at + _within(whole, line)
        at += len(whole) + 1


class Plain:
    """Text that is shown as it is, such as a person's messages."""

    LINES = 50  # of one block

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.size = 0  # characters so far, without controls
        self._filter = ControlFilter()
        self._line = ""

    def feed(self, text: str) -> None:
        """Reads on."""
        self._take(replace_surrogates(self._filter.feed(text)))

    def finish(self) -> None:
        """The text is complete."""
        self._take(replace_surrogates(self._filter.flush()))
        if self._line:
            self._end()

    def hanging(self) -> tuple[str, int, Block | None]:
        """The unfinished line, as a block of its own."""
        return "", 0, Block("literal", [self._line]) if self._line else None

    def _take(self, text: str) -> None:
        self.size += len(text)
        first, *others = text.replace("\r\n", "\n").split("\n")
        self._put(first)
        for line in others:
            self._end()
            self._put(line)

    def _put(self, text: str) -> None:
        self._line += text
        while len(self._line) >= LINE_LIMIT:
            rest, self._line = self._line[LINE_LIMIT:], self._line[:LINE_LIMIT]
            self._end()
            self._line = rest

    def _end(self) -> None:
        if not self.blocks or len(self.blocks[-1].lines) >= self.LINES:
            self.blocks.append(Block("literal"))
        self.blocks[-1].lines.append(self._line)
        self._line = ""
