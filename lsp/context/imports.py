"""Which files of its workspace a file imports."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from paceline.workspace.outline import identifiers

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Exists = Callable[[str], bool]  # whether a file of this path, within the workspace and with "/", is there
Listing = Callable[[str], Iterable[str]]  # names of the files in a folder, boundedly many
Text = Callable[[str], "str | None"]

MOST = 40  # files that one file's imports are followed to
LANGUAGES = {  # by a file's last suffix
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh", "hxx"), "cpp"),
    "jsx": "javascriptreact",
    "tsx": "typescriptreact",
    "go": "go",
    "rs": "rust",
    "java": "java",
}
_SCRIPTS = ("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.tsx", "/index.js")
_PYTHON = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]{0,4000}\)|(?:[^\n#;\\]|\\\n){1,2000})"
    r"|import[ \t]+([^\n#;]{1,1000}))",
    re.MULTILINE,
)
_SCRIPT = re.compile(r"""(?:\bfrom|\bimport|\brequire[ \t]*\(|\bimport[ \t]*\()[ \t]*(["'])([^"'\n]{1,300})\1""")
_GO_BLOCK = re.compile(r"^import[ \t]*(?:\(([^)]{0,8000})\)|(?:[\w.]+[ \t]+)?(\"[^\"\n]{1,300}\"))", re.MULTILINE)
_GO_MODULE = re.compile(r"^module[ \t]+(\S+)", re.MULTILINE)
_RUST = re.compile(r"^[ \t]*(?:pub(?:\([^)]{0,40}\))?[ \t]+)?(mod|use)[ \t]+([^;]{1,1000});", re.MULTILINE)
_JAVA = re.compile(r"^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]{1,300})(\.\*)?[ \t]*;", re.MULTILINE)
_JAVA_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]{1,300})[ \t]*;", re.MULTILINE)
_INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]{1,300})[">]""", re.MULTILINE)


@dataclass(frozen=True)
class Imported:
    """One file, and the names that are taken from it by name (none: the module as a whole)."""

    path: str
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Tree:
    """What imports have to know about a workspace."""

    exists: Exists
    names: Listing
    text: Text


def imported(language: str, text: str, path: str, tree: Tree) -> tuple[Imported, ...]:
    """The files that this one imports, in the order of its imports; then what it sees without importing it."""
    find = {
        "python": _from_python,
        "javascript": _from_script,
        "typescript": _from_script,
        "go": _from_go,
        "rust": _from_rust,
        "java": _from_java,
        "c": _from_c,
        "cpp": _from_c,
    }.get(language.removesuffix("react"))
    if find is None or not path:
        return ()
    found: dict[str, frozenset[str]] = {}
    for each in find(text, PurePosixPath(path), tree):
        if each.path != path and (each.path in found or len(found) < MOST):
            found[each.path] = found.get(each.path, frozenset()) | each.names
    return tuple(Imported(each, names) for each, names in found.items())


def language_of(path: str) -> str:
    """The languageId of a file of this name; "" for one that is not known."""
    return LANGUAGES.get(path.rsplit(".", 1)[-1].lower(), "")


def joined(folder: PurePosixPath, path: str) -> str | None:
    """A path relative to a folder, without "..": None where it leaves the workspace."""
    parts: list[str] = []
    for part in (folder / path).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in (".", "/"):
            parts.append(part)
    return "/".join(parts)


def _from_python(text: str, path: PurePosixPath, tree: Tree) -> Iterator[Imported]:
    tops = [*map(str, path.parents), "src", "lib", "python"]
    packages = _package_folders(tree)
    for found in _PYTHON.finditer(text):
        if found[3]:
            for each in found[3].split(","):
                if module := each.split():
                    yield from _python_module(tops, module[0], (), tree, packages)
            continue
        taken = re.sub(r"#[^\n]*", "", found[2]).strip("() \t\n").replace("\\\n", " ")
        names = [words[0] for each in taken.split(",") if (words := each.split())]
        name = found[1].lstrip(".")
        dots = len(found[1]) - len(name)
        here = [str(path.parents[dots - 1])] if 0 < dots <= len(path.parents) else []
        yield from _python_module(here if dots else tops, name, names, tree, {} if dots else packages)


def _package_folders(tree: Tree) -> dict[str, str]:
    """Packages and the folders that setuptools takes them from, where a project says so."""
    try:
        data = tomllib.loads(tree.text("pyproject.toml") or "")
        told = data["tool"]["setuptools"]["package-dir"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, RecursionError):
        return {}
    return {name: folder for name, folder in told.items() if isinstance(folder, str)} if isinstance(told, dict) else {}


