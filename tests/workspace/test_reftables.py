"""Repositories whose branches are stored as a reftable have changes too, and nothing in them does any harm."""

import os
import shutil
import subprocess
import sys

import pytest

from paceline.errors import InputError
from paceline.workspace import git, reftables
from paceline.workspace.repository import opened

WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org")
NEW = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefstorage = reftable\n"

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or sys.platform == "win32", reason="a Git that is a script stands in for a newer one"
)


def run(root, *words):
    return subprocess.run(["git", *WHO, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def nobody(tmp_path, monkeypatch):
    """A person who has no settings of their own."""
    for key in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def repository(tmp_path):
    """A repository with a committed file that has changed since; its branches are where only a newer Git finds them."""
    root = tmp_path / "project"
    root.mkdir()
    run(root, "init", "-q")
    (root / "a.py").write_text("one = 1\n")
    run(root, "add", ".")
    run(root, "commit", "-qm", "first")
    (root / "a.py").write_text("one = 2\n")
    return root


def stored_anew(own, config=NEW):
    """As a newer Git leaves a repository, or a further working tree, but for what is in the parts."""
    (own / "reftable").mkdir()
    (own / "reftable/tables.list").write_text("0x1-0x2-ab.ref\n")
    (own / "reftable/0x1-0x2-ab.ref").write_bytes(b"REFT")
    (own / "HEAD").write_text("ref: refs/heads/.invalid\n")
    if (own / "config").exists():
        (own / "config").write_text(config)


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """A Git that answers what it is asked of branches as it is told, and keeps which repository it was shown."""
    real = shutil.which("git")
    folder = tmp_path / "bin"
    folder.mkdir()
    seen = tmp_path / "seen"

    def answers(*, head="", branch="", status=0):
        (folder / "git").write_text(
            f"""#!/bin/sh
for word do case "$word" in --git-dir=*) dir="${{word#--git-dir=}}";; esac; done
case "$*" in
  *rev-parse*) cp -R "$dir" {seen}; [ -f "$dir/commondir" ] && cp -R "$dir/../.." {seen}-common
    [ -n "{head}" ] && echo {head} && exit 0; exit 1;;
  *symbolic-ref*) [ -n "{branch}" ] && echo {branch} && exit 0; exit 1;;
  *show-ref*) exit {status};;
  *version*) echo git version 2.47.3; exit 0;;
esac
exec {real} "$@"
"""
        )
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return seen

    return answers


def test_what_has_changed_is_told(repository, newer):
    seen = newer(head=run(repository, "rev-parse", "HEAD"))
    stored_anew(repository / ".git")
    assert dict(git.changes(str(repository))) == {"a.py": "@@ -1 +1 @@\n-one = 1\n+one = 2\n"}
    assert sorted(each.name for each in (seen / "reftable").iterdir()) == ["0x1-0x2-ab.ref", "tables.list"]
    assert "refStorage = reftable" in (seen / "config").read_text()


def test_a_further_working_tree_has_branches_of_its_own_beside_those_of_all(repository, newer, tmp_path):
    run(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    (tmp_path / "other/a.py").write_text("one = 3\n")
    seen = newer(head=run(repository, "rev-parse", "HEAD"))
    stored_anew(repository / ".git")
    stored_anew(repository / ".git/worktrees/other")
    (repository / ".git/worktrees/other/reftable/0x1-0x2-ab.ref").write_bytes(b"its own")
    assert dict(git.changes(str(tmp_path / "other"))) == {"a.py": "@@ -1 +1 @@\n-one = 1\n+one = 3\n"}
    assert (seen / "reftable/0x1-0x2-ab.ref").read_bytes() == b"its own"
    common = seen.with_name("seen-common")
    assert (common / "reftable/0x1-0x2-ab.ref").read_bytes() == b"REFT"


def test_before_the_first_commit_all_that_is_staged_is_new(tmp_path, newer):
    root = tmp_path / "fresh"
    root.mkdir()
    run(root, "init", "-q")
    (root / "a.py").write_text("one = 1\n")
    run(root, "add", ".")
    stored_anew(root / ".git")
    newer(branch="refs/heads/main", status=2)
    assert dict(git.changes(str(root))) == {"a.py": "@@ -0,0 +1 @@\n+one = 1\n"}


@pytest.mark.parametrize("said", [{"branch": "refs/heads/main", "status": 1}, {"branch": "--help", "status": 2}, {}])
def test_branches_that_git_cannot_read_are_not_taken_for_none(repository, newer, said):
    newer(**said)
    stored_anew(repository / ".git")
    with pytest.raises(InputError, match="cannot be read"):
        git.differences(str(repository))


def test_a_git_that_is_too_old_is_said_to_be(repository, tmp_path, newer, monkeypatch):
    newer()
    script = tmp_path / "bin/git"
    script.write_text(script.read_text().replace("2.47.3", "2.39.5"))
    stored_anew(repository / ".git")
    with pytest.raises(InputError, match=r"Git 2\.39 cannot read this repository's branches") as told:
        git.differences(str(repository))
    assert "2.45 or newer" in told.value.hint


@pytest.mark.parametrize(
    "listed",
    [
        "../../secret.ref\n",
        "/etc/passwd\n",
        "a/b.ref\n",
        ".ref\n",
        "x.ref\0\n",
        "missing.ref\n",
        "pipe.ref\n",
        "-x.ref\n",
    ],
)
def test_a_list_that_leads_elsewhere_or_nowhere_is_not_followed(repository, newer, listed):
    seen = newer(head="0" * 40)
    stored_anew(repository / ".git")
    (repository / "secret.ref").write_text("x")
    os.mkfifo(repository / ".git/reftable/pipe.ref")
    (repository / ".git/reftable/tables.list").write_text(listed)
    with pytest.raises(InputError, match="cannot be read"):
        git.differences(str(repository))
    assert not seen.exists()


def test_no_more_is_copied_than_branches_take(repository, newer, monkeypatch):
    monkeypatch.setattr(reftables, "PACKED", 3)
    newer(head="0" * 40)
    stored_anew(repository / ".git")
    with pytest.raises(InputError, match="cannot be read"):
        git.differences(str(repository))


@pytest.mark.parametrize(
    "config",
    [
        NEW + '[filter "x"]\n\tclean = touch RAN; cat\n[core]\n\tfsmonitor = touch RAN\n\tsshCommand = touch RAN\n',
        NEW + "\tpartialClone = origin\n\tworktreeConfig = true\n[include]\n\tpath = more\n",
        NEW.replace("reftable", 'reftable\\\n[filter "x"]\n\tclean = touch RAN') + "\trefstorage = reftable\n",
        '[extensions]\n\trefstorage = reftable\n\tobjectformat = "sha1"\n\tworktreeConfig\n\tnoop = touch RAN\n',
    ],
)
def test_nothing_comes_along_with_what_git_has_to_know(repository, newer, tmp_path, config):
    seen = newer(head=run(repository, "rev-parse", "HEAD"))
    ran = tmp_path / "ran"
    filter_ = f'[filter "x"]\n\tclean = touch {ran}; cat\n'
    (repository / ".gitattributes").write_text("* filter=x\n")
    stored_anew(repository / ".git", config.replace("RAN", str(ran)))
    (repository / ".git/config.worktree").write_text(filter_)
    (repository / ".git/more").write_text(filter_)
    try:
        git.differences(str(repository))
    except InputError:
        assert not seen.exists()
    else:
        assert (seen / "config").read_text() == (
            "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\trefStorage = reftable\n"
        )
        assert not (seen / "config.worktree").exists()
    assert not ran.exists()


def test_hashes_and_branches_of_a_kind_that_is_not_known_are_said_to_be(repository):
    for line in ("objectformat = sha512", "refstorage = postgres"):
        (repository / ".git/config").write_text(f"[extensions]\n\t{line}\n")
        with pytest.raises(InputError, match="cannot be read") as told:
            git.differences(str(repository))
        assert "does not know" in told.value.hint


def test_nothing_is_left_of_a_stand_in(repository):
    stored_anew(repository / ".git")
    with reftables.standing_in(opened(repository)) as lent:
        assert lent.folder.exists()
    assert not lent.folder.exists()


@pytest.mark.parametrize("more", [(), ("--object-format=sha256",)])
def test_a_newer_git_reads_them(tmp_path, more):
    root, other = tmp_path / "real", tmp_path / "other"
    made = subprocess.run(["git", "init", "-q", "--ref-format=reftable", *more, str(root)], capture_output=True)
    if made.returncode:
        pytest.skip("this Git knows no reftables")
    (root / "a.py").write_text("one = 1\n")
    run(root, "add", ".")
    assert dict(git.changes(str(root))) == {"a.py": "@@ -0,0 +1 @@\n+one = 1\n"}
    run(root, "commit", "-qm", "first")
    run(root, "worktree", "add", "-q", str(other))
    run(root, "checkout", "-q", "--detach")
    for at, folder in enumerate((root, other)):
        (folder / "a.py").write_text(f"two = {at}\n")
        assert dict(git.changes(str(folder))) == {"a.py": f"@@ -1 +1 @@\n-one = 1\n+two = {at}\n"}
