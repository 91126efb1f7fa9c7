"""Models are chosen, fetched with progress, paused and gone on with; what fails is said and may be tried again."""

from dataclasses import replace

import pytest

from paceline.chat.models_port import PairChoice, Told, Transfer
from paceline.chat.pace import Pace
from paceline.errors import NetworkError
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.screens.setup import SetupScreen, offer
from paceline.tui.themes import THEMES
from paceline.tui.widgets.choices import Choices
from paceline.tui.widgets.fetching import Fetching, line
from support.fake_models import LARGE, MIDDLE, SMALL, FakeModels
from support.screens import showing

OFFLINE = NetworkError("the Hub does not answer", "check the network")


async def give(seen, models, *steps):
    for step in steps:
        models.steps.put_nowait(step)
    for _ in range(3):
        await seen.pilot.pause()


async def test_each_pair_says_how_large_it_is_whether_it_is_here_fits_and_how_fast_it_is():
    async with showing(ModelsScreen(FakeModels()), (100, 24)) as seen:
        assert "here          small   500 MB, 61 tokens/s" in seen.text
        assert "fetch 1.1 GB  middle  1.6 GB, recommended here" in seen.text
        assert "fetch 20.0 GB large   20.0 GB, only for trying, does not fit" in seen.text
        assert "1.1 GB still to be downloaded; Apache-2.0" in seen.text  # of the one that is marked


async def test_of_a_pair_with_only_its_draft_here_it_says_what_is_missing():
    draft_only = replace(LARGE, id="a-much-longer-one", missing=15_500_000_000, here="part")
    known = [SMALL, draft_only, replace(LARGE, missing=0)]
    async with showing(ModelsScreen(FakeModels(known)), (100, 24)) as seen:
        rows = seen.lines[1:4]
        assert ["%" in row for row in rows] == [False] * 3
        assert [row.split()[1:3] for row in rows] == [["here", "small"], ["fetch", "15.5"], ["fetch", "large"]]
        assert len({row.index(size) for row, size in zip(rows, ("500 MB", "20.0 GB", "20.0 GB"), strict=True)}) == 1
        assert len({row.index(name) for row, name in zip(rows, ("small", "a-much", "large"), strict=True)}) == 1


async def test_a_misfit_is_explained_and_notes_are_plain_text():
    async with showing(ModelsScreen(FakeModels())) as seen:
        await seen.press("down")
        assert "it takes about 21 GB of memory" in seen.text
        assert "[b]x[/b]" in seen.text
        assert "\x1b" not in seen.text


@pytest.mark.parametrize("make", [ModelsScreen, SetupScreen])
async def test_a_download_shows_how_far_it_is_and_ends_in_the_configuration(make):
    models = FakeModels()
    async with showing(make(models)) as seen:
        await seen.press("enter")
        await give(seen, models, Told("going on at 20 MB"), Transfer("middle-target", 600_000_000, 1_000_000_000))
        assert "60 %" in seen.text
        assert "middle-target: 600 MB of 1.0 GB" in seen.text
        assert "going on at 20 MB" in seen.text
        assert models.chosen == []
        await give(seen, models, None)
        assert models.chosen == ["middle"]
        assert seen.result == "middle"


@pytest.mark.parametrize("make", [ModelsScreen, SetupScreen])
async def test_a_download_is_paused_and_gone_on_with(make):
    models = FakeModels()
    async with showing(make(models)) as seen:
        await seen.press("enter")
        await give(seen, models, Transfer("m", 1, 2))
        await seen.press("p")
        assert models.stopped == 1
        assert "Paused" in seen.text
        await seen.press("enter")
        await give(seen, models, None)
        assert models.fetched == ["middle", "middle"]
        assert seen.result == "middle"


@pytest.mark.parametrize("make", [ModelsScreen, SetupScreen])
async def test_what_is_paused_says_so_instead_of_a_speed_and_the_same_key_goes_on(make):
    models = FakeModels()
    async with showing(make(models)) as seen:
        await seen.press("enter")
        await give(seen, models, Transfer("m", 0, 1_000_000_000))
        seen.app.screen.query_one(Fetching)._pace._began -= 10  # seconds ago
        await give(seen, models, Transfer("m", 600_000_000, 1_000_000_000))
        assert "MB/s, " in seen.text and "left" in seen.text
        assert "p Pause" in seen.keys and "Go on" not in seen.keys
        await seen.press("p")
        assert "60 %  paused" in seen.text
        assert "MB/s" not in seen.text and "left" not in seen.text
        assert "Go on" in seen.keys
        assert "Pause" not in seen.keys and "Fetch" not in seen.keys
        await seen.press("p")
        assert "Paused" not in seen.text
        await give(seen, models, None)
        assert models.fetched == ["middle", "middle"]
        assert seen.result == "middle"


