"""How a file is written down: line endings, mark at the start, indentation. What an answer says is made to fit."""

import difflib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from paceline.prompts.lines import line_ending, line_starts, normalise

BOM = "\ufeff"
COMPARED = 4_000_000  # pairs of lines up to which two texts are compared in the middle, too
_STEPS = (4, 2, 8, 3, 1)  # blanks of one step of indentation, by how common they are

Pairs = Sequence[tuple[str, str]]  # lines as an answer has them, and as the file has them


@dataclass(frozen=True)
class File:
    """A text taken apart. Lines have their endings; the mark at the start is not in them."""

    mark: str
    newline: str  # the ending that most lines have
    raw: tuple[str, ...]
    ended: bool  # whether the last line is

    @property
    def bare(self) -> list[str]:
        """The lines without their endings."""
        return [line.rstrip("\r\n") for line in self.raw]

    def text(self, raw: Sequence[str]) -> str:
        """Lines as the file's text: all ended, the last one as it was before."""
        lines = [line if line.endswith(("\n", "\r")) else line + self.newline for line in raw]
        if not self.ended:
            while lines and not lines[-1].rstrip("\r\n"):  # an empty line without an ending is none
                lines.pop()
            lines[-1:] = [line.rstrip("\r\n") for line in lines[-1:]]
        return self.mark + "".join(lines)

    def spliced(self, start: int, end: int, new: Sequence[str]) -> list[str]:
        """New lines for those of [start, end). What differs from an old one in nothing but blanks at its end is it."""
        old = self.raw[start:end]
        keys = [line.rstrip() for line in old], [line.rstrip() for line in new]
        result = list[str]()
        for tag, first, last, begin, stop in opcodes(*keys):
            result += old[first:last] if tag == "equal" else [line + self.newline for line in new[begin:stop]]
        return result


def file(text: str) -> File:
    """The text taken apart."""
    mark = BOM if text.startswith(BOM) else ""
    body = text[len(mark) :]
    return File(mark, line_ending(body), tuple(split(body)), not body or body.endswith(("\n", "\r")))


def split(text: str) -> list[str]:
    """The lines with their endings."""
    starts = [0, *line_starts(text), len(text)]
    return [text[begin:end] for begin, end in itertools.pairwise(starts) if begin < end]


