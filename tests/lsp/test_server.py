"""`paceline lsp` over stdio, as editors speak to it, with a real daemon and a tiny real model behind it."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import Future
from random import Random

import psutil
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

from support.cli import TinyModels
from support.lsp_editor import AUTOMATIC, INVOKED, ROOT, capabilities, lsp_editor, run
from support.real_daemon import RealDaemon, real_daemon

FUNCTION = "import os\n\n\ndef total(values):\n    result = |\n    return result\n"
EVERYTHING_ODD = "a = '\N{GRINNING FACE}e\N{COMBINING ACUTE ACCENT}漢'\fb\u2028c\u0085d\r\nvalue = 1\r\nend\r\n"


def test_inline_completion_is_offered_and_answered(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            assert editor.result.capabilities.inline_completion_provider is not None
            assert editor.result.capabilities.completion_provider is None
            page = editor.open(FUNCTION)
            (first, *_) = await page.ask()
            assert first.insert_text
            assert first.range == types.Range(page.position(page.cursor), page.position(page.cursor))
            assert first.command is not None
            assert first.command.command == "paceline.accept"
            assert editor.shown == []

    run(scenario)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_counted_as_was_agreed(daemon: RealDaemon, encoding: str):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, can=capabilities(encodings=(encoding,))) as editor:
            assert editor.encoding == encoding
            page = editor.open(EVERYTHING_ODD + FUNCTION)
            page.replace(6, 7, "\N{WAVING HAND SIGN}")
            page.cursor = page.text.index("result = ") + 9
            page.replace(page.cursor - 9, page.cursor, "'\N{CAT FACE}', ")
            (first, *_) = await page.ask()
            assert first.range is not None
            assert first.range.start == page.position(page.cursor)
            assert first.range.start.line == 7

    run(scenario)


def test_the_server_sees_the_text_that_the_editor_has(daemon: RealDaemon):
    """What it suggests in a text that was typed is what it suggests in the same text as a whole."""

    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            typed = editor.open("|", name="typed.py")
            for piece in ("x = 1\r\n", "y\u2028 = '\N{CAT FACE}'\f\r\n", "zz", "z = "):
                typed.type(piece)
            typed.replace(4, 5, "22")
            typed.cursor = len(typed.text)
            whole = editor.open(typed.text + "|", name="whole.py")
            assert [each.insert_text for each in await typed.ask()] == [each.insert_text for each in await whole.ask()]

    run(scenario)


def test_a_client_that_sends_whole_texts_is_understood(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open("|")
            page.set("value = \n", 8)
            other = editor.open("value = |\n", name="b.py")
            assert [each.insert_text for each in await page.ask()] == [each.insert_text for each in await other.ask()]

    run(scenario)


def test_several_things_are_offered_by_hand_and_one_while_typing(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, options={"candidates": 3}) as editor:
            page = editor.open(FUNCTION)
            automatic = await page.ask(AUTOMATIC)
            by_hand = await page.ask(INVOKED)
            assert len(automatic) <= 1
            assert 1 <= len(by_hand) <= 3
            assert len({each.insert_text for each in by_hand}) == len(by_hand)

    run(scenario)


def test_typing_what_was_suggested_is_answered_from_memory(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            (first, *_) = await page.ask()
            said = str(first.insert_text)
            if len(said) < 2:
                pytest.skip("the model says nothing that can be typed")
            page.type(said[0])
            (second, *_) = await page.ask(AUTOMATIC)
            assert second.insert_text == said[1:]
            assert "1 of them without" in await editor.do("paceline.status")

    run(scenario)


def test_what_the_popup_has_chosen_is_continued(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open("import os\nos.pa|\n")
            where = types.Range(page.position(page.cursor - 2), page.position(page.cursor))
            items = await page.ask(chosen=types.SelectedCompletionInfo(range=where, text="path"))
            plain = editor.open("import os\nos.path|\n", name="b.py")
            expected = await plain.ask()
            assert [each.insert_text for each in items] == [f"path{each.insert_text}" for each in expected]
            assert all(each.range == where for each in items)

    run(scenario)


def test_an_editor_without_inline_completion_gets_it_in_its_list(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, can=capabilities(inline=False)) as editor:
            assert editor.result.capabilities.completion_provider is not None
            page = editor.open(FUNCTION)
            found = await page.popup()
            assert found.is_incomplete
            item, *others = found.items
            assert item.preselect
            assert not any(each.preselect for each in others)
            assert item.insert_text_format == types.InsertTextFormat.PlainText

    run(scenario)


def test_an_editor_that_cancels_everything_is_served_in_the_end(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open("|\n")
            requests, sent = [], set(editor.client.protocol._request_futures)
            for char in "value = compute(":
                page.type(char)
                requests.append(asyncio.ensure_future(page.ask(AUTOMATIC)))
                await asyncio.sleep(0.01)
                for name in set(editor.client.protocol._request_futures) - sent:
                    sent.add(name)
                    editor.client.cancel_request(types.CancelParams(name))
            await asyncio.gather(*requests, return_exceptions=True)
            assert await page.ask(INVOKED)
            assert editor.shown == []

    run(scenario)


def computed(daemon: RealDaemon) -> float:
    """Completions that the daemon was asked for, whatever became of them."""
    found = daemon.metrics.items()
    return sum(count for name, count in found if name.startswith("paceline_requests_total") and "/infill" in name)


def test_a_flood_of_changes_and_requests_is_survived_and_the_last_one_answered_right(daemon: RealDaemon):
    """Each of them could be computed. Not all are: for most of them a newer one comes too soon."""

    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            await editor.open(FUNCTION, name="first.py").ask()  # by then it has been woken
            page = editor.open("value = |\n")
            before, asked = computed(daemon), []
            for number in range(400):
                page.type("a + "[number % 4])
                asked.append(asyncio.ensure_future(page.ask(AUTOMATIC)))
                if number % 20 == 0:
                    await asyncio.sleep(0.005)
            answers = await asyncio.gather(*asked)
            assert len(answers) == 400
            again = await page.ask(AUTOMATIC)  # the same text: known by now
            assert [each.insert_text for each in answers[-1]] == [each.insert_text for each in again]
            here = page.position(page.cursor)
            assert [each.range.start for each in again] == [here] == [each.range.end for each in again]
            await editor.do("paceline.status")
            assert 1 <= computed(daemon) - before < 400
            assert editor.shown == []

    run(scenario)


def test_a_hundred_documents_that_ask_at_once_are_no_failure_of_the_engine(daemon: RealDaemon):
    """The daemon takes no more than so many; it is held up until all have asked."""

    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            await editor.open(FUNCTION, name="first.py").ask()
            pages = [editor.open(FUNCTION.replace("total", f"total{n}"), name=f"{n}.py") for n in range(100)]
            os.kill(daemon.process.pid, signal.SIGSTOP)
            asking = [asyncio.ensure_future(page.ask(AUTOMATIC)) for page in pages]
            await editor.do("paceline.status")
            os.kill(daemon.process.pid, signal.SIGCONT)
            await asyncio.gather(*asking)
            assert editor.shown == []
            for page in pages[::20]:
                while not await page.ask(AUTOMATIC):  # the daemon may have too much to do still
                    await asyncio.sleep(0.01)
            assert "failed" not in await editor.do("paceline.status")

    run(scenario)


def test_two_editors_share_one_engine(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as one, lsp_editor(daemon.environment) as two:
            pages = one.open(FUNCTION), two.open(FUNCTION), two.open(FUNCTION.replace("total", "other"), name="b.py")
            answers = await asyncio.gather(*(page.ask(AUTOMATIC) for page in pages))
            assert all(answers)
            assert answers[0][0].insert_text == answers[1][0].insert_text
            assert one.pid != two.pid
            for editor in (one, two):
                assert (await editor.do("paceline.status")).startswith("model       target")
                assert editor.shown == []
            pages[0].type("x")
            assert [each.insert_text for each in await pages[1].ask(AUTOMATIC)] == [answers[1][0].insert_text]

    daemons = {each.pid for each in psutil.process_iter() if belongs_to(each, daemon)}
    run(scenario)
    assert {each.pid for each in psutil.process_iter() if belongs_to(each, daemon)} == daemons == {daemon.process.pid}


def belongs_to(process: psutil.Process, daemon: RealDaemon) -> bool:
    """Whether it is a daemon of this person's."""
    try:
        return "serve" in process.cmdline() and process.environ().get("XDG_RUNTIME_DIR") == str(daemon.root / "run")
    except psutil.Error:
        return False


