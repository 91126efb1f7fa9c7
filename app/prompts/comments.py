"""How comments begin in a language, under the names that fenced blocks and the language server protocol use."""

from itertools import chain

_MARKS: dict[str, tuple[str, ...]] = {
    "#": (
        *("bash", "cmake", "coffeescript", "dockerfile", "elixir", "julia", "makefile", "nim", "perl", "powershell"),
        *("python", "r", "ruby", "shellscript", "toml", "yaml"),
    ),
    "//": (
        *("c", "cpp", "csharp", "dart", "fsharp", "go", "groovy", "java", "javascript", "javascriptreact", "jsx"),
        *("kotlin", "objective-c", "php", "rust", "scala", "scss", "swift", "tsx", "typescript", "typescriptreact"),
        *("vue", "zig"),
    ),
    "--": ("ada", "elm", "haskell", "lua", "sql", "vhdl"),
    "%": ("erlang", "latex", "matlab", "tex"),
    ";": ("clojure", "commonlisp", "lisp", "scheme"),
}
_MARK = dict(chain.from_iterable([(name, mark) for name in names] for mark, names in _MARKS.items()))


def comment_mark(language: str) -> str:
    """What a comment up to the line's end begins with; "" where that is not known."""
    return _MARK.get(language, "")
