"""Which signs a terminal can show, and what stands for the others.

Consoles of Linux have fonts of 256 or 512 characters: here are those that both the kernel's own font and those of
distributions have. A terminal may also have another encoding than UTF-8.
"""

# ruff: noqa: RUF001 - signs that look alike are what this is about

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter


def _table(*rows: str) -> dict[str, str]:
    """From rows of the sign and, behind it, those that it stands for."""
    return {each: row[0] for row in rows for each in row[1:]}


# as wide as what they stand for
_CONSOLE = _table(
    *("_▁▂", "=▃▄", "█▅▆▇", "─▀▔━╴╶╸╺╌╍╼╾", "│▏▎▍▌▋▊▉▐▕┃╵╷╹╻╎╏┆┊╽╿", "/▚▞", "+▖▗▘▝▙▛▜▟", "#▓"),
    *("┌╭┏", "┐╮┓", "└╰┗", "┘╯┛", "├┣┠┝", "┤┫┨┥", "┬┳┯┰", "┴┻┷┸", "┼╋┿╂", "╪╫"),
    *("-☐–—−‐‑‒", "x☑☒✗✘×", "+✓✔", "•●◉", "o○◯", "■□▪▫◼◻", "*★☆✦✱", ">▶▸►❯›", "<◀◂◄❮‹⏎↵", "^␡⌃"),
    *("~…", "'‘’‚", '"“”„'),
) | {chr(code): "^" for code in range(0x2400, 0x2427)}
_CONSOLE |= {"🔎": "> ", "✅": "+ ", "❌": "x "}
_ASCII = _table(
    *("-─═·", "|│║", "+┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╪╫", "#█■", ".░", ":▒", "*•", "^↑▲", "v↓▼", "<←«", ">→»", "o°"),
)


class Signs(LineFilter):
    """Draws every line with signs that there are, cell by cell as wide as it was."""

    def __init__(self, *, console: bool, encoding: str) -> None:
        """console: the terminal is Linux's own. encoding: what it is sent."""
        super().__init__()
        self._signs = _Signs(console, encoding)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same in other signs."""
        return [each if each.text.isascii() else Segment(self.plain(each.text), each.style) for each in segments]

    def plain(self, text: str) -> str:
        """A text in other signs."""
        return text.translate(self._signs)


def needed(environ: Mapping[str, str], encoding: str) -> Sequence[Signs]:
    """What a terminal's lines have to go through: nothing, where it can show everything."""
    term = environ.get("TERM", "")
    console = term == "linux" or term.startswith("linux-")
    everything = encoding.lower().replace("-", "").replace("_", "").startswith("utf")
    return [] if everything and not console else [Signs(console=console, encoding=encoding)]


def are_few(app: App[Any]) -> bool:
    """Whether words and ASCII are to stand where they say more than a sign in another's place."""
    return any(isinstance(each, Signs) for each in app.get_line_filters())


class _Signs(dict[int, str]):
    """What stands for each character, worked out when it comes up first."""

    def __init__(self, console: bool, encoding: str) -> None:
        super().__init__()
        self._console, self._encoding = console, encoding

    def __missing__(self, code: int) -> str:
        character = chr(code)
        simple = _CONSOLE.get(character, character)
        tried = [] if self._console else [character]
        tried += [simple, "".join(_ASCII.get(each, each) for each in simple)]
        found = next(filter(self._is_there, tried), "?" * cell_len(character))
        self[code] = found
        return found

    def _is_there(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except (UnicodeEncodeError, LookupError):
            return text.isascii()
        return True
