"""Against llama.cpp's own server: the same prompts, threads, context and greedy sampling; prints JSON or a table.

    python tests/bench/peers.py path/of/llama-server --tokens 400 --repetitions 3 --table

The server is run once for each set of flags and repetition, and so is our engine, in turning order: one of them in
memory at a time, and none remembers an answer of an earlier repetition. A request of a few tokens comes before the one
that is measured, so that the prompt is in the cache. Tokens per second are those of each one's own timings, from the
first token of the answer to the last. The build to compare with is the one inside the source of llama-cpp-python.
"""

import argparse
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import measuring, workloads
from bench.measuring import PLAIN
from bench.prompts import PROMPTS, Prompt
from paceline import config as configuration
from paceline import paths
from paceline.daemon import assembly
from paceline.engine.engine import Engine

OURS = "paceline"
WARM = 8  # tokens of the request that reads the prompt
PATIENCE = 120.0  # seconds for a server to load its models
FLAGS: Mapping[str, Sequence[str]] = {
    "plain": (),
    "ngram-simple": ("--spec-type", "ngram-simple"),
    "ngram-mod": ("--spec-type", "ngram-mod"),
    "ngram-map-k": ("--spec-type", "ngram-map-k"),
    "ngram-cache": ("--spec-type", "ngram-cache"),
    "draft": ("--spec-type", "draft-simple"),
    "draft+ngram-simple": ("--spec-type", "draft-simple,ngram-simple"),
}


@dataclass(frozen=True)
class Measured:
    """One answer. `tokens`: their ids."""

    speed: float
    tokens: Sequence[int]


def main() -> None:
    chosen = parse()
    target, draft = measuring.files(chosen)
    installed = assembly.inspect(target, draft, configuration.load(paths.config_file()))
    asked = the_prompts(chosen.prompt)
    encoded = encode_all(chosen, asked)
    threads, context = installed.plan.target.n_threads, installed.plan.target.n_ctx
    contestants: dict[str, Callable[[], dict[str, Measured]]] = {
        name: lambda name=name: theirs(chosen, name, target, draft, threads, context, encoded)
        for name in chosen.flags
        if draft is not None or not name.startswith("draft")
    }
    contestants[OURS] = lambda: ours(chosen, asked)
    runs: dict[str, list[dict[str, Measured]]] = {name: [] for name in contestants}
    for repetition in range(chosen.repetitions):
        for name in list(contestants) if repetition % 2 == 0 else list(contestants)[::-1]:
            runs[name].append(contestants[name]())
            told = ", ".join(f"{workload} {one.speed:.1f}" for workload, one in runs[name][-1].items())
            print(f"{repetition + 1}: {name}: {told}", file=sys.stderr, flush=True)
    found = {
        "target": target.name,
        "draft": draft.name if draft else None,
        "server": version(chosen.server),
        "cpu": installed.hardware.cpu,
        "threads": threads,
        "context": context,
        "tokens": chosen.tokens,
        "repetitions": chosen.repetitions,
        "workloads": {prompt.name: workload(prompt.name, runs) for prompt in asked},
    }
    if chosen.table:
        print(table(found["workloads"]))
    measuring.deliver(found, chosen.json)


def parse() -> argparse.Namespace:
    parser = measuring.options(__doc__.splitlines()[0], tokens=400, repetitions=3)
    parser.add_argument("server", type=Path, help="path of llama-server")
    parser.add_argument("--flags", nargs="+", choices=FLAGS, default=list(FLAGS))
    parser.add_argument("--prompt", nargs="+", help="prompts of prompts.py, by name, instead of the three workloads")
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def the_prompts(names: Sequence[str] | None) -> list[Prompt]:
    """Those that were named, or the product's workloads that are questions."""
    if names:
        known = {prompt.name: prompt for prompt in PROMPTS}
        return [known[name] for name in names]
    originals = {"edit": workloads.INVENTORY}
    return [Prompt(name, name, text, originals.get(name, "")) for name, text in workloads.WORKLOADS.items()]


def encode_all(chosen: argparse.Namespace, asked: Sequence[Prompt]) -> dict[str, list[int]]:
    """The prompts' tokens: both sides get the very same."""
    loaded = measuring.engine(chosen)
    encoded = {prompt.name: measuring.encode(loaded, prompt.text) for prompt in asked}
    loaded.close()
    return encoded


