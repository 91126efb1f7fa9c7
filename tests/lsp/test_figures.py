"""Figures about suggestions: what is counted, what is kept of them, and what they must never hold or disturb."""

import asyncio
import sqlite3
import subprocess
import sys
from collections import Counter
from datetime import date, timedelta

import pytest

from paceline.lsp import figures_store
from paceline.lsp.figures import LATENCIES, WRITTEN_AFTER, Figures, quantile
from paceline.lsp.figures_store import Store

URI = "file:///a.py"
DAY = date.today().isoformat()
TEXT = "return a + b\n"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "state" / "figures.sqlite3")


class Desk:
    """Figures of an editor with one document, by a clock that a test moves."""

    def __init__(self, store: Store, text: str = "def add(a, b):\n    ") -> None:
        self.now = 0.0
        self.texts = {URI: text}
        self.figures = Figures(store, self.texts.get, clock=lambda: self.now)

    def show(self, number: int, text: str = TEXT, root: object = None, **more) -> None:
        self.figures.shown(number, URI, "python", text, root or number, **more)

    def type(self, at: int, text: str, removed: int = 0) -> None:
        self.texts[URI] = self.texts[URI][:at] + text + self.texts[URI][at + removed :]
        self.figures.changed(URI, at, at + removed, text)

    @property
    def end(self) -> int:
        return len(self.texts[URI])

    def wait(self, seconds: float) -> None:
        """Let time pass, and whatever is due happen."""
        self.now += seconds
        if self.figures._looking is not None:
            self.figures._looking.cancel()
            self.figures._look()


def counted(store: Store, act) -> Counter[str]:
    """What is in the file after something was done with a desk, by what was counted."""

    async def run() -> None:
        desk = Desk(store)
        act(desk)
        await desk.figures.close()

    asyncio.run(run())
    return Counter({what: number for (_, _, what), number in store.read().items() if number})


# --- what becomes of a suggestion -------------------------------------------------------------------------------------


def test_a_suggestion_that_is_accepted_as_a_whole(store):
    def act(desk):
        desk.show(1)
        desk.figures.accepted(1, desk.end)

    assert counted(store, act) == {"shown": 1, "accepted": 1, "whole": 1, "characters": len(TEXT)}


def test_counts_are_by_day_and_language(store):
    counted(store, lambda desk: desk.show(1))
    assert store.read()[(DAY, "python", "shown")] == 1


def test_a_suggestion_that_another_one_replaces_was_ignored(store):
    def act(desk):
        desk.show(1)
        desk.show(2)

    assert counted(store, act) == {"shown": 2, "ignored": 2}


def test_a_suggestion_of_a_document_that_is_closed_was_ignored(store):
    def act(desk):
        desk.show(1)
        desk.figures.closed(URI)
        desk.figures.closed(URI)

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_a_suggestion_that_is_sent_away_was_rejected_and_comes_back_as_another_one(store):
    def act(desk):
        desk.show(1, root="r", at=desk.end)
        desk.type(desk.end, "x")
        desk.type(desk.end - 1, "", removed=1)
        desk.show(2, root="r", at=desk.end)

    assert counted(store, act) == {"shown": 2, "rejected": 1, "ignored": 1}


def test_typing_something_else_in_its_place_sends_a_suggestion_away(store):
    def act(desk):
        desk.show(1, at=desk.end)
        desk.type(desk.end, "ret")
        desk.type(desk.end, "x")
        desk.type(desk.end, "y")

    assert counted(store, act) == {"shown": 1, "rejected": 1}


def test_deleting_what_stands_before_it_sends_a_suggestion_away(store):
    def act(desk):
        desk.show(1, at=desk.end)
        desk.type(desk.end - 2, "", removed=2)

    assert counted(store, act) == {"shown": 1, "rejected": 1}


