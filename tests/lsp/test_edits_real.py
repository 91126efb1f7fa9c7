"""Edit with Paceline… over the wire: a real `paceline lsp`, an engine of the test's, and a tiny real model."""

import ast
import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from lsprotocol import types

from support.api_server import ApiServer, Reply, chat_answer, chat_chunk, json_reply, running_api, with_model
from support.lsp_editor import LspEditor, Page, capabilities, lsp_editor, run
from support.real_daemon import OURS, RealDaemon, until

SOURCE = "import x\r\n\r\n\r\ndef f(a):\r\n    return a  # 🦆\r\n|"
RENAMED = "```python\ndef f(b):\n    return b  # 🦆\n```\n"
STALLED = Reply([chat_chunk("```python\n")], stall=True)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with running_api() as server:
        yield with_model(server, "big")


@pytest.fixture
def environment(tmp_path: Path, api: ApiServer) -> Mapping[str, str]:
    """Of a person whose engine is that server, and who wants no completions: it has none."""
    config = f'[engine]\nurl = "{api.url}"\nmodel = "big"\n[editor]\nenabled = false\n'
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    (tmp_path / "run").mkdir(mode=0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    folders = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("DATA", "STATE", "CACHE", "CONFIG")}
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path / "run"), "PACELINE_CONFIG": str(tmp_path / "config.toml")}
    return {**kept, **folders, **runtime}


class Person:
    """Confirms edits, and makes them."""

    def __init__(self, editor: LspEditor) -> None:
        self.editor = editor
        self.asked: list[types.ApplyWorkspaceEditParams] = []
        self.page: Page | None = None

        @editor.client.feature(types.WORKSPACE_APPLY_EDIT)
        def confirm(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.asked.append(params)
            return types.ApplyWorkspaceEditResult(applied=True)

    def open(self, text: str) -> Page:
        self.page = self.editor.open(text)
        return self.page

    async def command(self, page: Page, start: int, end: int) -> tuple[str, str, list[object]]:
        """The one code action for a selection: its title, its command and the command's arguments.

        lsprotocol reads a code action as if it were a bare command, so what is within is taken from the text of that.
        """
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(page.uri),
            types.Range(page.position(start), page.position(end)),
            types.CodeActionContext(diagnostics=[]),
        )
        (found,) = await self.editor.client.text_document_code_action_async(params) or []
        inner = ast.literal_eval(found.command) if found.arguments is None else {}
        return found.title, inner["command"], inner["arguments"]

    async def choose(self, page: Page, wish: str) -> None:
        """Select the function and run the command."""
        _, name, arguments = await self.command(page, page.text.index("def f"), len(page.text))
        await self.editor.do(name, *arguments, *([wish] if wish else []))

    @property
    def bars(self) -> list[list[object]]:
        return list(self.editor.client.progress_reports.values())

    async def until(self, condition) -> None:
        while not condition():
            await asyncio.sleep(0.01)

    async def over(self) -> None:
        """The work has been shown, and is shown no more."""
        ends = types.WorkDoneProgressEnd
        await self.until(lambda: self.bars and self.bars[-1] and isinstance(self.bars[-1][-1], ends))


@asynccontextmanager
async def person(environment: Mapping[str, str], encoding: str = "utf-16"):
    can = capabilities(encodings=(encoding,))
    can.workspace.workspace_edit = types.WorkspaceEditClientCapabilities(
        document_changes=True, change_annotation_support=types.ChangeAnnotationsSupportOptions()
    )
    kinds = types.ClientCodeActionKindOptions([types.CodeActionKind.RefactorRewrite])
    can.text_document.code_action = types.CodeActionClientCapabilities(
        code_action_literal_support=types.ClientCodeActionLiteralOptions(kinds)
    )
    async with lsp_editor(environment, can=can) as editor:
        yield Person(editor)


