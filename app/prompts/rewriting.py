r"""Changing a part of a file by an instruction: which lines that is, and what the model is asked.

The model sees whole lines, ended by \n, without the indentation that all of them share: small models lose that anyway.
What its answer becomes is rewritten's matter.
"""

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from paceline.prompts.lines import line_starts, normalise
from paceline.text import replace_surrogates

BEFORE, AFTER = 2000, 1000  # characters of the file that are shown around the part
SYSTEM = (
    "You change parts of files as a careful programmer does. Change what the instruction says and nothing else. "
    "Answer with the whole changed part in one code block, without any explanation."
)
PLACE = "[the part]"  # stands for it among its surroundings
_WISH = re.compile(
    r"""(?:\#|//|--|/\*|<!--|;+|%|\{\#|\(\*|^[ \t]*["'])[ \t]*paceline[ \t]*:[ \t]*(?P<wish>.*?)[ \t]*"""
    r"""(?:\*/|-->|\#\}|\*\)|%>)?[ \t]*$""",
    re.I,
)


@dataclass(frozen=True)
class Question:
    """What the model is asked: a system message and a user's."""

    system: str
    user: str


@dataclass(frozen=True)
class Part:
    """Whole lines of a file that are to be changed."""

    before: str  # the file up to them
    text: str  # the lines as they stand there
    after: str  # and what follows
    language: str = ""  # tag of a code block
    name: str = ""  # the file's
    focus: str = ""  # what of a line was meant, where that is not all of it
    frame: str = ""  # the lines with the comments that have been taken out of the text; "": there were none

    @property
    def shown(self) -> str:
        r"""The lines as the model sees them: ended by \n, without their common indentation."""
        text = normalise(replace_surrogates(self.text))
        margin = common_indent(text.split("\n"))
        return "\n".join(line.removeprefix(margin) for line in text.split("\n"))

    def with_wishes_taken_out(self) -> "tuple[Part, str]":
        """The part without the comments that say what is wanted, `# paceline: …`, and what they say."""
        if "paceline" not in self.text.lower():
            return self, ""
        kept, wishes = [], []
        for line in _lines(self.text):
            bare = line.rstrip("\r\n")
            found = _WISH.search(bare)
            if found is None or not found["wish"]:
                kept.append(line)
                continue
            wishes.append(found["wish"])
            code = bare[: found.start()].rstrip()
            if code:
                kept.append(code + line[len(bare) :])
        if not wishes:
            return self, ""
        text = "".join(kept)
        if kept and not _is_ended(self.text):
            text = _without_end(text)
        return replace(self, text=text, frame=self.text), "; ".join(wishes)


def part_of(
    document: str, start: int, end: int, language: str = "", name: str = "", *, comment: bool = False
) -> tuple[Part, int, int]:
    """The lines that a selection touches, and where they begin and end; offsets in characters.

    A selection that ends at the beginning of a line does not touch it. The last line's ending belongs to it only if it
    was selected. comment: so does a comment right above that says what is wanted.
    """
    starts = [0, *line_starts(document)]
    index = bisect_right(starts, start) - 1
    first = starts[index]
    ended = end > start and starts[bisect_right(starts, end) - 1] == end
    last = end if ended else _line_end(document, end)
    inside = document[start:end]
    whole = not document[first:start].strip() and not document[end:last].strip()
    focus = "" if whole or len(normalise(inside).split("\n")) > 1 else inside.strip()
    if comment:
        first = _comment_above(document, starts, index)
    return Part(document[:first], document[first:last], document[last:], language, name, focus), first, last


def ask(part: Part, wish: str, before: int = BEFORE, after: int = AFTER) -> Question:
    """How to ask for the change. before, after: characters of the file shown around it, at most.

    What stands around goes into the system message, and what is wanted comes last: small models take any code in the
    user's message for what is to be changed, and forget what stands far before their answer.
    """
    head, tail = surroundings(part, before, after)
    shown = part.shown
    fence = fence_for(head + shown + tail)
    system = SYSTEM
    if (head + tail).strip():
        around = _block(f"{head}{PLACE}\n{tail}", part.language, fence)
        name = " ".join(replace_surrogates(part.name).split()) or "the file"
        system += f"\n\nFor reference only, this is what stands around the part in {name}:\n{around}"
    if not shown.strip():  # there is only a wish
        where = f"What belongs where {PLACE} stands? " if (head + tail).strip() else ""
        return Question(system, f"{where}{_wanted(part, wish)} Answer with these lines and nothing else.")
    wanted = f"{_wanted(part, wish)} Answer with the whole changed part, and repeat nothing else of the file."
    return Question(system, f"{_block(shown, part.language, fence)}\n\n{wanted}")


def ask_again(part: Part, wish: str) -> Question:
    """How to ask for the change where nothing came of the first answer: in another order, and the part alone."""
    shown = part.shown
    if not shown.strip():
        return ask(part, wish)
    wanted = f"{_wanted(part, wish)} Answer with the whole changed part and nothing else."
    return Question(SYSTEM, f"{wanted}\n\n{_block(shown, part.language, fence_for(shown))}")


def surroundings(part: Part, before: int = BEFORE, after: int = AFTER) -> tuple[str, str]:
    """The nearest whole lines on both sides of the part, at most so many characters of each."""
    head = normalise(replace_surrogates(_last_lines(part.before, before)))
    tail = normalise(replace_surrogates(_first_lines(part.after, after)))
    return head, tail


def fence_for(text: str) -> str:
    """Backticks longer than any run of them in the text."""
    return "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))


def common_indent(lines: Iterable[str]) -> str:
    """The blanks that all lines begin with; lines without text do not count."""
    margin: str | None = None
    for line in lines:
        if not line.strip():
            continue
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if margin is None:
            margin = blanks
        while not blanks.startswith(margin):
            margin = margin[:-1]
    return margin or ""


def _lines(text: str) -> list[str]:
    """The lines with their endings."""
    starts = [0, *line_starts(text), len(text)]
    return [text[begin:end] for begin, end in itertools.pairwise(starts) if begin < end]


def _is_ended(text: str) -> bool:
    return text.endswith(("\r", "\n"))


def _without_end(text: str) -> str:
    """The text without the ending of its last line."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text.removesuffix("\r")


def _line_end(document: str, at: int) -> int:
    while at < len(document) and document[at] not in "\r\n":
        at += 1
    return at


def _comment_above(document: str, starts: Sequence[int], index: int) -> int:
    """Where the line above begins, if all it has is a comment that says what is wanted; else where the line does."""
    first, begin = starts[index], starts[max(0, index - 1)]
    line = document[begin:first].rstrip("\r\n")
    found = _WISH.search(line)
    return begin if found is not None and found["wish"] and not line[: found.start()].strip() else first


def _last_lines(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    near = text[len(text) - most :]
    starts = line_starts(near)
    return near[starts[0] :] if starts else ""


def _first_lines(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    starts = line_starts(text[:most])
    return text[: starts[-1]] if starts else ""


def _block(text: str, language: str, fence: str) -> str:
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"


def _wanted(part: Part, wish: str) -> str:
    """The instruction as a sentence."""
    wish = " ".join(wish.split())
    ended = wish if wish.endswith((".", "!", "?")) else f"{wish}."
    return f"{ended} (`{replace_surrogates(part.focus)}` is what is meant.)" if part.focus else ended
