"""What of an answer cannot be kept at first is kept later, whole; and one window writes it."""

import asyncio
import contextlib
import sqlite3

import pytest

from paceline.chat import conversation as conversations
from paceline.chat import persisting
from paceline.chat.conversation import Conversation
from paceline.chat.database import LockedError
from paceline.chat.happenings import Changed, Told
from paceline.chat.store import Store
from paceline.chat.turns import Draft, Run
from paceline.client.events import End, Text
from paceline.errors import InputError
from support.scripted_chat import ScriptedChat
from support.written_turns import answer, user

WRITTEN = "in another window"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr("paceline.chat.store.BRIEFLY", 0.01)
    monkeypatch.setattr("paceline.chat.answering.KEPT_EVERY", 0.0)
    monkeypatch.setattr(persisting, "EVERY", 0.01)
    return tmp_path / "chat.db"


class Writer:
    """Another process that writes for a long time: from `begin` to `end`."""

    def __init__(self, file):
        self._connection = sqlite3.connect(file, isolation_level=None)

    def begin(self):
        self._connection.execute("BEGIN IMMEDIATE")

    def end(self):
        self._connection.execute("ROLLBACK")

    def close(self):
        self._connection.close()


@pytest.fixture
def writer(file):
    Store(file).close()
    with contextlib.closing(Writer(file)) as other:
        yield other


class Doing:
    """In the place of an event: something is done when the answer is so far."""

    def __init__(self, *says):
        self._says = says

    async def chat(self, messages, options=None, cancel=None):
        for each in self._says:
            if callable(each):
                each()
            else:
                yield each


def talk(file, engine, store=None):
    store = store or Store(file)
    session = store.create("/work")
    told = []
    return Conversation(session, store, engine, told.append), store, told


def begun(file):
    """An answer that has begun, in a store that is open."""
    store = Store(file)
    session = store.create("/work")
    return store, session, store.add(session.id, answer("", None, "streaming"))


async def over(conversation):
    while conversation.answering:
        await asyncio.sleep(0)


def as_others_see_it(file, session):
    """The answer as it would be after a crash: without what this process still holds."""
    with contextlib.closing(Store(file)) as other:
        return other.turns(session)[-1]


async def test_a_piece_that_could_not_be_kept_is_kept_with_the_next_one(file, writer):
    seen = []
    here, _, _ = talk(
        file,
        Doing(
            Text("one ", "ngram"),
            writer.begin,
            Text("two ", "ngram"),
            Text("three "),
            writer.end,
            Text("four "),
            lambda: seen.append(as_others_see_it(file, here.session.id)),
            Text("five"),
            End("stop"),
        ),
    )
    here.send(Draft("Hi"))
    await over(here)
    assert seen[0].text == "one two three four "
    assert seen[0].runs == (Run("ngram", 8), Run("", 11))
    assert as_others_see_it(file, here.session.id).text == "one two three four five"


async def test_who_answers_is_kept_with_the_text_before_it(file, writer):
    here, _, _ = talk(
        file, Doing(Text("one "), writer.begin, Text("two ", model="m"), writer.end, Text("three"), Text("!"))
    )
    here.send(Draft("Hi"))
    await over(here)
    kept = as_others_see_it(file, here.session.id)
    assert (kept.text, kept.model) == ("one two three!", "m")


async def test_an_end_that_could_not_be_kept_is_kept_as_soon_as_it_can_be(file, writer):
    here, store, _ = talk(file, Doing(Text("all of it"), writer.begin, End("stop")))
    here.send(Draft("Hi"))
    await over(here)
    assert store.owing
    writer.end()
    while store.owing:
        await asyncio.sleep(0.01)
    kept = as_others_see_it(file, here.session.id)
    assert (kept.text, kept.state) == ("all of it", "done")


async def test_an_end_that_could_not_be_kept_is_kept_at_leaving(file, writer, monkeypatch):
    monkeypatch.setattr(persisting, "EVERY", 3600.0)
    here, _, _ = talk(file, Doing(Text("all of it"), writer.begin, End("stop")))
    here.send(Draft("Hi"))
    await over(here)
    writer.end()
    await here.close()
    kept = as_others_see_it(file, here.session.id)
    assert (kept.text, kept.state) == ("all of it", "done")


def test_what_is_owed_is_kept_when_the_store_is_closed(file, writer):
    store, session, turn = begun(file)
    writer.begin()
    for text in ("one ", "two"):
        with pytest.raises(LockedError):
            store.append(turn.id, text, [Run("", len(text))])
    writer.end()
    store.close()
    kept = as_others_see_it(file, session.id)
    assert (kept.text, kept.state) == ("one two", "stopped")


