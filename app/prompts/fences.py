"""Fences of Markdown in code: models that were trained on conversations end their answers with one."""

import re

FENCES = ("```", "~~~")
# under the names that fenced blocks, file names and the language server protocol give
PROSE = frozenset(
    {"asciidoc", "git-commit", "gitcommit", "latex", "mail", "markdown", "mdx", "org", "plaintext", "quarto", "rmd"}
    | {"restructuredtext", "rst", "scminput", "tex", "text", "typst"}
)
_FENCE_LINE = re.compile(r"^[ \t/*#!;-]*(?:```|~~~)", re.MULTILINE)
_TRIPLE = re.compile(r'"""|\'\'\'')
_TEMPLATES = frozenset(  # have strings in backticks
    {"go", "javascript", "javascriptreact", "jsx", "svelte", "tsx", "typescript", "typescriptreact", "vue"}
)


def is_stray(before: str, line: str, language: str) -> bool:
    """Whether a line of an answer begins with a fence that nobody wants: in code, where none stands open.

    before: all that stands before the line, lines ended by a newline alone. language: "" where it is not known; then
    it may be prose.
    """
    if not line.lstrip().startswith(FENCES) or not language or language in PROSE:
        return False
    if language == "yaml" and line[0] in " \t":  # a text in a block of its own
        return False
    return len(_FENCE_LINE.findall(before)) % 2 == 0 and not _in_a_text(before, language)


def _in_a_text(before: str, language: str) -> bool:
    """Whether a string of several lines, such as a docstring, stands open."""
    if len(_TRIPLE.findall(before)) % 2:
        return True
    return language in _TEMPLATES and before.replace("```", "").count("`") % 2 == 1
