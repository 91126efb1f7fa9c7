"""Answers that keep to a grammar: JSON, a JSON schema, or llama.cpp's GBNF. llguidance computes the masks.

The mask of each step is exact: every token whose bytes the grammar can go on with, not only the usual way to cut the
text into tokens, so that the final distribution is the model's own, restricted to the grammar.
"""

import copy
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from paceline.engine.gbnf import to_lark
from paceline.engine.sampler import Ids
from paceline.engine.vocabulary import Vocabulary
from paceline.errors import EngineError, InputError, ModelError

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLParserLimits, LLTokenizer

MAX_CHARACTERS = 128 * 1024  # of a schema or grammar
MAX_DEPTH = 100  # of a schema; the parser behind it goes to 128
HEADER = '%llguidance {"no_forcing": true}\n'  # forcing would allow one way only to cut a forced text into tokens
# A blank, or a line's end and an indentation, as in llama.cpp's schemas: without a bound a model may go on and on.
WHITESPACE = r"\x20|\n{1,2}[\x20\t]{0,20}"
OPTIONS = {
    "whitespace_flexible": True,
    "whitespace_pattern": WHITESPACE,
    "lenient": False,
    "coerce_one_of": False,
    "json_allow_general_unicode_escapes": True,  # \u00e9, as many writers of JSON have it
}
SIMPLER = "give it fewer choices, optional properties, or repetitions inside each other"
WHERE = re.compile(r"^(at )?\d+\(\d+\): (failed to (compile|parse)[^:]*: )?")  # in a text that nobody but us has seen


@dataclass(frozen=True)
class Grammar:
    """What an answer may look like. Made by one of the constructors; it has been checked, so it can be used.

    `text` is llguidance's Lark.
    """

    kind: Literal["json_object", "json_schema", "gbnf"]
    text: str = field(repr=False)

    @classmethod
    def json_object(cls) -> "Grammar":
        """Any JSON object: OpenAI's `response_format: {"type": "json_object"}`."""
        return cls("json_object", _schema_text({"type": "object"}))

    @classmethod
    def json_schema(cls, schema: Mapping[str, Any]) -> "Grammar":
        """JSON that a schema (draft 2020-12) describes; an object's properties come in the schema's order.

        Raises InputError when the schema is wrong, unsatisfiable, too large, or uses a keyword that cannot be enforced.
        """
        grammar = cls("json_schema", _schema_text(schema))
        _check(grammar.text, "the JSON schema cannot be used")
        return grammar

    @classmethod
    def gbnf(cls, text: str) -> "Grammar":
        """What a grammar in llama.cpp's notation describes, from its rule `root`. Raises InputError."""
        _bounded(text, "grammar")
        grammar = cls("gbnf", HEADER + to_lark(text))
        _check(grammar.text, "the grammar cannot be used")
        return grammar


class GrammarVocabulary:
    """A vocabulary prepared for grammars: one for each model, shared by its requests and threads.

    The preparation takes about half a second for 152k tokens and is done at first use.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._lock = threading.Lock()
        self._tokenizer: LLTokenizer | None = None

    def matcher(self, grammar: Grammar) -> "LLMatcher":
        """A matcher at the grammar's beginning. Raises ModelError when no token of the model ends an answer."""
        from llguidance import LLMatcher

        with self._lock:
            self._tokenizer = self._tokenizer or self._prepare()
        return LLMatcher(self._tokenizer, grammar.text, log_level=0, limits=_limits())

    def _prepare(self) -> "LLTokenizer":
        from llguidance import LLTokenizer, TokenizerWrapper

        if not self.vocabulary.end_of_generation:
            raise ModelError("the model has no token that ends an answer, so it cannot keep to a grammar")
        tokens: Any = _Tokens(self.vocabulary)
        return LLTokenizer(
            TokenizerWrapper(tokens), self.vocabulary.n_tokens, sorted(self.vocabulary.end_of_generation)
        )