def edited(page: Page, params: types.ApplyWorkspaceEditParams) -> str:
    """The document with an edit."""
    (change,) = params.edit.document_changes
    assert change.text_document.version == page.version
    starts = [0]
    for line in page.text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    text = page.text
    for edit in reversed(change.edits):
        assert edit.range.start.character == edit.range.end.character == 0, "whole lines"
        text = text[: starts[edit.range.start.line]] + edit.new_text + text[starts[edit.range.end.line] :]
    return text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_selection_is_edited_after_the_person_has_agreed(environment, api, encoding):
    api.chat(chat_answer(*(RENAMED[at : at + 7] for at in range(0, len(RENAMED), 7))))

    async def scenario() -> None:
        async with person(environment, encoding) as someone:
            page = someone.open(SOURCE)
            await someone.choose(page, "rename a to b")
            await someone.until(lambda: someone.asked)
            (asked,) = someone.asked
            (note,) = asked.edit.change_annotations.values()
            assert note.needs_confirmation and "rename a to b" in note.label
            assert edited(page, asked) == page.text.replace("(a)", "(b)").replace("return a", "return b")
            await someone.over()
            assert someone.editor.shown == []

    run(scenario)


def test_a_comment_is_instruction_enough(environment, api):
    api.chat(chat_answer(RENAMED))

    async def scenario() -> None:
        async with person(environment) as someone:
            page = someone.open(SOURCE.replace("def f(a)", "# paceline: rename a to b\r\ndef f(a)"))
            title, *_ = await someone.command(page, page.text.index("def f"), len(page.text))
            assert title == "Edit with Paceline: rename a to b"
            await someone.choose(page, "")
            await someone.until(lambda: someone.asked)
            assert "paceline:" not in edited(page, someone.asked[0])

    run(scenario)


def test_the_command_is_answered_before_anything_is_computed_and_can_be_cancelled(environment, api):
    api.chat(STALLED)

    async def scenario() -> None:
        async with person(environment) as someone:
            page = someone.open(SOURCE)
            await someone.choose(page, "rename a to b")
            await someone.until(lambda: api.of("/v1/chat/completions"))
            (token,) = someone.editor.client.progress_reports
            assert someone.bars[0][0].cancellable
            cancel = types.WorkDoneProgressCancelParams(token)
            someone.editor.client.window_work_done_progress_cancel(cancel)
            await someone.over()
            await asyncio.to_thread(api.gone.wait, 20)
            assert api.gone.is_set(), "the engine goes on computing"
            assert someone.asked == [] and someone.editor.shown == []

    run(scenario)


def test_leaving_the_editor_ends_what_is_computed(environment, api):
    api.chat(STALLED)

    async def scenario() -> None:
        async with person(environment) as someone:
            await someone.choose(someone.open(SOURCE), "rename a to b")
            await someone.until(lambda: api.of("/v1/chat/completions"))
        await asyncio.to_thread(api.gone.wait, 20)
        assert api.gone.is_set()

    run(scenario)


def test_an_engine_that_refuses_is_told_once_and_the_server_goes_on(environment, api):
    api.answer("/v1/chat/completions", json_reply({"error": {"message": "out of order"}}, 500), chat_answer(RENAMED))

    async def scenario() -> None:
        async with person(environment) as someone:
            page = someone.open(SOURCE)
            await someone.choose(page, "rename a to b")
            await someone.over()
            await someone.until(lambda: someone.editor.shown)
            assert len(someone.editor.shown) == 1 and "out of order" in someone.editor.shown[0]
            await someone.choose(page, "rename a to b")
            await someone.until(lambda: someone.asked)

    run(scenario)


def test_a_real_model_is_asked_with_what_the_daemon_understands(daemon: RealDaemon):
    """The tiny model writes nonsense: an edit is offered, or a message says why there is none."""

    async def scenario() -> None:
        async with person(daemon.environment) as someone:
            await someone.choose(someone.open(SOURCE), "rename a to b")
            await someone.until(lambda: someone.asked or someone.editor.shown)
            await someone.over()

    run(scenario)
    until(daemon.quiet, "nothing is computed any more")
