"""The app as a person uses it: keys go in, and what is on the screen, in the store and on the disk is looked at."""

import pytest
from textual.widgets import Input

from paceline.chat.turns import Attached, Draft
from paceline.client.events import End, Pace, Text
from paceline.config import ChatConfig, Config
from paceline.errors import EngineError
from paceline.tui.screens.confirm import ConfirmScreen
from paceline.tui.screens.help import HelpScreen
from paceline.tui.screens.naming import NamingScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.screens.sessions import SessionsScreen
from paceline.tui.screens.setup import SetupScreen
from paceline.tui.widgets.footer import Footer
from paceline.tui.widgets.notes import Notes
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.rounds import Rounds
from paceline.tui.widgets.transcript import Transcript
from support.app_driving import chat, quiet, said, told, until, write
from support.screens import Seen

FENCED = "Here:\n\n```python app.py\nx = 2\ny = 1\nz = x + y\nprint(z)\n```\n"
OTHER = "import sys\n\nfor line in sys.stdin:\n    total += len(line)\nsys.exit(total)\n"
BEFORE, AFTER = b"x = 1\r\ny = 1\r\nz = x + y\r\nprint(z)\r\n", b"x = 2\r\ny = 1\r\nz = x + y\r\nprint(z)\r\n"


async def test_a_question_is_answered(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        assert said(pilot) == [("user", "Hi", "done"), ("assistant", "Hello you.", "done")]
        assert pilot.app.screen.query_one(Prompt).text == ""


async def test_an_empty_prompt_sends_nothing(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "  \n")
        assert client.asked == []


async def test_escape_stops_the_answer(app, client):
    client.gate.clear()
    async with app().run_test() as pilot:
        await write(pilot, "Hi", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: said(pilot)[-1:] == [("assistant", "Hello ", "streaming")])
        await pilot.press("escape")
        await quiet(pilot)
        assert said(pilot)[-1] == ("assistant", "Hello ", "stopped")
        assert client.asked[0].cancelled


async def test_the_next_message_waits(app, client):
    client.gate.clear()
    async with app().run_test() as pilot:
        await write(pilot, "one", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: len(client.asked) == 1)
        await write(pilot, "two", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: len(chat(pilot).conversation.queued) == 1)
        client.gate.set()
        await until(pilot, lambda: len(client.asked) == 2)
        await quiet(pilot)
        assert [text for role, text, _ in said(pilot) if role == "user"] == ["one", "two"]


async def test_a_mentioned_file_goes_along(app, client):
    here = app()
    (here.services.root / "app.py").write_text("x = 1\n")
    async with here.run_test() as pilot:
        await until(pilot, lambda: chat(pilot).suggesting.workspace.resolve("app.py") is not None)
        await write(pilot, "What is in @app.py ?")
        assert "x = 1" in client.asked[0].messages[-1].content
        assert chat(pilot).conversation.path[0].attached[0].name == "app.py"


async def test_a_mention_of_nothing_is_said_and_nothing_is_sent(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "Look at @nothing/here.py")
        assert "nothing/here.py" in told(pilot)
        assert client.asked == []
        assert pilot.app.screen.query_one(Prompt).text == "Look at @nothing/here.py"


async def test_the_list_of_commands_opens_and_completes(app):
    async with app().run_test() as pilot:
        await pilot.press("slash", "h", "e")
        await until(pilot, lambda: chat(pilot).suggesting.popup.open)
        await pilot.press("tab")
        await until(pilot, lambda: not chat(pilot).suggesting.popup.open)
        assert pilot.app.screen.query_one(Prompt).text == "/help"


async def test_an_unknown_command_is_said_with_what_may_have_been_meant(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "/hlp")
        assert "/help" in told(pilot)
        assert client.asked == []


async def test_a_question_mark_shows_the_keys(app):
    async with app().run_test() as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))


