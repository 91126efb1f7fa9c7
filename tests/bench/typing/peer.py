"""llama.cpp's server, asked in the shape that llama.vim gives its requests."""

import statistics
import sys
import time
from pathlib import Path

import keys as keyboard

from bench.peers import post, running

BEFORE, AFTER = 256, 64  # lines


def measure(binary: Path, target: Path, documents: list, sample: int) -> dict:
    """Tokens read and seconds for each of the first keys of each document, asked one after the other."""
    read, seconds = [], []
    flags = ["--threads", "2", "--ctx-size", "8192", "--cache-reuse", "256", "--batch-size", "1024"]
    with running(binary, target, flags) as address:
        for _, text, strokes in documents:
            for number, key in enumerate(strokes):
                text = keyboard.applied(text, key)
                if number >= sample // len(documents):
                    break
                began = time.perf_counter()
                timings = infill(address, text, key.at - key.removed + len(key.text))
                if number:
                    seconds.append(time.perf_counter() - began)
                    read.append(timings["prompt_n"])
    print(f"peer: {len(read)} keys", file=sys.stderr)
    return {
        "keys": len(read),
        "tokens_read_median": statistics.median(read),
        "seconds_median": round(statistics.median(seconds), 3),
        "seconds_p90": round(statistics.quantiles(seconds, n=10)[-1], 3),
    }


def infill(address: str, text: str, at: int) -> dict:
    before, after = text[:at], text[at:]
    lines = before.split("\n")
    body = {
        "input_prefix": "".join(f"{line}\n" for line in lines[-1 - BEFORE : -1]),
        "prompt": lines[-1],
        "input_suffix": "\n".join(after.split("\n")[:AFTER]) + "\n",
        "input_extra": [],
        "n_predict": 128,
        "n_indent": len(lines[-1]) - len(lines[-1].lstrip()),
        "stop": [],
        "temperature": 0.0,
        "cache_prompt": True,
        "t_max_prompt_ms": 10_000,
        "t_max_predict_ms": 500,
        "samplers": ["top_k", "top_p", "infill"],
        "top_k": 40,
        "top_p": 0.9,
    }
    return post(f"{address}/infill", body)["timings"]
