"""Files, folders, symbols, changes and outputs as the model is shown them."""

import os
import subprocess
from pathlib import Path

import pytest

from paceline.chat.context import attaching
from paceline.chat.context.attaching import Attaching, KeptBackError, message_text
from paceline.chat.context.finder import DIFF, OUTPUT, Finder, Found
from paceline.chat.context.mentions import Mention, mentions
from paceline.chat.turns import Attached
from paceline.errors import InputError
from paceline.workspace import git as git_of_workspace

KEY = "ghp_" + "a1B2" * 9


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = tmp_path / "work"
    (top / "app").mkdir(parents=True)
    (top / "app/cli.py").write_text("import os\n\n\ndef main():\n    return 1\n\n\nclass A:\n    def f(self): ...\n")
    (top / "long.txt").write_text("".join(f"line {at}\n" for at in range(1, 101)))
    return top


@pytest.fixture
def read(root: Path) -> Attaching:
    return Attaching(root)


def git(root: Path, *words: str) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, env={**os.environ, **who})


def test_a_file_is_read_exactly(root, read):
    (root / "odd.txt").write_bytes(b"a\r\nb\tc\x1b[31m\n\n  ")
    attached = read.file("odd.txt")
    assert attached == Attached("file", "odd.txt", "a\r\nb\tc\x1b[31m\n\n  ", str(root / "odd.txt"))


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"\xef\xbb\xbfa", "a"), ("ä\n".encode("utf-16"), "ä\n"), (b"", ""), ("é".encode(), "é")],
)
def test_what_an_editor_reads_is_read(root, read, data, text):
    (root / "x.txt").write_bytes(data)
    assert read.file("x.txt").text == text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a\0b", "not text"),
        (b"\xff\x00a", "not UTF-8|NUL"),
        (b"caf\xe9", "not UTF-8"),
        (b"x" * (4 * 2**20 + 1), "larger than 4 MiB"),
    ],
)
def test_what_is_no_text_is_refused_with_a_reason(root, read, data, why):
    (root / "x.bin").write_bytes(data)
    with pytest.raises(InputError, match=why):
        read.file("x.bin")


@pytest.mark.parametrize("path", ["nothing.py", "app/cli.py/x", "a\0b", "\ud800", "x" * 300, "~nobody-here/x"])
def test_what_is_not_there_is_said_not_to_be(read, path):
    with pytest.raises(InputError):
        read.file(path)


def test_a_folder_a_pipe_and_a_locked_file_are_no_files(root, read):
    os.mkfifo(root / "pipe")
    for path in ("app", "pipe"):
        with pytest.raises(InputError):
            read.file(path)


def test_lines_of_a_file_are_those_an_editor_numbers(read):
    attached = read.file("long.txt", 10, 12)
    assert (attached.name, attached.text) == ("long.txt:10-12", "line 10\nline 11\nline 12\n")
    assert read.file("long.txt", 7, 7).name == "long.txt:7"
    assert read.file("long.txt", 99, 500).name == "long.txt:99-100"


def test_a_line_that_is_not_there_is_said_not_to_be(read):
    with pytest.raises(InputError, match="100 lines"):
        read.file("long.txt", 101, 120)


def test_the_last_line_may_have_no_end(root, read):
    (root / "x.txt").write_text("a\nb")
    assert read.file("x.txt", 2, 2).text == "b"
    assert read.file("x.txt", 1, 2).text == "a\nb"


def test_secrets_are_replaced_and_it_is_said(root, read):
    (root / "conf.py").write_text(f"KEY = '{KEY}'\nb = 1\n")
    attached = read.file("conf.py")
    assert KEY not in attached.text
    assert attached.text.endswith("b = 1\n")
    assert "asterisks" in attached.cut


@pytest.mark.parametrize("name", [".env", "id_rsa", "server.pem", ".ssh/config", ".aws/x"])
def test_a_file_of_secrets_is_refused_for_good(root, read, name):
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("x")
    for override in (False, True):
        with pytest.raises(KeptBackError) as told:
            read.file(name, override=override)
        assert not told.value.may_override


def test_a_link_to_a_file_of_secrets_is_one(root, read):
    (root / ".env").write_text("x")
    (root / "harmless.txt").symlink_to(root / ".env")
    with pytest.raises(KeptBackError):
        read.file("harmless.txt", override=True)


def test_an_ignored_file_needs_a_yes(root, read):
    (root / ".pacelineignore").write_text("long.txt\n")
    with pytest.raises(KeptBackError, match="ignore") as told:
        read.file("long.txt")
    assert told.value.may_override
    assert read.file("long.txt", override=True).text.startswith("line 1\n")


