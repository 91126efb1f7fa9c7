"""Answers that show a part of a file: definitions that replace those of the same name, or lines in context."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.chat.edits import elisions, matching, shape
from paceline.chat.edits.definitions import Definition, definitions
from paceline.chat.edits.shape import File, Indenting
from paceline.chat.edits.splices import Outcome, Splice, overlap, spliced
from paceline.chat.edits.whole import IMPORT

_KEY = re.compile(r"(?P<name>(?:[\w.$-]+|\"[^\"]+\"))\s*[:=](?!=)")
_START = re.compile(r"[\w.$ ]{5,}[(=:]")  # what a statement begins with
_SOURCE = re.compile(r"from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w, ]+)")
_COMMENT = re.compile(r"(?:#(?!include|\[)|//|/\*|\*|<!--|--|\"\"\")")
_METHOD = re.compile(r"(?:.*\(\s*&?(?:mut\s+)?(?:self|cls)\b)")
_FREE = re.compile(
    r"(?:(?:export|default|async|pub(?:\([^)]*\))?)\s+)*(?:function|class|const|let|var|fn|func|struct|enum|interface|type)\b"
)
_KEYED = {
    "toml",
    "ini",
    "css",
    "scss",
    "less",
    "yaml",
    "yml",
}  # where definitions are lists of keys, which may be shown in part
ENOUGH = 0.5  # of an excerpt's lines, how many must be the file's


@dataclass
class _Work:
    """One part of an answer on its way into a file."""

    old: Sequence[str]
    new: Sequence[str]
    language: str
    splices: list[Splice] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    placed: int = 0  # definitions that have found their place
    known: int = 0  # of them, those that the file has, or that stand beside such

    def __post_init__(self) -> None:
        self.had = definitions(self.old, self.language)
        self.said = definitions(self.new, self.language)
        texts = {line.strip() for line in self.old}
        self.marks = {at for at, line in enumerate(self.new) if elisions.is_mark(line, texts)}

    def doubt(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def apply(file: File, new: Sequence[str], language: str) -> Outcome | None:
    """The file with a part of it changed; None: these lines are no part of it."""
    work = _Work(file.bare, new, language)
    if work.said and _known(work):
        _merge(work, None, None)
        if work.placed and not overlap(work.splices):
            return _outcome(file, work)
        if work.notes:
            return Outcome(file.text(file.raw), False, tuple(work.notes), applied=False)
    return _excerpt(file, work)


def _outcome(file: File, work: _Work) -> Outcome:
    return Outcome(spliced(file, work.splices), not work.notes, tuple(work.notes), foreign=not work.known)


def _known(work: _Work) -> bool:
    """Whether the answer defines anything that the file does, or that may be added to it."""
    names = {each.name for each in work.had}
    return any(each.name in names for each in work.said) or bool(work.had)


def _children(found: Sequence[Definition], parent: int | None) -> list[int]:
    return [at for at, each in enumerate(found) if each.parent == parent]


def _merge(work: _Work, here: int | None, there: int | None) -> None:
    """Bring the answer's definitions within `there` into the file's within `here`; None: the top of each."""
    pairs = dict[int, int]()
    for number in _children(work.said, there):
        match, doubt = _counterpart(work, work.said[number], here, anywhere=there is None)
        if doubt:
            work.doubt(doubt)
        elif match is not None:
            pairs[number] = match
    _loose(work, here, there)
    siblings = _children(work.said, there)
    for number in siblings:
        if number in pairs:
            _replace(work, pairs[number], number)
        elif not _ambiguous(work, number):
            _insert(work, here, siblings, number, pairs)


def _ambiguous(work: _Work, number: int) -> bool:
    name = work.said[number].name
    return sum(each.name == name for each in work.had) > 1


def _counterpart(work: _Work, wanted: Definition, here: int | None, *, anywhere: bool) -> tuple[int | None, str]:
    """The file's definition of this name: in the same place, or anywhere, if there is only one. And why not."""
    same = [at for at, each in enumerate(work.had) if each.name == wanted.name]
    found = [at for at in same if work.had[at].parent == here] or (same if anywhere else [])
    if len(found) > 1:
        head = work.new[wanted.head].strip()
        alike = [at for at in found if work.old[work.had[at].head].strip() == head]
        nested = [at for at in found if bool(_children(work.had, at)) == bool(_children(work.said, _at(work, wanted)))]
        found = next((each for each in (alike, nested) if len(each) == 1), found)
    if len(found) > 1:
        return None, f"{wanted.name} is defined {len(found)} times in the file; it is not said which one is meant"
    return (found[0], "") if found else (None, "")


