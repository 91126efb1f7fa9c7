"""Drafts that are played on paper: what they would have won, told when it is known."""

import pytest

from paceline.engine.paper import Paper


@pytest.mark.parametrize(
    ("came", "won"),
    [
        ([[5], [6], [7]], [0.0, 0.0, 4 - 2.5]),
        ([[5, 6], [7, 8]], [0.0, 4 - 2.5]),
        ([[5], [9]], [0.0, 2 - 2.5]),
        ([[9]], [1 - 2.5]),
        ([[5, 6, 7, 8, 9]], [4 - 2.5]),
    ],
)
def test_a_draft_wins_its_right_tokens_and_one_more_and_loses_its_cost(came, won):
    paper = Paper()
    paper.begin([5, 6, 7], 2.5)
    assert [paper.follow(tokens) for tokens in came] == won
    assert not paper.busy


def test_without_a_draft_nothing_is_won():
    paper = Paper()
    assert paper.follow([1, 2, 3]) == 0.0
    assert not paper.busy
