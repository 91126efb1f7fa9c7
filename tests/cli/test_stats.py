"""`paceline stats`: figures of the days that are asked for, for people and for programs."""

import json
import re
import time
from datetime import date, timedelta

import pytest

from paceline.chat.database import default_path as sessions_file
from paceline.chat.store import Store as Sessions
from paceline.chat.turns import Turn
from paceline.lsp.figures_store import Store, default_path
from support.home import Home


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    return Home(tmp_path, monkeypatch, capsys)


def put(days_ago: int = 0, language: str = "python", **counts: int) -> None:
    day = (date.today() - timedelta(days=days_ago)).isoformat()
    assert Store(default_path()).add({(day, language, what.replace("_", " ")): n for what, n in counts.items()})


def whole(home: Home, *words: str) -> dict:
    ended = home.run("stats", "--json", *words)
    assert ended.code == 0 and ended.err == ""
    return json.loads(ended.out)


def test_before_anything_was_shown_there_is_nothing(home):
    told = home.run("stats")
    assert told.code == 0 and told.out.startswith("no suggestions since ")
    assert whole(home)["all"]["shown"] == 0
    assert not default_path().exists()


def test_a_person_sees_a_row_for_each_language_and_one_for_all(home):
    put(shown=200, accepted=50, rejected=30, whole=40, line=5, word=10, characters=2000)
    put(language="rust", shown=10, accepted=1, whole=1)
    lines = home.run("stats").out.splitlines()
    assert lines[1].split() == ["language", "shown", "accepted", "rejected", "whole", "line", "word", "characters",
                                "kept", "30", "s", "kept", "5", "min"]  # fmt: skip
    assert [line.split()[:6] for line in lines[2:5]] == [
        ["python", "200", "50", "(25", "%)", "30"],
        ["rust", "10", "1", "(10", "%)", "0"],
        ["all", "210", "51", "(24", "%)", "30"],
    ]


def test_how_much_stayed_is_a_share_of_the_characters_that_were_looked_at(home):
    put(shown=2, accepted=2, after_30=100, kept_30=90, after_300=50, kept_300=20)
    assert home.run("stats").out.splitlines()[2].split()[-4:] == ["90", "%", "40", "%"]
    assert whole(home)["languages"]["python"]["kept"] == {"30": 0.9, "300": 0.4}


def test_what_nobody_looked_at_has_no_share(home):
    put(shown=2)
    assert home.run("stats").out.splitlines()[2].split()[-1] == "-"
    assert whole(home)["all"]["kept"] == {"30": None, "300": None}


def test_answers_latencies_prefetches_and_silences_are_told(home):
    put(shown=1, from_cache=60, from_engine=40, latency_50=50, latency_600=50, prefetched=10, from_prefetch=4,
        silent_unsure=3, silent_deleted=1)  # fmt: skip
    told = home.run("stats").out
    assert "104 got a suggestion, or what is left of one while it is typed" in told
    assert "from memory 58 %, computed ahead 4 %, by the engine 38 %" in told
    assert "half of them within about 50 ms, nine of ten within about 560 ms" in told
    assert "10 computed before anybody asked, 4 of them shown then (40 %)" in told
    assert "silent      4 times: the model is not sure enough 75 %, a character has just been deleted 25 %" in told
    data = whole(home)
    assert data["answers"] == {"cache": 60, "prefetch": 4, "flight": 0, "engine": 40}
    assert data["prefetch"] == {"computed": 10, "used": 4, "share": 0.4}
    assert data["silent"] == {"unsure": 3, "deleted": 1}
    assert data["latency_ms"]["median"] == 50 and 400 < data["latency_ms"]["p90"] < 600


def test_a_request_that_a_newer_one_took_the_place_of_was_no_silence(home):
    put(shown=1, silent_unsure=3, silent_superseded=90)
    assert "silent      3 times: the model is not sure enough 100 %" in home.run("stats").out
    assert whole(home)["silent"] == {"unsure": 3}


def test_the_figures_are_told_from_the_first_day_that_has_some(home):
    put(3, shown=1)
    put(1, shown=2)
    told = home.run("stats").out
    assert told.startswith(f"suggestions since {(date.today() - timedelta(days=3)).isoformat()},")


