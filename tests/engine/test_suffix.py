"""The suffix index against a search through all the text."""

import tracemalloc
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from paceline.engine.drafters.suffix import HOPELESS, ROOT, WIDE, Cursor, SuffixIndex


class Exact(SuffixIndex):
    """Every suffix learns of every token, so that counts are exact on any text."""

    LOOK_BACK = 10**9
    OVERLAP = 2


def longest_repeated_suffix(tokens):
    """Length of the longest suffix that occurs earlier (it may overlap itself)."""
    n = len(tokens)
    return max((k for k in range(1, n) if any(tokens[e - k : e] == tokens[n - k :] for e in range(k, n))), default=0)


def occurs(piece, texts):
    """Whether the tokens stand somewhere in one of the texts."""
    k = len(piece)
    return any(text[i : i + k] == piece for text in texts for i in range(len(text) - k + 1))


def following(piece, texts):
    """Each token that follows the piece somewhere: how often, and where last (counted through all texts)."""
    found, offset, k = {}, 0, len(piece)
    for text in texts:
        for i in range(len(text) - k):
            if text[i : i + k] == piece:
                times, _ = found.get(text[i + k], (0, 0))
                found[text[i + k]] = (times + 1, offset + i + k)
        offset += len(text)
    return found


def state_of(index, piece):
    """The state that the piece leads to."""
    state = ROOT
    for token in piece:
        state = index.target(state, token)
        assert state >= 0
    return state


def told(index, state):
    """What the index says of a state's followers."""
    return {each.token: each.step.times for each in index.followers(state)}


texts = st.one_of(
    st.lists(st.integers(0, 1), max_size=60),
    st.lists(st.integers(0, 3), max_size=60),
    st.lists(st.integers(0, 50), max_size=60),
    # repetitive: a short piece over and over, with a few changes
    st.builds(
        lambda piece, times, changes: [changes.get(i, token) for i, token in enumerate(piece * times)],
        st.lists(st.integers(0, 2), min_size=1, max_size=5),
        st.integers(1, 20),
        st.dictionaries(st.integers(0, 90), st.integers(0, 3), max_size=4),
    ),
    # one token before all others: a state with many followers
    st.lists(st.integers(1, 40), max_size=40).map(lambda tokens: [x for token in tokens for x in (0, token)]),
)


@settings(max_examples=150, deadline=None)
@given(texts)
@example([0] * 80)
@example([0, 1] * 40 + [0, 0])
def test_after_every_token_the_match_is_the_longest_and_truly_stood_there(tokens):
    index = SuffixIndex()
    for n, token in enumerate(tokens, start=1):
        index.extend([token])
        length, end = index.match
        assert length == longest_repeated_suffix(tokens[:n])
        if length:
            assert length <= end < n, "an earlier place, with a token behind it"
            assert tokens[end - length : end] == tokens[n - length : n]
            assert index.matched == state_of(index, tokens[n - length : n])
    assert list(index.tokens) == list(index.text) == tokens


@settings(deadline=None)
@given(texts, st.integers(0, 60))
def test_tokens_may_come_in_any_portions(tokens, cut):
    at_once, in_two = SuffixIndex(tokens), SuffixIndex()
    in_two.extend(tokens[:cut])
    in_two.extend(iter(tokens[cut:]))
    assert at_once.match == in_two.match
    assert at_once.walk(at_once.matched, 20) == in_two.walk(in_two.matched, 20)


def test_of_several_places_the_latest_is_taken():
    assert SuffixIndex([7, 8, 1, 7, 8, 2, 7, 8, 3, 7, 8]).match == (2, 8)


def test_nothing_repeated_is_no_match():
    index = SuffixIndex()
    assert index.match == (0, 0)
    index.extend(range(50))
    assert index.match == (0, 0)
    assert index.matched == ROOT


