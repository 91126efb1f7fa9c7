"""What is shown of an answer has the colours of who drafted it, whatever Markdown makes of the text."""

import sys
from itertools import groupby

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from paceline.chat.turns import Run
from paceline.tui.widgets.drafted import Drafted
from paceline.tui.widgets.inline import inline
from paceline.tui.widgets.message import Entry
from paceline.tui.widgets.rows import measure
from support.transcripts import answer, pieces

# Every letter becomes one that comes only once, so that it can be told which one of the text is shown where.
LINES = [
    *("", "", "words are words", "a **b** `c` d", "***e** f* __g__ ~~h~~", "# head", "under", "=====", "---"),
    *("- item", "  - under it", "1. one *i*", "- [x] done", "- - twice", "> said **j**", ">", "    deep\tcode"),
    *("| k | l |", "|---|--:|", "| m \\| n | `o` |", "| p |", "[q](r) s", "[t](u 'v w') x", "<http://y> z"),
    *("&amp; a &lt;b", "\\*c\\* d\\\\e", "f &#65; g", "snake_case_h *", "``i ` j``", "k  \nl\\\nm", "a\tb\tc"),
    *("日 n 本 **o**", "\x1b[31mp\x1b[0m \u202eq", "see: ```", "```", "~~~", "  ```", "def f(x):", "        y"),
    *("[z][a](", "*", "![a](b)", "\ttab", "![](a) b", "[a](b\\)c 'd\\'e') f", "[a](<b c> (d)) e", "[a](b(c)&amp;d) e"),
    *("&NotEqualTilde; a", "&#27;[31m a", "\\&amp; `` `a` `` b", "[<http://a> b](c) d", "![a *b*](c) d", "`\\\\a` b"),
]
texts = st.lists(st.sampled_from(LINES), max_size=12).map("\n".join)
drafters = st.sampled_from(["", "ngram", "edit", "draft", "lookahead"])
runs = st.lists(st.tuples(st.integers(1, 9), drafters), max_size=60)
FIRST, LETTERS = 0x4E00, 2000  # letters that neither the lines have nor what is drawn around them


def unique(text):
    """The text with another letter for each; escapes of terminals keep theirs, and so do entities and addresses."""
    kept = ("\x1b[31m", "\x1b[0m", "&amp;", "&lt;", "&#65;", "&NotEqualTilde;", "&#27;[31m", "http", "[x]")
    found, at = [], 0
    while at < len(text):
        word = next((each for each in kept if text.startswith(each, at)), text[at])
        found.append(chr(FIRST + at) if len(word) == 1 and word.isascii() and word.isalpha() else word)
        at += len(word)
    return "".join(found)


def drafted(text, runs):
    """Who drafted each letter that comes only once."""
    who = [drafter for characters, drafter in runs for _ in range(characters)]
    return {each: who[at] if at < len(who) else "" for at, each in enumerate(text) if ord(each) >= FIRST}


def shown(entry, width):
    """The letters that are to be seen in the answer's text, and their drafters."""
    entry.lay(width)
    assert not entry.faults
    found = []
    for at in range(1, entry.height):
        for text, names in entry.row(at).spans:
            if "fence-title" not in names:
                by = next((name.removeprefix("drafted-") for name in names if name.startswith("drafted-")), "")
                found += [(each, by) for each in text if ord(each) in range(FIRST, FIRST + LETTERS)]
    return found


@settings(max_examples=300, deadline=None)
@given(texts, runs, st.integers(9, 60))
@example("- [x] a\n\n[b](c 'd e') f", [(3, ""), (9, "edit"), (3, "draft"), (5, "ngram")], 40)
@example("  ```\n\ta", [(7, "ngram"), (1, "draft")], 40)
@example("see: ```\na\n```\nb", [(8, "ngram"), (3, "draft")], 40)
def test_every_letter_has_the_colour_of_who_drafted_it(text, runs, width):
    text = unique(text)
    entry = Entry(answer(text, runs=tuple(Run(drafter, characters) for characters, drafter in runs)), drafts=True)
    who = drafted(text, runs)
    for letter, by in shown(entry, width):
        assert by == who[letter], (letter, by, who[letter])


@settings(max_examples=100, deadline=None)
@given(texts, runs, st.integers(9, 60))
def test_the_text_stands_where_it_stands_without_colours(text, runs, width):
    turn = answer(text, runs=tuple(Run(drafter, characters) for characters, drafter in runs))
    rows = []
    for drafts in (False, True):
        entry = Entry(turn, drafts=drafts)
        entry.lay(width)
        rows.append(["".join(part for part, _ in entry.row(at).spans) for at in range(entry.height)])
        assert not entry.faults
    assert rows[0] == rows[1]


@settings(max_examples=100, deadline=None)
@given(texts, st.lists(drafters, min_size=1, max_size=6), st.integers(1, 9), st.integers(9, 60))
def test_while_it_arrives_it_has_the_same_colours(text, by, size, width):
    text = unique(text)
    entry = Entry(answer("", state="streaming"), drafts=True)
    come = [(piece, by[at % len(by)]) for at, piece in enumerate(pieces(text, [size]))]
    who = drafted(text, [(len(piece), drafter) for piece, drafter in come])
    for piece, drafter in come:
        entry.append(piece, drafter)
        for letter, found in shown(entry, width):
            assert found == who[letter]
    whole = Entry(answer(text, runs=tuple(Run(drafter, len(piece)) for piece, drafter in come)), drafts=True)
    entry.update(answer(text, runs=whole.turn.runs))
    assert shown(entry, width) == shown(whole, width)


