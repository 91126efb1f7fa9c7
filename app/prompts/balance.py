"""How well brackets match."""

import re

_BRACKET = re.compile(r"[()\[\]{}]")
_OPENER = {")": "(", "]": "[", "}": "{"}


def imbalance(text: str) -> int:
    """Number of brackets without a partner. Strings and comments are read like code: only differences mean much."""
    unmatched, open_brackets = 0, list[str]()
    for bracket in _BRACKET.findall(text):
        if bracket not in _OPENER:
            open_brackets.append(bracket)
        elif open_brackets and open_brackets[-1] == _OPENER[bracket]:
            open_brackets.pop()
        else:
            unmatched += 1
    return unmatched + len(open_brackets)


def opened(text: str) -> int:
    """How many more brackets the text opens than it closes; strings and comments are read like code."""
    return sum(-1 if bracket in _OPENER else 1 for bracket in _BRACKET.findall(text))
