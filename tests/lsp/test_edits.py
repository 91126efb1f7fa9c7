"""Edit with Paceline…: an editor of the tests' own, and an engine that says what a test gives it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError

from paceline.client.events import End, Loading, Options, Progress, Text
from paceline.errors import EngineError, InputError
from paceline.lsp.documents import Document
from paceline.lsp.edit_task import LARGEST, moved, wanted_of
from paceline.lsp.edits import Edits

URI = "file:///work/a.py"
SOURCE = "import x\n\n\ndef f(a):\n    b = a\n    return b\n\n\ndef g():\n    pass\n"
WHOLE = ("file:///work/a.py", {"start": {"line": 3, "character": 0}, "end": {"line": 6, "character": 0}}, 1)
RENAMED = "```python\ndef f(c):\n    b = c\n    return b\n```\n"


def capabilities(*, documents: bool = True, annotations: bool = True, literals: bool = True):
    edit = types.WorkspaceEditClientCapabilities(
        document_changes=documents,
        change_annotation_support=types.ChangeAnnotationsSupportOptions() if annotations else None,
    )
    kinds = types.ClientCodeActionKindOptions(value_set=[])
    action = types.CodeActionClientCapabilities(
        code_action_literal_support=types.ClientCodeActionLiteralOptions(kinds) if literals else None
    )
    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(workspace_edit=edit),
        text_document=types.TextDocumentClientCapabilities(code_action=action),
    )


@dataclass
class Bar:
    title: str
    cancel: object
    reports: list = field(default_factory=list)
    ended: int = 0

    def report(self, message, percentage=None):
        self.reports.append((message, percentage))

    def end(self):
        self.ended += 1


@dataclass
class Editor:
    """Holds documents, and does what it is told."""

    capabilities: types.ClientCapabilities = field(default_factory=capabilities)
    documents: dict = field(default_factory=dict)
    shown: list = field(default_factory=list)
    bars: list = field(default_factory=list)
    edits: list = field(default_factory=list)
    refuses: str | None = None
    declines: bool = False

    def open(self, text, uri=URI, version=1, encoding="utf-16"):
        self.documents[uri] = Document(uri, "python", version, text, encoding)

    def type(self, start, end, text, uri=URI):
        document = self.documents[uri]
        span = document.range(start, end)
        document.apply(types.TextDocumentContentChangePartial(range=span, text=text))
        document.version += 1

    def document(self, uri):
        return self.documents.get(uri)

    def name(self, uri):
        return uri.rpartition("/")[2]

    def show(self, kind, text):
        self.shown.append((kind, text))

    async def progress(self, title, cancel):
        self.bars.append(Bar(title, cancel))
        return self.bars[-1]

    async def apply(self, params):
        if self.refuses is not None or self.declines:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason=self.refuses)
        edit = params.edit
        self.edits.append(edit)
        for change in edit.document_changes or []:
            document = self.documents[change.text_document.uri]
            assert change.text_document.version == document.version
            self._make(document, change.edits)
        for uri, edits in (edit.changes or {}).items():
            self._make(self.documents[uri], edits)
        return types.ApplyWorkspaceEditResult(applied=True)

    def _make(self, document, edits):
        for edit in reversed(edits):
            self.type(document.offset(edit.range.start), document.offset(edit.range.end), edit.new_text, document.uri)

    @property
    def text(self):
        return self.documents[URI].text


@dataclass
class Engine:
    """Says the answers given, one for each question, in pieces of five characters; waits where it is told to."""

    answers: list
    asked: list = field(default_factory=list)
    options: list = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    left: int = 0  # answers that were closed before their end
    before: tuple = ()
    reason: str = "stop"

    def __post_init__(self):
        self.gate.set()

    async def chat(self, messages, options: Options) -> AsyncIterator:
        self.asked.append(messages)
        self.options.append(options)
        answer, whole = self.answers.pop(0), False
        try:
            await self.gate.wait()
            if isinstance(answer, Exception):
                raise answer
            for event in self.before:
                yield event
            for at in range(0, len(answer), 5):
                yield Text(answer[at : at + 5])
            yield End(self.reason)
            whole = True
        finally:
            self.left += not whole


@pytest.fixture
def editor():
    editor = Editor()
    editor.open(SOURCE)
    return editor


def edit(editor: Editor, *answers, arguments=None, **engine) -> Engine:
    """Run the command once to its end."""

    async def run() -> Engine:
        made = Engine(list(answers), **engine)
        await Edits(made, editor).begin(arguments or [*WHOLE, "rename a to c"])
        return made

    return asyncio.run(run())


# --- the way of an edit -----------------------------------------------------------------------------------------------


def test_the_selection_is_changed_as_the_instruction_says(editor):
    engine = edit(editor, RENAMED)
    assert editor.text == SOURCE.replace("(a)", "(c)").replace("b = a", "b = c")
    assert "rename a to c" in engine.asked[0][1].content and editor.shown == []


def test_the_selection_is_the_draft_of_the_answer_and_nothing_is_left_to_chance(editor):
    options = edit(editor, RENAMED).options[0]
    assert options.original == "def f(a):\n    b = a\n    return b\n" and options.temperature == 0.0


def test_only_lines_that_differ_are_touched(editor):
    edit(editor, RENAMED)
    (change,) = editor.edits[0].document_changes
    assert [(each.range.start.line, each.range.end.line) for each in change.edits] == [(3, 5)]


def test_a_person_is_asked_to_confirm_where_the_editor_can_do_that(editor):
    edit(editor, RENAMED)
    (note,) = editor.edits[0].change_annotations.values()
    assert note.needs_confirmation and "rename a to c" in note.label
    (change,) = editor.edits[0].document_changes
    assert {each.annotation_id for each in change.edits} == set(editor.edits[0].change_annotations)


def test_without_annotations_the_edit_is_for_one_version_only(editor):
    editor.capabilities = capabilities(annotations=False)
    edit(editor, RENAMED)
    assert editor.edits[0].change_annotations is None
    assert editor.edits[0].document_changes[0].text_document.version == 1


@pytest.mark.parametrize("known", [capabilities(documents=False), types.ClientCapabilities()])
def test_editors_that_know_neither_get_plain_changes(editor, known):
    editor.capabilities = known
    edit(editor, RENAMED)
    assert list(editor.edits[0].changes) == [URI] and "def f(c)" in editor.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_right_in_every_encoding(editor, encoding):
    source = "x = '🦆' + y  # 🦆\r\nz = '🦆' + y\r\n"
    editor.open(source, encoding=encoding)
    span = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 99}}
    edit(editor, "```\nz = '🦆' + x\n```", arguments=[URI, span, 1, "y is x"])
    assert editor.text == source.replace("z = '🦆' + y", "z = '🦆' + x")


def test_line_endings_stay_those_of_the_document(editor):
    editor.open(SOURCE.replace("\n", "\r\n"))
    edit(editor, RENAMED)
    assert editor.text == SOURCE.replace("(a)", "(c)").replace("b = a", "b = c").replace("\n", "\r\n")


def test_what_follows_the_code_block_is_not_waited_for(editor):
    engine = edit(editor, RENAMED + "I have renamed the parameter. " * 20)
    assert engine.left == 1 and "def f(c)" in editor.text


def test_nothing_to_change_is_told(editor):
    same = "```python\ndef f(a):\n    b = a\n    return b\n```"
    edit(editor, same, same)
    assert editor.edits == [] and editor.shown[0][0] == "info" and "nothing to change" in editor.shown[0][1]


def test_an_empty_block_takes_the_lines_out(editor):
    edit(editor, "```python\n```\n")
    assert "def f" not in editor.text and "def g" in editor.text


def test_surroundings_are_shown_without_what_no_model_is_to_see():
    async def run():
        editor = Editor()
        editor.open("KEY = 'hunter2'\n" + SOURCE)
        engine = Engine([RENAMED])
        span = {"start": {"line": 4, "character": 0}, "end": {"line": 7, "character": 0}}
        edits = Edits(engine, editor, redact=lambda text: text.replace("hunter2", "*******"))
        await edits.begin([URI, span, 1, "rename a to c"])
        return engine, editor

    engine, editor = asyncio.run(run())
    asked = "".join(message.content for message in engine.asked[0])
    assert "hunter2" not in asked and "KEY" in asked
    assert "hunter2" in editor.text and "def f(c)" in editor.text


def test_an_answer_that_takes_up_the_lines_around_is_stopped_and_asked_for_without_them(editor):
    around = "import collections\nimport functools\nimport itertools\n"
    editor.open(around + SOURCE)
    span = {"start": {"line": 6, "character": 0}, "end": {"line": 9, "character": 0}}
    engine = edit(
        editor, f"```python\n{around}class Other: pass\n```", RENAMED, arguments=[URI, span, 1, "rename a to c"]
    )
    assert editor.text == around + DONE
    assert engine.left == 2 and "collections" in engine.asked[0][0].content
    assert "collections" not in engine.asked[1][0].content


def test_a_model_that_copies_the_part_over_all_that_it_read_is_asked_again_without_that(editor):
    engine = edit(editor, "```python\ndef f(a):\n    b = a\n    return b\n```", RENAMED)
    assert editor.text == DONE
    assert ["import x" in messages[0].content for messages in engine.asked] == [True, False]


# --- the instruction --------------------------------------------------------------------------------------------------


def test_a_comment_says_what_is_wanted_and_goes_with_the_edit(editor):
    editor.open(SOURCE.replace("def f(a)", "# paceline: rename a to c\ndef f(a)"))
    span = {"start": {"line": 4, "character": 0}, "end": {"line": 7, "character": 0}}
    engine = edit(editor, RENAMED, arguments=[URI, span, 1])
    assert "rename a to c" in engine.asked[0][1].content and "paceline:" not in engine.asked[0][1].content
    assert editor.text == SOURCE.replace("(a)", "(c)").replace("b = a", "b = c")


def test_without_an_instruction_the_person_learns_how_to_give_one(editor):
    engine = edit(editor, RENAMED, arguments=WHOLE)
    assert engine.asked == [] and "paceline: rename x to y" in editor.shown[0][1]


def test_an_instruction_leaves_comments_alone(editor):
    editor.open(SOURCE.replace("def f(a)", "# paceline: keep me\ndef f(a)"))
    span = {"start": {"line": 4, "character": 0}, "end": {"line": 7, "character": 0}}
    edit(editor, RENAMED, arguments=[URI, span, 1, "rename a to c"])
    assert "# paceline: keep me\ndef f(c)" in editor.text


@pytest.mark.parametrize("arguments", [(), (URI,), (URI, {"start": 1}, 1, "x"), (1, WHOLE[1]), (URI, "3:0-6:0")])
def test_wrong_arguments_are_told_and_nothing_is_computed(editor, arguments):
    engine = edit(editor, RENAMED, arguments=list(arguments) or [None])
    assert engine.asked == [] and [kind for kind, _ in editor.shown] == ["error"]


def test_version_and_instruction_may_be_missing():
    assert wanted_of(WHOLE[:2]) == wanted_of([*WHOLE[:2], None, None])
    assert wanted_of([*WHOLE[:2], 3, " do it "]).wish == "do it"


def test_a_selection_of_another_version_is_refused(editor):
    engine = edit(editor, RENAMED, arguments=[URI, WHOLE[1], 0, "x"])
    assert engine.asked == [] and "select it again" in editor.shown[0][1]


def test_a_document_that_is_not_open_is_refused(editor):
    edit(editor, RENAMED, arguments=["file:///other", WHOLE[1], 1, "x"])
    assert "not open" in editor.shown[0][1]


def test_a_document_whose_text_is_not_known_is_refused_also_when_that_happens_meanwhile(editor):
    editor.document(URI).lost = True
    engine = edit(editor, RENAMED)
    assert engine.asked == [] and "could not be read" in editor.shown[0][1]
    editor.open(SOURCE)

    async def run() -> None:
        made = Engine([RENAMED])
        made.gate.clear()
        task = Edits(made, editor).begin([*WHOLE, "rename a to c"])
        await asyncio.sleep(0.01)
        editor.document(URI).lost = True
        made.gate.set()
        await task

    asyncio.run(run())
    assert editor.text == SOURCE and "could not be read" in editor.shown[1][1]


def test_a_selection_that_is_too_large_is_refused_with_the_limit(editor):
    editor.open("x = 1\n" * (LARGEST // 6 + 1))
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 99999, "character": 0}}
    engine = edit(editor, RENAMED, arguments=[URI, span, 1, "x"])
    assert engine.asked == [] and str(LARGEST) in editor.shown[0][1]


# --- what changes meanwhile -------------------------------------------------------------------------------------------


def meanwhile(editor: Editor, act) -> None:
    """An edit during which something happens."""

    async def run():
        engine = Engine([RENAMED])
        engine.gate.clear()
        task = Edits(engine, editor).begin([*WHOLE, "rename a to c"])
        while not engine.asked:
            await asyncio.sleep(0)
        act()
        engine.gate.set()
        await task

    asyncio.run(run())


DONE = SOURCE.replace("(a)", "(c)").replace("b = a", "b = c")


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [(0, 0, "# new\n"), (0, 9, ""), (len(SOURCE), len(SOURCE), "end\n"), (SOURCE.index("def g"), len(SOURCE), "")],
    ids=["lines before", "fewer lines before", "lines after", "fewer lines after"],
)
def test_an_edit_follows_its_lines_where_others_change(editor, start, end, text):
    meanwhile(editor, lambda: editor.type(start, end, text))
    expected = SOURCE[:start] + text + SOURCE[end:]
    assert editor.text == expected.replace("(a)", "(c)").replace("b = a", "b = c")
    assert editor.shown == []


def test_an_edit_follows_its_lines_where_others_change_on_both_sides(editor):
    def act():
        editor.type(len(SOURCE), len(SOURCE), "end\n")
        editor.type(0, 0, "begin\n")

    meanwhile(editor, act)
    assert editor.text == f"begin\n{DONE}end\n"


@pytest.mark.parametrize(
    "at", [SOURCE.index("b = a"), SOURCE.index("def f"), SOURCE.index("\n\n\ndef g")], ids=["in it", "at it", "its end"]
)
def test_lines_that_have_changed_themselves_are_left_alone(editor, at):
    meanwhile(editor, lambda: editor.type(at, at, "z"))
    assert editor.text == SOURCE[:at] + "z" + SOURCE[at:] and editor.edits == []
    assert "changed meanwhile" in editor.shown[0][1]


def test_a_document_that_was_closed_is_left_alone(editor):
    meanwhile(editor, editor.documents.clear)
    assert editor.edits == [] and "closed" in editor.shown[0][1]


def test_a_last_line_that_goes_on_has_changed_and_a_following_one_has_not():
    assert moved("a\nb", "a\nbc", 2, 3) is None
    assert moved("a\nb\n", "a\nb\nc", 2, 4) == 2
    assert moved("a\nb\nc\n", "a\nb\nxc\n", 2, 4) == 2
    assert moved("a\nb\n", "xa\nb\n", 0, 4) is None


def test_lines_of_which_there_are_several_by_now_are_not_guessed_at():
    assert moved("a\nb\n", "x\nb\nb\ny\n", 2, 4) is None
    assert moved("a\nb\nc\n", "x\nb\ny\n", 2, 4) == 2


def test_an_edit_that_the_editor_cannot_make_is_told_with_its_reason(editor):
    editor.refuses = "read only"
    edit(editor, RENAMED)
    assert "read only" in editor.shown[0][1]


def test_an_edit_that_the_editor_refuses_without_a_reason_is_told(editor):
    editor.refuses = ""
    edit(editor, RENAMED)
    assert "did not make the edit" in editor.shown[0][1]


def test_a_person_who_declines_needs_no_message(editor):
    editor.declines = True
    edit(editor, RENAMED)
    assert editor.shown == []


# --- while it is computed ---------------------------------------------------------------------------------------------


def test_progress_begins_with_the_instruction_tells_how_far_it_is_and_ends(editor):
    edit(editor, RENAMED, before=(Loading("loading the models"), Progress(10, 40)))
    (bar,) = editor.bars
    assert "rename a to c" in bar.title and bar.ended == 1
    assert bar.reports[0] == ("loading the models", None)
    assert ("reading, 10 of 40 tokens", 0) in bar.reports
    assert all(percentage is None or 0 <= percentage < 100 for _, percentage in bar.reports)


def test_cancelling_stops_the_computation_and_changes_nothing(editor):
    async def run():
        engine = Engine([RENAMED])
        engine.gate.clear()
        task = Edits(engine, editor).begin([*WHOLE, "rename a to c"])
        while not engine.asked:
            await asyncio.sleep(0)
        editor.bars[0].cancel()
        with suppress(asyncio.CancelledError):
            await task
        return engine

    engine = asyncio.run(run())
    assert engine.left == 1 and editor.bars[0].ended == 1
    assert editor.text == SOURCE and editor.shown == []


def test_all_of_them_can_be_stopped(editor):
    async def run():
        engine = Engine([RENAMED, RENAMED])
        engine.gate.clear()
        edits = Edits(engine, editor)
        tasks = [edits.begin([*WHOLE, "one"]), edits.begin([*WHOLE, "two"])]
        while len(engine.asked) < 2:
            await asyncio.sleep(0)
        edits.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        return engine

    assert asyncio.run(run()).left == 2


def test_several_edits_of_a_document_go_on_at_once(editor):
    async def run():
        engine = Engine([RENAMED, "```python\ndef g():\n    return 1\n```"])
        engine.gate.clear()
        edits = Edits(engine, editor)
        span = {"start": {"line": 8, "character": 0}, "end": {"line": 10, "character": 0}}
        tasks = [edits.begin([*WHOLE, "rename a to c"]), edits.begin([URI, span, 1, "return 1"])]
        while len(engine.asked) < 2:
            await asyncio.sleep(0)
        engine.gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert editor.text == DONE.replace("pass", "return 1") and editor.shown == []


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_failure_is_shown_with_its_cause_and_the_next_step(editor):
    edit(editor, EngineError("the daemon does not answer", "`paceline logs` says why"))
    assert editor.shown == [("error", "Paceline: the daemon does not answer (`paceline logs` says why)")]
    assert editor.bars[0].ended == 1 and editor.text == SOURCE


def test_edits_that_fail_alike_at_once_give_one_message_and_later_ones_another(editor):
    async def run():
        engine = Engine([InputError("no")] * 3)
        engine.gate.clear()
        edits = Edits(engine, editor)
        tasks = [edits.begin([*WHOLE, "one"]), edits.begin([*WHOLE, "two"])]
        while len(engine.asked) < 2:
            await asyncio.sleep(0)
        engine.gate.set()
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)
        assert len(editor.shown) == 1
        await edits.begin([*WHOLE, "three"])

    asyncio.run(run())
    assert len(editor.shown) == 2


def test_an_editor_that_will_not_show_progress_gets_its_edit_all_the_same(editor):
    async def fail(title, cancel):
        raise JsonRpcInternalError("no bar")

    editor.progress = fail
    edit(editor, RENAMED)
    assert editor.text == DONE and editor.shown == []


def test_an_editor_that_answers_an_edit_with_an_error_is_told_of(editor):
    async def fail(params):
        raise JsonRpcInternalError("no room")

    editor.apply = fail
    edit(editor, RENAMED)
    assert editor.text == SOURCE and "no room" in editor.shown[0][1]


def test_a_fault_of_ours_is_told_and_the_next_edit_goes_on(editor, caplog):
    async def run():
        engine = Engine([ZeroDivisionError(), RENAMED])
        edits = Edits(engine, editor)
        await asyncio.wait([edits.begin([*WHOLE, "rename a to c"])])
        await edits.begin([*WHOLE, "rename a to c"])

    asyncio.run(run())
    assert [kind for kind, _ in editor.shown] == ["error"] and editor.text == DONE
    assert "ZeroDivisionError" in caplog.text


def test_an_answer_that_was_cut_is_not_used(editor):
    edit(editor, "```python\ndef f(c):\n", reason="length")
    assert editor.text == SOURCE and "select less" in editor.shown[0][1]


def test_an_answer_without_text_is_told(editor):
    edit(editor, "  \n", "")
    assert editor.text == SOURCE and "no text" in editor.shown[0][1]


# --- the code action --------------------------------------------------------------------------------------------------


def offered(editor: Editor, start=(3, 0), end=(6, 0), only=None):
    span = types.Range(types.Position(*start), types.Position(*end))
    context = types.CodeActionContext(diagnostics=[], only=only)
    return Edits(Engine([]), editor).actions(types.CodeActionParams(types.TextDocumentIdentifier(URI), span, context))


def test_a_selection_offers_the_edit_with_what_the_command_needs(editor):
    (action,) = offered(editor)
    assert action.title == "Edit with Paceline…" and action.kind == types.CodeActionKind.RefactorRewrite
    assert action.command.command == "paceline.edit" and action.command.arguments == list(WHOLE)


def test_a_comment_with_an_instruction_is_in_the_title(editor):
    editor.open(SOURCE.replace("b = a", "b = a  # paceline: rename a to c"))
    assert offered(editor)[0].title == "Edit with Paceline: rename a to c"


def test_nothing_is_offered_without_a_selection(editor):
    assert offered(editor, (3, 0), (3, 0)) == []


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ([], 0),
        (["quickfix"], 0),
        (["refactor"], 1),
        (["refactor.rewrite"], 1),
        (["refactor.rewrite.more"], 0),
        (["refac"], 0),
        ([types.CodeActionKind.Source, types.CodeActionKind.Refactor], 1),
    ],
)
def test_other_kinds_are_not_disturbed(editor, only, count):
    assert len(offered(editor, only=only)) == count


def test_editors_without_literals_get_the_command_itself(editor):
    editor.capabilities = capabilities(literals=False)
    assert offered(editor)[0].command == "paceline.edit"


def starred(text):
    return text.replace("hunter2", "*******")


LOGIN = (
    "file:///work/a.py",
    {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}},
    1,
    "rename it",
)


def edited(text, *answers):
    """What comes of an edit of the first two lines: the editor and the engine."""

    async def scenario():
        editor, engine = Editor(), Engine(list(answers))
        editor.open(text)
        await Edits(engine, editor, redact=starred).begin(LOGIN)
        return editor, engine

    return asyncio.run(asyncio.wait_for(scenario(), 20))


def test_a_secret_in_the_selection_is_not_sent_and_stays_where_it_was():
    editor, engine = edited("a = 'hunter2'\nb = 1\nc = 2\n", "```python\nword = 'REDACTED1_'\nb = 1\n```\n")
    assert "hunter2" not in str(engine.asked) + str(engine.options)
    assert editor.text == "word = 'hunter2'\nb = 1\nc = 2\n"
    assert editor.shown == []


def test_an_answer_that_lost_a_secret_is_asked_for_again_and_then_not_taken():
    lost = "```python\nword = ''\nb = 1\n```\n"
    editor, engine = edited("a = 'hunter2'\nb = 1\n", lost, lost)
    assert len(engine.asked) == 2
    assert editor.edits == []
    ((kind, text),) = editor.shown
    assert kind == "error"
    assert "secret" in text


def test_a_secret_in_what_is_wanted_is_not_sent_either():
    text = "# paceline: use hunter2 twice\na = 'hunter2'\n"
    answer = "```python\na = 'REDACTED1_' + 'REDACTED1_'\n```\n"

    async def scenario():
        editor, engine = Editor(), Engine([answer])
        editor.open(text)
        await Edits(engine, editor, redact=starred).begin(LOGIN[:3])
        return editor, engine

    editor, engine = asyncio.run(asyncio.wait_for(scenario(), 20))
    assert "hunter2" not in str(engine.asked)
    assert editor.text == "a = 'hunter2' + 'hunter2'\n"


def test_an_editor_that_answers_an_edit_with_nothing_ends_it():
    class Silent(Editor):
        async def apply(self, params):
            return None

    async def scenario():
        editor, engine = Silent(), Engine([RENAMED])
        editor.open(SOURCE)
        await Edits(engine, editor).begin([*WHOLE, "rename a to c"])
        assert editor.shown == []
        assert editor.bars[0].ended == 1

    asyncio.run(asyncio.wait_for(scenario(), 20))
