"""Cutting a document to a budget of tokens, at lines where that is possible."""

from collections.abc import Callable, Sequence

from paceline.prompts.lines import line_starts

WINDOW = 8  # characters looked at for each token of a budget; more of them than that in a token are rare


def cut_head(text: str, budget: int, count: Callable[[str], int]) -> int:
    """Offset from which on the text fits into the budget of tokens; 0 when all of it does.

    The cut stands at the beginning of a line, unless a line is longer than a good part of the budget. It moves in
    large steps, counted from the document's beginning: while somebody types at the end, the cut mostly stays where it
    is, and so does everything cached after it.
    """
    if len(text) <= WINDOW * budget and count(text) <= budget:
        return 0
    step = max(1, budget)  # characters, so about a quarter of what fits
    first = max(1, -(-(len(text) - WINDOW * budget) // step))
    marks = [_line_at(text, mark * step, step) for mark in range(first, -(-len(text) // step))] + [len(text)]
    return marks[_first(marks, lambda mark: count(text[mark:]) <= budget)]


def _line_at(text: str, mark: int, step: int) -> int:
    """The first beginning of a line within a step after the mark; else the mark. Never inside of a CRLF."""
    starts = line_starts(text[mark - 1 : mark + step])
    at = mark - 1 + starts[0] if starts else mark
    return at + 1 if text[at - 1 : at + 1] == "\r\n" else at


def cut_tail(text: str, budget: int, count: Callable[[str], int]) -> int:
    """Offset up to which the text fits into the budget of tokens: after a whole line, or, where not even the first
    one fits, within it.
    """
    window = text[: WINDOW * budget]
    if len(window) == len(text) and count(text) <= budget:
        return len(text)

    def longest(ends: Sequence[int]) -> int:
        fits = _first(ends, lambda end: count(text[:end]) > budget)
        return ends[fits - 1] if fits else 0

    return longest(line_starts(window)) or longest(range(len(window) + 1))


def _first(candidates: Sequence[int], holds: Callable[[int], bool]) -> int:
    """Index of the first candidate for which it holds, given that it goes on to hold; their number if for none."""
    low, high = 0, len(candidates)
    while low < high:
        half = (low + high) // 2
        if holds(candidates[half]):
            high = half
        else:
            low = half + 1
    return low