def test_documents_that_are_not_open_have_no_completions_and_do_no_harm(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            page.close()
            assert await page.ask() == []
            page.type("x")
            other = editor.open(FUNCTION, name="b.py")
            assert await other.ask()

    run(scenario)


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "vscode-remote://ssh-remote%2Bhost/work/a.py", "git:/a.py?x"])
def test_documents_without_a_file_are_completed_all_the_same(daemon: RealDaemon, uri: str):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            assert await editor.open(FUNCTION, uri=uri).ask()

    run(scenario)


def test_a_secret_file_is_left_alone_even_when_asked(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, arguments=("--explain",)) as editor:
            page = editor.open("TOKEN=|\n", name=".env", language="dotenv")
            assert await page.ask(INVOKED) == []
            await editor.do("paceline.status")  # by then the log has arrived
            assert any("secret" in line for line in editor.logged)

    run(scenario)


def test_a_wrong_setting_is_shown_once_and_left_out(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, options={"candidates": "many", "treshold": -2}) as editor:
            page = editor.open(FUNCTION)
            for _ in range(3):
                await page.ask()
            assert len(editor.shown) == 2
            assert "threshold" in "".join(editor.shown)

    run(scenario)


def test_settings_of_the_editor_are_asked_for_and_hold(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, settings={"enabled": False}) as editor:
            page = editor.open(FUNCTION)
            for _ in range(100):
                if not await page.ask():
                    break
                await asyncio.sleep(0.02)
            assert await page.ask() == []
            editor.client.set_configuration({"paceline": {"enabled": True}})
            editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
            for _ in range(100):
                if await page.ask():
                    break
                await asyncio.sleep(0.02)
            assert await page.ask()

    run(scenario)


