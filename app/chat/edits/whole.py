"""Answers that show a file as a whole: whether they do, and what they leave out of it."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from paceline.chat.edits import hollow, shape
from paceline.chat.edits.definitions import Definition, definitions
from paceline.chat.edits.shape import File
from paceline.chat.edits.splices import Outcome

MOST_OF_IT = 0.6  # of a file's lines, how many an answer must have to be the file without some of them
HALF = 0.5  # the same for files that define nothing by which parts could be told
NEAR = 5  # lines at either end in which the file's first and last line are looked for
ALIKE = 0.7  # of a definition's text, how much is the same where it only has another name
MANY = 20  # definitions that are compared for that
LONG = 3000  # characters of texts that are compared letter by letter
FEW, SHARE = 3, 0.25  # lines, and part of a file, that an edit usually takes away at most

IMPORT = re.compile(
    r"(?:import\b|from\s+[\w.]+\s+import\b|#\s*include\b|use\s+[\w:]|using\s+[\w.]|require\b|package\b"
    r"|(?:const|let|var)\s.*=\s*require\()"
)
_NAME = re.compile(r"[^\W\d]\w*")
_VALUE = re.compile(
    r"(?:(?:export|const|let|var|static|final|import)\s+)*(?P<name>[^\W\d]\w*)\s*(?::[^=]+)?(?:=(?!=)|;?$)"
)
_FROM = re.compile(r"from\s+[\w.]+\s+import\s+(?P<names>[\w, ]+)$")
_DEFINED = re.compile(r"\b(?:def|class|function|func|fn|const|let|var|import|as|struct|type|enum)\s+([^\W\d]\w*)")


def is_whole(old: Sequence[str], new: Sequence[str], language: str) -> bool:
    """Whether lines of an answer are meant as the whole file. They are where everything that the file defines is in
    them, or where they begin and end as the file does and have most of it.
    """
    before, after = _filled(old), _filled(new)
    if not before:
        return True
    last = next((line for line in reversed(before) if any(map(str.isalnum, line))), before[-1])  # a brace tells nothing
    ends = before[0] in after[:NEAR] and last in after[-NEAR - before[::-1].index(last) :]
    if definitions(old, language):
        return not gone(old, new, language) or (ends and _share(before, after) >= MOST_OF_IT)
    return (ends and _share(before, after) >= HALF / 2) or _share(before, after) >= HALF


def apply(file: File, new: Sequence[str], language: str) -> Outcome:
    """The file with these lines instead of its own.

    What the file begins or ends with, and the answer just lacks, stays: small models forget such lines, titles and
    imports above all, far more often than anybody wants them gone. Imports of what is not used any more do go.
    """
    old = file.bare
    fit = shape.fitting(new, old)
    lines = [fit(line) if line.strip() else line for line in new]
    front, back = _forgotten(old, lines)
    lines = [*old[:front], *lines, *old[len(old) - back :]]
    text = file.text(file.spliced(0, len(old), lines))
    before = file.text(file.raw)
    if text == before and [line.rstrip("\r\n") for line in file.raw] != lines and not front and not back:
        # nothing differs but blanks at the ends of lines: then those are the edit
        text = file.text([line + file.newline for line in lines])
    notes = [f"the answer leaves out the first {_lines(front)} of the file; kept"] if front else []
    notes += [f"the answer leaves out the last {_lines(back)} of the file; kept"] if back else []
    if count := lost(before, text, language):
        notes.append(lost_note(count))
    notes += [f"the answer leaves {name} out" for name in _dropped(old, lines, language)]
    notes += [hollow.note(name) for name in hollow.hollow(old, lines, language)]
    notes += [f"{name} is still used, but the answer leaves out where it is defined" for name in _orphans(old, lines)]
    return Outcome(text, not notes, tuple(notes))


def _forgotten(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines of the file, at its beginning and at its end, the answer has nothing instead of."""
    steps = list(shape.opcodes([line.strip() for line in old], [line.strip() for line in new]))
    if len(steps) < 2:
        return 0, 0
    front = steps[0][2] if steps[0][0] == "delete" else 0
    back = len(old) - steps[-1][1] if steps[-1][0] == "delete" else 0
    head = [line for line in old[:front] if line.strip()]
    if not head or (all(IMPORT.match(line) for line in head) and not any(_used(line, new) for line in head)):
        front = 0
    if not any(line.strip() for line in old[len(old) - back :]):
        back = 0
    return front, back


def _used(imported: str, lines: Sequence[str]) -> bool:
    """Whether code uses a name that a line imports. Of what a C header brings along nobody knows the names."""
    if imported.lstrip().startswith("#") or imported.startswith("package"):
        return True
    names = set(_NAME.findall(imported)) - {
        "import",
        "from",
        "as",
        "const",
        "let",
        "var",
        "require",
        "use",
        "using",
        "static",
    }
    return any(not names.isdisjoint(_NAME.findall(line)) for line in lines)


