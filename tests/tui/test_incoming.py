"""What a terminal sends is told apart, however it is cut: keys stay keys, and a paste is one paste."""

import re
import sys
from codecs import getincrementaldecoder
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from paceline.chat.pastes import Burst
from paceline.tui.incoming import AHEAD, BEGIN, END, LAG, LOST, MOMENT, Alone, Incoming, Keys, Pasted, is_paste

ESCAPE = 0.1
LINES = "".join(f"line {number}\r" for number in range(40))
MOUSE = ["\x1b[<35;12;7M", "\x1b[<0;3;4M", "\x1b[<0;3;4m", "\x1b[<64;80;24M", "\x1b[I", "\x1b[O"]
PRESSED = [
    *("\x1b[A", "\x1b[1;5C", "\x1bOP", "\x1b[15~", "\x1b[3~", "\x1b[Z", "\x1b[[A", "\x1bf", "\x1b\x7f"),
    *("\x1b[97;5u", "\x03", "\x15", "\x7f", "\t", "\r", "\n", " "),
]
WORDS = ["a", "aaaaaa", "hello", "你好世界", "👩‍👧 ✓", "é", "@src/a.py", "[200~", "x" * 90]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x1b\x00"), max_size=30)


def marked(text):
    return f"{BEGIN}{text}{END}"


PARTS = (
    st.sampled_from(MOUSE)
    | st.sampled_from(PRESSED)
    | st.sampled_from(WORDS)
    | TEXT
    | st.lists(TEXT, max_size=4).map("\r".join)
)
STREAM = st.lists(PARTS | TEXT.map(marked) | st.sampled_from([BEGIN, END]), max_size=8).map("".join)
UNTIL_A_PASTE = st.builds(lambda parts, pasted: "".join([*parts, pasted]), st.lists(PARTS), TEXT.map(marked))
CUTS = st.lists(st.integers(0, 400), max_size=30)


def pieces(text, cuts):
    """The text as it is read, cut at these bytes."""
    data, decode = text.encode(), getincrementaldecoder("utf-8")().decode
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    return [decode(data[start:end]) for start, end in pairwise(edges)]


def quiet(incoming):
    """What is told when nothing comes any more."""
    came = incoming.settle()
    while incoming.patience is not None:
        came += incoming.settle()
    return came


def told(text, cuts=()):
    """What is made of a text that comes in pieces of bytes, one right behind the other."""
    incoming, came = Incoming(ESCAPE), []
    for piece in pieces(text, cuts):
        came += incoming.feed(piece)
    joined = []
    for each in [*came, *quiet(incoming)]:
        if isinstance(each, Keys) and joined and isinstance(joined[-1], Keys):
            joined[-1] = Keys(joined[-1].text + each.text)
        else:
            joined.append(each)
    return joined


def parsed(text, parser=None):
    """Textual's events, when nothing follows."""
    parser = parser or XTermParser()
    return [*(parser.feed(text) if text else ()), *parser.feed("")]


def as_keys(found):
    """All that is typed or pasted, as single keys; and all else."""
    keys, others = [], []
    for event in found:
        if isinstance(event, events.Key):
            keys.append((event.key, event.character))
        elif isinstance(event, events.Paste):
            keys += [(key.key, key.character) for key in parsed(event.text)]
        else:
            others.append((type(event), getattr(event, "x", 0), getattr(event, "y", 0)))
    return keys, others


def by_way_of(came):
    """Textual's events for what was told."""
    parser, found = XTermParser(), []
    for each in came:
        if isinstance(each, Pasted):
            found.append(events.Paste(each.text))
        elif isinstance(each, Keys):
            found += parser.feed(each.text)
        else:
            found += parsed(each.text)
    return [*found, *parser.feed("")]


@given(st.lists(STREAM | st.just("\x1b") | st.just("\x1b["), max_size=4).map("".join), CUTS)
@example("a" + LINES, [1])
@example(LINES + marked("x") + LINES, [3, 200])
def test_it_does_not_matter_how_the_stream_is_cut(stream, cuts):
    assert told(stream, cuts) == told(stream)