async def test_what_failed_goes_on_with_the_same_key_and_shows_no_speed():
    models = FakeModels()
    async with showing(SetupScreen(models)) as seen:
        await seen.press("enter")
        await give(seen, models, Transfer("m", 600_000_000, 1_000_000_000), OFFLINE)
        assert "the Hub does not answer" in seen.text
        assert "60 %  stopped" in seen.text
        await seen.press("p")
        assert models.fetched == ["middle", "middle"]


async def test_where_nothing_may_be_downloaded_nothing_is_offered():
    barred = "models.offline in ~/.config/paceline/config.toml forbids downloads"
    models = FakeModels([replace(MIDDLE, barred=barred, folder="~/models")])
    async with showing(SetupScreen(models)) as seen:
        shown = " ".join(line.strip("│ ") for line in seen.lines)
        assert barred in shown
        assert "Fetch" not in shown and "Go on" not in shown and "?" not in shown
        await seen.press("enter")  # looks again
        assert models.fetched == []
        models._pairs = [MIDDLE]
        await seen.press("enter")
        await seen.settle()
        assert "Go on with 500 MB" in " ".join(line.strip("│ ") for line in seen.lines)


async def test_a_pair_that_may_not_be_downloaded_is_not_fetched():
    models = FakeModels([SMALL, replace(LARGE, barred="HF_HUB_OFFLINE forbids downloads")])
    async with showing(ModelsScreen(models)) as seen:
        await seen.press("down", "enter")
        assert "large is not here, and HF_HUB_OFFLINE forbids downloads" in seen.text
        assert models.fetched == []
        await seen.press("up", "enter")
        assert models.fetched == ["small"]


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (40, 12)])
async def test_the_whole_of_a_long_error_can_be_read(size):
    long = NetworkError("middle-target is not here", f"put it at /home/ann/{'deep/' * 60}end-of-it.gguf")
    models = FakeModels()
    async with showing(SetupScreen(models), size) as seen:
        await seen.press("enter")
        await give(seen, models, long)
        read = ""
        for _ in range(30):
            read += "".join(line.strip("│ ▁▂▃▄▅▆▇█") for line in seen.lines)
            await seen.press("down")
        assert "middle-target is not here" in read
        assert "end-of-it.gguf" in read
        assert "Later" in seen.text or size[0] == 40  # the keys stay in sight


@pytest.mark.parametrize("make", [ModelsScreen, SetupScreen])
async def test_a_failure_is_said_with_a_hint_and_may_be_tried_again(make):
    models = FakeModels()
    async with showing(make(models)) as seen:
        await seen.press("enter")
        await give(seen, models, OFFLINE)
        assert "the Hub does not answer" in seen.text
        assert "check the network" in seen.text
        await seen.press("enter")
        assert "the Hub does not answer" not in seen.text
        await give(seen, models, None)
        assert seen.result == "middle"


@pytest.mark.parametrize("make", [ModelsScreen, SetupScreen])
async def test_leaving_ends_the_download_and_chooses_nothing(make):
    models = FakeModels()
    async with showing(make(models)) as seen:
        await seen.press("enter")
        await give(seen, models, Transfer("m", 1, 2))
        await seen.press("escape")
        await seen.settle_quietly()
        assert seen.result is None
        assert models.stopped == 1
        assert models.chosen == []


async def test_a_second_enter_does_not_fetch_twice():
    models = FakeModels()
    async with showing(ModelsScreen(models)) as seen:
        await seen.press("enter", "enter", "down", "enter")
        assert models.fetched == ["middle"]


@pytest.mark.parametrize("make", [ModelsScreen, SetupScreen])
async def test_what_keeps_the_machine_from_being_looked_at_is_said(make):
    models = FakeModels()
    models.trouble = [OFFLINE]
    async with showing(make(models)) as seen:
        assert "the Hub does not answer" in seen.text
        await seen.press("enter")
        await seen.pilot.pause()
        assert "middle" in seen.text
        assert "the Hub does not answer" not in seen.text


async def test_the_first_time_the_pair_that_suits_is_offered_with_its_size():
    async with showing(SetupScreen(FakeModels()), (40, 12)) as seen:
        assert "Nothing is set up yet" in seen.text
        assert "needs a language model" in seen.text
        assert "Go on with 500 MB of 1.6 GB" in " ".join(line.strip("│ ") for line in seen.lines)


