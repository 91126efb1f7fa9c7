"""What is in the cache is not decoded again, and what a model cannot do is not asked of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.kv import Cells, Slot, SlotTable, common_prefix
from paceline.engine.sequence import Request
from paceline.errors import EngineError
from support.driving import answer, running
from support.fake_backend import FakeBackend

tokens = st.lists(st.integers(0, 2), max_size=12)


@given(tokens, tokens)
def test_the_common_prefix_is_what_comparing_one_by_one_gives(a, b):
    same = 0
    while same < len(a) and same < len(b) and a[same] == b[same]:
        same += 1
    assert common_prefix(a, b) == same == common_prefix(tuple(b), a)


def filled(backend, contents, seq=0):
    slot = Slot(backend, seq, Cells(backend.capabilities.n_ctx))
    if contents:
        slot.decode(contents, outputs=1)
    return slot


@settings(deadline=None)
@given(tokens, tokens.filter(bool), st.booleans(), st.sampled_from([1, 3, 64]))
def test_after_keeping_a_prefix_and_decoding_the_rest_slot_and_cache_hold_the_tokens(held, wanted, partial, n_batch):
    backend = FakeBackend(n_batch=n_batch, partial_removal=partial)
    slot = filled(backend, held)
    same = slot.keep_prefix_of(wanted)
    assert same < len(wanted), "the last token is decoded, for its logits"
    assert slot.tokens == backend.cache[0] == wanted[:same]
    rows = slot.decode(wanted[same:], outputs=1)
    assert slot.tokens == backend.cache[0] == wanted
    assert rows.shape == (1, 8)
    assert (rows[0] == backend.row(wanted)).all()


def test_a_model_that_can_drop_the_tail_keeps_all_that_is_common():
    assert filled(FakeBackend(), [1, 2, 3, 4]).keep_prefix_of([1, 2, 7, 8]) == 2
    assert filled(FakeBackend(), [1, 2, 3, 4]).keep_prefix_of([1, 2, 3, 4]) == 3
    assert filled(FakeBackend(), [1, 2, 3, 4]).keep_prefix_of([1, 2, 3, 4, 5]) == 4


def test_a_model_that_cannot_keeps_all_or_nothing():
    def kept(wanted):
        return filled(FakeBackend(partial_removal=False), [1, 2, 3, 4]).keep_prefix_of(wanted)

    assert kept([1, 2, 3, 4, 5]) == 4
    assert kept([1, 2, 7, 8]) == 0
    assert kept([1, 2, 3, 4]) == 0, "the last token has to be decoded again, and cannot be dropped"


def test_the_slot_that_shares_the_most_is_taken_or_copied_and_of_equals_the_one_that_rested_longest():
    table = SlotTable(FakeBackend(n_seq_max=3))
    first, _ = table.acquire([1, 1])
    first.decode([1, 1, 1], outputs=0)
    second, _ = table.acquire([2, 2])
    second.decode([2, 2, 2], outputs=0)
    third, _ = table.acquire([0])
    for slot in (first, second, third):
        table.release(slot)
    assert table.acquire([2, 2, 2, 0]) == (second, 3)
    assert table.acquire([2, 2, 2, 0]) == (third, 3), "the one at work is copied, into an empty slot"
    assert table.acquire([0, 0])[0] is first, "nothing in common with those left: the oldest"
    with pytest.raises(EngineError, match="in use"):
        table.acquire([1])


def test_a_slot_that_could_not_be_cut_stays_free():
    class Stubborn(FakeBackend):
        def truncate(self, seq, length):
            raise EngineError("cannot")

    table = SlotTable(Stubborn())
    slot, _ = table.acquire([1, 2, 3])
    slot.decode([1, 2, 3], outputs=0)
    table.release(slot)
    with pytest.raises(EngineError, match="cannot"):
        table.acquire([1, 2, 0])
    assert table.acquire([1, 2, 3, 0]) == (slot, 3)


# Through the engine.

LONG = [0, 3, 1, 2, 5, 4, 7, 6] * 10


def test_the_second_request_decodes_only_what_differs_from_the_first():
    model = FakeBackend(n_batch=16)
    with running(model) as engine:
        first = answer(engine, Request(LONG, 5, speculation="off"))
        assert first.stats.cached_tokens == 0
        assert sum(model.decoded) == len(LONG) + 4
        model.decoded.clear()
        second = answer(engine, Request([*LONG[:50], 0, 0, 0], 1, speculation="off"))
    assert second.stats.cached_tokens == 50
    assert sum(model.decoded) == 3


def test_going_on_behind_an_answer_decodes_only_the_new_tokens():
    model = FakeBackend()
    with running(model) as engine:
        first = answer(engine, Request(LONG, 5))
        model.decoded.clear()
        second = answer(engine, Request([*LONG, *first.tokens, 2, 2], 1))
    assert second.stats.cached_tokens == len(LONG) + 4, "the last token of an answer was never decoded"
    assert sum(model.decoded) == 3


def test_rejected_drafts_leave_nothing_in_the_cache():
    target, draft = FakeBackend(), FakeBackend(noise=2.0)
    with running(target, draft) as engine:
        got = answer(engine, Request([1, 2, 3], 60, speculation="draft"))
        assert 0 < got.stats.accepted < got.stats.drafted
    assert target.cache[0] == [1, 2, 3, *got.tokens][: len(target.cache[0])]
    assert len(target.cache[0]) >= 3 + len(got.tokens) - 1


def test_the_draft_models_cache_is_reused_too():
    target, draft = FakeBackend(), FakeBackend(noise=0.2)
    with running(target, draft) as engine:
        first = answer(engine, Request(LONG, 5, speculation="draft"))
        draft.decoded.clear()
        answer(engine, Request([*LONG, *first.tokens, 2], 4, speculation="draft"))
    assert sum(draft.decoded) < 20


@pytest.mark.parametrize("n_batch", [4, 10, 64])
def test_the_borders_of_chunks_do_not_move_with_what_was_cached(n_batch):
    """Another border means another batch size for the same token, and so other last digits of its logits."""
    model = FakeBackend(n_batch=n_batch)
    starts = []
    decode = model.decode

    def watched(spans):
        starts.extend((span.start, span.start + len(span.tokens)) for span in spans)
        return decode(spans)

    model.decode = watched
    with running(model) as engine:
        answer(engine, Request(LONG[:7], 1, speculation="off"))
        starts.clear()
        answer(engine, Request(LONG, 1, speculation="off"))
    assert starts[0][0] == 7
    assert [end for _, end in starts[:-1]] == list(range((7 // n_batch + 1) * n_batch, len(LONG), n_batch))


@pytest.mark.parametrize("speculation", ["auto", "ngram", "draft"])
def test_a_model_that_cannot_drop_tokens_never_speculates_and_the_notes_say_why(speculation):
    model = FakeBackend(partial_removal=False)
    prompt = [1, 2, 3, 1, 2, 3, 1, 2]
    with running(model, FakeBackend()) as engine:
        got = answer(engine, Request(prompt, 30, speculation=speculation))
        again = answer(engine, Request([*prompt, *got.tokens, 4], 5, speculation=speculation))
        other = answer(engine, Request([5, 5], 5, speculation=speculation))
    assert got.stats.drafted == 0
    assert any("recurrent" in note for note in got.stats.notes)
    assert again.stats.cached_tokens == len(prompt) + 29
    assert other.stats.cached_tokens == 0
    with running(FakeBackend()) as engine:
        assert got.tokens == answer(engine, Request(prompt, 30, speculation="off")).tokens
        assert other.tokens == answer(engine, Request([5, 5], 5, speculation="off")).tokens


def test_not_speculating_on_request_needs_no_excuse():
    with running(FakeBackend(partial_removal=False)) as engine:
        assert answer(engine, Request([1], 3, speculation="off")).stats.notes == []


def test_a_draft_model_that_cannot_drop_tokens_is_turned_off_with_a_reason():
    with running(FakeBackend(), FakeBackend(partial_removal=False)) as engine:
        got = answer(engine, Request([1, 2, 3], 30, speculation="draft"))
    assert got.stats.drafted == 0
    assert any("recurrent" in note for note in got.stats.notes)
