"""Other files before the document, as models that know whole repositories were trained to see them.

    <repo_name>NAME
    <file_sep>path of another file
    its text
    <file_sep>path of the document
    <fim_prefix>…

(Qwen2.5-Coder Technical Report, arXiv:2409.12186, section 3.2.2; StarCoder 2 has the same tokens.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paceline.prompts.context import Attachment
from paceline.prompts.tokenizer import FimMarkers
from paceline.text import replace_surrogates

MAX_NAME = 256  # characters of a name that are shown
BRIEF = 200  # characters of a document that say too little about its language


@dataclass(frozen=True)
class Repository:
    """What the model is told about where a document belongs; "" for what is not known."""

    name: str = ""
    path: str = ""  # the document's, within it


UNNAMED = Repository()


def shown_before(
    others: Sequence[Attachment],
    place: Repository,
    fim: FimMarkers,
    encode: Callable[[str], list[int]],
    budget: int,
    *,
    brief: bool = False,
) -> list[int]:
    """Tokens that show other files, of which the last ones matter most, within a budget, and the document's name;
    none where there are no others, unless the document itself is brief: then its name says what language it has.

    Without a token that separates files, a line of text introduces each.
    """
    shown: list[int] = []
    for other in reversed(others):
        name, text = _name(other.name), replace_surrogates(other.text)
        if fim.separator is not None:
            block = [fim.separator, *encode(f"{name}\n{text}\n")]
        else:
            block = encode(f"\n\n--- {name} ---\n\n{text}\n")
        if len(shown) + len(block) > budget:
            break
        shown = block + shown
    if (shown or (brief and place.path)) and fim.separator is not None:
        shown += [fim.separator, *encode(f"{_name(place.path)}\n")]
        if others and fim.repository is not None and place.name:
            shown = [fim.repository, *encode(f"{_name(place.name)}\n"), *shown]
    return shown


def text_before(
    others: Sequence[Attachment],
    place: Repository,
    encode: Callable[[str], list[int]],
    budget: int,
    *,
    brief: bool = False,
) -> str:
    """The same as text, for models that have the document's text at the end of the prompt; "" where there is none.

    Names stand as Codestral is commonly shown them (the same in the templates of Continue and of others).
    """
    shown, left = "", budget
    for other in reversed(others):
        block = f"+++++ {_name(other.name)}\n{replace_surrogates(other.text)}\n\n"
        left -= len(encode(block))
        if left < 0:
            break
        shown = block + shown
    return f"{shown}+++++ {_name(place.path)}\n" if shown or (brief and place.path) else ""


def _name(name: str) -> str:
    """On one line."""
    return " ".join(replace_surrogates(name)[:MAX_NAME].split())