@given(UNTIL_A_PASTE | st.lists(PARTS, max_size=8).map("".join))
def test_nothing_comes_that_textual_would_not_make_of_it_key_by_key(stream):
    assert as_keys(by_way_of(told(stream))) == as_keys(parsed(stream))


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "hello",
        "fix the bug in a.py\r",  # typed while the link stood still
        "helo\x7f\x7flo\r",
        "a" * 5000,
        "\r" * 50,
        "\x1b[A" * 50,
        "\x1b[A\x1b[B\r",
        "你好世界",
        "👩‍👧👍🏽",
        "\x15",
        "\t\t",
        "x" * 79 + "y",
        "   \r   \r",
        "\x03\r\x03\r",
    ],
)
def test_typing_stays_typing(text):
    assert told(text) == [Keys(text)]


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "1\r2",
        "one\ntwo\n",
        "one\r\n\r\n  two\r\n",
        "def f():\r\treturn 1\r",
        "x" * 80 + "y",
        "你" * 90 + "好\r",
        "=" * 9000,
    ],
)
def test_more_than_is_typed_at_once_is_one_paste(text):
    assert told(text) == [Pasted(text)]


def test_alt_and_a_key_is_one_whatever_follows():
    assert told("one\x1b\rtwo\x1bx3") == [Keys("one"), Alone("\x1b\r"), Keys("two"), Alone("\x1bx"), Keys("3")]


def test_a_long_line_that_is_pasted_is_not_sent_by_its_end():
    assert told("words " * AHEAD + "\r") == [Pasted("words " * AHEAD + "\r")]


@pytest.mark.parametrize(
    "text", ["", "a", "\x1b[31mred\x1b[0m\r!rm\r", "\x1b[200~", "\x00\x03\x1b", LINES * 9, "[201~"]
)
@pytest.mark.parametrize("cuts", [(), range(0, 300, 7), range(200)])
def test_a_marked_paste_is_left_as_it_is(text, cuts):
    assert told("\x1b[A" + marked(text) + "b\r", cuts) == [Keys("\x1b[A"), Pasted(text), Pasted("b\r")]


BEHIND = ["evil message\r", "!rm -r x\r\ny", "\r", "\x03\x03", "\x11", "y", "\x1b\r", "\x1b[13u\r", "\x1b", "\x1b[A\r"]
PRESSES = [*BEHIND, "\x1b[<0;3;4M", "\x1b[M !!", *PRESSED, BEGIN, END, "\x1b[20", f"{BEGIN}a{BEGIN}b{END}c\r{END}d\r"]


@pytest.mark.parametrize("behind", PRESSES)
@pytest.mark.parametrize("lag", [None, MOMENT, LAG - MOMENT])
def test_nothing_is_pressed_by_what_comes_right_behind_a_marked_paste_however_it_is_cut(behind, lag):
    for at in range(len(behind) + 1):
        incoming = Incoming(ESCAPE)
        came = incoming.feed(marked("safe ") + behind[:at])
        if lag is not None and (incoming.patience or 0) <= lag:
            came += incoming.settle()
        came += [*incoming.feed(behind[at:]), *quiet(incoming)]
        assert came[0] == Pasted("safe ") and all(isinstance(each, Pasted) for each in came)


@given(st.lists(PARTS | st.sampled_from([BEGIN, END]), max_size=8).map("".join), CUTS)
def test_behind_a_marked_paste_there_are_no_keys_but_of_a_mouse_that_presses_nothing(behind, cuts):
    harmless = {"\x1b[<35;12;7M", "\x1b[<0;3;4m", "\x1b[<64;80;24M", "\x1b[I", "\x1b[O"}
    keys = [each.text for each in told(marked("a") + behind, cuts) if not isinstance(each, Pasted)]
    assert set(re.findall(r"\x1b[^\x1b]*|^[^\x1b]+", "".join(keys))) <= harmless