def test_a_file_outside_of_the_workspace_needs_a_yes(root, read, tmp_path):
    (tmp_path / "other.txt").write_text("other")
    (root / "link.txt").symlink_to(tmp_path / "other.txt")
    for path in ("../other.txt", str(tmp_path / "other.txt"), "link.txt"):
        with pytest.raises(KeptBackError, match="outside") as told:
            read.file(path)
        assert told.value.may_override
        assert read.file(path, override=True).name == str(tmp_path / "other.txt")


def test_a_folder_is_listed_and_its_files_follow(root, read):
    (root / "app/.gitignore").write_text("*.log\n")
    (root / "app/x.log").write_text("noise")
    (root / "app/blob").write_bytes(b"\0\1")
    attached = read.folder("app")
    assert (attached.kind, attached.name) == ("folder", "app/")
    assert attached.text.startswith("app/\n.gitignore\nblob\ncli.py\n")
    assert "===== cli.py\nimport os\n" in attached.text
    assert "noise" not in attached.text
    assert "blob" in attached.cut


def test_a_folder_is_shown_as_far_as_it_goes_and_the_rest_is_named(root, read, monkeypatch):
    monkeypatch.setattr(attaching, "FOLDER", 1000)
    (root / "many").mkdir()
    for at in range(5):
        (root / f"many/{at}.txt").write_text("x" * 400)
    attached = read.folder("many/")
    assert attached.text.count("=====") == 2
    assert attached.cut == "listed only, without their text: 2.txt, 3.txt, 4.txt"
    assert len(attached.text) < 1200


def test_an_ignored_folder_needs_a_yes_and_is_shown_then(root, read):
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("app/\n")
    with pytest.raises(KeptBackError):
        read.folder("app")
    assert "import os" in read.folder("app", override=True).text


def test_the_workspace_itself_is_a_folder(read):
    assert "===== app/cli.py" in read.folder(".").text


def test_a_symbol_is_shown_whole(root, read):
    found = Found("symbol", "main", "@main", "app/cli.py", 2)
    (root / "app/cli.py").write_text("# moved down\n" + (root / "app/cli.py").read_text())
    attached = read.of(found)
    assert attached.text == "def main():\n    return 1\n"
    assert attached.name == "main, app/cli.py:5-6"


def test_a_symbol_that_is_gone_is_said_to_be(root, read):
    (root / "app/cli.py").write_text("")
    with pytest.raises(InputError, match="not defined"):
        read.of(Found("symbol", "main", "@main", "app/cli.py", 4))


def test_the_diff_has_what_is_staged_and_what_is_not(root, read):
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    with pytest.raises(InputError, match="nothing has changed"):
        read.diff()
    (root / "long.txt").write_text("short\n")
    (root / "new.py").write_text("new = 1\n")
    git(root, "add", "new.py")
    attached = read.of(DIFF)
    assert attached.kind == "diff"
    assert "+++ b/long.txt\n" in attached.text
    assert "+new = 1\n" in attached.text


def test_a_secret_in_the_diff_is_not_shown(root, read):
    (root / ".env").write_text("A=1\n")
    git(root, "init", "-q")
    git(root, "add", "-f", ".")
    git(root, "commit", "-qm", "x")
    (root / ".env").write_text("A=2\n")
    (root / "long.txt").write_text(f"token = '{KEY}'\n")
    attached = read.diff()
    assert ".env" not in attached.text
    assert KEY not in attached.text
    assert "kept back" in attached.cut


def test_without_git_there_is_no_diff(read):
    with pytest.raises(InputError):
        read.diff()


def test_the_last_output_is_attached_if_there_is_one(read):
    last = Attached("output", "$ ls", "a\n[exit status 0]")
    assert read.of(OUTPUT, last) is last
    with pytest.raises(InputError, match="no command"):
        read.of(OUTPUT)


def test_a_mention_is_read(root, read):
    finder = Finder(root)
    finder.refresh(60)
    names = mentions("see @long.txt:3-4, @A.f and @app/", lambda name: finder.resolve(name) is not None)
    assert [read.mention(each, finder).name for each in names] == ["long.txt:3-4", "A.f, app/cli.py:9", "app/"]


def test_a_mention_of_nothing_says_so(root, read):
    mention = mentions("see @no/such.py", lambda name: False)[0]
    with pytest.raises(InputError, match="no/such"):
        read.mention(mention, Finder(root))


def test_a_message_shows_what_is_attached_then_the_question():
    attached = [Attached("file", "a.py", "x = 1\n"), Attached("output", "$ ls", "a\n[exit status 0]")]
    assert message_text("Why?", attached) == (
        "File: a.py\n```python\nx = 1\n```\n\nFile: $ ls\n```\na\n[exit status 0]\n```\n\nWhy?"
    )
    assert message_text("Why?", []) == "Why?"


