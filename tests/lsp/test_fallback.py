"""Suggestions as entries of the list of completions: what is shown, filtered by, and inserted."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from paceline.lsp.documents import Document
from paceline.lsp.fallback import (
    LONGEST_LABEL,
    OPTIONS,
    completion_list,
    filter_text,
    first_line,
    first_word,
    item,
    label,
    word_before,
)


@dataclass(frozen=True)
class Offered:
    text: str
    number: int = 7


def made(before: str, text: str, after: str = "", encoding: str = "utf-16"):
    """The entry for a suggestion between two texts, and the document."""
    document = Document("file:///a.py", "python", 1, before + after, encoding)
    return item(Offered(text), document, document.position(len(before))), document


def accepted(before: str, text: str, after: str = "", encoding: str = "utf-16") -> str:
    """The document once an editor has made the entry's edit."""
    found, document = made(before, text, after, encoding)
    edit = found.text_edit
    document.apply(types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text))
    return document.text


# --- what is inserted -------------------------------------------------------------------------------------------------

PLACES = [("x = ret", "urn_value", ""), ("x = ", "1\n", "y"), ("", "a", ""), ("f(", "a)", "\n"), ("é_9", "x", " z")]


@pytest.mark.parametrize(("before", "text", "after"), PLACES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_accepting_an_entry_inserts_the_suggestion_at_the_cursor(before, text, after, encoding):
    assert accepted(f"🦆 {before}", text, after, encoding) == f"🦆 {before}{text}{after}"


@pytest.mark.parametrize(("before", "text", "after"), PLACES)
def test_editors_that_replace_the_word_by_themselves_get_the_same(before, text, after):
    found, _ = made(before, text, after)
    word = word_before(before)
    assert before[: len(before) - len(word)] + found.insert_text == before + text


def test_the_edit_stays_on_the_cursors_line_and_ends_at_the_cursor():
    found, document = made("first\nsec", "ond\nthird\n")
    assert found.text_edit.range == types.Range(types.Position(1, 0), types.Position(1, 3))
    assert found.text_edit.range.end == document.position(len("first\nsec"))


def test_nothing_in_a_text_is_a_placeholder_and_its_lines_are_not_indented_again():
    found, _ = made("", "echo $1 ${2:x}\n    done")
    assert found.insert_text_format == types.InsertTextFormat.PlainText
    assert found.insert_text_mode == types.InsertTextMode.AsIs
    assert found.text_edit.new_text == "echo $1 ${2:x}\n    done"


def test_line_endings_and_tabs_are_inserted_as_they_are():
    assert accepted("if x:", "\r\n\tpass") == "if x:\r\n\tpass"


def test_accepting_is_told_to_the_server():
    assert made("", "a")[0].command == types.Command("Accept", "paceline.accept", arguments=[7])


# --- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("return a + b", "return a + b"),
        ("return a + b\n", "return a + b"),
        ("if a:\n    b", "if a: … +1 line"),
        ("if a:\r\n    b\r\n\r\n    c\r\n", "if a: … +2 lines"),
        ("\n    b = 1", "↵ b = 1"),
        ("\n\n\tb = 1\n\tc", "↵ b = 1 … +1 line"),
        ("  a\tb", "a b"),
        ("", ""),
    ],
)
def test_a_label_is_the_first_line_with_text_and_how_many_more_there_are(text, shown):
    assert label(text) == shown


@settings(deadline=None)
@given(st.text("ab \n\r\t🦆(", max_size=300))
def test_a_label_is_one_short_line(text):
    shown = label(text)
    assert len(shown) <= LONGEST_LABEL and len(shown.split("\n")) == 1 and "\t" not in shown and "\r" not in shown


def test_a_long_line_is_cut_and_how_many_more_there_are_stays_readable():
    assert label("x" * 500 + "\ny\nz").endswith("x… … +2 lines")


def test_the_whole_text_can_be_read_beside_the_list():
    found, _ = made("def f():\n    ret", "urn `a`\n```\n")
    shown = found.documentation
    assert shown.kind == types.MarkupKind.Markdown
    assert shown.value == "````python\nreturn `a`\n```\n````"


# --- how it is found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["x = ", "x = re", "x = return", "x."])
def test_an_entry_begins_with_what_is_being_typed(before):
    found, _ = made(before, "urn_all(1)\nmore")
    word = word_before(before)
    assert found.filter_text == word + "urn_all(1)"


def test_an_entry_that_begins_with_a_line_end_is_filtered_by_what_follows():
    assert filter_text("\n    return 1\n") == "return 1"
    assert filter_text("\n") == "\n"


def test_it_comes_first_and_is_chosen():
    found, _ = made("", "a")
    assert found.preselect and found.sort_text and found.sort_text < "!"


def test_some_editors_hide_entries_of_the_kind_text():
    assert made("", "a")[0].kind not in (types.CompletionItemKind.Text, types.CompletionItemKind.Snippet)


def test_the_list_is_asked_for_again_with_the_next_key():
    assert completion_list([]).is_incomplete and completion_list([]).items == []
    assert OPTIONS.trigger_characters and not OPTIONS.resolve_provider


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a.bc", "bc"),
        ("a.", ""),
        ("", ""),
        ("é9_", "é9_"),
        ("a b", "b"),
        ("x = cafe\u0301", "cafe\u0301"),
        ("x.हिन्दी", "हिन्दी"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u0301te", "te"),
        ("👩\u200d👩 a", "a"),
        ("👩\u200d👩", ""),
    ],
)
def test_the_word_before_the_cursor(text, word):
    assert word_before(text) == word


# --- parts of it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("return a", "return"),
        (" a + b", " a"),
        (" + b", " +"),
        ("self.x", "self"),
        (".x", "."),
        ("()\n", "()"),
        ("\n    b = 1", "\n    b"),
        ("\r\n\r\n\tb c", "\r\n\r\n\tb"),
        ("   ", "   "),
        ("", ""),
        ("cafe\u0301s + b", "cafe\u0301s"),
        ("e\u0301", "e\u0301"),
        ("\u0301te = 1", "\u0301te"),
        ("हिन्दी = 1", "हिन्दी"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 = 1", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("1\ufe0f\u20e3 a", "1\ufe0f\u20e3"),
        ("👩\u200d👩\u200d👧a", "👩\u200d👩\u200d👧"),
    ],
)
def test_the_first_word_of_a_suggestion(text, part):
    assert first_word(text) == part


@pytest.mark.parametrize(
    ("text", "part"),
    [("a\nb", "a"), ("\n  b = 1\nc", "\n  b = 1"), ("\r\n\r\nb\r\n", "\r\n\r\nb"), ("a", "a"), ("\n", "\n"), ("", "")],
)
def test_the_first_line_of_a_suggestion(text, part):
    assert first_line(text) == part


@settings(deadline=None)
@given(st.text("ab. \n\r\t(\f\u0301\u200dदि👩", max_size=40))
def test_taking_parts_again_and_again_gives_the_whole(text):
    for take in (first_word, first_line):
        rest, taken = text, ""
        while rest:
            part = take(rest)
            assert part and rest.startswith(part)
            taken, rest = taken + part, rest[len(part) :]
        assert taken == text
