"""Answers that keep to a grammar: masks against a slow twin, schemas against another library, whole answers."""

import json
import re
import threading
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from paceline.engine.grammar import MAX_CHARACTERS, Grammar, GrammarConstraint, GrammarVocabulary
from paceline.engine.llama import LlamaBackend
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Request
from paceline.errors import EngineError, InputError, ModelError
from paceline.plan import LoadOptions
from support.driving import answer, running
from support.fake_backend import FakeBackend, byte_vocabulary
from support.grammars import ENDS, PIECES, SMALL, accepts, constraint, take_some_steps, text_of, walk
from support.small_vocabulary import OTHER_END, PAD, START, small_vocabulary

PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Person",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "kind": {"enum": ["friend", "foe", None]},
        "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
        "inner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/point"}]},
    },
    "required": ["name", "age", "kind", "inner"],
    "additionalProperties": False,
    "$defs": {
        "point": {
            "type": "object",
            "properties": {"x": {"type": "integer", "minimum": -9, "maximum": 9}},
            "required": ["x"],
            "additionalProperties": False,
        }
    },
}


class Point(msgspec.Struct, forbid_unknown_fields=True):
    x: Annotated[int, Meta(ge=-9, le=9)]


class Person(msgspec.Struct, forbid_unknown_fields=True):
    """PERSON once more, for a library that knows nothing about ours."""

    name: Annotated[str, Meta(min_length=1, max_length=6)]
    age: Annotated[int, Meta(ge=0, le=150)]
    kind: Literal["friend", "foe"] | None
    inner: Point | None
    tags: Annotated[list[bool], Meta(max_length=3)] = []


ARITHMETIC = r"""
# from llama.cpp's examples
root  ::= (expr "=" ws term "\n"){1,2}
expr  ::= term ([-+*/] term){0,2}
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]{0,3} ws
num   ::= [0-9]{1,3} ws
ws    ::= | " "
"""
LIST = """
root ::= item{1,3}
item ::= "- " [^\\n\\x00-\\x1F\\x7F]{1,10} "\\n"   # one line
"""


# --- masks


@pytest.mark.parametrize(
    "grammar",
    [
        Grammar.json_object(),
        Grammar.json_schema(PERSON),
        Grammar.json_schema({"type": "string", "pattern": "^a(ab)*é?$"}),
        Grammar.gbnf(ARITHMETIC),
        Grammar.gbnf('root ::= [a-b]+ "end" | "a" . "世"? [^a-z]*'),
    ],
    ids=["object", "schema", "pattern", "arithmetic", "ambiguous"],
)
def test_a_mask_holds_what_goes_on_byte_by_byte_and_nothing_else(grammar):
    """The twin never sees a token of more than a byte: it tries each token's bytes behind the bytes so far."""
    random = np.random.default_rng(1)
    for _ in range(3):
        at, so_far = constraint(grammar), []
        for _ in range(12):
            twin = constraint(grammar)
            for byte in text_of(so_far):
                twin.advance(byte)
            expected = {token for token in range(START) if token not in ENDS and PIECES[token] and goes_on(twin, token)}
            ends = set(twin.allowed().tolist()) & ENDS
            assert ends in (set(), set(ENDS))
            assert set(at.allowed().tolist()) == expected | ends
            if not expected:
                break
            so_far.append(int(random.choice(sorted(expected))))
            at.advance(so_far[-1])


def goes_on(twin, token):
    at = twin.copy()
    for byte in PIECES[token]:
        if byte not in at.allowed():
            return False
        at.advance(byte)
    return True


@pytest.mark.parametrize("grammar", [Grammar.json_schema(PERSON), Grammar.gbnf(LIST)], ids=["schema", "list"])
def test_what_is_allowed_rises_and_cannot_be_written_to(grammar):
    ids = constraint(grammar).allowed()
    assert (np.diff(ids) > 0).all()
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 1


def test_tokens_without_text_never_come_and_ends_come_where_the_grammar_may_end():
    at = constraint(Grammar.gbnf('root ::= "<|end|>" .? | "end" | "name"'))
    seen = set()
    for byte in b"<|end|>":
        seen |= set(at.allowed().tolist())
        at.advance(byte)
    assert not seen & (ENDS | SMALL.vocabulary.control), "neither a text that reads like one, nor before the end"
    assert set(at.allowed().tolist()) >= ENDS
    at.advance(ord("x"))
    assert set(at.allowed().tolist()) == ENDS


def test_an_ordinary_token_that_ends_answers_is_no_text():
    at = constraint(Grammar.gbnf('root ::= "end"'))
    assert OTHER_END not in at.allowed()
    assert ord("e") in at.allowed()


def test_a_copy_goes_its_own_way():
    first = constraint(Grammar.gbnf('root ::= "a" "b" | "b" "c"'))
    before = first.allowed().tolist()
    second = first.copy()
    second.advance(ord("b"))
    assert second.allowed().tolist() == [ord("c")]
    assert first.allowed().tolist() == before
    first.advance(ord("a"))
    assert first.allowed().tolist() == [ord("b")]
    second.advance(ord("c"))
    assert set(second.allowed().tolist()) == ENDS


