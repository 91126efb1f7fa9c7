"""What `@` finds in a workspace."""

import os
import threading
from pathlib import Path

import pytest

from paceline.chat.context import finder as finding
from paceline.chat.context.attaching import Attaching
from paceline.chat.context.finder import Finder
from paceline.chat.context.mentions import mentions, named
from paceline.errors import InputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "app/cli.py": "def main():\n    ...\n\n\nclass Option:\n    def parse(self): ...\n",
        "app/client.py": "class Client:\n    def ask(self): ...\n",
        "docs/guide.md": "# Guide\n",
        "a b.py": "",
        ".env": "TOKEN=x",
        ".gitignore": "build/\n",
        "build/main.py": "def built(): ...\n",
        "logo.png": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture
def finder(root: Path) -> Finder:
    made = Finder(root)
    assert made.refresh(60)
    return made


def names(found):
    return [each.name for each in found]


def test_before_anything_is_known_diff_and_output_are_offered(root):
    assert names(Finder(root).find("")) == ["diff", "output"]
    assert names(Finder(root).find("dif")) == ["diff"]


def test_files_folders_and_symbols_are_found(finder):
    assert names(finder.find("cli"))[:2] == ["app/cli.py", "app/client.py"]
    assert finder.find("app")[0].name == "app/"
    parse = finder.find("parse")[0]
    assert (parse.kind, parse.name, parse.mention, parse.detail) == (
        "symbol",
        "Option.parse",
        "@Option.parse",
        "app/cli.py:6",
    )


def test_what_no_model_may_see_is_not_offered(finder):
    for query in ("env", "built", "build", "main.py", "logo"):
        assert not [each for each in finder.find(query) if each.kind in ("file", "folder")]


def test_a_name_with_blanks_is_mentioned_in_quotes(finder):
    assert finder.find("a b")[0].mention == '@"a b.py"'


def test_the_letters_that_were_looked_for_are_marked(finder):
    found = finder.find("cli")[0]
    assert [found.name[at] for at in found.positions] == list("cli")


def test_what_was_attached_last_comes_first(finder):
    guide, client = finder.resolve("docs/guide.md"), finder.resolve("app/client.py")
    finder.attached(guide)
    assert names(finder.find(""))[0] == "docs/guide.md"
    finder.attached(client)
    assert names(finder.find(""))[:2] == ["app/client.py", "docs/guide.md"]
    assert names(finder.find("cli"))[0] == "app/client.py"  # before cli.py, which matches better


def test_what_was_attached_is_not_forced_on_a_query_that_it_fits_badly(root):
    (root / "dm.txt").write_text("")
    finder = Finder(root)
    finder.refresh(60)
    finder.attached(finder.resolve("docs/guide.md"))
    assert names(finder.find("dm"))[:2] == ["dm.txt", "docs/guide.md"]


def test_the_newest_files_are_offered_before_anything_is_typed(root):
    os.utime(root / "docs/guide.md", (2e9, 2e9))
    finder = Finder(root)
    finder.refresh(60)
    assert names(finder.find(""))[2] == "docs/guide.md"


def test_names_resolve(finder):
    assert finder.resolve("app/cli.py").kind == "file"
    assert finder.resolve("./app/cli.py").path == "app/cli.py"
    assert finder.resolve("app").kind == finder.resolve("app/").kind == "folder"
    assert finder.resolve("Client.ask").path == "app/client.py"
    assert finder.resolve("diff").kind == "diff"
    assert finder.resolve("output").kind == "output"


@pytest.mark.parametrize("name", ["nothing", "", " ", ".", "..", "/", "a\0b", "~nobody-here/x", "x" * 5000, "\ud800"])
def test_what_is_nothing_resolves_to_nothing(finder, name):
    assert finder.resolve(name) is None


def test_a_file_that_is_not_offered_resolves_so_that_a_person_can_be_told_why(finder, root):
    assert finder.resolve("build/main.py").kind == "file"
    assert finder.resolve(".env").kind == "file"
    (root / "new.py").write_text("")
    assert finder.resolve("new.py").kind == "file"


def test_a_changed_file_is_read_again_and_others_are_not(root, monkeypatch):
    finder = Finder(root)
    finder.refresh(60)
    read: list[str] = []
    plain = finding.files.read
    monkeypatch.setattr(finding.files, "read", lambda path: read.append(path.name) or plain(path))
    (root / "app/cli.py").write_text("def changed(): ...\n")
    (root / "app/more.py").write_text("def added(): ...\n")
    (root / "app/client.py").unlink()
    assert finder.refresh(60)
    assert sorted(read) == [".gitignore", "cli.py", "more.py"] or sorted(read) == ["cli.py", "more.py"]
    assert finder.find("changed") and finder.find("added")
    assert not finder.find("Client.ask")
    assert not [each for each in finder.find("main") if each.kind == "symbol"]


