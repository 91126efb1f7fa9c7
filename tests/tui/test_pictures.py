"""How the app looks, as a person comes there: the real one, over answers that are scripted.

After a change that is meant: pytest tests/tui/test_pictures.py --snapshot-update, and look at what has changed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
from textual.events import Paste
from textual.widgets import Input, OptionList

from paceline.chat.turns import Session, Turn
from paceline.client.events import End, Pace, Text
from paceline.config import ChatConfig, Config
from paceline.tui.app import PacelineApp
from paceline.tui.screens.fitting import FittingScreen
from paceline.tui.screens.sessions import SessionsScreen
from paceline.tui.widgets.footer import Footer
from paceline.tui.widgets.prompt import Prompt
from support.app_driving import chat, until, write
from support.app_services import ScriptedClient, ScriptedModels, ScriptedProgram, services
from support.counting_server import CountingServer
from support.fake_models import MIDDLE
from support.templates import QWEN
from support.toy_tokenizer import ToyTokenizer

SIZES = [(40, 12), (80, 24), (120, 40)]
ANSWER = (
    Text("Use **sum**, or a loop:\n\n```python\n"),
    Text("total = 0\n", "ngram"),
    Text("for value in values:  # each of them\n    total += value\n", "draft"),
    Text("print(total)\n", "edit"),
    Text("```\n\n- [x] no import\n- [ ] the empty list\n\nWith an average:\n\n```python\nimport statistics\n\n"),
    Text("mean = statistics.mean(", "lookahead"),
    Text("values"),
)
FIGURES = (
    "edit     19.8 → 51.7 tokens/s   2.61x",
    "prose    20.1 → 23.9 tokens/s   1.19x",
    "a line that is longer than a small terminal has room for, so that it goes on below in it",
)


class Halfway(ScriptedClient):
    """Stands still in the middle of its answer; says how fast it was once `measured` is set."""

    def __post_init__(self):
        super().__post_init__()
        self.measured = asyncio.Event()

    async def chat(self, messages, options=None, cancel=None):
        for event in ANSWER:
            yield event
        await self.measured.wait()
        yield Pace(84, 41.3, 60, 43, 1.8, 2000.0)
        await self.gate.wait()
        yield End("stop", model="qwen2.5-coder-1.5b")


@dataclass(frozen=True)
class Scene:
    """Where a person is: what they did there."""

    come: Callable[..., Awaitable[None]]
    made: dict[str, object]  # how the app is opened

    @classmethod
    def of(cls, come, **made):
        return cls(come, made)


async def streaming(pilot):
    """An answer that is written, a message that waits, another one with a long paste in it."""
    client = pilot.app.services.connect(None, None)
    client.gate.clear()
    await write(pilot, "How do I add up these?", send=False)
    await pilot.press("enter")
    await until(pilot, lambda: "statistics.mean(values" in chat(pilot).conversation.path[-1].text)
    await write(pilot, "Thanks. And in Rust?", send=False)
    await pilot.press("enter")
    await until(pilot, lambda: len(chat(pilot).conversation.queued) == 1)
    chat(pilot).query_one(Prompt).post_message(Paste("".join(f"{number}\n" for number in range(50))))
    await until(pilot, lambda: chat(pilot).attached)
    client.measured.set()
    await until(pilot, lambda: "41.3" in chat(pilot).query_one(Footer).render().plain)
    await pilot.press("f2")
    await pilot.pause(0.2)


async def sessions(pilot):
    """Some that were kept just now."""
    store, root = pilot.app.services.store, str(pilot.app.services.root)
    for title, words in (("Parse TOML", "tomllib"), ("Sort a list", "sorted"), ("日本", "語")):
        turns = [Turn(1, None, "user", title), Turn(2, 1, "assistant", words)]
        store.insert(Session("", title, root, 0.0, 0.0, "", 2), turns)
    await write(pilot, "/sessions")
    await until(pilot, lambda: isinstance(pilot.app.screen, SessionsScreen))
    await pilot.pause(0.3)


async def finder(pilot):
    """The list of what can be mentioned."""
    for name in ("app.py", "tests/test_app.py", "docs/application.md", "README.md"):
        path = pilot.app.services.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("def apply(values):\n    return values\n" if name.endswith(".py") else "# Hi\n")
    chat(pilot).suggesting.refresh_workspace()
    await chat(pilot).suggesting.ready()
    await pilot.press(*"Look @app")
    await until(pilot, lambda: chat(pilot).suggesting.popup.display)
    await pilot.pause(0.3)


async def fitting(pilot):
    """A message that is too long."""
    (pilot.app.services.root / "big.py").write_text("".join(f"big_{number} = {number}\n" for number in range(250)))
    chat(pilot).suggesting.refresh_workspace()
    await write(pilot, "What is the use of @big.py?", send=False)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, FittingScreen))
    await pilot.pause(0.3)


async def help_(pilot):
    """All keys and commands."""
    await pilot.press("f1")
    await until(pilot, lambda: pilot.app.screen is not chat(pilot))


async def set_up(pilot):
    """The first time."""
    await until(pilot, lambda: pilot.app.screen is not chat(pilot))
    await pilot.pause(0.2)


async def report(pilot):
    """What another command says."""
    await write(pilot, "/stats")
    await until(pilot, lambda: pilot.app.screen is not chat(pilot) and not pilot.app.screen._going)
    await pilot.pause(0.2)


async def palette(pilot):
    """The commands that there are, by what they do."""
    await pilot.press("ctrl+p")
    await until(pilot, lambda: pilot.app.screen is not chat(pilot))
    pilot.app.screen.query_one(Input).cursor_blink = False
    await pilot.press(*"copy")
    await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count == 2)
    await pilot.pause(0.5)


class Offered(ScriptedModels):
    """A pair that is not there yet."""

    async def pairs(self):
        return (MIDDLE,)


COUNTED = {"config": Config(chat=ChatConfig(reserve_tokens=200))}
SCENES = {
    "chat": Scene.of(streaming),
    "sessions": Scene.of(sessions),
    "finder": Scene.of(finder),
    "fitting": Scene.of(fitting, **COUNTED),
    "help": Scene.of(help_),
    "set-up": Scene.of(set_up, is_set_up=False),
    "report": Scene.of(report),
    "palette": Scene.of(palette),
}


@pytest.fixture
def client(request):
    if request.node.callspec.params.get("scene") == "fitting":
        return ScriptedClient(counter=CountingServer(QWEN, ToyTokenizer(), context=3000))
    return Halfway()


@pytest.fixture
def opened(tmp_path, client):
    """The app as a scene has it."""

    def make(scene, **more):
        programs = {"stats": lambda _: ScriptedProgram("paceline stats", FIGURES)}
        made = services(tmp_path, client, **scene.made, **more)
        return PacelineApp(replace(made, models=Offered(), programs=programs))

    return make


def by_size(size):
    return "x".join(map(str, size))


@pytest.mark.parametrize("size", SIZES, ids=by_size)
@pytest.mark.parametrize("scene", SCENES)
def test_scene(snap_compare, opened, scene, size):
    found = SCENES[scene]
    assert snap_compare(opened(found), terminal_size=size, run_before=found.come)


@pytest.mark.parametrize(
    "environ",
    [{"COLORFGBG": "0;15"}, {"NO_COLOR": "1"}, {"TERM": "linux", "COLORTERM": ""}],
    ids=["light", "no-colour", "console"],
)
def test_the_conversation_where_colours_are_others(snap_compare, opened, environ):
    assert snap_compare(opened(SCENES["chat"], environ=environ), terminal_size=(80, 24), run_before=streaming)
