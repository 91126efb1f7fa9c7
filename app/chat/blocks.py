r"""Fenced code in an answer, also in one that is still being written.

Read as CommonMark has it (https://spec.commonmark.org/0.31.2/#fenced-code-blocks), and beyond that as small models
mean it: fences indented any further, behind a sentence or a list's mark; blocks within a block of Markdown; fences
within a search/replace block or among the context of a diff, which close nothing.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paceline.chat.naming import name_above, name_in_comment, name_in_info
from paceline.prompts import context
from paceline.prompts.lines import line_starts, normalise

MARKDOWN = {"markdown", "md", "mdx", "rst"}
DIFFS = {"diff", "patch", "udiff", "git"}
AHEAD = 200  # lines looked at for what closes a block within a block of Markdown
ABOVE = 3  # lines before a block that may name its file
_FENCE = re.compile(
    r"(?P<quote>(?: {0,3}>)*)(?P<lead>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<fence>`{3,}|~{3,})(?P<info>.*)"
)
_LATE = re.compile(
    r"(?P<text>(?:[^`]|`[^`]+`)*[^\s])[ \t]*(?P<fence>`{3,})(?P<info>[\w+#.-]*)[ \t]*"
)  # a fence behind a sentence
_QUOTE = re.compile(r" {0,3}> ?")
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
    info: str

    @property
    def language(self) -> str:
        word = re.split(r"[\s:,{(]", self.info.strip(" \t{."), maxsplit=1)[0].lower()
        return "" if "/" in word or "." in word or "=" in word else word

    @property
    def holds_markdown(self) -> bool:
        return self.language in MARKDOWN or self.info.lower().endswith((".md", ".markdown", ".rst"))


class _Reader:
    """Goes once through the lines of an answer."""

    def __init__(self, answer: str) -> None:
        starts = [0, *line_starts(answer), len(answer)]
        self.spans = [(begin, end) for begin, end in itertools.pairwise(starts) if begin < end]
        self.answer = answer
        self.lines = [answer[begin:end].rstrip("\r\n") for begin, end in self.spans]
        ends = [at for at, line in enumerate(self.lines) if _CONFLICT_ENDS.match(line)]
        self.last_conflict = ends[-1] if ends else -1
        self.rescues = 1  # blocks that may be closed by a fence behind code; more would make this quadratic

    def read(self) -> Iterator[Block]:
        at, last = 0, 0
        while at < len(self.lines):
            opening = self._opening(at)
            if opening is None:
                at += 1
                continue
            close = self._close(opening)
            if close is None and self.rescues:
                close = self._close_behind_code(opening)
                self.rescues -= 1
            yield self._block(opening, close, last)
            at = last = len(self.lines) if close is None else close + 1

    def _opening(self, at: int) -> _Opening | None:
        line = self.lines[at]
        if "```" not in line and "~~~" not in line:
            return None
        if found := _FENCE.fullmatch(line):
            if found["fence"][0] == "`" and "`" in found["info"]:
                return None  # code within a line
            indent = len(found["lead"].expandtabs(4))
            return _Opening(at, found["fence"], indent, found["quote"].count(">"), found["info"].strip())
        if found := _LATE.fullmatch(line):
            return _Opening(at, found["fence"], 0, 0, found["info"])
        return None

    def _close(self, opening: _Opening) -> int | None:
        """The line that closes the block; None: nothing does. A quotation's end closes it, with the line before."""
        inner = ""  # the fence of a block within this one
        conflict = False
        for at in range(opening.line + 1, len(self.lines)):
            line = self.lines[at]
            if opening.quotes and not _QUOTE.match(line):
                return at - 1
            bare = self._unquoted(line, opening.quotes)
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
            elif alone and _closes(mark, opening.fence) and self._is_near(bare, mark, opening):
                return at
        return None

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
    def _is_near(line: str, mark: str, opening: _Opening) -> bool:
        """Whether a fence is not indented so far that it is the block's text. In diffs any blank makes it that."""
        indent = len(line[: len(line) - len(mark)].expandtabs(4))
        return indent <= opening.indent + (0 if opening.language in DIFFS else 3)

    def _close_behind_code(self, opening: _Opening) -> int | None:
        """The first line that has the fence at its end, behind code; Markdown may have such lines of its own."""
        if opening.holds_markdown:
            return None
        for at in range(opening.line + 1, len(self.lines)):
            line = self.lines[at].rstrip()
            if line.endswith(opening.fence) and line.count(opening.fence) == 1 and not _FENCE.match(line):
                return at
        return None

    def _unquoted(self, line: str, quotes: int) -> str:
        for _ in range(quotes):
            found = _QUOTE.match(line)
            line = line[found.end() :] if found else line
        return line

    def _block(self, opening: _Opening, close: int | None, last: int) -> Block:
        end_line = len(self.lines) if close is None else close
        closing = self._unquoted(self.lines[end_line], opening.quotes).strip() if close is not None else ""
        whole = close is not None and not _is_fence(closing)  # the last line has code, too
        body = [self._unquoted(line, opening.quotes) for line in self.lines[opening.line + 1 : end_line]]
        if whole:
            body.append(self._unquoted(self.lines[end_line], opening.quotes).rstrip().removesuffix(opening.fence))
        body_start = self.spans[opening.line][1]
        body_end = len(self.answer) if close is None else self.spans[close][1 if whole else 0]
        text = "".join(_dedented(line, opening.indent) + "\n" for line in body)
        if close is None and not normalise(self.answer).endswith("\n"):
            text = text.removesuffix("\n")
        language = opening.language
        name = name_in_info(opening.info) or name_in_comment(text)
        if not name:
            above = self.lines[max(last, opening.line - ABOVE) : opening.line]
            late = _LATE.fullmatch(self.lines[opening.line])
            name = name_above([*above, late["text"]] if late else above, language)
        return Block(
            self.spans[opening.line][0],
            len(self.answer) if close is None else self.spans[close][1],
            min(body_start, body_end),
            body_end,
            language or context.language(name),
            opening.info,
            text,
            name,
            close is not None,
        )


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
