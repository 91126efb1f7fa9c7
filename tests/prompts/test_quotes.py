"""Where strings end, and what stands outside of them."""

from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.quotes import open_string, outside, string_end


def code(text, **how):
    return "".join(char for _, char, _ in outside(text, **how))


def test_a_string_ends_at_its_mark():
    assert string_end('a" b', '"') == 1
    assert string_end('a\\" b" c', '"') == 5
    assert string_end("a ${f(`b`)} c` d", "`") == 13
    assert string_end('a" b""" c', '"""') == 4
    assert string_end("a\nb`", "`") == 3


def test_a_string_of_one_line_does_not_end_on_another():
    assert string_end('a\nb"', '"') == -1
    assert string_end("a", '"') == -1


def test_what_is_outside_of_strings_is_said_with_its_depth():
    assert list(outside("f('(', a)")) == [(0, "f", 0), (1, "(", 1), (5, ",", 1), (6, " ", 1), (7, "a", 1), (8, ")", 0)]
    assert code('"""a "b" c""" + `x\n` + y') == " +  + y"


def test_a_quote_that_nothing_closes_is_an_apostrophe_unless_the_text_may_go_on():
    assert code("it's\nso") == "it's\nso"
    assert code("it's") == "it's"
    assert code("it's", whole=False) == "it"
    assert code("it's\nso", whole=False) == "it's\nso"
    assert code("a `b\nc", whole=False) == "a "


def test_the_string_that_stands_open_is_named():
    assert [open_string(line) for line in ('f("', "f('a', \"", "f('a')", 'x = """a "b', "`${a} ", "")] == [
        *('"', '"', "", '"""', "`", "")
    ]


@given(st.text("ab'\"`\\(){}$#\n", max_size=30), st.text("ab'\"`\\(){}$#\n", max_size=30))
def test_of_a_text_that_may_go_on_nothing_is_said_that_more_of_it_could_change(text, more):
    said = list(outside(text, whole=False))
    assert list(outside(text + more, whole=False))[: len(said)] == said
