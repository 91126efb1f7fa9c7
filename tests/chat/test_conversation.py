"""A conversation without a screen: asking, stopping, branches, what is kept and what the model is shown."""

import asyncio

import pytest

from paceline.chat.conversation import Conversation, Draft
from paceline.chat.happenings import Added, Changed, Grew, Moved, Queued, Told, Working
from paceline.chat.store import Store
from paceline.chat.turns import Attached, Run
from paceline.client.events import End, Loading, Note, Pace, Progress, Text
from paceline.errors import EngineError, InputError
from support.scripted_chat import ScriptedChat


class Talk:
    """A conversation over a real store, and all that happened in it."""

    def __init__(self, tmp_path, engine=None, system="Be brief."):
        self.engine = engine or ScriptedChat()
        self.store = Store(tmp_path / "chat.db")
        self.happened = []
        self.session = self.store.create(str(tmp_path), system)
        self.open()

    def open(self):
        session = self.store.session(self.session.id)
        self.conversation = Conversation(session, self.store, self.engine, self.happened.append)

    def said(self):
        return [(turn.role, turn.text, turn.state) for turn in self.conversation.path]

    def kept(self):
        """The branch that is shown, as the store has it."""
        session = self.store.session(self.session.id)
        known = {turn.id: turn for turn in self.store.turns(session.id)}
        found, at = [], session.leaf
        while at is not None:
            found.insert(0, (known[at].role, known[at].text, known[at].state))
            at = known[at].parent
        return found

    async def ask(self, text, *attached):
        self.conversation.send(Draft(text, tuple(attached)))
        await self.quiet()

    async def quiet(self):
        while self.conversation.answering:
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def until(self, kind):
        while not any(isinstance(each, kind) for each in self.happened):
            await asyncio.sleep(0)

    def told(self, kind):
        return [each for each in self.happened if isinstance(each, kind)]


@pytest.fixture
def talk(tmp_path):
    return lambda engine=None, **more: Talk(tmp_path, engine, **more)


async def test_a_question_is_answered_and_both_are_kept(talk):
    here = talk()
    await here.ask("Hi")
    assert here.said() == [("user", "Hi", "done"), ("assistant", "Hello you.", "done")]
    assert here.kept() == here.said()
    assert here.engine.asked[0].said == [("system", "Be brief."), ("user", "Hi")]


async def test_the_next_prompt_begins_as_the_one_before(talk):
    here = talk()
    await here.ask("Hi", Attached("file", "a.py", "x = 1\n"))
    await here.ask("And?")
    first, second = (each.said for each in here.engine.asked)
    assert second[: len(first)] == first
    assert second[len(first) :] == [("assistant", "Hello you."), ("user", "And?")]


async def test_the_answer_is_told_piece_by_piece(talk):
    here = talk()
    await here.ask("Hi")
    asked, answer = (each.turn for each in here.told(Added))
    assert (asked.role, answer.role, answer.state) == ("user", "assistant", "streaming")
    assert [(each.turn, each.text) for each in here.told(Grew)] == [(answer.id, "Hello "), (answer.id, "you.")]
    assert here.told(Changed)[-1].turn.state == "done"
    assert here.happened[-1] == Working()


async def test_what_the_engine_does_is_told_in_its_order(talk):
    events = [Loading("x"), Progress(1, 4, 300.0), Text("a"), Pace(7, 20.0, 4, 2, 1.5), Note("no draft model")]
    here = talk(ScriptedChat(lambda *_: events))
    await here.ask("Hi")
    kinds = [each.what for each in here.told(Working)]
    assert kinds == ["waiting", "loading", "reading", "writing", "idle"]
    writing = here.told(Working)[3]
    assert (writing.per_second, writing.acceptance, writing.speed_up) == (20.0, 0.5, 1.5)
    assert here.told(Told) == [Told("no draft model")]


