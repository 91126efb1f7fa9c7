"""`/edit FILE instruction`: how a model is asked to change a whole file, and what becomes of its answer."""

from dataclasses import dataclass

from paceline.chat.edits.changes import Change
from paceline.chat.edits.shape import BOM
from paceline.chat.edits.whole import lost, lost_note
from paceline.chat.hidden import warned
from paceline.client.events import Message
from paceline.errors import InputError
from paceline.prompts import rewriting, rewritten
from paceline.prompts.context import language
from paceline.prompts.rewriting import Part

LARGEST = 24_000  # characters of a file; more are not written anew in a time that anybody waits
SPARE, MOST_TOKENS = 512, 8192  # tokens of an answer beyond one for each character; and of any answer


@dataclass(frozen=True)
class Instruction:
    """A wish for one file, ready to be asked."""

    path: str
    text: str  # the file's, exactly
    wish: str
    messages: tuple[Message, ...]
    original: str  # what the answer reproduces with changes: Options.original
    max_tokens: int  # of the answer: enough for the file

    @property
    def part(self) -> Part:
        """The file as what is to be changed."""
        return _part(self.path, self.text)


def instruction(path: str, text: str, wish: str) -> Instruction:
    """How to ask. Raises InputError where nothing is wished, or the file is too long to be written anew."""
    if not wish.strip():
        raise InputError("it is not said what to change", "for example: /edit app.py rename x to y")
    if len(text) > LARGEST:
        raise InputError(
            f"{path} has {len(text)} characters; files of up to {LARGEST} can be edited as a whole",
            "attach it and ask for a search/replace block instead",
        )
    part = _part(path, text)
    question = rewriting.ask(part, wish)
    messages = (Message("system", question.system), Message("user", question.user))
    return Instruction(path, text, wish, messages, part.shown, min(MOST_TOKENS, SPARE + len(part.shown)))


def is_complete(asked: Instruction, answer: str) -> bool:
    """Whether the answer so far has all of the file, so that only explanations could follow."""
    return rewritten.is_complete(answer, asked.part)


def change_of(asked: Instruction, answer: str, *, cut: bool = False) -> Change | None:
    """What the answer makes of the file; None: it has no code.

    cut: the answer was stopped, or ended at the limit of tokens, so that the rest of the file is missing.
    """
    mark = BOM if asked.text.startswith(BOM) else ""
    found = rewritten.replacement(answer, asked.part)
    if found is None:
        return None
    after = mark + found
    notes = list[str]()
    if cut:
        notes.append("the answer was cut, so the end of the file is missing")
    if gone := lost(asked.text, after, language(asked.path)):
        notes.append(lost_note(gone))
    return warned(Change(asked.path, asked.text, after, "whole", not notes, tuple(notes)))


def _part(path: str, text: str) -> Part:
    return Part("", text.removeprefix(BOM), "", language(path), path)