def test_the_next_word_and_the_next_line_can_be_taken(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            edits: list[types.ApplyWorkspaceEditParams] = []

            @editor.client.feature(types.WORKSPACE_APPLY_EDIT)
            def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
                edits.append(params)
                return types.ApplyWorkspaceEditResult(applied=True)

            page = editor.open(FUNCTION)
            (first, *_) = await page.ask()
            at = page.position(page.cursor)
            where = {"line": at.line, "character": at.character}
            await editor.do("paceline.acceptWord", page.uri, where)
            await editor.do("paceline.acceptLine", page.uri, where)
            texts = [each.edit.changes[page.uri][0].new_text for each in edits]
            assert len(texts) == 2
            assert all(str(first.insert_text).startswith(text) and text for text in texts)

    run(scenario)


def test_nonsense_does_no_harm(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            for command in ("paceline.accept", "paceline.acceptWord", "paceline.acceptLine"):
                for arguments in ([], [None], ["x"], [{"a": 1}], [1, 2, 3], ["file:///none", {"line": 1}]):
                    await editor.do(command, *arguments)
            notify = editor.client.protocol.notify
            for params in ({}, {"item": None}, {"item": {"command": {"arguments": "x"}}}, {"textDocument": 3}):
                notify("textDocument/didShowCompletion", params)
                notify("textDocument/didPartiallyAcceptCompletion", params)
                notify("textDocument/didFocus", params)
            with pytest.raises(JsonRpcException):
                await editor.do("paceline.nothing")
            assert await editor.open(FUNCTION).ask()

    run(scenario)


NONSENSE = [
    *(None, True, False, 0, 1, -1, 2**31, 10**400, 1.5, -0.0, float("inf"), "", "1", "file:///work/project/a.py", "%"),
    *([], {}, [None], {"line": None}, {"line": "x", "character": "y"}, {"line": -1, "character": -1}),
    *({"line": [], "character": {}}, {"line": 10**30, "character": 10**30}, {"line": 4, "character": 10**9}),
    *({"line": True, "character": False}, {"start": {"line": 0}, "end": 1}, {"uri": 3}, {"uri": None}),
    {"start": {"line": 0, "character": 0}, "end": {"line": float("inf"), "character": 1}},
    {"start": {"line": 9**99, "character": -3}, "end": {"line": -9, "character": 1}},
]
COMMANDS = ["accept", "acceptWord", "acceptLine", "status"]
NOTICES = ["didShowCompletion", "didPartiallyAcceptCompletion", "didFocus"]


def test_commands_with_any_arguments_are_answered_or_ignored_and_raise_nothing(daemon: RealDaemon):
    async def scenario() -> None:
        random = Random(7)
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            (first, *_) = await page.ask()
            assert first.command is not None
            known = [page.uri, *(first.command.arguments or [])]
            for name in COMMANDS:
                for one in NONSENSE:
                    await editor.do(f"paceline.{name}", one)
                    await editor.do(f"paceline.{name}", page.uri, one)
                for _ in range(10):
                    await editor.do(f"paceline.{name}", *random.choices(NONSENSE + known, k=random.randrange(5)))
                for arguments in ({}, *({"arguments": each} for each in (None, "x", 3, {"a": 1}, {}))):
                    raw = {"command": f"paceline.{name}", **arguments}
                    editor.send("workspace/executeCommand", raw, id=f"{name} {arguments}")
            assert editor.shown == []
            assert await page.ask()

    run(scenario)


def test_a_request_that_is_against_the_protocol_is_answered_with_an_error(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            answer: Future[object] = Future()
            editor.client.protocol._request_futures["mine"] = answer
            editor.send("workspace/executeCommand", {"command": "paceline.status", "arguments": 3}, id="mine")
            with pytest.raises(JsonRpcException, match="Invalid Params"):
                await asyncio.wrap_future(answer)
            assert editor.shown == []

    run(scenario)


def test_an_edit_of_nonsense_says_what_it_needs_and_raises_nothing(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            for one in NONSENSE:
                await editor.do("paceline.edit", one)
                await editor.do("paceline.edit", page.uri, one)
                await editor.do("paceline.edit", page.uri, {"start": one, "end": one}, one, one)
            await editor.do("paceline.status")
            assert editor.shown
            assert all("stumbled" not in each and "failed" not in each for each in editor.shown)

    run(scenario)


def test_notifications_of_any_shape_are_ignored_and_raise_nothing(daemon: RealDaemon):
    async def scenario() -> None:
        random = Random(8)

        def nested(value: object, *names: str) -> object:
            return {names[0]: nested(value, *names[1:])} if names else value

        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            (first, *_) = await page.ask()
            assert first.command is not None
            number = (first.command.arguments or [0])[0]
            for name in NOTICES:
                for one in [*NONSENSE, [number], number]:
                    shapes = [one, nested(one, "item"), nested(one, "item", "command", "arguments")]
                    shapes += [nested(one, "textDocument"), nested(one, "textDocument", "uri")]
                    for shape in shapes:
                        editor.send(f"textDocument/{name}", shape)
                    item = nested([random.choice([number, one])], "command", "arguments")
                    editor.send(f"textDocument/{name}", {"item": item, "acceptedLength": one})
            await editor.do("paceline.status")
            assert editor.shown == []
            assert await page.ask()

    run(scenario)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ((1, 5), (1, 3)),  # its end before its beginning
        ((0, 3), (1, 5)),  # over several lines
        ((1, 3), (2, 0)),
        ((1, 3), (1, 99)),  # beyond the line's end
        ((9, 0), (9, 2)),  # beyond the document's
        ((0, 1), (0, 3)),  # on another line than the cursor
        ((1, 0), (1, 3)),  # not around the cursor
    ],
)
def test_a_popups_choice_that_cannot_stand_there_counts_as_none(daemon: RealDaemon, start, end):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open("import os\nos.pa|\nprint(os)\n")
            where = types.Range(types.Position(*start), types.Position(*end))
            items = await page.ask(chosen=types.SelectedCompletionInfo(range=where, text="path"))
            plain = await editor.open("import os\nos.pa|\nprint(os)\n", name="b.py").ask()
            assert [each.insert_text for each in items] == [each.insert_text for each in plain]
            assert all(each.range == types.Range(page.position(15), page.position(15)) for each in items)
            assert items

    run(scenario)


def test_cells_of_a_notebook_know_each_other(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment, can=capabilities(notebooks=True)) as editor:
            first, second = f"{ROOT}/n.ipynb#1", f"{ROOT}/n.ipynb#2"
            cells = [types.NotebookCell(types.NotebookCellKind.Code, each) for each in (first, second)]
            notebook = types.NotebookDocument(f"{ROOT}/n.ipynb", "jupyter-notebook", 1, cells)
            texts = [
                types.TextDocumentItem(first, "python", 1, "import os\nvalue = 1"),
                types.TextDocumentItem(second, "python", 1, "other = "),
            ]
            editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))
            asked = types.InlineCompletionParams(
                types.InlineCompletionContext(INVOKED), types.TextDocumentIdentifier(second), types.Position(0, 8)
            )
            in_cell = await editor.client.text_document_inline_completion_async(asked)
            plain = await editor.open("import os\nvalue = 1\n\nother = |", name="b.py").ask()
            assert [each.insert_text for each in in_cell.items] == [each.insert_text for each in plain]

    run(scenario)