def said(text: str) -> list[str]:
    """Lines of an answer, without endings and without those at the end that have no text."""
    lines = normalise(text).removeprefix(BOM).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """As difflib has them, after what both begin and end with; the middle of very long ones is not compared."""
    head = _alike(zip(old, new, strict=False))
    tail = _alike(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
    if head:
        yield "equal", 0, head, 0, head
    first, second = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(first) * len(second) > COMPARED:
        yield "replace", head, len(old) - tail, head, len(new) - tail
    elif first or second:
        matcher = difflib.SequenceMatcher(None, first, second, autojunk=len(second) > 1000)
        for tag, start, end, begin, stop in matcher.get_opcodes():
            yield tag, start + head, end + head, begin + head, stop + head
    if tail:
        yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def alike(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """Lines of both that have the same text, in order, as (new, old); indentation may differ."""
    found = list[tuple[str, str]]()
    for tag, first, last, begin, _ in opcodes([each.strip() for each in old], [each.strip() for each in new]):
        if tag == "equal":
            found += [(new[begin + at], old[first + at]) for at in range(last - first) if old[first + at].strip()]
    return found


def blanks(line: str) -> str:
    """What a line is indented by."""
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(frozen=True)
class Indenting:
    """How indentation in an answer becomes the file's: steps of so many blanks, so many steps further in."""

    step: int  # blanks in the answer that are one step; 0: nothing is counted, blanks are put before or taken away
    unit: str  # one step in the file
    shift: int  # steps further in, or blanks where nothing is counted
    pad: str = ""  # what is put before each line, where nothing is counted
    sure: bool = True  # whether it explains all lines that are known

    def __call__(self, line: str) -> str:
        """The line as the file would have it."""
        if not line.strip():
            return ""
        own = blanks(line)
        return self.indent(own) + line[len(own) :]

    def indent(self, own: str) -> str:
        """An indentation as the file would have it."""
        if not self.step:
            return self.pad + own if self.shift >= 0 else own[-self.shift :]
        tabs = own.count("\t")
        width = len(own) - tabs
        level, rest = divmod(width, self.step)
        return self.unit * max(0, level + tabs + self.shift) + " " * rest


AS_IT_IS = Indenting(0, "", 0)


def indenting(pairs: Pairs, lines: Sequence[str]) -> Indenting:
    """How the answer's indentation becomes the file's, from lines known in both.

    lines: the file's, for what its indentation is made of where the pairs do not show it.
    """
    known = [(blanks(new), blanks(old)) for new, old in pairs if new.strip()]
    counted = Counter(known)
    if all(new == old for new, old in counted):
        return AS_IT_IS if known else _by_kind(lines)
    best, most = AS_IT_IS, sum(count for (new, old), count in counted.items() if new == old)
    for candidate in _candidates(counted, unit_of(lines)):
        score = sum(count for (new, old), count in counted.items() if candidate.indent(new) == old)
        if score > most:
            best, most = candidate, score
    return best if most == len(known) else Indenting(best.step, best.unit, best.shift, best.pad, sure=False)


def _candidates(counted: Iterable[tuple[str, str]], unit: str) -> Iterator[Indenting]:
    pairs = list(itertools.islice(counted, 50))
    for new, old in pairs:
        if old.endswith(new) and len(old) > len(new):
            yield Indenting(0, "", len(old) - len(new), old[: len(old) - len(new)])
        elif new.endswith(old) and len(new) > len(old):
            yield Indenting(0, "", len(old) - len(new))
    steps = sorted(_STEPS, key=lambda step: step != min((len(new) for new, _ in pairs if new), default=4))
    for step in steps:
        for new, old in pairs:
            level = new.count("\t") + new.count(" ") // step
            depth = old.count("\t") if unit == "\t" else len(old) // len(unit)
            yield Indenting(step, unit, depth - level)


def fitting(new: Sequence[str], old: Sequence[str], head: tuple[str, str] | None = None) -> Indenting:
    """How the indentation of code that was written anew becomes the file's.

    head: a line of it, and the line of the file that stands where it goes; None: it begins where the file does. Steps
    of blanks become the file's steps where those are tabs, or where lines that both have agree better with it then.
    """
    said, had = blanks(head[0]) if head else "", blanks(head[1]) if head else ""
    step, unit = unit_of(new), unit_of(old)
    plain = _moved(said, had)
    if unit == step:
        return plain
    counted = {blank for line in new if line.strip() and (blank := blanks(line))}
    width = len(step) if step != "\t" else 4 if unit == "\t" else len(unit)
    scaled = Indenting(width, unit, _depth(had, unit) - _depth(said, step))
    kinds = {blank[0] for blank in counted}
    if len(kinds) == 1 and (kinds == {"\t"}) != (unit == "\t") and any(blanks(line) for line in old if line.strip()):
        return scaled
    pairs = [(blanks(one), blanks(other)) for one, other in alike(old, new)]
    agree = sum(scaled.indent(one) == other for one, other in pairs)
    return scaled if agree > sum(plain.indent(one) == other for one, other in pairs) else plain


def _moved(said: str, had: str) -> Indenting:
    """The same indentation, further in or out as one is from the other."""
    if had == said:
        return AS_IT_IS
    if had.endswith(said):
        return Indenting(0, "", len(had) - len(said), had[: len(had) - len(said)])
    return Indenting(0, "", len(had) - len(said))


def _depth(blank: str, unit: str) -> int:
    """How many steps an indentation has."""
    return blank.count("\t") + blank.count(" ") // (4 if unit == "\t" else len(unit))


def _by_kind(lines: Sequence[str]) -> Indenting:
    return AS_IT_IS if unit_of(lines) != "\t" else Indenting(4, "\t", 0, sure=False)


def unit_of(lines: Sequence[str]) -> str:
    """One step of indentation: a tab, or blanks."""
    indents = [own for line in lines if line.strip() and (own := blanks(line))]
    if not indents:
        return "    "
    if sum(own[0] == "\t" for own in indents) * 2 > len(indents):
        return "\t"
    steps = Counter(
        abs(len(two) - len(one)) for one, two in itertools.pairwise(["", *indents]) if abs(len(two) - len(one)) > 1
    )
    return " " * (min(steps, key=lambda step: (-steps[step], step)) if steps else 4)
