"""Exported conversations: complete, harmless wherever they are opened, and JSON can be read again."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import MappingProxyType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from paceline.chat import export, page
from paceline.chat.turns import Attached, Run, Session, Turn
from paceline.errors import InputError
from paceline.text import strip_controls
from support.written_turns import TEXTS, TURNS

SESSION = Session("abcd2345", "Sorting", "/work/x", 1.7e9, 1.7e9, "Be brief.", 2)
EVIL = "\x1b]52;c;ZXZpbA==\x07\x9b2J\u202e<script>alert(1)</script>&#x202e;&#27;[2J"
MARKS = st.text(alphabet="`~<>!-#*[]()&;x \n\"'/=:", max_size=40)


def conversation(question: str = "How?", reply: str = "So.", **more) -> tuple[Turn, Turn]:
    return (Turn(1, None, "user", question, created=1.7e9), Turn(2, 1, "assistant", reply, model="tiny", **more))


def test_an_answer_is_headed_by_what_people_call_its_model_and_json_keeps_the_id():
    id = "qwen2.5-coder-1.5b-instruct-q4_k_m"
    question, answer = conversation()
    turns = question, replace(answer, model=id)
    assert "\n## Qwen2.5-Coder 1.5B\n" in export.markdown(SESSION, turns).replace("\\", "")
    assert "<h2>Qwen2.5-Coder 1.5B</h2>" in export.html(SESSION, turns)
    assert f'"model": "{id}"' in export.json_(SESSION, turns)
    unnamed = question, replace(answer, model="")
    assert "## Assistant" in export.markdown(SESSION, unnamed)


def numbered(turns: list[Turn]) -> tuple[Turn, ...]:
    return tuple(replace(turn, id=at + 1, parent=at or None) for at, turn in enumerate(turns))


class Outline(HTMLParser):
    """What a browser makes of a page: elements that are open at the end, those that were seen, texts."""

    EMPTY = {"meta", "br", "hr"}  # noqa: RUF012

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.targets: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets += [value for name, value in attrs if name in ("href", "src")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


SHOWN = {
    *("html", "head", "meta", "title", "style", "body", "header", "section", "details", "summary", "div"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "pre", "code", "span", "a", "em", "strong", "s", "br", "hr"),
    *("ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
}


@settings(max_examples=100, deadline=None)
@given(st.lists(TURNS, max_size=3), TEXTS | MARKS, MARKS)
def test_a_page_is_whole_and_has_nothing_active_whatever_is_in_it(turns, text, marks):
    turns = numbered([*turns, replace(conversation(marks)[0], attached=(Attached("file", marks, text, marks),))])
    outline = Outline(shown := export.html(replace(SESSION, title=text, workspace=marks, system=text), turns))
    assert outline.open == []
    assert outline.seen <= SHOWN
    assert not {name for name in outline.attributes if name.startswith("on") or name == "src"}
    assert shown == strip_controls(shown)
    shown.encode()


@settings(max_examples=100, deadline=None)
@given(st.lists(TURNS, max_size=3), TEXTS)
def test_markdown_can_be_printed_and_written_whatever_is_in_it(turns, text):
    shown = export.markdown(replace(SESSION, title=text, workspace=text, system=text), numbered(turns))
    assert shown == strip_controls(shown)
    shown.encode()


@settings(max_examples=150, deadline=None)
@given(MARKS | st.text(alphabet="`~ \n<!-x", max_size=30), MARKS)
@example("```py\nx = 1", "")
@example("~~~\n```\n", "")
@example("<!-- never ended", "")
@example("  <SCRIPT>\nx", "")
def test_no_message_or_attachment_swallows_what_follows_it(text, name):
    first = replace(conversation(text)[0], attached=(Attached("paste", name, text),))
    last = Turn(2, 1, "assistant", "the last words")
    tokens = MarkdownIt("commonmark").parse(export.markdown(replace(SESSION, system=text), (first, last)))
    assert tokens[-2].content == "the last words"
    assert [token.content for token in tokens if token.type == "inline"].count("Assistant") >= 1


def test_a_page_shows_evil_texts_as_texts():
    turns = conversation(EVIL, EVIL, state="failed", error=EVIL)
    turns = (replace(turns[0], attached=(Attached("output", EVIL, EVIL, cut=EVIL),)), replace(turns[1], model=EVIL))
    shown = export.html(replace(SESSION, title=EVIL, system=EVIL), turns)
    assert "<script" not in shown
    assert not set(shown) & set("\x1b\x07\x9b\u202e")
    assert Outline(shown).text.count("<script>alert(1)</script>") >= 8


def test_a_page_fetches_nothing_and_follows_no_script():
    reply = "![x](http://a.example/p.png) [y](javascript:alert(1)) [z](https://b.example) <img src=http://c.example>"
    shown = export.html(SESSION, conversation(reply=reply))
    outline = Outline(shown)
    assert "img" not in outline.seen
    assert outline.targets == ["http://a.example/p.png", "https://b.example"]
    assert "default-src 'none'" in shown
    assert not re.search(r"url\(|@import|<link", shown)


def test_a_page_has_the_whole_conversation_with_coloured_code():
    reply = "Use **sorted**:\n\n```python\nfor x in sorted(y):\n    pass\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    turns = conversation("How do I\nsort?", reply, state="length")
    turns = (replace(turns[0], attached=(Attached("file", "a.py", "y = [3]\n", cut="20 lines"),)), turns[1])
    shown = export.html(SESSION, turns)
    for part in ("<h1>Sorting</h1>", "<strong>sorted</strong>", '<span class="k">for</span>', "<td>1</td>"):
        assert part in shown
    for words in ("How do I", "a.py (20 lines)", "y = [3]", "Be brief.", "tiny", "cut at the token limit", "abcd2345"):
        assert words in Outline(shown).text
    assert "prefers-color-scheme: dark" in shown


def test_code_comes_through_colouring_as_it_was():
    for language in ("python", "c", "html", "nosuchlanguage", "", 'a"b<c'):
        code = "\n\n  if (a < b && c > 'd') { return \"e\"; }\t# x\n\n"
        outline = Outline(page._code(code, language))
        assert outline.text == code


def test_huge_texts_are_shown_plainly():
    outline = Outline(export.html(SESSION, conversation("*x* " * 100_000, "```c\n" + "int x;\n" * 20_000 + "```")))
    assert "*x* *x*" in outline.text
    assert outline.text.count("int x;") == 20_000


def test_markdown_has_the_whole_conversation():
    turns = conversation("How?", "Like this:\n\n```py\nsorted(x)\n```", state="stopped")
    turns = (replace(turns[0], attached=(Attached("file", "a.py", "x = '''```'''\n", "/work/a.py"),)), turns[1])
    assert export.markdown(replace(SESSION, title="Sort *it*"), turns) == (
        "# Sort \\*it\\*\n\nsession abcd2345 · /work/x · 2023-11-14 22:13 UTC\n\n"
        "<details><summary>System prompt</summary>\n\n```\nBe brief.\n```\n\n</details>\n\n"
        "## You\n\n<details><summary>a.py</summary>\n\n````python\nx = '''```'''\n````\n\n</details>\n\nHow?\n\n"
        "## tiny\n\nLike this:\n\n```py\nsorted(x)\n```\n\n*stopped*\n"
    )


def test_what_the_model_was_not_shown_is_said():
    turns = (*conversation(), Turn(3, 2, "user", "And?", skipped=2, summary="They talked."))
    for shown in (export.markdown(SESSION, turns), Outline(export.html(SESSION, turns)).text):
        assert "the first 2 messages were shown to the model as this summary" in shown
        assert "They talked." in shown
    assert "not shown to the model" in export.markdown(SESSION, (replace(turns[2], summary=""),))


def without_pairs(value):
    """Lone halves that stand side by side become the character that they are in JSON, too."""
    return json.loads(json.dumps(value))


@settings(max_examples=150, deadline=None)
@given(turns=st.lists(TURNS, max_size=4), title=TEXTS, data=st.data())
def test_json_is_read_again_as_it_was(turns, title, data):
    turns = tuple(replace(turn, skipped=min(turn.skipped, len(turns))) for turn in numbered(turns))
    if turns:
        turns = (*turns, replace(turns[0], id=99, parent=data.draw(st.sampled_from([None, *(t.id for t in turns)]))))
    session = replace(SESSION, title=title, leaf=99 if turns else None)
    text = export.json_(session, turns)
    assert text == strip_controls(text)
    text.encode()
    again, them = export.from_json(text)
    assert again == replace(session, title=without_pairs(title))
    for was, now in zip(turns, them, strict=True):
        plain = replace(
            now, attached=was.attached, timings=was.timings, text=was.text, model=was.model, error=was.error
        )
        assert replace(plain, runs=was.runs, summary=was.summary) == was
        assert now.text == without_pairs(was.text)
        assert dict(now.timings) == without_pairs(dict(was.timings))
        assert [each.text for each in now.attached] == [without_pairs(each.text) for each in was.attached]
        assert [run.characters for run in now.runs] == [run.characters for run in was.runs]


def test_timings_of_any_kind_are_written():
    timings = MappingProxyType({"a": float("nan"), "b": (1, {"c": float("inf")}), "d": object})
    _, turns = export.from_json(export.json_(SESSION, conversation(timings=timings)))
    assert turns[1].timings["a"] is None
    assert turns[1].timings["b"] == [1, {"c": None}]


def exported(**changes) -> str:
    """JSON that is right but for one thing in its second turn or its session."""
    data = json.loads(export.json_(SESSION, conversation(runs=(Run("draft", 3),))))
    for path, value in changes.items():
        *above, last = path.split("__")
        place = data
        for step in above:
            place = place[int(step) if step.isdigit() else step]
        place[int(last) if last.isdigit() else last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    "text",
    [
        *("", "nonsense", "[]", "{}", "null", '{"format": "paceline-session"}', "[" * 100_000),
        exported(version=2),
        exported(session=None),
        exported(session__leaf=7),
        exported(session__created="yesterday"),
        exported(session__created=float("nan")),
        exported(session__created=float("inf")),
        exported(turns={}),
        exported(turns__1__parent=2),
        exported(turns__1__parent=9),
        exported(turns__1__id=1),
        exported(turns__1__role="system"),
        exported(turns__1__state="odd"),
        exported(turns__1__text=None),
        exported(turns__1__runs=[["draft", -1]]),
        exported(turns__1__runs=[["draft"]]),
        exported(turns__1__attached=[{"kind": "file"}]),
        exported(turns__1__skipped=-1),
        exported(turns__1__skipped=10**30),
        exported(turns__1__created=10**400),
    ],
)
def test_other_json_is_refused_with_a_reason(text):
    with pytest.raises(InputError) as error:
        export.from_json(text)
    assert "\n" not in error.value.message
    assert error.value.hint


def test_numbers_too_large_for_a_time_are_no_reason_to_fail():
    session, turns = export.from_json(exported(session__created=1e300, turns__1__created=-1e300))
    assert export.markdown(session, turns) and export.html(session, turns)


@given(TEXTS | st.text(min_size=100, max_size=300), st.sampled_from(["md", ".html", "json"]))
def test_any_title_gives_a_file_name_that_can_be_used(title, suffix):
    name = export.file_name(replace(SESSION, title=title), suffix)
    assert re.fullmatch(r"\w[\w.-]*", name)
    assert name.endswith(f".{suffix.lstrip('.')}")
    assert name.count(".") == 1
    assert len(name.encode()) <= export.NAME_BYTES
    other = export.file_name(replace(SESSION, title=title), suffix, taken=name.__eq__)
    assert other != name or name.startswith("abcd2345.")
    assert other.endswith(f"abcd2345.{suffix.lstrip('.')}")
    assert len(other.encode()) <= export.NAME_BYTES


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("How do I sort a list?", "How-do-I-sort-a-list.md"),
        ("What does utils.py-main do?", "What-does-utils-py-main-do.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("C:\\con", "C-con.md"),
        ("日本語 👍", "日本語.md"),
        ("-rf .", "rf.md"),
        ("", "abcd2345.md"),
    ],
)
def test_a_file_is_named_after_the_title(title, name):
    assert export.file_name(replace(SESSION, title=title), "md") == name


def test_an_id_from_a_file_leads_nowhere():
    assert export.file_name(replace(SESSION, title="", id="../../x"), "md") == "x.md"
    assert export.file_name(replace(SESSION, title="", id="/"), "md") == "session.md"
