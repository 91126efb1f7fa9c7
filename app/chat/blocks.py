r"""Fenced code in an answer, also in one that is still being written.

Read as CommonMark has it (https://spec.commonmark.org/0.31.2/#fenced-code-blocks), and beyond that as small models
mean it: fences indented any further, behind a sentence or a list's mark; blocks within a block of Markdown; fences
within a search/replace block or among the context of a diff, which close nothing.
"""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paceline.chat.naming import name_above, name_in_comment, name_in_info
from paceline.prompts import context
from paceline.prompts.lines import line_starts, normalise

MARKDOWN = {"markdown", "md", "mdx", "rst"}
DIFFS = {"diff", "patch", "udiff", "git"}
AHEAD = 200  # lines looked at for what closes a block within a block of Markdown
ABOVE = 3  # lines before a block that may name its file
_MARKS = r"(?P<marks>(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*)(?P<blanks>[ \t]*)"  # of quotations and items
_CONTAINERS = re.compile(_MARKS)
_FENCE = re.compile(_MARKS + r"(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_LATE = re.compile(
    r"(?P<text>(?:[^`]|`[^`]+`)*[^\s])[ \t]*(?P<fence>`{3,})(?P<info>[\w+#.-]*)[ \t]*"
)  # a fence behind a sentence
_QUOTE = re.compile(r"[ \t]*> ?")
_ITEM = re.compile(r"(?P<before>[ \t]*)(?P<mark>[-*+]|\d{1,9}[.)])(?P<blanks>[ \t]+)")
_CONFLICT, _CONFLICT_ENDS = re.compile(r"\s*<{5,9}(?!<)"), re.compile(r"\s*>{5,9}(?!>)")


@dataclass(frozen=True)
class Block:
    """A fenced block. Offsets are in characters of the answer."""

    start: int  # of the line that opens it
    end: int  # after the line that closes it, its line ending included
    body_start: int
    body_end: int
    language: str  # what the info string says, in lower case, or else by the file's name; "": it does not say
    info: str  # what stands after the opening fence
    text: str  # the code: lines ended by \n, without the fence's own indentation
    name: str  # the file that it is for, as the answer says; "": it does not
    closed: bool  # False: the answer ends within it


def blocks(answer: str) -> tuple[Block, ...]:
    """The outermost fenced blocks of an answer, in order. Takes linear time and never raises."""
    return tuple(_Reader(answer).read())


@dataclass(frozen=True)
class _Opening:
    """A line that opens a block."""

    line: int
    fence: str
    indent: int  # columns before the fence
    quotes: int  # how deep in quotations it is
    item: int  # columns before what belongs to the list's item that it is in; 0: it is in none
    info: str

    @property
    def language(self) -> str:
        word = re.split(r"[\s:,{(]", self.info.strip(" \t{."), maxsplit=1)[0].lower()
        return "" if "/" in word or "." in word or "=" in word else word

    @property
    def holds_markdown(self) -> bool:
        return self.language in MARKDOWN or self.info.lower().endswith((".md", ".markdown", ".rst"))


@dataclass(frozen=True)
class _End:
    """Where a block ends."""

    body: int  # the line behind the code
    after: int  # the line behind the block; where a quotation or an item ends the block, the same
    shared: bool = False  # the line before `after` has code before the fence


class Item:
    """The item of a list that a block of code is in: whether the code's lines are still in it."""

    def __init__(self, column: int) -> None:
        """column: of what belongs to the item; 0: the block is in none."""
        self._column = column
        self._indented: bool | None = None  # whether the code stands within the item, as its first line says

    def leaves(self, line: str) -> bool:
        """Whether the next line is indented less than the item, which the code has not been so far."""
        if not self._column or not line.strip():
            return False
        within = _indent(line) >= self._column
        if self._indented is None:
            self._indented = within
        return self._indented and not within


