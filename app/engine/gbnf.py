"""GBNF, llama.cpp's grammar notation (its grammars/README.md), rewritten for llguidance.

llguidance reads a Lark dialect whose terminals are cut greedily: `[a-z]+ "end"` as two terminals could never end. GBNF
has no such rule, so here every terminal is one character and everything longer is grammar: slower than long terminals
(milliseconds a step for a large vocabulary), and exactly the same language.
"""

from typing import NoReturn

from paceline.errors import InputError

MAX_REPETITIONS = 2000  # as llama.cpp bounds them
MAX_NESTING = 50  # parentheses
LAST_CHARACTER = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)  # no characters; UTF-8 cannot write them
ESCAPES = {"t": "\t", "r": "\r", "n": "\n"}
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
SPACE = " \t\r\n"

Ranges = tuple[tuple[int, int], ...]  # first and last character, rising, apart from each other


def to_lark(text: str) -> str:
    """The rules in llguidance's Lark, without its header. Raises InputError that names the line."""
    return _Parser(text).translate()


class _Parser:
    """Recursive descent over the text; pieces of Lark come out as it goes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._bodies: dict[str, str] = {}  # rule as written: its Lark
        self._uses: dict[str, int] = {}  # rule as written: where it was first used
        self._numbers: dict[str, int] = {}
        self._terminals: dict[Ranges, str] = {}

    def translate(self) -> str:
        self._skip(newlines=True)
        while self._at < len(self._text):
            self._rule()
            self._skip(newlines=True)
        for name, at in self._uses.items():
            if name not in self._bodies:
                self._fail(f"no rule is called {name!r}", at)
        if "root" not in self._bodies:
            raise InputError("the grammar has no rule called root", "begin with: root ::= ...")
        lines = [f"start: {self._reference('root')}"]
        lines += [f"{self._reference(name)}: {body}" for name, body in self._bodies.items()]
        lines += [f"{name}: /{_regex(ranges)}/" for ranges, name in self._terminals.items()]
        return "\n".join(lines) + "\n"

    def _rule(self) -> None:
        start = self._at
        name = self._name()
        if name in self._bodies:
            self._fail(f"the rule {name!r} is there twice", start)
        self._skip()
        if not self._take("::="):
            self._fail("expected ::= behind the name of a rule")
        self._skip(newlines=True)
        self._bodies[name] = self._alternatives(0)
        if self._at < len(self._text) and self._next() not in "\r\n":
            self._fail(f"did not expect {self._next()!r}")

    def _alternatives(self, depth: int) -> str:
        if depth > MAX_NESTING:
            self._fail(f"more than {MAX_NESTING} parentheses inside each other")
        found = [self._sequence(depth)]
        while self._continues("|"):
            self._skip(newlines=True)
            found.append(self._sequence(depth))
        return " | ".join(found)

    def _continues(self, mark: str) -> bool:
        """Take the mark, also from the beginning of a later line."""
        before = self._at
        self._skip(newlines=True)
        if self._take(mark):
            return True
        self._at = before
        return False

    def _sequence(self, depth: int) -> str:
        found: list[str] = []
        self._skip(newlines=depth > 0)
        while (item := self._item(depth)) is not None:
            self._skip(newlines=depth > 0)
            while (times := self._repetition()) is not None:
                item = f"({item}){times}"
                self._skip(newlines=depth > 0)
            found.append(item)
        return " ".join(found) or '""'

    def _item(self, depth: int) -> str | None:
        """A literal, character class, group or rule; None where the sequence ends."""
        mark = self._next()
        if mark in NAME:
            start = self._at
            name = self._name()
            self._uses.setdefault(name, start)
            return self._reference(name)
        if mark in ("<", "!"):
            self._fail("tokens by name or number (<...>) are not supported", hint="write the text itself, in quotes")
        if self._take("."):
            return self._terminal(((0, LAST_CHARACTER),))
        if self._take('"'):
            return f"({self._literal()})"
        if self._take("["):
            return self._class()
        if self._take("("):
            inside = self._alternatives(depth + 1)
            self._skip(newlines=True)
            if not self._take(")"):
                self._fail("expected )")
            return f"({inside})"
        return None

    def _literal(self) -> str:
        start = self._at
        found: list[str] = []
        while not self._take('"'):
            code = self._character(start, "a quote")
            found.append(self._terminal(((code, code),)))
        return " ".join(found) or '""'

    def _class(self) -> str:
        start = self._at
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        while not self._take("]"):
            first = last = self._character(start, "a character class")
            if self._next() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                last = self._character(start, "a character class")
            if last < first:
                self._fail(f"the range {chr(first)!r} to {chr(last)!r} runs backwards", start)
            ranges.append((first, last))
        wanted = _complement(ranges) if negated else _complement(_complement(ranges))
        if not wanted:
            self._fail("a character class that no character is in", start)
        return self._terminal(wanted)

    def _character(self, start: int, inside: str) -> int:
        """The code of the next character, written plainly or with a backslash."""
        if self._at >= len(self._text):
            self._fail(f"{inside} is not closed", start)
        character = self._text[self._at]
        self._at += 1
        if character != "\\":
            if SURROGATES[0] <= ord(character) <= SURROGATES[1]:
                self._fail("half a character (a surrogate)", self._at - 1)
            return ord(character)
        escape = self._next()
        self._at += 1
        if digits := HEX_DIGITS.get(escape):
            number = self._text[self._at : self._at + digits]
            self._at += digits
            valid = len(number) == digits and all(digit in "0123456789abcdefABCDEF" for digit in number)
            code = int(number, 16) if valid else LAST_CHARACTER + 1
            if code > LAST_CHARACTER or SURROGATES[0] <= code <= SURROGATES[1]:
                self._fail(f"\\{escape}{number} is no character", self._at - digits - 2)
            return code
        if not escape or (escape.isalnum() and escape not in ESCAPES):
            self._fail(f"\\{escape} means nothing", self._at - 2)
        return ord(ESCAPES.get(escape, escape))

    def _repetition(self) -> str | None:
        """`*`, `+`, `?` or `{m,n}`, as Lark writes them; None where there is none."""
        for mark in "*+?":
            if self._take(mark):
                return mark
        if not self._take("{"):
            return None
        start = self._at
        low = high = self._number()
        if self._take(","):
            self._skip()
            high = -1 if self._next() == "}" else self._number()
        if not self._take("}"):
            self._fail("expected }")
        if max(low, high) > MAX_REPETITIONS or 0 <= high < low:
            self._fail(f"repetitions go from fewer to more, and to {MAX_REPETITIONS} at most", start)
        return f"{{{low},{high if high >= 0 else ''}}}"

    def _number(self) -> int:
        self._skip()
        start = self._at
        while self._next() in "0123456789" and self._next():
            self._at += 1
        if not 0 < self._at - start < 10:
            self._fail("expected a number", start)
        number = int(self._text[start : self._at])
        self._skip()
        return number

    def _name(self) -> str:
        start = self._at
        while self._next() in NAME:
            self._at += 1
        if start == self._at:
            self._fail("expected the name of a rule")
        return self._text[start : self._at]

    def _skip(self, *, newlines: bool = False) -> None:
        """Go over blanks and comments."""
        blanks = SPACE if newlines else " \t"
        while self._at < len(self._text):
            if self._next() == "#":
                while self._at < len(self._text) and self._next() not in "\r\n":
                    self._at += 1
            elif self._next() in blanks:
                self._at += 1
            else:
                return

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def _reference(self, name: str) -> str:
        return f"rule{self._numbers.setdefault(name, len(self._numbers))}"

    def _terminal(self, ranges: Ranges) -> str:
        return self._terminals.setdefault(ranges, f"CHAR{len(self._terminals)}")

    def _fail(self, what: str, at: int | None = None, hint: str = "") -> NoReturn:
        line = self._text.count("\n", 0, self._at if at is None else at) + 1
        raise InputError(f"line {line} of the grammar: {what}", hint or "llama.cpp's grammars/README.md explains GBNF")


def _complement(ranges: list[tuple[int, int]] | Ranges) -> Ranges:
    """All other characters."""
    found: list[tuple[int, int]] = []
    free = 0
    for first, last in sorted([*ranges, (LAST_CHARACTER + 1, LAST_CHARACTER + 1)]):
        if free < first:
            found.append((free, first - 1))
        free = max(free, last + 1)
    return tuple(found)


def _regex(ranges: Ranges) -> str:
    """One character of these, as a regular expression. Surrogates are left out."""
    apart: list[tuple[int, int]] = []
    for first, last in ranges:
        apart += [(first, min(last, SURROGATES[0] - 1)), (max(first, SURROGATES[1] + 1), last)]
    return "[" + "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in apart if first <= last) + "]"
