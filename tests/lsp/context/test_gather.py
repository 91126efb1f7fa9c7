"""What the model is shown of other files: the useful, never the secret, and the same from key to key."""

import os
import shutil
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

from paceline.config import EditorConfig
from paceline.lsp.context import gather as module
from paceline.lsp.context.gather import Context, ContextSettings
from paceline.lsp.place import Place

BUDGET = 2000
MAIN = """from wheels import Wheel, build_wheel
from shop.parts import chain


def assemble(size):
    wheel = build_wheel(size)
    return wheel
"""
WHEELS = '''SPOKES = 32


class Wheel:
    """A wheel with spokes."""

    def true_up(self, tension: float) -> bool:
        """Make it round."""
        return tension > self.tension_of_secret_internals


def build_wheel(size: int, spokes: int = SPOKES) -> Wheel:
    """Build one."""
    return Wheel()


def unrelated_thing(x):
    return x
'''
RANDOM = "9af8c01d77ab42e0b8c1a2d3e4f50617"


class Editor:
    """Somebody with a workspace."""

    def __init__(self, root, settings=None):
        self.root = root
        self.context = Context(settings or ContextSettings(git_diff=False))
        self.texts = {}

    def uri(self, path):
        return path if ":" in path else f"file://{self.root}/{path}"

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def open(self, path, text, language="python"):
        self.texts[path] = text
        remote = ":" in path
        root = "" if remote else str(self.root)
        self.context.opened(self.uri(path), "" if remote else path, root, language, text)

    def edit(self, path, start, end, inserted):
        text = self.texts[path]
        self.texts[path] = text[:start] + inserted + text[end:]
        self.context.changed(self.uri(path), self.texts[path], start, end, inserted)

    def place(self, path, at=None):
        text = self.texts[path]
        at = len(text) if at is None else at
        root = "" if ":" in path else str(self.root)
        return Place(self.uri(path), "python", 1, text[:at], text[at:], "" if ":" in path else path, root)

    def shown(self, path, budget=BUDGET, *, at=None, refresh=True):
        place = self.place(path, at)
        if refresh:
            self.context.refresh(place)
        return self.context.gather(place, budget)

    def everything(self, path, **more):
        return "\n".join(f"{each.name}\n{each.text}" for each in self.shown(path, **more))


@pytest.fixture
def editor(tmp_path):
    return Editor(tmp_path)


def test_signatures_of_what_a_file_imports_are_shown_under_its_name(editor):
    editor.write("wheels.py", WHEELS)
    editor.write("shop/parts.py", "def chain(links: int) -> str:\n    return 'c' * links\n")
    editor.open("main.py", MAIN)
    shown = {each.name: each.text for each in editor.shown("main.py")}
    assert 'def build_wheel(size: int, spokes: int=SPOKES) -> Wheel:\n    """Build one."""' in shown["wheels.py"]
    assert '"""A wheel with spokes."""' in shown["wheels.py"]
    assert "tension_of_secret_internals" not in shown["wheels.py"]
    assert shown["shop/parts.py"] == "def chain(links: int) -> str: ..."


def test_on_a_line_that_imports_names_all_that_the_module_has_go_in_before_details(editor):
    functions = "".join(f"def helper_{number}(first, second): ...\n" for number in range(4))
    members = "".join(f"    def member_{number}(self, first, second, third): ...\n" for number in range(40))
    editor.write("models.py", f"class Order:\n{members}\n\n{functions}")
    editor.open("a.py", "from models import Order, h")
    text = editor.shown("a.py", 1200)[0].text
    assert all(f"helper_{number}" in text for number in range(4))
    editor.open("b.py", "from models import Order\n\norder = Order()\n")
    text = editor.shown("b.py", 1200)[0].text
    assert "helper_3" not in text