@pytest.mark.parametrize("pieces", [[TEXT], list(TEXT), ["ret", "urn a"]])
def test_typing_what_it_says_does_not(store, pieces):
    def act(desk):
        desk.show(1, at=desk.end)
        for piece in pieces:
            desk.type(desk.end, piece)

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_a_pair_of_brackets_that_an_editor_makes_of_one_does_not(store):
    def act(desk):
        desk.show(1, "f(a, b)", at=desk.end)
        at = desk.end
        desk.type(at, "f()")
        desk.type(at + 2, "a, ")

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_closing_marks_that_an_editor_puts_behind_do_not(store):
    def act(desk):
        desk.show(1, "f(a, b)", at=desk.end)
        at = desk.end
        desk.type(at, "f")
        desk.type(at + 1, "(")
        desk.type(at + 2, ")")
        desk.type(at + 2, "a")

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_changes_elsewhere_do_not_and_move_its_place(store):
    def act(desk):
        at = desk.end - 4
        desk.show(1, at=at)
        desk.type(desk.end, "# below")
        desk.type(0, "import os\n")
        desk.type(at + len("import os\n"), "ret")

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_a_popups_choice_that_is_taken_in_its_place_does_not(store):
    def act(desk):
        desk.show(1, at=desk.end)
        desk.type(desk.end - 3, "path", removed=3)

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_what_one_of_several_says_sends_none_of_them_away(store):
    def act(desk):
        desk.show(1, "abc", at=desk.end)
        desk.show(2, "xyz", at=desk.end, more=True)
        desk.type(desk.end, "x")

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_what_one_of_several_says_is_no_other_suggestion_when_the_rest_of_it_is_shown(store):
    def act(desk):
        at = desk.end
        desk.show(1, "first", at=at)
        desk.show(2, "second", at=at, more=True)
        desk.type(at, "se")
        desk.show(3, "cond", root=2, at=at + 2)
        desk.figures.accepted(3, at + 2)

    assert counted(store, act) == {"shown": 1, "accepted": 1, "whole": 1, "characters": 4}


def test_what_was_accepted_is_not_sent_away_by_what_is_typed_next(store):
    def act(desk):
        desk.show(1, at=desk.end)
        desk.type(desk.end, TEXT)
        desk.figures.accepted(1, desk.end - len(TEXT))
        desk.type(desk.end, "x")

    assert counted(store, act)["rejected"] == 0


def test_of_what_nobody_knows_the_place_of_nothing_is_concluded(store):
    def act(desk):
        desk.show(1)
        desk.type(desk.end, "x")

    assert counted(store, act) == {"shown": 1, "ignored": 1}


def test_typing_along_is_one_suggestion_however_often_the_rest_is_shown(store):
    def act(desk):
        for at in range(5):
            desk.show(at, TEXT[at:], root="r")
        desk.figures.accepted(4, desk.end)

    assert counted(store, act) == {"shown": 1, "accepted": 1, "whole": 1, "characters": len(TEXT) - 4}


def test_suggestions_of_which_nobody_knows_where_they_come_from_are_different_ones(store):
    def act(desk):
        desk.figures.shown(1, URI, "python", TEXT)
        desk.figures.shown(2, URI, "python", TEXT)

    assert counted(store, act)["shown"] == 2


def test_several_at_a_place_count_as_one_and_any_of_them_can_be_accepted(store):
    def act(desk):
        desk.show(1, "a", root="a")
        desk.show(2, "bb", root="b", more=True)
        desk.show(3, "ccc", root="c", more=True)
        desk.figures.accepted(2, desk.end)

    assert counted(store, act) == {"shown": 1, "accepted": 1, "whole": 1, "characters": 2}


def test_an_editor_may_ask_for_the_next_before_it_says_that_the_last_was_accepted(store):
    def act(desk):
        desk.show(1)
        desk.show(2)
        desk.figures.accepted(1, desk.end)

    assert counted(store, act) == {"shown": 2, "accepted": 1, "ignored": 1, "whole": 1, "characters": len(TEXT)}


def test_words_and_lines_are_told_apart_and_lengths_count_from_the_beginning(store):
    def act(desk):
        desk.show(1, "return a\nb\n", root="r")
        desk.figures.accepted(1, desk.end, 6)
        desk.figures.accepted(1, desk.end, 8)
        desk.figures.accepted(1, desk.end, 8)
        desk.figures.accepted(1, desk.end, 99)

    found = {"shown": 1, "accepted": 1, "word": 1, "line": 2, "characters": 11}
    assert counted(store, act) == found


def test_what_is_left_after_a_word_was_accepted_is_the_same_suggestion(store):
    def act(desk):
        desk.show(1, "return a", root="r")
        desk.figures.accepted(1, desk.end, 6)
        desk.show(2, " a", root="r")
        desk.figures.accepted(2, desk.end + 6)

    assert counted(store, act) == {"shown": 1, "accepted": 1, "word": 1, "whole": 1, "characters": 8}


