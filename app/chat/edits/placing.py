"""Which file a block of code is for that names none: one that defines what the block defines."""

import re
import textwrap
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from paceline.chat import naming
from paceline.chat.blocks import DIFFS, Block
from paceline.chat.context.symbols import LANGUAGES, symbols, tag_of_language
from paceline.chat.edits import patch, replacing
from paceline.chat.edits.changes import Change
from paceline.prompts.context import language

LARGEST = 64 * 1024  # characters of a block that is looked at
FAR = 600  # characters before a block, in which the sentence above it stands
SHOWN = 3  # names, and files, that are said
_METHOD = re.compile(r"^(?:async[ \t]+)?def[ \t]+\w+[ \t]*\([ \t\n]*(?:self|cls)\b", re.MULTILINE)


class Defining(Protocol):
    """What knows where names are defined; see Finder.defining."""

    def __call__(self, names: Collection[str], *, methods: bool = False) -> Collection[str]: ...


@dataclass(frozen=True)
class Place:
    """Where a block may belong."""

    names: tuple[str, ...]  # that it defines, at its outermost level
    paths: tuple[str, ...]  # of the files that define them all; at least one; those that were spoken of come first

    @property
    def note(self) -> str:
        """For the person who looks at the change, where there is one path."""
        return f"the answer names no file: this is the only one found that defines {_listed(self.names, 'and')}"

    @property
    def choices(self) -> str:
        """For the person who is to choose, where there are several."""
        return f"{_listed(self.paths, 'and')} define {_listed(self.names, 'and')}"


def place(block: Block, defining: Defining, said: str = "") -> Place | None:
    """Where a block may belong by what it defines. None: nowhere, or it says itself which file it is for.

    said: what was asked and answered, which may speak of files.
    """
    text = textwrap.dedent(block.text)
    if block.name or block.language in DIFFS or len(text) > LARGEST:
        return None
    if patch.is_diff(text) or any(map(replacing.is_mark, text.split("\n"))):
        return None
    names = dict[str, None]()
    paths = dict[str, None]()
    for tongue in LANGUAGES:
        tag = tag_of_language(tongue)
        if not naming.is_alike(block.language, tag):
            continue
        mine = tuple(dict.fromkeys(each.name for each in symbols(tongue, text, ends=False) if "." not in each.name))
        found = [each for each in defining(mine) if language(each) == tag] if mine else []
        if mine and not found and tongue == "python" and _METHOD.search(text):
            found = [each for each in defining(mine, methods=True) if language(each) == tag]
        if found:
            names.update(dict.fromkeys(mine))
            paths.update(dict.fromkeys(found))
    if not paths:
        return None
    words = {naming.tidy(word.strip("\"'`*_,;:!?.()[]@")) for word in said.split()} if len(paths) > 1 else set()
    return Place(tuple(names), tuple(sorted(paths, key=lambda path: _strangeness(path, words))))


@dataclass(frozen=True)
class Called:
    """The file of the workspace that an answer means by a name."""

    path: str
    note: str = ""  # for the person who looks at the change; "": nothing was guessed


def called(
    answer: str, found: Sequence[Block], shown: Collection[str], files: Callable[[str], Sequence[str]]
) -> dict[int, Called]:
    """Files that are not among those that were shown to the model, or that only a sentence above the code tells: by
    where the block starts. Blocks that say exactly which file they are for are not among them.

    found: the answer's blocks. files: paths of the workspace that a name may mean.
    """
    files = cache(files)
    meant = dict[int, Called]()
    last = 0
    for block in found:
        above = answer[max(last, block.start - FAR) : block.start].rstrip()
        last = block.end
        if block.name:
            if block.name in shown or any(each.endswith(f"/{block.name}") for each in shown):
                continue
            paths = files(block.name)
            if len(paths) == 1 and paths[0] != block.name:
                note = f"the answer calls it {block.name}: this is the only file of that name"
                meant[block.start] = Called(paths[0], note)
            continue
        paths = [path for name in naming.names_in(above.rpartition("\n")[2]) for path in files(name)]
        if len({*paths}) == 1 and naming.is_alike(block.language, language(paths[0])):
            note = "" if paths[0] in shown else "only the sentence before the code names this file"
            meant[block.start] = Called(paths[0], note)
    return meant


def guessed(change: Change, found: Place | Called) -> Change:
    """A change of the file that was found, as one that a person has to look at first."""
    return replace(change, certain=False, notes=(found.note, *change.notes))


def _strangeness(path: str, words: Container[str]) -> int:
    """How little was said of a file: its path, its name, nothing."""
    return 0 if path in words else 1 if path.rpartition("/")[2] in words else 2


def _listed(words: Collection[str], last: str) -> str:
    """The first of them, in words."""
    shown = [*words][:SHOWN]
    more = len(words) - len(shown)
    if more:
        shown.append(f"{more:,} more")
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}" if shown[1:] else shown[0]
