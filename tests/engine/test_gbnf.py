"""GBNF: the same language as llama.cpp's notation says, and errors that name the line."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.grammar import MAX_CHARACTERS, Grammar, GrammarConstraint
from paceline.errors import InputError
from support.grammars import SMALL, accepts, take_some_steps

# Random regular expressions, as (GBNF, Python).
letters = st.sampled_from(
    [('"a"', "a"), ('"b"', "b"), ("[ab]", "[ab]"), ("[^b]", "[^b]"), ('"ab"', "(?:ab)"), ('""', "")]
)
times = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}"])
expressions = st.recursive(
    letters,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: (f"{two[0][0]} {two[1][0]}", two[0][1] + two[1][1])),
        st.tuples(inner, inner).map(lambda two: (f"({two[0][0]} | {two[1][0]})", f"(?:{two[0][1]}|{two[1][1]})")),
        st.tuples(inner, times).map(lambda one: (f"({one[0][0]}){one[1]}", f"(?:{one[0][1]}){one[1]}")),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(expressions, st.lists(st.text("abc", max_size=7), min_size=5, max_size=12))
def test_any_regular_expression_means_what_it_means_to_python(expression, texts):
    gbnf, python = expression
    grammar = Grammar.gbnf(f"root ::= {gbnf}")
    for text in texts:
        assert accepts(grammar, text) == bool(re.fullmatch(python, text)), text


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ('root ::= [a-z]+ "end"', ["fooend", "endend", "eend"], ["foo", "end", "fooen"]),
        ('root ::= "a" "bd" | "ab" "c"', ["abd", "abc"], ["ab", "abcd"]),
        ('root ::= "(" root ")" | ', ["", "()", "((()))"], ["(", "())", ")("]),
        ('root ::= root "+" n | n\nn ::= [0-9]+', ["1", "1+22+3"], ["+", "1+", "1++2"]),
        ('root ::= a-b Ab\na-b ::= "x" |\n  "y"\nAb ::= ab\nab ::= "z"\n', ["xz", "yz"], ["x", "z", "xyz"]),
        ('root ::= "a" # a comment\n  | "b" # another\n\n# the last\n', ["a", "b"], ["", "ab"]),
        ('root ::= (\n  "a"\n  | "b"\n) "c"', ["ac", "bc"], ["a", "c"]),
        ("root ::= .", ["x", "\n", "世", "😀"], ["", "xx"]),
        ("root ::= [^\\n]", ["x", "世"], ["\n", ""]),
        ("root ::= [あ-ん]+", ["あいう", "ん"], ["ア", "a"]),
        ('root ::= "\\x41\\u00e9\\U0001F600\\t\\\\\\"" [\\]\\[\\-]', ['Aé😀\t\\"]', 'Aé😀\t\\"-'], ["A"]),
        ("root ::= [+/$^.*(){}|?#-]", list("+/$^.*(){}|?#-"), ["\\", "a", ","]),
        ("root ::= [b-yda-c] [^b-yda-c]", ["az", "yz", "d0"], ["aa", "yy", "ze", "ay"]),
        ("root ::= [-a] [a-]", ["--", "aa"], ["b-"]),
        ('root ::= "ab"{2} "c"{1,2} "d"{0,}', ["ababc", "ababccdd"], ["abc", "ababccc", "abb"]),
        ('root ::= start\nstart ::= "rule0" | CHAR0\nCHAR0 ::= "x"', ["rule0", "x"], ["CHAR0"]),
        ('root ::= x "b"\nx ::= "a"*\n', ["b", "aab"], ["a"]),
        ('root ::= ""', [""], ["a"]),
        ('root::="a"|"b"', ["a", "b"], ["ab"]),
        ('\r\nroot ::= "a"\r\n  | b\r\nb ::= "b"\r\n', ["a", "b"], ["ab"]),
    ],
)
def test_a_grammar_has_these_texts_and_not_those(text, good, bad):
    grammar = Grammar.gbnf(text)
    assert [each for each in good if not accepts(grammar, each)] == []
    assert [each for each in bad if accepts(grammar, each)] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "root"),
        ('other ::= "a"', "root"),
        ('root ::= "a"\n\nroot ::= "b"', "line 3 .*twice"),
        ('root ::= "a"\n  | b c\nb ::= "x"', "line 2 .*'c'"),
        ('root = "a"', "line 1 .*::="),
        ('root ::= "a', "line 1 .*quote"),
        ("root ::= x\nx ::= [a-", "line 2 .*class"),
        ("root ::= [z-a]", "backwards"),
        ("root ::= []", "no character"),
        ("root ::= [^\\x00-\\U0010FFFF]", "no character"),
        ('root ::= "\\q"', "means nothing"),
        ('root ::= "\\x4"', "no character"),
        ('root ::= "\\uD800"', "no character"),
        ('root ::= "\ud800"', "surrogate"),
        ('root ::= "\\', "means nothing"),
        ('root ::= ("a"', r"expected \)"),
        ('root ::= "a")', "did not expect"),
        ("root ::= *", "did not expect"),
        ('root ::= "a"{', "number"),
        ('root ::= "a"{,3}', "number"),
        ('root ::= "a"{3,2}', "fewer to more"),
        ('root ::= "a"{1,2001}', "2000"),
        ('root ::= "a"{99999999999999999999}', "number"),
        ('root ::= "a"{1', "}"),
        ("root ::= <|im_end|>", "not supported"),
        ("root ::= <[1000]>", "not supported"),
        ('root ::= ' + "(" * 1000 + '"a"' + ")" * 1000, "parentheses"),
        ("#" * (MAX_CHARACTERS + 1), "characters"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_with_its_place_and_a_hint(text, message):
    with pytest.raises(InputError) as caught:
        Grammar.gbnf(text)
    assert re.search(message, caught.value.message)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("text", ["root ::= root", "root ::= a\na ::= b\nb ::= a", 'root ::= root "x"'])
def test_a_grammar_that_describes_no_text_is_refused_before_anything_is_generated(text):
    with pytest.raises(InputError, match="no text"):
        GrammarConstraint(Grammar.gbnf(text), SMALL)


@settings(max_examples=300, deadline=None)
@given(st.text('ab"[]^-(){}|*+?.:=,0123456789 \n\\xroot#<', max_size=40).map(lambda rest: "root ::= " + rest))
def test_any_text_is_a_grammar_or_an_input_error(text):
    take_some_steps(lambda: Grammar.gbnf(text))


HOSTILE = {
    "ambiguous": 'root ::= g*\ng ::= [a-z] | [0-9] | [ -~] g "x" | g g',
    "empty and doubling": 'root ::= s*\ns ::= s s | . | ""',
    "repetitions in repetitions": "root ::= (((((.){0,2000}){0,2000}){0,2000}){0,2000}){0,2000}",
    "optional after optional": "root ::= " + '"a"? ' * 5000,
    "many rules": "root ::= r0\n"
    + "".join(f"r{i} ::= r{i + 1} | r{i + 1} r{i + 1}\n" for i in range(2000))
    + 'r2000 ::= "a"',
    "a long literal": 'root ::= "' + "ab" * 60_000 + '"',
    "many classes": "root ::= " + "".join(f"[{chr(0x4E00 + i)}-{chr(0x5000 + i)}] | " for i in range(3000)) + "[a]",
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_grammar_works_or_is_refused_but_never_hangs(text):
    take_some_steps(lambda: Grammar.gbnf(text))
