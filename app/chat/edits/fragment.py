"""Answers that show a part of a file: definitions that replace those of the same name, or else lines in context."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from paceline.chat.edits import elisions, excerpt, heads, hollow, shape
from paceline.chat.edits.definitions import Definition, definitions
from paceline.chat.edits.fields import fields
from paceline.chat.edits.shape import File, Indenting
from paceline.chat.edits.splices import Outcome, Splice, overlap, spliced
from paceline.chat.edits.whole import IMPORT, LONG, gone

_KEY = re.compile(r"(?P<name>(?:[\w.$-]+|\"[^\"]+\"))\s*[:=](?!=)")
_SOURCE = re.compile(r"from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w, ]+)")
_COMMENT = re.compile(r"(?:#(?!include|\[)|//|/\*|\*|<!--|--|\"\"\")")
_KEYED = {
    "toml",
    "ini",
    "css",
    "scss",
    "less",
    "yaml",
    "yml",
}  # where definitions are lists of keys, which may be shown in part
_MODIFIERS = re.compile(r"(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected)\s+)+")
SAME = 0.9  # of a definition's text but for its name, how much is the same where it only has another name


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
    left_out: int = 0  # lines that have found none

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
        if work.left_out and (lines := _as_excerpt(file, work)) is not None:
            return lines
        if work.placed and not overlap(work.splices):
            return _outcome(file, work)
        if work.notes:
            return Outcome(file.text(file.raw), False, tuple(work.notes), applied=False)
    return excerpt.apply(file, work.new)


def _as_excerpt(file: File, work: _Work) -> Outcome | None:
    """The same, where not all of the lines belong to a definition: as lines in context, if that takes nothing away."""
    found = excerpt.apply(file, work.new)
    if work.language in _KEYED or found is None or not found.applied:
        return None
    lost = gone(file.bare, shape.file(found.text or "").bare, work.language)
    return None if lost else found


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
            _doubt_place(work, work.had[match], here)
    pairs |= _renamed(work, here, there, pairs)
    _loose(work, here, there)
    siblings = _children(work.said, there)
    for number in siblings:
        if number in pairs:
            _replace(work, pairs[number], number)
        elif not _ambiguous(work, number):
            _insert(work, here, siblings, number, pairs)


def _doubt_place(work: _Work, found: Definition, here: int | None) -> None:
    """What only another function knows is not what the answer shows by itself, or so it seems."""
    if found.parent is not None and found.parent != here and heads.is_function(work.old, work.had[found.parent]):
        work.doubt(f"{found.name} stands within {work.had[found.parent].name} in the file, and by itself in the answer")


def _renamed(work: _Work, here: int | None, there: int | None, pairs: dict[int, int]) -> dict[int, int]:
    """A definition under a name that the file does not have, in the place of the only one that the answer lacks, with
    the same text: it has another name now.
    """
    siblings, own = _children(work.said, there), _children(work.had, here)
    new = [each for each in siblings if each not in pairs]
    missing = [each for each in own if each not in pairs.values()]
    if here is None or len(new) != 1 or len(missing) != 1 or siblings.index(new[0]) != own.index(missing[0]):
        return {}
    said, had = work.said[new[0]], work.had[missing[0]]
    texts = (_anonymous(work.new, said), _anonymous(work.old, had))
    if max(map(len, texts)) > LONG or SequenceMatcher(None, *texts, autojunk=False).ratio() < SAME:
        return {}
    work.doubt(f"{said.name} was taken for another name of {had.name}, which the answer leaves out")
    return {new[0]: missing[0]}


def _anonymous(lines: Sequence[str], each: Definition) -> str:
    """The text of a definition without its name."""
    text = "\n".join(line.strip() for line in lines[each.head : each.end])
    return re.sub(rf"(?<!\w){re.escape(each.name)}(?!\w)", "", text)


def _ambiguous(work: _Work, number: int) -> bool:
    name = work.said[number].name
    return sum(each.name == name for each in work.had) > 1


def _counterpart(work: _Work, wanted: Definition, here: int | None, *, anywhere: bool) -> tuple[int | None, str]:
    """The file's definition of this name: in the same place, or anywhere, if there is only one. And why not."""
    same = [at for at, each in enumerate(work.had) if each.name == wanted.name]
    if not heads.is_class(work.new, wanted):  # else a constructor has the name of its class
        inside = {each.parent for each in work.had}
        same = [at for at in same if at not in inside or not heads.is_class(work.old, work.had[at])]
    found = [at for at in same if work.had[at].parent == here]
    if not found and anywhere:
        free = heads.is_free(work.new, wanted, work.language)
        found = [at for at in same if not free or heads.is_free(work.old, work.had[at], work.language)]
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
    head = said.head - said.top
    lines[head] = _as_public(work, old, lines[head:], had)
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
    elif missing := fields(old, work.language) - fields(lines[head:], work.language):
        work.doubt(f"the answer leaves {', '.join(sorted(missing))} out of {had.name}")
    elif hollow.hollow(old, lines, work.language):
        work.doubt(hollow.note(had.name))
    if inner and not shown:
        lines = _with_inner(work, match, lines)
    work.placed += 1
    work.known += 1
    work.splices.append(Splice(start, had.end, lines))


