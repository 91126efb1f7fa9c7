"""Drafts through text: the committed text is read with other tokens, the draft's text is written with the target's."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.engine.acceptance import sureness
from paceline.engine.costs import CostCurve, CostModel
from paceline.engine.drafters.model import DraftModel, ModelDrafter
from paceline.engine.drafters.universal import (
    CONTEXT,
    OPEN,
    UNSURE,
    Reading,
    Saying,
    UniversalDrafter,
    continuation,
    counterparts,
    ending,
)
from paceline.engine.sampler import SamplerSettings
from paceline.engine.vocabulary import FimTokens
from paceline.errors import EngineError
from support.fake_backend import FakeBackend
from support.text_vocabulary import BYTES, Reciter, text_vocabulary

WORDS = ("the", " the", "th", " quick", "qu", "ick", " fox", "\n    ", "  ", "return", " return", "é", "世", "界", "🚀")
TARGET = text_vocabulary([*BYTES, *WORDS[::2], "ab", "bc"], ("<end>", "<turn>", "<only>"))
DRAFT = text_vocabulary([*WORDS[1::2], *BYTES[::-1], "abc", "b"], ("<turn>", "<end>", "<mine>"))
GREEDY = SamplerSettings(temperature=0.0)


def read(tokens, target=TARGET, draft=DRAFT):
    reading = Reading(target, draft)
    reading.extend(tokens)
    return reading


def texts(tokens, vocabulary=DRAFT):
    """What tokens stand for, control tokens by their names."""
    return [vocabulary.piece(token).decode("utf-8", "replace") or vocabulary.read_text(token) for token in tokens]


def drafter(backend, seen, target=TARGET):
    made = UniversalDrafter(DraftModel(lambda: backend, universal=True), target)
    made.extend(seen)
    return made


def draft(made, limit=5, worth=lambda _: True):
    """The one proposal."""
    (proposal,) = made.propose(limit, worth)
    return proposal


# --- reading ----------------------------------------------------------------------------------------------------------

TOKENS = st.lists(st.integers(0, TARGET.n_tokens - 1), max_size=40)


@settings(deadline=None)
@given(st.text(alphabet="the quick\n fox世界🚀éab", max_size=120), st.integers(1, 7))
def test_however_a_text_comes_it_reads_as_the_tokenizer_would_read_it_at_once(text, step):
    tokens, reading = TARGET.encode(text), Reading(TARGET, DRAFT)
    for start in range(0, len(tokens), step):
        reading.extend(tokens[start : start + step])
        reading.tokens()
    assert list(reading.tokens()) == DRAFT.encode(text)


@given(TOKENS)
def test_whatever_tokens_come_their_text_is_read_but_for_a_character_that_is_not_complete(tokens):
    tokens = [token for token in tokens if token not in TARGET.control]
    reading = read(tokens)
    said = b"".join(map(TARGET.piece, tokens))
    known = b"".join(map(DRAFT.piece, reading.tokens()))
    assert (known + reading.held).decode("utf-8", "replace") == said.decode("utf-8", "replace")
    assert len(reading.held) < 4


@pytest.mark.parametrize("text", ["the quick fox " * 400, "世界" * 2000, "x" * 5000, "\n" * 3000], ids=len)
@pytest.mark.parametrize("how", ["words", "bytes", "spaced"])
def test_of_a_long_text_only_the_end_is_read_again(text, how):
    draft = text_vocabulary(BYTES if how == "bytes" else [*WORDS, *BYTES], space=how == "spaced")
    given_to_it = []
    counting = replace(draft, encoder=lambda text, special, bos: given_to_it.append(text) or draft.encode(text))
    reading, tokens = Reading(TARGET, counting), TARGET.encode(text)
    reading.extend(tokens[:-90])
    reading.tokens()
    for token in tokens[-90:]:
        given_to_it.clear()
        reading.extend([token])
        reading.tokens()
        assert sum(map(len, given_to_it)) <= 12 * OPEN
    assert list(reading.tokens()) == draft.encode(text)


def test_a_text_is_parted_where_a_word_begins():
    """Some tokenizers look at whole words: this one takes letters in pairs in every word of even length."""
    pairs = [a + b for a in " abc" for b in "abc"]
    both, letters = text_vocabulary([*pairs, " ", *"abc"]), text_vocabulary([" ", *"abc"])

    def encode(text, special, bos):
        found = []
        for word in re.findall(" ?[^ ]+", text):
            if len(word) % 2 == 0:
                found += both.encode(word)
            else:
                found += [both.pieces.index(letters.piece(token)) for token in letters.encode(word)]
        return found

    draft = replace(both, encoder=encode)
    lengths = np.random.default_rng(1).integers(1, 9, 300)
    text = "".join(" " + "abcabcabc"[:length] for length in lengths)
    reading = Reading(TARGET, draft)
    for token in TARGET.encode(text):
        reading.extend([token])
        reading.tokens()
    assert list(reading.tokens()) == draft.encode(text)


@pytest.mark.parametrize(
    "text", ["the quick fox", " the quick", "the  quick\n\n    return the", "世界 the 世界", "x" * 300, "\n" * 300]
)
def test_a_tokenizers_own_space_stands_only_where_a_text_begins(text):
    draft = text_vocabulary([*WORDS, "ax", "\n\n", *BYTES], space=True)
    reading = Reading(TARGET, draft)
    for token in TARGET.encode(text * 9):
        reading.extend([token])
        reading.tokens()
    assert b"".join(map(draft.piece, reading.tokens())) == b" " + (text * 9).encode()


def test_control_tokens_become_those_of_the_same_name_and_others_nothing():
    prompt = TARGET.encode("<turn>the fox<end>\n<turn>th<only>e", special=True)
    assert "".join(texts(read(prompt).tokens())) == "<turn>the fox<end>\n<turn>the"
    reading = Reading(TARGET, DRAFT)
    for token in prompt:
        reading.extend([token])
        reading.tokens()
    assert "".join(texts(reading.tokens())) == "<turn>the fox<end>\n<turn>the"


def test_names_of_control_tokens_that_stand_in_the_text_stay_text():
    assert not DRAFT.control.intersection(read(TARGET.encode("<turn>")).tokens())


def test_ends_and_marks_of_infilling_are_known_by_what_they_are_for():
    ours = text_vocabulary(BYTES, ("<eot>", "<pre>", "<suf>", "<mid>"), fim=FimTokens(257, 258, 259))
    theirs = text_vocabulary(BYTES, ("<end>", "<m>", "<p>", "<s>"), fim=FimTokens(258, 259, 257))
    assert counterparts(ours, theirs) == {256: 256, 257: 258, 258: 259, 259: 257}
    assert not read(ours.encode("<pre>a<suf>b<mid>", special=True), ours, theirs).lost


def test_a_text_with_a_hole_is_lost_on_a_draft_that_cannot_infill():
    ours = text_vocabulary(BYTES, ("<end>", "<pre>", "<suf>", "<mid>"), fim=FimTokens(257, 258, 259))
    prompt = ours.encode("<pre>a<suf>b<mid>", special=True)
    assert read(prompt, ours).lost
    assert drafter(Reciter(DRAFT, "ab and more"), prompt, ours).propose(5, lambda _: True) == ()


def test_a_text_with_a_hole_is_lost_on_a_draft_that_wants_its_parts_in_another_order():
    ours = text_vocabulary(BYTES, ("<end>", "[PREFIX]", "[SUFFIX]"), fim=FimTokens(257, 258, None, suffix_first=True))
    theirs = text_vocabulary(BYTES, ("<end>", "<pre>", "<suf>", "<mid>"), fim=FimTokens(257, 258, 259))
    prompt = ours.encode("[SUFFIX]b[PREFIX]a", special=True)
    assert read(prompt, ours, theirs).lost
    assert not read(prompt, ours, ours).lost


def test_each_model_begins_a_text_with_its_own_token_once():
    begins = text_vocabulary(BYTES, ("<end>", "<bos>"), bos="<bos>")
    assert texts(read(TARGET.encode("ab"), draft=begins).tokens(), begins) == ["<bos>", "a", "b"]
    prompt = begins.encode("<bos>ab", special=True)
    assert texts(read(prompt, begins, begins).tokens(), begins) == ["<bos>", "a", "b"]
    assert texts(read(prompt, begins).tokens()) == ["a", "b"]


def test_bytes_that_are_no_text_are_read_as_a_sign_for_that():
    reading = read([*TARGET.encode("a"), 0xFF, 0xC3, *TARGET.encode("b<turn>", special=True), 0xE4])
    assert b"".join(map(DRAFT.piece, reading.tokens())).decode() == "a\ufffd\ufffdb"
    assert reading.held == b"\xe4"
    reading.extend(TARGET.encode("<turn>", special=True))
    assert texts(reading.tokens()[-3:])[-1] == "<turn>" and reading.held == b""


# --- writing ----------------------------------------------------------------------------------------------------------


def written(parts, before="", *, held=b"", end=None, target=TARGET):
    saying = Saying(target, target.encode(before) + [target.encode("\0")[0] + each for each in held], held)
    for piece, chance in parts:
        saying.say(piece.encode() if isinstance(piece, str) else piece, chance)
    if end is not None:
        saying.end(*end)
    tokens, buckets = saying.written()
    return texts(tokens, target), [level for _, level in buckets]


def test_the_targets_tokens_stand_for_the_drafts_text_byte_for_byte():
    parts = [(" qu", 1.0), ("ick th", 1.0), ("e fox\n  ", 1.0)]
    assert "".join(written(parts, "the")[0]) == " quick the fox\n  "


def test_a_text_goes_on_where_the_committed_tokens_end():
    assert TARGET.encode("abc") == TARGET.encode("ab") + TARGET.encode("c")
    assert written([("c", 1.0)], "xab")[0] == ["c"]
    assert TARGET.encode("xabc")[1:] != TARGET.encode("a") + TARGET.encode("bc")
    assert written([("bc", 1.0)], "xa")[0] == ["bc"], "a token that reaches across the border cannot be had any more"


def test_no_token_is_proposed_where_the_rest_of_a_character_has_none_of_its_own():
    whole = text_vocabulary(["世", *(bytes([byte]) for byte in "世".encode()[:2])])
    saying = Saying(whole, [1, 2], "世".encode()[:2])
    saying.say("世".encode(), 1.0)
    assert saying.written() == ([], [])


def test_what_was_committed_may_begin_and_end_within_characters():
    rocket, world = "🚀".encode(), "世".encode()
    saying = Saying(text_vocabulary(BYTES), [*world[1:], *b"a", *rocket[:2]], rocket[:2])
    saying.say(rocket, 1.0)
    assert bytes(saying.written()[0]) == rocket[2:]


def test_a_tokenizer_that_changes_a_text_writes_nothing():
    lower = replace(TARGET, encoder=lambda text, special, bos: TARGET.encode(text.lower()))
    assert continuation(lower, b"a ", b"b") == TARGET.encode("b")
    assert continuation(lower, b"a ", b"B") is None


@settings(deadline=None)
@given(
    st.text(alphabet="the quickfox\n世éab", max_size=30), st.text(alphabet="the quick\n世é🚀b", min_size=1, max_size=30)
)
def test_a_continuation_is_what_it_says_or_nothing(before, text):
    tokens = continuation(TARGET, before.encode(), text.encode())
    if tokens is not None:
        assert b"".join(map(TARGET.piece, tokens)) == text.encode()
    assert continuation(TARGET, b"", text.encode()) == TARGET.encode(text)


def test_a_token_is_as_likely_as_all_that_the_draft_said_for_it():
    target = text_vocabulary(["quick", *BYTES])
    parts = [("qu", 0.8), ("ick", 0.4), ("x!", 0.65), ("?", 1.0), (".", 1.0)]
    tokens, levels = written(parts, "a", target=target)
    assert tokens == ["quick", "x", "!", "?", "."]
    assert levels == [sureness(chance) for chance in (0.8 * 0.4, 0.65, 0.65, 1.0, UNSURE)]
    assert len(set(levels)) == 4


def test_the_last_token_is_trusted_less_unless_the_answer_ends_with_it():
    sure = [("a", 1.0), ("!", 1.0)]
    assert written(sure) == (["a", "!"], [sureness(1.0), sureness(UNSURE)])
    assert sureness(UNSURE) < sureness(1.0)
    levels = [sureness(chance) for chance in (1.0, 1.0, 0.5)]
    assert written(sure, end=(TARGET.eos, 0.5)) == (["a", "!", "<end>"], levels)


def test_half_of_a_character_waits_for_the_other():
    rocket = "🚀".encode()
    assert written([("a", 1.0), (rocket[:2], 1.0)])[0] == ["a"]
    assert written([("a", 1.0), (rocket[:2], 1.0), (rocket[2:], 1.0)])[0] == ["a", "🚀"]
    assert written([("a", 1.0), (rocket[:2], 1.0)], end=(TARGET.eos, 1.0))[0] == ["a"], "nor does it end an answer"


def test_nothing_is_written_of_bytes_that_are_no_text():
    assert written([("a", 1.0), (b"\xff", 1.0), ("b", 1.0)])[0] == ["a"]


def test_an_answer_ends_with_the_targets_token_for_it():
    assert ending(TARGET, DRAFT, DRAFT.n_tokens - 2) == TARGET.eos, "of the same name"
    assert ending(TARGET, DRAFT, DRAFT.n_tokens - 3) == TARGET.eos, "of another name"
    assert ending(replace(TARGET, end_of_generation=frozenset()), DRAFT, DRAFT.n_tokens - 3) is None


# --- drafting ---------------------------------------------------------------------------------------------------------

TEXT = "the quick fox\n    return the 世界🚀 é then quick the fox returned and the fox"


@pytest.mark.parametrize("at", range(len(TARGET.encode(TEXT)) - 4))
def test_a_draft_that_knows_the_text_drafts_what_the_target_will_say(at):
    """Also where the target has said only some bytes of a character. The last word may go on, and be cut otherwise."""
    tokens = TARGET.encode(TEXT)
    found = draft(drafter(Reciter(DRAFT, TEXT), tokens[:at] or TARGET.encode("<turn>", special=True)), 4).tokens
    said, rest = (b"".join(map(TARGET.piece, each)) for each in (found, tokens[at:]))
    assert rest.startswith(said)
    same = next((i for i, (a, b) in enumerate(zip(found, tokens[at:], strict=False)) if a != b), len(found))
    assert b" " not in b"".join(map(TARGET.piece, found[same:]))[1:]


def test_a_model_through_its_own_text_drafts_as_it_does_by_its_tokens():
    """Of single letters, so that nothing can be cut otherwise."""
    by_tokens = ModelDrafter(DraftModel(FakeBackend), GREEDY, shared_noise=False)
    through_text = drafter(FakeBackend(), [1, 2, 3], FakeBackend().vocabulary)
    by_tokens.extend([1, 2, 3])
    expected, found = draft(by_tokens, 6), draft(through_text, 6)
    assert list(found.tokens) == list(expected.tokens)
    assert list(found.buckets[:-1]) == list(expected.buckets[:-1])
    assert found.drawn_from is None, "a point mass"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=6), st.integers(1, 6))
def test_after_any_outcome_it_drafts_what_a_fresh_one_would(committed, limit):
    target, seen = FakeBackend().vocabulary, [1, 2, 3]
    made = drafter(FakeBackend(), seen, target)
    for tokens in committed:
        made.propose(limit, lambda _: True)
        made.extend(tokens)
        seen = seen + tokens
    fresh = drafter(FakeBackend(), seen, target)
    assert draft(made, limit).tokens == draft(fresh, limit).tokens


def test_only_what_is_new_is_decoded():
    backend, tokens = Reciter(DRAFT, TEXT), TARGET.encode(TEXT)
    made = drafter(backend, tokens[:6])
    first = draft(made, 3).tokens
    backend.decoded.clear()
    made.extend(first)
    draft(made, 1)
    assert sum(backend.decoded) <= 3


def test_it_stops_where_one_more_is_not_worth_it():
    asked = []

    def worth(buckets):
        asked.append(list(buckets))
        return len(buckets) < 3

    proposal = draft(drafter(Reciter(DRAFT, "abcdefgh" * 4), TARGET.encode("abc")), 9, worth)
    assert len(proposal.tokens) == len(proposal.buckets) == len(asked[-1])
    assert 3 <= len(asked[-1]) <= 4
    assert all(len(a) <= len(b) for a, b in pairwise(asked))


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_it_drafts_no_more_than_is_wanted(limit):
    found = drafter(Reciter(DRAFT, TEXT), TARGET.encode(TEXT)[:3]).propose(limit, lambda _: True)
    assert sum(len(proposal.tokens) for proposal in found) == limit


def test_the_end_of_its_answer_is_drafted_as_the_targets_and_nothing_after_it():
    proposal = draft(drafter(Reciter(DRAFT, "the fox"), TARGET.encode("the")), 9)
    assert texts(proposal.tokens, TARGET)[-2:] == ["x", "<end>"] or texts(proposal.tokens, TARGET)[-1] == "<end>"
    assert b"".join(map(TARGET.piece, proposal.tokens)) == b" fox"


def test_a_control_token_in_the_middle_of_an_answer_ends_the_draft():
    backend = Reciter(DRAFT, "the fox", then=DRAFT.n_tokens - 3 + 2)  # <mine>
    proposal = draft(drafter(backend, TARGET.encode("the")), 9)
    assert b"".join(map(TARGET.piece, proposal.tokens)) == b" fox"
    assert not TARGET.control.intersection(proposal.tokens)
    assert len(backend.decoded) <= 1 + len(" fox")


def test_what_the_target_has_begun_of_a_character_must_go_on():
    rocket = "🚀".encode()
    bytewise = text_vocabulary(BYTES)
    backend = Reciter(DRAFT, "a🚀b")
    made = drafter(backend, [*b"a", *rocket[:2]], bytewise)
    assert bytes(draft(made, 3).tokens) == rocket[2:] + b"b"


@pytest.mark.parametrize("likely", ["x😀y🚀z", "🚀😀x"])
def test_of_the_likeliest_tokens_the_first_that_goes_on_with_a_begun_character_is_taken(likely):
    backend = Reciter(text_vocabulary([*"xyz🚀😀", *BYTES]), "")
    for rank, piece in enumerate(likely):
        backend.logits[backend.vocabulary.encode(piece)[0]] = 40.0 - rank
    begun = "🚀".encode()[:2]
    found = draft(drafter(backend, [*b"a", *begun], text_vocabulary(BYTES)), 2)
    assert begun + bytes(found.tokens) == likely.strip("xyz")[0].encode()


def test_where_nothing_likely_goes_on_with_a_begun_character_nothing_is_drafted():
    many = text_vocabulary([*map(chr, range(0x4E00, 0x4E80)), *BYTES])
    backend = Reciter(many, "")
    backend.logits[:0x80] = 40.0
    assert drafter(backend, [*b"a", 0xF0], text_vocabulary(BYTES)).propose(3, lambda _: True) == ()


def test_what_one_of_the_targets_tokens_takes_is_learned(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("paceline.engine.drafters.universal.time.perf_counter", lambda: now[0])
    backend = Reciter(text_vocabulary(BYTES), "ab" * 20)
    decode = backend.decode

    def slowly(spans):
        now[0] += 0.001
        return decode(spans)

    monkeypatch.setattr(backend, "decode", slowly)
    pairs, costs = text_vocabulary(["ab", *BYTES]), CostModel(CostCurve((1,), (1.0,)))
    made = UniversalDrafter(DraftModel(lambda: backend, universal=True), pairs, costs)
    made.extend(pairs.encode("abab"))
    for _ in range(100):
        assert len(draft(made, 4).tokens) == 4, "ab, ab, ab, and one a"
    assert costs.at(1) == pytest.approx(7 / 4, rel=0.05)


@pytest.mark.parametrize("n_ctx", range(1, 16))
def test_it_drafts_as_far_as_its_context_reaches(n_ctx):
    target = FakeBackend().vocabulary
    backend = FakeBackend(n_ctx=n_ctx)
    found = drafter(backend, [1, 2, 3, 4, 1], target).propose(9, lambda _: True)
    assert sum(len(proposal.tokens) for proposal in found) == min(9, max(0, n_ctx - 6))


def test_a_text_that_the_target_cannot_write_is_given_up():
    poor = text_vocabulary(["a", "b"])
    backend = Reciter(DRAFT, "ab" + "z" * 50)
    assert drafter(backend, poor.encode("ab"), poor).propose(9, lambda _: True) == ()
    assert len(backend.decoded) <= 5


def test_loading_is_not_counted_as_what_a_draft_costs(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("paceline.engine.drafters.universal.time.perf_counter", lambda: now[0])

    def load():
        now[0] += 60.0
        return Reciter(DRAFT, TEXT)

    made = UniversalDrafter(DraftModel(load, universal=True), TARGET)
    made.extend(TARGET.encode(TEXT)[:4])
    assert draft(made).milliseconds == 0.0


def test_one_that_is_closed_gives_its_sequence_to_the_next_with_its_cache():
    backend, seen = Reciter(DRAFT, TEXT), TARGET.encode(TEXT)[:8]
    model = DraftModel(lambda: backend, universal=True)
    first, second = (UniversalDrafter(model, TARGET) for _ in range(2))
    for made in (first, second):
        made.extend(seen)
    draft(first, 1)
    with pytest.raises(EngineError, match="in use"):
        draft(second, 1)
    first.close()
    first.close()
    backend.decoded.clear()
    draft(second, 1)
    assert sum(backend.decoded) <= 2


def test_the_text_before_a_draft_is_kept_no_longer_than_it_is_looked_at():
    made = drafter(Reciter(DRAFT, TEXT), np.arange(97, 97 + 5 * CONTEXT).tolist())
    assert made._before == list(range(97 + 4 * CONTEXT, 97 + 5 * CONTEXT))