async def test_who_drafted_what_is_kept(talk):
    said = [Text("ab", "ngram"), Text("c", "ngram"), Text("d"), End("stop", timings={"rounds": 2}, model="m")]
    here = talk(ScriptedChat(lambda *_: said))
    await here.ask("Hi")
    here.open()
    answer = here.conversation.path[-1]
    assert answer.runs == (Run("ngram", 3), Run("", 1))
    assert (answer.model, answer.timings) == ("m", {"rounds": 2})


@pytest.mark.parametrize("first", [Progress(1, 4, model="m"), Text("a", model="m")])
async def test_whose_answer_it_is_is_kept_and_told_as_soon_as_it_is_known(talk, first):
    here = talk(ScriptedChat(lambda *_: [first, Text("b", model="m"), Text("c", model="m")]))
    here.engine.gate.clear()
    here.conversation.send(Draft("Hi"))
    while not here.told(Changed)[-1:] or not here.told(Changed)[-1].turn.model:
        await asyncio.sleep(0)
    (answer,) = (turn for turn in here.store.turns(here.session.id) if turn.role == "assistant")
    assert (answer.model, answer.state) == ("m", "streaming")
    assert here.told(Changed)[-1].turn.model == "m"
    here.engine.gate.set()
    await here.quiet()
    assert here.kept() == here.said()
    assert here.said()[-1][1:] == ("abc" if isinstance(first, Text) else "bc", "done")


async def test_an_end_that_names_no_model_leaves_the_one_that_is_known(talk):
    here = talk(ScriptedChat(lambda *_: [Text("a", model="m"), Text("b", model="m"), End("stop")]))
    await here.ask("Hi")
    assert here.conversation.path[-1].model == "m"


async def test_an_answer_whose_model_is_known_late_is_kept_whole(talk):
    here = talk(ScriptedChat(lambda *_: [Text("a", "ngram"), Text("b", "ngram", "m"), Text("c", model="n")]))
    await here.ask("Hi")
    here.open()
    answer = here.conversation.path[-1]
    assert (answer.text, answer.runs) == ("abc", (Run("ngram", 2), Run("", 1)))


async def test_stopping_keeps_what_was_said_and_cancels(talk):
    here = talk()
    here.engine.gate.clear()
    here.conversation.send(Draft("Hi"))
    await here.until(Grew)
    here.conversation.stop()
    await here.quiet()
    assert here.engine.asked[0].cancelled
    assert here.kept() == [("user", "Hi", "done"), ("assistant", "Hello ", "stopped")]


async def test_a_stopped_answer_goes_on_in_its_own_place(talk):
    here = talk()
    here.engine.gate.clear()
    here.conversation.send(Draft("Hi"))
    await here.until(Grew)
    here.conversation.stop()
    await here.quiet()
    here.engine.gate.set()
    here.engine.says = lambda *_: ["again."]
    here.conversation.go_on()
    await here.quiet()
    assert here.kept() == [("user", "Hi", "done"), ("assistant", "Hello again.", "done")]
    assert here.engine.asked[1].options.go_on
    assert here.engine.asked[1].said[-1] == ("assistant", "Hello ")


async def test_a_complete_answer_does_not_go_on(talk):
    here = talk()
    await here.ask("Hi")
    with pytest.raises(InputError, match="complete"):
        here.conversation.go_on()


async def test_an_answer_that_was_cut_goes_on(talk):
    here = talk(ScriptedChat(lambda *_: ["part", End("length")]))
    await here.ask("Hi")
    assert here.said()[-1] == ("assistant", "part", "length")
    here.engine.says = lambda *_: [" two"]
    here.conversation.go_on()
    await here.quiet()
    assert here.said()[-1] == ("assistant", "part two", "done")


async def test_messages_wait_for_the_answer_before_them(talk):
    here = talk()
    here.engine.gate.clear()
    for text in ("one", "two", "three"):
        here.conversation.send(Draft(text))
    assert [each.text for each in here.conversation.queued] == ["two", "three"]
    assert here.conversation.unqueue() == Draft("three")
    here.engine.gate.set()
    await here.quiet()
    assert [text for role, text, _ in here.said() if role == "user"] == ["one", "two"]
    assert [each.count for each in here.told(Queued)] == [1, 2, 1, 0]