@settings(max_examples=100, deadline=None)
@given(texts, st.integers(0, 60), st.integers(1, 5))
def test_how_often_each_token_followed_is_counted(tokens, start, length):
    index, piece = Exact(tokens), tokens[start : start + length]
    naive = following(piece, [tokens])
    followers = index.followers(state_of(index, piece))
    assert {each.token: each.step.times for each in followers} == {token: times for token, (times, _) in naive.items()}
    total = sum(times for times, _ in naive.values())
    assert [each.step.share for each in followers] == [each.step.times / total for each in followers]
    if piece:
        order = [naive[each.token] for each in followers]
        assert order == sorted(order, reverse=True), "the most frequent first, of equals the latest"


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(0, 60), st.integers(1, 5))
def test_however_short_the_look_back_nothing_is_counted_that_did_not_happen(tokens, start, length):
    class Hasty(SuffixIndex):
        LOOK_BACK = 2

    index, piece = Hasty(tokens), tokens[start : start + length]
    naive = following(piece, [tokens])
    counts = told(index, state_of(index, piece))
    assert counts.keys() == naive.keys()
    assert all(1 <= times <= naive[token][0] for token, times in counts.items())


def naive_walk(tokens, limit, loyalty):
    """The continuation of a text, searched through all of it for each token."""
    matched = longest_repeated_suffix(tokens)
    context, found, hope = tokens[len(tokens) - matched :], [], 1.0
    while matched and len(found) < limit:
        options = following(context, [tokens])
        if not options:  # it stands at the end only: go on as behind the match
            context = tokens[len(tokens) - matched :]
            continue
        token = max(options, key=lambda each: options[each])
        latest = max(options, key=lambda each: options[each][1])
        if options[token][0] <= loyalty * options[latest][0]:
            token = latest
        hope *= options[token][0] / sum(times for times, _ in options.values())
        if hope < HOPELESS:
            break
        found.append(token)
        context = [*context, token]
    return found


@settings(max_examples=200, deadline=None)
@given(texts, st.integers(1, 30), st.sampled_from([1.0, 2.0, 4.0]))
@example([0, 1, 2] * 5, 30, 1.0)
@example([0] * 30, 30, 4.0)
def test_a_walk_follows_the_usual_continuation_and_repeats_what_repeats_itself(tokens, limit, loyalty):
    index = Exact(tokens)
    if index.match[0]:
        walk = index.walk(index.matched, limit, loyalty=loyalty, beyond=True)
        assert walk.tokens == naive_walk(tokens, limit, loyalty)


@settings(max_examples=100, deadline=None)
@given(texts, st.integers(1, 30))
def test_a_walk_says_how_well_each_of_its_tokens_is_known(tokens, limit):
    index = Exact(tokens)
    length, _ = index.match
    if not length:
        return
    walk, context = index.walk(index.matched, limit), tokens[len(tokens) - length :]
    for i, token in enumerate(walk.tokens):
        options = following(context, [tokens])
        times = options[token][0]
        step = walk.steps[i] if i < len(walk.steps) else (1.0, 1)
        assert step == (times / sum(each for each, _ in options.values()), times)
        if i == 0:
            assert walk.place == options[token][1]
        if walk.fork is not None and walk.fork[0] == i:
            assert told(index, walk.fork[1]).keys() == options.keys()
        assert (len(options) > 1) <= (walk.fork is not None and walk.fork[0] <= i)
        context = [*context, token]


def test_without_beyond_a_walk_ends_where_the_text_does():
    index = SuffixIndex([1, 2, 3, 4, 1, 2])
    assert index.walk(index.matched, 9).tokens == [3, 4, 1, 2]
    assert index.walk(index.matched, 9, beyond=True).tokens == [3, 4, 1, 2, 3, 4, 1, 2, 3]
    assert index.walk(index.matched, 3).tokens == [3, 4, 1]


def test_the_last_time_counts_more_than_what_is_only_a_little_more_frequent():
    index = SuffixIndex([1, 7, 2, 1, 7, 3, 1, 8, 4, 1])
    assert index.walk(index.matched, 1).tokens == [7]
    assert index.walk(index.matched, 1, loyalty=2.0).tokens == [8]


def test_a_state_with_many_followers_knows_the_most_frequent_of_those_that_came_first():
    many = SuffixIndex.LOOK_ASIDE * 3
    index = SuffixIndex([x for i in range(many) for x in (0, 1000 + i, 0, 7)])
    first = index.followers(index.target(ROOT, 0))[0]
    assert (first.token, first.step.times) == (7, many)
    assert first.step.share == pytest.approx(0.5, rel=0.05), "of all cases, not only of those that were compared"


