"""Files of a workspace, against asking the rules for every single one."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.chat.context.walking import Walk, listed
from paceline.workspace.ignoring import Rules


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def walked(root, extra=(), folder=""):
    return [each.path for each in Walk(str(root), extra).entries(folder)]


def asked_one_by_one(root, extra=()):
    """What a walk finds, slowly."""
    rules = Rules(str(root), extra)
    found = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    return sorted(path for path in found if ".git" not in path.split("/") and not rules.ignored(path))


def test_what_is_ignored_or_secret_is_not_found(tmp_path):
    tree(
        tmp_path,
        {
            ".git/config": "",
            ".gitignore": "build/\n*.log\n!keep.log\n",
            ".pacelineignore": "notes/\n",
            "a.py": "",
            "x.log": "",
            "keep.log": "",
            "build/out.py": "",
            "src/.gitignore": "gen.py\n",
            "src/gen.py": "",
            "src/main.py": "",
            "notes/diary.txt": "",
            ".env": "",
            ".ssh/config": "",
            "certs/server.pem": "",
        },
    )
    assert walked(tmp_path) == [
        ".gitignore",
        ".pacelineignore",
        "a.py",
        "certs/",
        "keep.log",
        "src/",
        "src/.gitignore",
        "src/main.py",
    ]


def test_a_workspace_within_a_repository_obeys_the_rules_above_it(tmp_path):
    tree(
        tmp_path,
        {
            ".git/info/exclude": "*.tmp\n",
            ".gitignore": "/sub/skip.py\n",
            "sub/skip.py": "",
            "sub/a.tmp": "",
            "sub/b.py": "",
        },
    )
    assert walked(tmp_path / "sub") == ["b.py"]


def test_a_workspace_that_is_ignored_as_a_whole_has_nothing(tmp_path):
    tree(tmp_path, {".git/config": "", ".gitignore": "out/\n", "out/deep/a.py": ""})
    assert walked(tmp_path / "out" / "deep") == asked_one_by_one(tmp_path / "out" / "deep") == []


def test_only_what_is_below_a_folder_is_found_there(tmp_path):
    tree(tmp_path, {".gitignore": "*.log\n", "a/b/c.py": "", "a/b/d.log": "", "a/e.py": "", "f.py": ""})
    assert walked(tmp_path, folder="a/b/") == ["a/b/c.py"]
    assert walked(tmp_path, folder="a/") == ["a/b/", "a/b/c.py", "a/e.py"]


def test_patterns_of_the_settings_count(tmp_path):
    tree(tmp_path, {"a.py": "", "b/c.py": "", "b/d.md": ""})
    assert walked(tmp_path, ("*.md",)) == ["a.py", "b/", "b/c.py"]
    assert walked(tmp_path, ("b/",)) == ["a.py"]


def test_links_do_not_lead_out_and_not_around(tmp_path):
    root = tree(tmp_path / "root", {"a.py": "", "d/b.py": ""})
    tree(tmp_path, {"outside.py": ""})
    (root / "out.py").symlink_to(tmp_path / "outside.py")
    (root / "in.py").symlink_to(root / "a.py")
    (root / "d" / "loop").symlink_to(root)
    (root / "broken").symlink_to(root / "nothing")
    assert walked(root) == ["a.py", "d/", "d/b.py", "in.py"]


def test_nothing_but_files_and_folders_is_found(tmp_path):
    tree(tmp_path, {"a.py": ""})
    os.mkfifo(tmp_path / "pipe")
    assert walked(tmp_path) == ["a.py"]


def test_a_folder_that_may_not_be_read_is_passed_over(tmp_path):
    tree(tmp_path, {"a.py": "", "locked/b.py": ""})
    (tmp_path / "locked").chmod(0)
    try:
        assert "a.py" in walked(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_where_there_is_no_room_it_is_said(tmp_path):
    tree(tmp_path, {f"{at:03}.py": "" for at in range(30)})
    found, note = listed(tmp_path, (), 10, 60)
    assert len(found) == 10
    assert "10" in note
    assert listed(tmp_path, (), 100, 60)[1] == ""


names = st.sampled_from(["a", "b", "c.py", "d.log"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
patterns = st.sampled_from(
    [
        "a",
        "a/",
        "/a",
        "*.log",
        "!d.log",
        "!a",
        "c.py",
        "b/*",
        "!b/c.py",
        "**/c.py",
        "a/**",
        "/b/a/",
        "*",
        "!*/",
        "# no",
        "",
    ]
)
rules = st.lists(patterns, max_size=3).map("\n".join)


@pytest.mark.parametrize("repository", [True, False])
@given(st.lists(paths, max_size=8), st.dictionaries(st.sampled_from(["", "a/", "b/"]), rules, max_size=2), rules)
@settings(max_examples=60, deadline=None)
def test_a_walk_finds_what_the_rules_let_through(tmp_path_factory, repository, found, ignored, own):
    root = tmp_path_factory.mktemp("walk")
    if repository:
        (root / ".git").mkdir()
    for path in found:
        where = root / path
        if not where.exists() and all(parent.is_dir() or not parent.exists() for parent in where.parents):
            tree(root, {path: ""})
    for folder, text in ignored.items():
        if not (root / folder).exists() or (root / folder).is_dir():
            tree(root, {f"{folder}.gitignore": text})
    tree(root, {".pacelineignore": own})
    walk = sorted(path for path in walked(root) if not path.endswith("/"))
    assert walk == asked_one_by_one(root)
