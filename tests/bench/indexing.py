"""The suffix index on source code: time and memory for a million tokens of Python's standard library; prints JSON.

python tests/bench/indexing.py                          # the vocabulary of the configured model
python tests/bench/indexing.py --model M.gguf --tokens 200000
"""

import argparse
import gc
import json
import sys
import sysconfig
import time
from array import array
from pathlib import Path

import psutil

from paceline import config as configuration
from paceline import paths
from paceline.daemon import selection
from paceline.engine.drafters.library import Library
from paceline.engine.drafters.lookup import LookupDrafter
from paceline.engine.drafters.suffix import Cursor, SuffixIndex
from paceline.engine.llama import read_vocabulary
from paceline.models.progress import Silent

PORTION = 100_000
APART = 20  # one file in so many is not indexed, but looked up in the index
PROMPT, ANSWER = 1000, 1000


def main() -> None:
    options = parse()
    tokens, unknown = tokenized(options.model or configured(), options.tokens)
    gc.collect()
    before, index, seconds = resident(), SuffixIndex(), []
    for start in range(0, len(tokens), PORTION):
        portion = tokens[start : start + PORTION]
        began = time.perf_counter()
        index.extend(portion)
        seconds.append((time.perf_counter() - began) * PORTION / len(portion))
    megabytes = (resident() - before) / 1e6
    report = {
        "tokens": len(tokens),
        "seconds_per_100k_tokens": {"mean": mean(seconds), "worst": round(max(seconds), 3)},
        "megabytes": round(megabytes, 1),
        "megabytes_estimated": round(index.nbytes / 1e6, 1),
        "cursor": follow(index, unknown),
        "drafter": draft(index, unknown),
    }
    print(json.dumps(report, indent=2))


def follow(index: SuffixIndex, unknown: "array[int]") -> dict:
    """Another text looked up in the index, token by token."""
    cursor, length = Cursor(index), 0
    began = time.perf_counter()
    for token in unknown:
        cursor.advance(token)
        length += cursor.length
    spent = time.perf_counter() - began
    return {"microseconds_per_advance": per(spent, len(unknown)), "mean_match": round(length / len(unknown), 2)}


def draft(index: SuffixIndex, unknown: "array[int]") -> dict:
    """The drafter with that index beside its own, asked before every token, as if none of its drafts were taken."""
    library = Library(limit=sys.maxsize)
    library.give_back(index)
    extending = proposing = 0.0
    asked = 0
    for start in range(0, len(unknown) - PROMPT - ANSWER, 10 * (PROMPT + ANSWER)):
        drafter = LookupDrafter(library)
        drafter.extend(unknown[start : start + PROMPT])
        for token in unknown[start + PROMPT : start + PROMPT + ANSWER]:
            began = time.perf_counter()
            drafter.propose(63, lambda _: True)
            halfway = time.perf_counter()
            drafter.extend((token,))
            proposing += halfway - began
            extending += time.perf_counter() - halfway
            asked += 1
    return {"microseconds_per_proposal": per(proposing, asked), "microseconds_per_token": per(extending, asked)}


def tokenized(model: Path, count: int) -> tuple["array[int]", "array[int]"]:
    """So many tokens of the standard library's files, in the order of their names, and every twentieth file apart."""
    vocabulary = read_vocabulary(model)
    known, unknown = array("i"), array("i")
    files = [file for file in Path(sysconfig.get_paths()["stdlib"]).rglob("*.py") if "site-packages" not in file.parts]
    for number, file in enumerate(sorted(files)):
        tokens = vocabulary.encode(file.read_text("utf-8", errors="replace"))
        (known if number % APART else unknown).extend(tokens)
        if len(known) >= count:
            break
    return known[:count], unknown


def configured() -> Path:
    config = configuration.load(paths.config_file())
    files = selection.pair_files(config)
    if files is None:
        sys.exit("no pair is set up: run `paceline setup`, or name --model")
    return selection.fetch(files, config, lambda label: Silent(), offline=True)[0]


def resident() -> int:
    return psutil.Process().memory_info().rss


def mean(numbers: list[float]) -> float:
    return round(sum(numbers) / len(numbers), 3)


def per(seconds: float, count: int) -> float:
    return round(seconds / max(1, count) * 1e6, 2)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, help="a GGUF file; only its vocabulary is read")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