def test_a_little_is_more_than_nothing(home):
    put(shown=1, from_cache=999, from_prefetch=1)
    assert "from memory 100 %, computed ahead < 1 %" in home.run("stats").out


def test_days_count_back_from_today(home):
    put(0, shown=1)
    put(1, shown=10)
    put(40, shown=100)
    assert whole(home, "--days", "1")["all"]["shown"] == 1
    assert whole(home, "--days", "2")["all"]["shown"] == 11
    assert whole(home)["all"]["shown"] == 11
    data = whole(home, "--days", "365")
    assert data["all"]["shown"] == 111 and data["days"] == 365
    assert data["since"] == (date.today() - timedelta(days=364)).isoformat()


def test_no_days_are_a_wrong_number(home):
    assert home.run("stats", "--days", "0").code == 2


def test_more_days_than_any_calendar_has_are_all_of_them(home):
    put(40, shown=1)
    answered("m", 400)
    data = whole(home, "--days", "99999999999")
    assert (data["all"]["shown"], data["chat"]["all"]["answers"]) == (1, 1)


def test_a_reset_removes_all_about_editors_and_says_that_the_rest_stays(home):
    put(shown=1)
    put(100, shown=1)
    answered("m")
    told = home.run("stats", "--reset").out
    assert "about editors are removed" in told and "stay with the sessions" in told
    data = whole(home, "--days", "365")
    assert (data["all"]["shown"], data["chat"]["all"]["answers"]) == (0, 1)


def answered(model: str, days_ago: int = 0, state: str = "done", **timings: object) -> None:
    store = Sessions(sessions_file())
    when = time.time() - days_ago * 86_400
    store.add(store.create("/w").id, Turn(0, None, "assistant", "a", (), state, when, model, timings))
    store.close()


def rows(told: str) -> dict[str, list[str]]:
    """The second table: what each row says, by its name."""
    lines = told[told.index("answers in the app since") :].splitlines()[1:]
    found = (re.split(r" {2,}", line) for line in lines if line)
    return {name: cells for name, *cells in found}


def test_before_anything_was_answered_there_is_nothing_and_no_file_is_made(home):
    told = home.run("stats")
    assert told.code == 0 and "no answers in the app since " in told.out
    chat = whole(home)["chat"]
    assert chat["models"] == {} and chat["all"]["answers"] == 0 and chat["all"]["speed_up"] is None
    assert not sessions_file().exists()


def test_a_person_sees_a_column_for_each_model_and_one_for_all(home):
    fast = {"predicted_n": 50, "predicted_per_second": 40.0, "prompt_n": 20, "cache_n": 60, "prompt_ms": 250.0}
    answered("qwen2.5-coder-1.5b-instruct-q4_k_m", draft_n=10, draft_n_accepted=3, **fast)
    answered("qwen2.5-coder-1.5b-instruct-q4_k_m", state="stopped", predicted_ms=100.0, speed_up=1.25, **fast)
    answered("mine", prompt_ms=2500.0, predicted_n=1)
    answered("", state="failed")
    told = rows(home.run("stats").out)
    assert told[""] == ["Qwen2.5-Coder 1.5B", "unknown", "mine", "all"]
    assert told["answers"] == ["2", "1", "1", "4"]
    assert (told["stopped"], told["failed"]) == (["1", "0", "0", "1"], ["0", "1", "0", "1"])
    assert told["tokens written"] == ["100", "0", "1", "101"]
    assert told["tokens/s, median"] == ["40.0", "-", "-", "40.0"]
    assert told["drafted tokens accepted"] == ["30 %", "-", "-", "30 %"]
    assert told["speed-up over plain"] == ["1.25x", "-", "-", "1.25x"]
    assert told["prompt tokens"] == ["160", "0", "0", "160"]
    assert told["of these cached"] == ["75 %", "-", "-", "75 %"]
    assert told["first token after, median"] == ["250 ms", "-", "2.5 s", "250 ms"]


