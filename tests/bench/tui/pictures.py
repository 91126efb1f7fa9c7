"""The pictures of the README, drawn by the app itself: python tests/bench/tui/pictures.py .github

The conversation is a recorded one; everything else is the app as it is.
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from paceline.chat.models_port import PairChoice
from paceline.client.events import End, Pace, Text
from paceline.tui.app import PacelineApp
from paceline.tui.screens.models import ModelsScreen
from paceline.tui.screens.review import ReviewScreen
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript
from support.app_services import ScriptedClient, services

SIZE = (100, 30)
FILE = '''"""Words and how often they come."""

import re


def count(text):
    words = {}
    for word in re.findall(r"\\w+", text):
        words[word] = words.get(word, 0) + 1
    return words


def top(text, n):
    found = count(text)
    return sorted(found, key=found.get, reverse=True)[:n]
'''
ANSWER = '''`Counter` does both, and lower case makes *The* and *the* one word:

```python words.py
"""Words and how often they come."""

import re
from collections import Counter


def count(text):
    return Counter(re.findall(r"\\w+", text.lower()))


def top(text, n):
    return [word for word, _ in count(text).most_common(n)]
```
'''
TIMINGS = {"predicted_per_second": 31.4, "draft_n": 120, "draft_n_accepted": 98, "speed_up": 1.62}
PAIRS = (
    PairChoice(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder 1.5B",
        "Qwen2.5-Coder 0.5B",
        bytes=1_610_000_000,
        here="ready",
        in_use=True,
        recommended=True,
        speed=17.4,
        licence="Apache-2.0",
        note="for two cores and 4 GB of memory",
    ),
    PairChoice(
        "qwen2.5-coder-7b",
        "Qwen2.5-Coder 7B",
        "Qwen2.5-Coder 0.5B",
        bytes=5_170_000_000,
        missing=4_680_000_000,
        here="part",
        licence="Apache-2.0",
        note="for eight cores, or a graphics card with 8 GB",
    ),
    PairChoice(
        "qwen2.5-coder-32b",
        "Qwen2.5-Coder 32B",
        "Qwen2.5-Coder 1.5B",
        bytes=21_000_000_000,
        missing=21_000_000_000,
        misfit="needs about 23 GB of memory",
        licence="Apache-2.0",
        note="for a graphics card with 24 GB",
    ),
)


def drawn(app: PacelineApp) -> str:
    """The screen as SVG, without the fonts' addresses: a picture asks nobody for anything."""
    return re.sub(r"@font-face \{.*?\}\s*", "", app.export_screenshot(title="paceline"), flags=re.DOTALL)


async def pictures() -> dict[str, str]:
    """Name and SVG of each."""
    pieces = [Text(piece, "edit" if "import re" in piece else "") for piece in re.findall(r"[^\n]*\n", ANSWER)]
    client = ScriptedClient(
        lambda *_: [*pieces, Pace(60, 31.4, 120, 98, 1.62), End("stop", timings=TIMINGS, model="qwen2.5-coder-1.5b")]
    )
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        ground = services(Path(folder), client)
        (ground.root / "words.py").write_text(FILE)
        app = PacelineApp(ground)
        async with app.run_test(size=SIZE) as pilot:
            screen = app.screen_stack[1]
            screen.query_one(Prompt).replace_all("Make @words.py shorter, and count without regard to case. ")
            await pilot.pause(0.5)
            await pilot.press("enter")
            await pilot.pause(1.5)
            screen.show_figures(used=1412, size=8192)
            screen.query_one(Transcript).select(screen.conversation.path[-1].id, 0)
            await pilot.pause(0.3)
            found["chat"] = drawn(app)
            screen.query_one(Transcript).focus()
            await pilot.press("a")
            for _ in range(100):
                await pilot.pause(0.05)
                if isinstance(app.screen, ReviewScreen):
                    break
            await pilot.pause(0.3)
            found["review"] = drawn(app)
            await pilot.press("escape")
            await pilot.pause(0.2)
            app.push_screen(ModelsScreen(ground.models, PAIRS))
            await pilot.pause(0.5)
            found["models"] = drawn(app)
    return found


if __name__ == "__main__":
    for name, svg in asyncio.run(pictures()).items():
        (Path(sys.argv[1]) / f"{name}.svg").write_text(svg, encoding="utf-8")