def test_a_name_is_followed_to_where_a_package_takes_it_from(editor):
    editor.write("wheels/__init__.py", "from .making import build_wheel, Wheel\n")
    editor.write("wheels/making.py", WHEELS)
    editor.open("main.py", MAIN)
    assert "wheels/making.py" in [each.name for each in editor.shown("main.py")]


def test_what_is_imported_at_the_start_of_a_long_file_is_in_use_at_its_end(editor):
    editor.write("many.py", "".join(f"def thing_{number}(size): pass\n" for number in range(100)))
    editor.open("main.py", "from many import thing_90\n" + "value = 1\n" * 5000)
    assert "def thing_90(size): ..." in editor.everything("main.py", budget=1000)


def test_a_file_that_is_open_is_read_from_the_editor_and_not_from_the_disk(editor):
    editor.write("wheels.py", "def on_the_disk(): pass\n")
    editor.open("wheels.py", "def build_wheel(in_the_editor): pass\n")
    editor.open("main.py", MAIN)
    shown = editor.everything("main.py")
    assert "in_the_editor" in shown
    assert "on_the_disk" not in shown


def test_a_file_in_the_middle_of_an_edit_keeps_its_last_sound_signatures(editor):
    editor.open("wheels.py", WHEELS)
    editor.open("main.py", MAIN)
    assert "def build_wheel" in editor.everything("main.py")
    at = WHEELS.index("class Wheel")
    editor.edit("wheels.py", at, at, "class Unfinished(:\n\n")
    assert "def build_wheel(size: int, spokes: int=SPOKES)" in editor.everything("main.py")


def test_where_somebody_works_in_another_file_is_shown(editor):
    filler = "".join(f"filler_{number} = {number}\n" for number in range(300))
    editor.open("other.py", filler + "def derailleur(): pass\n" + filler)
    editor.open("main.py", "derailleur = None\n")
    assert editor.shown("main.py") == ()
    at = len(filler)
    editor.edit("other.py", at, at, "# how a derailleur is set up\n")
    (shown,) = editor.shown("main.py")
    assert shown.name == "other.py"
    assert "# how a derailleur is set up\ndef derailleur(): pass\n" in shown.text
    assert len(shown.text) < BUDGET


def test_what_is_visible_in_another_file_is_shown(editor):
    editor.open("other.py", "".join(f"line_{number} = derailleur\n" for number in range(300)))
    editor.open("main.py", "derailleur = None\n")
    editor.context.visible(editor.uri("other.py"), 100, 104)
    (shown,) = editor.shown("main.py")
    assert "line_102 = derailleur" in shown.text
    assert "line_200 = derailleur" not in shown.text


def test_a_file_that_a_person_only_looks_at_is_shown_from_where_they_look(editor):
    lines = "".join(f"line_{number} = derailleur\n" for number in range(300))
    for name in ("first.py", "second.py", "unseen.py"):
        editor.open(name, lines)
    editor.open("main.py", "derailleur = None\n")
    editor.context.focused(editor.uri("first.py"))
    editor.context.visible(editor.uri("second.py"), 100, 140)
    editor.context.focused(editor.uri("second.py"))  # an editor that does not say where: where it was last
    shown = {each.name: each.text for each in editor.shown("main.py", 4 * BUDGET)}
    assert set(shown) == {"first.py", "second.py"}
    assert "line_3 = derailleur" in shown["first.py"]
    assert "line_120 = derailleur" in shown["second.py"]


def test_the_file_that_was_looked_at_last_comes_before_one_that_was_looked_at_earlier(editor):
    for name in ("a.py", "b.py"):
        editor.open(name, "".join(f"{name[0]}_{number} = derailleur\n" for number in range(30)))
    editor.open("main.py", "derailleur = None\n")
    for last, other in (("a.py", "b.py"), ("b.py", "a.py")):
        editor.context.closed(editor.uri("main.py"))  # what it was shown before does not weigh
        editor.open("main.py", "derailleur = None\n")
        editor.context.focused(editor.uri(other))
        editor.context.focused(editor.uri(last))
        assert [each.name for each in editor.shown("main.py", 1200)] == [last]