def test_what_nobody_has_shown_cannot_be_accepted(store):
    def act(desk):
        desk.figures.accepted(7, 0)
        desk.show(1)
        desk.figures.accepted(1, 0, 0)
        desk.figures.accepted(1, 0, -3)

    assert counted(store, act) == {"shown": 1, "ignored": 1}


# --- answers ----------------------------------------------------------------------------------------------------------


def test_answers_silences_and_what_was_computed_ahead_are_counted(store):
    def act(desk):
        desk.figures.answered("python", "cache", 0.004)
        desk.figures.answered("python", "engine", 0.25)
        desk.figures.answered("python", "engine", 99)
        desk.figures.silent("python", "unsure")
        desk.figures.prefetched("python", 2)

    assert counted(store, act) == {
        "from cache": 1,
        "from engine": 2,
        "latency 5": 1,
        "latency 300": 1,
        "latency more": 1,
        "silent unsure": 1,
        "prefetched": 2,
    }


@pytest.mark.parametrize("name", ["my secret language", "", "x" * 40, "a\nb"])
def test_what_is_no_name_of_a_language_is_not_kept(store, name):
    counted(store, lambda desk: desk.figures.silent(name, "Unsure of 'hunter2'!"))
    assert store.read() == {(DAY, "other", "silent other"): 1}


def test_quantiles_lie_within_their_bucket_and_rise():
    latencies = Counter({"5": 50, "300": 40, "6000": 10})
    assert 0 < quantile(latencies, 0.25) < quantile(latencies, 0.5) <= 5
    assert 200 < quantile(latencies, 0.7) <= 300 and 3600 < quantile(latencies, 0.95) <= 6000
    assert quantile(Counter(), 0.5) is None
    assert quantile(Counter({"more": 3}), 0.5) == LATENCIES[-1]


# --- what stays of it -------------------------------------------------------------------------------------------------


def kept(store, act) -> dict[str, tuple[int, int]]:
    """Characters kept of those accepted, after each time."""
    found = counted(store, act)
    return {
        after: (found[f"kept {after}"], found[f"after {after}"]) for after in ("30", "300") if found[f"after {after}"]
    }


def accept(desk, *, told_first: bool) -> int:
    desk.show(1)
    at = desk.end
    if told_first:
        desk.figures.accepted(1, at)
    desk.type(at, TEXT)
    if not told_first:
        desk.figures.accepted(1, at)
    return at