def test_another_question_about_the_same_begins_the_same():
    attached = [Attached("file", "a.py", "x = 1\n")]
    one, two = message_text("Why?", attached), message_text("How?", attached)
    assert one[:-4] == two[:-4]


def test_a_fence_in_a_file_does_not_end_it():
    text = message_text("", [Attached("file", "a.md", "```\nx\n```\n")])
    assert text.startswith("File: a.md\n````markdown\n") and text.endswith("\n````")


def test_a_link_in_a_folder_shows_nothing_that_is_kept_back(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text("hidden.txt\n")
    (tmp_path / "hidden.txt").write_text("hidden words\n")
    (tmp_path / ".env").write_text("DATABASE_PASSWORD=hunter2hunter\n")
    (tmp_path / "plain.txt").write_text("plain words\n")
    for name, target in (("a.md", "../.env"), ("b.txt", "../hidden.txt"), ("c.txt", "../plain.txt")):
        (tmp_path / "sub" / name).symlink_to(target)
    text = Attaching(tmp_path).folder("sub/").text
    assert "hunter2" not in text
    assert "hidden words" not in text
    assert "plain words" in text


@pytest.fixture
def repository(root: Path, monkeypatch) -> Path:
    """The same files, committed."""
    for key in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(root / "home"))
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    return root


def test_the_diff_has_what_is_deleted_renamed_and_made_executable(repository, read):
    (repository / "long.txt").unlink()
    (repository / "app/cli.py").rename(repository / "app/main.py")
    git(repository, "add", "-A")
    text = read.diff().text
    assert "deleted file mode 100644\n--- a/long.txt\n+++ /dev/null\n@@ -1,100 +0,0 @@\n-line 1\n" in text
    assert "rename from app/cli.py\nrename to app/main.py\n" in text
    assert "index " not in text.replace("similarity index", "")


@pytest.mark.parametrize("name", [".env", "keys/server.pem", "gone.txt"])
def test_what_is_deleted_is_kept_back_as_what_is_there(repository, read, name):
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("PASSWORD=hunter2hunter\n")
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "secret")
    (repository / ".gitignore").write_text("gone.txt\n")
    git(repository, "rm", "-q", "--cached", name)
    (repository / name).unlink()
    git(repository, "add", ".gitignore")
    attached = read.diff()
    assert "hunter2" not in attached.text
    assert attached.cut == f"kept back by rules: {name}"


def test_a_secret_file_under_another_name_is_kept_back(repository, read):
    (repository / ".env").write_text("".join(f"SETTING_{at}={at}\n" for at in range(30)))
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-qm", "secret")
    (repository / ".env").rename(repository / "settings.txt")
    git(repository, "add", "-A")
    with pytest.raises(InputError, match="may be shown") as told:
        read.diff()
    assert "settings.txt" in told.value.hint


