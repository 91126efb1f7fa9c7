"""Where a person works in a document, followed through all that changes."""

from hypothesis import given
from hypothesis import strategies as st

from paceline.lsp.context.regions import LONGEST, Open, around, offsets

LINES = "".join(f"line {number}\n" for number in range(200))


def document(text=LINES):
    return Open("file:///a.py", "a.py", "/", "python", text)


def edit(opened, start, end, inserted, when=1):
    opened.edited(opened.text[:start] + inserted + opened.text[end:], start, end, len(inserted), when)


def shown(opened, characters=200):
    return [opened.text[start:end] for (start, end), _ in opened.spans(characters)]


def test_an_edit_is_shown_with_the_lines_around_it():
    opened = document()
    at = LINES.index("line 100")
    edit(opened, at, at, "new = 1\n")
    (region,) = shown(opened)
    assert region.startswith("line 94\n")
    assert "line 99\nnew = 1\nline 100\n" in region
    assert region.endswith("\n")


def test_edits_near_each_other_are_one_region_and_far_ones_are_several_the_newest_first():
    opened = document()
    for when, line in enumerate((20, 21, 150), 1):
        at = opened.text.index(f"line {line}\n")
        edit(opened, at, at, "#", when)
    regions = shown(opened)
    assert len(regions) == 2
    assert "#line 150" in regions[0]
    assert "#line 20\n#line 21" in regions[1]


def test_a_region_moves_with_the_text_above_it():
    opened = document()
    at = LINES.index("line 150")
    edit(opened, at, at, "mark ", 1)
    edit(opened, 0, 0, "head\n" * 10, 2)
    edit(opened, 0, 5, "", 3)
    assert "mark line 150" in shown(opened)[1]


def test_what_is_visible_is_shown_too_but_nothing_twice():
    opened = document()
    at = LINES.index("line 50")
    edit(opened, at, at, "mark ")
    opened.seen = (100, 110)
    assert [region.split("\n")[0] for region in shown(opened)][1] == "line 100"
    opened.seen = (45, 55)
    assert len(shown(opened)) == 1


def test_visible_lines_are_found_again_after_an_edit_above_them():
    opened = document()
    opened.seen = (100, 102)
    assert shown(opened)[0].startswith("line 100\n")
    edit(opened, 0, 0, "head\n" * 10)
    assert shown(opened)[1].startswith("line 90\n")
    opened.seen = (50, 52)
    assert shown(opened)[1].startswith("line 40\n")


def test_a_change_of_everything_is_no_place():
    opened = document()
    edit(opened, 0, len(LINES), LINES.replace("line", "a much longer line"))
    assert len(opened.text) > LONGEST
    assert shown(opened) == []


def test_a_document_is_called_by_its_path_or_by_the_end_of_its_uri():
    assert document().name() == "a.py"
    assert Open("untitled:Untitled-1", "", "", "python", "").name() == "Untitled-1"
    assert Open("vscode-remote://wsl+x/home/me/b.py", "", "", "python", "").name() == "b.py"


texts = st.text(alphabet="ab\n\r漢", max_size=40)


@given(texts, st.integers(-2, 50), st.integers(-2, 50))
def test_offsets_of_lines_are_those_of_split_lines(text, first, last):
    lines = text.split("\n")
    ends = [len("\n".join(lines[:count])) + (count < len(lines)) for count in range(1, len(lines) + 1)]
    starts = [0, *ends]
    low = max(0, first)
    start = starts[low] if low < len(lines) else len(text)
    wanted = (start, max(start, ends[min(max(last, low - 1), len(lines) - 1)]) if low < len(lines) else len(text))
    if last >= low:
        assert offsets(text, first, last) == wanted


@given(texts, st.data(), st.integers(0, 30))
def test_what_is_shown_around_a_part_is_whole_lines_within_the_size(text, data, size):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = around(text, start, end, size)
    assert 0 <= first <= last <= len(text)
    assert last - first <= size
    assert first == 0 or text[first - 1] == "\n"
    assert first == last or last == len(text) or text[last - 1] == "\n"


@given(texts, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.text(alphabet="xy\n", max_size=5)), max_size=8))
def test_every_region_has_the_edited_characters_in_it(text, edits):
    opened, fresh = document(text), [False] * len(text)
    for when, (one, two, inserted) in enumerate(edits, 1):
        start, end = sorted((int(one * len(opened.text)), int(two * len(opened.text))))
        fresh[start:end] = [True] * len(inserted)  # the slow way: each character knows
        edit(opened, start, end, inserted, when)
        assert len(fresh) == len(opened.text)
        for region in opened.edits:
            assert 0 <= region.start <= region.end <= len(opened.text)
        inside = {at for region in opened.edits for at in range(region.start, region.end)}
        assert {at for at, new in enumerate(fresh) if new} <= inside
