"""Lines are broken so that they fit, nothing gets lost, and no character is cut in two."""

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from paceline.tui.widgets.rows import breaks, chop, cut, shorten, untab, wrap

texts = st.text(st.sampled_from("ab c-日👩\u200d👧é\u0301  "), max_size=60)
words = st.lists(st.sampled_from([*"ab c-日é  ", "👩\u200d👧", "e\u0301"]), max_size=60).map("".join)
ascii_texts = st.text(st.sampled_from("abc def.-  "), max_size=80)


@settings(max_examples=300)
@given(texts, st.integers(2, 30))
@example("\u200d\u200da日", 2)
def test_every_part_fits(text, width):
    for start, end in breaks(text, width):
        assert cell_len(text[start:end]) <= width or len(split_graphemes(text[start:end])[0]) == 1


@settings(max_examples=300)
@given(texts, st.integers(1, 30))
def test_only_white_space_is_left_out(text, width):
    parts = breaks(text, width)
    kept = "".join(text[start:end] for start, end in parts)
    assert "".join(kept.split()) == "".join(text.split())
    assert all(a[1] <= b[0] for a, b in pairwise(parts))


@settings(max_examples=300)
@given(words, st.integers(1, 30))
def test_a_part_is_broken_only_where_the_next_word_has_no_room(text, width):
    parts = breaks(text, width)
    for (start, end), (after, _) in pairwise(parts):
        rest = text[after:].split()
        word = rest[0] if rest else ""
        if word and end < after:
            assert sum(map(cell_len, (text[start:end], text[end:after], word))) > width


@settings(max_examples=300)
@given(texts, st.integers(1, 30))
def test_chopping_loses_nothing_and_cuts_no_character(text, width):
    parts = chop(text, width)
    assert "".join(text[start:end] for start, end in parts) == text
    borders = {start for start, _, _ in split_graphemes(text)[0]} | {0, len(text)}
    assert all(start in borders and end in borders for start, end in parts)


@given(ascii_texts, st.integers(1, 20))
def test_plain_text_and_text_of_any_kind_are_chopped_alike(text, width):
    wide = chop(text + "日", width)
    plain = chop(text, width)
    assert plain[:-1] == wide[: len(plain) - 1]


@given(st.lists(texts, min_size=1, max_size=4), st.integers(3, 20))
def test_styles_stay_with_their_characters(parts, width):
    spans = [(part, (str(at),)) for at, part in enumerate(parts)]
    styled = [(character, names) for row in wrap(spans, width) for text, names in row for character in text]
    plain = [(character, names) for text, names in spans for character in text]
    assert [each for each in styled if not each[0].isspace()] == [each for each in plain if not each[0].isspace()]


@given(texts, st.integers(0, 30), st.integers(0, 30))
def test_a_cut_is_a_slice(text, start, size):
    spans = [(text[:7], ("a",)), (text[7:], ("b",))]
    assert "".join(part for part, _ in cut(spans, start, start + size)) == text[start : start + size]


@given(texts, st.integers(1, 20))
def test_a_shortened_line_fits_and_says_so(text, width):
    short = shorten(text, width)
    assert cell_len(short) <= width
    assert short == text or short.endswith("…")


def test_tabs_reach_to_the_next_stop_also_behind_wide_characters():
    assert untab("a\tb") == "a   b"
    assert untab("日\tb") == "日  b"
    assert untab("\t\tx") == " " * 8 + "x"
    assert untab("\tx", column=2) == "  x"