def _at(work: _Work, wanted: Definition) -> int:
    return next(at for at, each in enumerate(work.said) if each is wanted)


def _replace(work: _Work, match: int, number: int) -> None:
    """Put a definition in the place of the file's; one that holds others, and is shown in part, piece by piece."""
    had, said = work.had[match], work.said[number]
    inner = {each.name for each in work.had if each.parent == match}
    shown = {work.said[at].name for at in _children(work.said, number)}
    marks = {at for at in work.marks if said.top <= at < said.end}
    in_parts = {at for at in marks if not any(work.said[child].covers(at) for child in _children(work.said, number))}
    keyed = work.language in _KEYED and bool(
        _keys(work.old[had.head + 1 : had.end]) - _keys(work.new[said.head + 1 : said.end])
    )
    if (inner and (inner - shown or in_parts) and (shown or in_parts)) or keyed:
        if inner - shown and not in_parts and not keyed and len(shown) > 1:
            work.doubt(f"the answer shows only parts of {had.name}; the rest is kept")
        work.placed += 1
        work.known += 1
        if said.top < said.marks and had.top == had.marks:  # a comment that it did not have
            fit = _fit(work, had, said)
            comment = [fit(line) for line in work.new[said.top : said.marks]]
            work.splices.append(Splice(had.marks, had.marks, comment))
        _merge(work, match, number)
        return
    start = had.top if said.top < said.marks else had.marks if said.marks < said.head else had.head
    old = list(work.old[had.head : had.end])
    lines = list(work.new[said.top : said.end])
    fit = _fit(work, had, said)
    lines = [fit(line) for line in lines]
    if marks:
        body = {at - said.top for at in marks}
        front = said.head - said.top
        whole = elisions.filled(old, lines[front:], {at - front for at in body})
        if whole is None:
            work.doubt(f"what the answer leaves out of {had.name} could not be filled in")
            return
        lines = [*lines[:front], *whole[0]]
        if not whole[1]:
            work.doubt(f"what the answer leaves out of {had.name} was filled in by guessing")
    work.placed += 1
    work.known += 1
    work.splices.append(Splice(start, had.end, lines))


def _fit(work: _Work, had: Definition, said: Definition) -> Indenting:
    """How the answer's indentation becomes the file's: so that the head stands where it stood."""
    return shape.fitting(work.new[said.head : said.end], work.old, (work.new[said.head], work.old[had.head]))


def _insert(work: _Work, here: int | None, siblings: Sequence[int], number: int, pairs: dict[int, int]) -> None:
    """Put a definition that the file does not have after the one before it, or before the one after it."""
    said = work.said[number]
    at = siblings.index(number)
    before = next((pairs[each] for each in reversed(siblings[:at]) if each in pairs), None)
    after = next((pairs[each] for each in siblings[at + 1 :] if each in pairs), None)
    if before is not None or after is not None:
        near = work.had[before if before is not None else after]  # type: ignore[index]  # one of them is there
        line = near.end if before is not None else near.top
        work.splices.append(_addition(work, said, near.head, line, after=before is not None))
        work.placed += 1
        return
    holder = here if here is not None else _holder(work, said)
    inner = [work.had[each] for each in _children(work.had, holder)]
    if not inner:
        work.doubt(f"it is not said where {said.name} belongs")
        return
    last = max(inner, key=lambda each: each.end)
    where = f"the end of {work.had[holder].name}" if holder is not None else "the end of the file"
    work.splices.append(_addition(work, said, last.head, last.end, after=True))
    work.placed += 1
    if here is None or work.marks == set():
        work.doubt(f"{said.name} was put at {where}: the answer does not say where it belongs")