def quotable(editor, path="main.py"):
    editor.context.refresh(editor.place(path))
    return editor.context.quotable(editor.place(path))


def test_other_open_files_may_be_quoted_the_last_used_first_and_only_so_many(editor):
    for number in range(module.QUOTED + 2):
        editor.open(f"o{number}.py", f"value_{number} = {number}\n")
    editor.open("main.py", "x = 1\n")
    editor.context.focused(editor.uri("o1.py"))
    names = [each.name for each in quotable(editor)]
    assert names == ["o1.py", *(f"o{number}.py" for number in range(module.QUOTED + 1, 2, -1))]


def test_of_long_files_that_part_may_be_quoted_that_was_edited_last(editor):
    lines = "".join(f"line_{number} = {number}\n" for number in range(8000))
    editor.open("other.py", lines)
    editor.open("third.py", lines)
    editor.open("main.py", "x = 1\n")
    at = lines.index("line_5000 ")
    editor.edit("other.py", at, at, "edited = 1\n")
    (only,) = quotable(editor)
    assert "edited = 1\n" in only.text
    assert len(only.text) == module.QUOTABLE


def test_no_secret_and_no_file_that_is_left_alone_may_be_quoted(editor):
    key = "ghp_" + "a1B2" * 9
    editor.write(".gitignore", "ignored.py\n")
    editor.open("other.py", f"token = '{key}'\nvalue = 1\n")
    for name in (".env", "ignored.py", "id_rsa"):
        editor.open(name, "value = 1\n")
    editor.open("main.py", "x = 1\n")
    (only,) = quotable(editor)
    assert only.name == "other.py"
    assert "value = 1" in only.text
    assert key not in only.text


def test_nothing_may_be_quoted_where_other_files_are_off_or_before_they_were_judged(tmp_path):
    off, on = Editor(tmp_path, ContextSettings(other_files=False)), Editor(tmp_path)
    for each in (off, on):
        each.open("other.py", "value = 1\n")
        each.open("main.py", "x = 1\n")
    assert quotable(off) == ()
    assert on.context.quotable(on.place("main.py")) == ()
    assert len(quotable(on)) == 1


def test_a_piece_that_was_cut_and_one_that_was_left_behind_are_shown(editor):
    cut = "def derailleur_one(hanger):\n    a = hanger\n    b = a\n    return b\n"
    editor.open("other.py", cut + "x = 1\n")
    editor.edit("other.py", 0, len(cut), "")
    editor.context.closed(editor.uri("other.py"))
    editor.open("main.py", "derailleur_one = hanger\n")
    assert editor.shown("main.py") == ()  # nobody has said yet whether that file may be shown
    editor.open("other.py", cut)
    editor.edit("other.py", 0, len(cut), "")
    assert cut in [each.text for each in editor.shown("main.py")]


def test_a_place_far_away_in_the_same_file_is_remembered(editor):
    body = "".join(f"value_{number} = {number}\n" for number in range(2000))
    text = "def derailleur(hanger):\n    b = hanger\n    c = b\n    return c\n" + body
    editor.open("main.py", text)
    editor.context.visible(editor.uri("main.py"), 2, 2)
    editor.context.visible(editor.uri("main.py"), 1500, 1500)
    editor.texts["main.py"] = text + "derailleur(hanger)"
    shown = editor.everything("main.py")
    assert "def derailleur(hanger):" in shown


def test_what_stands_around_the_cursor_is_not_shown_twice(editor):
    piece = "def derailleur(hanger):\n    b = hanger\n    c = b\n    return c\n"
    editor.open("main.py", "x = 1\n")
    editor.edit("main.py", 0, 0, piece)
    editor.open("copy.py", piece)
    editor.context.visible(editor.uri("copy.py"), 0, 4)
    assert editor.shown("main.py") == ()