def test_a_copy_stays_where_it_is_while_the_original_goes_on():
    at = constraint(Grammar.json_schema(PERSON))
    tokens, _ = walk(Grammar.json_schema(PERSON), 3)
    kept = []
    for token in tokens:
        kept.append((at.copy(), at.allowed().tolist()))
        at.advance(token)
    assert all(twin.allowed().tolist() == allowed for twin, allowed in kept)


def test_a_token_that_is_not_allowed_is_an_error_and_leaves_the_state():
    at = constraint(Grammar.gbnf('root ::= "ab"'))
    for token in (ord("x"), START, PAD, *ENDS):
        with pytest.raises(EngineError, match="does not allow"):
            at.advance(token)
    at.advance(ord("a"))
    assert at.allowed().tolist() == [ord("b")]


@pytest.mark.parametrize("end", sorted(ENDS))
def test_behind_the_end_only_ends_are_allowed(end):
    at = constraint(Grammar.gbnf('root ::= "a"+'))
    at.advance(ord("a"))
    assert ord("a") in at.allowed(), "it need not end"
    at.advance(end)
    assert set(at.allowed().tolist()) == ENDS
    at.advance(end)
    with pytest.raises(EngineError):
        at.advance(ord("a"))


def test_one_vocabulary_serves_many_threads():
    shared = GrammarVocabulary(small_vocabulary())
    found = []

    def work():
        found.append(GrammarConstraint(Grammar.json_schema(PERSON), shared).allowed().tolist())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(each == found[0] for each in found)


def test_a_model_without_a_token_that_ends_answers_is_refused():
    with pytest.raises(ModelError, match="ends an answer"):
        GrammarConstraint(Grammar.json_object(), GrammarVocabulary(byte_vocabulary(8)))


# --- JSON


@pytest.mark.parametrize("seed", range(25))
def test_any_way_through_a_schema_is_json_that_validates(seed):
    tokens, at = walk(Grammar.json_schema(PERSON), seed)
    msgspec.json.decode(text_of(tokens), type=Person)
    assert set(at.allowed().tolist()) == ENDS, "nothing can follow"


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"name":"Al","age":3,"kind":null,"inner":null}', True),
        ('{ "name": "Al", "age": 3, "kind": "foe", "tags": [true, false], "inner": {"x": -9} }', True),
        ('{\n  "name": "Grüße",\n  "age": 150,\n  "kind": null,\n  "inner": null\n}', True),
        ('{"name":"","age":3,"kind":null,"inner":null}', False),
        ('{"name":"Al","age":151,"kind":null,"inner":null}', False),
        ('{"name":"Al","age":3,"kind":"other","inner":null}', False),
        ('{"name":"Al","age":3,"kind":null,"inner":{"x":1,"y":2}}', False),
        ('{"name":"Al","age":3,"kind":null}', False),
        ('{"name":"Al","age":3,"kind":null,"inner":null,"more":1}', False),
        ('{"name":"Al",       "age":3,"kind":null,"inner":null}', False),
        ("[]", False),
    ],
)
def test_a_schema_takes_what_fits_in_usual_layouts_and_blanks_never_go_on_for_ever(text, fits):
    assert accepts(Grammar.json_schema(PERSON), text) is fits


@pytest.mark.parametrize("text", ['{"a": [1, 2.5e3, {"b": null}], "c": "\\u00e9\\n"}', "{}", '{"世": true}'])
def test_any_object_is_a_json_object(text):
    assert accepts(Grammar.json_object(), text)


@pytest.mark.parametrize(
    "text", ["[1]", "1", "{", '{"a":}', "{'a': 1}", '{"a": 01}', "{} {}", '{"a": NaN}', '{"a": 1,}']
)
def test_nothing_else_is_a_json_object(text):
    assert not accepts(Grammar.json_object(), text)