def _holder(work: _Work, said: Definition) -> int | None:
    """The only class of the file, for what looks like a method."""
    holders = [at for at, each in enumerate(work.had) if each.parent is None and _children(work.had, at)]
    head = work.new[said.head].strip()
    method = _METHOD.match(head) is not None if work.language in ("python", "rust") else not _FREE.match(head)
    if len(holders) != 1 or work.language in ("go", "c", "cpp", "markdown", "toml", "yaml", "css") or not method:
        return None
    return holders[0]


def _addition(work: _Work, said: Definition, near: int, line: int, *, after: bool) -> Splice:
    """New lines beside a definition, indented as it is, with as many empty lines between as the file has there."""
    fit = shape.fitting(work.new[said.head : said.end], work.old, (work.new[said.head], work.old[near]))
    lines = [fit(each) for each in work.new[said.top : said.end]]
    gap = [""] * _gap(work, shape.blanks(work.old[near]))
    return Splice(line, line, [*gap, *lines] if after else [*lines, *gap])


def _gap(work: _Work, indent: str) -> int:
    """Empty lines between definitions that stand so far in."""
    for one, other in itertools.pairwise(work.had):
        if one.end <= other.top and shape.blanks(work.old[one.head]) == shape.blanks(work.old[other.head]) == indent:
            between = work.old[one.end : other.top]
            if all(not each.strip() for each in between):
                return len(between)
    return 2 if work.language == "python" and not indent else 1


def _loose(work: _Work, here: int | None, there: int | None) -> None:
    """Lines of the answer that stand in no definition: those that the file has, imports, values of names."""
    scope = _scope(work.said, there, len(work.new))
    mine = _scope(work.had, here, len(work.old))
    own = {work.old[at].strip(): at for at in mine}
    texts = {line.strip() for line in work.old}
    left_out, last = 0, None
    for at in scope:
        bare = work.new[at].strip()
        if not bare or at in work.marks:
            continue
        if bare in own:
            last = own[bare]
        elif there is None and IMPORT.match(bare):
            _import(work, bare)
        elif bare in texts or set(bare) <= set("{}()[];,"):
            continue
        elif (known := _same_key(work, bare, mine)) is not None:
            work.splices.append(Splice(known, known + 1, [shape.blanks(work.old[known]) + bare]))
            work.placed += 1
            work.known += 1
            last = known
        elif last is not None and here is not None:
            work.splices.append(Splice(last + 1, last + 1, [shape.blanks(work.old[last]) + bare]))
            work.placed += 1
        elif not _COMMENT.match(bare):
            left_out += 1
    if left_out:
        lines = "1 line" if left_out == 1 else f"{left_out} lines"
        work.doubt(f"{lines} of the answer could not be placed, and are left out")


def _scope(found: Sequence[Definition], parent: int | None, length: int) -> list[int]:
    """Lines that belong to a definition itself, or to the text, and to none within it."""
    start, end = (0, length) if parent is None else (found[parent].head + 1, found[parent].end)
    inner = [found[at] for at in _children(found, parent)]
    taken = {at for each in inner for at in range(each.top, each.end)}
    return [at for at in range(start, end) if at not in taken]


def _keys(lines: Sequence[str]) -> set[str]:
    return {found["name"] for line in lines if (found := _KEY.match(line.strip()))}


def _same_key(work: _Work, bare: str, mine: Sequence[int]) -> int | None:
    """The file's only line in this place that gives a value to the same name."""
    key = _KEY.match(bare)
    if key is None:
        return None
    found = [at for at in mine if (other := _KEY.match(work.old[at].strip())) and other["name"] == key["name"]]
    return found[0] if len(found) == 1 else None


