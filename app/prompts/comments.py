"""How comments begin in a language, under the names that fenced blocks and the language server protocol use."""

from itertools import chain

_MARKS: dict[str, tuple[str, ...]] = {
    "#": (
        *("bash", "cmake", "coffeescript", "dockerfile", "elixir", "fish", "graphql", "hcl", "julia", "ksh"),
        *("makefile", "nim", "perl", "powershell", "python", "r", "ruby", "sh", "shellscript", "terraform", "toml"),
        *("yaml", "zsh"),
    ),
    "//": (
        *("c", "cpp", "csharp", "cuda", "dart", "fsharp", "go", "groovy", "java", "javascript", "javascriptreact"),
        *("jsx", "kotlin", "less", "objective-c", "objective-cpp", "php", "proto", "proto3", "rust", "sass", "scala"),
        *("scss", "stylus", "swift", "tsx", "typescript", "typescriptreact", "vue", "zig"),
    ),
    "--": ("ada", "elm", "haskell", "lua", "sql", "vhdl"),
    "%": ("erlang", "latex", "matlab", "tex"),
    ";": ("clojure", "commonlisp", "elisp", "ini", "lisp", "properties", "racket", "scheme"),
}
_MARK = dict(chain.from_iterable([(name, mark) for name in names] for mark, names in _MARKS.items()))


def comment_mark(language: str) -> str:
    """What a comment up to the line's end begins with; "" where that is not known."""
    return _MARK.get(language, "")
