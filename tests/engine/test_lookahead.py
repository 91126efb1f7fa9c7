"""Lookahead decoding: the window is a tree, its columns become n-grams, and n-grams that fit are drafted."""

import numpy as np

from paceline.engine.drafters.base import Draft, Outcome
from paceline.engine.drafters.lookahead import COLUMNS, LENGTH, LookaheadDrafter
from paceline.engine.sequence import Request
from paceline.engine.tree import ROOT, children, leaves
from support.driving import answer, branching_engine
from support.fake_backend import FakeBackend
from support.tree_paths import path_to

ALWAYS = lambda _: True  # noqa: E731


def drafter(prompt=(1, 2, 3, 4, 5, 6, 7), ends=8):
    made = LookaheadDrafter(ends)
    made.extend(list(prompt))
    return made


def whole(made):
    return next(offer for offer in made.propose(63, ALWAYS) if offer.whole)


def row_after(tokens):
    """A model whose text is known by position, so that it can be guessed ahead."""
    row = np.zeros(100, np.float32)
    row[len(tokens) ** 2 % 83] = 9.0
    return row


def play(made, said, rounds):
    """Rounds with that model; tokens that each brought."""
    brought = []
    for _ in range(rounds):
        offers = made.propose(63, ALWAYS)
        draft = Draft.of(next(offer for offer in offers if offer.whole))
        rows = np.stack(
            [row_after(said)]
            + [
                row_after([*said, *(draft.tokens[i] for i in path_to(draft.tree, node))])
                for node in range(len(draft.tokens))
            ]
        )
        path, last = [], ROOT
        while True:
            token = int(rows[last + 1].argmax())
            node = next((n for n in children(draft.tree).get(last, []) if draft.tokens[n] == token), None)
            if node is None:
                break
            path.append(node)
            last = node
        made.see(Outcome(draft, rows, None, path))
        new = [*(draft.tokens[node] for node in path), token]
        said += new
        made.extend(new)
        brought.append(len(new))
    return brought


def test_the_window_is_a_comb_with_a_tooth_for_each_column():
    tree = whole(drafter()).parents
    assert len(leaves(tree)) == COLUMNS
    assert len(tree) == (COLUMNS - 1) + COLUMNS * (LENGTH - 2)
    deepest = max(len(path_to(tree, node)) for node in range(len(tree)))
    assert deepest == COLUMNS - 1 + LENGTH - 2


def test_a_text_that_can_be_guessed_is_soon_drafted_several_tokens_at_a_time():
    brought = play(drafter(), [1, 2, 3, 4, 5, 6, 7], 30)
    assert sum(brought[-10:]) >= 20, brought


def test_n_grams_are_offered_without_the_window_too_which_costs_less():
    made = drafter()
    play(made, [1, 2, 3, 4, 5, 6, 7], 30)
    offers = made.propose(63, ALWAYS)
    assert [offer.whole for offer in offers] == [False, True]
    assert len(offers[0].tokens) < len(offers[1].tokens)


def test_it_keeps_to_the_ends_that_there_are():
    for ends in range(COLUMNS + 1, 12):
        made = drafter(ends=ends)
        play(made, [1, 2, 3, 4, 5, 6, 7], 20)
        for offer in made.propose(63, ALWAYS):
            assert len(leaves(offer.parents)) <= ends


def test_with_too_few_ends_it_does_not_guess():
    assert not drafter(ends=COLUMNS).propose(63, ALWAYS)


def test_the_pool_is_bounded():
    made = drafter()
    for first in range(10_000):
        made._remember((first, 1, 2, 3))
    for other in range(100):
        made._remember((9_999, other, 2, 3))
    assert len(made._pool) <= 4096
    assert len(made._pool[9_999]) <= 8


def test_in_the_engine_it_drafts_for_a_model_alone_and_changes_nothing():
    target = FakeBackend(12, order=1, spread=3.0, seed=3, n_seq_max=8)
    engine = branching_engine(target, FakeBackend(12))
    plain = answer(engine, Request([1, 2, 3], 300, speculation="off"))
    drafted = answer(engine, Request([1, 2, 3], 300, speculation="lookahead"))
    engine.close()
    assert drafted.tokens == plain.tokens
    assert drafted.stats.drafters["lookahead"].accepted > 100
    assert drafted.stats.rounds < 200


def test_without_spare_sequences_it_says_that_it_needs_some():
    engine = branching_engine(FakeBackend(12, n_seq_max=1), FakeBackend(12))
    got = answer(engine, Request([1, 2, 3], 10, speculation="lookahead"))
    engine.close()
    assert any("lookahead" in note for note in got.stats.notes)