@given(st.text("ab*_`[]()\\&;<> \n", max_size=40))
def test_marks_that_are_shown_are_found_in_order(text):
    who = Drafted()
    who.add(len(text), "draft")
    painted = who.follow(text.split("\n"), [0, *(at + 1 for at, each in enumerate(text) if each == "\n")])
    spans = painted.paint(inline(text))
    assert "".join(part for part, _ in spans) == "".join(part for part, _ in inline(text))


@pytest.mark.parametrize(
    ("come", "shown"),
    [
        ([("[a](b ", "draft"), ("'c d'", "edit"), (") c d", "ngram")], "a:draft (: b:draft ): c:ngram d:ngram"),
        ([("[ab](ab)", "draft"), ("b", "ngram")], "ab:draft b:ngram"),
        ([("&amp;", "draft"), ("amp", "ngram")], "&:draft amp:ngram"),
        ([("- [x] ", "draft"), ("x]", "ngram")], "☑: x]:ngram"),
        ([("\\*\\\\", "draft"), ("\\\\*", "ngram")], "*\\:draft \\*:ngram"),
        ([("\\*", "draft"), ("*a", "ngram")], "*:draft *a:ngram"),
        ([("`a\n", "draft"), ("b c`", "ngram")], "a:draft b:ngram c:ngram"),
        ([("``a ", "draft"), ("` b``", "ngram")], "a:draft `:ngram b:ngram"),
        ([("![](b.png) a ", ""), ("mi", "draft"), (" age", "")], "image: (b.png): a: mi:draft age:"),
        ([("[", ""), ("a", "draft"), ("](a)] ", "ngram"), ("a", "edit")], "a:draft ]:ngram a:edit"),
        ([("[a](", ""), ("b\\)c", "draft"), (") d", "edit")], "a: (: b)c:draft ): d:edit"),
        ([("[a](", ""), ("b&amp;c", "draft"), (") d", "edit")], "a: (: b&c:draft ): d:edit"),
        ([("&NotEqualTilde;", "draft"), ("a", "ngram")], "≂̸:draft a:ngram"),
        ([("`` `a ", "draft"), ("b` ``", "ngram")], "`a:draft b`:ngram"),
        ([("![a *b", "draft"), ("*](c) d", "ngram")], "a:draft *b:draft *:ngram (: c:ngram ): d:ngram"),
        ([("<http://a&amp;", "draft"), ("amp> b", "ngram")], "http://a&amp;:draft amp:ngram b:ngram"),
        ([("a\t", "draft"), ("b", "ngram")], "a:draft b:ngram"),
        ([("# a", "draft"), (" a #", "ngram")], "a:draft a:ngram"),
        ([("> a\n> ", "draft"), ("a", "ngram")], "│: a:draft │: a:ngram"),
        ([("1. a\n   ```py\n", "draft"), ("   py\n   ", "ngram"), ("y", "edit")], "1.: a:draft py:ngram y:edit"),
    ],
)
def test_letters_that_come_twice_are_told_apart(come, shown):
    entry = Entry(
        answer("".join(text for text, _ in come), runs=tuple(Run(drafter, len(text)) for text, drafter in come)),
        drafts=True,
    )
    entry.lay(40)
    found = []
    for at in range(1, entry.height):
        for text, names in entry.row(at).spans:
            if not {"frame", "fence-title", "offer", "offer-key"} & set(names):
                found += [(each, names[-1].removeprefix("drafted-") if "drafted" in names else "") for each in text]
        found.append((" ", ""))
    runs = groupby((each for each in found if each[0] != "\n"), key=lambda each: (each[0] == " ", each[1]))
    assert " ".join(f"{''.join(c for c, _ in run)}:{by}" for (blank, by), run in runs if not blank) == shown


def work(text, drafts):
    """How many lines of Python of ours run while an answer is laid out: a measure that no other process disturbs."""
    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += "/tui/" in frame.f_code.co_filename
        return step

    entry = Entry(answer(text, runs=(Run("ngram", 5), Run("", len(text) - 5))), drafts=drafts)
    before = sys.gettrace()
    sys.settrace(step)
    try:
        entry.lay(80)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "text", ["![](b) ", "&NotEqualTilde;", "&amp;", "[a](b) ", "*a ", "&#27;[31m", "`a` ", "\t", "[a](b 'c"]
)
def test_colours_cost_little_per_character_whatever_the_text_is(text):
    assert work(text * 250, drafts=True) < 120 * len(text * 250)


@given(st.text("a\t日👩\u200d\u0301\ufe0f ❤", max_size=14), st.lists(st.integers(1, 3), max_size=10), st.booleans())
@example("👩\u200d👩\ta", [1, 1, 1], True)
def test_a_character_that_is_seen_as_one_is_never_divided_by_colours(text, sizes, fenced):
    text = f"```\nx{text}\n```" if fenced else f"x{text}y"
    lead = 5 if fenced else 0
    colours = (Run("", lead), *(Run(("ngram", "edit")[at % 2], size) for at, size in enumerate(sizes)))
    widths = []
    for drafts in (False, True):
        entry = Entry(answer(text, runs=colours), drafts=drafts)
        entry.lay(40)
        rows = [entry.row(at).spans for at in range(entry.height)]
        widths.append([("".join(part for part, _ in row), measure(row)) for row in rows])
        assert all(measure(row) == cell_len("".join(part for part, _ in row)) for row in rows)
    assert widths[0] == widths[1]