class _Tokens:
    """A vocabulary as llguidance wants to see it (its TokenizerWrapper)."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        special = vocabulary.control | vocabulary.end_of_generation
        self.bos_token_id = None
        self.eos_token_id = min(vocabulary.end_of_generation)
        self.special_token_ids = sorted(special)  # no text matches these
        self.tokens = [
            vocabulary.text_of(token).encode(errors="replace") if token in special else piece
            for token, piece in enumerate(vocabulary.pieces)
        ]
        self._encode = vocabulary.encode

    def __call__(self, text: bytes) -> list[int]:
        return self._encode(text.decode(errors="replace"))


class GrammarConstraint:
    """sampler.Constraint: the tokens with which the answer so far can go on to something that the grammar describes.

    End-of-generation tokens are among them exactly where the grammar may end; other control tokens never are.
    Belongs to one request and one thread at a time. Raises InputError when the grammar cannot even begin.
    """

    def __init__(self, grammar: Grammar, vocabulary: GrammarVocabulary) -> None:
        self._n_tokens = vocabulary.vocabulary.n_tokens
        self._ends = sorted(vocabulary.vocabulary.end_of_generation)
        self._ended = False
        self._matcher = vocabulary.matcher(grammar)
        self._allowed: Ids | None = None
        if self._matcher.is_error():
            raise InputError("the grammar cannot be used: " + _reason(self._matcher.get_error()))
        try:
            empty = not len(self.allowed())
        except EngineError as error:
            empty = "NoExtension" in self._matcher.get_error()
            if not empty:
                raise InputError("the grammar is too complex", SIMPLER) from error
        if empty:
            raise InputError("the grammar describes no text at all", "look for a rule that only leads to itself")

    def allowed(self) -> Ids:
        """Ids that may come next, rising; not to be written to. Raises EngineError when the grammar is too complex."""
        if self._allowed is None:
            mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
            self._raise_if_too_complex()
            bits = np.unpackbits(mask, bitorder="little", count=self._n_tokens)
            self._allowed = _read_only(np.flatnonzero(bits))
        return self._allowed

    def advance(self, token: int) -> None:
        """A token was chosen. Raises EngineError when it was not allowed, or the grammar is too complex."""
        ends = token in self._ends
        if not (token in self.allowed() if ends or self._ended else self._matcher.validate_tokens([token])):
            self._raise_if_too_complex()
            raise EngineError("a token came that the grammar does not allow")
        if ends:
            self._ended, self._allowed = True, _read_only(self._ends)
        else:
            self._allowed = None
            self._matcher.consume_token(token)
            self._raise_if_too_complex()

    def copy(self) -> "GrammarConstraint":
        """An independent constraint in the same state, for tokens that may be taken back."""
        twin = copy.copy(self)
        twin._matcher = self._matcher.deep_copy()
        return twin

    def _raise_if_too_complex(self) -> None:
        """The bounds are all that can end a step badly. llguidance's text is kept: it may hold parts of the answer."""
        if self._matcher.is_error():
            raise EngineError("the grammar became too complex", SIMPLER)


def _read_only(ids: ArrayLike) -> Ids:
    array = np.array(ids, np.int32)
    array.flags.writeable = False
    return array


def _schema_text(schema: Mapping[str, Any]) -> str:
    if not isinstance(schema, Mapping):
        raise InputError("a JSON schema must be an object", 'such as {"type": "object"}')
    if _deeper_than(schema, MAX_DEPTH):
        raise InputError(f"the JSON schema is nested more than {MAX_DEPTH} levels deep", "use $defs and $ref")
    try:
        text = json.dumps({**schema, "x-guidance": OPTIONS}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the JSON schema is not JSON: {error}") from error
    _bounded(text, "JSON schema")
    return f"{HEADER}start: %json {text}\n"


def _deeper_than(value: object, depth: int) -> bool:
    """Whether containers are inside each other more than so deep."""
    level: list[object] = [value]
    for _ in range(depth):
        inside: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                inside += each.values()
            elif isinstance(each, list | tuple):
                inside += each
        level = [each for each in inside if isinstance(each, Mapping | list | tuple)]
        if not level:
            return False
    return True


def _bounded(text: str, what: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"the {what} has more than {MAX_CHARACTERS} characters")


def _check(text: str, what: str) -> None:
    from llguidance import LLMatcher

    error = LLMatcher.validate_grammar(text, limits=_limits())
    if error and not error.startswith("WARNING"):
        raise InputError(f"{what}: {_reason(error)}", "remove or simplify what it names")


def _reason(error: str) -> str:
    """The first line that llguidance gave."""
    first = WHERE.sub("", error.strip().split("\n")[0])
    return "it is too large" if "panic" in first else first


def _limits() -> "LLParserLimits":
    """Bounds on time and memory: 40 MB of lexer states, and about 100 ms for a mask."""
    from llguidance import LLParserLimits

    return LLParserLimits(max_lexer_states=20_000, max_grammar_size=100_000, verbose_errors=False)