@pytest.mark.parametrize("budget", [0, 1, 50, 120, 400, 1000, 4000, 100_000])
def test_the_budget_is_never_exceeded(editor, budget):
    editor.write("wheels.py", WHEELS)
    editor.open("main.py", MAIN)
    for number in range(12):
        editor.open(f"o{number}.py", "build_wheel = chain\n" * 200)
        editor.context.visible(editor.uri(f"o{number}.py"), 10, 60)
    shown = editor.shown("main.py", budget)
    assert sum(len(each.name) + len(each.text) for each in shown) <= budget
    assert bool(shown) == (budget >= 120)


def typed(editor, path, text, *, refresh_every=25):
    """What is shown at every key while a text is typed at the end of a file."""
    for count, key in enumerate(text):
        end = len(editor.texts[path])
        editor.edit(path, end, end, key)
        line = editor.texts[path].count("\n")
        editor.context.visible(editor.uri(path), line, line)
        yield editor.shown(path, refresh=count % refresh_every == 0)


def workspace(editor):
    editor.write("wheels.py", WHEELS)
    editor.write(
        "shop/parts.py", "".join(f"def part_{number}(size): pass\n" for number in range(80)) + "def chain(): pass\n"
    )
    editor.open("other.py", "from wheels import build_wheel\n" + "rim = build_wheel(1)\n" * 30)
    editor.open("third.py", "def chain_of(size):\n    return size\n" * 30)
    editor.context.visible(editor.uri("other.py"), 0, 20)
    editor.context.visible(editor.uri("third.py"), 10, 30)
    editor.open("main.py", MAIN)


def test_typing_hardly_ever_changes_what_is_shown(editor):
    workspace(editor)
    more = "\n\ndef repair(size, chain_of_it):\n    rim = build_wheel(size)\n    for part in chain_of(rim):\n"
    more += "        if part is not None and part.size > size:\n            rim.true_up(part.tension)\n    return rim\n"
    first = editor.shown("main.py")
    answers = [first, *typed(editor, "main.py", more * 3)]
    assert len(first) >= 3
    changes = sum(one != two for one, two in pairwise(answers))
    assert len(answers) > 400
    assert changes <= 2


def test_a_definition_that_comes_into_use_is_shown_and_what_stood_before_it_stays(editor):
    workspace(editor)
    before = editor.shown("main.py")
    assert "part_77" not in "".join(each.text for each in before)
    editor.edit("main.py", 0, 0, "from shop.parts import part_77\n")
    after = editor.shown("main.py")
    assert "def part_77(size): ..." in "".join(each.text for each in after)
    assert [each for each in after if each.name != "shop/parts.py"] == [
        each for each in before if each.name != "shop/parts.py"
    ]


def test_coming_back_to_a_file_shows_the_work_done_elsewhere(editor):
    workspace(editor)
    editor.shown("main.py")
    editor.edit("other.py", 0, 0, "# build_wheel is slow, use chain_of\n")
    assert "# build_wheel is slow" in editor.everything("main.py")


SECRET_FILES = [".env", "deploy/server.pem", "secrets.yaml", ".netrc", "id_rsa"]


@pytest.mark.parametrize("path", SECRET_FILES)
def test_a_secret_file_is_never_shown_even_while_it_is_open(editor, path):
    text = "".join(f"derailleur line {number} hush\n" for number in range(40))
    editor.open("main.py", "derailleur = line\n")
    editor.open(path, text)
    editor.context.visible(editor.uri(path), 0, 20)
    editor.edit(path, 0, 0, "derailleur hush\nderailleur hush 2\nderailleur hush 3\n")
    editor.edit(path, 0, 120, "")
    assert "hush" not in editor.everything("main.py")
    editor.context.saved(editor.uri(path))
    editor.context.closed(editor.uri(path))
    assert "hush" not in editor.everything("main.py")
    assert editor.context.excluded(editor.uri(path))


