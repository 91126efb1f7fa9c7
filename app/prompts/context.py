"""Files and standard input as part of a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from paceline.prompts.rewriting import fence_for
from paceline.text import strip_controls

LANGUAGES = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".cxx": "cpp",
    ".diff": "diff",
    ".ex": "elixir",
    ".exs": "elixir",
    ".go": "go",
    ".h": "c",
    ".hpp": "cpp",
    ".hs": "haskell",
    ".html": "html",
    ".java": "java",
    ".jl": "julia",
    ".js": "javascript",
    ".json": "json",
    ".jsx": "jsx",
    ".kt": "kotlin",
    ".lua": "lua",
    ".md": "markdown",
    ".ml": "ocaml",
    ".patch": "diff",
    ".php": "php",
    ".pl": "perl",
    ".ps1": "powershell",
    ".py": "python",
    ".pyi": "python",
    ".r": "r",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".scss": "scss",
    ".sh": "bash",
    ".sql": "sql",
    ".swift": "swift",
    ".tex": "latex",
    ".toml": "toml",
    ".ts": "typescript",
    ".tsx": "tsx",
    ".vue": "vue",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".zig": "zig",
    ".zsh": "zsh",
}
NAMES = {"Dockerfile": "dockerfile", "Makefile": "makefile", "CMakeLists.txt": "cmake"}


@dataclass(frozen=True)
class Attachment:
    """A file that goes with a question: its name as the person wrote it, and its text."""

    name: str
    text: str


def with_files(question: str, files: Sequence[Attachment], stdin: str | None) -> str:
    """The message to the model: the files as fenced blocks in the order given, standard input, then the question.

    What changes least stands first, so that another question about the same files finds their tokens in the cache.
    A file named twice with the same text is shown once. Empty standard input counts as none.
    """
    blocks = [f"File: {_title(file.name)}\n{_fenced(file.text, language(file.name))}" for file in dict.fromkeys(files)]
    if stdin and stdin.strip():
        blocks.append(f"Standard input:\n{_fenced(stdin, '')}")
    if question.strip():
        blocks.append(question)
    return "\n\n".join(blocks)


def language(name: str) -> str:
    """The tag of a fenced block for a file of this name; empty when it is not known."""
    path = PurePath(name)
    return NAMES.get(path.name) or LANGUAGES.get(path.suffix.lower(), "")


def _title(name: str) -> str:
    """The name on one line."""
    return " ".join(strip_controls(name).split("\n"))


def _fenced(text: str, tag: str) -> str:
    """The text between fences longer than any run of backticks in it."""
    fence = fence_for(text)
    end = "" if text.endswith("\n") or not text else "\n"
    return f"{fence}{tag}\n{text}{end}{fence}"