@pytest.mark.parametrize("told_first", [True, False], ids=["told before the change", "told after it"])
class TestWhatStays:
    def test_all_of_it_where_nothing_was_changed(self, store, told_first):
        def act(desk):
            accept(desk, told_first=told_first)
            desk.wait(31)
            desk.wait(270)

        assert kept(store, act) == {"30": (len(TEXT), len(TEXT)), "300": (len(TEXT), len(TEXT))}

    def test_all_of_it_where_other_text_was_changed(self, store, told_first):
        def act(desk):
            accept(desk, told_first=told_first)
            desk.type(0, "# more\n" * 50)
            desk.type(desk.end, "more\n")
            desk.wait(31)

        assert kept(store, act) == {"30": (len(TEXT), len(TEXT))}

    def test_nothing_of_it_where_it_was_deleted(self, store, told_first):
        def act(desk):
            at = accept(desk, told_first=told_first)
            desk.type(at, "", len(TEXT))
            desk.wait(31)

        assert kept(store, act) == {"30": (0, len(TEXT))}

    def test_all_of_it_where_it_was_undone_and_done_again(self, store, told_first):
        def act(desk):
            at = accept(desk, told_first=told_first)
            desk.type(at, "", len(TEXT))
            desk.type(0, "# more\n")
            desk.type(0, "", len("# more\n"))
            desk.type(at, TEXT)
            desk.wait(31)

        assert kept(store, act) == {"30": (len(TEXT), len(TEXT))}

    def test_all_of_it_where_an_undo_and_a_redo_are_told_as_whole_texts(self, store, told_first):
        def act(desk):
            desk.texts[URI] += "rest\n"
            at = desk.end - len("rest\n")
            desk.show(1)
            if told_first:
                desk.figures.accepted(1, at)
            desk.type(at, TEXT)
            if not told_first:
                desk.figures.accepted(1, at)
            turned = TEXT[1:] + TEXT[0]  # between the text's own first letter and another such, both are the change
            assert (TEXT + "rest\n").startswith("r" + turned)
            desk.type(at, "", len(TEXT))
            desk.type(at + 1, turned)
            desk.wait(31)

        assert kept(store, act) == {"30": (len(TEXT), len(TEXT))}

    @pytest.mark.parametrize("arrives_first", [True, False], ids=["inserted first", "deleted first"])
    @pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
    def test_all_of_it_where_its_line_was_moved(self, store, told_first, arrives_first, up):
        def act(desk):
            at = accept(desk, told_first=told_first)
            desk.type(desk.end, "other = 1\n")
            line = "    " + TEXT
            start = at - len("    ")
            to = 0 if up else desk.end
            if arrives_first:
                desk.type(to, line)
                desk.type(start + len(line) * up, "", len(line))
            else:
                desk.type(start, "", len(line))
                desk.type(to - len(line) * (not up), line)
            desk.type(0, "# more\n")
            desk.wait(31)

        assert kept(store, act) == {"30": (len(TEXT), len(TEXT))}

    def test_nothing_of_it_where_something_else_took_its_place(self, store, told_first):
        def act(desk):
            at = accept(desk, told_first=told_first)
            desk.type(at, "", len(TEXT))
            desk.type(at, "QQQQ")
            desk.wait(31)

        assert kept(store, act) == {"30": (0, len(TEXT))}

    def test_a_part_of_it_where_it_was_edited(self, store, told_first):
        def act(desk):
            at = accept(desk, told_first=told_first)
            desk.type(at + len("return a + "), "self.b", 1)
            desk.type(at, "total = ", len("return "))
            desk.wait(31)

        stays, of = kept(store, act)["30"]
        assert of == len(TEXT) and len("a + b\n") <= stays < of

    def test_less_as_time_goes_on(self, store, told_first):
        def act(desk):
            at = accept(desk, told_first=told_first)
            desk.wait(31)
            desk.type(at, "", len(TEXT) - 1)
            desk.wait(270)

        assert kept(store, act) == {"30": (len(TEXT), len(TEXT)), "300": (1, len(TEXT))}

    def test_nobody_knows_once_the_document_is_closed(self, store, told_first):
        def act(desk):
            accept(desk, told_first=told_first)
            desk.figures.closed(URI)
            desk.wait(31)

        assert kept(store, act) == {}


def test_a_word_that_was_being_typed_may_be_replaced_with_what_is_accepted(store):
    def act(desk):
        desk.type(desk.end, "ret")
        desk.show(1, "urn a + b")
        desk.figures.accepted(1, desk.end)
        desk.type(desk.end - 3, "return a + b", 3)
        desk.type(desk.end - 1, "c", 1)
        desk.wait(31)

    assert kept(store, act) == {"30": (8, 9)}


# --- an idle editor is left alone -------------------------------------------------------------------------------------


def timers(figures: Figures) -> list[float]:
    now = asyncio.get_running_loop().time()
    return sorted(handle.when() - now for handle in (figures._writing, figures._looking) if handle is not None)


def test_one_timer_writes_whatever_is_counted_and_none_is_left_afterwards(store):
    async def run():
        desk = Desk(store)
        assert timers(desk.figures) == []
        for number in range(50):
            desk.show(number)
        (wait,) = timers(desk.figures)
        assert wait == pytest.approx(WRITTEN_AFTER, abs=1)
        desk.figures._writing.cancel()
        desk.figures._write_soon()
        await asyncio.gather(*desk.figures._writes)
        assert timers(desk.figures) == []

    asyncio.run(run())
    assert store.read()[(DAY, "python", "shown")] == 50


def test_one_timer_looks_at_what_was_accepted_and_none_is_left_after_five_minutes(store):
    async def run():
        desk = Desk(store)
        for number in range(3):
            desk.show(number)
            desk.figures.accepted(number, desk.end)
        assert len(timers(desk.figures)) == 2
        desk.wait(31)
        assert timers(desk.figures)[1] == pytest.approx(270, abs=5)
        desk.wait(270)
        assert desk.figures._looking is None
        await desk.figures.close()

    asyncio.run(run())