def _import(work: _Work, bare: str) -> None:
    """Add an import after the last one, or in the place of one of less from the same module, or at the top."""
    known = [at for at, line in enumerate(work.old) if IMPORT.match(line) and not line.startswith("package")]
    source = _SOURCE.match(bare)
    for at in known if source else []:
        other = _SOURCE.match(work.old[at])
        if other and source and other["module"] == source["module"]:
            here = set(re.findall(r"\w+", other["names"]))
            if here <= set(re.findall(r"\w+", source["names"])):
                work.splices.append(Splice(at, at + 1, [bare]))
                return
    last = known[-1] if known else None
    if work.language in ("go", "golang") or (last is not None and work.old[last].rstrip().endswith(("(", "{", "\\"))):
        work.doubt(f"this import has to be added by hand: {bare}")
        return
    line = 0 if last is None else last + 1
    work.splices.append(Splice(line, line, [bare]))
    work.doubt(f"an import was added at the top: {bare}")


def _excerpt(file: File, work: _Work) -> Outcome | None:
    """Lines in context: those from the file's line that the answer begins with to the one that it ends with."""
    old, new = work.old, matching.trimmed(work.new)
    if not new:
        return None
    marks = {at for at, line in enumerate(new) if elisions.is_mark(line, {each.strip() for each in old})}
    if marks:
        return _with_marks(file, new, marks)
    if len(new) == 1:
        return _line(file, new[0])
    keys = [line.strip() for line in old]
    first, last = new[0].strip(), new[-1].strip()
    if len(new) < 2 or keys.count(first) != 1:
        return None
    start = keys.index(first)
    ends = [at for at in range(start, len(keys)) if keys[at] == last]
    if not ends:
        return None
    end = _end_of(old, new, start, ends)
    part = old[start : end + 1]
    pairs = shape.alike(part, new)
    if len(pairs) < ENOUGH * min(len(new), len([line for line in part if line.strip()])) or not matching.telling(new):
        return None
    fit = shape.fitting(new, old, (new[0], old[start]))
    outcome = spliced(file, [Splice(start, end + 1, [fit(line) for line in new])])
    return Outcome(outcome, False, (f"the answer was taken for lines {start + 1} to {end + 1} of the file",))


def _line(file: File, new: str) -> Outcome | None:
    """A single line: in the place of the only one that begins alike, up to what it calls or sets."""
    start = _START.match(new.strip())
    if start is None:
        return None
    found = [at for at, line in enumerate(file.bare) if line.strip().startswith(start[0])]
    if len(found) != 1 or file.bare[found[0]].strip() == new.strip():
        return None
    line = shape.blanks(file.bare[found[0]]) + new.strip()
    text = spliced(file, [Splice(found[0], found[0] + 1, [line])])
    return Outcome(text, False, (f"the answer was taken for line {found[0] + 1} of the file",))


def _end_of(old: Sequence[str], new: Sequence[str], start: int, ends: Sequence[int]) -> int:
    """Of the lines that an excerpt may end with, the one that is indented as its last line, from its first one."""
    depth = len(shape.blanks(new[-1])) - len(shape.blanks(new[0]))
    same = [at for at in ends if len(shape.blanks(old[at])) - len(shape.blanks(old[start])) == depth]
    return (same or ends)[0]


def _with_marks(file: File, new: Sequence[str], marks: set[int]) -> Outcome | None:
    """A text with marks that stand for other parts of the file."""
    old = file.bare
    fit = shape.fitting(new, old)
    found = elisions.filled(old, [fit(line) for line in new], marks)
    if found is None:
        return Outcome(
            file.text(file.raw), False, ("what the answer leaves out could not be filled in",), applied=False
        )
    lines, sure = found
    notes = () if sure else ("what the answer leaves out was filled in by guessing",)
    return Outcome(spliced(file, [Splice(0, len(old), lines)]), sure, notes)


def has_marks(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether lines of an answer have marks that stand for others."""
    texts = {line.strip() for line in old}
    return any(elisions.is_mark(line, texts) for line in new)
