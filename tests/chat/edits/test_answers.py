"""Answers of small models, recorded and labelled by hand: what is made of them.

The batches after the first were recorded when the reading of answers had been written, and looked at one by one: what
each showed was mended before the next; nothing was for the last one.
"""

from collections.abc import Iterator

import pytest

from paceline.chat.edits.changes import Change
from paceline.chat.edits.propose import propose
from support.answers import BATCHES, FOLDER, Recorded, Task, read, tasks

RIGHT = 0.95  # of the answers with an edit that can be applied, how many must be
EACH = 0.9  # the same for each batch, some of which have few


def answers(batch: str) -> Iterator[tuple[Task, Recorded, dict[str, Change]]]:
    known = {task.name: task for task in tasks(batch)}
    for path in sorted(FOLDER.glob(f"{batch}-*.json")):
        for answer in read(path):
            task = known[answer.task]
            found = propose(answer.answer, task.files, task.wanted)
            yield task, answer, {each.path: each for each in found if each.changes}


def plain(text: str | None) -> str | None:
    """A text without its line endings' kind, and without blanks at the ends of lines."""
    return text and "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n"))


def wrong(answer: Recorded, found: dict[str, Change]) -> list[str]:
    """Files that are not what a person made of them."""
    wanted = answer.after or {}
    names = wanted.keys() | found.keys()
    return [name for name in names if plain(found[name].after if name in found else None) != plain(wanted.get(name))]


def test_there_are_enough_answers_of_enough_kinds():
    everything = [(task, answer) for batch in BATCHES for task, answer, _ in answers(batch)]
    assert len(everything) >= 60 + 20
    assert len({name for task, _ in everything for name in task.files}) >= 12
    assert any("\r\n" in text for task, _ in everything for text in task.files.values())


def test_nearly_all_edits_are_recognised_and_applied_right():
    usable = [(answer, found) for batch in BATCHES for _, answer, found in answers(batch) if answer.after is not None]
    missed = [answer.task for answer, found in usable if wrong(answer, found)]
    assert len(usable) > 100
    assert len(missed) <= (1 - RIGHT) * len(usable), missed


@pytest.mark.parametrize("batch", BATCHES)
def test_no_batch_is_much_worse_than_the_others(batch):
    usable = [(answer, found) for _, answer, found in answers(batch) if answer.after is not None]
    assert sum(not wrong(answer, found) for answer, found in usable) >= EACH * len(usable)


@pytest.mark.parametrize("batch", BATCHES)
def test_nothing_is_applied_wrong_without_being_shown_as_such(batch):
    for _, answer, found in answers(batch):
        unsaid = [name for name in wrong(answer, found) if name in found and found[name].certain]
        assert not unsaid, (answer.task, unsaid)


@pytest.mark.parametrize("batch", BATCHES)
def test_what_is_in_doubt_says_why(batch):
    for _, answer, found in answers(batch):
        assert all(each.certain or each.notes for each in found.values()), answer.task


def test_most_of_what_is_right_is_certain():
    right = [
        each
        for batch in BATCHES
        for _, answer, found in answers(batch)
        if not wrong(answer, found)
        for each in found.values()
    ]
    assert sum(each.certain for each in right) > 0.7 * len(right)
