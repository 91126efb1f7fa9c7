"""Plain against speculative decoding, in alternation, on three workloads; prints a table, writes JSON.

    python tests/bench/decoding.py                          # the configured pair
    python tests/bench/decoding.py --target T.gguf --draft D.gguf --modes auto ngram draft --json out.json

Machines are noisy: each repetition runs all modes one after the other, in turning order, and the speed-up is the
median of the ratios within repetitions. The first difference between two answers is reported with the margin
between the two largest logits there: batches of different size round differently, so it may appear at a near-tie.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.workloads import WORKLOADS
from paceline import config as configuration
from paceline import paths
from paceline.config import Config
from paceline.daemon import assembly, selection
from paceline.engine.backend import Span
from paceline.engine.engine import Engine
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Finished, Request
from paceline.models.progress import Silent
from paceline.prompts.chat import Message, encode_chat

SYSTEM = "You are a careful programmer. Answer briefly and show code where it helps."


def main() -> None:
    options = parse()
    config = configuration.load(paths.config_file())
    target, draft = (options.target, options.draft) if options.target else configured(config)
    installed = assembly.inspect(target, draft, config)
    wants_draft = "draft" in options.modes
    engine = assembly.load(installed, lambda text: print(text, file=sys.stderr), speculation="auto")
    if not options.no_measure:
        engine.close()
        assembly.measure_costs(installed, lambda share: None)
        engine = assembly.load(installed, lambda text: print(text, file=sys.stderr), speculation="auto")
    assert not wants_draft or engine.draft is not None, "the mode `draft` needs a draft model"
    costs = engine.controller.costs.curve
    report = {
        "target": target.name,
        "draft": draft.name if draft else None,
        "cpu": installed.hardware.cpu,
        "threads": installed.plan.target.n_threads,
        "tokens": options.tokens,
        "repetitions": options.repetitions,
        "curve": costs.to_json(),
        "workloads": {},
        "loop": loop_overhead(engine, options.tokens),
    }
    for name, text in WORKLOADS.items():
        report["workloads"][name] = workload(engine, text, options)
        row(name, report["workloads"][name])
    print(f"loop over bare llama_decode: {report['loop']['overhead']:+.2%}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    else:
        print(json.dumps(report))
    engine.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--modes", nargs="+", default=["auto"], choices=["auto", "ngram", "draft"])
    parser.add_argument("--no-measure", action="store_true", help="take the stored cost curve instead of a new one")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def configured(config: Config) -> tuple[Path, Path | None]:
    files = selection.pair_files(config)
    if files is None:
        sys.exit("no pair is set up: run `paceline setup`, or name --target and --draft")
    found = selection.fetch(files, config, lambda label: Silent(), offline=True)
    return found[0], found[1] if len(found) > 1 else None


def workload(engine: Engine, text: str, options: argparse.Namespace) -> dict:
    """All modes in alternation; medians over the repetitions."""
    prompt = encode(engine, text)
    modes = ["off", *options.modes]
    runs: dict[str, list[Finished]] = {mode: [] for mode in modes}
    generate(engine, prompt, "off", 8)  # the prompt is in the cache from here on
    for repetition in range(options.repetitions):
        order = modes if repetition % 2 == 0 else modes[::-1]
        for mode in order:
            runs[mode].append(generate(engine, prompt, mode, options.tokens))
    plain = runs["off"]
    found = {"predicted_n": len(plain[0].tokens), "plain_tokens_per_second": median(speed(run) for run in plain)}
    for mode in options.modes:
        ratios = [speed(fast) / speed(slow) for fast, slow in zip(runs[mode], plain, strict=True)]
        stats = runs[mode][-1].stats
        found[mode] = {
            "tokens_per_second": median(speed(run) for run in runs[mode]),
            "speed_up": statistics.median(ratios),
            "speed_ups": ratios,
            "draft_n": stats.drafted,
            "draft_n_accepted": stats.accepted,
            "rounds": stats.rounds,
            "first_difference": first_difference(engine, prompt, plain[-1].tokens, runs[mode][-1].tokens),
        }
    return found


def first_difference(engine: Engine, prompt: list[int], plain: list[int], other: list[int]) -> dict | None:
    """Where two answers part, and by how much the plain choice led there; None where they are the same."""
    same = next((i for i, (a, b) in enumerate(zip(plain, other, strict=False)) if a != b), min(len(plain), len(other)))
    if same == len(plain) == len(other):
        return None
    tokens = [*prompt, *plain[:same]]
    generate(engine, tokens, "off", 1)  # leaves all but the last token in the cache
    engine.target.truncate(0, len(tokens) - 1)
    row = np.sort(engine.target.decode([Span(0, len(tokens) - 1, tokens[-1:], 1)])[0])
    engine.target.truncate(0, len(tokens) - 1)
    return {"token": same, "margin": round(float(row[-1] - row[-2]), 4)}


def loop_overhead(engine: Engine, tokens: int) -> dict:
    """The engine's plain loop against bare decodes of the very same tokens, in alternation."""
    prompt = encode(engine, WORKLOADS["code"])
    answer = list(generate(engine, prompt, "off", tokens).tokens)
    looped, bare = [], []
    for _ in range(3):
        run = generate(engine, prompt, "off", tokens)
        looped.append(run.stats.predicted_ms / (run.stats.predicted_tokens - 1))
        engine.target.truncate(0, len(prompt))
        began = time.perf_counter()
        for i, token in enumerate(answer[:-1]):
            engine.target.decode([Span(0, len(prompt) + i, [token], 1)])
        bare.append((time.perf_counter() - began) * 1000 / (len(answer) - 1))
        engine.target.truncate(0, len(prompt))
    ratios = [a / b for a, b in zip(looped, bare, strict=True)]
    return {"loop_ms": median(looped), "bare_ms": median(bare), "overhead": statistics.median(ratios) - 1}


def encode(engine: Engine, text: str) -> list[int]:
    vocabulary = engine.target.vocabulary
    return encode_chat(vocabulary.chat_template, [Message("system", SYSTEM), Message("user", text)], vocabulary)


def generate(engine: Engine, prompt: list[int], mode: str, tokens: int) -> Finished:
    request = Request(prompt, tokens, SamplerSettings(), speculation=mode)
    for event in engine.submit(request):
        if isinstance(event, Finished):
            return event
    raise AssertionError


def speed(run: Finished) -> float:
    """Tokens per second after the first one, which belongs to the prompt."""
    return (run.stats.predicted_tokens - 1) / run.stats.predicted_ms * 1000


def median(values) -> float:
    return round(statistics.median(values), 3)


def row(name: str, found: dict) -> None:
    for mode, figures in found.items():
        if not isinstance(figures, dict):
            continue
        difference = figures["first_difference"]
        apart = (
            "same text" if difference is None else f"differs at {difference['token']}, margin {difference['margin']}"
        )
        print(
            f"{name:6} {mode:6} plain {found['plain_tokens_per_second']:6.2f} tok/s, "
            f"speculative {figures['tokens_per_second']:6.2f} tok/s, speed-up {figures['speed_up']:.3f}x, "
            f"accepted {figures['draft_n_accepted']}/{figures['draft_n']} in {figures['rounds']} rounds, {apart}",
            flush=True,
        )


if __name__ == "__main__":
    main()
