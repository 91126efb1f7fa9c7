"""What has been suggested is found again where it still fits, and nowhere else."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.lsp.place import Place
from paceline.lsp.suggestions import BEGINNING, NEAR, Found, Suggestion, Suggestions, advanced, made


def at(before: str, after: str = "", uri: str = "file:///a.py") -> Place:
    return Place(uri, "python", 1, before, after)


def known(*entries: tuple[Place, str]) -> Suggestions:
    suggestions = Suggestions()
    for place, text in entries:
        suggestions.add(place.uri, made(place, text))
    return suggestions


def rest(suggestions: Suggestions, place: Place) -> str | None:
    found = suggestions.find(place)
    return None if found is None else found.rest


def test_a_suggestion_is_found_at_its_own_place():
    assert rest(known((at("x = "), "1 + 2")), at("x = ")) == "1 + 2"


def test_typing_what_it_says_leaves_the_rest():
    assert rest(known((at("x = "), "1 + 2")), at("x = 1 +")) == " 2"


def test_all_of_it_typed_leaves_nothing_rather_than_asking_again():
    assert rest(known((at("x = "), "1")), at("x = 1")) == ""


def test_typing_something_else_finds_nothing():
    assert rest(known((at("x = "), "1 + 2")), at("x = 2")) is None


def test_the_text_after_the_cursor_counts():
    assert rest(known((at("f(", ")"), "a")), at("f(", "b)")) is None


def test_another_document_counts():
    assert rest(known((at("x = "), "1")), at("x = ", uri="file:///b.py")) is None


def test_another_model_counts():
    suggestions = Suggestions()
    suggestions.add("u", made(at("x = ", uri="u"), "1", model="small"))
    assert suggestions.find(at("x = ", uri="u"), "large") is None
    assert suggestions.find(at("x = ", uri="u"), "small") is not None


def test_closing_marks_that_the_editor_put_there_do_not_count():
    found = known((at("print", "\n"), "(a, b)")).find(at("print(", ")\n"))
    assert found is not None
    assert (found.rest, found.closers) == ("a, b)", ")")


def test_a_letter_after_the_cursor_is_no_closing_mark():
    assert rest(known((at("print", "\n"), "(a)")), at("print(", "x\n")) is None


def test_nothing_to_say_is_known_at_its_own_place_only():
    suggestions = known((at("x = 1"), ""))
    assert rest(suggestions, at("x = 1")) == ""
    assert rest(suggestions, at("x = 1 ")) is None


def test_the_entry_of_which_most_was_typed_wins():
    suggestions = known((at("x = 1"), "00"), (at("x = "), "1000"))
    assert rest(suggestions, at("x = 10")) == "00"


def test_the_newer_one_for_a_place_replaces_the_older():
    assert rest(known((at("x = "), "1"), (at("x = "), "2")), at("x = ")) == "2"


def test_only_so_many_are_kept_and_the_oldest_document_leaves_first():
    suggestions = Suggestions(kept=3)
    for number in range(5):
        place = at(f"x{number} = ", uri=f"file:///{number}.py")
        suggestions.add(place.uri, made(place, "1"))
    assert [rest(suggestions, at(f"x{n} = ", uri=f"file:///{n}.py")) for n in range(5)] == [None, None, "1", "1", "1"]


def test_a_closed_document_is_forgotten():
    suggestions = known((at("x = "), "1"))
    suggestions.forget("file:///a.py")
    assert rest(suggestions, at("x = ")) is None


def test_what_differs_far_away_is_not_looked_at():
    long = "y" * (2 * NEAR)
    assert rest(known((at("a" + long), "1")), at("b" + long)) == "1"
    assert rest(known((at("a" + long[:100]), "1")), at("b" + long[:100])) is None


texts = st.text(alphabet="ab(\n", max_size=6)


@given(texts, st.text(alphabet="ab)", max_size=3), texts, texts, st.text(alphabet="ab)", max_size=3))
def test_advancing_agrees_with_its_slow_twin(before: str, after: str, text: str, now: str, now_after: str):
    """The twin: what was suggested, put in, gives the same whole text as what is left, put in now."""
    found = advanced(made(at(before, after), text), now, now_after)
    if found is None:
        same_sides = now_after == after and now.startswith(before)
        assert not (same_sides and text.startswith(now[len(before) :]) and (text or now == before))
    else:
        assert now + found.rest + now_after.removeprefix(found.closers) == before + text + after
        assert set(found.closers) <= {")"}


HESITANT = Suggestion(
    "compute(alpha, beta)",
    "x = ",
    "",
    logprobs=(-1.5, -1.0, -0.5, -0.01, -0.01, -0.01),
    tokens=("com", "pute", "(", "alpha", ", beta", ")"),
)


@pytest.mark.parametrize(
    ("typed", "counted"), [("", 6), ("c", 6), ("com", 5), ("comput", 5), ("compute", 4), ("compute(a", 3)]
)
def test_what_has_been_typed_of_a_suggestion_is_not_judged_any_more(typed, counted):
    found = advanced(HESITANT, "x = " + typed, "")
    assert found is not None
    assert found.logprobs == HESITANT.logprobs[-counted:]


def test_a_token_that_began_before_the_text_does_not_shift_those_after_it():
    healed = replace(HESITANT, text=" + " + HESITANT.text)
    found = advanced(healed, "x =  + com", "")
    assert found is not None
    assert found.logprobs == HESITANT.logprobs[1:]
    before = advanced(healed, "x =  + co", "")
    assert before is not None
    assert before.logprobs == HESITANT.logprobs


def test_tokens_that_say_more_than_what_was_kept_leave_something_to_judge():
    cut = replace(HESITANT, text="compute", logprobs=(-1.5, -3.0), tokens=("com", "pute(alpha"))
    found = advanced(cut, "x = comput", "")
    assert found is not None
    assert found.logprobs == (-3.0,)


@given(st.lists(st.tuples(st.text("ab (\n", min_size=1, max_size=3), st.floats(-9, 0)), max_size=12))
def test_who_follows_a_suggestion_that_was_likely_enough_never_loses_it(told):
    tokens, logprobs = tuple(token for token, _ in told), tuple(chance for _, chance in told)
    text = "".join(tokens)
    suggestion = Suggestion(text, "x = ", "", logprobs=logprobs, tokens=tokens)
    sums = []
    for length in range(len(text) + 1):
        found = Found(suggestion, text[length:], text[:length], "")
        sums.append(sum(found.logprobs[:BEGINNING]))
    assert sums == sorted(sums)
    assert sums[0] == sum(logprobs[:BEGINNING])


def test_what_was_drawn_is_no_suggestion_before_something_of_it_is_typed():
    suggestions = Suggestions()
    suggestions.add("file:///a.py", replace(made(at("x = "), "drawn"), seed=3))
    assert rest(suggestions, at("x = ")) is None
    assert {seed: each.rest for seed, each in suggestions.drawn(at("x = ")).items()} == {3: "drawn"}
    assert rest(suggestions, at("x = dr")) == "awn"
    assert suggestions.drawn(at("x = dr")) == {}


def test_what_is_likeliest_goes_before_what_was_drawn_wherever_both_go_on():
    suggestions = known((at("x = "), "deep"))
    suggestions.add("file:///a.py", replace(made(at("x = "), "drawn"), seed=3))
    assert rest(suggestions, at("x = d")) == "eep"
    assert rest(suggestions, at("x = dr")) == "awn"


def test_what_was_computed_ahead_does_not_replace_what_somebody_asked_for_meanwhile():
    suggestions = known((at("x = "), "asked"))
    suggestions.add("file:///a.py", replace(made(at("x = "), "ahead"), prefetched=True))
    assert rest(suggestions, at("x = ")) == "asked"
