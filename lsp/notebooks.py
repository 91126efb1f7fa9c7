"""A notebook's cells as one text: what stands in earlier cells is known in later ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.lsp.syntax import language_of, line_comment
from paceline.prompts.lines import line_ending, normalise


@dataclass(frozen=True)
class Cell:
    """One cell. Its language is the protocol's languageId."""

    text: str
    language: str
    prose: bool = False  # Markdown and the like, not code


def around(cells: Sequence[Cell], at: int) -> tuple[str, str]:
    """What stands before and after the cell with this number, with that cell's line endings.

    Cells in other languages are left out. Prose before the cell becomes comments, where the language's are known:
    it says what the code is for. Prose after it is left out.
    """
    cell = cells[at]
    newline = line_ending(cell.text)
    before = [_shown(each, cell.language) for each in cells[:at]]
    after = [_shown(each, cell.language) for each in cells[at + 1 :] if not each.prose]
    joined = "".join(f"{text}\n\n" for text in before if text), "".join(f"\n\n{text}" for text in after if text)
    return joined[0].replace("\n", newline), joined[1].replace("\n", newline)


def _shown(cell: Cell, language: str) -> str:
    """What a cell says to one in this language."""
    text = normalise(cell.text).strip("\n")
    if not text.strip():
        return ""
    if cell.language == language:
        return text
    mark = line_comment(language_of(language, ""))
    return "\n".join(f"{mark} {line}".rstrip() for line in text.split("\n")) if cell.prose and mark else ""