def test_nothing_is_shown_in_a_secret_file(editor):
    editor.write("wheels.py", WHEELS)
    editor.open(".env", MAIN)
    assert editor.shown(".env") == ()


@pytest.mark.parametrize(
    ("rules", "pattern", "excluded"), [(".gitignore", "other.py", False), (".pacelineignore", "oth*", True)]
)
def test_an_ignored_file_is_not_shown_even_while_it_is_open(editor, rules, pattern, excluded):
    editor.write(rules, f"{pattern}\nwheels.py\n")
    editor.write("wheels.py", WHEELS)
    editor.open("main.py", MAIN)
    editor.open("other.py", "build_wheel = chain\n" * 30)
    editor.context.visible(editor.uri("other.py"), 0, 20)
    assert editor.shown("main.py") == ()
    assert editor.context.excluded(editor.uri("other.py")) == excluded
    editor.write(rules, "nothing\n")
    assert {each.name for each in editor.shown("main.py")} == {"wheels.py", "other.py"}


def test_patterns_of_the_settings_count_at_once(tmp_path):
    editor = Editor(tmp_path, ContextSettings(ignore=("private/",)))
    editor.open("private/a.py", "x = 1\n")
    assert editor.context.excluded(editor.uri("private/a.py"))
    assert not editor.context.excluded(editor.uri("main.py"))


def test_a_document_is_not_shown_before_the_rules_were_read(editor):
    editor.open("other.py", "derailleur = 1\n" * 30)
    editor.context.visible(editor.uri("other.py"), 0, 20)
    editor.open("main.py", "derailleur\n")
    assert editor.shown("main.py", refresh=False) == ()
    assert editor.shown("main.py") != ()


def test_secrets_within_what_is_shown_are_replaced(editor):
    editor.write("wheels.py", f"def build_wheel(token='{RANDOM}'): pass\n")
    editor.open("main.py", MAIN)
    lines = [f'API_KEY = "{RANDOM}"', "chain = build_wheel()", "x = 1", ""]
    editor.open("other.py", "\n".join(lines * 12))
    editor.context.visible(editor.uri("other.py"), 0, 20)
    editor.edit("other.py", 0, 0, "\n".join(lines))
    editor.edit("other.py", 0, len("\n".join(lines)), "")
    shown = editor.everything("main.py", budget=6000)
    assert "API_KEY" in shown
    assert "def build_wheel(token=" in shown
    assert RANDOM not in shown


def test_a_secret_in_a_piece_that_was_cut_is_replaced(editor):
    cut = f'derailleur = 1\nAPI_KEY = "{RANDOM}"\nhanger = 2\nchain = 3\n'
    editor.open("other.py", cut + "x = 1\n")
    editor.edit("other.py", 0, len(cut), "")
    editor.open("main.py", "derailleur = hanger\n")
    shown = editor.everything("main.py")
    assert "API_KEY" in shown
    assert RANDOM not in shown


def test_a_key_whose_head_lies_above_what_is_shown_is_replaced(editor):
    line = "qL7x" * 12
    key = "-----BEGIN " + "PRIVATE KEY-----\n" + f"{line}\n" * 60 + "-----END " + "PRIVATE KEY-----\n"
    editor.open("other.py", key + "derailleur = 1\n" * 10)
    editor.context.visible(editor.uri("other.py"), 55, 75)
    editor.open("main.py", "derailleur\n")
    shown = editor.everything("main.py")
    assert "derailleur = 1" in shown
    assert "qL7x" not in shown


@pytest.mark.parametrize(
    "text", ["var derailleur=1;" * 2000, "\x00derailleur\n" * 50, "# @generated\n" + "derailleur\n" * 50]
)
def test_minified_binary_and_generated_documents_are_not_shown(editor, text):
    editor.open("other.js", text)
    editor.context.visible(editor.uri("other.js"), 0, 20)
    editor.open("main.py", "derailleur\n")
    assert editor.shown("main.py") == ()


