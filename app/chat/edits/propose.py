"""From an answer to changes of files.

Search/replace blocks and diffs say what they are; other blocks of code are the whole of a file, or a part of it. What
is neither beyond doubt is left alone, or comes with notes that say what was guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from paceline.chat import naming
from paceline.chat.blocks import DIFFS, Block, blocks
from paceline.chat.edits import excerpt, fragment, patch, replacing, shape, whole
from paceline.chat.edits.changes import Change, Form
from paceline.chat.edits.replacing import Replacement
from paceline.chat.edits.splices import Outcome
from paceline.chat.edits.target import Target
from paceline.prompts.context import language
from paceline.prompts.lines import line_starts, normalise

MOST = 300  # search/replace blocks, and blocks of code, that are looked at; no answer that is meant has more
LARGEST = 2 * 1024 * 1024  # characters of an answer, and of a file, that are looked at
SHELLS = {"bash", "sh", "shell", "zsh", "console", "powershell"}
_EXAMPLE = re.compile(
    r"\b(?:example (?:of )?(?:usage|use)|usage(?: example)?:?\W*$"
    r"|(?:how (?:you can|to|you)|you can(?: now)?) (?:use|call|run|test|try) "
    r"(?:it|this|these|the (?:new|modified|updated))\b)",
    re.IGNORECASE,
)
_AS_IT_IS = re.compile(
    r"(?:the |your )?(?:problem|issue|bug|culprit|cause|original|current|old|existing|previous|before)\b"
    r"|(?:instead of|rather than)\b"
    r"|(?:change|replace)\b(?!.*\b(?:to|with|by|as follows|like this)\b)",
    re.IGNORECASE,
)
_MENDED = re.compile(r"\b(?:fix|correct|updat|modif|improv|solv|resolv|new\b|should\b|can be)", re.IGNORECASE)
NEW = 0.5  # of a block's lines, how many may be those of a file that it is not named for


def propose(
    answer: str, files: Mapping[str, str], wanted: str = "", names: Mapping[int, str] | None = None
) -> tuple[Change, ...]:
    r"""The changes that an answer asks for, one for each file, in the answer's order; empty: it asks for none.

    files: exact texts (see store.read: line endings and byte order mark as they are) by the name that they are shown
    to the model under, relative to the workspace. wanted: the file that the question was about, "": none in particular.
    names: files that blocks are for, by where a block starts, in the place of what is read out of the answer.

    What cannot be applied beyond doubt is not `certain` and has notes; nothing raises. Takes linear time.
    """
    return _Proposal(answer[:LARGEST], files, wanted, names or {}).changes()


def unchanged(
    answer: str, files: Mapping[str, str], wanted: str = "", names: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """The files that an answer shows, or changes into, what they are already. Arguments as of propose."""
    proposal = _Proposal(answer[:LARGEST], files, wanted, names or {})
    found = proposal.changes()
    same = [each.path for each in found if not each.changes and not each.notes]
    others = {each.path for each in found} - {*same}
    return tuple(path for path in dict.fromkeys([*same, *proposal.same]) if path not in others)


class _Proposal:
    """Collects what an answer says about each file."""

    def __init__(self, answer: str, files: Mapping[str, str], wanted: str, names: Mapping[int, str]) -> None:
        self.answer = answer
        self.given = {name: text for name, text in files.items() if len(text) <= LARGEST}
        self.wanted = wanted if wanted in self.given else ""
        self.names = names
        self.files: dict[str, Target] = {}
        self.same: list[str] = []  # files that blocks show as they are

    def changes(self) -> tuple[Change, ...]:
        lines = normalise(self.answer).split("\n")
        edits, broken = replacing.replacements(lines)
        self._replace(edits[:MOST], broken)
        everything = [replace(each, name=self.names.get(each.start, each.name)) for each in blocks(self.answer)]
        found = everything[:MOST]
        taken = [(edit.first, edit.last) for edit in edits]
        rest = [block for block, first, last in self._numbered(found) if not _within(first, last, taken)]
        diffs = [block for block in rest if self._is_diff(block)]
        for block in diffs:
            self._patch(block)
        if not diffs and not edits and not found and patch.is_diff(self.answer):
            self._patch_text(self.answer, "", cut=False)
        plain = [block for block in rest if block not in diffs]
        said = bool(self.files)
        for block in plain:
            self._code(block, only_named=said)
        if len(everything) > MOST or len(edits) > MOST:
            for each in self.files.values():
                each.doubt(f"only the first {MOST} blocks of the answer were looked at")
        if broken and not edits and not any(each.touched for each in self.files.values()) and self._usual():
            self._file(self._usual()).doubt("a search/replace block of the answer is damaged and was left out")
        return tuple(each.change() for each in self.files.values() if each.touched or each.notes)

    def _numbered(self, found: Sequence[Block]) -> Iterator[tuple[Block, int, int]]:
        """Blocks with the numbers of their first line and of the one after their last."""
        starts = [0, *line_starts(self.answer)]
        numbers = {start: number for number, start in enumerate(starts)}
        for block in found:
            yield block, numbers[block.start], numbers.get(block.end, len(starts))

    def _file(self, name: str) -> Target:
        text = self.given.get(name)
        return self.files.setdefault(name, Target(name, text, text))

    def _resolved(self, name: str) -> str:
        """The given file that an answer means by a name; "": none of them."""
        if name in self.given:
            return name
        parts = [each for each in name.split("/") if each not in ("", ".")]
        found = [each for each in self.given if _ends_alike(each.split("/"), parts)]
        return found[0] if len(found) == 1 else ""

    def _usual(self) -> str:
        """The file that is meant where none is named."""
        return self.wanted or (next(iter(self.given)) if len(self.given) == 1 else "")

    # search and replace

    def _replace(self, edits: Sequence[Replacement], broken: int) -> None:
        by_file = dict[str, list[Replacement]]()
        for edit in edits:
            by_file.setdefault(self._replaced_in(edit), []).append(edit)
        lost = by_file.pop("", [])
        for name, mine in by_file.items():
            target = self._file(name)
            target.take(replacing.apply(mine, shape.file(target.before or "")), "replace")
            called = next((each.name for each in mine if each.name and self._resolved(each.name) != name), "")
            if called and target.before is not None:
                target.doubt(f"the answer calls the file {called}")
            if target.before is None:
                self._new_name(target)
        if broken and by_file:
            self._file(next(iter(by_file))).doubt("another search/replace block is damaged and was left out")
        if lost and by_file:
            what = "another search/replace block was" if len(lost) == 1 else f"{len(lost)} other replacements were"
            self._file(next(iter(by_file))).doubt(f"{what} left out: it is not clear for which file")

    def _replaced_in(self, edit: Replacement) -> str:
        """The file that a replacement is for: the one it names, or the only one that has its lines."""
        if name := self._resolved(edit.name):
            return name
        if not any(line.strip() for line in edit.search) and edit.name:
            return edit.name  # a new file
        has = [name for name, text in self.given.items() if replacing.finds(edit, shape.file(text).bare)]
        if len(has) == 1:
            return has[0]
        return self._usual()

    # diffs

    def _is_diff(self, block: Block) -> bool:
        return block.language in DIFFS or patch.is_diff(block.text)

    def _patch(self, block: Block) -> None:
        self._patch_text(block.text, block.name, cut=not block.closed)

    def _patch_text(self, text: str, name: str, *, cut: bool) -> None:
        found = patch.patches(text)[:MOST]
        if not found:
            self._unmarked(text, name)
        for number, each in enumerate(found):
            path = self._patched(each, name)
            if not path:
                continue
            target = self._file(path)
            if target.before is None:
                if each.new != patch.NOWHERE:
                    target.take(Outcome(patch.created(each), each.old == patch.NOWHERE), "diff")
                    if each.old != patch.NOWHERE:
                        target.doubt("this file is not among those that were shown; it is taken for a new one")
                continue
            target.take(patch.apply(each, shape.file(target.after or "")), "diff")
            if each.name and self._resolved(each.name) != path:
                target.doubt(f"the answer calls the file {each.name}")
            if cut and number == len(found) - 1:
                target.doubt("the answer ends within the diff")

    def _unmarked(self, text: str, name: str) -> None:
        """A diff that shows the code as it is to be, without saying what is new in it."""
        header = next(
            (line.split()[-1] for line in text.split("\n") if line.startswith("+++ ") and line.split()[1:]), name
        )
        path = self._resolved(naming.tidy(header.removeprefix("b/"))) or self._usual()
        lines = shape.said("\n".join(patch.unmarked(text)))
        if not path or not lines:
            return
        target = self._file(path)
        outcome, _ = _applied(target.after or "", lines, language(path))
        if outcome is not None and outcome.applied and _telling(outcome.text) != _telling(target.after):
            target.take(outcome, "diff")
            target.doubt("the diff does not say which lines are new; it was taken for the code as it is to be")

    def _patched(self, each: patch.Patch, name: str) -> str:
        for called in (each.name, each.old, name):
            if called and called != patch.NOWHERE and (found := self._resolved(called)):
                return found
        if each.old == patch.NOWHERE or (each.name and not self._usual()):
            return naming.tidy(each.name)
        return self._usual()

    # code

    def _code(self, block: Block, *, only_named: bool) -> None:
        """A block of code that is neither: the whole of a file, a part of one, a new one, or just an example."""
        lines = shape.said(block.text)
        if naming.name_in_comment(block.text) == block.name != "" and not self._begins_so(block):
            lines = lines[1:]
        while lines and not lines[0].strip():
            lines.pop(0)
        unmarked = [line for line in lines if not replacing.is_mark(line)]
        damaged = len(unmarked) < len(lines)
        lines = unmarked
        if not lines:
            return
        name = self._resolved(block.name) if block.name else ""
        if not name and block.name and not self._is_copy(lines):
            self._new(block, lines)
            return
        if only_named and not (name and not self.files.get(name)):
            return
        path = name or self._likely(lines, block.language)
        if not path or not naming.is_alike(block.language, language(path)):
            return
        outcome, form = self._outcome(path, lines, block)
        if outcome is None:
            return
        target = self._file(path)
        if outcome.foreign and target.touched:
            target.doubt("a block of code that has nothing of the file was taken for an example")
            return
        if target.touched and outcome.text is not None and target.undone_by(outcome.text):
            target.doubt("a later block of the answer takes back what an earlier one changes; the later one was taken")
        target.take(outcome, form)
        if form == "fragment" and outcome.applied and (doubt := self._not_meant(block)):
            target.doubt(doubt)
        if damaged and outcome.applied:
            target.doubt("marks of a search/replace block, which are not where they belong, were ignored")
        if block.name and not name and outcome.applied:
            target.doubt(f"the answer calls the file {block.name}")
        if not block.name and outcome.applied and (doubt := self._unsaid(block, path, foreign=outcome.foreign)):
            target.doubt(doubt)
        if not block.closed and outcome.applied:
            target.doubt("the answer ends within the code")

    def _begins_so(self, block: Block) -> bool:
        """Whether the file itself begins with the comment that names it."""
        text = self.given.get(self._resolved(block.name), "")
        return text.removeprefix(shape.BOM).lstrip().startswith(block.text.partition("\n")[0].strip())

    def _outcome(self, path: str, lines: Sequence[str], block: Block) -> tuple[Outcome | None, Form]:
        """What a block makes of a file, given what others have made of it."""
        target = self.files.get(path)
        before = self.given[path]
        tongue = language(path) or block.language
        done = _applied(before, lines, tongue)
        if done[0] is not None and done[0].text == before and done[0].applied:
            self.same.append(path)
            return None, done[1]  # it shows the file as it is
        if target is None or not target.touched or target.after is None or target.after == before:
            return done
        return _applied(target.after, lines, tongue)

    def _is_copy(self, lines: Sequence[str]) -> bool:
        """Whether a block under a name of its own is about one of the files nevertheless."""
        mine = {line.strip() for line in lines if line.strip()}
        usual = self._usual()
        if not usual or not mine:
            return False
        own = {line.strip() for line in shape.file(self.given[usual]).bare if line.strip()}
        return len(mine & own) > NEW * min(len(mine), len(own) or 1)

    def _new(self, block: Block, lines: Sequence[str]) -> None:
        """A file that there is not yet."""
        if not naming.is_alike(block.language, language(block.name)):
            return
        if len(lines) < 2 and block.language in SHELLS:  # what to type, rather
            return
        target = self._file(block.name)
        target.take(Outcome("".join(line + "\n" for line in lines), block.closed), "whole")
        target.after = "".join(line + "\n" for line in lines)
        self._new_name(target)
        if naming.name_in_info(block.info) != block.name and not self._alone_above(block):
            target.doubt("the answer mentions this new file only in passing")
        if not block.closed:
            target.doubt("the answer ends within the code")

    def _new_name(self, target: Target) -> None:
        """A new file may be one of several that are there."""
        parts = [each for each in target.path.split("/") if each not in ("", ".")]
        known = [each for each in self.given if _ends_alike(each.split("/"), parts)]
        if known:
            target.doubt(f"it was taken for a new file: it is not clear which of {' and '.join(known[:3])} is meant")

    def _unsaid(self, block: Block, path: str, *, foreign: bool) -> str:
        """Why it is a guess that a block without a name is for this file; "": it is none. foreign: as of Outcome."""
        spoken = [
            each for each in naming.names_in(self._above(block)) if naming.is_alike(block.language, language(each))
        ]
        if spoken and not any(self._resolved(each) == path for each in spoken):
            return f"the answer speaks of {' and '.join(spoken[:3])} before this code, and not of this file"
        return "the answer does not say which file this code is for" if foreign and not spoken else ""

    def _above(self, block: Block) -> str:
        """The last line with text before a block."""
        return normalise(self.answer[max(0, block.start - 600) : block.start]).rstrip().rpartition("\n")[2]

    def _not_meant(self, block: Block) -> str:
        """What the last sentence before a block says against its being an edit; "": nothing."""
        above = self._above(block)
        last = re.split(r"[.!?]\s", above)[-1].lstrip(" #*_-0123456789.)")
        if _EXAMPLE.search(last):
            return "the answer calls a block of code an example of its use, which was taken for an edit"
        if _AS_IT_IS.match(last) and not _MENDED.search(last):
            return "the answer seems to quote code as it is, which was taken for an edit"
        return ""

    def _alone_above(self, block: Block) -> bool:
        """Whether the line above a block has nothing but its name."""
        above = [
            line for line in normalise(self.answer[max(0, block.start - 600) : block.start]).split("\n") if line.strip()
        ]
        return bool(above) and naming.name_alone(above[-1].strip().lstrip("#-*0123456789. ")) == block.name

    def _likely(self, lines: Sequence[str], tag: str) -> str:
        """The file that a block without a name is for."""
        usual = self._usual()
        if usual and (len(self.given) == 1 or naming.is_alike(tag, language(usual))):
            return usual
        mine = {line.strip() for line in lines if len(line.strip()) > 3}
        scores = dict[str, int]()
        for name, text in self.given.items():
            if naming.is_alike(tag, language(name)):
                scores[name] = len(mine & {line.strip() for line in shape.file(text).bare})
        best = sorted(scores, key=lambda name: -scores[name])[:2]
        if not best or not scores[best[0]] or (len(best) > 1 and scores[best[1]] * 2 > scores[best[0]]):
            return ""
        return best[0]


def _telling(text: str | None) -> list[str]:
    """The lines of a text that are not empty; of nothing else does code that is shown anew differ by mistake."""
    return [line.rstrip() for line in shape.file(text or "").bare if line.strip()]


def _applied(text: str, lines: Sequence[str], tongue: str) -> tuple[Outcome | None, Form]:
    """What lines make of a text, and how they are meant."""
    file = shape.file(text)
    old = file.bare
    if not excerpt.has_marks(old, lines) and whole.is_whole(old, lines, tongue):
        return whole.apply(file, lines, tongue), "whole"
    return fragment.apply(file, lines, tongue), "fragment"


def _within(first: int, last: int, taken: Sequence[tuple[int, int]]) -> bool:
    """Whether lines of search/replace blocks are among these."""
    return any(begin < last and first < end for begin, end in taken)


def _ends_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the shorter of two paths is the end of the longer one."""
    return all(first == second for first, second in zip(reversed(one), reversed(other), strict=False))
