"""Which pieces are shown: the best, within the budget, and the same ones for as long as that is right."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from paceline.lsp.context.pieces import ORDER, Piece, choose, scores


def piece(key, kind="region", text="alpha beta", **more):
    return Piece(key, kind, f"{key}.py", text, more.pop("source", text), **more)


def query(text):
    return frozenset(text.split())


def keys(pieces):
    return [each.key for each in pieces]


def test_what_shares_more_names_with_the_text_around_the_cursor_is_chosen():
    near = piece("near", text="wheel rim spoke " * 5)
    far = piece("far", text="bread butter milk " * 5)
    assert keys(choose([far, near], query("wheel spoke hub"), 220)) == ["near"]


def test_a_name_that_everything_has_says_less_than_one_that_few_have():
    pieces = [piece(f"p{number}", text="self name") for number in range(6)] + [piece("rare", text="derailleur")]
    values = scores(pieces, query("self derailleur"))
    assert values["rare"] > values["p0"]


def test_of_two_alike_the_more_recent_is_chosen():
    old, new = piece("old", prior=0.3, text="wheel " * 20), piece("new", prior=0.9, text="wheel " * 20, source="new")
    assert keys(choose([old, new], query("wheel"), 320)) == ["new"]


def test_what_has_nothing_in_common_with_the_place_is_left_out_where_it_is_weak():
    weak = piece("weak", "diff", "bread butter")
    assert choose([weak], query("wheel"), 1000) == ()


def test_what_changes_rarely_comes_first():
    kinds = ["region", "diff", "signatures", "chunk"]
    pieces = [piece(kind, kind, "wheel") for kind in kinds]
    assert keys(choose(pieces, query("wheel"), 1000)) == ["signatures", "diff", "chunk", "region"]


def test_another_choice_has_to_be_clearly_better():
    one = piece("one", text="wheel rim " * 20)
    other = piece("other", text="wheel hub " * 20, source="other")
    shown = choose([one, other], query("wheel rim"), 450)
    assert keys(shown) == ["one"]
    assert keys(choose([one, other], query("hub"), 450, shown)) == ["other"]


def test_a_choice_that_is_better_by_a_little_is_none():
    one, other = piece("one", text="wheel", prior=0.8), piece("other", text="wheel", prior=1.0)
    shown = choose([one], query("wheel"), 60)
    assert keys(shown) == ["one"]
    assert keys(choose([one, other], query("wheel"), 60, shown)) == ["one"]
    assert keys(choose([one, other], query("wheel"), 60)) == ["other"]


def test_what_has_to_be_chosen_anew_is_chosen_so_that_little_changes():
    kept, stale = piece("kept", text="wheel", prior=0.8), piece("stale", "signatures", "wheel")
    better = piece("better", text="wheel", prior=1.0)
    shown = choose([kept, stale], query("wheel"), 90)
    assert keys(shown) == ["stale", "kept"]
    now = replace(stale, text="wheel rim", source=2)
    assert keys(choose([kept, now, better], query("wheel"), 90, shown)) == ["stale", "kept"]
    assert keys(choose([kept, now, better], query("wheel"), 90)) == ["stale", "better"]


def test_what_is_new_comes_after_what_was_there():
    old, new = piece("z", text="wheel z"), piece("a", text="wheel a " * 3)
    shown = choose([old], query("wheel"), 300)
    changed = piece("y", "chunk", "wheel")
    assert keys(choose([old, new, changed], query("wheel"), 300, shown)) == ["y", "z", "a"]


def test_what_was_shown_stays_as_it_was_shown_until_it_is_out_of_date():
    before = piece(
        "s", "signatures", "def wheel(): ...", source=1, needed=frozenset({"wheel"}), named=frozenset({"wheel"})
    )
    shown = choose([before], query("wheel"), 1000)
    rendered_otherwise = replace(before, text="def wheel(): ...\ndef rim(): ...")
    assert choose([rendered_otherwise], query("wheel"), 1000, shown) == shown
    changed = replace(rendered_otherwise, source=2)
    assert choose([changed], query("wheel"), 1000, shown) == (changed,)
    wanted = replace(rendered_otherwise, needed=frozenset({"wheel", "rim"}))
    assert choose([wanted], query("wheel"), 1000, shown) == (wanted,)


def test_what_is_gone_is_not_shown_any_more():
    one, other = piece("one"), piece("other", source="other")
    shown = choose([one, other], query("alpha"), 1000)
    assert len(shown) == 2
    assert choose([one], query("alpha"), 1000, shown) == (one,)
    assert choose([], query("alpha"), 1000, shown) == ()


def test_when_one_changes_the_others_stay_and_stand_where_they_stood():
    pieces = [piece(name, text=f"wheel {name} " * 3, source=name) for name in "abcd"]
    shown = choose(pieces, query("wheel"), 400)
    assert len(shown) == 4
    changed = [*pieces[:2], replace(pieces[2], text="wheel new", source="new"), pieces[3]]
    now = choose(changed, query("wheel"), 400, shown)
    assert set(keys(now)) == set("abcd")
    assert [each for each in keys(now) if each != "c"] == [each for each in keys(shown) if each != "c"]


def test_a_budget_that_shrinks_a_little_changes_nothing():
    kinds = ["region", "signatures"] * 3
    pieces = [piece(f"p{number}", kind, "wheel " * 10, source=number) for number, kind in enumerate(kinds)]
    shown = choose(pieces, query("wheel"), 500)
    assert len(shown) == 5
    assert choose(pieces, query("wheel"), 460, shown) == shown


words = st.sampled_from(["wheel", "rim", "hub", "spoke", "chain"])
pieces_lists = st.lists(
    st.builds(
        lambda number, kind, text, prior: piece(f"k{number}", kind, text, source=text, prior=prior),
        st.integers(0, 9),
        st.sampled_from([*ORDER]),
        st.lists(words, max_size=30).map(" ".join),
        st.floats(0, 1),
    ),
    max_size=8,
    unique_by=lambda each: each.key,
)


@given(pieces_lists, pieces_lists, st.frozensets(words), st.integers(0, 500), st.integers(0, 500))
def test_the_budget_is_kept_and_asking_again_changes_nothing(first, second, around, one, other):
    shown = choose(first, around, one)
    assert sum(each.size() for each in shown) <= one
    now = choose(second, around, other, shown)
    assert sum(each.size() for each in now) <= other
    assert len(set(keys(now))) == len(now)
    assert set(keys(now)) <= set(keys(second))
    assert choose(second, around, other, now) == now
    assert [ORDER[each.kind] for each in now] == sorted(ORDER[each.kind] for each in now)