def _with_inner(work: _Work, match: int, lines: list[str]) -> list[str]:
    """A class that is shown without any of its methods, with those that it has."""
    had = work.had[match]
    start = min(work.had[at].top for at in _children(work.had, match))
    while not work.old[start - 1].strip():
        start -= 1
    kept = list(work.old[start : had.end])
    if start <= had.head + 1 and kept[0].strip():
        kept.insert(0, "")
    work.doubt(f"the answer shows {had.name} without what is defined in it, which is kept")
    closes = bool(lines) and lines[-1].strip().startswith("}") and kept[-1].strip().startswith("}")
    return [*(lines[:-1] if closes else lines), *kept]


def _as_public(work: _Work, old: Sequence[str], new: Sequence[str], had: Definition) -> str:
    """A head with the `export`, `pub` or `public` of the file's where it says nothing about that and the file does: an
    answer that shows a definition by itself leaves it out as often as not. Where it changes nothing else, it may mean
    that; or it is an example.
    """
    found = _MODIFIERS.match(old[0].strip())
    if found is None or _MODIFIERS.match(new[0].strip()):
        return new[0]
    if [line.strip() for line in old[1:]] == [line.strip() for line in new[1:]]:
        work.doubt(f"the answer shows {had.name} without {found[0].strip()}")
        return new[0]
    work.doubt(f"the answer shows {had.name} without {found[0].strip()}, which is kept")
    return shape.blanks(new[0]) + found[0] + new[0].strip()


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
        if work.language == "sql":  # where the order of statements matters
            work.doubt(f"{said.name} was put beside {near.name}, as in the answer")
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
    method = heads.is_method(work.new, said, work.language)
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
        elif here is not None and work.language in _KEYED and _KEY.match(bare) and mine:
            last = _appended(work, here, bare, mine)
        elif not _COMMENT.match(bare):
            left_out += 1
    work.left_out += left_out
    if left_out:
        lines = "1 line" if left_out == 1 else f"{left_out} lines"
        work.doubt(f"{lines} of the answer could not be placed, and are left out")


def _appended(work: _Work, here: int, bare: str, mine: Sequence[int]) -> int:
    """Put a key that the file does not have behind the others that stand with it; the line that it stands after."""
    keys = [at for at in mine if _KEY.match(work.old[at].strip())]
    inner = [work.had[each] for each in _children(work.had, here)]
    near = keys[0] if keys else mine[0]
    last = keys[-1] if keys else near
    if inner and work.language in ("yaml", "yml"):
        near, last = inner[0].head, max(last, *(each.end - 1 for each in inner))
    work.splices.append(Splice(last + 1, last + 1, [shape.blanks(work.old[near]) + bare]))
    work.placed += 1
    work.doubt(f"what is new in {work.had[here].name} was put at its end: the answer does not say where it belongs")
    return last


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
