"""Drafting with a small model whose tokens are others than the target's: drafts go through text.

What was committed is read with the draft's tokenizer, and what the draft goes on to say is written with the target's
(string-level exact match: Timor et al. 2025, "Accelerating LLM Inference with Lossless Speculative Decoding Algorithms
for Heterogeneous Vocabularies", algorithm 2). The draft says what it holds for likeliest, so the target sees a point
mass, and the rule of engine.verify for those makes it lossless, whatever was lost on the way through text.
"""

import codecs
import math
import time
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from paceline.engine.acceptance import Bucket, bucket, sureness
from paceline.engine.costs import CostModel
from paceline.engine.drafters.base import Proposal, Worth
from paceline.engine.drafters.model import DraftModel, OnDraftModel, confidence
from paceline.engine.kv import Slot
from paceline.engine.vocabulary import Vocabulary

OPEN = 64  # tokens of the draft's that are read again each time, at most
KEPT = 16  # and so many of them at least: far enough back that what follows does not change how a text is cut
CONTEXT = 8  # tokens of the target's before a draft that its text is written behind
UNSURE = 0.85  # of last tokens stay the same when the text goes on (measured: 80 % in code, 90 % in prose)
CANDIDATES = 64  # of the likeliest tokens one has to go on with a character that is half said
STUCK = 4  # tokens after which a text that the target cannot write is given up


class Reading:
    """The committed text as the draft's tokenizer reads it. Only its end is read again when more comes."""

    def __init__(self, target: Vocabulary, draft: Vocabulary) -> None:
        self._target, self._draft = target, draft
        self._controls = counterparts(target, draft)
        fim = target.fim()
        self._marks = (fim.prefix, fim.suffix, fim.middle) if fim is not None else ()
        self._spaced = _text_of(draft, draft.encode("a")).startswith(b" ")  # it puts a space before each text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ids: list[int] = [] if draft.bos is None else [draft.bos]
        self._settled = len(self._ids)  # tokens that stay as they are
        self._open = ""  # the text behind them
        self._fresh = True  # it stands at the beginning, or behind a control token
        self.lost = False  # a text with a hole in it was given to a draft that cannot infill

    @property
    def held(self) -> bytes:
        """The bytes of a character at the end that is not complete; `tokens` stops before it."""
        return self._decoder.getstate()[0]

    def extend(self, tokens: Sequence[int]) -> None:
        """The target's next tokens."""
        part: list[bytes] = []
        for token in tokens:
            if token in self._target.control:
                self._open += self._decoder.decode(b"".join(part), final=True)
                part.clear()
                self._control(self._controls.get(token))
                self.lost = self.lost or (token in self._marks and token not in self._controls)
            else:
                part.append(self._target.piece(token))
        self._open += self._decoder.decode(b"".join(part))

    def tokens(self) -> Sequence[int]:
        """The draft's tokens for everything so far. A list that the next call changes."""
        del self._ids[self._settled :]
        tail = self._encoded()
        self._ids += tail
        if len(tail) > OPEN:
            self._settle(tail)
        return self._ids

    def _control(self, token: int | None) -> None:
        """A control token ends a text for good; where the draft has none like it, the text goes on without."""
        if token is None:
            return
        del self._ids[self._settled :]
        self._ids += self._encoded()
        if not (token == self._draft.bos and self._ids == [token]):
            self._ids.append(token)
        self._settled, self._open, self._fresh = len(self._ids), "", True

    def _encoded(self) -> list[int]:
        """Tokens of the open text. A tokenizer's space in front belongs where a text begins, and nowhere else."""
        text = self._open
        if not text:
            return []
        if self._fresh or not self._spaced:
            return self._draft.encode(text)
        before = b"a" if text[0].isspace() else b"\n"
        return continuation(self._draft, before, text.encode()) or self._draft.encode(text)

    def _settle(self, tail: Sequence[int]) -> None:
        """Read only the last few tokens' text again, beginning at a word: there no tokenizer joins what is apart."""
        text, last = self._open.encode(), len(tail) - KEPT
        sizes = [len(self._draft.piece(token)) for token in tail]
        spare = sum(sizes) - len(text)  # the space that the tokenizer has put in front
        starts = [start - spare for start in accumulate(sizes, initial=0)]
        words = (i for i in range(last, last - KEPT, -1) if _is_word(text, starts[i]))
        cut = next(words, last)
        while cut < len(tail) and not _is_border(text, starts[cut]):
            cut += 1
        self._settled += cut
        self._open, self._fresh = text[starts[cut] :].decode(), False