def test_where_there_is_no_time_the_rest_comes_the_next_time(root):
    finder = Finder(root)
    assert not finder.refresh(0)
    assert finder.find("client.py")
    assert [finder.refresh(0), finder.refresh(0)] == [False, True]  # three files have symbols; each time one is read
    assert finder.find("Option") and finder.find("Client")


def test_too_many_symbols_are_said_to_be_too_many(root, monkeypatch):
    monkeypatch.setattr(finding, "MOST_SYMBOLS", 2)
    finder = Finder(root)
    assert finder.refresh(60)
    assert "2 symbols" in finder.note


def test_too_many_files_are_said_to_be_too_many(root, monkeypatch):
    monkeypatch.setattr(finding, "MOST_FILES", 2)
    finder = Finder(root)
    assert finder.refresh(60)  # looking again would find no more
    assert "2" in finder.note


def test_somebody_may_search_while_it_is_refreshed(root):
    finder = Finder(root)
    failed: list[BaseException] = []
    over = threading.Event()

    def search():
        try:
            while not over.is_set():
                finder.find("cl")
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    for _ in range(10):
        finder.refresh(60)
    over.set()
    thread.join()
    assert not failed


def test_a_workspace_that_is_gone_has_no_files(tmp_path):
    finder = Finder(tmp_path / "gone")
    finder.refresh(60)
    assert names(finder.find("")) == ["diff", "output"]


def test_a_name_that_could_steer_a_terminal_is_found_as_it_is(root):
    (root / "a\x1b[31m.py").write_text("")
    finder = Finder(root)
    finder.refresh(60)
    assert "a\x1b[31m.py" in names(finder.find("31m"))  # whoever draws it makes it safe


def test_somebody_who_looks_until_everything_is_known_comes_to_an_end(root, monkeypatch):
    monkeypatch.setattr(finding, "MOST_FILES", 6)
    for at in range(20):
        (root / f"app/m{at}.py").write_text("def f(): ...\n")
    finder = Finder(root)
    assert any(finder.refresh(0) for _ in range(10))


