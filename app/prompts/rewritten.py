"""What a model's answer puts in the place of a part of a file: taken out of whatever surrounds it, and made to fit.

See rewriting for the part, and for the question.
"""

import itertools
import re
from collections.abc import Iterable, Sequence

from paceline.prompts.lines import line_ending, line_starts, normalise
from paceline.prompts.rewriting import AFTER, BEFORE, PLACE, Part, common_indent, surroundings

STRAYING, TELLING_RUN = 3, 30  # lines, and letters and digits in them, that show which part of a file is repeated
RECENT = 12  # lines of an answer that are looked at
TELLING = 12  # letters and digits in a line that is long enough not to be the same by chance
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)")
_INTRODUCTION = re.compile(
    r"(?:sure|certainly|of course|here|the (?:changed|updated|modified|following)|below|this is)\b.*[:.!]$", re.I
)
_AFTERTHOUGHT = re.compile(
    r"(?:note|explanation|changes?(?: made)?|in this|this (?:code|version|function|change)|i (?:have|'ve|changed)|"
    r"the (?:changed|updated|modified|code|function|change)|here|let me know|\*\*)\b",
    re.I,
)


def strays(answer: str, part: Part) -> bool:
    """Whether the answer so far goes through what stands around the part instead of through the part.

    Looks at its latest lines only: it is asked with every line.
    """
    said = [line.strip() for line in answer.split("\n")[:-1][-RECENT:] if line.strip()]
    if PLACE in said:
        return True
    around = ["\n".join(_filled(text)) for text in surroundings(part)]
    own = "\n".join(_filled(part.shown))
    for at in range(len(said) - STRAYING + 1):
        run = said[at : at + STRAYING]
        text = "\n".join(run)
        if text not in own and sum(map(str.isalnum, text)) >= TELLING_RUN and any(text in each for each in around):
            return True
    return False


