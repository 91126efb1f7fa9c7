"""What typing costs: Python files typed key by key at a human rhythm, with slips and jumps; prints JSON.

    python tests/bench/typing --target path/of/a.gguf --keys 900
    python tests/bench/typing --target path/of/a.gguf --peer path/of/llama-server

Every key is a change and a request, as editors send them, to the language server's own session, which asks a real
daemon in a folder of its own. Nobody accepts anything: what is suggested is typed through or against. With --peer the
same keys go to llama.cpp's server in the shape that llama.vim gives them: 256 lines before and 64 after the cursor,
nothing cancelled, one request after the other.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import keys as keyboard  # noqa: E402 - beside this file

FILES = ("textwrap.py", "bisect.py", "shlex.py", "queue.py", "fnmatch.py", "colorsys.py", "heapq.py", "sched.py")


@dataclass
class Figures:
    """Of all keys."""

    sources: Counter = field(default_factory=Counter)
    silences: Counter = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # to what was shown, cached or not
    computed: list[float] = field(default_factory=list)  # to what had to be computed
    read: list[int] = field(default_factory=list)  # tokens of the prompt that a request had to read
    ahead: int = 0  # tokens read while nobody waited
    stale: int = 0
    repeated: int = 0
    right: int = 0  # shown ones whose first line is what is typed next
    shown: int = 0


def main() -> None:
    chosen = parse()
    with tempfile.TemporaryDirectory() as folder:
        home(Path(folder), chosen)
        figures = asyncio.run(replay(chosen))
    found = report(chosen, figures)
    if chosen.peer:
        from peer import measure

        found["peer"] = measure(chosen.peer, chosen.target, documents(chosen), chosen.sample)
    print(json.dumps(found, indent=2))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, required=True, help="the model that completes")
    parser.add_argument("--keys", type=int, default=1200)
    parser.add_argument("--lines", type=int, default=3, help="of each part that is typed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", type=Path, help="path of llama-server")
    parser.add_argument("--sample", type=int, default=40, help="keys that the peer is asked for")
    return parser.parse_args()


def home(folder: Path, chosen: argparse.Namespace) -> None:
    """A configuration and a daemon of this run's own."""
    os.environ |= {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    path = folder / "config.toml"
    path.write_text(f'[models]\ntarget = "{chosen.target.resolve()}"\ndraft = "none"\noffline = true\n')
    os.environ["PACELINE_CONFIG"] = str(path)


def documents(chosen: argparse.Namespace) -> list[tuple[str, str, list[keyboard.Key]]]:
    """(name, text without what will be typed, keys), until there are enough keys."""
    choice, found = random.Random(chosen.seed), []
    for name in FILES:
        text = (Path(os.__file__).parent / name).read_text()
        places = keyboard.parts(text, choice, 3, chosen.lines)
        strokes = list(keyboard.typed(text, places, choice))[: chosen.keys // len(FILES)]
        found.append((name, keyboard.without(text, places)[0], strokes))
    return found


async def replay(chosen: argparse.Namespace) -> Figures:
    from paceline import config as configuration
    from paceline import paths
    from paceline.client.async_client import connect
    from paceline.daemon import ending
    from paceline.daemon.runtime import Runtime
    from paceline.lsp.context.gather import Context
    from paceline.lsp.engine import Engine
    from paceline.lsp.figures import Figures as Counts
    from paceline.lsp.figures_store import Store
    from paceline.lsp.session import Session
    from paceline.lsp.telling import Telling

    config = configuration.load(paths.config_file())
    figures = Figures()
    async with connect(config) as client:
        recorder = Recorder(client, figures)
        telling = Telling(lambda kind, text: print(text, file=sys.stderr))
        counts = Counts(Store(paths.state_dir() / "figures"), lambda uri: None)
        session = Session(config, Engine(recorder), Context(), telling, counts, print)
        await warm_up(session)
        for name, text, strokes in documents(chosen):
            await one(session, name, text, strokes, figures)
            print(f"{name}: {dict(figures.sources)}", file=sys.stderr, flush=True)
        figures.silences = Counter(session.silences)
        await session.close()
    runtime = Runtime.open()
    ending.ask_to_stop(runtime, "now")
    ending.wait(runtime)
    return figures


async def warm_up(session: object) -> None:
    """Start the daemon and load the model."""
    from paceline.lsp.place import Place

    await session.suggest(Place("file:///warm.py", "python", 1, "import os\n\nprint(", "\n"), asked=True)
    session.sources.clear()
    session.silences.clear()


class Recorder:
    """The client; notes what was read for each request."""

    def __init__(self, client: object, figures: Figures) -> None:
        self._client = client
        self._figures = figures

    async def complete(self, prefix: str, suffix: str, options: object, notice: Callable) -> object:
        done = await self._client.complete(prefix, suffix, options, notice)
        read = int(done.timings.get("prompt_n") or 0)
        if options.priority == "completion":
            self._figures.read.append(read)
        else:
            self._figures.ahead += read
        return done


async def one(session: object, name: str, text: str, strokes: list, figures: Figures) -> None:
    """A file: every key comes when it comes, whatever the engine does."""
    from paceline.lsp.place import Place

    uri, version, waiting = f"file:///work/{name}", 0, set()
    session.opened(uri, name, "", "python", text)
    truth = [each.text for each in strokes]

    def place(at: int) -> Place:
        return Place(uri, "python", version, text[:at], text[at:], name, "")

    def hear(answer: object) -> None:
        nonlocal heard
        heard = answer

    heard, session.heard = None, hear  # the last thing before `suggest` returns

    async def request(where: Place, number: int) -> None:
        began = time.perf_counter()
        shown = await session.suggest(where)
        took = time.perf_counter() - began
        if not shown:
            figures.sources[heard.silence] += 1
            return
        answer = shown[0].answer
        figures.sources[answer.source] += 1
        figures.seconds.append(took)
        if answer.source in ("engine", "flight"):
            figures.computed.append(took)
        figures.stale += where.version != version
        figures.shown += 1
        line = shown[0].text.split("\n", 1)[0]
        figures.right += "".join(truth[number + 1 :]).startswith(line) if line else 0
        figures.repeated += repeats(where, shown[0].text)

    for number, key in enumerate(strokes):
        await asyncio.sleep(key.wait)
        removed = text[key.at - key.removed : key.at]
        text = keyboard.applied(text, key)
        version += 1
        at = key.at - key.removed + len(key.text)
        session.changed(uri, text, key.at - key.removed, removed, key.text, lambda at=at: place(at))
        task = asyncio.create_task(request(place(at), number))
        waiting.add(task)
        task.add_done_callback(lambda done: (waiting.discard(done), done.cancelled() or complain(done)))
    if waiting:
        await asyncio.wait(waiting)
    session.closed(uri)


def complain(task: asyncio.Task) -> None:
    if task.exception() is not None:
        traceback.print_exception(task.exception())


def repeats(place: object, text: str) -> bool:
    """Whether the last whole line of a suggestion is the next one of the document."""
    following = [line.strip() for line in place.after.split("\n")[1:] if line.strip()][:1]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return bool(lines[1:] and following and lines[-1] == following[0] and len(lines[-1]) > 2)


def report(chosen: argparse.Namespace, figures: Figures) -> dict:
    answered = sum(figures.sources[each] for each in ("cache", "prefetch", "flight", "engine"))
    free = figures.sources["cache"] + figures.sources["prefetch"]
    decided = sum(count for name, count in figures.sources.items() if name != "superseded")
    return {
        "model": chosen.target.stem,
        "keys": sum(figures.sources.values()),
        "sources": dict(figures.sources),
        "answered_without_decode": round(free / max(1, answered), 3),
        "decided_without_decode": round(1 - len(figures.read) / max(1, decided), 3),
        "tokens_read_median": quantile(figures.read, 0.5),
        "tokens_read_p90": quantile(figures.read, 0.9),
        "tokens_read_ahead_per_key": round(figures.ahead / chosen.keys, 1),
        "seconds_median": quantile(figures.seconds, 0.5),
        "seconds_p90": quantile(figures.seconds, 0.9),
        "computed_seconds_median": quantile(figures.computed, 0.5),
        "computed_seconds_p90": quantile(figures.computed, 0.9),
        "first_line_right": round(figures.right / max(1, figures.shown), 3),
        "stale": figures.stale,
        "repeats_the_next_line": figures.repeated,
    }


def quantile(values: list, share: float) -> float | None:
    if len(values) < 2:
        return values[0] if values else None
    return round(statistics.quantiles(values, n=100, method="inclusive")[int(share * 100) - 1], 4)


if __name__ == "__main__":
    main()
