"""Which files of its workspace a file imports."""

import re
from pathlib import PurePosixPath

import pytest

from paceline.lsp.context.imports import Tree, imported, joined, language_of


def tree(*names, **texts):
    files = {**dict.fromkeys(names, ""), **{name.replace("__", "."): text for name, text in texts.items()}}

    def listing(folder):
        return [path for path in map(PurePosixPath, files) if str(path.parent) == folder and path.name]

    return Tree(files.__contains__, lambda folder: [each.name for each in listing(folder)], files.get)


def paths(language, text, path, *names, **texts):
    return [each.path for each in imported(language, text, path, tree(*names, **texts))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pkg.b", ["pkg/b.py"]),
        ("import os, pkg.b as c, pkg", ["pkg/b.py", "pkg/__init__.py"]),
        ("from pkg import b, f", ["pkg/__init__.py", "pkg/b.py"]),
        ("from pkg.b import (\n    One,  # a comment, with (brackets\n    Two,\n)\n", ["pkg/b.py"]),
        ("from pkg.b import One, \\\n    Two\n", ["pkg/b.py"]),
        ("from . import b", ["pkg/__init__.py", "pkg/b.py"]),
        ("from .b import x", ["pkg/b.py"]),
        ("from ..c import x", ["c.py"]),
        ("from ...c import x", []),
        ("def f():\n    import c\n", ["c.py"]),
        ("import sibling", ["pkg/sibling.py"]),
        ("import inside", ["src/inside.py"]),
        ("import os.path, pkgother", []),
        ("important = from_here(import_that)", []),
    ],
)
def test_python(text, expected):
    names = ("pkg/__init__.py", "pkg/a.py", "pkg/b.py", "c.py", "pkg/sibling.py", "src/inside.py")
    assert paths("python", text, "pkg/a.py", *names) == expected


def test_names_that_python_takes_from_a_module_are_known():
    (found,) = imported("python", "from b import (One as o, Two)\nfrom b import Three", "a.py", tree("b.py"))
    assert found.names == {"One", "Two", "Three"}


def test_packages_that_setuptools_takes_from_other_folders_are_found_there():
    project = '[tool.setuptools]\npackage-dir = { "bike" = "app", "bike.lsp" = "lsp" }\n'
    names = ("app/a.py", "lsp/b.py", "lsp/__init__.py")
    text = "from bike.a import x\nfrom bike.lsp.b import y\n"
    assert paths("python", text, "tests/t.py", *names, pyproject__toml=project) == ["app/a.py", "lsp/b.py"]
    assert paths("python", text, "tests/t.py", *names, pyproject__toml="[tool") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('import { a } from "./b";', ["src/b.ts"]),
        ("import b from './b.js'", ["src/b.ts"]),
        ('export * from "../lib"', ["lib/index.ts"]),
        ('const c = require("./c")', ["src/c.jsx"]),
        ('const c = await import("./c")', ["src/c.jsx"]),
        ('import "@/deep/d"', ["src/deep/d.tsx"]),
        ('import React from "react"', []),
        ('import x from "../../outside"', []),
        ('import data from "./data.json"', []),
    ],
)
def test_javascript_and_typescript(text, expected):
    names = ("src/b.ts", "lib/index.ts", "src/c.jsx", "src/deep/d.tsx", "src/data.json", "outside.ts")
    for language in ("javascript", "typescript", "typescriptreact"):
        assert paths(language, text, "src/a.ts", *names) == expected


def test_go_sees_its_package_and_the_packages_of_its_module():
    text = 'package main\nimport (\n\t"fmt"\n\tx "example.org/bike/wheel"\n)\n'
    names = ("cmd/main.go", "cmd/more.go", "cmd/more_test.go", "wheel/a.go", "wheel/a_test.go", "rim/r.go")
    assert paths("go", text, "cmd/main.go", *names, go__mod="module example.org/bike\n") == [
        "cmd/more.go",
        "wheel/a.go",
    ]
    assert paths("go", text, "cmd/main.go", *names) == ["cmd/more.go"]
    assert paths("go", 'import "example.org/bike/rim"', "x/y.go", *names, go__mod="module example.org/bike") == [
        "rim/r.go"
    ]


def test_rust_follows_its_modules():
    names = ("Cargo.toml", "src/main.rs", "src/wheel.rs", "src/wheel/rim.rs", "src/gear/mod.rs")
    text = "mod wheel;\nuse crate::wheel::rim::{Rim, Spoke};\nuse crate::gear::*;\nuse std::fmt;\n"
    assert paths("rust", text, "src/main.rs", *names) == ["src/wheel.rs", "src/wheel/rim.rs", "src/gear/mod.rs"]
    assert paths("rust", "mod rim;", "src/wheel.rs", *names) == ["src/wheel/rim.rs"]
    assert paths("rust", "use super::gear::Gear;", "src/wheel.rs", *names) == ["src/gear/mod.rs"]


def test_java_follows_its_packages():
    names = ("src/main/java/org/bike/App.java", "src/main/java/org/bike/Near.java", "src/main/java/org/parts/Rim.java")
    text = "package org.bike;\nimport org.parts.Rim;\nimport static org.parts.Rim.SIZE;\nimport java.util.*;\n"
    assert paths("java", text, names[0], *names) == [names[2], names[1]]


def test_c_finds_headers_beside_and_in_include():
    names = ("src/a.c", "src/a.h", "include/bike/rim.h", "src/gears.hpp")
    text = '#include <stdio.h>\n#include "a.h"\n# include <bike/rim.h>\n#include "gears.hpp"\n'
    assert paths("c", text, "src/a.c", *names) == ["src/a.h", "include/bike/rim.h", "src/gears.hpp"]


def test_unknown_languages_and_documents_without_a_name_import_nothing():
    assert paths("cobol", "import b", "a", "b.py") == []
    assert paths("python", "import b", "", "b.py") == []


def test_no_file_imports_itself_and_none_imports_everything():
    assert paths("python", "import a", "a.py", "a.py") == []
    names = [f"m{number}.py" for number in range(100)]
    assert len(paths("python", "\n".join(f"import m{number}" for number in range(100)), "a.py", *names)) == 40


def test_paths_never_leave_the_workspace():
    assert joined(PurePosixPath("a/b"), "../c") == "a/c"
    assert joined(PurePosixPath("a"), "../../c") is None
    assert joined(PurePosixPath("a"), "/etc/passwd") in ("etc/passwd", "a/etc/passwd")


def test_a_files_language_is_known_by_its_name():
    assert [language_of(name) for name in ("a/b.PY", "x.d.ts", "x.tsx", "y.hpp", "Makefile", "z.unknown")] == [
        "python", "typescript", "typescriptreact", "cpp", "", "",
    ]  # fmt: skip
    assert re.fullmatch(r"\w*", language_of("weird."))
