"""Which words of a line have become others. Pure data, no drawing."""

import difflib
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

LONG_LINE = 1000  # characters of a line; what changed within longer ones is not marked
WORK = 100_000  # comparisons of words at most, some milliseconds; lines that need more are not compared word by word
ALIKE = 0.3  # of the characters of two lines, how many must be the same that it makes sense to mark the others
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_JOINER = "\u200d"
_MODIFIERS = re.compile("[\u1160-\u11ff\U0001f3fb-\U0001f3ff]")  # of syllables and of skins
_EXTENDING = {"Mn", "Me", "Mc", "Cf", "Cn"}  # categories of what is seen as a part of the character before it

Marks = tuple[tuple[int, int], ...]  # stretches of a line, in characters, that differ from the other line


@lru_cache(maxsize=1024)
def differing(old: str, new: str) -> tuple[Marks, Marks]:
    """What differs in each of two lines, by words; nothing where they have little in common.

    Words that both lines begin or end with are found in linear time. What stands between is compared by difflib, or
    differs as a whole where that could take more than WORK comparisons.
    """
    if old == new or max(len(old), len(new)) > LONG_LINE:
        return (), ()
    first, second = _words(old), _words(new)
    head = _alike(first, second)
    tail = _alike(first[head:][::-1], second[head:][::-1])
    changed = _changed(first[head : len(first) - tail], second[head : len(second) - tail])
    left = _stretches(first, [(head + start, head + end) for start, end, _, _ in changed])
    right = _stretches(second, [(head + start, head + end) for _, _, start, end in changed])
    same = _size(old) - sum(_size(old[start:end]) for start, end in left)
    return (left, right) if 2 * same >= ALIKE * (_size(old) + _size(new)) else ((), ())


def _words(line: str) -> list[str]:
    """Words, blanks and signs; none of them begins within what is seen as one character."""
    found = list[str]()
    for word in _WORD.findall(line):
        if found and (found[-1].endswith(_JOINER) or _extends(word[0])):
            found[-1] += word
        else:
            found.append(word)
    return found


def _extends(character: str) -> bool:
    return not character.isascii() and (
        unicodedata.category(character) in _EXTENDING or _MODIFIERS.match(character) is not None
    )


def _changed(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Spans of words that differ. All of them, where comparing would take too long."""
    counts = Counter(each for each in second if not each.isspace())
    pairs = sum(counts[each] for each in first)
    if (pairs + len(first)) * min(len(first), len(second)) > WORK:  # difflib looks at all of them for each stretch
        return [(0, len(first), 0, len(second))]
    opcodes = difflib.SequenceMatcher(str.isspace, first, second, autojunk=False).get_opcodes()
    return [(start, end, begin, stop) for tag, start, end, begin, stop in opcodes if tag != "equal"]


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def _stretches(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> Marks:
    """Spans of words as spans of characters."""
    starts = list(itertools.accumulate(map(len, words), initial=0))
    return tuple((starts[first], starts[last]) for first, last in spans if first < last)


def _size(text: str) -> int:
    """Characters that can be seen."""
    return len("".join(text.split()))