def _filled(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def is_complete(answer: str, part: Part) -> bool:
    """Whether the answer's code block has ended, so that only explanations can follow."""
    found = _opening(answer.split("\n"))
    if found is None or _has_fence(part.shown):
        return False
    lines = answer.split("\n")
    return any(_closes(line, found[1]) for line in lines[found[0] + 1 : -1])


def replacement(answer: str, part: Part) -> str | None:
    """What to put in the part's place, in the file's own line endings and indentation; None: the answer has nothing.

    An empty code block means that the part is to go.
    """
    lines = _code(normalise(answer), part)
    if lines is None:
        return None
    lines = _without_surroundings(lines, part)
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    return _as_in_file(lines, part)


def _code(answer: str, part: Part) -> list[str] | None:
    """The lines of the answer's code; None where it has none."""
    lines = answer.split("\n")
    found = _opening(lines)
    if found is not None and not (_has_fence(part.shown) and _begins_alike(lines, part)):
        at, fence = found
        ends = [here for here, line in enumerate(lines[at + 1 :], at + 1) if _closes(line, fence)]
        if not ends:
            return _without_short_end(lines[at + 1 :])
        return lines[at + 1 : ends[-1] if _has_fence(part.shown) else ends[0]]
    if not answer.strip():
        return None
    return _without_talk(lines, part)


def _without_short_end(lines: list[str]) -> list[str]:
    """Lines of a block that nothing closes, without a last fence that is too short for it and closes nothing else."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    fences = sum(_FENCE.fullmatch(line.rstrip()) is not None for line in lines)
    alone = bool(lines) and any(_closes(lines[-1], fence) for fence in ("```", "~~~"))
    return lines[:-1] if alone and fences % 2 else lines


def _opening(lines: Sequence[str]) -> tuple[int, str] | None:
    """The line that opens the first code block, and its fence."""
    for at, line in enumerate(lines):
        if found := _FENCE.fullmatch(line.rstrip()):
            return at, found[1]
    return None


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _has_fence(text: str) -> bool:
    return _opening(text.split("\n")) is not None


def _begins_alike(lines: Sequence[str], part: Part) -> bool:
    """Whether the answer begins as the part does, which has fences of its own: then they are no wrapping."""
    first = next((line.strip() for line in lines if line.strip()), "")
    return first == next((line.strip() for line in part.shown.split("\n") if line.strip()), "")


def _without_talk(lines: list[str], part: Part) -> list[str]:
    """Lines without a sentence that introduces them, and without a paragraph that explains them."""
    known = {line.strip() for line in part.shown.split("\n")}
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) > 1 and lines[filled[0]].strip() not in known and _INTRODUCTION.match(lines[filled[0]].strip()):
        lines = lines[filled[0] + 1 :]
    for at in range(len(lines) - 1, 0, -1):
        starts = lines[at].strip() and not lines[at - 1].strip() and lines[at].strip() not in known
        if starts and _AFTERTHOUGHT.match(lines[at]):
            lines = lines[:at]
    return lines


def _without_surroundings(lines: list[str], part: Part) -> list[str]:
    """The lines without those of the file around the part that the model has repeated, if it has."""
    had = [line.strip() for line in part.shown.split("\n") if line.strip()]
    head = normalise(part.before[-BEFORE:]).split("\n")
    tail = normalise(part.after[:AFTER]).split("\n")
    said = [line.strip() for line in lines]
    lead = _repeated(said, [line.strip() for line in head], had)
    lines, said = lines[lead:], said[lead:]
    trail = _repeated(said[::-1], [line.strip() for line in tail][::-1], had[::-1])
    return lines[: len(lines) - trail]


def _repeated(said: list[str], around: list[str], had: list[str]) -> int:
    """How many lines at the front of what was said are the last ones of what stands before."""
    filled = [line for line in around if line]
    numbers = [at for at, line in enumerate(said) if line]
    for count in range(min(len(numbers), len(filled)), 0, -1):
        block = [said[at] for at in numbers[:count]]
        if block != filled[-count:] or block[0] in had[:1]:
            continue
        if sum(char.isalnum() for line in block for char in line) >= TELLING:
            return numbers[count - 1] + 1
    return 0


def _as_in_file(lines: list[str], part: Part) -> str:
    """The lines with the part's indentation, in its kind of blanks, with the file's line endings."""
    own = normalise(part.text)
    frame = normalise(part.frame) if not own.strip() else own
    margin = common_indent(frame.split("\n"))
    lines = _unshifted(lines, part.shown.strip("\n").split("\n"), margin)
    said = common_indent(lines)
    bare = _blanks([line.removeprefix(said) if line.strip() else "" for line in lines], frame, part)
    text = "\n".join(margin + line if line else "" for line in bare)
    if not text:
        return ""
    above = frame[: len(frame) - len(frame.lstrip("\n"))]
    below = frame[len(frame.rstrip("\n")) :] if frame.strip() else ""
    here = part.frame or part.text
    end = line_ending(here if line_starts(here) else part.before + part.after)
    return (above + text + below).replace("\n", end)


def _unshifted(lines: list[str], shown: list[str], margin: str) -> list[str]:
    """The lines, where all but the first have been indented as they are in the file, with that taken back."""
    rest, had = common_indent(lines[1:]), common_indent(shown[1:])
    if margin and lines and not lines[0][:1].isspace() and len(rest) == len(had) + len(margin):
        return [lines[0], *(line[len(margin) :] for line in lines[1:])]
    return lines


def _blanks(lines: list[str], own: str, part: Part) -> list[str]:
    """The lines indented by tabs where the part, or else the file, is, and by blanks where that is."""
    around = normalise(part.before[-BEFORE:] + part.after[:AFTER])
    kinds = _indents(own.split("\n")) or _indents(around.split("\n"))
    if len(kinds) != 1:
        return lines
    tabs = "\t" in kinds
    widths = [len(line) - len(line.lstrip(" ")) for line in lines]
    unit = min([width for width in widths if width > 1], default=4) if tabs else _unit(own.split("\n"))
    return [_indented(line, unit, tabs=tabs) for line in lines]


def _indented(line: str, unit: int, *, tabs: bool) -> str:
    body = line.lstrip(" \t")
    blanks = line[: len(line) - len(body)]
    if not tabs:
        return blanks.replace("\t", " " * unit) + body
    if "\t" in blanks:
        return line
    return "\t" * (len(blanks) // unit) + " " * (len(blanks) % unit) + body


def _indents(lines: Iterable[str]) -> set[str]:
    """What lines are indented by: tabs, blanks, or both."""
    return {line[0] for line in lines if line[:1] in ("\t", " ") and line.strip()}


def _unit(lines: Iterable[str]) -> int:
    """Blanks of one step of indentation."""
    widths = sorted({len(line) - len(line.lstrip(" ")) for line in lines if line.strip()})
    steps = [after - before for before, after in itertools.pairwise(widths)]
    return min([step for step in steps if step > 1], default=4)
