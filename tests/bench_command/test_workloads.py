"""The workloads are texts that make sense, and the same ones on every machine."""

import pytest

from paceline.bench.workloads import load
from paceline.commands.bench import WORKLOADS


def test_the_command_offers_all_of_them_in_their_order():
    assert tuple(load()) == WORKLOADS


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_is_either_a_question_or_a_hole(name):
    workload = load()[name]
    assert workload.title
    assert bool(workload.prompt) != bool(workload.before and workload.after)
    assert workload.is_hole == bool(workload.before)


def test_a_question_about_a_file_shows_the_file():
    edit = load()["edit"]
    assert edit.question.startswith(edit.prompt)
    assert edit.question.endswith(f"```python\n{edit.file}```")
    assert "quantity" in edit.prompt and edit.file.count("quantity") > 10
    compile(edit.file, "edit", "exec")


def test_a_question_about_nothing_is_just_asked():
    assert load()["prose"].question == load()["prose"].prompt


def test_a_hole_is_whole_lines_of_a_file_that_is_right_around_it():
    hole = load()["completion"]
    assert hole.before.endswith("\n") and hole.after.startswith("\n")
    compile(f"{hole.before}        return {{}}\n{hole.after}", "hole", "exec")