def _python_module(
    tops: Iterable[str], name: str, names: Iterable[str], tree: Tree, packages: Mapping[str, str]
) -> Iterator[Imported]:
    """The module's file, and of names that are modules themselves, theirs."""
    stem = name.replace(".", "/")
    bases = ["/".join(part for part in (top if top != "." else "", stem) if part) for top in tops]
    for package in sorted(packages, key=len):
        if name == package or name.startswith(f"{package}.") or not package:
            rest = name[len(package) :].lstrip(".").replace(".", "/")
            bases.insert(0, joined(PurePosixPath(packages[package]), rest) or "")
    for base in dict.fromkeys(bases):
        below = [f"{base}/{each}" if base else each for each in names if each != "*"]
        modules = [file for each in below for file in (f"{each}.py", f"{each}/__init__.py") if tree.exists(file)]
        own = [file for file in (f"{base}.py", f"{base}/__init__.py", f"{base}.pyi") if base and tree.exists(file)][:1]
        for file in own:
            yield Imported(file, frozenset(names))
        for file in modules:
            yield Imported(file)
        if own or modules:
            return


def _from_script(text: str, path: PurePosixPath, tree: Tree) -> Iterator[Imported]:
    for found in _SCRIPT.finditer(text):
        wanted, clause = found[2], text[max(0, text.rfind(";", 0, found.start())) : found.start()][-400:]
        names = identifiers(clause.rpartition("import")[2])
        if wanted.startswith("."):
            bases = [joined(path.parent, wanted)]
        elif wanted.startswith(("@/", "~/")):  # what most projects call their own folder
            bases = [f"src/{wanted[2:]}", wanted[2:], f"app/{wanted[2:]}"]
        else:
            bases = [f"src/{wanted}"] if "/" in wanted else []
        for base in filter(None, bases):
            stems = [base, base.rsplit(".", 1)[0]] if base.endswith((".js", ".jsx", ".mjs")) else [base]
            file = next(
                (s + end for s in stems for end in _SCRIPTS if language_of(s + end) and tree.exists(s + end)), None
            )
            if file:
                yield Imported(file, names)
                break


def _from_go(text: str, path: PurePosixPath, tree: Tree) -> Iterator[Imported]:
    yield from _siblings(path, ".go", tree, leaving="_test.go")
    top = next((each for each in path.parents if tree.exists(str(each / "go.mod"))), None)
    module = _GO_MODULE.search(tree.text(str(top / "go.mod")) or "") if top is not None else None
    if top is None or module is None:
        return
    for block in _GO_BLOCK.finditer(text):
        for name in re.findall(r'"([^"\n]{1,300})"', block[1] or block[2]):
            if name.startswith(module[1] + "/"):
                yield from _siblings(top / name[len(module[1]) + 1 :] / "_", ".go", tree, leaving="_test.go")


def _siblings(path: PurePosixPath, suffix: str, tree: Tree, leaving: str = "\0") -> Iterator[Imported]:
    """The other files of the same folder."""
    for name in sorted(tree.names(str(path.parent))):
        if name.endswith(suffix) and not name.endswith(leaving) and name != path.name:
            yield Imported(str(path.parent / name))


def _from_rust(text: str, path: PurePosixPath, tree: Tree) -> Iterator[Imported]:
    crate = next((each / "src" for each in path.parents if tree.exists(str(each / "Cargo.toml"))), path.parent)
    stem = path.parent if path.name in {"mod.rs", "lib.rs", "main.rs"} else path.with_suffix("")
    for found in _RUST.finditer(text):
        if found[1] == "mod":
            yield from _rust_module(stem, [found[2].strip()], tree)
            continue
        head, _, group = found[2].partition("{")
        words = [part.strip() for part in head.split("::") if part.strip()]
        inside = [part.strip().split("::") for part in group.rstrip("} \t\n").split(",") if part.strip()]
        base = {"crate": crate, "self": stem, "super": stem.parent}.get(words[0] if words else "")
        if base is not None:
            for more in inside or [[]]:
                yield from _rust_module(base, [*words[1:], *(part for part in more if part != "self")], tree)


def _rust_module(base: PurePosixPath, words: list[str], tree: Tree) -> Iterator[Imported]:
    """The deepest file that a path of modules and one item leads to."""
    for size in range(len(words), 0, -1):
        whole = base.joinpath(*words[:size])
        for file in (f"{whole}.rs", f"{whole}/mod.rs"):
            if tree.exists(file):
                yield Imported(file, frozenset(words[size:]))
                return


def _from_java(text: str, path: PurePosixPath, tree: Tree) -> Iterator[Imported]:
    package = _JAVA_PACKAGE.search(text)
    parts = package[1].split(".") if package else []
    top = path.parent
    for part in reversed(parts):
        if top.name == part:
            top = top.parent
    for found in _JAVA.finditer(text):
        whole = top / found[1].replace(".", "/")
        if found[2]:
            yield from _siblings(whole / "_", ".java", tree)
        else:
            for each in (whole, whole.parent):  # the second for static imports
                if tree.exists(f"{each}.java"):
                    yield Imported(f"{each}.java", frozenset({each.name}))
                    break
    yield from _siblings(path, ".java", tree)


def _from_c(text: str, path: PurePosixPath, tree: Tree) -> Iterator[Imported]:
    folders = [path.parent, *(PurePosixPath(each) for each in (".", "include", "src")), path.parent.parent / "include"]
    for found in _INCLUDE.finditer(text):
        for folder in folders:
            file = joined(folder, found[1])
            if file and tree.exists(file):
                yield Imported(file)
                break
