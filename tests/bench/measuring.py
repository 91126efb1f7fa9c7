"""What the benchmarks share: an engine on the installed pair, one greedy answer, runs in alternation."""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.prompts import SYSTEM, Prompt
from paceline import config as configuration
from paceline import paths
from paceline.daemon import assembly, selection
from paceline.engine.engine import Engine
from paceline.engine.sampler import SamplerSettings
from paceline.engine.sequence import Finished, Request
from paceline.models.progress import Silent
from paceline.prompts.chat import Message, encode_chat

PLAIN = "off"


def options(description: str, *, tokens: int, repetitions: int) -> argparse.ArgumentParser:
    """What all of them can be told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--target", type=Path, help="a GGUF file; the configured pair, where none is named")
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--tokens", type=int, default=tokens)
    parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument("--json", type=Path, help="where to write the figures; they are printed, where none is named")
    return parser


def files(chosen: argparse.Namespace) -> tuple[Path, Path | None]:
    """The models: those that were named, or the configured pair."""
    if chosen.target:
        return chosen.target, chosen.draft
    config = configuration.load(paths.config_file())
    pair = selection.pair_files(config)
    if pair is None:
        sys.exit("no pair is set up: run `paceline setup`, or name --target and --draft")
    found = selection.fetch(pair, config, lambda label: Silent(), offline=True)
    return found[0], found[1] if len(found) > 1 else None


def engine(chosen: argparse.Namespace) -> Engine:
    """The engine that a command would use, with its settings, and all its weights in memory."""
    target, draft = files(chosen)
    installed = assembly.inspect(target, draft, configuration.load(paths.config_file()))
    loaded = assembly.load(installed, lambda text: print(text, file=sys.stderr), speculation="auto")
    if loaded.draft is not None:
        assert loaded.draft.backend, "loading it is not to be timed"
    return loaded


def forget(loaded: Engine) -> None:
    """Let go of the texts that are kept between requests: no run is to be drafted from the answer of another."""
    loaded.forget()


def encode(loaded: Engine, text: str) -> list[int]:
    """A question as the chat template has it."""
    vocabulary = loaded.target.vocabulary
    return encode_chat(vocabulary.chat_template, [Message("system", SYSTEM), Message("user", text)], vocabulary)


def ask(
    loaded: Engine, prompt: Prompt, tokens: int, mode: str, *, original: bool = True, strict: bool = False
) -> Finished:
    """The greedy answer. original: the text that is changed is named, as it is for a file that a person attaches."""
    forget(loaded)
    vocabulary = loaded.target.vocabulary
    known = vocabulary.encode(prompt.original) if original and prompt.original and mode != PLAIN else ()
    asked = encode(loaded, prompt.text)
    request = Request(asked, tokens, SamplerSettings(), speculation=mode, original=known, strict=strict)
    for event in loaded.submit(request):
        if isinstance(event, Finished):
            return event
    raise AssertionError("a stream ends with Finished or an exception")


def speed(run: Finished) -> float:
    """Tokens per second after the first one, which belongs to the prompt."""
    return (run.stats.predicted_tokens - 1) / run.stats.predicted_ms * 1000


def alternate(modes: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, list[float]]:
    """Each mode once a repetition, in turning order: a machine's pace drifts, so only neighbours can be compared."""
    found: dict[str, list[float]] = {mode: [] for mode in modes}
    for repetition in range(repetitions):
        for mode in list(modes) if repetition % 2 == 0 else list(modes)[::-1]:
            found[mode].append(modes[mode]())
    return found


def ratio(fast: Sequence[float], slow: Sequence[float]) -> float:
    """The median of the ratios within repetitions."""
    return round(statistics.median(a / b for a, b in zip(fast, slow, strict=True)), 3)


def median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


def common(a: Sequence[int], b: Sequence[int]) -> int:
    """Tokens that two answers have in common at their beginning."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))


def deliver(found: Mapping, to: Path | None) -> None:
    """Write or print figures."""
    if to:
        to.write_text(json.dumps(found, indent=1), encoding="utf-8")
    else:
        print(json.dumps(found))


def compare(loaded: Engine, prompts: Sequence[Prompt], tokens: int, repetitions: int) -> dict:
    """Each prompt, plain and with the default, in alternation."""
    found = {}
    for prompt in prompts:
        ask(loaded, prompt, 8, "auto")  # the prompt is in the cache from here on, and the draft model loaded
        last: dict[str, Finished] = {}

        def run(mode: str, prompt: Prompt = prompt, last: dict[str, Finished] = last) -> float:
            last[mode] = ask(loaded, prompt, tokens, mode)
            return speed(last[mode])

        speeds = alternate({mode: lambda mode=mode: run(mode) for mode in (PLAIN, "auto")}, repetitions)
        same = common(last[PLAIN].tokens, last["auto"].tokens)
        found[prompt.name] = {
            "kind": prompt.kind,
            "predicted_n": len(last["auto"].tokens),
            "plain_tokens_per_second": median(speeds[PLAIN]),
            "tokens_per_second": median(speeds["auto"]),
            "speed_up": ratio(speeds["auto"], speeds[PLAIN]),
            "draft_n": last["auto"].stats.drafted,
            "draft_n_accepted": last["auto"].stats.accepted,
            "rounds": last["auto"].stats.rounds,
            "first_difference": None if last[PLAIN].tokens == last["auto"].tokens else same,
        }
        row(prompt.name, found[prompt.name])
    return found


def row(name: str, found: Mapping) -> None:
    """A line for people, on the side."""
    apart = "" if found["first_difference"] is None else f", differs at {found['first_difference']}"
    print(
        f"{name:18} {found['predicted_n']:4} tokens, plain {found['plain_tokens_per_second']:6.2f} tok/s, "
        f"speculative {found['tokens_per_second']:6.2f} tok/s, {found['speed_up']:.3f}x, "
        f"accepted {found['draft_n_accepted']}/{found['draft_n']}{apart}",
        file=sys.stderr,
        flush=True,
    )
