"""Which file a block of code is for that names none: one that defines what the block defines."""

import re
import textwrap
from collections.abc import Collection, Container
from dataclasses import dataclass, replace
from typing import Protocol

from paceline.chat import naming
from paceline.chat.blocks import DIFFS, Block
from paceline.chat.context.symbols import LANGUAGES, symbols, tag_of_language
from paceline.chat.edits import patch, replacing
from paceline.chat.edits.changes import Change
from paceline.prompts.context import language

LARGEST = 64 * 1024  # characters of a block that is looked at
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


def guessed(change: Change, found: Place) -> Change:
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
