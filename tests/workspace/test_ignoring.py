"""The rules of .gitignore, .git/info/exclude, .pacelineignore and the settings."""

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context.walking import Walk
from paceline.workspace.ignoring import Rules


def write(root, texts):
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def ignored(root, path, extra=()):
    return Rules(str(root), extra).ignored(path)


def test_patterns_count_in_their_folder_and_below(tmp_path):
    write(tmp_path, {".gitignore": "*.log\n/build/\n", "sub/.gitignore": "local.py\n"})
    assert ignored(tmp_path, "a.log")
    assert ignored(tmp_path, "sub/deep/a.log")
    assert ignored(tmp_path, "build/a/b.py")
    assert not ignored(tmp_path, "sub/build/b.py")
    assert ignored(tmp_path, "sub/deep/local.py")
    assert not ignored(tmp_path, "local.py")


def test_a_nearer_file_takes_back_what_a_farther_one_says(tmp_path):
    write(tmp_path, {".gitignore": "*.log\n!keep.log\n", "sub/.gitignore": "!*.log\n"})
    assert not ignored(tmp_path, "keep.log")
    assert not ignored(tmp_path, "sub/a.log")
    assert ignored(tmp_path, "other/a.log")


def test_nothing_comes_back_out_of_an_ignored_folder(tmp_path):
    write(tmp_path, {".gitignore": "out/\n!out/keep.py\n", "out/.gitignore": "!*\n"})
    assert ignored(tmp_path, "out/keep.py")


def test_what_is_in_a_folder_is_ignored_and_one_file_of_it_comes_back(tmp_path):
    write(tmp_path, {".gitignore": "out/**\n!out/keep.py\n"})
    assert ignored(tmp_path, "out/a.py")
    assert not ignored(tmp_path, "out/keep.py")


def test_rules_of_the_repository_count_in_a_workspace_that_is_a_part_of_it(tmp_path):
    (tmp_path / ".git" / "info").mkdir(parents=True)
    write(tmp_path, {".gitignore": "/part/gen/\n", ".git/info/exclude": "private.py\n", "part/a.py": ""})
    assert ignored(tmp_path / "part", "gen/x.py")
    assert ignored(tmp_path / "part", "private.py")
    assert not ignored(tmp_path / "part", "a.py")


def test_a_repository_that_is_made_later_has_its_rules_from_then_on(tmp_path):
    write(tmp_path, {".gitignore": "/part/a.py\n", "part/a.py": ""})
    rules = Rules(str(tmp_path / "part"))
    assert not rules.ignored("a.py")
    write(tmp_path, {".git/HEAD": "ref: refs/heads/main\n"})
    assert rules.ignored("a.py")
    write(tmp_path, {"part/.git/config": ""})  # which is no repository, so Git goes on
    assert rules.ignored("a.py")
    write(tmp_path, {"part/.git/HEAD": "ref: refs/heads/main\n"})
    assert not rules.ignored("a.py")


def test_rules_for_us_keep_a_file_from_completions_too_and_those_of_git_do_not(tmp_path):
    write(tmp_path, {".gitignore": "a.py\n", ".pacelineignore": "b.py\nsub/*\n!sub/c.py\n"})
    rules = Rules(str(tmp_path), ("d.py",))
    assert [name for name in ("a.py", "b.py", "sub/c.py", "sub/x.py", "d.py") if rules.excluded(name)] == [
        "b.py",
        "sub/x.py",
        "d.py",
    ]
    assert rules.ignored("a.py")
    assert rules.ignored("b.py")


def test_a_secret_file_is_excluded_whatever_the_rules_say(tmp_path):
    write(tmp_path, {".gitignore": "!.env\n", ".pacelineignore": "!.env\n"})
    assert Rules(str(tmp_path)).excluded("sub/.env")


def test_rules_are_read_again_when_they_change(tmp_path):
    write(tmp_path, {".gitignore": "a.py\n"})
    rules = Rules(str(tmp_path))
    assert rules.ignored("a.py")
    write(tmp_path, {".gitignore": "another.py\n"})
    assert not rules.ignored("a.py")
    (tmp_path / ".gitignore").unlink()
    assert not rules.ignored("another.py")


def test_a_pattern_that_is_none_spoils_no_other(tmp_path):
    write(tmp_path, {".gitignore": "!\n/\n[z-a]\n\\\na.py\n"})
    assert ignored(tmp_path, "a.py")
    assert not ignored(tmp_path, "b.py")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have names on Unix only")