async def test_a_command_runs_only_after_a_yes_and_its_output_goes_along(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "!echo over", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("n")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert chat(pilot).attached == ()
        await write(pilot, "!echo over", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: chat(pilot).attached != ())
        assert "over" in chat(pilot).attached[0].text
        await write(pilot, "Why?")
        assert "over" in client.asked[0].messages[-1].content
        assert chat(pilot).attached == ()


async def test_a_long_paste_becomes_an_attachment(app, client):
    text = "".join(f"line {number}\n" for number in range(5000))
    async with app().run_test() as pilot:
        chat(pilot).query_one(Prompt).post_message(Prompt.Pasted(text))
        await until(pilot, lambda: chat(pilot).attached != ())
        assert chat(pilot).attached[0].text == text
        assert client.asked == []
        await pilot.press(*"Why")
        await pilot.pause(0.2)
        await pilot.press("enter")
        await until(pilot, lambda: len(client.asked) == 1)
        assert "line 4999" in client.asked[0].messages[-1].content


async def test_a_block_is_reviewed_applied_and_taken_back(app, client):
    client.says = lambda *_: [FENCED]
    here = app()
    file = here.services.root / "app.py"
    file.write_bytes(BEFORE)
    async with here.run_test() as pilot:
        await write(pilot, "Make x 2 in @app.py")
        turn = chat(pilot).conversation.path[-1].id
        chat(pilot).query_one(Transcript).post_message(Transcript.BlockAction(turn, 0, "apply"))
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        assert file.read_bytes() == BEFORE
        await pilot.press("a")
        await pilot.press("enter")
        await until(pilot, lambda: file.read_bytes() == AFTER)
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await write(pilot, "/undo")
        await until(pilot, lambda: file.read_bytes() == BEFORE)


async def test_a_block_that_is_no_change_takes_the_place_of_a_file_only_when_that_is_accepted(app, client):
    client.says = lambda *_: [f"```python\n{OTHER}```\n"]
    here = app()
    file = here.services.root / "app.py"
    file.write_bytes(BEFORE)
    async with here.run_test() as pilot:
        await write(pilot, "Say something")
        turn = chat(pilot).conversation.path[-1].id
        chat(pilot).query_one(Transcript).post_message(Transcript.BlockAction(turn, 0, "apply"))
        await until(pilot, lambda: isinstance(pilot.app.screen, NamingScreen))
        await pilot.press(*"app.py", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.press("enter")  # nothing is accepted yet
        await pilot.pause()
        assert file.read_bytes() == BEFORE
        await pilot.press("a", "enter")
        await until(pilot, lambda: file.read_bytes() == OTHER.replace("\n", "\r\n").encode())


async def test_edit_asks_with_the_file_as_its_draft(app, client):
    client.says = lambda messages, options: ["```python\ny = 1\n```\n"]
    here = app()
    file = here.services.root / "app.py"
    file.write_text("x = 1\n")
    async with here.run_test() as pilot:
        await write(pilot, "/edit app.py rename x to y", send=False)
        await pilot.pause(0.1)
        await pilot.press("escape")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.pause(0.6)
        assert "x = 1" in client.asked[0].options.original
        await pilot.press("a")
        await pilot.press("enter")
        await until(pilot, lambda: file.read_text() == "y = 1\n")


@pytest.mark.parametrize("more", [[], ["It is done.", "Really."]], ids=["to its end", "with more behind the code"])
async def test_an_edit_is_kept_with_the_model_and_the_figures_that_it_took(app, client, more):
    client.says = lambda *_: ["```python\ny = 1\n", "```\n", *more]
    here = app()
    (here.services.root / "app.py").write_text("x = 1\n")
    async with here.run_test() as pilot:
        await write(pilot, "/edit app.py rename x to y", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.pause(0.6)
        await pilot.press("escape")
        await until(pilot, lambda: len(said(pilot)) == 2)
        assert chat(pilot).conversation.path[-1].model == "scripted"
        assert client.asked[0].closed


async def test_an_edit_that_was_cut_at_the_token_limit_is_not_certain(app, client):
    client.says = lambda *_: ["```python\ny = 1\n", End("length", timings={"predicted_n": 6}, model="m")]
    here = app()
    (here.services.root / "app.py").write_text("x = 1\nz = 2\n")
    async with here.run_test() as pilot:
        await write(pilot, "/edit app.py rename x to y", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        assert "the answer was cut" in pilot.app.screen.query_one("#notes", Notes).text


async def test_an_earlier_message_is_edited(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        first = chat(pilot).conversation.path[0].id
        chat(pilot).query_one(Transcript).post_message(Transcript.TurnAction(first, "edit"))
        await until(pilot, lambda: chat(pilot).query_one(Prompt).text == "one")
        await write(pilot, "ONE")
        assert [text for _, text, _ in said(pilot)] == ["ONE", "Hello you."]
        await pilot.press("alt+left")
        await until(pilot, lambda: said(pilot)[0][1] == "one")


async def test_an_error_is_shown_in_its_place_and_can_be_tried_again(app, client):
    client.error = EngineError("it broke", "ask again")
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        assert said(pilot)[-1][2] == "failed"
        client.error = None
        await write(pilot, "/retry")
        assert said(pilot)[-1] == ("assistant", "Hello you.", "done")


async def test_a_cut_answer_goes_on(app, client):
    client.says = lambda *_: ["a", End("length")]
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        client.says = lambda *_: ["b"]
        await write(pilot, "/continue")
        assert said(pilot)[-1] == ("assistant", "ab", "done")


async def test_another_session_is_opened_and_the_first_one_comes_back(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        first = chat(pilot).conversation.session.id
        await write(pilot, "/new")
        assert said(pilot) == []
        await write(pilot, f"/resume {first}")
        assert said(pilot)[0] == ("user", "one", "done")


async def test_the_list_of_sessions_opens(app):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))


async def test_a_session_is_exported(app):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "one")
        for kind in ("md", "json", "html"):
            await write(pilot, f"/export {kind} talk.{kind}", send=False)
            await pilot.press("escape")
            await pilot.pause(0.1)
            await pilot.press("enter")
            await until(pilot, lambda kind=kind: (here.services.root / f"talk.{kind}").exists())
            assert "Hello you." in (here.services.root / f"talk.{kind}").read_text()


async def test_a_session_of_before_is_shown(app, tmp_path, client):
    first = app()
    async with first.run_test() as pilot:
        await write(pilot, "one")
        session = chat(pilot).conversation.session.id
    first.services.store.close()
    async with app(session).run_test() as pilot:
        assert said(pilot) == [("user", "one", "done"), ("assistant", "Hello you.", "done")]


async def test_nothing_set_up_is_offered_to_be(app):
    async with app(is_set_up=False).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, SetupScreen))


async def test_two_interrupts_leave_and_the_first_says_so(app):
    here = app()
    async with here.run_test() as pilot:
        await pilot.press("ctrl+c")
        assert "again" in told(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not here.is_running or here._exit)


async def test_a_session_in_which_nothing_was_said_is_not_kept(app):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "/quit", send=False)
        await pilot.press("escape")
        await pilot.pause(0.1)
        await pilot.press("enter")
        await until(pilot, lambda: here._exit)
    assert here.services.store.list() == ()