def test_a_secret_that_a_line_of_the_diff_begins_with_is_replaced(repository, read):
    (repository / "notes.txt").write_text(f"{KEY}\nother\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "oops")
    (repository / "notes.txt").write_text("other\n")
    attached = read.diff()
    assert f"-{'*' * len(KEY)}\n other\n" in attached.text
    assert "asterisks" in attached.cut


def test_what_git_does_not_follow_is_counted_and_not_shown(repository, read):
    (repository / "fresh.py").write_text("fresh = 1\n")
    (repository / ".env").write_text("A=1\n")
    with pytest.raises(InputError, match="nothing has changed") as told:
        read.diff()
    assert told.value.hint.startswith("1 new file is not followed by Git")
    (repository / "other.py").write_text("other = 1\n")
    (repository / "long.txt").write_text("short\n")
    attached = read.diff()
    assert "fresh" not in attached.text
    assert attached.cut == "2 new files are not followed by Git, which are not shown"


def test_a_long_diff_says_what_it_has_in_part_and_names_what_it_has_not(repository, read, monkeypatch):
    monkeypatch.setattr(git_of_workspace, "LARGEST", 1024)
    (repository / "app/cli.py").write_text("".join(f"other line {at}\n" for at in range(1000)))
    (repository / "long.txt").write_text((repository / "long.txt").read_text() + "short\n")
    attached = read.diff()
    assert "+other line 1\n" in attached.text
    assert attached.text.endswith("+short\n")
    assert attached.cut == "shown in part: app/cli.py"
    (repository / "app/cli.py").write_text("".join(f"other line {at}\n" for at in range(5000)))
    (repository / ".env").write_text("A=1\n")
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-qm", "secret", "--", ".env")
    (repository / ".env").write_text("A=2\n")
    (repository / "app/data").write_text("1\n")
    git(repository, "add", "app/data")
    (repository / ".pacelineignore").write_text("app/data\n")
    attached = read.diff()
    assert attached.text.endswith("Changed as well, but not shown:\nlong.txt\n")
    assert "named only: long.txt" in attached.cut
    assert "kept back by rules: .env, app/data;" in attached.cut


def test_of_a_file_that_passes_through_a_filter_it_is_said_why_it_has_no_lines(repository, read):
    (repository / ".gitattributes").write_text("*.txt filter=crypt\n")
    (repository / "long.txt").write_text("opened\n")
    attached = read.diff()
    assert "opened" not in attached.text
    assert "a/long.txt" in attached.text
    assert "a filter of Git changes those: long.txt" in attached.cut


@pytest.mark.parametrize("name", [".env\nx", "conf/.env\n"])
def test_a_secret_file_whose_name_has_line_ends_is_kept_back(repository, read, name):
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("A=1\n")
    git(repository, "add", "-f", ".")
    with pytest.raises(InputError, match="may be shown") as told:
        read.diff()
    assert told.value.hint == f"kept back by rules: {name.replace(chr(10), ' ')}"


TWICE = "class A:\n    @property\n    def f(self): ...\n\n    @f.setter\n    def f(self, x): ...\n\n\n"


@pytest.fixture
def finder(root: Path) -> Finder:
    (root / "app/other.py").write_text(TWICE + "def main(): ...\n")
    made = Finder(root)
    assert made.refresh(60)
    return made


def mentioned(text: str, finder: Finder) -> Mention:
    (found,) = mentions(text, lambda name: finder.resolve(name) is not None)
    return found


def test_a_name_that_several_files_define_is_not_guessed(read, finder):
    with pytest.raises(InputError, match="2 files define main") as told:
        read.mention(mentioned("what does @main do?", finder), finder)
    assert told.value.hint == "say which: @app/cli.py:main, @app/other.py:main"
    for path in ("app/cli.py", "app/other.py"):
        assert read.mention(mentioned(f"what does @{path}:main do?", finder), finder).path.endswith(path)


def test_where_many_files_define_a_name_some_are_named_and_the_others_counted(root, read):
    for at in range(8):
        (root / f"app/m{at}.py").write_text("def run(): ...\n")
    finder = Finder(root)
    finder.refresh(60)
    with pytest.raises(InputError, match="8 files define run") as told:
        read.mention(mentioned("see @run", finder), finder)
    assert told.value.hint.endswith("@app/m4.py:run, or one of 3 more")


def test_definitions_of_one_name_in_one_file_go_along_together(read, finder):
    attached = read.mention(mentioned("see @app/other.py:A.f", finder), finder)
    assert attached.name == "A.f, app/other.py:2-3, 5-6"
    assert attached.text == "    @property\n    def f(self): ...\n\n    @f.setter\n    def f(self, x): ...\n"


def test_a_line_says_which_of_them(read, finder):
    attached = read.mention(mentioned("see @app/other.py:A.f:6", finder), finder)
    assert (attached.name, attached.text) == ("A.f, app/other.py:5-6", "    @f.setter\n    def f(self, x): ...\n")
    with pytest.raises(InputError, match="not defined in line 40"):
        read.mention(mentioned("see @app/other.py:A.f:40", finder), finder)


def test_a_symbol_that_its_file_does_not_have_is_said_not_to_be_there(root, read, finder):
    with pytest.raises(InputError, match="nope is not defined in app/cli"):
        read.mention(mentioned("see @app/cli.py:nope", finder), finder)
    (root / "app/cli.py").write_text("def main():\n    return (\n")
    with pytest.raises(InputError, match="where main ends is not known"):
        read.mention(mentioned("see @app/cli.py:main", finder), finder)


def test_a_symbol_of_a_file_that_is_kept_back_is_kept_back(root, read, finder):
    (root / ".pacelineignore").write_text("private.py\n")
    (root / "private.py").write_text("def key(): ...\n")
    with pytest.raises(KeptBackError):
        read.mention(mentioned("see @private.py:key", finder), finder)


def test_a_method_is_attached_by_its_plain_name_where_one_class_has_it(root, read):
    found = Found("symbol", "f", "@app/cli.py:f", "app/cli.py")
    assert read.of(found).name == "A.f, app/cli.py:9"


def test_methods_of_a_name_are_named_where_there_are_several(root, read):
    classes = "".join(f"class {name}:\n    def f(self): ...\n\n\n" for name in "ABCDE")
    (root / "app/two.py").write_text(classes)
    with pytest.raises(InputError) as raised:
        read.of(Found("symbol", "f", "@app/two.py:f", "app/two.py"))
    assert raised.value.hint == "it has A.f, B.f, C.f and 2 more"


def test_a_function_comes_before_methods_of_its_name(root, read):
    (root / "app/two.py").write_text("def f(): ...\n\n\nclass A:\n    def f(self): ...\n")
    assert read.of(Found("symbol", "f", "@app/two.py:f", "app/two.py")).text == "def f(): ...\n"