class _Items:
    """Which items of lists are open, while lines go by."""

    def __init__(self) -> None:
        self._levels: list[list[int]] = [
            []
        ]  # in each quotation the columns of what belongs to the items, the outer first
        self._fresh = True  # the next line goes on with no paragraph

    def read(self, line: str) -> None:
        """A line that is in no block, or opens one."""
        found = _CONTAINERS.match(line)
        assert found is not None  # it may be empty
        first, *quoted = found[0].split(">")
        leads = [first, *(lead.removeprefix(" ") for lead in quoted)]
        del self._levels[len(leads) :]
        if found.end() == len(line) and not found["marks"].strip(" \t>"):
            self._fresh = True
            return
        for level, lead in enumerate(leads):
            self._levels += [[]] if level == len(self._levels) else []
            before = self._levels[level]
            item = _ITEM.match(lead)
            columns = [column for column in before if column <= _indent(lead)] if self._fresh or item else before
            while item:
                end = item.end() if _columns(item["blanks"]) <= 4 else item.end("mark") + 1
                columns = [*columns, _columns(lead[:end])]
                item = _ITEM.match(lead, item.end())
            if columns != before:
                self._levels[level:] = [columns]
        self._fresh = False

    def around(self, indent: int) -> int:
        """The column of the item that a fence which is indented so is in; 0: in none."""
        self._fresh = True
        return max((column for column in self._levels[-1] if column <= indent), default=0)


class _Reader:
    """Goes once through the lines of an answer."""

    def __init__(self, answer: str) -> None:
        starts = [0, *line_starts(answer), len(answer)]
        self.spans = [(begin, end) for begin, end in itertools.pairwise(starts) if begin < end]
        self.answer = answer
        self.lines = [answer[begin:end].rstrip("\r\n") for begin, end in self.spans]
        ends = [at for at, line in enumerate(self.lines) if _CONFLICT_ENDS.match(line)]
        self.last_conflict = ends[-1] if ends else -1
        self.fences = [at for at, line in enumerate(self.lines) if _FENCE.match(line)]
        self.items = _Items()
        self.rescues = 1  # blocks that may be closed by a fence behind code; more would make this quadratic

    def read(self) -> Iterator[Block]:
        at, last = 0, 0
        while at < len(self.lines):
            self.items.read(self.lines[at])
            opening = self._opening(at)
            if opening is None:
                at += 1
                continue
            end = self._end(opening)
            if end is None and self.rescues:
                end = self._end_behind_code(opening)
                self.rescues -= 1
            yield self._block(opening, end, last)
            at = last = len(self.lines) if end is None else end.after

    def _opening(self, at: int) -> _Opening | None:
        line = self.lines[at]
        if "```" not in line and "~~~" not in line:
            return None
        if found := _FENCE.fullmatch(line):
            if found["fence"][0] == "`" and "`" in found["info"]:
                return None  # code within a line
            indent = _columns(_behind_quotes(found["marks"] + found["blanks"]))
            quotes, item = found["marks"].count(">"), self.items.around(indent)
            return _Opening(at, found["fence"], indent, quotes, item, found["info"].strip())
        if found := _LATE.fullmatch(line):
            return _Opening(at, found["fence"], 0, 0, 0, found["info"])
        return None

    def _end(self, opening: _Opening) -> _End | None:
        """Where a fence closes the block, or what it is in ends; None: nothing does."""
        inner = ""  # the fence of a block within this one
        conflict = False
        item = Item(opening.item)
        for at in range(opening.line + 1, len(self.lines)):
            bare = self._unquoted(self.lines[at], opening.quotes)
            if bare is None:
                return _End(at, at)
            if not conflict and item.leaves(bare) and self._has_left(at, bare, opening):
                return _End(at, at)
            conflict = (conflict or _CONFLICT.match(bare) is not None) and at < self.last_conflict
            conflict = conflict and _CONFLICT_ENDS.match(bare) is None
            mark = bare.lstrip(" \t")
            if conflict or mark[:3] not in ("```", "~~~"):
                continue
            alone = _is_fence(mark)
            if inner:
                inner = "" if alone and _closes(mark, inner) else inner
            elif opening.holds_markdown and self._nests(at, mark, alone):
                inner = re.match(r"`+|~+", mark)[0]  # type: ignore[index]  # it begins with three of them
            elif alone and _closes(mark, opening.fence) and self._is_near(bare, opening):
                return _End(at, at + 1)
        return None

    def _has_left(self, at: int, bare: str, opening: _Opening) -> bool:
        """Whether a line that is indented less than the item it would be in is none of the item's code. It is, where
        the next fence closes the block: small models do not keep the indentation.
        """
        if opening.holds_markdown:
            return False
        if _ITEM.match(bare):
            return True
        place = bisect_left(self.fences, at)
        if place == len(self.fences):
            return True
        following = self._unquoted(self.lines[self.fences[place]], opening.quotes)
        return following is None or not (_is_fence(following) and _closes(following, opening.fence))

    def _nests(self, at: int, mark: str, alone: bool) -> bool:
        """Whether a fence in a block of Markdown opens a block there. One with a language does; one without where a
        blank line stands before it and none after it, and others follow that close both.
        """
        if not alone:
            return "`" not in mark.lstrip("`")
        if at + 1 >= len(self.lines) or self.lines[at - 1].strip() or not self.lines[at + 1].strip():
            return False
        following = (each.strip() for each in self.lines[at + 1 : at + 1 + AHEAD])
        return sum(1 for each in following if each[:3] == mark[:3] and _is_fence(each)) >= 2

    @staticmethod
    def _is_near(line: str, opening: _Opening) -> bool:
        """Whether a fence is not indented so far that it is the block's text. In diffs any blank makes it that."""
        return _indent(line) <= opening.indent + (0 if opening.language in DIFFS else 3)

    def _end_behind_code(self, opening: _Opening) -> _End | None:
        """The first line that has the fence at its end, behind code; Markdown may have such lines of its own."""
        if opening.holds_markdown:
            return None
        for at in range(opening.line + 1, len(self.lines)):
            line = self.lines[at].rstrip()
            if line.endswith(opening.fence) and line.count(opening.fence) == 1 and not _FENCE.match(line):
                return _End(at, at + 1, shared=True)
        return None

    def _unquoted(self, line: str, quotes: int) -> str | None:
        """The line within so many quotations; None: it is not in all of them."""
        for _ in range(quotes):
            found = _QUOTE.match(line)
            if found is None:
                return None
            line = line[found.end() :]
        return line

    def _block(self, opening: _Opening, end: _End | None, last: int) -> Block:
        body_line, after = (end.body, end.after) if end is not None else (len(self.lines), len(self.lines))
        body_start = body_end = self.spans[opening.line][1]
        if after > opening.line + 1:
            body_end = self.spans[body_line][0] if body_line < len(self.lines) else len(self.answer)
        lines = self.lines[opening.line + 1 : body_line]
        if end is not None and end.shared:
            lines.append(self.lines[body_line].rstrip().removesuffix(opening.fence))
            body_end = self.spans[body_line][1]
        body = [self._unquoted(line, opening.quotes) or "" for line in lines]
        text = "".join(_dedented(line, opening.indent) + "\n" for line in body)
        if end is None and not normalise(self.answer).endswith("\n"):
            text = text.removesuffix("\n")
        language = opening.language
        name = name_in_info(opening.info) or name_in_comment(text)
        if not name:
            above = self.lines[max(last, opening.line - ABOVE) : opening.line]
            late = _LATE.fullmatch(self.lines[opening.line])
            name = name_above([*above, late["text"]] if late else above, language)
        return Block(
            self.spans[opening.line][0],
            self.spans[after - 1][1],
            body_start,
            body_end,
            language or context.language(name),
            opening.info,
            text,
            name,
            end is not None,
        )


