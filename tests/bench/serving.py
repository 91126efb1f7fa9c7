"""What sharing costs and brings: the daemon and its client against the engine in this process; prints JSON.

    python tests/bench/serving.py                 # the configured pair, on a daemon of its own
    python tests/bench/serving.py --repetitions 7 --json out.json

Compared are medians of runs in alternation. Needs a machine that is otherwise idle, and memory for the models twice.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.decoding import configured
from paceline import config as configuration
from paceline import paths
from paceline.client.client import Client, connect
from paceline.client.events import End, Message, Options, Progress, Text
from paceline.config import Config
from paceline.daemon import assembly
from paceline.daemon.service import Overrides, Service
from paceline.engine.sequence import Delta, Finished
from paceline.prompts import chat

QUESTIONS = (
    "Explain in detail what a hash table is and how collisions are resolved.",
    "Explain in detail what a balanced binary tree is and how it is rebalanced.",
    "Explain in detail what a garbage collector is and how generations help.",
    "Explain in detail what a database index is and when it is not used.",
)
CONTEXT = 4096
FIRST_BYTE = """
import time
import httpx, httpcore
from paceline import config, paths
from paceline.client.client import connect
from paceline.client.events import Message, Options
settings = config.load(paths.config_file())
began = time.perf_counter()
with connect(settings, print) as client:
    answer = client.chat([Message("user", "Hi")], Options(max_tokens=1))
    next(answer)
    print((time.perf_counter() - began) * 1000)
    list(answer)
"""
IMPORT = "import time; t = time.perf_counter(); import paceline.client.client; print((time.perf_counter() - t) * 1000)"


def main() -> None:
    options = parse()
    config = configuration.load(paths.config_file())
    target, draft = configured(config)
    report: dict = {"target": target.name, "draft": draft.name if draft else None}
    with daemon(target, draft) as settings, connect(settings, tell) as client:
        report["daemon_without_models_mb"] = client.status().memory.resident / 2**20
        ask(client, "Hi", 1)  # loads
        report["first_byte_ms"] = [child(FIRST_BYTE) for _ in range(options.repetitions)]
        report["import_ms"] = [child(IMPORT) for _ in range(options.repetitions)]
        report["completion"] = beside_a_chat(client, options.repetitions)
        report["turns"] = turns(client)
        report["together"] = together(settings, client, options)
        report["overhead"] = overhead(client, target, draft, settings, options)
    text = json.dumps(report, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text, encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=160)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def tell(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def daemon(target: Path, draft: Path | None) -> Iterator[Config]:
    """A daemon of our own on these files; the environment names its folders meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "run").mkdir(mode=0o700)
        file = home / "config.toml"
        models = {"target": str(target), "draft": str(draft) if draft else "none"}
        lines = [f"{key} = {json.dumps(value)}" for key, value in models.items()]
        file.write_text("\n".join(["[models]", *lines, "[engine]", f"context = {CONTEXT}", ""]), encoding="utf-8")
        os.environ |= {"XDG_RUNTIME_DIR": str(home / "run"), "PACELINE_CONFIG": str(file)}
        try:
            yield configuration.load(file)
        finally:
            subprocess.run([sys.executable, "-m", "paceline", "stop", "--now"], check=False, stdout=sys.stderr)


def child(code: str) -> float:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(ended.stdout.splitlines()[-1])


def ask(client: Client, question: str, tokens: int, **how: object) -> tuple[int, float]:
    """(tokens after the first, seconds from the first piece of text to the end)."""
    first = 0.0
    options = Options(max_tokens=tokens, **{"temperature": 0.0, "speculation": "off", **how})
    for event in client.chat([Message("user", question)], options):
        if isinstance(event, Text) and not first:
            first = time.perf_counter()
        elif isinstance(event, End):
            return event.usage.completion_tokens - 1, time.perf_counter() - first
    raise AssertionError("an answer ends with End")


def overhead(
    client: Client, target: Path, draft: Path | None, config: Config, options: argparse.Namespace
) -> dict[str, float | list[float]]:
    """Tokens per second through daemon and client over those of the engine in this process."""
    installed = assembly.inspect(target, draft, config)
    service = Service(assembly.load(installed, tell, speculation="off"), config, "bench")
    ratios, speeds = [], []
    for repetition in range(options.repetitions):
        runs = [lambda: ask(client, QUESTIONS[0], options.tokens), lambda: here(service, QUESTIONS[0], options.tokens)]
        order = (0, 1) if repetition % 2 else (1, 0)
        measured = {at: runs[at]() for at in order}
        shared, alone = (measured[at][0] / measured[at][1] for at in (0, 1))
        ratios.append(shared / alone)
        speeds.append(alone)
    service.close()
    return {"in_process": statistics.median(speeds), "ratio": statistics.median(ratios), "ratios": ratios}