async def test_a_theme_of_textuals_own_can_be_chosen(app):
    async with app().run_test() as pilot:
        for theme in ("nord", "light", "contrast", "ansi", "dark"):
            await write(pilot, f"/theme {theme}", send=False)
            await pilot.press("escape", "enter")
            await until(pilot, lambda theme=theme: theme in pilot.app.theme)
        await write(pilot, "/theme nonsense", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: "nonsense" in told(pilot))


async def test_a_theme_that_cannot_be_seen_is_said_to_be_hidden_and_by_what(app):
    async with app(environ={"NO_COLOR": "1"}).run_test() as pilot:
        await write(pilot, "/theme light", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: "NO_COLOR" in told(pilot))
        assert 'theme = "light"' in told(pilot)
        assert pilot.app.theme == "paceline-plain"


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
async def test_it_can_be_used_at_every_size(app, client, size):
    client.says = lambda *_: [FENCED * 5]
    async with app().run_test(size=size) as pilot:
        await write(pilot, "Hi 你好 🎉")
        prompt, transcript = chat(pilot).query_one(Prompt), chat(pilot).query_one(Transcript)
        assert prompt.region.height >= 1
        assert prompt.region.bottom <= size[1]
        assert transcript.region.height >= size[1] // 2 - 2
        await pilot.resize_terminal(40, 12)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert pilot.app.screen.query_one(Prompt).region.bottom <= size[1]