@pytest.fixture
def shared(root: Path) -> Finder:
    """A workspace in which several files define `main`, and one defines it twice."""
    for name, text in {
        "app/bench/cli.py": "def main(): ...\n",
        "tools/a b.py": "if True:\n    def main(): ...\nelse:\n    def main(): ...\n\n\ndef only(): ...\n",
        "app/names.py": "def output(): ...\n\n\ndef docs(): ...\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    made = Finder(root)
    assert made.refresh(60)
    return made


def test_each_file_that_defines_a_name_is_offered(shared):
    found = [each for each in shared.find("main") if each.kind == "symbol"]
    assert [(each.name, each.mention, each.detail) for each in found] == [
        ("main", "@app/bench/cli.py:main", "app/bench/cli.py:1"),
        ("main", "@app/cli.py:main", "app/cli.py:1"),
        ("main", '@"tools/a b.py:main"', "tools/a b.py:2, 4"),
    ]


def test_what_is_chosen_means_exactly_that(shared):
    offered = [each for query in ("ma", "on", "pa", "ou", "do", "ask") for each in shared.find(query)]
    assert len([each for each in offered if each.kind == "symbol"]) >= 8
    for each in offered:
        (meant,) = shared.meanings(named(each.mention))
        assert (meant.kind, meant.path, meant.name) == (each.kind, each.path, each.name)


def test_a_name_that_several_files_define_means_each_of_them(shared):
    assert [each.path for each in shared.meanings("main")] == ["app/bench/cli.py", "app/cli.py", "tools/a b.py"]
    assert [each.path for each in shared.meanings("only")] == ["tools/a b.py"]


def test_the_end_of_a_path_says_which_file_if_it_says_enough(shared):
    assert [each.path for each in shared.meanings("app/cli.py:main")] == ["app/cli.py"]
    assert [each.path for each in shared.meanings("bench/cli.py:main")] == ["app/bench/cli.py"]
    assert [each.path for each in shared.meanings("cli.py:main")] == ["app/bench/cli.py", "app/cli.py"]
    assert shared.meanings("i.py:main") == ()


def test_a_symbol_of_a_file_that_was_not_looked_into_is_left_to_whoever_reads_it(shared, root):
    (root / "new.py").write_text("def fresh(): ...\n")
    assert [(each.kind, each.path, each.name) for each in shared.meanings("new.py:fresh")] == [
        ("symbol", "new.py", "fresh")
    ]
    assert shared.meanings("docs/guide.md:fresh") == shared.meanings("no.py:fresh") == shared.meanings("new.py:9") == ()


def test_behind_a_path_and_a_colon_its_symbols_are_found(shared):
    assert [(each.name, each.mention) for each in shared.find("app/cli.py:")] == [
        ("main", "@app/cli.py:main"),
        ("Option", "@app/cli.py:Option"),
        ("Option.parse", "@app/cli.py:Option.parse"),
    ]
    assert [each.mention for each in shared.find("cli.py:ma")] == ["@app/bench/cli.py:main", "@app/cli.py:main"]
    assert [each.positions for each in shared.find("app/cli.py:par")] == [(7, 8, 9)]
    assert shared.find("app/cli.py:10-12") == ()


def test_a_symbol_whose_name_means_something_else_is_mentioned_with_its_file(shared):
    mentions = {each.name: each.mention for each in shared.find("app/names.py:")}
    found = [each for query in ("output", "docs") for each in shared.find(query)]
    offered = {each.name: each.mention for each in found if each.kind == "symbol"}
    assert offered == mentions == {"output": "@app/names.py:output", "docs": "@app/names.py:docs"}


def test_a_symbol_stays_among_the_last_chosen_when_others_get_its_name(shared, root):
    shared.attached(shared.resolve("only"))
    (root / "app/names.py").write_text("def only(): ...\n")
    shared.refresh(60)
    assert shared.find("")[0].mention == '@"tools/a b.py:only"'


def test_files_are_found_by_all_that_they_define(shared):
    assert shared.defining({"main"}) == ("app/bench/cli.py", "app/cli.py", "tools/a b.py")
    assert shared.defining({"main", "Option"}) == ("app/cli.py",)
    assert shared.defining({"main", "Client"}) == shared.defining(set()) == shared.defining({"parse"}) == ()
    assert shared.defining({"parse"}, methods=True) == ("app/cli.py",)
    assert shared.defining({"parse", "ask"}, methods=True) == ()


def test_a_file_whose_name_begins_with_a_tilde_is_one_like_any_other(tmp_path, monkeypatch):
    home, root = tmp_path / "home", tmp_path / "work"
    for folder in (home, root):
        folder.mkdir()
    (home / "notes.txt").write_text("at home\n")
    (root / "~notes.txt").write_text("at work\n")
    monkeypatch.setenv("HOME", str(home))
    finder = Finder(root)
    while not finder.refresh():
        pass
    for name, text in (("~notes.txt", "at work\n"), ("~/notes.txt", "at home\n")):
        assert finder.resolve(name) is not None
        assert Attaching(root).file(name, override=True).text == text


def test_a_method_is_found_by_its_plain_name_behind_its_file(finder, root):
    assert [(each.path, each.name) for each in finder.meanings("app/cli.py:parse")] == [("app/cli.py", "parse")]
    assert [(each.path, each.name) for each in finder.meanings("cli.py:parse")] == [("app/cli.py", "parse")]
    assert finder.meanings("cli.py:nothing") == ()
    read = Attaching(root)
    (mention,) = mentions("see @cli.py:parse", lambda name: finder.resolve(name) is not None)
    assert read.mention(mention, finder).name == "Option.parse, app/cli.py:6"


def test_a_method_of_several_classes_of_one_file_is_one_meaning_to_be_asked_about(finder, root):
    (root / "app/two.py").write_text("class A:\n    def f(self): ...\n\n\nclass B:\n    def f(self): ...\n")
    finder.refresh(60)
    (mention,) = mentions("see @two.py:f", lambda name: finder.resolve(name) is not None)
    with pytest.raises(InputError, match=r"f is not defined in app/two.py") as raised:
        Attaching(root).mention(mention, finder)
    assert raised.value.hint == "it has A.f, B.f"


@pytest.mark.parametrize("name", ["a\nb.py", "a\rb.py", "a\u2028b.py", "a.py\n"])
def test_a_name_with_a_line_end_is_not_offered_since_it_cannot_be_mentioned(root, name):
    (root / name).write_text("def inside_odd(): ...\n")
    (root / "folder\n").mkdir()
    (root / "folder\n/within_odd.py").write_text("")
    finder = Finder(root)
    finder.refresh(60)
    assert not [each for each in finder.find("", 1000) if len(each.mention.splitlines()) > 1]
    assert not [
        each.name
        for word in ("a", "inside_odd", "within_odd", "folder")
        for each in finder.find(word)
        if "odd" in each.mention or "\n" in each.mention
    ]


def test_files_are_found_by_the_end_of_their_path(finder, root):
    (root / "docs/cli.py").write_text("")
    (root / "new.py").write_text("")
    finder.refresh(60)
    assert finder.files("app/cli.py") == ("app/cli.py",)
    assert finder.files("cli.py") == ("app/cli.py", "docs/cli.py")
    assert finder.files("client.py") == ("app/client.py",)
    assert finder.files("lient.py") == ()
    assert finder.files("app") == ()
    assert finder.files("") == ()
