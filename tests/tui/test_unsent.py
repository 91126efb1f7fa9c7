"""What was not sent yet is not lost, whichever way one leaves it."""

import asyncio

from paceline.chat.turns import Attached, Draft, Unsent
from paceline.errors import EngineError
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.waiting import Waiting, lines
from support.app_driving import chat, quiet, said, told, until, write

OUTPUT = Attached("output", "$ make", "failed\n")


def prompt(pilot):
    return chat(pilot).query_one(Prompt)


async def left(pilot):
    """The app is quit, and its process ends."""
    store = pilot.app.services.store
    await pilot.press("ctrl+q")
    await until(pilot, lambda: not pilot.app._running or pilot.app._exit)
    store.close()


async def waiting(pilot, client, *texts):
    """A first message is being answered; these wait."""
    client.gate.clear()
    for number, text in enumerate(("one", *texts)):
        await write(pilot, text, send=False)
        await pilot.press("enter")
        if not number:
            await until(pilot, lambda: len(client.asked) == 1)
        else:
            await until(pilot, lambda n=number: len(chat(pilot).conversation.queued) == n)


async def test_leaving_keeps_text_attachments_and_what_waits(app, client):
    async with app().run_test() as pilot:
        await waiting(pilot, client, "two", "three")
        chat(pilot).attach((OUTPUT,))
        await write(pilot, "Why does", send=False)
        id_ = chat(pilot).conversation.session.id
        await left(pilot)
    client.gate.set()
    async with app(session=id_).run_test(notifications=True) as pilot:
        await until(pilot, lambda: prompt(pilot).text == "Why does")
        assert chat(pilot).attached == (OUTPUT,)
        assert chat(pilot).output == OUTPUT
        assert [each.text for each in chat(pilot).conversation.queued] == ["two", "three"]
        assert chat(pilot).query_one(Waiting).display
        assert "here again" in told(pilot)


async def test_what_waited_goes_on_being_sent_from_an_empty_prompt(app, client):
    async with app().run_test() as pilot:
        await waiting(pilot, client, "two")
        id_ = chat(pilot).conversation.session.id
        await left(pilot)
    client.gate.set()
    async with app(session=id_).run_test() as pilot:
        await until(pilot, lambda: chat(pilot).conversation.queued)
        await write(pilot, "")
        assert said(pilot)[-2][1] == "two"
        assert not chat(pilot).query_one(Waiting).display


async def test_a_conversation_that_is_not_begun_keeps_it_for_its_folder(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "How do I", send=False)
        await left(pilot)
    async with app().run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).text == "How do I")
        await write(pilot, "How do I leave?")
        await left(pilot)
    async with app().run_test() as pilot:
        await pilot.pause(0.1)
        assert prompt(pilot).text == ""


async def test_without_leaving_it_is_kept_when_nothing_has_been_typed_for_a_moment(app, client):
    here = app()
    async with here.run_test() as pilot:
        await write(pilot, "How do I", send=False)
        store = here.services.store
        workspace = str(here.services.root)
        await until(pilot, lambda: store.unsent("", workspace) == Unsent("How do I"))
        await write(pilot, "", send=False)
        await until(pilot, lambda: store.unsent("", workspace) is None)


async def test_each_session_has_its_own(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        first = chat(pilot).conversation.session
        chat(pilot).attach((OUTPUT,))
        await write(pilot, "more about one", send=False)
        chat(pilot).attach((OUTPUT,))
        copy = chat(pilot).services.store.fork(first.id, chat(pilot).conversation.path[-1].id)
        chat(pilot).opening.open(copy)
        assert (prompt(pilot).text, chat(pilot).attached) == ("", ())
        chat(pilot).opening.open(chat(pilot).services.store.session(first.id))
        assert (prompt(pilot).text, chat(pilot).attached) == ("more about one", (OUTPUT,))


async def test_into_a_new_session_text_and_attachments_go_along_and_what_waits_stays(app, client):
    async with app().run_test() as pilot:
        await waiting(pilot, client, "two")
        first = chat(pilot).conversation.session
        chat(pilot).attach((OUTPUT,))
        await write(pilot, "something else", send=False)
        await pilot.press("ctrl+n")
        client.gate.set()
        await until(pilot, lambda: chat(pilot).conversation.session.id == "")
        assert (prompt(pilot).text, chat(pilot).attached) == ("something else", (OUTPUT,))
        assert chat(pilot).conversation.queued == ()
        assert not chat(pilot).query_one(Waiting).display
        chat(pilot).opening.open(chat(pilot).services.store.session(first.id))
        assert prompt(pilot).text == ""
        assert [each.text for each in chat(pilot).conversation.queued] == ["two"]


async def test_an_edit_of_an_earlier_message_is_still_one(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        turn = chat(pilot).conversation.path[0]
        chat(pilot).begin_editing(turn)
        await write(pilot, "one, better", send=False)
        id_ = chat(pilot).conversation.session.id
        await left(pilot)
    async with app(session=id_).run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).text == "one, better")
        assert chat(pilot).editing == turn.id
        await write(pilot, "one, better")
        assert [text for role, text, _ in said(pilot) if role == "user"] == ["one, better"]
        assert len(chat(pilot).conversation.siblings(turn.id)) == 2