def test_what_is_offered_says_what_it_is_how_large_and_where_it_goes():
    pair = PairChoice(
        "qwen2.5-coder-1.5b",
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
        "qwen2.5-coder-0.5b-instruct-q4_k_m",
        bytes=1_600_000_000,
        missing=1_600_000_000,
        licence="Apache-2.0",
        folder="~/.local/share/paceline/models",
    )
    assert offer(pair) == (
        "Paceline needs a language model, which then runs on this machine. Fetch Qwen2.5-Coder 1.5B (1.6 GB, "
        "Apache-2.0) into ~/.local/share/paceline/models? With it comes the small 0.5B, which may "
        "make it faster, and completes in editors where the large one is too slow."
    )
    part = replace(pair, here="part", missing=978_000_000)
    assert "Go on with 622 MB of 1.6 GB of Qwen2.5-Coder 1.5B (Apache-2.0) into ~/" in offer(part)
    assert "Use Llama 3.2 1B? It is here" in offer(replace(pair, here="ready", called="Llama 3.2 1B"))


@pytest.mark.parametrize(("answer", "fetched"), [("y", ["large"]), ("escape", [])])
async def test_a_download_that_was_not_offered_is_asked_about(answer, fetched):
    models = FakeModels()
    async with showing(ModelsScreen(models)) as seen:
        await seen.press("down", "enter")
        assert "Fetch 20.0 GB?" in seen.text
        assert "it takes about 21 GB of memory" in seen.text
        assert models.fetched == []
        await seen.press(answer)
        assert models.fetched == fetched


async def test_a_download_that_was_agreed_to_goes_on_without_another_question():
    models = FakeModels()
    async with showing(ModelsScreen(models)) as seen:
        await seen.press("down", "enter", "y", "p", "enter")
        assert models.fetched == ["large", "large"]


async def test_a_pair_that_is_here_already_is_offered_as_such():
    async with showing(SetupScreen(FakeModels([SMALL]))) as seen:
        assert "Use small-target? It is here already." in " ".join(line.strip("│ ") for line in seen.lines)


async def test_the_first_time_another_pair_may_be_taken():
    models = FakeModels()
    async with showing(SetupScreen(models)) as seen:
        await seen.press("o", "up", "enter")
        await give(seen, models, None)
        assert seen.result == "small"


async def test_an_empty_catalogue_is_no_crash():
    for make in (ModelsScreen, SetupScreen):
        async with showing(make(FakeModels([]))) as seen:
            await seen.press("enter", "down", "p", "o")
            assert not seen.gone or seen.result is None


async def test_keys_that_do_nothing_now_are_not_offered():
    models = FakeModels()
    async with showing(SetupScreen(models)) as seen:
        assert "Pause" not in seen.lines[seen.column_of("Later")[1]]
        await seen.press("enter")
        await seen.pilot.pause()
        keys = seen.lines[seen.column_of("Later")[1]]
        assert "Pause" in keys
        assert "Fetch" not in keys


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_the_marked_line_is_to_be_seen_in_every_theme(theme):
    async with showing(ModelsScreen(FakeModels()), theme=theme) as seen:
        listed = seen.app.screen.query_one(Choices)
        styles = [next(iter(listed.render_line(y))).style.without_color for y in range(3)]
        colours = [next(iter(listed.render_line(y))).style.bgcolor for y in range(3)]
        assert listed.highlighted == 1
        assert (styles[1], colours[1]) != (styles[0], colours[0]) == (styles[2], colours[2])


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_speed_and_time_left_count_what_came_since_the_start():
    clock = Clock()
    pace = Pace(clock)
    assert pace.at("m", 400, 1000) == (0.0, 0.0)
    clock.now = 10.0
    assert pace.at("m", 500, 1000) == (10.0, 50.0)
    assert pace.at("other", 0, 100) == (0.0, 0.0)
    clock.now = 20.0
    assert pace.at("other", 0, 100) == (0.0, 0.0)  # nothing came: nobody knows when it will be over
    assert pace.at("other", 100, 100)[1] == 0.0


@pytest.mark.parametrize("done", [0, 1, 500, 999, 1000])
def test_a_bar_is_full_when_everything_is_there_and_only_then(done):
    text = line(Transfer("m", done, 1000), Pace())
    assert text.count("█") + text.count("░") == 20
    assert ("░" not in text) is (done == 1000)
    assert f"{done // 10:3d} %" in text


def test_a_size_that_is_not_known_is_no_crash():
    assert "0 %" in line(Transfer("m", 0, 0), Pace())
    assert PairChoice("x", "y").here == "missing"
    assert MIDDLE.missing
