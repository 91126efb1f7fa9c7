"""What differs between two sequences of lines is as little as can be, and found in a time that can be told before."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.workspace import differences as module
from paceline.workspace.differences import WORK, differences, lines

FEW = st.lists(st.sampled_from("abc"), max_size=14)
MANY = st.lists(st.integers(0, 30), max_size=40)


def applied(old, new, found):
    result = list(old)
    for first, last, begin, end in reversed(found):
        result[first:last] = new[begin:end]
    return result


def size(found):
    return sum(last - first + end - begin for first, last, begin, end in found)


def fewest(old, new):
    """How many lines differ at least, from the whole table."""
    row = [0] * (len(new) + 1)
    for one in old:
        above, row = row, [0]
        for at, other in enumerate(new):
            row.append(above[at] + 1 if one == other else max(above[at + 1], row[-1]))
    return len(old) + len(new) - 2 * row[-1]


@settings(deadline=None, max_examples=300)
@given(FEW | MANY, FEW | MANY)
def test_as_little_as_can_be_differs_and_gives_the_new_lines(old, new):
    found = differences(old, new)
    assert applied(old, new, found) == new
    assert size(found) == fewest(old, new)


@given(FEW | MANY, FEW | MANY)
def test_stretches_rise_and_have_something_between_them(old, new):
    found = differences(old, new)
    assert all(first < last or begin < end for first, last, begin, end in found)
    assert all(one[1] < other[0] and one[3] < other[2] for one, other in itertools.pairwise(found))


@settings(deadline=None)
@given(FEW | MANY, FEW | MANY, st.integers(0, 60))
def test_with_little_work_allowed_the_new_lines_come_out_all_the_same(old, new, work):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "WORK", work)
        found = differences(old, new)
    assert applied(old, new, found) == new
    assert size(found) >= fewest(old, new)


def test_what_comes_after_an_insertion_stays_as_early_as_it_can():
    assert differences("ab}cd}", "ab}xy}cd}") == [(3, 3, 3, 6)]


class Counting:
    """Counts the pairs of lines that are compared."""

    def __init__(self, monkeypatch):
        self.pairs, self._longest = 0, module._longest
        monkeypatch.setattr(module, "_longest", self)

    def __call__(self, first, second):
        self.pairs += len(first) * len(second)
        return self._longest(first, second)


N = 20_000
REPETITIVE = {
    "every second line": (["0,"] * N, ["0,", "1,"] * (N // 2)),
    "turned": (["a", "b"] * (N // 2), ["b", "b", "a"] * (N // 3)),
    "blank lines go": (["- todo", ""] * (N // 2), ["- todo"] * (N // 2)),
    "a field goes": (["{", '"x"', '"y"', "}"] * (N // 4), ["{", '"x"', "}"] * (N // 4)),
    "many kinds": ([at % 110 for at in range(N)], [at % 110 if at % 2 else "new" for at in range(N)]),
    "backwards": (list(range(N)), list(range(N))[::-1]),
    "twice each": ([at // 2 for at in range(N)], [at // 2 for at in range(N)][::-1]),
}


@pytest.mark.parametrize("name", REPETITIVE)
def test_twenty_thousand_lines_are_compared_whole_and_within_the_work_allowed(monkeypatch, name):
    old, new = REPETITIVE[name]
    counting = Counting(monkeypatch)
    found = differences(old, new)
    assert counting.pairs <= WORK
    assert applied(old, new, found) == new
    assert len(found) > 1


def test_far_more_lines_are_compared_between_those_that_both_have_once(monkeypatch):
    old = [f"row {at}" if at % 500 == 0 else at % 3 for at in range(120_000)]
    new = [line for at, line in enumerate(old) if at % 20_000 != 7]
    counting = Counting(monkeypatch)
    assert [span[:2] for span in differences(old, new)] == [(7 + at, 8 + at) for at in range(0, 120_000, 20_000)]
    assert counting.pairs <= WORK


def test_lines_without_number_that_are_all_alike_differ_as_a_whole_at_once(monkeypatch):
    counting = Counting(monkeypatch)
    old, new = ["0"] * 200_000, ["0", "0", "1"] * 66_000
    assert applied(old, new, differences(old, new)) == new
    assert counting.pairs <= WORK


@given(st.text(st.sampled_from("ab\n\r\x0c\u2028\x85"), max_size=20))
def test_lines_put_together_are_the_text_and_end_at_newlines_only(text):
    found = lines(text)
    assert "".join(found) == text
    assert all(line and not set("\r\n") & set(line.rstrip("\r\n")) for line in found)
    assert all(line.endswith(("\n", "\r")) for line in found[:-1])
