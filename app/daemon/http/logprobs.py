"""Log-probabilities in step with the text: a token is told when the text it begins is."""

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.daemon.http.answers import ChatLogprobs, LlamaProbability, LlamaTop, TextLogprobs, TokenLogprob, Top
from paceline.daemon.http.choice import token_text
from paceline.engine.sequence import Chosen
from paceline.engine.vocabulary import Vocabulary
from paceline.text import Utf8Stream


@dataclass(frozen=True)
class Placed:
    """A token of the answer and the character at which it begins."""

    chosen: Chosen
    offset: int


class Trail:
    """The tokens of one answer.

    The one that ends an answer begins where its text is over, and those that a stop string took away begin behind it:
    they are never told.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._utf8 = Utf8Stream()
        self._length = 0  # characters of all tokens so far
        self._waiting: list[Placed] = []

    def add(self, chosen: Chosen) -> None:
        """The next token."""
        self._waiting.append(Placed(chosen, self._length))
        self._length += len(self._utf8.feed(self._vocabulary.piece(chosen.token)))

    def up_to(self, length: int) -> list[Placed]:
        """The tokens not told yet that begin within the first `length` characters of the answer."""
        count = next((at for at, each in enumerate(self._waiting) if each.offset >= length), len(self._waiting))
        told, self._waiting = self._waiting[:count], self._waiting[count:]
        return told


def for_chat(tokens: Sequence[Placed], vocabulary: Vocabulary) -> ChatLogprobs:
    """As OpenAI's chat tells them."""

    def entry(token: int, logprob: float) -> Top:
        data = token_text(vocabulary, token)
        return Top(token=data.decode("utf-8", "replace"), logprob=logprob, bytes=list(data))

    content = []
    for each in tokens:
        own = entry(each.chosen.token, each.chosen.logprob)
        tops = [entry(*other) for other in each.chosen.alternatives]
        content.append(TokenLogprob(token=own.token, logprob=own.logprob, bytes=own.bytes, top_logprobs=tops))
    return ChatLogprobs(content=content)


def for_text(tokens: Sequence[Placed], vocabulary: Vocabulary, begin: int) -> TextLogprobs:
    """As OpenAI's completions tell them. `begin`: characters of the prompt that are in front of the answer."""

    def text(token: int) -> str:
        return token_text(vocabulary, token).decode("utf-8", "replace")

    return TextLogprobs(
        tokens=[text(each.chosen.token) for each in tokens],
        token_logprobs=[each.chosen.logprob for each in tokens],
        top_logprobs=[{text(token): value for token, value in each.chosen.alternatives} for each in tokens],
        text_offset=[begin + each.offset for each in tokens],
    )


def for_llama(tokens: Sequence[Placed], vocabulary: Vocabulary) -> list[LlamaProbability]:
    """As llama.cpp's server tells them."""

    def entry(token: int, logprob: float) -> LlamaTop:
        data = token_text(vocabulary, token)
        return LlamaTop(id=token, token=data.decode("utf-8", "replace"), bytes=list(data), logprob=logprob)

    found = []
    for each in tokens:
        own = entry(each.chosen.token, each.chosen.logprob)
        tops = [entry(*other) for other in each.chosen.alternatives]
        found.append(
            LlamaProbability(id=own.id, token=own.token, bytes=own.bytes, logprob=own.logprob, top_logprobs=tops)
        )
    return found