def ours(chosen: argparse.Namespace, asked: Sequence[Prompt]) -> dict[str, Measured]:
    """Each prompt once, on an engine of its own, with the default settings."""
    loaded: Engine = measuring.engine(chosen)
    try:
        found = {}
        for prompt in asked:
            measuring.ask(loaded, prompt, WARM, PLAIN)
            run = measuring.ask(loaded, prompt, chosen.tokens, "auto")
            found[prompt.name] = Measured(measuring.speed(run), run.tokens)
        return found
    finally:
        loaded.close()


def theirs(
    chosen: argparse.Namespace,
    name: str,
    target: Path,
    draft: Path | None,
    threads: int,
    context: int,
    encoded: Mapping[str, Sequence[int]],
) -> dict[str, Measured]:
    """Each prompt once, on a server of its own with these flags."""
    flags = [*FLAGS[name], "--threads", str(threads), "--ctx-size", str(context)]
    if name.startswith("draft"):
        flags += ["--spec-draft-model", str(draft), "--spec-draft-threads", str(threads)]
    with server(chosen.server, target, flags) as ask:
        found = {}
        for workload_name, tokens in encoded.items():
            ask(tokens, WARM)
            answer = ask(tokens, chosen.tokens)
            found[workload_name] = Measured(answer["timings"]["predicted_per_second"], answer.get("tokens", ()))
        return found


@contextmanager
def server(binary: Path, target: Path, flags: Sequence[str]) -> Iterator[Callable[[Sequence[int], int], dict]]:
    """A running llama-server, as a function from prompt and number of tokens to its answer."""
    with running(binary, target, flags) as address:
        yield lambda tokens, wanted: complete(address, tokens, wanted)


@contextmanager
def running(binary: Path, target: Path, flags: Sequence[str]) -> Iterator[str]:
    """The address of a llama-server that runs until the end, in any case."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    fixed = ["--host", "127.0.0.1", "--port", str(port), "--parallel", "1", "--temp", "0", "--flash-attn", "on"]
    command = [str(binary), "--model", str(target), *fixed, "--cache-prompt", "--offline", "--no-ui", *flags]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(address, process)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(address: str, process: subprocess.Popen) -> None:
    """Until the models are loaded."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            sys.exit(f"llama-server ended with {process.returncode}: {' '.join(map(str, process.args))}")
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.2)
    sys.exit(f"llama-server was not ready after {PATIENCE:.0f} seconds")


def complete(address: str, tokens: Sequence[int], wanted: int) -> dict:
    """One greedy answer."""
    body = {
        "prompt": list(tokens),
        "n_predict": wanted,
        "temperature": 0.0,
        "cache_prompt": True,
        "return_tokens": True,
    }
    return post(f"{address}/completion", body)


def post(url: str, body: object) -> dict:
    """What is answered to JSON, as JSON."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def version(binary: Path) -> str:
    told = subprocess.run([str(binary), "--version"], capture_output=True, text=True)
    return (told.stdout + told.stderr).strip().splitlines()[0]


def workload(name: str, runs: Mapping[str, Sequence[Mapping[str, Measured]]]) -> dict:
    """Medians of one workload, and ours over the best of theirs: by medians, and the median over the repetitions."""
    speeds = {who: [run[name].speed for run in played] for who, played in runs.items()}
    medians = {who: measuring.median(values) for who, values in speeds.items()}
    rivals = {who: value for who, value in medians.items() if who != OURS}
    best = max(rivals, key=lambda who: rivals[who])
    answers = {who: played[-1][name].tokens for who, played in runs.items()}
    apart = {
        who: measuring.common(answers[OURS], tokens)
        for who, tokens in answers.items()
        if list(tokens) != list(answers[OURS])
    }
    return {
        "predicted_n": len(answers[OURS]),
        "tokens_per_second": medians,
        "best_of_theirs": best,
        "ours_over_best": round(medians[OURS] / rivals[best], 3),
        "ours_over_best_paired": measuring.ratio(speeds[OURS], speeds[best]),
        "first_difference_from_ours": apart,
        "all": speeds,
    }


def table(found: Mapping[str, Mapping]) -> str:
    """For people."""
    names = list(next(iter(found.values()))["tokens_per_second"])
    lines = [f"{'tokens/s':20} " + " ".join(f"{name:>8}" for name in found)]
    for who in names:
        lines.append(f"{who:20} " + " ".join(f"{one['tokens_per_second'][who]:8.1f}" for one in found.values()))
    lines.append(f"{'ours / best':20} " + " ".join(f"{one['ours_over_best']:8.2f}" for one in found.values()))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