async def test_on_a_small_terminal_the_prompt_is_in_sight_whatever_stands_above_it(app, client):
    client.gate.clear()
    async with app().run_test(size=(40, 12)) as pilot:
        await write(pilot, "one", send=False)
        await pilot.press("enter", "f2", "f3")
        screen = chat(pilot)
        await until(pilot, lambda: screen.conversation.answering)
        for _ in range(4):
            screen.conversation.send(Draft("and then?"))
        screen.attach(tuple(Attached("file", f"{number}.py", "x\n") for number in range(6)))
        screen.output_panel.begin("make")
        screen.output_panel.add("line\n" * 50)
        screen.query_one(Prompt).replace_all("\n".join("abcdef"))
        await pilot.pause(0.1)
        prompt, footer = screen.query_one(Prompt).region, screen.query_one(Footer).region
        assert screen.max_scroll_y == 0
        assert (prompt.height, prompt.bottom, footer.bottom) == (3, 11, 12)
        client.gate.set()
        await quiet(pilot)


async def test_markup_and_terminal_sequences_stay_text(app, client):
    client.says = lambda *_: ["[bold]not[/bold] [/", "\x1b]52;c;aGk=\x07\x1b[2Jover\u202e"]
    async with app().run_test() as pilot:
        await write(pilot, "[red]hi[/")
        shown = "\n".join(
            "".join(segment.text for segment in strip) for strip in pilot.app.screen._compositor.render_strips()
        )
        assert "[bold]not[/bold] [/" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "over" in shown


async def test_nothing_ticks_while_nothing_happens(app):
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        await pilot.pause(1.0)
        ticking = [
            timer
            for node in [pilot.app, *pilot.app.screen.walk_children(with_self=True)]
            for timer in node._timers
            if timer._repeat is None and timer._active.is_set()
        ]
        assert ticking == []


async def test_drafts_and_rounds_are_shown_and_hidden(app, client):
    client.says = lambda *_: [Text("a", "ngram"), Pace(3, 20.0, 4, 2), "b"]
    async with app().run_test() as pilot:
        await write(pilot, "Hi")
        transcript, rounds = chat(pilot).query_one(Transcript), chat(pilot).query_one(Rounds)
        await pilot.press("f2", "f3")
        assert transcript.drafts
        assert rounds.display
        await pilot.press("f2", "f3")
        assert not transcript.drafts
        assert not rounds.display


async def test_a_session_is_renamed_copied_and_deleted(app):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "one")
        first = chat(pilot).conversation.session.id
        await write(pilot, "/rename My talk")
        assert here.services.store.session(first).title == "My talk"
        await write(pilot, "/fork")
        copy = chat(pilot).conversation.session.id
        assert copy != first
        assert said(pilot) == [("user", "one", "done"), ("assistant", "Hello you.", "done")]
        await write(pilot, "/delete", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: said(pilot) == [])
        assert [each.session.id for each in here.services.store.list()] == [first]


async def shorten(pilot, client):
    """Two questions, of which the first is told in short."""
    await write(pilot, "one")
    await write(pilot, "two")
    client.says = lambda *_: ["They said hello."]
    await write(pilot, "/compact")
    await until(pilot, lambda: "summary" in told(pilot))


async def test_older_turns_are_told_in_short_after_compact(app, client):
    async with app().run_test() as pilot:
        await shorten(pilot, client)
        assert "the first 2 messages were shown to the model as this summary" in Seen(pilot, pilot.app).text
        client.says = lambda *_: ["Fine."]
        await write(pilot, "three")
        asked = client.asked[-1].said
        assert "They said hello." in asked[0][1]
        assert [text for role, text in asked if role == "user"] == ["two", "three"]
        assert [text for role, text, _ in said(pilot) if role == "user"] == ["one", "two", "three"]


async def test_another_message_in_place_of_the_last_goes_without_what_was_left_out(app, client):
    async with app().run_test() as pilot:
        await shorten(pilot, client)
        chat(pilot).begin_editing(chat(pilot).conversation.path[2])
        await write(pilot, "two, better")
        asked = client.asked[-1].said
        assert "They said hello." in asked[0][1]
        assert [text for role, text in asked if role == "user"] == ["two, better"]


