"""Keystrokes of somebody who writes a part of a file that exists: at a human rhythm, with slips and jumps."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

SLIPS = 0.02  # of the keys are wrong, and taken back
PAUSES = 0.15  # of the lines begin with a look at something
NEAR = "qwertyuiop asdfghjkl zxcvbnm"


@dataclass(frozen=True)
class Key:
    """One change of the document, and how long after the one before it came."""

    wait: float  # seconds
    at: int  # offset of the change
    removed: int  # characters before `at` that go
    text: str  # what comes in
    jump: bool = False  # the cursor came from elsewhere


@dataclass(frozen=True)
class Part:
    """Characters [start, end) of a text are to be written again."""

    start: int
    end: int


def parts(text: str, choice: random.Random, count: int, lines: int) -> list[Part]:
    """Parts of so many lines that do not touch, in the order in which they are written: not that of the text."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    first = list(range(10, len(starts) - lines - 2))
    found: list[int] = []
    while len(found) < count and first:
        line = choice.choice(first)
        if text[starts[line] : starts[line + 1]].strip():
            found.append(line)
        first = [each for each in first if abs(each - line) > 2 * lines] if line in found else first
        if line not in found:
            first.remove(line)
    return [Part(starts[line], starts[line + lines] - 1) for line in found]


def without(text: str, all_parts: list[Part]) -> tuple[str, list[int]]:
    """The text without the parts, and where in it each of them belongs."""
    kept, places, at = [], {}, 0
    for part in sorted(all_parts, key=lambda each: each.start):
        kept.append(text[at : part.start])
        places[part] = sum(map(len, kept))
        at = part.end
    kept.append(text[at:])
    return "".join(kept), [places[part] for part in all_parts]


def typed(text: str, all_parts: list[Part], choice: random.Random) -> Iterator[Key]:
    """The keys that write the parts back."""
    _, places = without(text, all_parts)
    written: list[tuple[int, int]] = []  # (place in the document without any part, length written)
    for part, place in zip(all_parts, places, strict=True):
        at = place + sum(length for where, length in written if where < place)
        start = at
        jump = True
        for char in text[part.start : part.end]:
            if char.isalpha() and choice.random() < SLIPS:
                yield Key(_wait(choice, char), at, 0, choice.choice(NEAR), jump)
                yield Key(_wait(choice, "\b") * 2, at + 1, 1, "")
                jump = False
            yield Key(_wait(choice, char), at, 0, char, jump)
            at, jump = at + 1, False
        written.append((place, at - start))


def applied(text: str, key: Key) -> str:
    """The document after a key."""
    return text[: key.at - key.removed] + key.text + text[key.at :]


def _wait(choice: random.Random, char: str) -> float:
    """About 70 words a minute within words, slower where something new begins."""
    wait = choice.lognormvariate(-2.0, 0.45)  # median 0.135 s
    if char == "\n":
        wait += 0.25
    elif not char.isalnum():
        wait *= 1.4
    if char == "\n" and choice.random() < PAUSES:
        wait += choice.uniform(0.8, 2.5)
    return min(wait, 4.0)
