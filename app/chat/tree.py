"""The turns of a conversation as a tree: the branch that is shown, and what stands beside it.

Pure, and linear in the turns. Numbers rise from parent to child, as the store gives them.
"""

from collections.abc import Iterable, Mapping

from paceline.chat.turns import Turn


def path(turns: Iterable[Turn], leaf: int | None) -> tuple[Turn, ...]:
    """The branch that ends with this turn, first turn first; empty for None. Raises KeyError for an unknown turn."""
    known = {turn.id: turn for turn in turns}
    found: list[Turn] = []
    while leaf is not None:
        found.append(known[leaf])
        leaf = known[leaf].parent
    return tuple(reversed(found))


def siblings(turns: Iterable[Turn], turn: int) -> tuple[int, ...]:
    """The turns that stand in one place, this one among them, oldest first. Raises KeyError for an unknown turn.

    For all turns of a branch ask `branches`, which looks at them once.
    """
    parents = {each.id: each.parent for each in turns}
    parent = parents[turn]
    return tuple(sorted(each for each, its in parents.items() if its == parent))


def branches(turns: Iterable[Turn]) -> Mapping[int, tuple[int, ...]]:
    """For every turn, what `siblings` says of it."""
    below: dict[int | None, list[int]] = {}
    for turn in turns:
        below.setdefault(turn.parent, []).append(turn.id)
    return {each: both for ids in below.values() for both in [tuple(sorted(ids))] for each in both}


def leaf_below(turns: Iterable[Turn], id: int) -> int:
    """The end of the newest branch that goes through this turn: itself, if nothing follows. Raises KeyError."""
    order = sorted(turns, key=lambda turn: turn.id)
    if all(turn.id != id for turn in order):
        raise KeyError(id)
    below, newest = {id}, id
    for turn in order:
        if turn.parent in below:
            below.add(turn.id)
            newest = turn.id  # the highest number below a turn has nothing below itself
    return newest
