"""Record traces with a real pair: greedy answers of the target, and what the draft model thinks of each token.

    python tests/bench/replay/record.py --target T.gguf --draft D.gguf --out tests/bench/replay/traces/pair.json.gz

Takes about ten minutes on two cores. The models are in memory one after the other.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from bench import edits, prompts, workloads
from bench.replay.recording import Guess, Recording, Trace, write
from paceline.engine.backend import Span
from paceline.engine.llama import LlamaBackend
from paceline.plan import LoadOptions
from paceline.prompts.chat import Message, encode_chat

CHUNK = 64  # rows of logits that are read at a time
TOGETHER = 8  # wrong drafts that are followed in one batch
FURTHER = 7  # tokens drafted behind a wrong one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--draft", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--edit-tokens", type=int, default=450)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", type=int, help="so many prompts")
    options = parser.parse_args()
    chosen = every_prompt()[: options.only]
    target = Model(options.target, options.threads)
    traces = []
    for prompt in chosen:
        limit = options.edit_tokens if prompt.original else options.tokens
        traces.append(answer(target, prompt, limit))
        print(f"{prompt.name:20} {len(traces[-1].prompt):4} {len(traces[-1].answer):4}", file=sys.stderr, flush=True)
    ends = target.backend.vocabulary.end_of_generation
    target.backend.close()
    draft = Model(options.draft, options.threads, sequences=1 + TOGETHER)
    judged = []
    for trace in traces:
        judged.append(judge(draft, trace))
        right = sum(guess.tokens[0] == token for guess, token in zip(judged[-1].guesses, trace.answer, strict=True))
        print(f"{trace.name:20} {right / len(trace.answer):.2f} agreed", file=sys.stderr, flush=True)
    write(Recording(options.target.name, options.draft.name, ends, judged), options.out)


def every_prompt() -> list[prompts.Prompt]:
    """The forty, the edits of the standard library, and the three workloads of the other benchmarks."""
    texts = workloads.WORKLOADS
    three = [
        prompts.Prompt("workload-edit", "edit", texts["edit"], workloads.INVENTORY),
        prompts.Prompt("workload-code", "code", texts["code"]),
        prompts.Prompt("workload-prose", "prose", texts["prose"]),
    ]
    return [*prompts.PROMPTS, *edits.prompts(), *three]


class Model:
    """A backend whose first sequence keeps what it has in common with what comes next."""

    def __init__(self, path: Path, threads: int, sequences: int = 1) -> None:
        options = LoadOptions(n_ctx=4096, n_threads=threads)
        self.backend = LlamaBackend(path, options, n_seq_max=sequences)
        self.held: list[int] = []

    def rows(self, tokens: Sequence[int], outputs: int) -> np.ndarray:
        """Logits after each of the last `outputs` tokens of a text; a copy only where it takes several decodes."""
        first = len(tokens) - outputs
        same = 0
        while same < min(len(self.held), first) and self.held[same] == tokens[same]:
            same += 1
        self.backend.truncate(0, same)
        for start in range(same, first, 256):
            self.backend.decode([Span(0, start, tokens[start : min(start + 256, first)])])
        found = self.backend.decode([Span(0, first, tokens[first:], outputs)])
        self.held = list(tokens)
        return found


def answer(model: Model, prompt: prompts.Prompt, limit: int) -> Trace:
    """The greedy answer, the token that ends it included."""
    vocabulary = model.backend.vocabulary
    messages = [Message("system", prompts.SYSTEM), Message("user", prompt.text)]
    asked = encode_chat(vocabulary.chat_template, messages, vocabulary)
    tokens: list[int] = []
    margins: list[float] = []
    while len(tokens) < limit and not (tokens and tokens[-1] in vocabulary.end_of_generation):
        row = model.rows([*asked, *tokens], 1)[0]
        token, other = best(row, 2)
        tokens.append(int(token))
        margins.append(round(float(row[token] - row[other]), 3))
    original = vocabulary.encode(prompt.original) if prompt.original else []
    return Trace(prompt.name, prompt.kind, asked, tokens, margins=margins, original=original, wanted=limit)


def judge(model: Model, trace: Trace) -> Trace:
    """The trace with what the draft model guesses at each position, and behind its wrong guesses."""
    tokens = [*trace.prompt, *trace.answer]
    first, guesses = len(trace.prompt), []
    for start in range(0, len(trace.answer), CHUNK):
        count = min(CHUNK, len(trace.answer) - start)
        guesses += [guess(row) for row in model.rows(tokens[: first + start + count - 1], count)]
    model.rows(tokens[:-1], 1)  # all of it is in the cache
    wrong = [i for i, token in enumerate(trace.answer) if guesses[i].tokens[0] != token]
    astray: dict[int, list[Guess]] = {}
    for at in range(0, len(wrong), TOGETHER):
        astray |= follow(model, first, {i: guesses[i].tokens[0] for i in wrong[at : at + TOGETHER]})
    return replace(trace, guesses=guesses, astray=astray)


def follow(model: Model, first: int, wrong: dict[int, int]) -> dict[int, list[Guess]]:
    """What the draft goes on with behind each of these wrong tokens, by position in the answer."""
    backend, last = model.backend, dict(wrong)
    found: dict[int, list[Guess]] = {at: [] for at in wrong}
    for seq, at in enumerate(wrong, 1):
        backend.copy(0, seq, first + at)
    for step in range(FURTHER):
        spans = [Span(seq, first + at + step, [last[at]], 1) for seq, at in enumerate(wrong, 1)]
        for at, row in zip(wrong, backend.decode(spans), strict=True):
            found[at].append(guess(row))
            last[at] = found[at][-1].tokens[0]
    for seq in range(1, len(wrong) + 1):
        backend.truncate(seq, 0)
    return found


def guess(row: np.ndarray) -> Guess:
    """The two likeliest tokens of a row of logits."""
    chosen = best(row, 2)
    weights = np.exp(row.astype(np.float64) - float(row.max()))
    return Guess(
        [int(token) for token in chosen], [round(float(weights[token] / weights.sum()), 4) for token in chosen]
    )


def best(row: np.ndarray, n: int) -> np.ndarray:
    """Indices of the n highest, highest first."""
    near = np.argpartition(row, -n)[-n:]
    return near[np.argsort(-row[near], kind="stable")]


if __name__ == "__main__":
    main()
