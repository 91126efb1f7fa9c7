"""A running editor goes by the person's configuration as it is now: other models, other settings, mended mistakes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from paceline.config import Config
from paceline.errors import BusyError, ConfigError
from paceline.lsp.engine import StoppedError
from paceline.lsp.options import of_person
from paceline.lsp.reaching import Reaching
from support.cli import TinyModels
from support.lsp_editor import AUTOMATIC, LspEditor, Page, lsp_editor, run
from support.real_daemon import RealDaemon

FUNCTION = "import os\n\n\ndef total(values):\n    result = |\n    return result\n"


class Person:
    """Somebody's configuration file, and what runs for them."""

    def __init__(self, daemon: RealDaemon) -> None:
        self.daemon = daemon

    def configure(self, text: str) -> None:
        self.daemon.settings.write_text(text, encoding="utf-8")

    def choose(self, target: Path, more: str = "") -> None:
        self.configure(
            f'[models]\ntarget = {json.dumps(str(target))}\ndraft = "none"\n[engine]\nthreads = 1\n'
            f"[editor]\nthreshold = -1000\n{more}"
        )

    @property
    def pid(self) -> int:
        """The daemon's process."""
        (state,) = (self.daemon.root / "run").rglob("daemon.json")
        return int(json.loads(state.read_bytes())["pid"])


@pytest.fixture
def person(tiny: TinyModels) -> Iterator[Person]:
    daemon = RealDaemon(tiny.target, None)
    try:
        yield Person(daemon)
    finally:
        stop = [sys.executable, "-m", "paceline", "stop", "--now"]
        subprocess.run(stop, env=daemon.environment, check=False, capture_output=True)
        shutil.rmtree(daemon.root, ignore_errors=True)


async def typed_on(page: Page) -> list[str | None]:
    """What is suggested, without being asked for by hand, for a text that nobody has asked about."""
    page.type("x")
    page.delete()
    page.type("(")
    return [str(each.insert_text) for each in await page.ask(AUTOMATIC)]


async def model(editor: LspEditor) -> str:
    return str(await editor.do("paceline.status")).splitlines()[0]


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("", "no models are chosen"),
        ('[models]\npair = "nonsense"\n', "nonsense"),
        ("[models]\npare = 1\n", "pare"),
    ],
)
def test_a_configuration_that_is_mended_holds_with_the_next_key(person: Person, tiny: TinyModels, before, word):
    person.configure(before)

    async def scenario() -> None:
        async with lsp_editor(person.daemon.environment) as editor:
            page = editor.open(FUNCTION)
            assert await typed_on(page) == []
            assert await typed_on(page) == []
            (message,) = editor.shown
            assert word in message
            person.choose(tiny.target)
            assert await typed_on(page) != []
            assert len(editor.shown) == 1

    run(scenario)


def test_other_models_are_loaded_with_the_next_key(person: Person, tiny: TinyModels):
    person.choose(tiny.target)

    async def scenario() -> None:
        async with lsp_editor(person.daemon.environment) as editor:
            page = editor.open(FUNCTION)
            assert await typed_on(page)
            assert await model(editor) == "model       target"
            before = person.pid
            person.choose(tiny.draft)
            assert await typed_on(page)
            assert await model(editor) == "model       draft"
            assert person.pid != before

    run(scenario)


def test_a_mistake_in_the_file_takes_nothing_away_and_is_told_once(person: Person, tiny: TinyModels):
    person.choose(tiny.target)

    async def scenario() -> None:
        async with lsp_editor(person.daemon.environment) as editor:
            page = editor.open(FUNCTION)
            assert await typed_on(page)
            before = person.pid
            person.choose(tiny.target, "candidates = [")
            for _ in range(3):
                assert await typed_on(page)
            (message,) = editor.shown
            assert "TOML" in message
            assert person.pid == before

    run(scenario)


def test_settings_of_the_persons_own_table_hold_with_the_next_key(person: Person, tiny: TinyModels):
    person.choose(tiny.target, "enabled = false\n")

    async def scenario() -> None:
        async with lsp_editor(person.daemon.environment) as editor:
            page = editor.open(FUNCTION)
            assert await typed_on(page) == []
            person.choose(tiny.target)
            assert await typed_on(page) != []

    run(scenario)


def test_a_restart_starts_another_process_though_nothing_has_changed(person: Person, tiny: TinyModels):
    person.choose(tiny.target)

    async def scenario() -> None:
        async with lsp_editor(person.daemon.environment) as editor:
            page = editor.open(FUNCTION)
            assert await typed_on(page)
            before = psutil.Process(person.pid)
            await editor.do("paceline.restartEngine", None, {"a": [1]}, 3)  # what comes with it does not matter
            while before.is_running() and before.status() != psutil.STATUS_ZOMBIE:
                assert isinstance(await page.ask(AUTOMATIC), list)
            assert await typed_on(page)
            assert person.pid != before.pid
            assert editor.shown == []

    run(scenario)


# --- its parts --------------------------------------------------------------------------------------------------------


def reaching(path: Path) -> Reaching:
    return Reaching(path, of_person(path), lambda line: None)


def test_news_are_told_once(tmp_path: Path):
    path = tmp_path / "config.toml"
    found = reaching(path)
    assert found.news() is None
    path.write_text("[editor]\ncandidates = 1\n")
    news = found.news()
    assert news is not None
    assert news.config.editor.candidates == 1
    assert found.news() is None
    path.unlink()
    news = found.news()
    assert news is not None
    assert news.config == Config()


def test_an_address_that_is_none_is_an_error_until_it_is_mended(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text('[engine]\nurl = "ftp://x"\n')
    found = reaching(path)

    def refused() -> None:
        with pytest.raises(ConfigError, match=r"engine\.url"):
            run(lambda: found.complete("a = ", "", None, lambda event: None))  # type: ignore[arg-type]

    refused()
    path.write_text('[engine]\nurl = "gopher://x"\n')
    news = found.news()
    assert news is not None
    assert news.error is not None
    refused()
    path.write_text("")
    news = found.news()
    assert news is not None
    assert news.error is None


@pytest.mark.parametrize(("url", "raised"), [("", StoppedError), ("http://127.0.0.1:9/v1", BusyError)])
def test_a_daemon_that_has_too_much_to_do_has_not_failed_and_a_server_elsewhere_wants_to_be_left_alone(
    tmp_path: Path, url, raised
):
    path = tmp_path / "config.toml"
    path.write_text(f'[engine]\nurl = "{url}"\n')
    found = reaching(path)

    async def busy(*_: object) -> None:
        raise BusyError("64 requests are waiting already", "try again a little later")

    found._client.complete = busy  # type: ignore[union-attr, method-assign, assignment]
    with pytest.raises(raised):
        run(lambda: found.complete("a = ", "", None, lambda event: None))  # type: ignore[arg-type]
