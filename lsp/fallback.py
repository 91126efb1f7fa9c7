"""Suggestions in the list of completions (textDocument/completion), for editors that have no inline completion."""

import itertools
import unicodedata
from collections.abc import Sequence
from typing import Protocol

from lsprotocol import types

from paceline.lsp.commands import ACCEPT
from paceline.lsp.documents import Document
from paceline.prompts.lines import is_word, line_starts, normalise

LONGEST_LABEL = 72  # characters; editors cut what is longer themselves, some of them in the middle
LONGEST_WORD = 64  # characters before the cursor that are taken for the word that is being typed
# What a person types right before they want to see something; a word's own characters always ask.
TRIGGERS = (".", "(", "[", "{", " ", "=", ",", ":", '"', "'", "/", "\n")
OPTIONS = types.CompletionOptions(trigger_characters=TRIGGERS, resolve_provider=False)
# Kinds are icons. Not Text: some editors hide whatever a server gives them as that. Not Snippet: it is sorted last
# by some, and invites others to look for placeholders.
KIND = types.CompletionItemKind.Value
_JOINERS = "\u200c\u200d"  # stand within words of Persian and of Indian languages


class Offered(Protocol):
    """A suggestion that is in front of the person."""

    @property
    def number(self) -> int:
        """Counts suggestions."""
        ...

    @property
    def text(self) -> str:
        """What it inserts."""
        ...


def completion_list(items: Sequence[types.CompletionItem]) -> types.CompletionList:
    """An answer that the editor asks for again with the next key: typing on changes what is suggested."""
    return types.CompletionList(is_incomplete=True, items=list(items))


def item(offered: Offered, document: Document, position: types.Position) -> types.CompletionItem:
    """The suggestion as an entry of the list, above all others.

    It replaces the word being typed by that word and the suggestion, as editors do that by themselves where they
    ignore an edit's range; and it is filtered by the text that it makes, so it stays while the person types just that.
    """
    cursor = document.offset(position)
    word = word_before(document.text[max(0, cursor - LONGEST_WORD) : cursor])
    whole = word + offered.text
    return types.CompletionItem(
        label=label(whole),
        kind=KIND,
        detail="Paceline",
        documentation=types.MarkupContent(types.MarkupKind.Markdown, _preview(whole, document.language)),
        preselect=True,
        sort_text="\x20",  # before everything that can be seen; an empty one would count as missing
        filter_text=filter_text(whole),
        insert_text=whole,
        insert_text_format=types.InsertTextFormat.PlainText,  # a "$1" in code is code
        insert_text_mode=types.InsertTextMode.AsIs,  # its lines are indented already
        text_edit=types.TextEdit(document.range(cursor - len(word), cursor), whole),
        command=types.Command("Accept", ACCEPT, arguments=[offered.number]),
    )


def word_before(text: str) -> str:
    """The word that the text ends in, "" if it ends in none."""
    begin = len(text)
    while begin and (is_word(text[begin - 1]) or _continues(text[begin - 1])):
        begin -= 1
    while begin < len(text) and not is_word(text[begin]):  # its first letter is too far away
        begin += 1
    return text[begin:]


def _continues(char: str) -> bool:
    """Whether a character is a part of the one before it."""
    return char != "" and (char in _JOINERS or unicodedata.category(char).startswith("M"))


def label(text: str) -> str:
    """One line for the list: the first line that has text, and how many more there are."""
    lines = normalise(text).split("\n")
    at = next((at for at, line in enumerate(lines) if line.strip()), 0)
    shown = ("↵ " if at else "") + " ".join(lines[at].split())
    more = sum(bool(line.strip()) for line in lines[at + 1 :])
    end = f" … +{more} line{'s' * (more != 1)}" if more else ""
    room = LONGEST_LABEL - len(end)
    return (shown if len(shown) <= room else shown[: room - 1].rstrip() + "…") + end


def filter_text(text: str) -> str:
    """What the word being typed is compared with: the suggestion's first line that has text."""
    return next((line.strip() for line in normalise(text).split("\n") if line.strip()), text)


def first_word(text: str) -> str:
    """The beginning of a suggestion up to the end of a word or of a run of marks; all of it if it has neither.

    Accents and joiners are a part of the character before them.
    """
    at = begin = len(text) - len(text.lstrip(" \t\r\n"))
    word = is_word(text[begin : begin + 1]) or _continues(text[begin : begin + 1])
    while at < len(text) and not text[at].isspace() and (is_word(text[at]) == word or _continues(text[at])):
        at += 1
    return text[: max(at, begin + 1)]


def first_line(text: str) -> str:
    """The beginning of a suggestion up to the end of the first line that has text, without that line's ending."""
    starts = [0, *line_starts(text), len(text)]
    for begin, end in itertools.pairwise(starts):
        if text[begin:end].strip():
            return text[:end].rstrip("\r\n")
    return text


def _preview(text: str, language: str) -> str:
    from paceline.prompts.rewriting import fence_for  # needed here only, and not before there is something to show

    fence = fence_for(text)
    return f"{fence}{language}\n{normalise(text).strip(chr(10))}\n{fence}"
