"""Who may import whom, read from the source; and what starting a command loads."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
FOLDERS = {"app": "paceline", "lsp": "paceline.lsp", "models": "paceline.models"}

LEAVES = {"errors", "paths", "config", "plan", "text"}
TERMINAL = {"status", "progress", "console"}
PROCESS = {
    "protocol",
    "runtime",
    "probe",
    "launch",
    "ending",
    "log",
    "settings",
}  # of the daemon: what finding and starting it takes
# room: the rooms it may import. A module directly in the package is a room of its own, unless a set above has it.
MAY_IMPORT = {
    "leaves": {"leaves"},
    "terminal": {"leaves", "terminal"},
    "engine": {"leaves", "engine"},
    "models": {"leaves", "models"},
    "prompts": {"leaves", "prompts"},
    "process": {"leaves", "process"},
    "client": {"leaves", "prompts", "process", "client"},  # reaches the engine through a socket only
    "daemon": {"leaves", "engine", "models", "prompts", "process", "daemon"},
    "http": {"leaves", "engine", "prompts", "process", "daemon", "http"},
    "bench": {"leaves", "engine", "models", "prompts", "daemon", "bench"},
    "commands": {
        "leaves",
        "terminal",
        "engine",
        "models",
        "prompts",
        "process",
        "client",
        "daemon",
        "http",
        "bench",
        "lsp",
        "tui",
        "chat",
        "workspace",
        "commands",
    },
    "cli": {"leaves", "terminal"},  # it imports commands by name, when they run
    "workspace": {"leaves", "prompts", "workspace"},
    "lsp": {"leaves", "prompts", "workspace", "client", "lsp"},
    "chat": {"leaves", "prompts", "workspace", "client", "chat"},  # all of the terminal app that is not drawing
    "tui": {"leaves", "prompts", "workspace", "client", "chat", "tui"},
    "__init__": set(),
    "__main__": {"cli"},
}
MAY_IMPORT_LLAMA_CPP = {"paceline.engine.llama", "paceline.engine.llama_batch"}
HEAVY = {
    *("llama_cpp", "numpy", "textual", "rich", "huggingface_hub", "httpx", "jinja2", "psutil", "pygls", "tomlkit"),
    *("starlette", "uvicorn", "llguidance", "prometheus_client", "matplotlib"),
}


def modules(folders: Mapping[str, str] = FOLDERS) -> dict[str, str]:
    """Source by the name it is imported by; a package under `package.__init__`."""
    found = {}
    for folder, package in folders.items():
        for path in (ROOT / folder).rglob("*.py"):
            found[".".join([package, *path.relative_to(ROOT / folder).with_suffix("").parts])] = path.read_text("utf-8")
    return found


def imports(name: str, source: str, known: Mapping[str, str]) -> Iterator[str]:
    """Names of all modules that a module imports anywhere in it."""
    package = name.rsplit(".", 1)[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                stem = package.split(".")
                base = ".".join([*stem[: len(stem) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                below = f"{base}.{alias.name}"
                yield below if below in known or f"{below}.__init__" in known else base


def room(module: str) -> str:
    """The part of the package that a module of ours belongs to."""
    first, second = [*module.split("."), "__init__", "__init__"][1:3]
    if first == "daemon":
        return "process" if second in PROCESS else "http" if second == "http" else "daemon"
    return "leaves" if first in LEAVES else "terminal" if first in TERMINAL else first


def faults(sources: Mapping[str, str]) -> list[str]:
    """What is imported against the table."""
    found = []
    for name, source in sources.items():
        for imported in imports(name, source, sources):
            top = imported.split(".")[0]
            if top in FOLDERS:
                found.append(f"{name} imports the folder {imported}")
            if top == "llama_cpp" and name not in MAY_IMPORT_LLAMA_CPP:
                found.append(f"{name} imports llama_cpp")
            if imported == "paceline":  # its version, which everybody may know
                continue
            if top == "paceline" and room(imported) not in MAY_IMPORT[room(name)]:
                found.append(f"{name} imports {imported}")
    return found


def test_every_import_goes_in_an_allowed_direction():
    assert faults(modules()) == []


def test_every_file_is_in_a_room_of_the_table():
    names = modules()
    assert len(names) > 50
    assert {room(name) for name in names} <= set(MAY_IMPORT)


def test_every_package_and_its_data_are_installed():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    packages = {name.removesuffix(".__init__") for name in modules() if name.endswith(".__init__")}
    assert set(setup["packages"]) == packages
    named = {name for name, patterns in setup["package-data"].items() if "*.tcss" in patterns}
    styles = {
        ".".join(["paceline", *path.relative_to(ROOT / "app").parent.parts]) for path in ROOT.glob("app/**/*.tcss")
    }
    assert styles <= named
    assert not any("*.tcss" in patterns for patterns in setup["exclude-package-data"].values())


def test_llama_cpp_is_imported_where_it_may_be():
    sources = modules()
    assert {name for name in sources if "llama_cpp" in imports(name, sources[name], sources)} == MAY_IMPORT_LLAMA_CPP


def test_no_test_imports_a_folder_for_a_package():
    for path in (ROOT / "tests").rglob("*.py"):
        tops = {each.split(".")[0] for each in imports("tests.x", path.read_text("utf-8"), {})}
        assert not tops & set(FOLDERS), path


def planted(name: str, line: str) -> dict[str, str]:
    """All our modules, empty but for one."""
    return {**dict.fromkeys(modules(), ""), name: line}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("paceline.errors", "import paceline.engine.engine"),
        ("paceline.text", "from paceline import progress"),
        ("paceline.engine.kv", "from paceline.models.fit import plan"),
        ("paceline.engine.kv", "from paceline.prompts import fim"),
        ("paceline.engine.kv", "from paceline import prompts"),
        ("paceline.engine.drafters.base", "from ...models import fit"),
        ("paceline.engine.engine", "import llama_cpp"),
        ("paceline.daemon.service", "from llama_cpp import Llama"),
        ("paceline.models.fit", "from paceline.engine import llama"),
        ("paceline.prompts.fim", "def f():\n    from paceline.engine.vocabulary import Vocabulary"),
        ("paceline.prompts.fim", "if TYPE_CHECKING:\n    from paceline.daemon.service import Service"),
        ("paceline.daemon.service", "from paceline.commands.ask import command"),
        ("paceline.daemon.service", "from paceline.progress import ProgressBar"),
        ("paceline.daemon.service", "from paceline.bench.runner import Runner"),
        ("paceline.bench.report", "from paceline.console import aligned"),
        ("paceline.bench.runner", "from paceline.client.client import connect"),
        ("paceline.commands.ask", "from paceline.cli import main"),
        ("paceline.lsp.server", "from paceline.engine import engine"),
        ("paceline.cli", "from paceline.commands import ask"),
        ("paceline.lsp.server", "from paceline.daemon.service import Service"),
        ("paceline.client.client", "from paceline.daemon.service import Service"),
        ("paceline.client.client", "from paceline.engine.sequence import Request"),
        ("paceline.daemon.launch", "from paceline.daemon.host import Host"),
        ("paceline.daemon.service", "from paceline.daemon.http.app import create_app"),
        ("paceline.daemon.service", "from paceline.client.client import connect"),
        ("paceline.daemon.http.app", "from paceline.models.fit import plan"),
        ("paceline.paths", "from . import daemon"),
        ("paceline.paths", "from app import errors"),
        ("paceline.paths", "import models.fit"),
        ("paceline.paths", "import lsp"),
    ],
)
def test_a_forbidden_import_is_noticed(name, line):
    assert len(faults(planted(name, line))) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("paceline.engine.llama", "import llama_cpp as llama"),
        ("paceline.engine.kv", "from . import backend\nfrom ..errors import EngineError\nimport numpy"),
        ("paceline.commands.ask", "def f():\n    from paceline.daemon import service\n    from paceline import config"),
        ("paceline.client.client", "from paceline.daemon.launch import ensure"),
        ("paceline.bench.runner", "from paceline.daemon.service import Service"),
        ("paceline.daemon.http.app", "from paceline.daemon.service import Service"),
        ("paceline.lsp.server", "from paceline.client.async_client import connect"),
        ("paceline.__main__", "from paceline.cli import main"),
    ],
)
def test_an_allowed_import_is_allowed(name, line):
    assert faults(planted(name, line)) == []


def loaded_by(code: str) -> set[str]:
    """The heavy modules that are loaded after this code has run, in a process of its own."""
    report = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint('loaded', *sys.modules, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    first, *names = ended.stderr.splitlines()[-1].split()
    assert first == "loaded"
    return set(names) & HEAVY


def test_what_is_loaded_is_noticed():
    assert "numpy" in loaded_by("import numpy")


@pytest.mark.parametrize(
    "module",
    [
        "cli",
        "commands.ask",
        "commands.complete",
        "commands.bench",
        "daemon.selection",
        "daemon.launch",
        "client.client",
        "client.async_client",
    ],
)
def test_importing_a_front_end_loads_nothing_heavy(module):
    heavy = loaded_by(f"import paceline.{module}")
    assert not heavy & {"llama_cpp", "numpy", "textual", "rich", "huggingface_hub", "httpx", "pygls"}


@pytest.mark.parametrize("module", ["client", "async_client"])
def test_importing_a_client_loads_nothing_heavy(module):
    assert loaded_by(f"import paceline.client.{module}") == set()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        *([name, "--help"] for name in ("ask", "complete", "bench")),
        ["nonsense"],
        ["ask", "-x"],
    ],
)
def test_help_and_usage_errors_load_nothing_heavy(words):
    argv = ["paceline", *words]
    assert loaded_by(f"sys.argv = {argv!r}; from paceline.cli import main; main()") == set()