async def test_what_waits_is_not_sent_after_a_stop(talk):
    here = talk()
    here.engine.gate.clear()
    here.conversation.send(Draft("one"))
    here.conversation.send(Draft("two"))
    await here.until(Grew)
    here.conversation.stop()
    await here.quiet()
    assert [each.text for each in here.conversation.queued] == ["two"]
    assert len(here.engine.asked) == 1


async def test_an_error_is_the_turns_own_and_the_question_can_be_asked_again(talk):
    here = talk(ScriptedChat(error=EngineError("it broke", "ask again")))
    await here.ask("Hi")
    failed = here.conversation.path[-1]
    assert failed.state == "failed"
    assert "it broke" in failed.error
    assert "ask again" in failed.error
    here.engine.error = None
    here.conversation.retry(failed.id)
    await here.quiet()
    assert here.said() == [("user", "Hi", "done"), ("assistant", "Hello you.", "done")]
    assert len(here.conversation.siblings(here.conversation.path[-1].id)) == 2


async def test_an_earlier_message_is_edited_and_the_old_branch_comes_back(talk):
    here = talk()
    await here.ask("one")
    await here.ask("two")
    first = here.conversation.path[0].id
    here.conversation.edit(first, Draft("ONE"))
    await here.quiet()
    assert [text for _, text, _ in here.said()] == ["ONE", "Hello you."]
    here.conversation.switch(here.conversation.path[0].id, -1)
    assert [text for _, text, _ in here.said()] == ["one", "Hello you.", "two", "Hello you."]
    assert here.kept() == here.said()
    here.conversation.switch(here.conversation.path[0].id, -1)
    assert here.said()[0][1] == "one"
    assert here.told(Moved)


async def test_another_answer_stands_beside_the_first(talk):
    here = talk()
    await here.ask("one")
    first = here.conversation.path[-1].id
    here.engine.says = lambda *_: ["Other."]
    here.conversation.retry(first)
    await here.quiet()
    second = here.conversation.path[-1].id
    assert here.conversation.siblings(second) == (first, second)
    assert here.engine.asked[1].said == here.engine.asked[0].said
    assert here.engine.asked[1].options.temperature > 0


async def test_nothing_is_rearranged_while_an_answer_is_written(talk):
    here = talk()
    await here.ask("one")
    here.engine.gate.clear()
    here.conversation.send(Draft("two"))
    first = here.conversation.path[0].id
    for act in (
        lambda: here.conversation.retry(first),
        lambda: here.conversation.edit(first, Draft("x")),
        lambda: here.conversation.switch(first, 1),
        lambda: here.conversation.go_on(),
    ):
        with pytest.raises(InputError, match="while an answer is written"):
            act()
    here.engine.gate.set()
    await here.quiet()


async def test_a_message_after_a_failed_answer_keeps_the_turns_alternating(talk):
    here = talk(ScriptedChat(error=EngineError("it broke", "ask again"), says=lambda *_: []))
    await here.ask("one")
    here.engine.error = None
    await here.ask("two")
    assert here.engine.asked[1].said == [("system", "Be brief."), ("user", "one\n\ntwo")]


async def test_what_is_attached_can_be_quoted(talk):
    here = talk()
    await here.ask("Change it", Attached("file", "a.py", "x = 1\n"), Attached("output", "$ ls", "a.py"))
    assert [(each.filename, each.text) for each in here.engine.asked[0].options.references] == [("a.py", "x = 1\n")]


async def test_closing_stops_and_keeps(talk):
    here = talk()
    here.engine.gate.clear()
    here.conversation.send(Draft("Hi"))
    await here.until(Grew)
    await here.conversation.close()
    assert here.kept()[-1] == ("assistant", "Hello ", "stopped")
    assert here.engine.asked[0].closed


async def test_another_system_prompt_is_used_from_the_next_message_on(talk):
    here = talk(system="")
    await here.ask("one")
    here.conversation.set_system("Be long.")
    await here.ask("two")
    assert here.engine.asked[0].said[0] == ("user", "one")
    assert here.engine.asked[1].said[0] == ("system", "Be long.")