def test_what_is_owed_is_there_when_the_session_is_opened_again(file, writer):
    store, session, turn = begun(file)
    writer.begin()
    with pytest.raises(LockedError):
        store.append(turn.id, "one", [])
    writer.end()
    assert store.turns(session.id)[0].text == "one"


def test_what_is_owed_to_a_session_that_was_deleted_is_forgotten(file, writer):
    (store, session, turn), other = begun(file), Store(file)
    writer.begin()
    with pytest.raises(LockedError):
        store.append(turn.id, "one", [])
    writer.end()
    other.delete(session.id)
    store.add(store.create("/work").id, user("Hi"))
    assert not store.owing


async def test_another_process_that_writes_for_a_moment_is_not_worth_a_word(file, writer):
    here, _, told = talk(file, Doing(Text("a"), writer.begin, Text("b"), writer.end, Text("c"), End("stop")))
    here.send(Draft("Hi"))
    await over(here)
    assert not [each for each in told if isinstance(each, Told)]


async def test_one_that_writes_for_long_is_said_once_and_its_end_too(file, writer):
    letters = [Text(each) for each in "bcdefg"]
    here, _, told = talk(file, Doing(Text("a"), writer.begin, *letters, writer.end, Text("h"), End("stop")))
    here.send(Draft("Hi"))
    await over(here)
    said = [each for each in told if isinstance(each, Told)]
    assert ["not kept yet" in each.text for each in said] == [True, False]
    assert [each.error for each in said] == [True, False]


async def test_that_the_session_was_deleted_in_another_window_is_said_once(file):
    other = Store(file)
    letters = [Text(each) for each in "bcdefg"]
    here, store, told = talk(file, Doing(Text("a"), lambda: other.delete(here.session.id), *letters, End("stop")))
    here.send(Draft("Hi"))
    await over(here)
    (said,) = [each for each in told if isinstance(each, Told)]
    assert "deleted in another window" in said.text
    assert not store.owing


async def test_an_answer_that_another_window_writes_does_not_go_on_here(file):
    engine = ScriptedChat(lambda *_: ["begun ", "and ended"])
    engine.gate.clear()
    here, _, _ = talk(file, engine)
    here.send(Draft("Hi"))
    while not here.path[-1:] or here.path[-1].text != "begun ":
        await asyncio.sleep(0)
    other = Store(file)
    there = Conversation(other.session(here.session.id), other, ScriptedChat(lambda *_: ["nonsense"]), [].append)
    with pytest.raises(InputError, match=WRITTEN):
        there.go_on()
    assert not there.answering
    engine.gate.set()
    await over(here)
    assert as_others_see_it(file, here.session.id).text == "begun and ended"
    with pytest.raises(InputError, match="complete"):
        there.go_on()
    assert there.path[-1].text == "begun and ended"


async def test_an_answer_goes_on_from_where_another_window_has_stopped(file):
    here, _, _ = talk(file, ScriptedChat(lambda *_: ["one", End("length")]))
    here.send(Draft("Hi"))
    await over(here)
    other, told = Store(file), []
    engine = ScriptedChat(lambda *_: [" three"])
    there = Conversation(other.session(here.session.id), other, engine, told.append)
    here._engine = ScriptedChat(lambda *_: [" two", End("length")])
    here.go_on()
    await over(here)
    there.go_on()
    await over(there)
    assert as_others_see_it(file, here.session.id).text == "one two three"
    assert next(each.turn.text for each in told if isinstance(each, Changed)) == "one two"


def test_the_store_lets_one_process_write_an_answer(file):
    store, other = Store(file), Store(file)
    session = store.create("/work")
    turn = store.add(session.id, answer("mine", None, "streaming"))
    for act in (lambda: other.update(turn), lambda: other.append(turn.id, "x", [])):
        with pytest.raises(InputError, match=WRITTEN):
            act()
    assert not other.owing
    store.close()
    other.update(turn)
    assert other.turns(session.id)[0].state == "streaming"


async def test_an_engine_that_hangs_is_left_and_nothing_is_told_afterwards(file, monkeypatch):
    class Hanging:
        async def chat(self, messages, options=None, cancel=None):
            yield Text("a")
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

    ended = []
    monkeypatch.setattr(conversations, "ENDING", 0.01)
    here, store, told = talk(file, Hanging())
    here.send(Draft("Hi"))
    while not here.path[-1].text:
        await asyncio.sleep(0)
    await here.close()
    assert ended and not here.answering
    assert store.turns(here.session.id)[-1].state == "stopped"
    before = len(told)
    here._changed(here.path[-1])
    assert len(told) == before