# Python writes DEL plainly, llguidance wants it escaped; both are JSON.
words = st.text(st.characters(exclude_characters="\x7f", codec="utf-8"), max_size=4)
leaves = st.one_of(st.none(), st.booleans(), st.integers(-999, 999), words, st.floats(-10, 10, allow_nan=False))
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(words, values, max_size=3), st.booleans())
def test_what_a_json_library_writes_is_a_json_object(value, plain):
    assert accepts(Grammar.json_object(), json.dumps(value, ensure_ascii=plain, indent=None if plain else 2))


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"type": "blah"}, "blah"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum"),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"not": {"type": "string"}}, "not"),
        ({"type": "string", "format": "blorb"}, "blorb"),
        ({"type": "string", "pattern": "("}, "regex"),
        ({"$ref": "https://example.org/schema"}, "example.org"),
        ({"$ref": "#/$defs/nowhere"}, "nowhere"),
        ({"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]}, "oneOf"),
        ({"enum": []}, "empty"),
        ({"default": float("nan")}, "not JSON"),
        ({"default": {1, 2}}, "not JSON"),
        ({"description": "x" * MAX_CHARACTERS}, "characters"),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_kept_is_refused_in_one_line_that_names_the_fault(schema, named):
    with pytest.raises(InputError) as caught:
        Grammar.json_schema(schema)
    assert named in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300


def test_a_schema_is_an_object():
    with pytest.raises(InputError, match="object"):
        Grammar.json_schema(["not", "a", "schema"])


def nested(levels, wrap):
    schema = {}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


@pytest.mark.parametrize("levels", [200, 100_000])
@pytest.mark.parametrize(
    "wrap", [lambda inner: {"items": inner}, lambda inner: {"anyOf": [inner]}], ids=["items", "any"]
)
def test_a_schema_nested_without_end_is_refused(levels, wrap):
    with pytest.raises(InputError, match="nested"):
        Grammar.json_schema(nested(levels, wrap))


def test_a_schema_nested_as_deep_as_people_do_is_fine():
    grammar = Grammar.json_schema(nested(40, lambda inner: {"type": "array", "items": inner, "minItems": 1}))
    assert accepts(grammar, "[" * 40 + "1" + "]" * 40)


HOSTILE = {
    "product of choices": {
        "allOf": [
            {"anyOf": [{"type": "object", "properties": {f"p{i}": {"const": j}}} for j in range(30)]} for i in range(20)
        ]
    },
    "patterns at once": {"allOf": [{"type": "string", "pattern": f"(.*{c}.*){{3}}"} for c in "abcdefghij"]},
    "a pattern of many states": {"type": "string", "pattern": "(.*a.{0,200}){5}"},
    "a pattern squared": {"type": "string", "pattern": "^((a|b)*a(a|b){20}){50}$"},
    "doubling references": {
        "$ref": "#/$defs/d0",
        "$defs": {
            **{f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(40)},
            "d40": {"type": "string"},
        },
    },
    "huge repetition": {"type": "array", "items": {"type": "string", "minLength": 10**6}, "minItems": 10**6},
    "many properties": {"type": "object", "properties": {f"p{i}": {"type": ["string", "null"]} for i in range(2500)}},
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_schema_works_or_is_refused_but_never_hangs(schema):
    take_some_steps(lambda: Grammar.json_schema(schema))


# --- whole answers


def json_backend():
    """The fake over the small vocabulary."""
    vocabulary = small_vocabulary()
    return FakeBackend(vocabulary.n_tokens, order=1, vocabulary=vocabulary, spread=3.0)


SAMPLERS = [SamplerSettings(), *(SamplerSettings(temperature=1.0, top_k=0, top_p=1.0, seed=seed) for seed in range(4))]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda how: f"t{how.temperature}-{how.seed}")
def test_an_answer_of_the_engine_validates(sampler):
    with running(json_backend()) as engine:
        request = Request([1, 2], 400, sampler, constraint=constraint(Grammar.json_schema(PERSON)))
        found = answer(engine, request)
    assert found.reason == "stop"
    msgspec.json.decode(found.text, type=Person)
    assert found.tokens[-1] in ENDS


@pytest.fixture(scope="module")
def tiny_vocabulary(tiny):
    backend = LlamaBackend(tiny, LoadOptions(n_ctx=64, n_batch=64, n_threads=1))
    yield GrammarVocabulary(backend.vocabulary)
    backend.close()


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda how: f"t{how.temperature}-{how.seed}")
@pytest.mark.parametrize(
    ("grammar", "check"),
    [
        (Grammar.json_schema(PERSON), lambda text: msgspec.json.decode(text, type=Person)),
        (Grammar.gbnf(LIST), lambda text: re.fullmatch(r"(- [^\n\x00-\x1f\x7f]{1,10}\n){1,3}", text)),
        (Grammar.gbnf('root ::= [a-z]{1,20} "!"'), lambda text: re.fullmatch("[a-z]{1,20}!", text)),
    ],
    ids=["schema", "list", "word"],
)
def test_a_real_models_answer_keeps_to_the_grammar(tiny, tiny_vocabulary, grammar, check, sampler):
    with running(LlamaBackend(tiny, LoadOptions(n_ctx=1024, n_batch=64, n_threads=1))) as engine:
        prompt = tiny_vocabulary.vocabulary.encode("for row in the reader:\n")
        found = answer(engine, Request(prompt, 400, sampler, constraint=GrammarConstraint(grammar, tiny_vocabulary)))
    assert found.reason == "stop"
    assert check(found.text) is not None
    inside = set(found.tokens[:-1])
    assert not inside & (tiny_vocabulary.vocabulary.control | tiny_vocabulary.vocabulary.end_of_generation)


def test_a_grammar_wins_over_settings_that_would_rather_have_something_else(tiny, tiny_vocabulary):
    how = replace(SAMPLERS[1], logit_bias=((ord("x"), 50.0),), presence_penalty=1.0)
    with running(LlamaBackend(tiny, LoadOptions(n_ctx=256, n_batch=64, n_threads=1))) as engine:
        grammar = GrammarConstraint(Grammar.gbnf('root ::= "yes" | "no"'), tiny_vocabulary)
        assert answer(engine, Request([1, 2, 3], 20, how, constraint=grammar)).text in ("yes", "no")
