"""Texts that come along with one request after the other, as tokens. They only help to guess: none is ever refused."""

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence

from paceline.engine.vocabulary import Vocabulary
from paceline.text import replace_surrogates

Named = Sequence[tuple[str, str]]  # names and texts
CHARACTERS = 8  # of a text are read for each token that may come of it; code and prose have three to five
KEPT_TOKENS = 2**18  # of all texts together
ENTRY = 64  # tokens that keeping a text costs besides its own
MARK = 8  # hexadecimal digits that tell pieces of one file apart


class Tokenized:
    """Remembers the tokens of texts by their content, within KEPT_TOKENS: what was not asked for longest goes first.

    For any thread. A text is tokenized as it would stand in an answer: texts of control tokens are plain text.
    """

    def __init__(self, most: int) -> None:
        """most: tokens that are made of one text, or of one request's texts together. Longer ones are cut."""
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[int, bytes], Sequence[int]] = OrderedDict()
        self._size = 0

    def tokens(self, text: str, vocabulary: Vocabulary) -> Sequence[int]:
        """The beginning of a text. The same object as long as it is remembered."""
        beginning = replace_surrogates(text[: self._most * CHARACTERS])
        key = id(vocabulary), hashlib.blake2b(beginning.encode(), digest_size=16).digest()
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        found = tuple(vocabulary.encode(beginning)[: self._most]) if beginning else ()
        with self._lock:
            self._keep(key, found)
        return found

    def together(self, texts: Named, vocabulary: Vocabulary) -> list[tuple[str, Sequence[int]]]:
        """Texts under their names, as many as there is room for. A name that several share is told apart by content."""
        texts = [(name, text) for name, text in dict.fromkeys(texts) if text]
        shared = {name for name, count in Counter(name for name, _ in texts).items() if count > 1}
        room, found = self._most, list[tuple[str, Sequence[int]]]()
        for name, text in texts:
            tokens = self.tokens(text, vocabulary)[:room]
            room -= len(tokens)
            found.append((_marked(name, text) if name in shared else name, tokens))
            if not room:
                break
        return found

    def _keep(self, key: tuple[int, bytes], tokens: Sequence[int]) -> None:
        if key in self._known:  # another thread was faster
            return
        self._known[key] = tokens
        self._size += len(tokens) + ENTRY
        while self._size > KEPT_TOKENS:
            _, gone = self._known.popitem(last=False)
            self._size -= len(gone) + ENTRY


def _marked(name: str, text: str) -> str:
    digest = hashlib.blake2b(replace_surrogates(text).encode(), digest_size=MARK // 2)
    return f"{name}#{digest.hexdigest()}"
