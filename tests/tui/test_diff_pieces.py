"""Pieces of a changed line are as wide together as the line."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from paceline.chat.edits.words import differing
from paceline.tui.widgets.diff import pieces

PARTS = st.lists(
    st.sampled_from(["a", "e", "\u0301", "👩", "\u200d", "💻", "\ufe0f", "☁", " ", "(", "日", "\U0001f3fd"])
)
LINES = PARTS.map(lambda parts: "x" + "".join(parts))


@given(LINES, LINES, st.lists(st.integers(0, 12)))
def test_neither_colours_nor_marks_change_how_wide_a_line_is(old, new, cuts):
    marks = differing(old, new)[1]
    edges = sorted({0, len(new), *(min(at, len(new)) for at in cuts)})
    spans = [(new[start:end], (str(start),)) for start, end in itertools.pairwise(edges)]
    found = [text for text, _, _ in pieces(spans, marks)]
    assert "".join(found) == new
    assert sum(map(cell_len, found)) == cell_len(new)