def test_what_is_typed_behind_a_marked_paste_is_seen_at_once_and_after_a_pause_it_is_typing():
    incoming = Incoming(ESCAPE)
    assert incoming.feed(marked("safe")) == [Pasted("safe")]
    assert incoming.feed("?") == []
    assert incoming.patience == MOMENT
    assert incoming.settle() == [Pasted("?")]
    assert incoming.patience == LAG
    assert incoming.settle() == [] and incoming.patience is None
    assert [*incoming.feed("\r"), *incoming.settle()] == [Keys("\r")]


def test_a_paste_whose_beginning_was_not_seen_is_not_sent_either():
    assert told("evil\r" + END + "more\r") == [Pasted("evil\rmore\r")]


def test_the_mark_of_a_paste_may_come_in_two_pieces_with_a_long_pause_between():
    incoming = Incoming(ESCAPE)
    assert incoming.feed("\x1b[20") == []
    assert incoming.patience == LOST
    assert incoming.feed("0~all of it\r" + END) == [Pasted("all of it\r")]


class TestWithoutItsEnd:
    """A marked paste that stops."""

    @pytest.fixture
    def incoming(self):
        incoming = Incoming(ESCAPE)
        assert incoming.feed(BEGIN + "abc") == []
        return incoming

    @staticmethod
    def wait(incoming, seconds):
        """What is told while it is silent for so long."""
        came = []
        while incoming.patience is not None and incoming.patience <= seconds:
            seconds -= incoming.patience
            came += incoming.settle()
        return came

    def test_it_is_told_after_two_seconds_and_keys_are_keys_again(self, incoming):
        assert self.wait(incoming, LOST - 0.1) == []
        assert incoming.feed("d") == []
        assert self.wait(incoming, LOST) == [Pasted("abcd")]
        assert incoming.patience is None
        assert [*incoming.feed("\x03"), *incoming.settle()] == [Keys("\x03")]
        incoming.feed("x")
        assert incoming.settle() == [Keys("x")]
        incoming.feed("\r")
        assert incoming.settle() == [Keys("\r")]

    @pytest.mark.parametrize("key", ["\x03", "\x11", "\x03\x03"])
    def test_who_presses_control_and_a_key_meanwhile_does_not_wait(self, incoming, key):
        self.wait(incoming, LAG)
        assert [*incoming.feed(key), *incoming.settle()] == [Pasted("abc"), Keys(key)]

    def test_controls_in_a_paste_that_goes_on_are_text(self, incoming):
        assert incoming.feed("\x03") == []
        self.wait(incoming, LAG)
        assert incoming.feed("\x03d" + END) == [Pasted("abc\x03\x03d")]

    def test_nothing_that_came_is_no_paste(self):
        incoming = Incoming(ESCAPE)
        incoming.feed(BEGIN)
        assert self.wait(incoming, LOST) == []
        assert incoming.patience is None

    @pytest.mark.parametrize("rest", ["evil\r", "\revil\r" + END, "evil\r" + END, "\r" + END + "more\r"])
    def test_its_rest_sends_nothing_when_it_comes_late(self, incoming, rest):
        self.wait(incoming, LOST)
        came = [*incoming.feed(rest), *quiet(incoming)]
        assert came and all(isinstance(each, Pasted) for each in came)

    def test_the_next_one_is_one(self, incoming):
        self.wait(incoming, LOST)
        assert incoming.feed(marked("next\r")) == [Pasted("next\r")]
        quiet(incoming)
        incoming.feed("ok\r")
        assert quiet(incoming) == [Keys("ok\r")]


def test_keys_around_a_paste_are_keys():
    assert told("\x1b[A" + LINES + "\x1b[B") == [Keys("\x1b[A"), Pasted(LINES), Keys("\x1b[B")]
    assert told("\x15" + LINES + "\x05") == [Keys("\x15"), Pasted(LINES), Keys("\x05")]


@pytest.mark.parametrize("report", [*MOUSE, "\x1b[M !!", "\x1b[48;24;80;480;800t", "\x1b[?2026;2$y"])
def test_a_mouse_that_moves_meanwhile_does_not_cut_a_paste(report):
    half = len(LINES) // 2
    assert told(LINES[:half] + report + LINES[half:]) == [Keys(report), Pasted(LINES)]