@pytest.mark.parametrize("followers", [WIDE - 1, WIDE, WIDE + 1, 3 * WIDE])
def test_it_makes_no_difference_how_many_followers_a_state_has(followers):
    tokens = [x for i in range(followers) for x in (500, 501, i)] * 2
    index = SuffixIndex(tokens)
    assert told(index, state_of(index, [500, 501])) == dict.fromkeys(range(followers), 2)
    assert told(index, state_of(index, [0 if followers == 1 else 1, 500, 501])) == {2 % followers: 2 - (followers == 2)}


@settings(max_examples=150, deadline=None)
@given(texts, texts)
def test_a_cursor_knows_the_longest_suffix_that_occurs_in_another_text(known, read):
    index = Exact(known)
    cursor = Cursor(index)
    for n, token in enumerate(read, start=1):
        cursor.advance(token)
        longest = max(k for k in range(n + 1) if occurs(read[n - k : n], [known]))
        assert cursor.length == longest
        naive = following(read[n - longest : n], [known])
        if longest:
            assert told(index, cursor.state) == {token: times for token, (times, _) in naive.items()}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=4))
@example([([1, 2, 3, 4], [3]), ([5, 2, 3, 6], [6])])
def test_a_cursor_stays_right_while_its_index_grows(turns):
    index, known, read = Exact(), [], []
    cursor = Cursor(index)
    for more, advanced in turns:
        index.extend(more)
        known += more
        for token in advanced:
            cursor.advance(token)
            read.append(token)
            assert cursor.length <= len(read)
            suffix = read[len(read) - cursor.length :]
            assert occurs(suffix, [known])
            assert occurs(read[-1:], [known]) == (cursor.length > 0)
            if suffix:
                naive = following(suffix, [known])
                assert told(index, cursor.state) == {token: times for token, (times, _) in naive.items()}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), texts), min_size=1, max_size=4))
@example([(0, [1, 2, 3, 4, 5, 6]), (4, [5]), (5, []), (5, [6, 6])])
def test_a_rewritten_text_is_the_new_one_and_the_old_one_is_still_known(changes):
    index, text, pieces = Exact(), [], [[]]
    for keep, new in changes:
        wanted = text[:keep] + new
        same = max(k for k in range(len(wanted) + 1) if text[:k] == wanted[:k])
        if same == len(text):
            pieces[-1] = pieces[-1] + wanted[same:]
        else:
            pieces.append(wanted[max(0, same - index.OVERLAP) :])
        text = wanted
        index.rewrite(text)
        assert list(index.text) == text
        assert list(index.tokens) == [token for piece in pieces for token in piece]
        now, before = pieces[-1], pieces[:-1]
        found = [k for k in range(1, len(now) + 1) if occurs(now[len(now) - k :], [*before, now[:-1]])]
        assert index.match[0] == max(found, default=0)
        for token in {token for piece in pieces for token in piece}:
            naive = following([token], pieces)
            assert told(index, state_of(index, [token])) == {each: times for each, (times, _) in naive.items()}
        if index.match[0]:
            straight = index.walk(index.matched, 8).tokens
            assert occurs([*now[len(now) - index.match[0] :], *straight], pieces), "over no boundary"
            assert set(index.walk(index.matched, 8, beyond=True).tokens) <= set(index.tokens)


def test_a_text_that_only_grew_is_not_indexed_again():
    index = SuffixIndex([1, 2, 3])
    index.rewrite([1, 2, 3, 4, 5])
    assert list(index.tokens) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("tokens", [[i % 7 for i in range(5000)], [0] * 5000, [i * i % 991 for i in range(5000)]])
def test_the_index_grows_with_the_text_and_no_faster(tokens):
    """A suffix automaton has fewer than two states and three transitions for each token."""
    index = SuffixIndex(tokens)
    assert len(index._first) < 2 * len(tokens)
    assert len(index._token) + index._entries < 3 * len(tokens) + WIDE * len(index._wide)


@pytest.mark.parametrize("vocabulary", [30, 5000])
def test_it_knows_about_how_much_memory_it_takes(vocabulary):
    tokens = Random(1).choices(range(vocabulary), k=20000)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        index = SuffixIndex(tokens)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert index.nbytes == pytest.approx(taken, rel=0.3)
    assert index._entries == sum(map(len, index._wide))
