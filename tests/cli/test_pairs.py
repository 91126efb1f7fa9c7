"""What the model picker is told and what it has done, over the real store, a server on this machine, tiny models."""

import asyncio
import hashlib
import json
from contextlib import aclosing

import pytest
import tomlkit

from paceline.chat.models_port import Told, Transfer
from paceline.commands import pairs
from paceline.commands.model_choice import ModelChoice
from paceline.errors import PacelineError
from support.home import ONE_THREAD, Home
from support.http_server import Served, running_hub
from support.tiny_model import write_tiny_model


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    return Home(tmp_path, monkeypatch, capsys)


@pytest.fixture
def hub(home, monkeypatch):
    """A pair "fetched" on a server that processes of ours find, too."""
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        for role, noise in (("target", 0.0), ("draft", 0.05)):
            content = write_tiny_model(home.root / "upload.gguf", noise=noise).read_bytes()
            running.add(f"owner/{role}:{role}.gguf", Served(content))
            home.add(
                id=f"hub-{role}", repository=f"owner/{role}", file=f"{role}.gguf", bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(), licence="Apache-2.0",
            )  # fmt: skip
        home.add_pair(id="fetched", target="hub-target", draft="hub-draft", audience="For tests.")
        yield running


def served(hub):
    return next(iter(hub.files.values()))


async def fetched(pair="fetched"):
    async with aclosing(ModelChoice().fetch(pair)) as events:
        return [event async for event in events]


async def choice(pair):
    return next(each for each in await ModelChoice().pairs() if each.id == pair)


def of_output(capsys, *words):
    """(exit code, what was printed) of a call in this process."""
    capsys.readouterr()
    code = pairs.main(list(words))
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


async def test_every_pair_of_the_catalogue_is_listed_and_one_is_recommended(home):
    home.tiny_pair()
    found = await ModelChoice().pairs()
    assert {"tiny", "qwen2.5-coder-1.5b"} <= {each.id for each in found}
    assert sum(each.recommended for each in found) == 1
    assert not any(each.in_use for each in found)


async def test_each_pair_says_what_it_is_for_and_where_it_is_kept(home):
    purposes = {each.id: each.purpose for each in await ModelChoice().pairs()}
    assert purposes["qwen2.5-coder-1.5b"] == ""
    assert purposes["qwen2.5-coder-7b-q8"] == "more exact, slower"
    assert purposes["qwen2.5-coder-1.5b-base"] == "for completion only"
    assert purposes["smollm2-135m"] == "only for trying"
    assert (await choice("smollm2-135m")).folder


async def test_a_model_that_is_here_is_called_as_its_file_says(home):
    path = write_tiny_model(home.root / "m.gguf", called="SmolLM2 135M Instruct")
    home.add(id="mine", path=str(path))
    home.add_pair(id="pair", target="mine")
    assert (await choice("pair")).called == "SmolLM2 135M"
    path.write_bytes(path.read_bytes()[:40])
    assert (await choice("pair")).called == ""
    assert (await choice("smollm2-135m")).called == ""


async def test_a_pair_is_missing_then_fetched_then_here_and_then_in_use(home, hub):
    before = await choice("fetched")
    assert (before.here, before.missing, before.note) == ("missing", before.bytes, "For tests.")
    events = await fetched()
    assert [event for event in events if isinstance(event, Transfer) and event.done == event.total]
    assert any(isinstance(event, Told) and "can be loaded" in event.text for event in events)
    after = await choice("fetched")
    assert (after.here, after.missing, after.in_use, after.misfit) == ("ready", 0, False, "")
    await ModelChoice().choose("fetched")
    assert (await choice("fetched")).in_use


async def test_what_forbids_downloads_is_told_of_a_pair_that_is_not_here(home, hub, monkeypatch):
    assert (await choice("fetched")).barred == ""
    home.write(f"[models]\noffline = true\n{ONE_THREAD}")
    barred = (await choice("fetched")).barred
    assert barred.startswith("models.offline in ") and barred.endswith("config.toml forbids downloads")
    home.write(ONE_THREAD)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert (await choice("fetched")).barred == "HF_HUB_OFFLINE forbids downloads"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    await fetched()
    home.write(f"[models]\noffline = true\n{ONE_THREAD}")
    assert (await choice("fetched")).barred == ""


async def test_choosing_keeps_everything_else_in_the_configuration(home, hub):
    home.write(f"# mine\n{ONE_THREAD}")
    await ModelChoice().choose("fetched")
    text = home.settings.read_text()
    assert text.startswith("# mine\n")
    assert tomlkit.parse(text).unwrap() == {"engine": {"threads": 1}, "models": {"pair": "fetched"}}


async def test_a_download_that_was_stopped_goes_on_where_it_was(home, hub):
    slow = hub.files["owner/target:target.gguf"]
    slow.pause, slow.block = 0.05, 8192
    async with aclosing(ModelChoice().fetch("fetched")) as events:
        async for event in events:
            if isinstance(event, Transfer) and event.done > 20_000:
                break
    (part,) = home.store.glob("*/*.part")
    kept = part.stat().st_size
    assert 20_000 <= kept < len(slow.content)
    slow.pause = 0.0
    await fetched()
    assert not list(home.store.glob("*/*.part"))
    begins = [
        int(headers["range"].removeprefix("bytes=").rstrip("-")) for headers in hub.of("GET") if "range" in headers
    ]
    assert begins
    assert begins[0] >= 20_000


async def test_what_fails_is_raised_with_its_hint_and_may_be_tried_again(home, hub):
    right = served(hub)
    right.statuses = [403]
    with pytest.raises(PacelineError) as raised:
        await fetched()
    assert raised.value.hint
    await fetched()


async def test_models_that_do_not_fit_each_other_are_found_out_before_they_are_chosen(home):
    home.tiny_pair(token_changes={0xF0: "other"})
    with pytest.raises(PacelineError, match="cannot draft for"):
        await fetched("tiny")


async def test_cancelling_the_wait_ends_the_process(home, hub):
    served(hub).pause = 0.2
    task = asyncio.create_task(fetched())
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 20)


def test_a_pair_that_is_not_known_is_an_error_with_near_names(home, capsys):
    code, (said,) = of_output(capsys, "choose", "qwen2.5-coder-1.5")
    assert code == 4
    assert "qwen2.5-coder-1.5b" in said["hint"]
    assert home.settings.read_text() == ONE_THREAD


def test_a_target_in_the_configuration_would_win_so_no_pair_is_written(home, capsys):
    home.tiny_pair()
    settings = f'{ONE_THREAD}[models]\ntarget = "tiny-target"\n'
    home.write(settings)
    code, (said,) = of_output(capsys, "choose", "tiny")
    assert code == 3
    assert "wins over a pair" in said["error"]
    assert home.settings.read_text() == settings


def test_words_that_mean_nothing_are_refused(home, capsys):
    assert of_output(capsys, "nonsense")[0] != 0
    assert pairs.read("llama.cpp says something") is None
    assert pairs.read("[1]") is None


def test_what_does_not_fit_into_memory_or_on_the_disk_says_so(home, monkeypatch):
    from dataclasses import replace

    from paceline.models import hardware

    real = hardware.detect(home.root)
    for changes, words in (({"memory_available": 10**9}, "of memory"), ({"disk_free": 10**8}, "on the disk")):
        monkeypatch.setattr(hardware, "detect", lambda store, changes=changes: replace(real, **changes))
        found = {each.id: each for each in pairs.choices()}
        assert words in found["qwen2.5-coder-32b"].misfit
