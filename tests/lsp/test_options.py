"""Settings from several places: every one has a default, later places win, what is wrong is told and left out."""

from pathlib import Path

import pytest

from paceline.config import EditorConfig
from paceline.lsp.options import PROJECT_FILE, Source, given, merge, of_project


def test_nothing_said_means_the_defaults():
    assert merge([]).editor == EditorConfig()


def test_later_places_win_key_by_key():
    found = merge([Source("one", {"candidates": 2, "comments": True}), Source("two", {"candidates": 5})])
    assert (found.editor.candidates, found.editor.comments) == (5, True)


def test_editors_may_write_names_in_their_own_way():
    assert merge([Source("editor", {"gitDiff": False, "maxFileKb": 7})]).editor.git_diff is False


def test_null_means_not_set():
    assert merge([Source("editor", {"candidates": None})]) == merge([])


@pytest.mark.parametrize("value", [{"candidates": 2}, {"paceline": {"candidates": 2}}])
def test_settings_may_stand_below_the_name_of_the_section(value: object):
    assert merge([given("editor", value)]).editor.candidates == 2


@pytest.mark.parametrize("value", [None, 3, [], "x", {"paceline": 3}])
def test_an_editor_that_sends_nonsense_gets_the_defaults(value: object):
    assert merge([given("editor", value)]).editor == EditorConfig()


def test_an_unknown_key_is_named_with_the_nearest_known_one():
    found = merge([Source("editor", {"candidate": 2, "max_tokens": 9})])
    assert found.editor.max_tokens == 9
    (problem,) = found.problems
    assert "candidate" in problem
    assert "candidates" in problem


def test_a_wrong_value_is_told_and_the_default_stays():
    found = merge([Source("editor", {"candidates": "many"})])
    assert found.editor == EditorConfig()
    assert "candidates" in found.problems[0]


def test_patterns_of_several_places_add_up():
    found = merge([Source("one", {"ignore": ["*.a"]}), Source("two", {"ignore": ["*.b"]})])
    assert found.editor.ignore == ("*.a", "*.b")


def test_a_project_may_hide_more_but_not_show_more():
    mine = Source("mine", {"other_files": False})
    project = Source("project", {"other_files": True, "git_diff": False, "candidates": 8}, trusted=False)
    found = merge([mine, project])
    assert (found.editor.other_files, found.editor.git_diff) == (False, False)
    assert found.editor.candidates == EditorConfig().candidates
    assert len(found.problems) == 2


@pytest.mark.parametrize("pattern", ["!keys.py", " !keys.py", "\t!*", "!!keys.py", "!"])
def test_a_project_cannot_show_again_what_the_person_hides(pattern: str):
    mine = Source("mine", {"ignore": ["keys.py"]})
    project = Source("project", {"ignore": ["more.py", pattern, "last.py"]}, trusted=False)
    found = merge([mine, project])
    assert found.editor.ignore == ("keys.py", "more.py", "last.py")
    assert "project" in found.problems[0]


@pytest.mark.parametrize("pattern", ["\\!keys.py", "a!b"])
def test_a_mark_within_a_projects_pattern_takes_nothing_back(pattern: str):
    found = merge([Source("project", {"ignore": [pattern]}, trusted=False)])
    assert found.editor.ignore == (pattern,)
    assert found.problems == ()


def test_the_person_may_show_again_what_a_project_hides():
    project = Source("project", {"ignore": ["*.py"]}, trusted=False)
    assert merge([project, Source("mine", {"ignore": ["!a.py"]})]).editor.ignore == ("*.py", "!a.py")


def test_a_projects_file_is_read_from_its_folder(tmp_path: Path):
    (tmp_path / PROJECT_FILE).write_text('[editor]\nignore = ["secret/"]\n')
    source, wrong = of_project(tmp_path)
    assert source is not None
    assert merge([source]).editor.ignore == ("secret/",)
    assert not wrong


def test_a_project_without_a_file_says_nothing(tmp_path: Path):
    assert of_project(tmp_path) == (None, "")


def test_a_broken_file_of_a_project_is_told(tmp_path: Path):
    (tmp_path / PROJECT_FILE).write_text("[editor\n")
    source, wrong = of_project(tmp_path)
    assert source is None
    assert "TOML" in wrong


def test_a_projects_file_cannot_choose_where_code_is_sent(tmp_path: Path):
    (tmp_path / PROJECT_FILE).write_text('[engine]\nurl = "http://elsewhere"\n')
    source, wrong = of_project(tmp_path)
    assert source is not None
    assert source.values == {}
    assert "engine" in wrong
