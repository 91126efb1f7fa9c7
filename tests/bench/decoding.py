"""`paceline bench` behind a cost curve measured anew, and the engine's loop against bare decodes; prints JSON.

    python tests/bench/decoding.py                          # the configured pair
    python tests/bench/decoding.py --target T.gguf --draft D.gguf --modes auto ngram draft --json out.json

How workloads are measured, and why so, stands in paceline.bench. What is added here is for maintainers: what our loop
costs over `llama_decode` alone, on the very same tokens.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.workloads import WORKLOADS
from paceline import config as configuration
from paceline import paths
from paceline.bench import workloads
from paceline.bench.report import report_of
from paceline.bench.runner import Plan, Runner
from paceline.commands.bench import MODES, show
from paceline.config import AskConfig, Config
from paceline.daemon import assembly, selection
from paceline.daemon.service import Overrides, Service, gather
from paceline.engine.backend import Span
from paceline.engine.engine import Engine
from paceline.engine.sequence import Finished
from paceline.models.hardware import busy
from paceline.models.progress import Silent
from paceline.prompts.chat import Message


def main() -> None:
    options = parse()
    config = configuration.load(paths.config_file())
    target, draft = (options.target, options.draft) if options.target else configured(config)
    installed = assembly.inspect(target, draft, config)
    if not options.no_measure:
        assembly.measure_costs(installed, lambda share: None)
    engine = assembly.load(installed, tell, speculation="draft" if "draft" in options.modes else "auto")
    service = Service(engine, config, target.stem)
    plan = Plan(options.modes, options.tokens, options.repetitions)
    runner = Runner(engine, service, plan, busy=busy)
    runner.prepare(list(workloads.load().values()), required=False)
    runner.run()
    report = report_of(runner, installed, [], complete=True)
    loop = loop_overhead(engine, service, options.tokens)
    show(report, as_object=False)
    print(f"loop over bare llama_decode: {loop['overhead']:+.2%}")
    whole = json.dumps({**report.to_json(), "loop": loop}, indent=1)
    if options.json:
        options.json.write_text(whole, encoding="utf-8")
    else:
        print(whole)
    service.close()


def tell(text: str) -> None:
    print(text, file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--modes", nargs="+", default=["auto"], choices=MODES)
    parser.add_argument("--no-measure", action="store_true", help="take the stored cost curve instead of a new one")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def configured(config: Config) -> tuple[Path, Path | None]:
    files = selection.pair_files(config)
    if files is None:
        sys.exit("no pair is set up: run `paceline setup`, or name --target and --draft")
    found = selection.fetch(files, config, lambda label: Silent(), offline=True)
    return found[0], found[1] if len(found) > 1 else None


def loop_overhead(engine: Engine, service: Service, tokens: int) -> dict:
    """The engine's plain loop against bare decodes of the very same tokens, in alternation."""
    prompt = service.encode_chat([Message("system", AskConfig().system), Message("user", WORKLOADS["code"])])
    answer = list(generate(service, prompt, tokens).tokens)
    looped, bare = [], []
    for _ in range(3):
        run = generate(service, prompt, tokens)
        looped.append(run.stats.predicted_ms / (run.stats.predicted_tokens - 1))
        engine.target.truncate(0, len(prompt))
        began = time.perf_counter()
        for i, token in enumerate(answer[:-1]):
            engine.target.decode([Span(0, len(prompt) + i, [token], 1)])
        bare.append((time.perf_counter() - began) * 1000 / (len(answer) - 1))
        engine.target.truncate(0, len(prompt))
    ratios = [a / b for a, b in zip(looped, bare, strict=True)]
    loop_ms, bare_ms = (round(statistics.median(each), 3) for each in (looped, bare))
    return {"loop_ms": loop_ms, "bare_ms": bare_ms, "overhead": statistics.median(ratios) - 1}


def generate(service: Service, prompt: list[int], tokens: int) -> Finished:
    wish = Overrides(tokens, temperature=0.0, repetition_penalty=1.0, speculation="off")
    return gather(service.generate(prompt, wish))[1]


if __name__ == "__main__":
    main()