class Saying:
    """What the draft has said in this round, and how the target would write it."""

    def __init__(self, target: Vocabulary, before: Sequence[int], held: bytes) -> None:
        """before: the last tokens of the target's. held: bytes of theirs that begin what the draft says."""
        self._target = target
        self._before = _text_of(target, before)
        while self._before and self._before[0] & 0xC0 == 0x80:  # it begins within a character
            self._before = self._before[1:]
        self._held = held
        self._text = b""
        self._ends: list[int] = []  # of the draft's tokens in the text
        self._chances: list[float] = []
        self._end: tuple[int, float] | None = None

    @property
    def count(self) -> int:
        """Tokens of the draft's."""
        return len(self._ends)

    @property
    def wanted(self) -> bytes:
        """The bytes that must come next: the rest of a character whose beginning the target has said."""
        return self._held[len(self._text) :]

    def say(self, piece: bytes, chance: float) -> None:
        """The draft's next token, and how sure it was of it."""
        self._text += piece
        self._ends.append(len(self._text))
        self._chances.append(chance)

    def end(self, token: int, chance: float) -> None:
        """The draft ended its answer; the token with which the target would."""
        self._end = token, chance

    def written(self) -> tuple[list[int], list[Bucket]]:
        """The target's tokens for it, whole characters only, and what their acceptance is estimated by.

        Of a token that the draft said in several parts, or as a part, the chance is that of all the parts. The last
        one may become another when the text goes on, unless the answer ends with it.
        """
        text = _whole(self._text)[len(self._held) :]
        tokens = self._tokens(text) if text else []
        chances = self._spread([len(self._target.piece(token)) for token in tokens])
        if tokens and self._end is None:
            chances[-1] *= UNSURE
        if self._end is not None and len(text) == len(self._text) - len(self._held) and (tokens or not text):
            tokens, chances = [*tokens, self._end[0]], [*chances, self._end[1]]
        return tokens, [bucket("draft", sureness(chance)) for chance in chances]

    def _tokens(self, text: bytes) -> list[int]:
        """As the text goes on behind what was committed; by itself, where a token would reach across."""
        for before in (self._before, b"") if not self._held else (self._before,):
            tokens = continuation(self._target, before, text)
            if tokens:
                return tokens
        return []

    def _spread(self, lengths: Sequence[int]) -> list[float]:
        """The chance of each of the target's tokens, given their bytes."""
        begins, chances, start = [0, *self._ends], [], len(self._held)
        for length in lengths:
            end = start + length
            parts = (chance for i, chance in enumerate(self._chances) if begins[i] < end and begins[i + 1] > start)
            chances.append(math.prod(parts))
            start = end
        return chances


