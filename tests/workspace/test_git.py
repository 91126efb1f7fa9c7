"""What Git says, and that asking it does no harm."""

import os
import shutil
import subprocess
from contextlib import suppress

import pytest

from paceline.errors import InputError
from paceline.workspace import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no Git")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with two committed files and a person who has no settings of their own."""
    for key in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    (root / "sub" / "naïve file.py").write_text("x = 1\n")
    run(root, "init", "-q")
    run(root, "add", ".")
    run(root, *WHO, "commit", "-qm", "first")
    git.repository_name.cache_clear()
    return root


WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def run(root, *words):
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def commit(root):
    run(root, "add", ".")
    run(root, *WHO, "commit", "-qm", "next")


def test_staged_and_unstaged_changes_are_told_by_file(repository):
    (repository / "a.py").write_text("one = 1\ntwo = 22\nthree = 3\n")
    (repository / "sub" / "naïve file.py").write_text("x = 2\n")
    run(repository, "add", "a.py")
    assert dict(git.changes(str(repository))) == {
        "a.py": "@@ -1,3 +1,3 @@\n one = 1\n-two = 2\n+two = 22\n three = 3\n",
        "sub/naïve file.py": "@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    }


def test_a_part_of_a_repository_is_told_of_its_own_files_by_its_own_names(repository):
    (repository / "a.py").write_text("")
    (repository / "sub" / "naïve file.py").write_text("x = 2\n")
    assert [name for name, _ in git.changes(str(repository / "sub"))] == ["naïve file.py"]


def test_lines_that_look_like_heads_of_a_diff_are_text(repository):
    (repository / "a.py").write_text("++ b/other.py\ndiff --git a/x b/x\n@@ -1 +1 @@\n")
    assert [name for name, _ in git.changes(str(repository))] == ["a.py"]


def test_nothing_that_a_repository_configures_is_run(repository, tmp_path):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py diff=odd\n")
    (repository / "a.py").write_text("one = 11\n")
    for key in ("diff.external", "diff.odd.command", "diff.odd.textconv", "core.fsmonitor", "core.pager"):
        run(repository, "config", key, str(program))
    (tmp_path / "ran").unlink(missing_ok=True)  # the configuring itself asks the monitor
    assert [name for name, _ in git.changes(str(repository))] == ["a.py"]
    assert not (tmp_path / "ran").exists()
    (repository / ".gitattributes").write_text("*.py filter=odd\n")
    run(repository, "config", "filter.odd.clean", str(program))
    (tmp_path / "ran").unlink(missing_ok=True)
    git.changes(str(repository))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "config",
    [
        '[filter "x"]\n\tclean = touch RAN\n',
        '[core][filter "x"]\n\tclean = touch RAN; cat\n',
        '[core]\n\tbare = false\n[user] [filter "x"]\n\tclean = touch RAN; cat\n',
    ],
)
def test_filters_are_found_wherever_they_stand(repository, tmp_path, config):
    (repository / ".gitattributes").write_text("* filter=x\n")
    (repository / "a.py").write_text("one = 2\n")
    with (repository / ".git" / "config").open("a") as file:
        file.write(config.replace("RAN", str(tmp_path / "ran")))
    git.changes(str(repository))
    git.untracked(str(repository))
    assert not (tmp_path / "ran").exists()
    subprocess.run(["git", "diff"], cwd=repository, capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("url", ["ssh://h/x", "/nonexistent"])
def test_what_a_partial_clone_lacks_is_not_fetched(repository, tmp_path, url):
    oid = subprocess.check_output(["git", "rev-parse", "HEAD:a.py"], cwd=repository, text=True).strip()
    (repository / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    (repository / "a.py").write_text("one = 2\n")
    with (repository / ".git" / "config").open("a") as file:
        file.write(
            "[core]\n\trepositoryformatversion = 1\n\tsshCommand = touch RAN;false\n"
            '[extensions]\n\tpartialClone = origin\n[remote "origin"]\n'
            f"\turl = {url}\n\tpromisor = true\n\tuploadpack = touch RAN;false\n".replace("RAN", str(tmp_path / "ran"))
        )
    git.changes(str(repository))
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def trap(repository, tmp_path):
    """A program that a file's attributes ask for, and whether it has been run since it was last asked about."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py filter=x\n")
    (repository / "a.py").write_text("one = 2\n")
    return Trap(program, tmp_path / "ran")


class Trap:
    def __init__(self, program, ran):
        self.config = f'[filter "x"]\n\tclean = {program}\n'
        self._ran = ran

    def sprung(self, folder, ask=git.differences):
        """Whether asking about the folder runs the program."""
        self._ran.unlink(missing_ok=True)
        with suppress(InputError):
            ask(str(folder))
        return self._ran.exists()

    def sprung_by_git(self, folder):
        return self.sprung(
            folder, lambda folder: subprocess.run(["git", "diff", "HEAD", "--", "."], cwd=folder, capture_output=True)
        )


def append(path, text):
    with path.open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def hidden_by_a_cookie(repository, config):
    append(repository / ".git/config", config)
    data = (repository / ".git/config").read_bytes()
    (repository / ".git/config").write_bytes(b"# coding: cp037\n# \xff\n" + data)
    return repository


def in_a_folder_that_the_configuration_is_not_looked_for_in(repository, config):
    shutil.copytree(repository / ".git", repository / ".git/c")
    append(repository / ".git/c/config", config)
    (repository / ".git/commondir").write_text("c\n")
    return repository


def behind_a_name_that_ends_with_a_blank(repository, config):
    shutil.copytree(repository / ".git", repository / "real")
    (repository / ".git").rename(repository / "real ")
    append(repository / "real /config", config)
    (repository / ".git").write_text("gitdir: real \n")
    return repository


def around_a_folder_that_is_no_repository(repository, config):
    append(repository / ".git/config", config)
    (repository / "sub/.git").mkdir()
    (repository / "sub/.git/config").write_text("[core]\n")
    (repository / "sub/naïve file.py").write_text("x = 2\n")
    return repository / "sub"


def in_a_bare_repository_among_the_files(repository, config, *, below=""):
    bare = repository / "sub"
    shutil.copytree(repository / ".git", bare, dirs_exist_ok=True)
    core = f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {below or '.'}\n"
    (bare / "config").write_text(core + config)
    (bare / below).mkdir(exist_ok=True)
    shutil.copy(repository / "a.py", bare / below)
    shutil.copy(repository / ".gitattributes", bare / below)
    return bare / below


def in_a_bare_repository_above(repository, config):
    return in_a_bare_repository_among_the_files(repository, config, below="w")


def in_a_further_configuration(repository, config):
    append(repository / ".git/config", "[extensions]\n\tworktreeConfig = true\n")
    (repository / ".git/config.worktree").write_text(config)
    return repository


def in_what_is_included(repository, config):
    append(repository / ".git/config", '[includeIf "gitdir:**"]\n\tpath = more\n')
    (repository / ".git/more").write_text(config)
    return repository


def in_the_settings_of_the_person(repository, config):
    (repository.parent / "home").mkdir()
    (repository.parent / "home/.gitconfig").write_text(config)
    return repository


@pytest.mark.parametrize(
    "hide",
    [
        hidden_by_a_cookie,
        in_a_folder_that_the_configuration_is_not_looked_for_in,
        behind_a_name_that_ends_with_a_blank,
        around_a_folder_that_is_no_repository,
        in_a_bare_repository_among_the_files,
        in_a_bare_repository_above,
        in_a_further_configuration,
        in_what_is_included,
        in_the_settings_of_the_person,
    ],
)
def test_a_filter_is_not_run_however_it_is_configured(repository, trap, hide):
    folder = hide(repository, trap.config)
    assert not trap.sprung(folder)
    assert not trap.sprung(folder, git.untracked)
    assert trap.sprung_by_git(folder)


def test_a_repository_that_appears_later_and_nearer_is_the_one_that_is_asked(repository, trap):
    (repository / "sub/b.py").write_text("b = 1\n")
    assert git.differences(str(repository / "sub")).files == ()
    run(repository / "sub", "init", "-q")
    commit(repository / "sub")
    (repository / "sub/b.py").write_text("b = 2\n")
    assert [name for name, _ in git.changes(str(repository / "sub"))] == ["b.py"]
    append(repository / "sub/.git/config", trap.config)
    (repository / "sub/.gitattributes").write_text("*.py filter=x\n")
    assert not trap.sprung(repository / "sub")


def test_files_outside_of_a_repositorys_folder_are_not_looked_at(repository, tmp_path):
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary/a.py").write_text("private = 42\n")
    run(repository, "config", "core.worktree", str(tmp_path / "diary"))
    (repository / "a.py").write_text("one = 2\n")
    assert "+one = 2\n" in dict(git.changes(str(repository)))["a.py"]
    run(repository, "config", "core.worktree", "../../")
    assert [name for name, _ in git.changes(str(repository))] == ["a.py"]
    assert git.untracked(str(repository)) == ()


def test_no_name_of_another_machine_is_looked_up(repository):
    for name in (b"gitdir: //server/share/.git\n", b"gitdir: \\\\server\\share\n", b"gitdir: a\0b\n", b"else\n"):
        shutil.rmtree(repository / ".git", ignore_errors=True)
        (repository / ".git").unlink(missing_ok=True)
        (repository / ".git").write_bytes(name)
        with pytest.raises(InputError, match="cannot be read"):
            git.differences(str(repository))


def test_a_git_that_lies_in_the_workspace_is_not_run(repository, tmp_path, monkeypatch):
    (repository / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (repository / "git").chmod(0o755)
    (repository / "a.py").write_text("one = 2\n")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    assert [name for name, _ in git.changes(str(repository))] == ["a.py"]
    assert not (tmp_path / "ran").exists()


def test_of_a_file_that_passes_through_a_filter_no_lines_are_told(repository):
    (repository / "plain.txt").write_text("x\n")
    (repository / "sub/deep").mkdir()
    (repository / "sub/deep/secret.txt").write_text("sealed\n")
    (repository / "sub/.gitattributes").write_text("*.txt filter=crypt\n")
    commit(repository)
    for name in ("plain.txt", "sub/deep/secret.txt"):
        (repository / name).write_text("opened\n")
    found = git.differences(str(repository))
    assert [(each.name, bool(each.hunks)) for each in found.files] == [
        ("plain.txt", True),
        ("sub/deep/secret.txt", False),
    ]
    assert found.filtered == ("sub/deep/secret.txt",)
    assert git.changes(str(repository / "sub")) == ()
    (repository / "sub/.gitattributes").unlink()
    (repository / ".git/info/attributes").write_text("plain.txt filter=crypt\n")
    run(repository, "rm", "-q", "--cached", "sub/.gitattributes")
    assert git.differences(str(repository)).filtered == ("plain.txt",)


def test_how_lines_end_is_compared_as_the_person_or_the_repository_says(repository, tmp_path):
    (repository / "a.py").write_bytes(b"one = 1\r\ntwo = 2\r\nthree = 3\r\n")
    assert len(git.changes(str(repository))) == 1
    run(repository, "config", "core.autocrlf", "input")
    assert git.changes(str(repository)) == ()
    run(repository, "config", "--unset", "core.autocrlf")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text("[core]\n\tautocrlf = input\n\texcludesFile = ~/mine\n")
    (tmp_path / "home/mine").write_text("*.tmp\n")
    (repository / "x.tmp").write_text("")
    assert git.changes(str(repository)) == git.untracked(str(repository)) == ()


def test_a_working_tree_may_say_how_its_lines_end(repository):
    (repository / "a.py").write_bytes(b"one = 1\r\ntwo = 2\r\nthree = 3\r\n")
    run(repository, "config", "extensions.worktreeConfig", "true")
    run(repository, "config", "--worktree", "core.autocrlf", "input")
    assert git.changes(str(repository)) == ()
    run(repository, "config", "extensions.worktreeConfig", "false")
    assert len(git.changes(str(repository))) == 1


def test_a_submodule_is_a_repository_of_its_own(repository, tmp_path):
    (repository / "a.py").write_text("one = 1\n")
    run(repository, "clone", "-q", str(repository), str(tmp_path / "outer"))
    run(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    inner = tmp_path / "outer/inner"
    (inner / "a.py").write_text("one = 2\n")
    assert (inner / ".git").is_file()
    assert [name for name, _ in git.changes(str(inner))] == ["a.py"]
    assert [name for name, _ in git.changes(str(tmp_path / "outer"))] == [".gitmodules"]


def test_a_repository_with_long_hashes_and_one_with_packed_branches_are_read(repository, tmp_path):
    root = tmp_path / "long"
    root.mkdir()
    run(root, "init", "-q", "--object-format=sha256")
    (root / "a.py").write_text("a = 1\n")
    run(root, "add", ".")
    assert dict(git.changes(str(root))) == {"a.py": "@@ -0,0 +1 @@\n+a = 1\n"}
    commit(root)
    (root / "a.py").write_text("a = 2\n")
    (repository / "a.py").write_text("one = 1\n")
    run(repository, "pack-refs", "--all")
    for each in (root, repository):
        assert [name for name, _ in git.changes(str(each))] == ["a.py"]
        run(each, "checkout", "-q", "--detach")
        assert [name for name, _ in git.changes(str(each))] == ["a.py"]


@pytest.mark.parametrize("head", [b"ref: refs/heads/../../x\n", b"ref: refs/heads/a\n", b"\xff\n", b"ref: elsewhere\n"])
def test_a_head_that_leads_nowhere_is_said_to_be_unreadable(repository, head):
    (repository / ".git/HEAD").write_bytes(head)
    (repository / ".git/refs/heads/a").write_bytes(b"ref: refs/heads/a\n")
    with pytest.raises(InputError, match="cannot be read"):
        git.differences(str(repository))


def test_branches_that_are_stored_in_another_way_are_not_taken_for_none(repository):
    (repository / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    (repository / ".git/reftable").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        git.differences(str(repository))


def test_a_diff_takes_two_programs(repository, monkeypatch):
    (repository / "a.py").write_text("one = 2\n")
    git.differences(str(repository))
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **more: started.append(words) or popen(*words, **more))
    git.differences(str(repository))
    assert len(started) == 2


def test_a_large_file_does_not_hide_those_behind_it(repository, monkeypatch):
    monkeypatch.setattr(git, "LARGEST", 2000)
    (repository / "a.py").write_text("".join(f"line {number}\n" for number in range(1000)))
    (repository / "sub/naïve file.py").write_text("x = 2\n")
    found = git.differences(str(repository))
    assert [each.name for each in found.files] == ["a.py", "sub/naïve file.py"]
    assert found.files[1].hunks == "@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    assert (found.partly, found.left, found.cut) == (("a.py",), (), False)
    (repository / "a.py").write_text("".join(f"line {number}\n" for number in range(10_000)))
    found = git.differences(str(repository))
    assert [each.name for each in found.files] == ["a.py"]
    assert (found.partly, found.left, found.cut) == (("a.py",), ("sub/naïve file.py",), False)
    assert sum(len(each.head + each.hunks) for each in found.files) <= 2000


def test_of_very_many_files_the_first_are_told_and_the_others_named(repository, monkeypatch):
    names = [f"m{number:03}.py" for number in range(300)]
    for name in names:
        (repository / name).write_text("")
    commit(repository)
    for name in names:
        (repository / name).write_text("m = 1\n")
    monkeypatch.setattr(git, "LARGEST", 10_000)
    found = git.differences(str(repository))
    told = [each.name for each in found.files]
    assert len(told) >= git.MANY
    assert [*told, *found.left] == names
    assert all(each.hunks == "@@ -0,0 +1 @@\n+m = 1\n" for each in found.files)
    assert sum(len(each.head + each.hunks) for each in found.files) <= 10_000


def test_a_line_that_has_no_room_is_left_out_with_its_file(repository, monkeypatch):
    monkeypatch.setattr(git, "LARGEST", 2000)
    (repository / "a.py").write_text("x" * 3000 + "\n")
    (repository / "sub/naïve file.py").write_text("x = 2\n")
    run(repository, "rm", "-q", "--cached", "a.py")
    run(repository, *WHO, "commit", "-qm", "without")
    run(repository, "add", ".")
    found = git.differences(str(repository))
    assert ([each.name for each in found.files], found.left) == (["sub/naïve file.py"], ("a.py",))


def test_what_was_called_otherwise_is_asked_about_by_both_names(repository):
    (repository / "a.py").rename(repository / "b.py")
    append(repository / "b.py", "four = 4\n")
    run(repository, "add", "-A")
    asked = []
    assert [name for name, _ in git.changes(str(repository), lambda name: not asked.append(name))] == ["b.py"]
    assert asked == ["b.py", "a.py"]
    assert git.changes(str(repository), lambda name: name != "a.py") == ()


def test_asking_writes_nothing(repository):
    index = repository / ".git" / "index"
    before = index.stat().st_mtime_ns, sorted((repository / ".git").iterdir())
    os.utime(repository / "a.py", (1000, 1000))  # which makes `git diff` want to refresh the index
    assert git.changes(str(repository)) == git.untracked(str(repository)) == ()
    assert (index.stat().st_mtime_ns, sorted((repository / ".git").iterdir())) == before


def test_a_repository_without_a_commit_a_plain_folder_and_no_folder_have_no_changes(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "fresh").mkdir()
    run(tmp_path / "fresh", "init", "-q")
    for name in ("empty", "fresh", "missing"):
        assert git.changes(str(tmp_path / name)) == ()


def test_before_the_first_commit_all_that_is_staged_is_new(repository, tmp_path):
    root = tmp_path / "fresh"
    (root / "sub").mkdir(parents=True)
    run(root, "init", "-q")
    (root / "sub" / "a.py").write_text("one = 1\n")
    run(root, "add", ".")
    (root / "sub" / "a.py").write_text("one = 2\n")
    (root / "other.py").write_text("")
    assert git.changes(str(root)) == (("sub/a.py", "@@ -0,0 +1 @@\n+one = 2\n"),)
    assert git.changes(str(root / "sub")) == (("a.py", "@@ -0,0 +1 @@\n+one = 2\n"),)
    assert git.untracked(str(root)) == ("other.py",)


def test_a_commit_that_is_damaged_is_not_taken_for_none(repository):
    run(repository, "add", ".")
    for each in (repository / ".git" / "objects").glob("??/*"):
        each.unlink()
    assert git.changes(str(repository)) == ()
    with pytest.raises(InputError, match="cannot say"):
        git.differences(str(repository))


def test_what_is_gone_renamed_new_and_of_another_mode_is_told(repository):
    (repository / 'odd "name"\t.py').write_text("x = 1\n" * 9)
    (repository / "run.sh").write_text("echo\n")
    (repository / "picture.bin").write_bytes(b"\0\1")
    commit(repository)
    (repository / "a.py").unlink()
    (repository / 'odd "name"\t.py').rename(repository / 'é "new".py')
    (repository / "run.sh").chmod(0o755)
    (repository / "picture.bin").write_bytes(b"\0\2")
    (repository / "empty.py").write_text("")
    run(repository, "add", "-A")
    found = {each.name: each for each in git.differences(str(repository)).files}
    assert sorted(found) == ["a.py", "empty.py", "picture.bin", "run.sh", 'é "new".py']
    assert found["a.py"].deleted and found["a.py"].hunks.startswith("@@ -1,3 +0,0 @@\n-one = 1\n")
    assert found["a.py"].head == "diff --git a/a.py b/a.py\ndeleted file mode 100644\n--- a/a.py\n+++ /dev/null\n"
    assert found['é "new".py'].old == 'odd "name"\t.py'
    assert "rename from" in found['é "new".py'].head
    assert found["run.sh"].head.endswith("old mode 100644\nnew mode 100755\n")
    assert found["picture.bin"].head.endswith("Binary files a/picture.bin and b/picture.bin differ\n")
    assert found["empty.py"].head.endswith("new file mode 100644\n")
    assert git.changes(str(repository)) == ()  # no lines that are there have changed


def test_only_what_is_asked_about_is_looked_at_in_another_repository(repository, tmp_path):
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    inner = repository / "inner"
    inner.mkdir()
    run(inner, "init", "-q")
    (inner / "x.py").write_text("x = 1\n")
    (inner / ".gitattributes").write_text("* filter=odd\n")
    commit(inner)
    commit(repository)
    run(inner, "config", "filter.odd.clean", str(program))
    run(inner, "config", "core.fsmonitor", str(program))
    (inner / "x.py").write_text("x = 2\n")
    (tmp_path / "ran").unlink(missing_ok=True)
    assert git.differences(str(repository)).files == ()
    commit(inner)
    (tmp_path / "ran").unlink(missing_ok=True)
    (found,) = git.differences(str(repository)).files
    assert found.submodule and found.name == "inner"
    assert "-Subproject commit " in found.hunks
    assert git.changes(str(repository)) == git.untracked(str(repository)) == ()
    assert not (tmp_path / "ran").exists()


def test_a_conflict_is_told_as_it_stands_in_the_file(repository):
    run(repository, "branch", "other")
    (repository / "a.py").write_text("one = 11\n")
    commit(repository)
    run(repository, "checkout", "-q", "other")
    (repository / "a.py").write_text("one = 12\n")
    commit(repository)
    subprocess.run(["git", *WHO, "merge", "-"], cwd=repository, capture_output=True, check=False)
    (found,) = [each for each in git.differences(str(repository)).files if each.hunks]
    assert "+<<<<<<< HEAD\n" in found.hunks
    assert "Unmerged" not in found.hunks


def test_what_git_does_not_follow_is_listed_and_what_it_ignores_is_not(repository):
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "x.log").write_text("")
    (repository / "sub" / "naïve new.py").write_text("")
    assert git.untracked(str(repository)) == (".gitignore", "sub/naïve new.py")
    assert git.untracked(str(repository / "sub")) == ("naïve new.py",)
    assert git.untracked(str(repository.parent)) == ()


def test_of_many_files_that_git_does_not_follow_the_first_are_listed(repository, monkeypatch):
    for at in range(100):
        (repository / f"m{at:02}.py").write_text("")
    monkeypatch.setattr(git, "LARGEST", 100)
    assert git.untracked(str(repository)) == tuple(f"m{at:02}.py" for at in range(14))  # seven bytes each


def test_why_git_is_not_asked_is_said(repository, tmp_path, monkeypatch):
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError, match="no Git repository"):
        git.differences(str(tmp_path / "plain"))
    run(tmp_path / "plain", "init", "-q")
    assert git.differences(str(tmp_path / "plain")).files == ()  # it is one by now
    (repository / ".git" / "HEAD").unlink()
    with pytest.raises(InputError, match="cannot be read"):
        git.differences(str(repository))


def test_a_git_that_hangs_is_given_up(repository, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    hanging = tmp_path / "bin" / "git"
    hanging.write_text("#!/bin/sh\necho 'diff --git a/x b/x'\nexec sleep 60\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git, "SECONDS", 0.2)
    assert git.changes(str(repository)) == ()


def test_a_machine_without_git_has_no_changes(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.changes(str(repository)) == ()


def test_a_long_diff_is_cut_at_a_line(repository, monkeypatch):
    (repository / "a.py").write_text("".join(f"line {number}\n" for number in range(1000)))
    whole = dict(git.changes(str(repository)))["a.py"]
    monkeypatch.setattr(git, "LARGEST", 2000)
    cut = dict(git.changes(str(repository)))["a.py"]
    assert whole.startswith(cut)
    assert cut.endswith("\n")
    assert len(cut) < 2000 < len(whole)


def test_a_further_working_tree_belongs_to_its_repository(repository, tmp_path):
    run(repository, "remote", "add", "origin", "https://me:pass@example.org/team/bicycle.git")
    run(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    (tmp_path / "other" / "a.py").write_text("")
    assert [name for name, _ in git.changes(str(tmp_path / "other"))] == ["a.py"]
    assert git.repository_name(str(tmp_path / "other")) == "bicycle"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org/team/bicycle.git", "bicycle"),
        ("git@example.org:bicycle.git", "bicycle"),
        ("/srv/git/bicycle/", "bicycle"),
        ("C:\\git\\bicycle", "bicycle"),
    ],
)
def test_a_repository_is_called_as_its_remote(repository, url, name):
    run(repository, "remote", "add", "upstream", "https://example.org/else")
    run(repository, "remote", "add", "origin", url)
    assert git.repository_name(str(repository / "sub")) == name


def test_without_a_remote_the_folder_gives_the_name(repository, tmp_path):
    assert git.repository_name(str(repository / "sub")) == "project"
    (tmp_path / "plain").mkdir()
    assert git.repository_name(str(tmp_path / "plain")) == "plain"
    assert git.repository_name("") == ""