def _lines(count: int) -> str:
    return "line" if count == 1 else f"{count} lines"


def lost(old: str, new: str, language: str = "") -> int:
    """How many lines an answer seems to have left out rather than taken away; 0: none that would be suspicious."""
    before, after = shape.file(old).bare, shape.file(new).bare
    steps = [each for each in shape.opcodes(_filled(before), _filled(after)) if each[0] != "equal"]
    total, less = len(_filled(before)), len(_filled(before)) - len(_filled(after))
    missing = gone(before, after, language)
    if missing:
        return max(sum(last - first for tag, first, last, _, _ in steps if tag == "delete"), less, 1)
    if less > FEW and less > (HALF if definitions(before, language) else SHARE) * total:
        return less
    ends = sum(last - first for tag, first, last, _, _ in steps if tag == "delete" and (not first or last == total))
    return ends or _vanished(before, after)


def _vanished(before: Sequence[str], after: Sequence[str]) -> int:
    """Statements at the top of a file that are gone, with nothing like them in their place."""
    filled = [line for line in before if line.strip()], [line for line in after if line.strip()]
    keys = [line.strip() for line in filled[0]], [line.strip() for line in filled[1]]
    known, count = set(keys[1]), 0
    for tag, first, last, begin, stop in shape.opcodes(*keys):
        if tag == "equal" or last - first > MANY or stop - begin > LONG:
            continue
        for line in filled[0][first:last]:
            if shape.blanks(line) or sum(map(str.isalnum, line)) < FEW or line.strip() in known or IMPORT.match(line):
                continue
            count += not any(_alike(line, new) for new in filled[1][begin:stop])
    return count


def _alike(line: str, other: str) -> bool:
    """Whether one line may have become the other."""
    return SequenceMatcher(None, line.strip(), other.strip(), autojunk=False).ratio() >= HALF


def gone(old: Sequence[str], new: Sequence[str], language: str) -> list[str]:
    """What the file defines and the answer does not, neither by this name nor, with much the same text, by another."""
    had, said = definitions(old, language), definitions(new, language)
    names, now = {each.name for each in had}, {each.name for each in said}
    came = [_text(new, each) for each in said if each.name not in names][:MANY]
    missing = [each for each in had if each.name not in now]
    if len(missing) > MANY:
        return [each.name for each in missing]
    return [each.name for each in missing if not any(_similar(_text(old, each), text) for text in came)]


def _text(lines: Sequence[str], each: Definition) -> str:
    return "\n".join(line.strip() for line in lines[each.head : each.end])


def _orphans(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Names that the file gives a value or imports at its top, which the answer uses and does not bind any more."""
    kept = {line.rstrip() for line in new}
    names = [name for line in old if line.rstrip() not in kept for name in _bound(line)]
    if not names:
        return []
    bound = {name for line in new for name in (*_bound(line), *_DEFINED.findall(line))}
    used = {name for line in new for name in _NAME.findall(line)}
    return [name for name in dict.fromkeys(names) if name in used - bound]


def _dropped(old: Sequence[str], new: Sequence[str], language: str) -> list[str]:
    """Names that the file gives a value at its top, and the answer does not; unless there are others in their place."""
    had, now = (
        dict.fromkeys(name for line in lines if not IMPORT.match(line) for name in _bound(line)) for lines in (old, new)
    )
    gone, come = [name for name in had if name not in now], [name for name in now if name not in had]
    return gone if language in hollow.LANGUAGES and len(gone) > len(come) else []


def _bound(line: str) -> list[str]:
    """Names that a line at the top of a file binds."""
    if found := _FROM.match(line):
        return [each.split()[-1] for each in found["names"].split(",") if each.split()]
    found = _VALUE.match(line)
    return [found["name"]] if found else []


def lost_note(count: int) -> str:
    """What a person is told about lost lines."""
    if count == 1:
        return "1 line of the file would be lost: the answer leaves it out"
    return f"{count} lines of the file would be lost: the answer leaves them out"


def _similar(one: str, other: str) -> bool:
    """Whether texts that are not too long have most of their characters in common."""
    if max(len(one), len(other)) > LONG or min(len(one), len(other)) * 2 < max(len(one), len(other)):
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE


def _filled(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _share(before: Sequence[str], after: Sequence[str]) -> float:
    """How much of the file's lines the answer has, in order."""
    same = sum(last - first for tag, first, last, _, _ in shape.opcodes(before, after) if tag == "equal")
    return same / len(before)