def test_the_rest_of_a_paste_is_pasted_though_it_is_short():
    assert told(LINES + "\x1b[A" + "last\r") == [Pasted(LINES), Keys("\x1b[A"), Pasted("last\r")]


def test_after_a_pause_typing_is_typing_again():
    incoming = Incoming(ESCAPE)
    assert incoming.feed(LINES) == []
    assert incoming.patience == LAG
    assert incoming.settle() == [Pasted(LINES)]
    incoming.feed("ok\r")
    assert incoming.settle() == [Keys("ok\r")]
    assert incoming.patience is None


@pytest.mark.parametrize(
    ("text", "patience"),
    [
        ("a", 0),
        ("aaaa", 0),
        ("你", 0),
        ("\x03", 0),
        ("\x1b[A", None),
        ("\x1b[<35;1;1M", None),
        ("", None),
        ("ab", MOMENT),
        ("\r", MOMENT),
        ("line\r", LAG),
        (LINES, LAG),
        ("\x1b", ESCAPE),
        ("\x1b[", ESCAPE),
        (marked(""), LAG),
        (BEGIN + "abc", LAG),
        (BEGIN + "abc\x1b[201", LAG),
    ],
)
def test_a_key_is_told_at_once_and_nothing_wakes_the_processor_for_nothing(text, patience):
    incoming = Incoming(ESCAPE)
    incoming.feed(text)
    assert incoming.patience == patience


@pytest.mark.parametrize("text", ["\x1b", "\x1b[", "\x1bO", "\x1b[1;5"])
def test_escape_without_more_is_a_key(text):
    assert told("a" + text) == [Keys("a"), Alone(text)]
    assert as_keys(parsed(text))[0]


@given(TEXT, TEXT)
def test_more_text_makes_no_paste_a_typed_one(text, more):
    assert is_paste(text) <= is_paste(text + more)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a driver of its own")
class TestEvents:
    """What the driver posts."""

    @pytest.fixture
    def driver(self):
        from paceline.tui.terminal import Events

        return Events()

    @pytest.fixture
    def idle(self):
        from paceline.tui.terminal import IDLE

        return IDLE

    def test_a_paste_is_one_event(self, driver):
        assert list(driver.of(LINES)) == []
        assert [event.text for event in driver.rest()] == [LINES]

    def test_a_key_is_there_at_once(self, driver):
        assert [event.key for event in driver.of("a")] == ["a"]
        assert [event.key for event in driver.of("\x1b[A")] == ["up"]

    def test_escape_is_there_when_nothing_followed_it(self, driver):
        assert list(driver.of("\x1b")) == []
        assert driver.patience == pytest.approx(ESCAPE)
        assert [event.key for event in driver.rest()] == ["escape"]

    def test_alt_enter_is_no_enter(self, driver):
        assert [event.key for event in driver.of("\x1b\r")] == ["alt+enter"]
        assert [(event.key, event.character) for event in driver.of("\x1bx")] == [("alt+x", "x")]

    def test_a_marked_paste_and_what_is_right_behind_it_are_no_keys(self, driver, idle):
        found = list(driver.of(marked("safe ") + "evil message\r"))
        while driver.patience != idle:
            found += driver.rest()
        assert [event.text for event in found] == ["safe ", "evil message\r"]
        list(driver.of("\r"))
        assert [event.key for event in driver.rest()] == ["enter"]

    def test_a_line_that_was_typed_on_a_link_that_stood_still_is_sent(self, driver):
        burst = Burst()
        list(driver.of("fix the bug\r"))
        what = [burst.key(event.character, event.time) for event in driver.rest()]
        assert what == ["typed"] * 11 + ["held"]

    def test_lines_that_come_one_by_one_faster_than_anybody_types_are_not(self, driver):
        burst = Burst()
        what = []
        for _ in range(2):  # nobody types the second one right behind the first
            list(driver.of("fix the bug\r"))
            what = [burst.key(event.character, event.time) for event in driver.rest()]
        assert what[-1] == "pasted"
