"""Somebody who continues a file, always in the same way at the same place: what is right there can be looked up."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

ABOVE, BELOW = 80, 25  # characters around the cursor's line that decide what the author says
FURTHEST = 160  # characters of what was said that may have been typed since


@dataclass(frozen=True)
class Author:
    """Knows a text. Often right, sometimes wrong in the middle of the line, sometimes with a line more."""

    text: str

    def says(self, before: str, after: str) -> str:
        """What belongs at a place. It depends on the lines above, on what follows, and on what is typed of the line."""
        start = before.rfind("\n") + 1
        above, typed = before[max(0, start - ABOVE) : start], before[start:]
        number = _number(above, after[:BELOW])
        lines = self._following(above)
        line = lines[0] if lines else ""
        if number % 5 > 2:  # wrong from somewhere on
            line = line[: 6 + number % 11] + _word(number)
        if not line.startswith(typed) or line == typed:
            return _word(_number(above, after[:BELOW], typed))
        more = lines[1:2] if number % 3 == 0 and len(lines) > 1 and lines[1].strip() else []
        return "\n".join([line[len(typed) :].rstrip(), *more])

    def _following(self, above: str) -> list[str]:
        return list(_lines_behind(self.text, above))

    def would_say(self, before: str, after: str, trimmed: Callable[[str, str, str], str]) -> set[str]:
        """All that is right at a place: what is said here, and what is left of what was said where it was typed from.
        Nothing behind the cursor may have changed since. trimmed: what of a text may be inserted between two others.
        """
        found = set()
        for length in range(min(len(before), FURTHEST) + 1):
            earlier, typed = before[: len(before) - length], before[len(before) - length :]
            said = self.says(earlier, after)
            if said.lstrip().startswith(typed.lstrip()) and (said := trimmed(earlier, after, said)).startswith(typed):
                found.add(said[length:])
        return found


@lru_cache(maxsize=4096)
def _lines_behind(text: str, above: str) -> tuple[str, ...]:
    at = text.find(above) if above else -1
    return tuple(text[at + len(above) :].split("\n", 3)) if at >= 0 else ()


def _number(*parts: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(parts).encode(), digest_size=6).digest(), "big")


def _word(number: int) -> str:
    return "zq_" + "".join(chr(97 + (number >> (4 * at)) % 16) for at in range(8))
