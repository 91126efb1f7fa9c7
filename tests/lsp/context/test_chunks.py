"""Chunks that are kept: the newest, no two nearly alike."""

from hypothesis import given
from hypothesis import strategies as st

from paceline.lsp.context.chunks import ALIKE, KEPT, LINES, Chunks, alike, inside


def lines(*words):
    return "".join(f"{word}\n" for word in words)


def texts(chunks):
    return [chunk.text for chunk in chunks]


def numbered(number):
    return lines(*(f"chunk {number} line {line}" for line in range(4)))


def test_the_newest_come_first_and_the_oldest_go():
    chunks = Chunks()
    for number in range(KEPT + 3):
        chunks.add("file:///a", "a", numbered(number))
    assert texts(chunks) == [numbered(number) for number in reversed(range(3, KEPT + 3))]


def test_a_chunk_takes_the_place_of_one_that_is_nearly_alike():
    chunks = Chunks()
    many = [f"line {number}" for number in range(30)]
    chunks.add("file:///a", "a", lines(*many))
    chunks.add("file:///a", "a", lines("other", "things", "entirely"))
    chunks.add("file:///a", "a", lines(*many[1:], "and one more"))
    assert texts(chunks) == [lines(*many[1:], "and one more"), lines("other", "things", "entirely")]


def test_what_says_too_little_or_too_much_is_not_kept():
    chunks = Chunks()
    for text in ("", "one line", lines("a", "", "   ", "b"), "x" * 9000 + "\ny\nz\n"):
        chunks.add("file:///a", "a", text)
    assert texts(chunks) == []


def test_a_long_chunk_is_cut_to_whole_lines():
    chunks = Chunks()
    chunks.add("file:///a", "a", lines(*(f"line {number}" for number in range(500))))
    (text,) = texts(chunks)
    assert text.split("\n")[-1] == f"line {LINES - 1}"


sets = st.frozensets(st.sampled_from("abcdef"))


@given(sets, sets)
def test_likeness_is_a_share(one, other):
    assert 0 <= alike(one, other) == alike(other, one) <= 1
    assert alike(one, one) == bool(one)
    assert inside(one, one | other) == bool(one)
    assert inside(one, other) >= alike(one, other)


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=8).map(lambda each: lines(*each)), max_size=30)
)
def test_no_two_kept_are_nearly_alike(added):
    chunks = Chunks()
    for text in added:
        chunks.add("file:///a", "a", text)
    kept = [chunk.lines for chunk in chunks]
    assert len(kept) <= KEPT
    assert all(alike(one, other) <= ALIKE for at, one in enumerate(kept) for other in kept[:at])