# --- the file ---------------------------------------------------------------------------------------------------------

ONE = {(DAY, "python", "shown"): 1}


ADD_OFTEN = """
import sys
from pathlib import Path
from paceline.lsp.figures_store import Store
sys.stdin.readline()
for _ in range(20):
    assert Store(Path(sys.argv[1])).add({(sys.argv[2], "python", "shown"): 1})
"""


def test_many_processes_write_at_once_and_no_count_is_lost(store):
    words = [sys.executable, "-c", ADD_OFTEN, str(store.path), DAY]
    writers = [subprocess.Popen(words, stdin=subprocess.PIPE) for _ in range(3)]
    for writer in writers:
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert store.read() == {(DAY, "python", "shown"): 60}


def test_only_its_owner_may_read_it(store):
    store.add(ONE)
    assert store.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"this is no database" * 100, b"SQLite format 3\0" + b"\1" * 5000, None])
def test_a_damaged_file_is_set_aside_and_counting_goes_on(store, damage):
    store.add({(DAY, f"language{number}", "shown"): 1 for number in range(400)})
    if damage is None:  # a page in the middle
        whole = bytearray(store.path.read_bytes())
        whole[4096:8192] = b"\xff" * 4096
        damage = bytes(whole)
    store.path.write_bytes(damage)
    assert store.add(ONE) and store.read() == ONE
    assert store.path.with_suffix(".damaged").read_bytes() == damage


def test_reading_a_damaged_file_gives_nothing_and_does_not_fail(store):
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(b"this is no database" * 100)
    assert store.read() == {}


def test_an_empty_file_is_a_new_one(store):
    store.path.parent.mkdir(parents=True)
    store.path.touch()
    assert store.add(ONE) and store.read() == ONE


def test_where_nothing_can_be_written_nothing_fails_and_counts_are_kept_for_later(store, tmp_path):
    (tmp_path / "state").write_text("in the way")

    async def run():
        desk = Desk(store)
        desk.show(1)
        await desk.figures._write()
        (tmp_path / "state").unlink()
        await desk.figures.close()

    asyncio.run(run())
    assert store.read()[(DAY, "python", "shown")] == 1


def test_a_full_disk_costs_figures_only(store, monkeypatch):
    store.add(ONE)

    def full(*_, **__):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(figures_store.sqlite3, "connect", full)
    assert not store.add(ONE)
    monkeypatch.undo()
    assert store.read() == ONE and not store.path.with_suffix(".damaged").exists()


def test_a_write_is_all_or_nothing(store):
    store.add(ONE)
    with sqlite3.connect(store.path) as file:
        file.execute(
            "CREATE TRIGGER full BEFORE INSERT ON counts WHEN NEW.what = 'b' BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    assert not store.add({(DAY, "python", "a"): 1, (DAY, "python", "b"): 1})
    assert store.read() == ONE


def test_a_file_of_a_newer_version_is_left_as_it_is(store):
    store.add(ONE)
    with sqlite3.connect(store.path) as file:
        file.execute(f"PRAGMA user_version = {figures_store.VERSION + 1}")
    before = store.path.read_bytes()
    assert not store.add(ONE) and store.read() == {}
    assert store.path.read_bytes() == before


def test_days_long_past_are_forgotten(store):
    past = (date.today() - figures_store.KEPT - timedelta(days=1)).isoformat()
    store.add({(past, "python", "shown"): 1})
    store.add(ONE)
    assert store.read() == ONE


def test_days_can_be_chosen(store):
    yesterday = (date.today() - timedelta(days=1)).isoformat()
    store.add({(yesterday, "python", "shown"): 5, **ONE})
    assert store.read(date.today()) == ONE
    assert sum(store.read(date.today() - timedelta(days=1)).values()) == 6


def test_nothing_is_left_after_a_reset(store):
    assert store.reset()
    store.add({(DAY, "brainfuck", "shown"): 1})
    assert store.reset() and store.read() == {}
    assert b"brainfuck" not in store.path.read_bytes()


def test_no_text_is_ever_in_the_file(store):
    def act(desk):
        desk.show(1, "hunter2")
        desk.figures.accepted(1, desk.end)
        desk.type(desk.end, "hunter2")
        desk.wait(301)

    counted(store, act)
    whole = store.path.read_bytes()
    assert b"hunter" not in whole and b"a.py" not in whole
