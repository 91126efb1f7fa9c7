"""Lookahead decoding (Fu, Bailis, Stoica and Zhang 2024): the target drafts for itself, several positions at a time.

Jacobi iteration guesses a window of tokens ahead and lets the target improve all guesses in the decode that it makes
anyway. What the guesses went through is kept as n-grams by their first token; those that begin with the last committed
token are verified as branches of a draft. As a tree under the last committed token (`r`), with a window of W columns
and N - 1 rows:

    r - t1 - t2 - ... - t(W-1)        row 0: the oldest guesses, one behind the other
    |    |    |            |
    u0   u1   u2          u(W-1)      rows 1 to N - 2: each column's later guesses
    |    |    |            |
    v0   v1   v2          v(W-1)      the row behind a column's end is its newest guess

Each round drops row 0 and appends the newest guesses. A column gives the n-gram of its N tokens, newest included.
"""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from paceline.engine.acceptance import Bucket
from paceline.engine.drafters.base import Drafter, Outcome, Proposal, Worth
from paceline.engine.tree import ROOT, depths

COLUMNS, LENGTH = 5, 4  # W and N
POOL = 4096  # first tokens that are remembered
HOPED = 0.4  # tokens that a round's guesses bring later on, before it is known
MOVES = 0.1  # weight of a round in the running mean
GUESS: Bucket = ("guess", 0)


class LookaheadDrafter(Drafter):
    """Needs a backend that decodes trees. `ends`: how many of a tree's leaves there may be."""

    name = "lookahead"

    def __init__(self, ends: int) -> None:
        self._candidates = max(1, ends - COLUMNS)
        self._window: list[list[int]] = []  # row by row
        self._pool: OrderedDict[int, list[tuple[int, ...]]] = OrderedDict()  # by first token, latest last
        self._last = 0
        self._guessing: Proposal | None = None
        self._columns: list[list[int]] = []  # of the tree that was proposed: each column's tokens by index
        self._brought = HOPED
        self.enabled = ends > COLUMNS

    def extend(self, tokens: Sequence[int]) -> None:
        """The first tokens are the prompt's; the window begins as a copy of its end."""
        if not self._window and tokens:
            filling = list(tokens[-COLUMNS * LENGTH :])
            filling = (filling * (COLUMNS * LENGTH))[: COLUMNS * (LENGTH - 1)]
            self._window = [filling[row * COLUMNS : (row + 1) * COLUMNS] for row in range(LENGTH - 1)]
        if tokens:
            self._last = tokens[-1]

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """The known n-grams; and the same with the window, which is worth something in later rounds only."""
        tokens, parents = self._branches()
        keys: list[Bucket] = [("pool", min(LENGTH, depth) - 1) for depth in depths(parents)]
        offers: list[Proposal] = []
        if tokens:
            offers.append(Proposal(self.name, list(tokens), list(keys), parents=list(parents)))
        first = len(tokens)
        self._columns = self._grow_window(tokens, parents)
        keys += [GUESS] * (len(tokens) - first)
        self._guessing = None
        if self.enabled:
            self._guessing = Proposal(self.name, tokens, keys, parents=parents, whole=True, future=self._brought)
            offers.append(self._guessing)
        return offers

    def see(self, outcome: Outcome) -> None:
        """Take the newest guesses from the rows at the columns' ends."""
        draft = outcome.draft
        if "lookahead" in draft.drafters:
            stood = sum(draft.drafters[node] == self.name for node in outcome.path)
            self._brought += MOVES * (stood - self._brought)
        if self._guessing is None or list(draft.tokens) != list(self._guessing.tokens):
            return
        newest: list[int] = []
        for number, column in enumerate(self._columns):
            token = int(np.argmax(outcome.rows[1 + column[-1]]))
            newest.append(token)
            words = [draft.tokens[node] for node in column]
            if number == 0:
                words.insert(0, self._last)
            self._remember((*words, token))
        passed = min(len(outcome.path), COLUMNS - 1)  # the text went further than one column
        rows = [*self._window[1:], newest]
        self._window = [row[passed:] + row[COLUMNS - passed :] for row in rows]

    def _branches(self) -> tuple[list[int], list[int]]:
        """Known n-grams that begin with the last token, as a tree: tokens and parents."""
        tokens: list[int] = []
        parents: list[int] = []
        for words in reversed(self._pool.get(self._last, [])[-self._candidates :]):
            node = ROOT
            for word in words:
                known = [at for at, parent in enumerate(parents) if parent == node and tokens[at] == word]
                if not known:
                    tokens.append(word)
                    parents.append(node)
                node = known[0] if known else len(tokens) - 1
        return tokens, parents

    def _grow_window(self, tokens: list[int], parents: list[int]) -> list[list[int]]:
        """Append the window to the tree; the nodes of each column, from row 0 down (column 0: from row 1)."""
        columns: list[list[int]] = []
        trunk = ROOT
        for number in range(COLUMNS):
            column: list[int] = []
            if number:
                tokens.append(self._window[0][number])
                parents.append(trunk)
                trunk = len(tokens) - 1
                column.append(trunk)
            node = trunk
            for row in self._window[1:]:
                tokens.append(row[number])
                parents.append(node)
                node = len(tokens) - 1
                column.append(node)
            columns.append(column)
        return columns

    def _remember(self, words: tuple[int, ...]) -> None:
        first, rest = words[0], words[1:]
        known = self._pool.setdefault(first, [])
        if rest in known:
            known.remove(rest)
        known.append(rest)
        del known[: -2 * self._candidates]
        self._pool.move_to_end(first)
        while len(self._pool) > POOL:
            self._pool.popitem(last=False)
