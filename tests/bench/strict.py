"""How often speculation changes a greedy answer, by how little the choice was made there, and what `strict` costs.

    python tests/bench/strict.py --prompts 100 --tokens 64

Batches of different sizes round differently, so that a near-tie may turn out the other way when several tokens are
verified in one decode. With `strict` near-ties are decided by a decode of one token. Counted are the answers of 100
short prompts that differ from plain decoding, and the margin between the two likeliest tokens (in logits, in plain
decoding) where they first do.
"""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from bench import measuring
from bench.measuring import PLAIN
from bench.prompts import PROMPTS, Prompt
from paceline.engine.engine import Engine
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Chosen, Finished, Request

SUBJECTS = (
    *("a linked list", "binary search", "quicksort", "a priority queue", "memoisation", "a bloom filter", "a trie"),
    *("topological sort", "run-length encoding", "a ring buffer", "edit distance", "the sieve of Eratosthenes"),
)
FORMS = (
    "Write {} in Python, as short as you can.",
    "Explain {} in three sentences.",
    "Repeat this line five times, then say what it may mean: `result = items['{}']`",
    "List five uses of {}.",
    "Write the signature and docstring of a Python function for {}, twice: once plain, once with type hints.",
)
MODES = ("speculative", "strict")


def main() -> None:
    parser = measuring.options(__doc__.splitlines()[0], tokens=64, repetitions=1)
    parser.add_argument("--prompts", type=int, default=100)
    chosen = parser.parse_args()
    loaded = measuring.engine(chosen)
    asked = short_prompts()[: chosen.prompts]
    speeds: dict[str, list[float]] = {mode: [] for mode in (PLAIN, *MODES)}
    apart: dict[str, list[dict]] = {mode: [] for mode in MODES}
    ties = 0
    for number, prompt in enumerate(asked, 1):
        measuring.ask(loaded, prompt, 1, PLAIN)  # the prompt is in the cache from here on
        runs = {mode: run(loaded, prompt, chosen.tokens, mode) for mode in order(number)}
        for mode, one in runs.items():
            if len(one.tokens) > 8:
                speeds[mode].append(measuring.speed(one))
        ties += runs["strict"].stats.strict_ties
        for mode in MODES:
            if list(runs[mode].tokens) != list(runs[PLAIN].tokens):
                apart[mode].append(difference(loaded, prompt, runs[PLAIN].tokens, runs[mode].tokens))
        counts = ", ".join(f"{mode} {len(apart[mode])}" for mode in MODES)
        print(f"\r{number}/{len(asked)}: differing: {counts}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    loaded.close()
    found = {"prompts": len(asked), "tokens": chosen.tokens, "plain_tokens_per_second": measuring.median(speeds[PLAIN])}
    for mode in MODES:
        margins = sorted(each["margin"] for each in apart[mode])
        found[mode] = {
            "tokens_per_second": measuring.median(speeds[mode]),
            "speed_up": measuring.ratio(speeds[mode], speeds[PLAIN]),
            "differing": len(apart[mode]),
            "greatest_margin": margins[-1] if margins else None,
            "median_margin": round(statistics.median(margins), 4) if margins else None,
            "differences": apart[mode],
        }
    found["strict"]["ties_decided"] = ties
    found["strict"]["over_speculative"] = measuring.ratio(speeds["strict"], speeds["speculative"])
    measuring.deliver(found, chosen.json)


def short_prompts() -> list[Prompt]:
    """A hundred: the forty of `prompts`, and sixty made of subjects and forms."""
    made = [
        Prompt(f"{number}-{subject}", "short", form.format(subject))
        for number, form in enumerate(FORMS)
        for subject in SUBJECTS
    ]
    return [*PROMPTS, *made]


def order(number: int) -> Sequence[str]:
    """All modes, in turning order: a machine's pace drifts."""
    modes = (PLAIN, *MODES)
    return modes if number % 2 else modes[::-1]


def run(loaded: Engine, prompt: Prompt, tokens: int, mode: str) -> Finished:
    return measuring.ask(loaded, prompt, tokens, PLAIN if mode == PLAIN else "auto", strict=mode == "strict")


def difference(loaded: Engine, prompt: Prompt, plain: Sequence[int], other: Sequence[int]) -> dict:
    """Where two answers part, and by how much the plain choice led there."""
    same = measuring.common(plain, other)
    tokens = [*measuring.encode(loaded, prompt.text), *plain[:same]]
    request = Request(tokens, 1, SamplerSettings(), speculation=PLAIN, logprobs=2)
    margin = float("nan")
    for event in loaded.submit(request):
        if isinstance(event, Chosen):
            values = np.array([logprob for _, logprob in event.alternatives])
            margin = float(values[0] - values[1])
    return {"prompt": prompt.name, "token": same, "margin": round(margin, 4)}


if __name__ == "__main__":
    main()