async def test_a_summary_belongs_to_the_branch_it_was_asked_for(app, client):
    async with app().run_test(notifications=True) as pilot:
        await write(pilot, "one")
        await write(pilot, "two")
        chat(pilot).begin_editing(chat(pilot).conversation.path[0])
        await write(pilot, "first")
        await write(pilot, "second")
        client.gate.clear()
        await write(pilot, "/compact", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: len(client.asked) == 5)
        chat(pilot).conversation.switch(chat(pilot).conversation.path[0].id, -1)
        client.gate.set()
        await until(pilot, lambda: "another branch" in told(pilot))
        assert all(turn.skipped == 0 for turn in chat(pilot).conversation.path)


async def test_another_system_prompt_is_used_from_the_next_message_on(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "/system Answer in verse.")
        await write(pilot, "Hi")
        assert client.asked[0].said[0] == ("system", "Answer in verse.")


async def test_keys_of_the_configuration_take_the_place_of_ours(app):
    config = Config(chat=ChatConfig(keys={"drafts": "f12"}))
    async with app(config=config).run_test() as pilot:
        transcript = chat(pilot).query_one(Transcript)
        await pilot.press("f2")
        assert not transcript.drafts
        await pilot.press("f12")
        assert transcript.drafts


async def test_the_last_answer_is_copied_and_where_it_went_is_said(app, tmp_path):
    async with app(environ={"PATH": ""}).run_test() as pilot:
        await write(pilot, "Hi")
        await write(pilot, "/copy", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: "cache" in told(pilot) or "terminal" in told(pilot))
        files = [each for each in (tmp_path / "cache").rglob("*") if each.is_file()]
        assert [each.read_text() for each in files] == ["Hello you."]