def slowly(pilot):
    """Messages that begin with "slow" are measured until this is set."""
    measured, sizes = asyncio.Event(), chat(pilot).sending.sizes

    async def wait(draft):
        if draft.question.startswith("slow"):
            await measured.wait()
        return await sizes(draft)

    chat(pilot).sending.sizes = wait
    return measured


async def enter(pilot, text):
    await write(pilot, text, send=False)
    await pilot.press("enter")
    await pilot.pause(0.1)


async def test_messages_that_are_measured_are_not_lost(app, client):
    async with app().run_test() as pilot:
        slowly(pilot)
        chat(pilot).attach((OUTPUT,))
        await enter(pilot, "slow one")
        await enter(pilot, "two")
        await write(pilot, "and more", send=False)
        assert client.asked == []
        await left(pilot)
    async with app().run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).text == "slow one\ntwo\nand more")
        assert chat(pilot).attached == (OUTPUT,)


async def test_messages_are_sent_in_the_order_they_were_entered_each_with_its_own(app, client):
    async with app().run_test() as pilot:
        measured = slowly(pilot)
        chat(pilot).attach((OUTPUT,))
        await enter(pilot, "slow one")
        assert chat(pilot).attached == ()
        await enter(pilot, "two")
        measured.set()
        await until(pilot, lambda: len(client.asked) == 2)
        await quiet(pilot)
        asked = [turn for turn in chat(pilot).conversation.path if turn.role == "user"]
        assert [(turn.text, turn.attached) for turn in asked] == [("slow one", (OUTPUT,)), ("two", ())]


async def test_escape_takes_a_message_back_that_is_measured(app, client):
    async with app().run_test() as pilot:
        slowly(pilot)
        chat(pilot).attach((OUTPUT,))
        await enter(pilot, "slow one")
        await pilot.press("escape")
        await until(pilot, lambda: prompt(pilot).text == "slow one")
        assert chat(pilot).attached == (OUTPUT,)
        assert client.asked == []


async def test_escape_takes_an_edit_back_that_is_measured(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        measured = slowly(pilot)
        chat(pilot).begin_editing(chat(pilot).conversation.path[0])
        await enter(pilot, "slow, better")
        await pilot.press("escape")
        await until(pilot, lambda: prompt(pilot).text == "slow, better")
        measured.set()
        await quiet(pilot)
        assert (len(client.asked), chat(pilot).editing) == (1, chat(pilot).conversation.path[0].id)


async def test_a_message_that_is_measured_stays_with_its_session(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        first = chat(pilot).conversation.session
        measured = slowly(pilot)
        await enter(pilot, "slow two")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: chat(pilot).conversation.session.id == "")
        measured.set()
        await pilot.pause(0.1)
        assert prompt(pilot).text == ""
        chat(pilot).opening.open(chat(pilot).services.store.session(first.id))
        assert prompt(pilot).text == "slow two"


async def test_what_waits_is_kept_although_the_last_answer_takes_long_to_end(app, client):
    async with app().run_test() as pilot:
        await waiting(pilot, client, "two")
        id_, close = chat(pilot).conversation.session.id, chat(pilot).conversation.close

        async def late():
            await close()
            await asyncio.sleep(0.8)

        chat(pilot).conversation.close = late
        await write(pilot, "x", send=False)
        await left(pilot)
    client.gate.set()
    async with app(session=id_).run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).text == "x")
        assert [each.text for each in chat(pilot).conversation.queued] == ["two"]


