"""Settings from several places: every one has a default, later places win, what is wrong is told and left out."""

import os
from pathlib import Path

import pytest

from paceline.config import Config, EditorConfig
from paceline.lsp.options import LONGEST, PROJECT_FILE, Own, Source, given, merge, of_person, of_project, told


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


@pytest.mark.parametrize(
    "text",
    [
        f"[editor]\nmax_lines = {'9' * 5000}",  # more digits than Python reads
        "[editor]\nignore = " + "[" * 5000 + "]" * 5000,
        "a = " + "{a=" * 5000,
        "[editor]\nx = 99999-99-99",
        "\x00",
        "\ufeff\ufeff",
    ],
)
def test_a_projects_file_that_no_one_can_read_is_told_in_a_few_words(tmp_path: Path, text: str):
    (tmp_path / PROJECT_FILE).write_text(text, encoding="utf-8")
    source, wrong = of_project(tmp_path)
    assert source is None
    assert PROJECT_FILE in wrong
    assert len(wrong) < 800


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_projects_file_that_is_a_pipe_or_a_device_holds_nobody_up(tmp_path: Path):
    for name, make in {
        "pipe": os.mkfifo,
        "zero": lambda path: path.symlink_to("/dev/zero"),
        "loop": lambda path: path.symlink_to(path),
        "folder": Path.mkdir,
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        make(folder / PROJECT_FILE)
        source, _ = of_project(folder)
        assert source is None


def test_a_projects_file_that_is_too_large_is_told(tmp_path: Path):
    (tmp_path / PROJECT_FILE).write_text("#" * (LONGEST + 1))
    source, wrong = of_project(tmp_path)
    assert source is None
    assert "too large" in wrong


def test_thousands_of_unknown_keys_are_one_sentence():
    (problem,) = merge([Source("project", {f"k{number}": 1 for number in range(3000)}, trusted=False)]).problems
    assert "'k0', 'k1', 'k2' and 2997 others" in problem


def test_a_key_or_value_of_any_length_is_cut_and_cannot_steer_a_terminal():
    found = merge([Source("project", {"x\n\n\x1b[31m" + "A" * 5000: 1, "comments": "B" * 5000}, trusted=False)])
    assert len(found.problems) == 2
    for problem in found.problems:
        assert len(problem) < 300
        assert problem.isprintable()


def test_a_number_that_cannot_be_shown_is_told_all_the_same():
    assert merge([Source("editor", {"candidates": 10**5000})]).problems


def test_what_is_wrong_in_the_persons_table_is_told_and_the_rest_holds(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("[editor]\nfoo = 1\nmax_lines = 'x'\ncandidates = 2\n[chat]\nbar = 1\n[engine]\nthreads = 3\n")
    own = of_person(path)
    assert own.error is None
    assert (own.config.editor.candidates, own.config.engine.threads) == (2, 3)
    assert own.config.editor.max_lines == EditorConfig().max_lines
    assert len(own.problems) == 2
    assert all(str(path) in each for each in own.problems)


def test_without_a_file_of_the_person_the_defaults_hold(tmp_path: Path):
    assert of_person(tmp_path / "none.toml") == Own(Config())


@pytest.mark.parametrize("text", ["[editor\n", "[engine]\nthreds = 1\n"])
def test_a_file_that_says_nothing_of_use_about_the_engine_is_an_error_to_tell(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text)
    own = of_person(path)
    assert own.config == Config()
    assert own.error is not None
    assert str(path) in own.error.message


def test_however_many_settings_are_wrong_there_are_a_few_messages():
    wrong = dict.fromkeys(EditorConfig.__struct_fields__, object())
    problems = merge([Source("editor", wrong)]).problems
    assert len(problems) == len(wrong)
    messages = list(told(problems))
    assert len(messages) == 4
    assert all(any(problem in message for message in messages) for problem in problems)
