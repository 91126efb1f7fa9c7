"""Drafts that branch: several continuations of one text, given by the parent of each token.

A tree of n tokens is a list of n parents: `parents[i] < i` is the token that token i follows, or -1: the last token
before the tree. An empty list stands for a chain, in which every token follows the one before it.
"""

from collections.abc import Sequence

Parents = Sequence[int]
ROOT = -1


def chain(length: int) -> list[int]:
    """The parents of a chain."""
    return list(range(-1, length - 1))


def depths(parents: Parents) -> list[int]:
    """How far behind the root each token stands; 1 for those that follow it."""
    found: list[int] = []
    for parent in parents:
        found.append(1 if parent == ROOT else found[parent] + 1)
    return found


def leaves(parents: Parents) -> list[int]:
    """Tokens that no other follows, in order."""
    inner = set(parents)
    return [i for i in range(len(parents)) if i not in inner]


def branches(parents: Parents) -> list[list[int]]:
    """For each token the numbers of the leaves (as `leaves` orders them) that it leads to."""
    found: list[list[int]] = [[] for _ in parents]
    for number, leaf in enumerate(leaves(parents)):
        node = leaf
        while node != ROOT:
            found[node].append(number)
            node = parents[node]
    return found


def children(parents: Parents) -> dict[int, list[int]]:
    """The tokens that follow each token, and the root, in order."""
    found: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        found.setdefault(parent, []).append(node)
    return found


def is_chain(parents: Parents) -> bool:
    """Whether every token follows the one before it."""
    return all(parent == node - 1 for node, parent in enumerate(parents))
