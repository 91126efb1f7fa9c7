"""The benchmark of starting measures what it says, whatever the figures are on this machine."""

from bench import starting


def test_everything_is_measured_and_compared_with_its_limit():
    found = starting.report(rounds=1, messages=6, idle=0.3)
    assert set(starting.LIMITS) < set(found)
    assert {"bare python ms", "session opened ms"} < set(found)
    for name, figures in found.items():
        assert len(figures["all"]) == 1
        assert figures.get("limit") == starting.LIMITS.get(name)
        assert figures["median"] > 0 or name.startswith("idle")
    assert found["first picture ms"]["median"] > found["bare python ms"]["median"]


def test_a_session_has_the_turns_that_are_waited_for():
    talk = starting.turns(4)
    assert [(turn.id, turn.parent, turn.role) for turn in talk] == [
        (1, None, "user"),
        (2, 1, "assistant"),
        (3, 2, "user"),
        (4, 3, "assistant"),
    ]
    assert talk[-1].text.endswith("answer 3\n")