def test_models_that_are_called_alike_are_told_apart_and_a_single_one_needs_no_column_for_all(home):
    answered("smollm2-135m-instruct-q4_1")
    assert rows(home.run("stats").out)[""] == ["SmolLM2 135M"]
    answered("smollm2-135m-instruct-q8_0")
    assert rows(home.run("stats").out)[""] == ["smollm2-135m-instruct-q4_1", "smollm2-135m-instruct-q8_0", "all"]


def test_of_many_models_those_with_most_answers_have_a_column(home):
    for number in range(5):
        for _ in range(number + 1):
            answered(f"m{number}")
    told = home.run("stats").out
    assert rows(told)[""] == ["m4", "m3", "m2", "all"] and rows(told)["answers"][-1] == "15"
    assert "2 more models, which --json names" in told
    assert len(whole(home)["chat"]["models"]) == 5


def test_days_are_those_of_answers_too(home):
    answered("m", 3)
    answered("m", 60)
    assert [whole(home, "--days", days)["chat"]["all"]["answers"] for days in ("2", "10", "90")] == [0, 1, 2]
    assert f"answers in the app since {(date.today() - timedelta(days=3)).isoformat()}" in home.run("stats").out


def test_sessions_that_cannot_be_read_hide_nothing_else(home):
    put(shown=7)
    sessions_file().mkdir(parents=True)
    told = home.run("stats")
    assert told.code == 0 and " 7 " in told.out and "no figures about answers: " in told.err
    found = home.run("stats", "--json")
    assert json.loads(found.out)["all"]["shown"] == 7 and json.loads(found.out)["chat"] is None


def test_a_damaged_file_of_sessions_is_told_and_left_alone(home):
    answered("m")
    sessions_file().write_bytes(b"garbage" * 1000)
    told = home.run("stats")
    assert told.code == 0 and "no answers" not in told.out
    assert "no figures about answers: " in told.err and "not a database" in told.err and "hint: " in told.err
    assert sessions_file().read_bytes() == b"garbage" * 1000
    assert [each.name for each in sessions_file().parent.iterdir()] == [sessions_file().name]


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -1.0, 1e300])
def test_what_is_no_figure_is_shown_as_none(home, figure):
    names = ("predicted_ms", "predicted_per_second", "prompt_ms", "queued_ms", "speed_up", "draft_n", "cache_n")
    answered("m", predicted_n=20, **dict.fromkeys(names, figure))
    told = rows(home.run("stats").out)
    assert told["tokens written"] == ["20"]
    assert {told[name][0] for name in ("tokens/s, median", "speed-up over plain", "first token after, median")} == {"-"}
    fared = whole(home)["chat"]["all"]
    assert (fared["tokens"], fared["tokens_per_second"], fared["drafted"], fared["cached_tokens"]) == (20, None, 0, 0)


def test_no_more_than_all_that_was_computed_ahead_was_used_whatever_earlier_versions_counted(home):
    put(shown=1, prefetched=2, from_prefetch=5)
    assert "2 of them shown then (100 %)" in home.run("stats").out


@pytest.mark.parametrize("days_ahead", [1e9, 1e13, 1e300])
def test_an_answer_of_a_time_that_no_calendar_has_is_one(home, days_ahead):
    answered("m", -days_ahead, predicted_n=20)
    told = home.run("stats")
    assert told.code == 0 and rows(told.out)["tokens written"] == ["20"]
    assert whole(home)["chat"]["all"]["tokens"] == 20


def test_what_a_model_is_called_steers_no_terminal(home):
    answered("a\x1b[2J\nb")
    assert "\x1b" not in home.run("stats").out and rows(home.run("stats").out)[""] == ["a b"]
    answered("a\nb")
    answered("a b\ud800")
    told = home.run("stats").out
    assert "\x1b" not in told and rows(told)[""] == ["a b", "a b", "a b\ufffd", "all"]


def test_figures_that_cannot_be_removed_are_an_error_with_a_next_step(home):
    default_path().mkdir(parents=True)
    assert home.run("stats", "--reset").failed(8)


def test_a_damaged_file_is_no_error(home):
    default_path().parent.mkdir(parents=True)
    default_path().write_bytes(b"no database" * 200)
    assert home.run("stats").code == 0