@pytest.mark.parametrize("scheme", ["vscode-remote://ssh+box/home/me/", "vscode-vfs://hub/", "untitled:"])
def test_documents_that_are_not_on_this_machine_touch_no_disk(editor, scheme, monkeypatch):
    def touched(*_, **__):
        raise AssertionError("the disk was touched")

    editor.write("wheels.py", WHEELS)
    for name in ("read", "stamp", "within"):
        monkeypatch.setattr(module.files, name, touched)
    monkeypatch.setattr(subprocess, "Popen", touched)
    editor.open(f"{scheme}main.py", MAIN)
    editor.open(f"{scheme}other.py", "build_wheel = chain\n" * 30)
    editor.context.visible(f"{scheme}other.py", 0, 20)
    place = editor.place(f"{scheme}main.py")
    assert [each.name for each in editor.shown(f"{scheme}main.py")] == ["other.py"]
    confused = Place(place.uri, "python", 1, MAIN, "", "main.py", str(editor.root))
    editor.context.refresh(confused)  # a folder here has nothing to do with it
    assert [each.name for each in editor.context.gather(confused, BUDGET)] == ["other.py"]


def test_links_out_of_the_workspace_and_odd_files_are_left_alone(editor, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "wheels.py").write_text(WHEELS)
    inner = Editor(root)
    (root / "wheels.py").symlink_to(tmp_path / "wheels.py")
    (root / "shop").symlink_to("/")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.py")
    inner.open("main.py", MAIN + "import pipe\n")
    assert inner.shown("main.py") == ()


def test_a_workspace_that_is_gone_breaks_nothing(editor, tmp_path):
    editor.root = tmp_path / "gone"
    editor.open("main.py", MAIN)
    assert editor.shown("main.py") == ()


def test_other_files_can_be_turned_off(tmp_path):
    editor = Editor(tmp_path, ContextSettings(other_files=False))
    workspace(editor)
    assert editor.shown("main.py") == ()


