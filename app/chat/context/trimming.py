"""Attachments made shorter, at lines, with a line where something is missing. Pure."""

import re
from dataclasses import replace

from paceline.chat.turns import Attached

# how much of what is kept comes from the beginning: of files the imports and heads, of outputs the end with the errors
_HEAD = {"file": 0.6, "folder": 0.9, "symbol": 0.6, "diff": 0.9, "output": 0.25, "paste": 0.5}
_RANGE = re.compile(r":(\d+)(?:-\d+)?$")


def trimmed(attached: Attached, characters: int, question: str = "") -> Attached:
    """An attachment of about so many characters at most; itself where it is no longer.

    Kept is the beginning and the end, in whole lines where it has some; of a file, the lines around the one that the
    question names, as in "app/cli.py:120", if it names one.
    """
    if len(attached.text) <= characters:
        return attached
    lines = attached.text.splitlines(keepends=True)
    cited = _cited(attached, question, len(lines))
    if cited is not None:
        kept = _around(lines, cited, characters)
    else:
        head = _count(lines, int(characters * _HEAD[attached.kind]))
        spent = sum(map(len, lines[:head]))
        tail = _count(lines[head:][::-1], characters - spent)
        kept = [*range(head), *range(len(lines) - tail, len(lines))]
    if not kept:
        return _within_lines(attached, characters)
    text, missing = _joined(lines, kept)
    said = f"{missing:,} of {len(lines):,} lines left out"
    return replace(attached, text=text, cut="; ".join(part for part in (attached.cut, said) if part))


def _count(lines: list[str], characters: int) -> int:
    """How many of the first lines have so many characters at most."""
    for at, line in enumerate(lines):
        characters -= len(line)
        if characters < 0:
            return at
    return len(lines)


def _around(lines: list[str], line: int, characters: int) -> list[int]:
    """Indices of lines around one, as many before it as behind it while there are some."""
    first = last = line
    room = characters - len(lines[line])
    if room < 0:
        return []
    while True:
        grown = False
        for at in (last + 1, first - 1):
            if 0 <= at < len(lines) and len(lines[at]) <= room:
                room -= len(lines[at])
                first, last, grown = min(first, at), max(last, at), True
        if not grown:
            return list(range(first, last + 1))


def _joined(lines: list[str], kept: list[int]) -> tuple[str, int]:
    """The lines that are kept, a note in each gap, and how many are missing."""
    parts: list[str] = []
    before, missing = -1, 0
    for at in [*kept, len(lines)]:
        gap = at - before - 1
        if gap:
            missing += gap
            newline = "" if not parts or parts[-1].endswith("\n") else "\n"
            parts.append(f"{newline}[… {gap:,} lines left out …]\n")
        if at < len(lines):
            parts.append(lines[at])
        before = at
    return "".join(parts), missing


def _within_lines(attached: Attached, characters: int) -> Attached:
    """What has only long lines is cut within them."""
    head = max(0, int(characters * _HEAD[attached.kind]))
    tail = max(0, characters - head)
    text = attached.text
    missing = len(text) - head - tail
    said = f"{missing:,} of {len(text):,} characters left out"
    short = f"{text[:head]}\n[… {missing:,} characters left out …]\n{text[len(text) - tail :]}"
    return replace(attached, text=short, cut="; ".join(part for part in (attached.cut, said) if part))


def _cited(attached: Attached, question: str, count: int) -> int | None:
    """Index of the line of a file that a question names; None: it names none that is there."""
    if attached.kind != "file":
        return None
    name, begin = attached.name, 1
    lines = _RANGE.search(name)
    if lines is not None:
        name, begin = name[: lines.start()], int(lines[1])
    base = re.escape(name.rsplit("/", 1)[-1])
    named = re.search(rf'{base}"?(?::|,? lines? |", line )(\d{{1,7}})\b', question)
    if named is None or not 0 <= int(named[1]) - begin < count:
        return None
    return int(named[1]) - begin