async def shortened(here):
    """Two questions, of which a summary stands for the first."""
    await here.ask("one")
    await here.ask("two")
    here.conversation.forget(2, "They greeted.")


async def test_older_turns_can_be_left_out_from_the_next_message_on(talk):
    here = talk()
    await shortened(here)
    assert here.conversation.forgotten(here.conversation.path) == (2, "They greeted.")
    await here.ask("three")
    here.open()
    await here.ask("four")
    for asked in here.engine.asked[2:]:
        (_, system), second, *_ = asked.said
        assert system.startswith("Be brief.")
        assert system.endswith("They greeted.")
        assert second == ("user", "two")


async def test_a_branch_from_before_still_has_all_of_its_turns(talk):
    here = talk()
    await shortened(here)
    await here.ask("three")
    here.conversation.edit(here.conversation.path[2].id, Draft("two"))
    await here.quiet()
    assert here.engine.asked[3].said == here.engine.asked[1].said


async def test_another_answer_goes_without_what_was_left_out(talk):
    here = talk()
    await shortened(here)
    here.conversation.retry(here.conversation.path[3].id)
    await here.quiet()
    (_, system), second = here.engine.asked[2].said
    assert system.endswith("They greeted.")
    assert second == ("user", "two")


async def test_all_of_a_conversation_can_be_left_out(talk):
    here = talk()
    await here.ask("one")
    here.conversation.forget(2, "They greeted.")
    await here.ask("two")
    (_, system), second = here.engine.asked[1].said
    assert system.endswith("They greeted.")
    assert second == ("user", "two")


async def test_what_is_left_out_is_kept_at_once(talk):
    here = talk()
    await shortened(here)
    assert here.told(Changed)[-1].turn.summary == "They greeted."
    here.open()
    assert here.conversation.forgotten(here.conversation.path) == (2, "They greeted.")


async def test_nothing_is_left_out_while_an_answer_is_written(talk):
    here = talk()
    await here.ask("one")
    here.engine.gate.clear()
    here.conversation.send(Draft("two"))
    with pytest.raises(InputError):
        here.conversation.forget(2, "They greeted.")
    here.engine.gate.set()
    await here.quiet()


async def test_messages_that_waited_before_wait_on(talk):
    here = talk()
    conversation = Conversation(here.session, here.store, here.engine, here.happened.append, [Draft("two")])
    assert [each.text for each in conversation.queued] == ["two"]
    conversation.send(Draft("one"))
    while conversation.answering:
        await asyncio.sleep(0)
    assert [turn.text for turn in conversation.path if turn.role == "user"] == ["one", "two"]


async def test_what_was_left_out_stays_left_out_when_another_branch_was_looked_at(talk):
    here = talk()
    await here.ask("one")
    await here.ask("two")
    first = here.conversation.path[0].id
    here.conversation.forget(2, "They greeted.")
    here.conversation.edit(first, Draft("ONE"))
    await here.quiet()
    here.conversation.switch(here.conversation.path[0].id, -1)
    assert here.conversation.forgotten(here.conversation.path) == (2, "They greeted.")


async def test_what_was_done_beside_it_is_a_part_of_the_conversation(talk):
    here = talk()
    here.conversation.note("/edit a.py rename", "Changed a.py.")
    await here.ask("And now?")
    assert here.engine.asked[0].said[1:3] == [("user", "/edit a.py rename"), ("assistant", "Changed a.py.")]
    assert here.kept()[:2] == [("user", "/edit a.py rename", "done"), ("assistant", "Changed a.py.", "done")]


async def test_what_was_done_beside_it_is_kept_with_the_figures_that_it_took(talk):
    here = talk()
    here.conversation.note("/edit a.py rename", "Changed a.py.", End("stop", timings={"predicted_n": 9}, model="m"))
    (answer,) = (turn for turn in here.store.turns(here.session.id) if turn.role == "assistant")
    assert (answer.model, answer.timings) == ("m", {"predicted_n": 9})
