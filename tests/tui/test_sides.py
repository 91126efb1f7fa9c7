"""The lines of both texts of a change are in the colours that their whole texts give them."""

import pytest

from paceline.chat.edits.changes import Change
from paceline.chat.edits.review import side_by_side, unified
from paceline.chat.hidden import reveal
from paceline.tui.widgets.colouring import LIMIT
from paceline.tui.widgets.sides import Side, Sides


def read(text, language="python"):
    side = Side(text, language)
    while any(side.awaits(number) for number in range(1, text.count("\n") + 1)):
        side.work()
    return side


def styles(side, number, text):
    return {names for part, names in side.spans(number, text) if part.strip()}


def test_a_string_that_began_far_above_colours_the_line():
    text = 'def f():\n    """Say\n' + "    more\n" * 500 + '    and the end."""\n    return 1\n'
    side = read(text)
    assert styles(side, 400, "    more") == {("string",)}
    assert ("keyword",) in styles(side, 504, "    return 1")


def test_each_text_is_read_by_itself():
    change = Change("a.py", "x = 1\nreturn_ = 2\n", '"""\nreturn_ = 2\n"""\n', "whole", True)
    sides = Sides(change)
    same = next(row for row in unified(change) if row.kind == "same")
    looks = []
    for new in (False, True):
        side, number = sides.of(same, new=new)
        while side.awaits(number):
            side.work()
        looks.append(styles(side, number, same.text))
    assert ("string",) not in looks[0] and looks[1] == {("string",)}


def test_of_a_long_text_only_what_is_looked_at_is_read():
    side = Side("x = 'one'  # more\n" * 10_000, "python")
    while side.awaits(30):
        side.work()
    assert side.awaits(9_999)


@pytest.mark.parametrize(
    ("text", "language"), [("x = 1\n", ""), ("x = 1\n", "none-such"), ("x" * (LIMIT + 1), "python")]
)
def test_what_nobody_can_read_or_takes_too_long_stays_plain(text, language):
    side = Side(text, language)
    while side.awaits(1):
        side.work()
    assert list(side.spans(1, text.strip())) == [(text.strip(), ())]


def test_no_character_of_a_change_is_lost_or_added_by_colours():
    before = 'a = \'\x1b[2J\x9b1m\'\r\nb = """\u202e\x00\r\tc\n' + "".join(map(chr, range(1, 300)))
    change = Change("a.py", before, before[::-1], "whole", True)
    sides = Sides(change)
    for pair in side_by_side(change):
        for row, new in ((pair.left, False), (pair.right, True)):
            if row is not None and (found := sides.of(row, new=new)) is not None:
                side, number = found
                while side.awaits(number):
                    side.work()
                text = reveal(row.text)
                assert "".join(part for part, _ in side.spans(number, text)) == text
