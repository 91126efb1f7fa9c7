"""`paceline editor`: what it shows, what it writes, and above all what it leaves alone."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.commands import editor, editors, jsonc
from paceline.errors import InputError
from support.home import Home

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMES = [each.name for each in editors.known()]
WRITTEN_AT_ONCE = [each.name for each in editors.known() if not each.command]


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "paceline").write_text("#!/bin/sh\n")
    (folder / "paceline").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return Home(tmp_path, monkeypatch, capsys)


def tree(root: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def install(home: Home, name: str, answer: str = "#!/bin/sh\n") -> Path:
    """A program of that name on the PATH."""
    path = home.root / "programs" / name
    path.write_text(answer)
    path.chmod(0o755)
    return path


def test_without_a_name_it_lists_the_editors_and_finds_those_that_are_here(home):
    there = install(home, "nvim")
    shown = home.run("editor")
    assert shown.code == 0
    rows = {line.split()[0]: line for line in shown.out.splitlines()}
    assert set(NAMES) <= set(rows)
    assert str(there) in rows["neovim"] and " no " in rows["neovim"]
    assert "programs" not in rows["helix"]
    home.run("editor", "neovim", "--write", "--yes")
    assert " yes " in {line.split()[0]: line for line in home.run("editor").out.splitlines()}["neovim"]


@pytest.mark.parametrize("name", NAMES)
def test_showing_writes_nothing_and_names_the_place(home, name):
    before = tree(home.root)
    shown = home.run("editor", name)
    assert shown.code == 0
    assert str(home.root) in shown.out
    assert tree(home.root) == before


@pytest.mark.parametrize("name", WRITTEN_AT_ONCE)
def test_writing_twice_changes_nothing_the_second_time(home, name):
    assert home.run("editor", name, "--write", "--yes").code == 0
    first = tree(home.root)
    again = home.run("editor", name, "--write", "--yes")
    assert again.code == 0 and "already" in again.err
    assert tree(home.root) == first
    assert not [path for path in first if editor.BACKUP in path]


def test_a_program_s_name_is_as_good_as_the_editor_s(home):
    assert home.run("editor", "hx").out == home.run("editor", "helix").out


@pytest.mark.parametrize(
    ("name", "meant"), [("neovm", "mean neovim?"), ("notepad", "vscode, neovim"), ("gvm", "gvim"), ("foo", "and vim")]
)
def test_an_unknown_editor_is_a_wrong_command_line(home, name, meant):
    wrong = home.run("editor", name)
    assert wrong.code == 2 and meant in wrong.err


def test_without_a_terminal_nothing_is_written_unless_yes_is_said(home):
    before = tree(home.root)
    asked = home.run("editor", "sublime", "--write")
    assert asked.code == 2 and "--yes" in asked.err
    assert "+++ " in asked.err
    assert tree(home.root) == before


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 0), ("n\n", 1), ("", 1)])
def test_it_shows_the_change_and_asks(home, monkeypatch, answer, code):
    monkeypatch.setattr("paceline.console.can_ask", lambda: True)
    ended = home.run("editor", "sublime", "--write", stdin=answer)
    assert ended.code == code
    assert '+      "command": [' in ended.err and "[Y/n]" in ended.err
    target = home.root / "config/sublime-text/Packages/User/LSP.sublime-settings"
    assert target.exists() is (code == 0)


def sublime(home: Home, text: str) -> Path:
    path = home.root / "config/sublime-text/Packages/User/LSP.sublime-settings"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8"))
    return path


def test_comments_and_other_keys_stay_and_the_former_file_is_kept(home):
    text = (
        '{\n\t// mine\n\t"clients": {\n\t\t"pyright": {"enabled": true}, // good\n'
        '\t},\n\t/* all */ "log": [1, 2,],\n}\n'
    )
    path = sublime(home, text)
    assert home.run("editor", "sublime", "--write", "--yes").code == 0
    after = path.read_text("utf-8")
    for piece in ("// mine", '"pyright": {"enabled": true}, // good', '/* all */ "log": [1, 2,],'):
        assert piece in after
    assert after.index("good") < after.index('"paceline"') < after.index("all")
    assert '\n\t\t"paceline": {\n\t\t\t"enabled": true' in after
    assert path.with_name(path.name + editor.BACKUP).read_text("utf-8") == text


def test_what_the_person_has_set_stays_and_is_said(home):
    path = sublime(home, '{"clients": {"paceline": {"enabled": false, "command": ["other"]}}}')
    ended = home.run("editor", "sublime", "--write", "--yes")
    assert "clients.paceline.enabled stays" in ended.err and "clients.paceline.command stays" in ended.err
    client = json.loads(path.read_text("utf-8"))["clients"]["paceline"]
    assert client["enabled"] is False and client["command"] == ["other"] and "selector" in client


@pytest.mark.parametrize(
    "text",
    [
        '{"clients": ',
        "[]",
        '{"a": 1, "a": 2}',
        "{'a': 1}",
        '{"a" 1}',
        '{"a": nope}',
        "{} {}",
        '{"a": 1 "b": 2}',
        "{" * 5000,
    ],
)
def test_what_is_not_understood_is_left_alone(home, text):
    path = sublime(home, text)
    ended = home.run("editor", "sublime", "--write", "--yes")
    assert ended.failed(6) and str(path) in ended.err
    assert path.read_text("utf-8") == text


def test_a_file_that_is_not_text_is_left_alone(home):
    path = sublime(home, "")
    path.write_bytes(b"\xff\xfe{\x00}\x00")
    assert home.run("editor", "sublime", "--write", "--yes").failed(6)
    assert path.read_bytes() == b"\xff\xfe{\x00}\x00"


def test_the_file_behind_a_link_is_written_and_keeps_its_mode(home):
    real = home.root / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    path = sublime(home, "")
    path.unlink()
    path.symlink_to(real)
    home.run("editor", "sublime", "--write", "--yes")
    assert path.is_symlink() and "paceline" in real.read_text("utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


def test_line_endings_are_the_file_s_own(home):
    path = sublime(home, '{\r\n  "log": 1\r\n}\r\n')
    home.run("editor", "sublime", "--write", "--yes")
    text = path.read_bytes().decode("utf-8")
    assert "paceline" in text and text.count("\n") == text.count("\r\n")


def test_a_file_that_changes_while_the_question_stands_is_not_overwritten(home, monkeypatch):
    path = sublime(home, "{}")

    def meanwhile(question: str, default: bool) -> bool:
        path.write_text('{"new": 1}')
        return True

    monkeypatch.setattr("paceline.console.can_ask", lambda: True)
    monkeypatch.setattr("paceline.console.ask_yes_no", meanwhile)
    assert home.run("editor", "sublime", "--write").failed(6)
    assert path.read_text("utf-8") == '{"new": 1}'


def test_neovim_gets_its_files_and_one_line(home):
    init = home.root / "config/nvim/init.lua"
    init.parent.mkdir(parents=True)
    init.write_text('-- require("paceline").setup()\nvim.o.number = true')
    home.run("editor", "neovim", "--write", "--yes")
    assert init.read_text("utf-8").splitlines()[1:] == ["vim.o.number = true", 'require("paceline").setup()']
    ours = editors.folder() / "neovim"
    for name in ("init.lua", "ghost.lua", "keys.lua", "editing.lua"):
        assert (home.root / "config/nvim/lua/paceline" / name).read_bytes() == (ours / name).read_bytes()


def test_a_person_with_init_vim_gets_the_line_there(home):
    init = home.root / "config/nvim/init.vim"
    init.parent.mkdir(parents=True)
    init.write_text("set number\n")
    home.run("editor", "neovim", "--write", "--yes")
    assert init.read_text("utf-8") == 'set number\nlua require("paceline").setup()\n'
    assert not init.with_name("init.lua").exists()


@pytest.mark.parametrize("loaded", ["require('paceline').setup({ delay = 9 })", 'local p = require "paceline"'])
def test_a_line_of_the_person_s_own_is_enough(home, loaded):
    init = home.root / "config/nvim/init.lua"
    init.parent.mkdir(parents=True)
    init.write_text(loaded)
    home.run("editor", "neovim", "--write", "--yes")
    assert init.read_text("utf-8") == loaded


def test_an_older_version_of_our_files_is_brought_up_to_date(home):
    home.run("editor", "neovim", "--write", "--yes")
    modules = sorted((home.root / "config/nvim/lua/paceline").iterdir())
    former = {path: path.read_bytes() for path in modules}
    for path in modules:
        path.write_bytes(former[path] + b"-- as it was\n")
    assert not home.run("editor", "neovim", "--write", "--yes").code
    assert {path: path.read_bytes() for path in modules} == former


def test_our_own_files_are_brought_up_to_date_and_others_are_not_touched(home):
    home.run("editor", "neovim", "--write", "--yes")
    module = home.root / "config/nvim/lua/paceline/init.lua"
    module.write_text("-- Paceline, an older one\n")
    home.run("editor", "neovim", "--write", "--yes")
    assert module.read_bytes() == (editors.folder() / "neovim/init.lua").read_bytes()
    module.write_text("return {}\n")
    assert home.run("editor", "neovim", "--write", "--yes").failed(6)
    assert module.read_text("utf-8") == "return {}\n"


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([], ".emacs.d/init.el"),
        ([".emacs"], ".emacs"),
        ([".emacs.d/init.el"], ".emacs.d/init.el"),
        (["config/emacs/init.el"], "config/emacs/init.el"),
    ],
)
def test_emacs_s_line_goes_where_emacs_reads_it(home, there, expected):
    for name in there:
        (home.root / name).parent.mkdir(parents=True, exist_ok=True)
        (home.root / name).write_text(";; mine\n")
    assert home.run("editor", "emacs", "--write", "--yes").code == 0
    text = (home.root / expected).read_text("utf-8")
    assert text.count("paceline-setup") == 1 and text.endswith("(paceline-setup))\n")
    folder = "config/emacs" if expected.startswith("config") else ".emacs.d"
    assert (home.root / folder / "paceline.el").exists()


def helix(home: Home, text: str) -> Path:
    path = home.root / "config/helix/languages.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_helix_keeps_the_person_s_servers_and_adds_one(home):
    text = (
        '# mine\n[[language]]\nname = "python"\nlanguage-servers = [ "pyright" ] # only this\n'
        '[[language]]\nname = "rust"\nauto-format = false\n[language-server.pyright]\ncommand = "p"\n'
    )
    path = helix(home, text)
    home.run("editor", "helix", "--write", "--yes")
    after = path.read_text("utf-8")
    data = tomllib.loads(after)
    by_name = {each["name"]: each for each in data["language"]}
    assert by_name["python"]["language-servers"] == ["pyright", "paceline"]
    assert by_name["rust"] == {
        "name": "rust",
        "auto-format": False,
        "language-servers": ["rust-analyzer", "paceline"],
    }
    assert set(data["language-server"]) == {"pyright", "paceline"}
    assert "# mine" in after and "# only this" in after
    assert [each["name"] for each in data["language"]].count("python") == 1


def test_helix_can_be_set_up_for_some_languages_alone(home):
    home.run("editor", "helix", "--write", "--yes", "--language", "python", "--language", "cobol")
    data = tomllib.loads((home.root / "config/helix/languages.toml").read_text("utf-8"))
    assert {each["name"]: each["language-servers"][-1] for each in data["language"]} == {
        "python": "paceline",
        "cobol": "paceline",
    }


@pytest.mark.parametrize("text", ["[[language]\n", "language = [{ name = 'python' }]\n", "[language]\nname = 'x'\n"])
def test_helix_files_that_are_not_understood_are_left_alone(home, text):
    path = helix(home, text)
    assert home.run("editor", "helix", "--write", "--yes").failed(6)
    assert path.read_text("utf-8") == text


def test_kate_gets_a_server_for_each_language_that_is_named(home):
    home.run("editor", "kate", "--write", "--yes", "--language", "rust", "--language", "c")
    data = json.loads((home.root / "config/kate/lspclient/settings.json").read_text("utf-8"))
    assert {name: server["command"] for name, server in data["servers"].items()} == {
        "rust": ["paceline", "lsp"],
        "c": ["paceline", "lsp"],
    }


def test_where_the_command_is_not_on_the_path_its_whole_path_is_written(home, monkeypatch):
    elsewhere = home.root / "a b"
    elsewhere.mkdir()
    (home.root / "programs/paceline").rename(elsewhere / "paceline")
    monkeypatch.setattr("sys.executable", str(elsewhere / "python"))
    path = str(elsewhere / "paceline")
    assert f'cmd = {{ {json.dumps(path)}, "lsp" }}' in home.run("editor", "neovim").out
    shown = home.run("editor", "sublime").out
    assert json.loads(shown.split("\n", 1)[1])["clients"]["paceline"]["command"] == [path, "lsp"]
    assert tomllib.loads(home.run("editor", "helix").out)["language-server"]["paceline"]["command"] == path


@pytest.fixture
def active(home, monkeypatch):
    """A virtual environment that is active and has a `paceline`; the path of that."""
    folder = home.root / "env/bin"
    folder.mkdir(parents=True)
    (home.root / "programs/paceline").rename(folder / "paceline")
    monkeypatch.setattr("sys.prefix", str(folder.parent))
    monkeypatch.setattr("sys.base_prefix", "/usr")
    monkeypatch.setenv("PATH", f"{folder}:{home.root / 'programs'}")
    return str(folder / "paceline")


def test_a_command_that_is_only_there_while_an_environment_is_active_is_written_with_its_path(home, active):
    assert f'cmd = {{ {json.dumps(active)}, "lsp" }}' in home.run("editor", "neovim").out
    assert json.dumps(active) in home.run("editor", "emacs").out
    home.run("editor", "jetbrains", "--write", "--yes")
    template = json.loads((home.root / "data/paceline/editors/jetbrains/template.json").read_text("utf-8"))
    assert template["programArgs"]["default"] == f'sh -c "{active} lsp"'
    home.run("editor", "zed", "--write", "--yes")
    settings = json.loads((home.root / "config/zed/settings.json").read_text("utf-8"))
    assert settings["lsp"]["paceline"]["binary"]["path"] == active


def test_a_command_of_another_environment_is_one_that_shells_find(home, active, monkeypatch):
    monkeypatch.setattr("sys.prefix", "/opt/other")
    assert active not in home.run("editor", "neovim").out


@pytest.mark.parametrize(
    ("program", "settings"),
    [("code", "config/Code/User"), ("codium", "config/VSCodium/User"), ("code-server", "data/code-server/Machine")],
)
def test_vs_code_is_told_the_path_of_a_command_that_only_an_environment_has(home, active, program, settings):
    for name in ("npm", program):
        install(home, name)
    path = home.root / settings / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{\n    // mine\n    "editor.fontSize": 12\n}\n')
    ended = home.run("editor", "vscode", "--write", "--yes")
    assert ended.code == 0
    assert '+    "paceline.command"' in ended.err
    assert jsonc.read(path.read_text("utf-8")).value == {"editor.fontSize": 12, "paceline.command": active}
    assert "// mine" in path.read_text("utf-8")
    assert not list((home.root / "config").glob("*/User")) or program != "code-server"


def test_vs_code_s_settings_are_left_alone_where_a_shell_finds_the_command(home):
    for name in ("npm", "code"):
        install(home, name)
    home.run("editor", "vscode", "--write", "--yes")
    assert not (home.root / "config/Code/User/settings.json").exists()


@pytest.mark.parametrize("name", ["vscode", "zed", "jetbrains"])
def test_files_that_are_put_somewhere_are_named_by_their_folder_alone(home, name):
    shown = home.run("editor", name).out
    assert shown.count(str(home.root / "data")) <= 1 + len(next(e for e in editors.known() if e.name == name).command)
    assert f" files into {home.root / 'data/paceline/editors' / name}" in shown
    assert str(editors.folder()) not in shown


def test_vim_is_told_of_the_plug_in_that_serves_it(home):
    shown = home.run("editor", "vim")
    assert shown.code == 0
    assert "llama.vim" in shown.out and "/infill" in shown.out
    assert home.run("editor", "vim", "--write", "--yes").failed(6)


def test_vscode_s_extension_is_built_and_installed_by_the_programs_that_are_there(home):
    log = home.root / "log"
    for name in ("npm", "codium"):
        install(home, name, f'#!/bin/sh\necho "{name} $* in $(/bin/pwd)" >> {log}\n')
    ended = home.run("editor", "vscode", "--write", "--yes")
    assert ended.code == 0
    folder = home.root / "data/paceline/editors/vscode"
    assert log.read_text().splitlines() == [
        f"npm ci --no-audit --no-fund in {folder}",
        f"npm run package in {folder}",
        f"codium --install-extension paceline.vsix --force in {folder}",
    ]
    assert {"package.json", "package-lock.json", "src/extension.js"} <= set(tree(folder))


def test_a_missing_npm_is_said_before_anything_is_written(home):
    before = tree(home.root)
    ended = home.run("editor", "vscode", "--write", "--yes")
    assert ended.failed(6) and "npm" in ended.err
    assert tree(home.root) == before


def test_a_program_that_fails_is_said(home):
    install(home, "npm", "#!/bin/sh\nexit 3\n")
    install(home, "code")
    assert home.run("editor", "vscode", "--write", "--yes").failed(8)


def test_all_files_of_the_table_exist_and_each_editor_has_a_readme():
    for each in editors.known():
        assert (editors.folder() / each.name / "README.md").read_text("utf-8").startswith("# Paceline in ")
        for step in each.step:
            for source in step.sources:
                assert (editors.folder() / source).is_file()
            if step.kind == "line":
                assert step.line.split("(")[0] in step.elsewhere and "{paceline}" in step.elsewhere


@pytest.mark.parametrize("name", [each.name for each in editors.known()])
def test_a_readme_shows_the_configuration_that_is_written(name):
    """The configuration texts have one source; a README that quotes one quotes all of it."""
    chosen = next(each for each in editors.known() if each.name == name)
    readme = (editors.folder() / name / "README.md").read_text("utf-8")
    assert f"paceline editor {name}" in readme
    for step in chosen.step:
        if step.kind == "line" and not step.only:
            assert step.line in readme
        if step.kind == "json":
            shown = readme.split("```json\n")[1].split("```")[0]
            assert json.loads(shown) == json.loads((editors.folder() / step.sources[0]).read_text("utf-8"))


def test_an_unreadable_file_is_an_error_with_a_hint(home, tmp_path):
    with pytest.raises(InputError):
        editors.read(tmp_path)  # a folder


SETTINGS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab "\\é', max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=2), SETTINGS, max_size=4)
BLANKS = st.sampled_from(["", " ", "\n  ", "\t", "/* b */", "// c\n"])


def written(value, draw) -> str:
    """A value as JSON with comments, blanks and trailing commas where they may be."""
    blank = lambda: draw(BLANKS)  # noqa: E731
    if isinstance(value, (dict, list)):
        pairs = [
            (f"{json.dumps(key)}{blank()}:{blank()}" if isinstance(value, dict) else "") + written(each, draw)
            for key, each in (value.items() if isinstance(value, dict) else enumerate(value))
        ]
        inner = ",".join(f"{blank()}{pair}{blank()}" for pair in pairs) or blank()
        tail = f",{blank()}" if pairs and draw(st.booleans()) else ""
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{inner}{tail}{closing}"
    return json.dumps(value)


def filled(there, keys):
    """What adding keys gives, said plainly."""
    result = dict(there)
    for key, value in keys.items():
        if key not in result:
            result[key] = value
        elif isinstance(value, dict) and isinstance(result[key], dict):
            result[key] = filled(result[key], value)
    return result


@given(st.data(), OBJECTS, OBJECTS)
def test_keys_are_added_to_any_settings_and_every_character_stays(data, there, keys):
    text = data.draw(BLANKS) + written(there, data.draw) + data.draw(BLANKS)
    after, kept = jsonc.added(text, keys)
    assert jsonc.read(after).value == filled(there, keys)
    rest = iter(after)
    assert all(character in rest for character in text), "something of the person's is gone"
    assert jsonc.added(after, keys) == (after, kept)