@pytest.mark.timeout(10)
def test_rules_that_are_a_pipe_or_a_folder_are_none(tmp_path):
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / ".pacelineignore").mkdir()
    assert not ignored(tmp_path, "a.py")


paths = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2),
    st.sampled_from(["a.py", "b.log", "c"]),
)
parts = st.sampled_from(["a", "b", "a*", "*.py", "*", "?b", "[ab]", "b.log"])
starts = st.sampled_from(["", "/", "**/"])
patterns = st.one_of(
    st.builds(
        lambda before, names, end: before + "/".join(names) + end,
        starts,
        st.lists(parts, min_size=1, max_size=3),
        st.sampled_from(["", "/", "/**", "/**/", "/**/a.py"]),
    ),
    st.builds(  # of files alone: to take back a folder means a little more here than to Git
        lambda before, folders, name: "!" + before + "/".join([*folders, name]),
        starts,
        st.lists(parts, max_size=2),
        st.sampled_from(["*.py", "b.log", "c"]),
    ),
)
rule_files = st.lists(patterns, max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A repository with a folder a."""
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "a").mkdir()
    return root


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no Git to compare with")
@settings(max_examples=25, deadline=None)
@given(st.fixed_dictionaries({"": rule_files, "a/": rule_files}), st.lists(paths, min_size=1, max_size=12))
def test_the_verdict_is_gits(tree, rules, wanted):
    write(tree, {f"{folder}.gitignore": text for folder, text in rules.items()})
    command = ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin"]
    asked = subprocess.run(command, cwd=tree, input="\n".join(wanted), capture_output=True, text=True, timeout=60)
    ours = Rules(str(tree))
    assert {path for path in wanted if ours.ignored(path)} == set(asked.stdout.split())


WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def run(root, *words):
    subprocess.run(["git", *WHO, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def further(tmp_path):
    """A further working tree of a repository."""
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    run(main, "init", "-q")
    write(main, {"a.py": "", ".git/info/exclude": "private.py\n"})
    run(main, "add", "a.py")
    run(main, "commit", "-qm", "first")
    run(main, "worktree", "add", "-q", str(other))
    return other


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no Git")


@needs_git
def test_a_further_working_tree_has_the_rules_of_its_repository(further):
    write(further, {"private.py": "", "part/private.py": "", "part/b.py": ""})
    assert ignored(further, "private.py")
    assert ignored(further / "part", "private.py")
    assert not ignored(further, "a.py")
    assert [each.path for each in Walk(str(further)).entries()] == ["a.py", "part/", "part/b.py"]


@needs_git
def test_the_rules_of_a_further_working_tree_are_read_again_when_they_change(further):
    rules = Rules(str(further))
    assert not rules.ignored("b.py")
    (further.parent / "main/.git/info/exclude").write_text("b.py\n# longer than before\n")
    assert rules.ignored("b.py")
    (further / ".git").unlink()
    run(further, "init", "-q")
    assert not rules.ignored("b.py")


@needs_git
def test_a_file_of_its_working_trees_own_folder_is_no_file_of_rules(further):
    write(further.parent / "main/.git/worktrees/other", {"info/exclude": "a.py\n"})
    assert not ignored(further, "a.py")


@needs_git
@pytest.mark.parametrize(
    "lead",
    [
        lambda top: (top / ".git").write_text("gitdir: \0\n"),
        lambda top: (top / ".git").write_text("gitdir: //server/share/.git\n"),
        lambda top: (top / ".git").write_text("gitdir: " + "../" * 2000 + "\n"),
        lambda top: (top / ".git").write_bytes(b"gitdir: \xff\n"),
        lambda top: (top / ".git").write_text("nothing"),
        lambda top: commondir(top).write_text("\\\\server\\share\n"),
        lambda top: commondir(top).write_text("../../../nowhere\n"),
        lambda top: (commondir(top).unlink(), os.mkfifo(commondir(top))),
        lambda top: (commondir(top).unlink(), commondir(top).symlink_to(commondir(top))),
        lambda top: (exclude(top).unlink(), os.mkfifo(exclude(top))),
        lambda top: (exclude(top).unlink(), exclude(top).symlink_to("/dev/zero")),
        lambda top: exclude(top).write_bytes(b"\xff\0\n" * 100_000),
    ],
)
def test_what_leads_nowhere_is_no_rule_and_holds_nobody_up(further, lead):
    write(further, {".gitignore": "*.log\n"})
    lead(further)
    assert ignored(further, "x.log")
    assert not ignored(further, "private.py")


def commondir(top):
    return top.parent / "main/.git/worktrees/other/commondir"


def exclude(top):
    return top.parent / "main/.git/info/exclude"