def test_starting_needs_little_memory(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            await page.ask()
            assert psutil.Process(editor.pid).memory_info().rss < 70 * 2**20

    run(scenario)


def test_the_process_ends_when_the_editor_is_gone(daemon: RealDaemon):
    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            await editor.open(FUNCTION).ask()
            process = psutil.Process(editor.pid)
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE

    run(scenario)


def test_without_a_model_that_can_infill_one_message_says_so(tiny: TinyModels):
    async def scenario(environment: dict[str, str]) -> None:
        async with lsp_editor(environment) as editor:
            page = editor.open("x = |\n")
            for char in "abc":
                page.type(char)
                assert await page.ask(INVOKED) == []
            assert len(editor.shown) == 1
            assert "infill" in editor.shown[0]

    with real_daemon(tiny.without_fim) as daemon:
        run(lambda: scenario(daemon.environment))


def test_the_engine_is_started_when_it_is_needed(tiny: TinyModels):
    daemon = RealDaemon(tiny.target, None, tables="[editor]\nthreshold = -1000")

    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            assert await editor.open(FUNCTION).ask()

    try:
        run(scenario)
    finally:
        stop = [sys.executable, "-m", "paceline", "stop", "--now"]
        subprocess.run(stop, env=daemon.environment, check=False, capture_output=True)


def test_a_fault_of_our_own_is_told_once_and_its_log_holds_no_text(daemon: RealDaemon):
    """Messages that the protocol does not allow: a saving of no document, a change without a range's end."""

    async def scenario() -> None:
        async with lsp_editor(daemon.environment) as editor:
            page = editor.open(FUNCTION)
            for _ in range(5):
                editor.send("textDocument/didSave", {"textDocument": 3, "text": "hidden words"})
            assert await page.ask()
            assert editor.shown == []
            for _ in range(5):
                change = {"range": {"start": {"line": 0, "character": 0}}, "text": "hidden words"}
                which = {"uri": page.uri, "version": 2}
                editor.send("textDocument/didChange", {"textDocument": which, "contentChanges": [change]})
            assert await page.ask() == []
            assert len(editor.shown) == 1
            assert "hidden words" not in "".join(editor.shown + editor.logged)

    run(scenario)


def test_it_can_be_spoken_to_through_a_socket(daemon: RealDaemon):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "paceline", "lsp", "--tcp", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env=daemon.environment, stderr=subprocess.DEVNULL)

    async def scenario() -> None:
        client = LanguageClient("test", "1")
        while True:
            try:
                await client.start_tcp("127.0.0.1", port)
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
        found = await client.initialize_async(types.InitializeParams(capabilities=capabilities()))
        assert found.capabilities.inline_completion_provider is not None

    try:
        run(scenario)
    finally:
        process.kill()
        process.wait()