def _columns(blanks: str) -> int:
    return len(blanks.expandtabs(4))


def _indent(line: str) -> int:
    """Columns of blanks before a line's text."""
    return _columns(line[: len(line) - len(line.lstrip(" \t"))])


def _behind_quotes(lead: str) -> str:
    """What stands before a line's text, without the quotations that it is in."""
    _, quoted, inner = lead.rpartition(">")
    return inner.removeprefix(" ") if quoted else lead


def _is_fence(mark: str) -> bool:
    """Whether there is nothing but a fence."""
    bare = mark.strip()
    return len(bare) >= 3 and bare[0] in "`~" and not bare.strip(bare[0])


def _closes(mark: str, fence: str) -> bool:
    bare = mark.strip()
    return bare[0] == fence[0] and len(bare) >= len(fence)


def _dedented(line: str, indent: int) -> str:
    """The line without as many columns of blanks as the fence is indented by, if it has them."""
    if not indent:
        return line
    if line[:indent].isspace() and "\t" not in line[:indent]:
        return line[indent:] if len(line) >= indent else ""
    body = line.lstrip(" \t")
    blanks = line[: len(line) - len(body)].expandtabs(4)
    return blanks[indent:] + body


def texts(found: Sequence[Block], answer: str) -> Iterator[str]:
    """What stands between the blocks: before the first, after each. One more than there are blocks."""
    starts = [0, *(block.end for block in found)]
    ends = [*(block.start for block in found), len(answer)]
    return (answer[start:end] for start, end in zip(starts, ends, strict=True))