async def test_undo_takes_back_what_was_written_also_from_the_prompt(app, client):
    client.says = lambda messages, options: ["```python\ny = 1\n```\n"]
    here = app()
    file = here.services.root / "app.py"
    file.write_text("x = 1\n")
    async with here.run_test() as pilot:
        await write(pilot, "/edit app.py rename x to y", send=False)
        await pilot.press("escape", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.pause(0.6)
        await pilot.press("a", "enter")
        await until(pilot, lambda: file.read_text() == "y = 1\n")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert [text for _, text, _ in said(pilot)] == ["/edit app.py rename x to y", "Changed app.py."]
        await pilot.press("ctrl+z")
        await until(pilot, lambda: file.read_text() == "x = 1\n")


async def test_the_output_of_a_command_is_seen_until_the_next_message(app):
    async with app().run_test() as pilot:
        await write(pilot, "!echo over; exit 3", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.pause(0.6)
        await pilot.press("y")
        await until(pilot, lambda: any("exited 3" in line for line in chat(pilot).output_panel.lines))
        assert "over" in chat(pilot).output_panel.lines
        assert chat(pilot).output_panel.display
        await write(pilot, "Why?")
        assert not chat(pilot).output_panel.display


async def test_what_waits_behind_a_failure_is_taken_back_with_up_or_sent_with_enter(app, client):
    client.gate.clear()
    client.error = EngineError("it broke", "ask again")
    async with app().run_test() as pilot:
        await write(pilot, "one", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: len(client.asked) == 1)
        for text in ("two", "three"):
            await write(pilot, text, send=False)
            await pilot.press("enter")
            await pilot.pause(0.1)
        client.gate.set()
        await quiet(pilot)
        assert said(pilot)[-1][2] == "failed"
        client.error = None
        chat(pilot).query_one(Prompt).focus()
        await pilot.press("up")
        await until(pilot, lambda: chat(pilot).query_one(Prompt).text == "three")
        await write(pilot, "")
        await until(pilot, lambda: len(client.asked) == 2)
        await quiet(pilot)
        assert client.asked[1].said[-1][1].endswith("two")
        assert chat(pilot).conversation.queued == ()


async def test_who_declines_to_set_up_keeps_the_message(app, client):
    async with app(is_set_up=False).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, SetupScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await write(pilot, "Hi", send=False)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SetupScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        assert chat(pilot).query_one(Prompt).text == "Hi"
        assert client.asked == []


def put(root, **texts):
    for name, text in texts.items():
        (root / f"{name}.py").write_text(text)


PLACED = "So:\n\n```python\ndef area(r):\n    return 3.14 * r * r\n```\n"
AREA, BETTER = "def area(r):\n    return 3 * r * r\n", "def area(r):\n    return 3.14 * r * r\n"


@pytest.mark.parametrize("number", [0, None])
async def test_an_answer_that_names_no_file_is_for_the_only_one_that_defines_the_same(app, client, number):
    client.says = lambda *_: [PLACED]
    here = app()
    root = here.services.root
    put(root, circle=AREA, other="def length(r):\n    return r\n")
    async with here.run_test() as pilot:
        await write(pilot, "Be more exact")
        turn = chat(pilot).conversation.path[-1].id
        chat(pilot).do(chat(pilot).files.apply(turn, number))
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        notes = pilot.app.screen.query_one("#notes", Notes).text
        assert "the answer names no file" in notes and "UNCERTAIN" in notes
        await pilot.press("enter")  # nothing is accepted yet
        await pilot.pause()
        assert (root / "circle.py").read_text() == AREA
        await pilot.press("a", "enter")
        await until(pilot, lambda: (root / "circle.py").read_text() == BETTER)


@pytest.mark.parametrize("number", [0, None])
async def test_where_several_files_define_it_the_person_says_which(app, client, number):
    client.says = lambda *_: [PLACED]
    here = app()
    root = here.services.root
    put(root, circle=AREA, disc=AREA)
    async with here.run_test() as pilot:
        await write(pilot, "Be more exact")
        turn = chat(pilot).conversation.path[-1].id
        chat(pilot).do(chat(pilot).files.apply(turn, number))
        await until(pilot, lambda: isinstance(pilot.app.screen, NamingScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        chat(pilot).do(chat(pilot).files.apply(turn, number))
        await until(pilot, lambda: isinstance(pilot.app.screen, NamingScreen))
        assert pilot.app.screen.query_one(Input).value == "circle.py"
        pilot.app.screen.query_one(Input).value = "disc.py"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.press("a", "enter")
        await until(pilot, lambda: (root / "disc.py").read_text() == BETTER)
        assert (root / "circle.py").read_text() == AREA


async def test_a_name_that_several_files_define_is_chosen_from_the_list_or_asked_back(app, client):
    here = app()
    put(here.services.root, circle=AREA, disc=AREA)
    async with here.run_test() as pilot:
        await chat(pilot).suggesting.ready()
        await write(pilot, "What does @area do?")
        assert "2 files define area" in told(pilot) and "@circle.py:area, @disc.py:area" in told(pilot)
        assert client.asked == []
        await write(pilot, "What does @area", send=False)
        await until(pilot, lambda: chat(pilot).suggesting.popup.open)
        await pilot.press("down", "tab")
        await until(pilot, lambda: pilot.app.screen.query_one(Prompt).text == "What does @disc.py:area ")
        await pilot.press("enter")
        await until(pilot, lambda: len(client.asked) == 1)
        assert "area, disc.py:1-2" in client.asked[0].messages[-1].content
        await quiet(pilot)


async def test_a_file_of_an_earlier_message_does_not_get_what_another_one_defines(app, client):
    client.says = lambda *_: [PLACED]
    here = app()
    root = here.services.root
    put(root, circle=AREA, other="def length(r):\n    return r\n")
    async with here.run_test() as pilot:
        await write(pilot, "See @other.py")
        await write(pilot, "Be more exact")
        turn = chat(pilot).conversation.path[-1].id
        chat(pilot).do(chat(pilot).files.apply(turn, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        assert [each.path for each in pilot.app.screen._review.changes] == ["circle.py"]


@pytest.mark.parametrize("number", [0, None])
async def test_a_fence_within_a_block_that_names_no_file_makes_no_other_file(app, client, number):
    inner = f"{'`' * 8}\nother.py\n```python\nprint('x')\n```\n"
    client.says = lambda *_: [f"{'`' * 9}python\ndef area(r):\n    return '''\n{inner}'''\n{'`' * 9}\n"]
    here = app()
    put(here.services.root, circle=AREA)
    async with here.run_test() as pilot:
        await write(pilot, "Be more exact")
        turn = chat(pilot).conversation.path[-1].id
        chat(pilot).do(chat(pilot).files.apply(turn, number))
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        await pilot.press("A", "a", "enter")
        await until(pilot, lambda: pilot.app.screen is chat(pilot))
        await quiet(pilot)
    assert not (here.services.root / "other.py").exists()
    assert (here.services.root / "circle.py").read_text().endswith(f"{inner}'''\n")
