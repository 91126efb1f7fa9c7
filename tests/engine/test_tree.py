"""Trees of drafted tokens: what the parents say about depth, leaves, branches and paths."""

from hypothesis import given
from hypothesis import strategies as st

from paceline.engine.tree import ROOT, branches, chain, children, depths, is_chain, leaves
from support.tree_paths import path_to


@st.composite
def trees(draw, most=12):
    n = draw(st.integers(0, most))
    return [draw(st.integers(ROOT, i - 1)) for i in range(n)]


def ancestors(parents, node):
    return [] if node == ROOT else [*ancestors(parents, parents[node]), node]


@given(trees())
def test_a_path_leads_from_the_root_through_all_ancestors_and_is_as_long_as_the_token_is_deep(parents):
    for node in range(len(parents)):
        assert path_to(parents, node) == ancestors(parents, node)
        assert depths(parents)[node] == len(ancestors(parents, node))


@given(trees())
def test_leaves_are_the_tokens_that_nobody_follows_and_each_token_leads_to_those_behind_it(parents):
    ends = [node for node in range(len(parents)) if node not in parents]
    assert leaves(parents) == ends
    for node, numbers in enumerate(branches(parents)):
        assert sorted(numbers) == [n for n, leaf in enumerate(ends) if node in ancestors(parents, leaf)]


@given(trees())
def test_children_are_in_order_and_every_token_is_the_child_of_its_parent(parents):
    found = children(parents)
    assert sorted(node for nodes in found.values() for node in nodes) == list(range(len(parents)))
    for parent, nodes in found.items():
        assert nodes == sorted(nodes)
        assert all(parents[node] == parent for node in nodes)


@given(trees())
def test_a_chain_is_a_tree_without_a_fork_whose_tokens_are_in_order(parents):
    assert is_chain(parents) == (parents == chain(len(parents)))