def here(service: Service, question: str, tokens: int) -> tuple[int, float]:
    first = 0.0
    wish = Overrides(max_tokens=tokens, temperature=0.0, speculation="off")
    for event in service.chat([chat.Message("user", question)], wish):
        if isinstance(event, Delta) and not first:
            first = time.perf_counter()
        elif isinstance(event, Finished):
            return event.stats.predicted_tokens - 1, time.perf_counter() - first
    raise AssertionError("a stream ends with Finished")


def together(config: Config, client: Client, options: argparse.Namespace) -> dict:
    """Four requests of equal length one after another, and at once: tokens per second of all."""
    rates: dict[str, list[float]] = {"serial": [], "parallel": []}
    for question in QUESTIONS:
        ask(client, question, 4)  # prompts are in the cache from here on
    for _ in range(options.repetitions):
        began = time.perf_counter()
        count = sum(ask(client, question, options.tokens)[0] + 1 for question in QUESTIONS)
        rates["serial"].append(count / (time.perf_counter() - began))
        counts: list[int] = []

        def one(question: str, counts: list[int] = counts) -> None:
            with connect(config, tell) as own:
                counts.append(ask(own, question, options.tokens)[0] + 1)

        threads = [threading.Thread(target=one, args=(question,)) for question in QUESTIONS]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rates["parallel"].append(sum(counts) / (time.perf_counter() - began))
    ratios = [fast / slow for fast, slow in zip(rates["parallel"], rates["serial"], strict=True)]
    curve = known_curve(config)
    limit = 4 * curve.at(1) / curve.at(4)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return {**medians, "gain": statistics.median(ratios), "gains": ratios, "limit_of_the_curve": limit}


def known_curve(config: Config):
    target, draft = configured(config)
    return assembly.known_costs(assembly.inspect(target, draft, config)).curves["target"]


def beside_a_chat(client: Client, repetitions: int) -> dict[str, list[float]]:
    """Milliseconds for a completion's first token: alone, and while a long chat answer is being written."""
    found: dict[str, list[float]] = {"alone_ms": [], "beside_ms": []}
    for number in range(2 * repetitions):
        name = "alone_ms" if number % 2 else "beside_ms"
        running = client.chat([Message("user", QUESTIONS[0])], Options(max_tokens=400, speculation="off"))
        if name == "beside_ms":
            for seen, _ in enumerate(running):
                if seen > 20:
                    break
        before = f"# file {number}\n" + "".join(f"value_{i} = {i * number}\n" for i in range(20)) + "total = value_"
        began = time.perf_counter()
        client.complete(before, "\n", Options(max_tokens=1))
        found[name].append((time.perf_counter() - began) * 1000)
        running.close()
    return found


def turns(client: Client) -> dict[str, float]:
    """A conversation of about 2,000 tokens: its second turn, and its third after others have pushed it out."""
    facts = " ".join(f"Item {i} costs {i * 7919 % 1000} crowns." for i in range(140))
    first = [Message("user", f"{facts} What does item 7 cost?")]
    answers = {}
    answers["first"] = whole(client, first)
    second = [*first, Message("assistant", answers["first"].text), Message("user", "And item 9?")]
    answers["second"] = whole(client, second)
    for other in (1, 2):
        words = " ".join(f"Thing {other} {i} weighs {i * 104729 % 1000} pounds." for i in range(110))
        whole(client, [Message("user", f"{words} What does thing 3 weigh?")])
    parked = client.status().memory.parked
    third = [*second, Message("assistant", answers["second"].text), Message("user", "And item 11?")]
    answers["third"] = whole(client, third)
    found = {"parked": parked}
    for name, answer in answers.items():
        found |= {f"{name}_prompt_n": answer.prompt_n, f"{name}_cached_n": answer.cached_n, f"{name}_ms": answer.ms}
    return {**found, "return_share": answers["third"].ms / answers["first"].ms}


class whole:
    """An answer, how many of its prompt's tokens were read, and the milliseconds until its first piece of text."""

    def __init__(self, client: Client, messages: list[Message]) -> None:
        self.text, self.ms, began = "", 0.0, time.perf_counter()
        for event in client.chat(messages, Options(max_tokens=12, temperature=0.0)):
            if isinstance(event, Text):
                self.ms = self.ms or (time.perf_counter() - began) * 1000
                self.text += event.text
            elif isinstance(event, End):
                self.prompt_n, self.cached_n = event.timings["prompt_n"], event.timings["cache_n"]
            else:
                assert isinstance(event, Progress), event


if __name__ == "__main__":
    main()
