"""Colours of code: which tokens a fence's lines are made of, worked out a little at a time. Nothing here draws."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from time import perf_counter

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from paceline.tui.widgets.rows import Span

LIMIT = 400_000  # characters of a fence; a longer one stays plain
LONG_LINE = 2_000  # characters; with a longer line the fence stays plain, since patterns may be slow on it
AGAIN = 4_000  # characters of one token that are read again and again until it ends, such as those of a long comment
SLICE = 0.008  # seconds of work at a time

_STYLES: dict[_TokenType, str] = {
    Token.Comment: "comment",
    Token.Comment.Preproc: "keyword",
    Token.Comment.PreprocFile: "string",
    Token.Keyword: "keyword",
    Token.Keyword.Type: "type",
    Token.Keyword.Constant: "constant",
    Token.Operator.Word: "keyword",
    Token.Literal.String: "string",
    Token.Literal.String.Interpol: "constant",
    Token.Literal.String.Escape: "constant",
    Token.Literal.String.Affix: "keyword",
    Token.Literal.Number: "number",
    Token.Literal.Date: "number",
    Token.Name.Function: "function",
    Token.Name.Class: "type",
    Token.Name.Exception: "type",
    Token.Name.Builtin: "builtin",
    Token.Name.Builtin.Pseudo: "constant",
    Token.Name.Constant: "constant",
    Token.Name.Decorator: "function",
    Token.Name.Tag: "keyword",
    Token.Name.Attribute: "builtin",
    Token.Generic.Inserted: "added",
    Token.Generic.Deleted: "removed",
    Token.Generic.Heading: "type",
    Token.Generic.Subheading: "type",
    Token.Generic.Prompt: "keyword",
}
NAMES = tuple(sorted(set(_STYLES.values())))  # of the styles that code is drawn in


class Colouring:
    """The coloured lines of one fence, while it is written and after.

    While lines arrive, each is read once, from the state in which the lexer was at the end of the line before; what
    that cannot see (a token that a later line will end) is put right when the fence is complete, by reading it whole.
    """

    def __init__(self, language: str) -> None:
        self.lines: list[tuple[Span, ...] | None] = []  # None: not known yet, to be shown plain
        self._lexer = _lexer(language)
        self._text: list[str] = []
        self._size = 0
        self._read = _Resumable(self._lexer) if isinstance(self._lexer, RegexLexer) else None
        self._whole: Iterator[tuple[int, _TokenType, str]] | None = None
        self._pending: list[list[Span]] = [[]]
        self._done = 0  # lines that the reading of the whole has come to
        self.complete = self._lexer is None

    @property
    def working(self) -> bool:
        """Whether `work` has something to do."""
        return self._whole is not None and not self.complete

    def settled(self, line: int) -> bool:
        """Whether what is known of this line's colours stays as it is."""
        return self.complete or line < self._done

    def add(self, lines: list[str]) -> None:
        """More complete lines of a fence that is still open."""
        self._text += lines
        self._size += sum(map(len, lines)) + len(lines)
        self.lines += [None] * len(lines)
        if self.complete:
            return
        if self._size > LIMIT or any(len(line) > LONG_LINE for line in lines):
            self.complete, self._read = True, None
        elif self._read is not None and len(lines) <= 50:
            first, known = self._read.feed("".join(line + "\n" for line in lines))
            for at, spans in enumerate(known, first):
                if at < len(self.lines):
                    self.lines[at] = spans
        else:
            self._read = None  # all at once: the whole is read soon

    def close(self) -> None:
        """There will be no more lines."""
        if not self.complete and self._lexer is not None and self._whole is None:
            self._read = None
            self._whole = iter(self._lexer.get_tokens_unprocessed("".join(line + "\n" for line in self._text)))

    def work(self, seconds: float = SLICE) -> range:
        """Reads on for about that long. Returns the lines whose colours have become known."""
        first, until = self._done, perf_counter() + seconds
        assert self._whole is not None
        try:
            while True:
                for _ in range(50):
                    _, token, text = next(self._whole)
                    self._put(text, _style(token))
                if perf_counter() > until:
                    break
        except StopIteration:
            self._put("\n", "")
            self.complete = True
        except Exception:  # a lexer of Pygments that stumbles over a text must not cost the text
            self.complete = True
        return range(first, self._done)

    def _put(self, text: str, style: str) -> None:
        for finished in _split(self._pending, text, style):
            if self._done < len(self.lines):
                self.lines[self._done] = tuple(finished)
                self._done += 1


class _Resumable:
    """Runs a lexer over a text that grows, from where and in what state it stopped."""

    def __init__(self, lexer: RegexLexer) -> None:
        self._lexer: RegexLexer | None = lexer
        self._rest = ""  # what is read again with the next lines: a token that may not be at its end
        self._stack = ["root"]
        self._line = 0  # the number of the line in which the rest begins
        self._before: list[list[Span]] = [[]]  # the known part of that line

    def feed(self, text: str) -> tuple[int, list[tuple[Span, ...]]]:
        """Reads on. Returns the number of the first line whose colours are known now, and those lines."""
        if self._lexer is None:
            return self._line, []
        text, first = self._rest + text, self._line
        context = LexerContext(text, 0, list(self._stack))
        at, token = len(text), Token.Text
        known: list[tuple[Span, ...]] = []
        try:
            for start, kind, part in _resumed(self._lexer, context):
                if start + len(part) == len(text) and "\n" in part and part.strip() and len(part) <= AGAIN:
                    at, token = start, kind
                    break
                known += map(tuple, _split(self._before, part, _style(kind)))
        except Exception:  # not every lexer can be stopped: the fence stays plain until it is complete
            self._lexer = None
            return first, []
        self._rest, self._line, self._stack = text[at:], first + len(known), list(context.stack)
        shown = [list(line) for line in self._before]
        for_now = list(map(tuple, _split(shown, self._rest, _style(token)))) if self._rest else []
        return first, known + for_now


def _resumed(lexer: RegexLexer, context: LexerContext) -> Iterator[tuple[int, _TokenType, str]]:
    """Runs a lexer from where the context says, which any lexer of states can: their tables have the same form."""
    run: Callable[..., Iterator[tuple[int, _TokenType, str]]] = ExtendedRegexLexer.get_tokens_unprocessed
    return run(lexer, context=context)


def _split(pending: list[list[Span]], text: str, style: str) -> Iterator[list[Span]]:
    """Puts a token's text behind the pending line; yields each line that it completes."""
    first, *others = text.split("\n")
    names = (style,) if style else ()
    if first:
        pending[-1].append((first, names))
    for other in others:
        yield pending.pop()
        pending.append([(other, names)] if other else [])


@lru_cache(maxsize=256)
def _style(token: _TokenType) -> str:
    kind: _TokenType | None = token
    while kind is not None:
        if kind in _STYLES:
            return _STYLES[kind]
        kind = kind.parent
    return ""


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    name = re.match(r"[\w+#.-]*", language.lower())
    try:
        return get_lexer_by_name(name[0], stripnl=False, ensurenl=False) if name and name[0] else None
    except ClassNotFound:
        return None
