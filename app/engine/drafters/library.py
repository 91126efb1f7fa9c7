"""Texts that are kept at hand between requests, each in an index: conversations, files, what was generated lately."""

import sys
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count

from paceline.engine.drafters.suffix import SuffixIndex, common_prefix

Reference = tuple[str, Sequence[int]]  # name and tokens

MOST = 64  # texts that are kept, however short they are
FOLLOWED = 8  # texts that a request looks into beside its own; following one costs half a microsecond a token
LOST = 0.25  # share of a text that a new one may lack and still go on with its index
WASTE = 2.0  # times a text's length that its index may grow to by that
AT_ONCE = 4096  # tokens that are indexed when a request begins, of its prompt and of its files; some 15 ms each
PORTION = 2048  # and in each step after that; some 6 ms


class Library:
    """Indexes that outlive requests, at most so many tokens together; the least recently used goes first.

    An engine has one, and uses it on its thread only. Two kinds of text are in it, by number and by name: what
    requests left behind (prompt and answer), and the files that they refer to.
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        """limit: in tokens. One takes about 100 bytes."""
        self._limit = limit
        self._kept: OrderedDict[int | str, SuffixIndex] = OrderedDict()  # least recently used first
        self._unread: dict[str, array[int]] = {}  # what is not yet indexed of a file
        self._numbers = count()

    @property
    def n_tokens(self) -> int:
        """Tokens that are kept."""
        return sum(len(index.tokens) for index in self._kept.values())

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return sum(index.nbytes for index in self._kept.values())

    def checkout(self, prompt: Sequence[int], most: int = sys.maxsize) -> SuffixIndex:
        """The index of the kept text that this prompt goes on with, extended by the rest, or a new one.

        Until it is given back it is nobody else's. A text of which only the end is different now (an answer that was
        cut, a word that is being typed) will do: what they have in common is not indexed again. most: no more tokens of
        the rest are indexed now; the index's text then is the prompt's beginning.
        """
        new = array("i", prompt)
        best, longest = None, 0
        for key, index in self._kept.items():
            if isinstance(key, int):
                text = index.text
                same = common_prefix(text, new)
                if same >= max(longest, 1) and _fits(index, len(text) - same, same, len(new)):
                    best, longest = key, same
        if best is None:
            return SuffixIndex(new[:most])
        index = self._kept.pop(best)
        index.rewrite(new[: longest + most])
        return index

    def give_back(self, index: SuffixIndex) -> None:
        """Keep the index for who goes on with its text."""
        self._kept[next(self._numbers)] = index
        self._evict()

    def reference(self, name: str, tokens: Sequence[int], most: int = AT_ONCE) -> SuffixIndex:
        """The index of a file. It is made once, and what is new is added when the file has grown or its end was
        changed. Beyond `most` tokens that is done bit by bit (`read_on`).
        """
        return self._referred(name, tokens, most)[0]

    def _referred(self, name: str, tokens: Sequence[int], most: int) -> tuple[SuffixIndex, int]:
        """The index, and how many tokens were added to it."""
        new = array("i", tokens)
        index = self._kept.pop(name, None) or SuffixIndex()
        text = index.text
        same = common_prefix(text, new)
        if not _fits(index, len(text) - same, same, len(new)):
            index, same = SuffixIndex(), 0
        index.rewrite(new[:same])
        index.extend(new[same : same + most])
        self._unread.pop(name, None)
        if same + most < len(new):
            self._unread[name] = new[same + most :]
        self._kept[name] = index
        self._evict()
        return index, min(most, len(new) - same)

    def read_on(self) -> None:
        """Index a little of the files that were put off."""
        if not self._unread:
            return
        name, rest = next(iter(self._unread.items()))
        if name in self._kept:
            self._kept[name].extend(rest[:PORTION])
            del rest[:PORTION]
            self._evict()
        if not rest or name not in self._kept:
            del self._unread[name]

    def sources(self, references: Sequence[Reference] = ()) -> list[tuple[str, SuffixIndex]]:
        """What a request should look into beside its own text, as kinds of evidence (engine.acceptance) and indexes:
        the files it refers to, and what other requests left behind, the latest first.
        """
        files, left = list[tuple[str, SuffixIndex]](), AT_ONCE
        for name, tokens in references[:FOLLOWED]:
            index, read = self._referred(name, tokens, left)
            left -= read
            files.append(("file", index))
        others = [("past", index) for key, index in reversed(self._kept.items()) if isinstance(key, int)]
        return files + others[: FOLLOWED - len(files)]

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()
        self._unread.clear()

    def _evict(self) -> None:
        total = self.n_tokens
        while total > self._limit or len(self._kept) > MOST:
            _, index = self._kept.popitem(last=False)
            total -= len(index.tokens)


def _fits(index: SuffixIndex, lost: int, same: int, new: int) -> bool:
    """Whether a text of `new` tokens is best added to this index, whose text shares the first `same` tokens with it and
    has `lost` others.
    """
    grown = len(index.tokens) + index.OVERLAP + new - same
    return not lost or (lost <= LOST * (same + lost) and grown <= WASTE * new)
