"""Branches: whatever is added, edited, retried and switched, the store and the tree agree with a plain model."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from paceline.chat import tree
from paceline.chat.export import from_json, json_
from paceline.chat.store import Store
from paceline.chat.turns import Turn
from support.written_turns import answer, user


@dataclass
class Node:
    """A turn in the model: who follows it, in the order in which they came."""

    text: str
    above: "Node | None"
    below: list["Node"] = field(default_factory=list)


class Branches(RuleBasedStateMachine):
    """A person who writes, answers, edits, forks and switches; and the same with plain nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(None)
        self.session = self.store.create("/work")
        self.root = Node("", None)
        self.leaf = self.root
        self.ids: dict[int, Node] = {}

    def teardown(self) -> None:
        self.store.close()

    def add(self, above: Node) -> None:
        text = str(len(self.ids))
        parent = next((id for id, node in self.ids.items() if node is above), None)
        turn = self.store.add(self.session.id, (user if len(self.ids) % 2 else answer)(text, parent))
        node = Node(text, above)
        above.below.append(node)
        self.ids[turn.id] = self.leaf = node

    @rule()
    def go_on(self) -> None:
        self.add(self.leaf)

    @precondition(lambda self: self.leaf.above is not None)
    @rule()
    def write_the_last_one_again(self) -> None:
        self.add(self.leaf.above)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def write_an_earlier_one_again(self, data) -> None:
        self.add(self.ids[data.draw(st.sampled_from(sorted(self.ids)))].above)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def show_another_branch(self, data) -> None:
        id = data.draw(st.sampled_from(sorted(self.ids)))
        found = tree.leaf_below(self.store.turns(self.session.id), id)
        newest = last_of(self.ids[id])
        assert self.ids[found] is newest
        self.store.select(self.session.id, found)
        self.leaf = newest

    @rule()
    def show_nothing(self) -> None:
        self.store.select(self.session.id, None)
        self.leaf = self.root

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def fork(self, data) -> None:
        id = data.draw(st.sampled_from(sorted(self.ids)))
        fork = self.store.fork(self.session.id, id)
        copied = self.store.turns(fork.id)
        assert [turn.text for turn in tree.path(copied, fork.leaf)] == way(self.ids[id])
        assert len(copied) == len(way(self.ids[id]))

    @rule()
    def export_and_read_again(self) -> None:
        session, turns = self.store.session(self.session.id), self.store.turns(self.session.id)
        assert from_json(json_(session, turns)) == (session, turns)
        copy = self.store.insert(*from_json(json_(session, turns)))
        assert shape(self.store.turns(copy.id)) == shape(turns)
        assert [turn.text for turn in tree.path(self.store.turns(copy.id), copy.leaf)] == way(self.leaf)

    @invariant()
    def the_same_branch_is_shown(self) -> None:
        turns = self.store.turns(self.session.id)
        assert [turn.text for turn in tree.path(turns, self.store.session(self.session.id).leaf)] == way(self.leaf)

    @invariant()
    def the_same_turns_stand_beside_each_other(self) -> None:
        turns = self.store.turns(self.session.id)
        beside = tree.branches(turns)
        assert set(beside) == set(self.ids)
        for id, node in self.ids.items():
            assert [self.ids[each] for each in tree.siblings(turns, id)] == node.above.below
            assert beside[id] == tree.siblings(turns, id)


def way(node: Node) -> list[str]:
    """The texts that lead to a node, itself included."""
    return [*way(node.above), node.text] if node.above else []


def last_of(node: Node) -> Node:
    """The node below this one, or itself, that came last of all."""
    return max([node, *map(last_of, node.below)], key=lambda each: int(each.text))


def shape(turns: tuple[Turn, ...]) -> list[tuple[str, str]]:
    """Every turn with the text of its parent."""
    texts = {turn.id: turn.text for turn in turns}
    return [(turn.text, texts.get(turn.parent, "")) for turn in turns]


TestBranches = Branches.TestCase
TestBranches.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def chain(length: int) -> tuple[Turn, ...]:
    """A conversation without branches."""
    return tuple(Turn(number + 1, number or None, "user", "") for number in range(length))


def test_turns_may_come_in_any_order():
    turns = list(chain(50))
    random.Random(1).shuffle(turns)
    assert [turn.id for turn in tree.path(turns, 50)] == list(range(1, 51))
    assert tree.leaf_below(turns, 7) == 50


def test_nothing_is_known_of_an_unknown_turn():
    for asked in (tree.path, tree.siblings, tree.leaf_below):
        with pytest.raises(KeyError):
            asked(chain(3), 9)
    assert tree.path(chain(3), None) == ()
    assert tree.branches(()) == {}


class Counted(Turn):
    """A turn that counts how often its parent is asked for."""

    asked = 0

    def __getattribute__(self, name):
        if name == "parent":
            Counted.asked += 1
        return super().__getattribute__(name)


@pytest.mark.parametrize("work", [tree.path, tree.siblings, tree.leaf_below, lambda turns, _: tree.branches(turns)])
def test_the_work_grows_as_the_conversation_does(work):
    def cost(length: int) -> int:
        turns = tuple(Counted(turn.id, turn.parent, "user", "") for turn in chain(length))
        Counted.asked = 0
        work(turns, length)
        return Counted.asked

    assert 0 < cost(2000) <= 2 * cost(1000) + 10