async def test_into_a_new_session_that_was_begun_before_both_go(app, client):
    async with app().run_test() as pilot:
        store = chat(pilot).services.store
        session = store.create(str(chat(pilot).services.root), "", "Another")
        await write(pilot, "important", send=False)
        chat(pilot).opening.open(session)
        assert prompt(pilot).text == ""
        await write(pilot, "foo", send=False)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: prompt(pilot).text == "important\nfoo")


async def test_what_is_not_sent_outlives_its_session(app, client):
    async with app().run_test(notifications=True) as pilot:
        await write(pilot, "one")
        await write(pilot, "more", send=False)
        store = chat(pilot).services.store
        store.delete(chat(pilot).conversation.session.id)
        chat(pilot).opening.open(store.create(str(chat(pilot).services.root), "", "Another"))
        await until(pilot, lambda: "deleted in another window" in told(pilot))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: prompt(pilot).text == "more")


async def test_what_cannot_be_kept_is_there_while_the_window_is_open(app, client, monkeypatch):
    def full(*_, **__):
        raise EngineError("the disk is full", "make room")

    async with app().run_test() as pilot:
        await write(pilot, "one")
        session = chat(pilot).conversation.session
        store = chat(pilot).services.store
        other = store.create(str(chat(pilot).services.root), "", "Another")
        monkeypatch.setattr(store, "keep_unsent", full)
        await write(pilot, "more", send=False)
        chat(pilot).opening.open(other)
        assert prompt(pilot).text == ""
        chat(pilot).opening.open(store.session(session.id))
        assert prompt(pilot).text == "more"


async def test_a_message_that_is_taken_back_leaves_what_is_attached(app, client):
    async with app().run_test() as pilot:
        await waiting(pilot, client, "two")
        chat(pilot).attach((OUTPUT,))
        await pilot.press("up")
        await until(pilot, lambda: prompt(pilot).text == "two")
        assert chat(pilot).attached == (OUTPUT,)
        client.gate.set()


async def test_while_an_earlier_message_is_edited_what_waits_is_not_taken_back(app, client):
    async with app().run_test() as pilot:
        await waiting(pilot, client, "two")
        chat(pilot).begin_editing(chat(pilot).conversation.path[0])
        await pilot.press("up")
        await pilot.pause()
        assert [each.text for each in chat(pilot).conversation.queued] == ["two"]
        client.gate.set()


async def test_undo_brings_nothing_back_of_another_session(app, client):
    async with app().run_test() as pilot:
        store = chat(pilot).services.store
        await write(pilot, "of the first", send=False)
        chat(pilot).opening.open(store.create(str(chat(pilot).services.root), "", "Another"))
        await pilot.press("ctrl+z")
        await pilot.pause()
        assert prompt(pilot).text == ""


async def test_an_edit_on_another_branch_is_one_of_that_branch(app, client):
    async with app().run_test() as pilot:
        await write(pilot, "one")
        turn = chat(pilot).conversation.path[0]
        chat(pilot).begin_editing(turn)
        await write(pilot, "one, better")
        chat(pilot).begin_editing(chat(pilot).conversation.path[0])
        edited = chat(pilot).editing
        await write(pilot, "one, best", send=False)
        chat(pilot).conversation.switch(edited, -1)
        id_ = chat(pilot).conversation.session.id
        await left(pilot)
    async with app(session=id_).run_test() as pilot:
        await until(pilot, lambda: prompt(pilot).text == "one, best")
        assert chat(pilot).editing == edited
        assert chat(pilot).conversation.path[0].id == edited


async def test_a_disk_that_is_full_is_told_once(app, client, monkeypatch):
    here = app()

    def full(*_, **__):
        raise EngineError("the disk is full", "make room")

    async with here.run_test(notifications=True) as pilot:
        monkeypatch.setattr(here.services.store, "keep_unsent", full)
        for text in ("a", "b"):
            await write(pilot, text, send=False)
            chat(pilot).keeping.keep()
        assert told(pilot).count("the disk is full") == 1
        await quiet(pilot)


def test_what_waits_is_said_in_a_line_each():
    drafts = [Draft("one\ntwo", (OUTPUT,)), Draft("three"), Draft("four"), Draft("five")]
    assert lines(drafts, 40) == ["next: one two (+ 1 attachment)", "then: three", "then 2 messages more"]
    assert lines(drafts[:1], 80) == ["next: one two (+ 1 attachment) · Up takes the last back"]
    assert all(len(line) <= 12 for line in lines(drafts, 12))
    assert all(len(line) <= 60 for line in lines([Draft("x" * 100)], 60))
    assert lines([], 40) == []
