"""Grammars over the small vocabulary: whether they have a text, and random ways through them."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from paceline.engine.grammar import Grammar, GrammarConstraint, GrammarVocabulary
from paceline.errors import EngineError, InputError
from support.small_vocabulary import small_vocabulary

SMALL = GrammarVocabulary(small_vocabulary())
PIECES = SMALL.vocabulary.pieces
ENDS = SMALL.vocabulary.end_of_generation


def constraint(grammar: Grammar) -> GrammarConstraint:
    return GrammarConstraint(grammar, SMALL)


def accepts(grammar: Grammar, text: str) -> bool:
    """Whether the grammar has exactly this text, told byte by byte."""
    at = constraint(grammar)
    for byte in text.encode():
        if byte not in at.allowed():
            return False
        at.advance(byte)
    return bool(ENDS & set(at.allowed().tolist()))


def walk(grammar: Grammar, seed: int, limit: int = 400) -> tuple[list[int], GrammarConstraint]:
    """Tokens taken at random from what is allowed, until one ends the answer, and the constraint before the last."""
    random = np.random.default_rng(seed)
    at, tokens = constraint(grammar), []
    while len(tokens) < limit:
        token = int(random.choice(at.allowed()))
        if token in ENDS:
            return tokens, at
        tokens.append(token)
        at.advance(token)
    pytest.fail("it never ends")


def text_of(tokens: Iterable[int]) -> bytes:
    return b"".join(PIECES[token] for token in tokens)


def take_some_steps(make: Callable[[], Grammar]) -> None:
    """Make a grammar and go into it. Errors of ours, early or late, are fine."""
    random = np.random.default_rng(0)
    try:
        at = constraint(make())
        for _ in range(30):
            token = int(random.choice(at.allowed()))
            if token in ENDS:
                break
            at.advance(token)
    except (InputError, EngineError) as error:
        assert "\n" not in error.message
