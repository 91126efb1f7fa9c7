"""What the engine promises to any drafter: it sees what was decoded, may look at hidden states, and may fail."""

import numpy as np
import pytest

from paceline.engine.acceptance import bucket
from paceline.engine.drafters.base import Drafter, Proposal
from paceline.engine.drafters.team import Team
from paceline.engine.sequence import Request
from paceline.errors import EngineError, ResourceError
from support.driving import answer, branching_engine
from support.fake_backend import FakeBackend

PROMPT = [1, 2, 3, 1, 2]


class Fixed(Drafter):
    """Proposes the same tokens over and over, keeps what it is shown."""

    name = "fixed"

    def __init__(self, tokens, parents=(), *, error=None, hidden=False):
        self.tokens, self.parents, self.error, self.needs_hidden = tokens, parents, error, hidden
        self.asked, self.seen, self.heard, self.closed = 0, [], [], 0

    def extend(self, tokens):
        self.heard.extend(tokens)

    def propose(self, limit, worth):
        self.asked += 1
        if self.error is not None and self.asked > 3:
            raise self.error
        tokens = self.tokens[:limit]
        keys = [bucket("copy", 24)] * len(tokens)
        return (Proposal(self.name, tokens, keys, parents=self.parents[:limit]),)

    def see(self, outcome):
        hidden = None if outcome.hidden is None else outcome.hidden.copy()
        self.seen.append((outcome.draft, outcome.rows.copy(), hidden, list(outcome.path)))

    def close(self):
        self.closed += 1


def played(monkeypatch, drafters, tokens=40, **how):
    monkeypatch.setattr(Team, "drafters", lambda team, request, stats: drafters)
    for drafter in drafters:
        drafter.extend(PROMPT)
    engine = branching_engine(FakeBackend(8, n_seq_max=8), FakeBackend(8))
    got = answer(engine, Request(PROMPT, tokens, **how))
    engine.close()
    return got


def plain(tokens=40):
    engine = branching_engine(FakeBackend(8), FakeBackend(8))
    got = answer(engine, Request(PROMPT, tokens, speculation="off"))
    engine.close()
    return got


@pytest.mark.parametrize("parents", [(), [-1, -1, 0]], ids=["chain", "tree"])
def test_it_is_told_every_token_and_shown_the_rows_of_every_round(monkeypatch, parents):
    drafter = Fixed([1, 2, 3], parents)
    got = played(monkeypatch, [drafter])
    assert drafter.heard == [*PROMPT, *got.tokens]
    assert drafter.closed == 1
    model, at = FakeBackend(8), len(PROMPT)
    for draft, rows, hidden, path in drafter.seen:
        assert hidden is None
        assert rows.shape == (1 + len(draft.tokens), 8)
        assert (rows[0] == model.row(drafter.heard[:at])).all()
        at += len(path) + 1
    assert any(draft.tokens for draft, *_ in drafter.seen)


@pytest.mark.parametrize("parents", [(), [-1, -1, 0]], ids=["chain", "tree"])
def test_one_that_needs_hidden_states_gets_those_of_the_rows_it_sees(monkeypatch, parents):
    expected = plain().tokens
    drafter = Fixed([1, 2, 3], parents, hidden=True)
    got = played(monkeypatch, [drafter])
    assert got.tokens == expected
    at = len(PROMPT)
    for _, rows, hidden, path in drafter.seen:
        assert hidden.shape == (len(rows), 2)
        np.testing.assert_array_equal(hidden[0], drafter.heard[at - 2 : at])
        at += len(path) + 1


@pytest.mark.parametrize("error", [EngineError("the file is broken"), ResourceError("out of memory")], ids=type)
def test_one_that_fails_is_turned_off_with_a_note_and_the_others_and_the_answer_go_on(monkeypatch, error):
    expected = plain().tokens
    failing, other = Fixed([1], error=error), Fixed([2])
    other.name = "other"
    got = played(monkeypatch, [failing, other])
    assert got.tokens == expected
    assert (failing.asked, failing.closed) == (4, 1)
    assert other.asked > 10
    assert got.stats.notes == [f"drafter 'fixed' turned off: {error.message}"]


def test_drafts_of_several_drafters_are_told_apart_in_the_figures(monkeypatch):
    first, second = Fixed([1, 2]), Fixed([2, 1])
    second.name = "second"
    got = played(monkeypatch, [first, second], tokens=200)
    assert set(got.stats.drafters) == {"fixed", "second"}
    assert got.stats.drafted == sum(each.drafted for each in got.stats.drafters.values())


def test_deltas_say_who_drafted_them_where_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(Team, "drafters", lambda team, request, stats: [Fixed([1, 2, 3])])
    engine = branching_engine(FakeBackend(8, n_seq_max=8), FakeBackend(8))
    for wanted in (True, False):
        events = list(engine.submit(Request(PROMPT, 60, tell_drafts=wanted)))
        told = [event.drafter for event in events[:-1] if hasattr(event, "drafter")]
        assert set(told) == ({"", "fixed"} if wanted else {""})
        if wanted:
            assert told.count("fixed") == events[-1].stats.accepted
    engine.close()