class UniversalDrafter(OnDraftModel):
    """Drafts for one request with a model of another vocabulary."""

    def __init__(self, model: DraftModel, target: Vocabulary, costs: CostModel | None = None) -> None:
        """target: the vocabulary in which it is asked and answers.

        costs: of a decode of the draft model at first, then of what one of the target's tokens takes.
        """
        super().__init__(model, costs)
        self._target = target
        self._unread: list[int] = []
        self._before: list[int] = []
        self._reading: Reading | None = None  # made with the draft's vocabulary, which is loaded when first asked for

    @property
    def backlog(self) -> int:
        """Committed tokens that the draft model has not read."""
        return len(self._unread)

    def extend(self, tokens: Sequence[int]) -> None:
        """Committed tokens; they are read when a draft is asked for."""
        self._unread.extend(tokens)
        self._before = [*self._before, *tokens[-CONTEXT:]][-CONTEXT:]

    def propose(self, limit: int, worth: Worth) -> Sequence[Proposal]:
        """Draft until `worth` says that one more token does not pay. Raises PacelineError, DecodeAborted."""
        draft = self._model.backend
        began = time.perf_counter()  # loading the model is not what a draft costs
        reading = self._read(draft.vocabulary)
        known = reading.tokens()
        room = draft.capabilities.n_ctx - len(known) - 1
        if limit < 1 or room < 1 or not known or reading.lost:
            return ()
        saying = Saying(self._target, self._before, reading.held)
        tokens, buckets = self._draft(saying, known, limit, min(room, STUCK * limit), worth)
        if not tokens:
            return ()
        tokens, buckets = tokens[:limit], buckets[:limit]
        spent = (time.perf_counter() - began) * 1000
        if self.costs is not None:
            self.costs.observe(1, spent / len(tokens))
        return (Proposal(self.name, tokens, buckets, None, spent),)

    def _read(self, vocabulary: Vocabulary) -> Reading:
        if self._reading is None:
            self._reading = Reading(self._target, vocabulary)
        self._reading.extend(self._unread)
        self._unread.clear()
        return self._reading

    def _draft(
        self, saying: Saying, known: Sequence[int], limit: int, most: int, worth: Worth
    ) -> tuple[list[int], list[Bucket]]:
        """The target's tokens and their buckets; most: tokens of the draft's."""
        vocabulary = self._model.backend.vocabulary
        if self._slot is None:
            self._slot = self._model.acquire(known)
        new = known[self._slot.keep_prefix_of(known) :]
        while True:
            row = self._decode(self._slot, new)
            token = _likeliest(row, vocabulary, saying.wanted)
            if token is None:
                return saying.written()
            chance, piece = confidence(row, token), vocabulary.piece(token)
            if token in vocabulary.end_of_generation:
                end = ending(self._target, vocabulary, token)
                if end is not None:
                    saying.end(end, chance)
                return saying.written()
            if not piece:  # a control token, or padding: nothing that can be written
                return saying.written()
            saying.say(piece, chance)
            tokens, buckets = saying.written()
            stuck = not tokens and saying.count >= STUCK
            if stuck or len(tokens) >= limit or saying.count >= most or (tokens and not worth(buckets)):
                return tokens, buckets
            new = [token]

    def _decode(self, slot: Slot, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The last token's logits."""
        self._model.make_room(len(tokens))
        return np.asarray(slot.decode(tokens, outputs=1)[-1])


def counterparts(source: Vocabulary, other: Vocabulary) -> Mapping[int, int]:
    """Control tokens of one vocabulary that another has too: by their text, by their role in infilling, or as ends."""
    texts = {other.read_text(token): token for token in other.control}
    found = dict.fromkeys(source.end_of_generation & source.control, other.eos)
    ours, theirs = source.fim(), other.fim()
    if ours is not None and theirs is not None and ours.suffix_first == theirs.suffix_first:
        for name in ("prefix", "suffix", "middle", "pad", "repository", "separator"):
            token = getattr(ours, name)
            if token is not None:
                found[token] = getattr(theirs, name)
    found.update({token: texts[text] for token in source.control if (text := source.read_text(token)) in texts})
    return {token: same for token, same in found.items() if same is not None}


def ending(target: Vocabulary, draft: Vocabulary, token: int) -> int | None:
    """The token that ends the target's answer as this one ends the draft's."""
    text = draft.read_text(token)
    same = (end for end in sorted(target.end_of_generation) if target.read_text(end) == text)
    return next(same, target.eos if target.eos in target.end_of_generation else None)


def continuation(vocabulary: Vocabulary, before: bytes, text: bytes) -> list[int] | None:
    """Tokens of the text as it goes on behind `before`, byte for byte; None where none begins just there."""
    try:
        tokens = vocabulary.encode((before + text).decode())
    except UnicodeDecodeError:  # what was committed is no text
        return None
    pieces = [vocabulary.piece(token) for token in tokens]
    joined = b"".join(pieces)
    border = len(joined) - len(text)  # a tokenizer may have put a space in front
    ends = list(accumulate(map(len, pieces), initial=0))
    if border < 0 or border not in ends or joined[border:] != text:
        return None
    return tokens[ends.index(border) :]


def _likeliest(row: NDArray[np.float32], vocabulary: Vocabulary, wanted: bytes) -> int | None:
    """The token with the highest logit, of those that go on with the wanted bytes if there are any."""
    if not wanted:
        return int(row.argmax())
    few = np.argpartition(row, -min(CANDIDATES, len(row)))[-CANDIDATES:]
    for token in few[np.argsort(-row[few])].tolist():
        piece = vocabulary.piece(token)
        if piece and (piece.startswith(wanted) or wanted.startswith(piece)):
            return int(token)
    return None


def _text_of(vocabulary: Vocabulary, tokens: Sequence[int]) -> bytes:
    return b"".join(map(vocabulary.piece, tokens))


def _whole(data: bytes) -> bytes:
    """The longest beginning that is valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start]
    return data


def _is_word(text: bytes, at: int) -> bool:
    """Whether a word begins there, with its space."""
    return at > 0 and text[at : at + 1] == b" " and bool(text[at + 1 : at + 2].strip())


def _is_border(text: bytes, at: int) -> bool:
    """Whether a character begins there."""
    return 0 < at <= len(text) and (at == len(text) or text[at] & 0xC0 != 0x80)