def test_events_of_documents_that_are_not_open_are_ignored(editor):
    for event in (editor.context.closed, editor.context.saved):
        event("file:///unknown.py")
    editor.context.changed("file:///unknown.py", "x", 0, 0, "x")
    editor.context.visible("file:///unknown.py", 0, 1)
    editor.context.focused("file:///unknown.py")
    editor.open("main.py", MAIN)
    assert editor.shown("main.py") == ()


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no Git")
def test_changes_since_the_last_commit_are_shown_of_files_that_are_not_open(tmp_path):
    key = "ghp_" + "a1B2" * 9
    editor = Editor(tmp_path, ContextSettings())
    for name in ("other.py", "opened.py", ".env", "main.py"):
        editor.write(name, f"start = 1\n{key}\n")
    for words in (
        ["init", "-q"],
        ["add", "-f", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    for name in ("other.py", "opened.py", ".env", "main.py"):
        editor.write(name, f"start = 1\ndef derailleur(): return 'of {name}'\n")
    editor.open("opened.py", "start = 1\n")
    editor.open("main.py", "derailleur\n")
    (shown,) = editor.shown("main.py")
    assert shown.name == "other.py"
    assert "+def derailleur(): return 'of other.py'" in shown.text
    assert key not in shown.text  # which the mark of its line does not hide


def test_reading_in_one_thread_and_typing_in_another_get_on(editor):
    workspace(editor)
    failed = []
    done = threading.Event()

    def read():
        try:
            while not done.is_set():
                editor.context.refresh(editor.place("main.py"))
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for number in range(60):
            editor.open(f"x{number}.py", "chain = 1\n" * 40)
            editor.context.visible(editor.uri(f"x{number}.py"), 0, 30)
            editor.edit("main.py", 0, 0, "#")
            editor.shown("main.py", refresh=False)
            editor.context.closed(editor.uri(f"x{number}.py"))
    finally:
        done.set()
        thread.join()
    assert failed == []


def test_repositories_have_names(editor):
    assert editor.context.repository_name(str(editor.root)) == editor.root.name
    assert editor.context.repository_name("") == ""


def test_importing_it_loads_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import paceline.lsp.context.gather\n"
        "heavy = {'tree_sitter', 'numpy', 'pygls', 'textual', 'llama_cpp', 'yaml', 'requests', 'pathspec'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_document_is_judged_by_the_rules_on_the_disk_before_anything_else_is_read(editor):
    editor.write(".pacelineignore", "private/\n")
    editor.open("private/a.py", "x = 1\n")
    editor.open("b.py", "x = 1\n")
    assert editor.context.excluded(editor.uri("private/a.py"))
    assert not editor.context.excluded(editor.uri("b.py"))


def test_it_is_judged_so_where_other_files_are_not_looked_at(tmp_path):
    editor = Editor(tmp_path, ContextSettings(other_files=False))
    editor.write(".pacelineignore", "a.py\n")
    editor.open("a.py", "x = 1\n")
    assert editor.context.excluded(editor.uri("a.py"))


def test_rules_that_change_count_a_little_later(editor):
    now = [0.0]
    editor.context.clock = lambda: now[0]
    editor.open("a.py", "x = 1\n")
    assert not editor.context.excluded(editor.uri("a.py"))
    editor.write(".pacelineignore", "a.py\n")
    now[0] += module.LOOKED
    assert editor.context.excluded(editor.uri("a.py"))


def test_a_cell_is_what_its_notebook_is(editor):
    editor.write(".pacelineignore", "private/\n")
    cell = f"vscode-notebook-cell:{editor.root}/private/nb.ipynb#W0"
    assert editor.context.excluded(cell, "private/nb.ipynb", str(editor.root))
    editor.context.opened(cell, "private/nb.ipynb", str(editor.root), "python", "SENTINEL = 1\nother = 2\nthird = 3\n")
    editor.open("main.py", "SENTINEL = ")
    assert "third" not in editor.everything("main.py")


def test_a_document_outside_of_all_folders_is_ignored_as_its_path_says(tmp_path):
    editor = Editor(tmp_path, ContextSettings(git_diff=False, ignore=("private/",)))
    outside = "file:///elsewhere/private/a.py"
    editor.context.opened(outside, "", "", "python", "SENTINEL = 1\nother = 2\nthird = 3\n")
    editor.context.visible(outside, 0, 2)
    editor.open("main.py", "SENTINEL = ")
    assert "third" not in editor.everything("main.py")
    assert editor.context.excluded(outside)


def test_a_link_shows_nothing_of_what_the_rules_hide(editor):
    editor.write(".gitignore", "hidden.py\nbuild/\n")
    editor.write(".pacelineignore", "mine.py\n")
    for name in ("hidden.py", "build/b.py", "mine.py"):
        editor.write(name, "def build_wheel(sentinel): ...\n")
    (editor.root / "wheels.py").symlink_to("hidden.py")
    (editor.root / "shop").symlink_to("build")
    (editor.root / "alias.py").symlink_to("mine.py")
    editor.open("main.py", "from wheels import build_wheel\nfrom shop.b import build_wheel\nimport alias\nbuild_wheel(")
    assert "sentinel" not in editor.everything("main.py")
    assert editor.context.excluded("file:///alias.py", "alias.py", str(editor.root))


@pytest.mark.parametrize("settings", [EditorConfig(other_files=False), EditorConfig(ignore=("wheels.py",))])
def test_what_the_settings_forbid_from_now_on_is_not_shown_once_more(editor, settings):
    editor.write("wheels.py", WHEELS)
    editor.open("main.py", MAIN)
    assert "build_wheel" in editor.everything("main.py")
    editor.context.configure(settings)
    assert editor.shown("main.py", refresh=False) == ()
    assert "build_wheel" not in editor.everything("main.py")
