"""Replay recorded answers under other machines' costs, and compare policies with an oracle that knows the future.

    python tests/bench/replay                            # all machines and policies, as JSON
    python tests/bench/replay --table --machine here a100
    python tests/bench/replay --machine here --explain rename-python       # one answer, round by round

Nothing is decoded: the traces hold what the target answered and what the draft model thought of each token.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.replay.curves import MACHINES
from bench.replay.explain import explain
from bench.replay.policies import POLICIES, Stage
from bench.replay.recording import TRACES, read_all
from bench.replay.report import measured, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", nargs="+", choices=MACHINES, default=list(MACHINES))
    parser.add_argument("--policy", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--leaves", type=int, default=8, help="ends that a draft may have")
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--explain", metavar="TRACE", help="show the rounds of one answer")
    parser.add_argument("--least", type=float, default=0.01, help="share of the time from which on offers are shown")
    options = parser.parse_args()
    found = {}
    for recording in read_all(options.traces):
        if options.explain:
            trace = next(each for each in recording.traces if each.name == options.explain)
            for name in options.machine:
                print("\n".join(explain(Stage(recording, MACHINES[name], options.leaves), trace, options.least)))
            return
        known = {}
        for name in options.machine:
            stage = Stage(recording, MACHINES[name], options.leaves, known)
            runs = {policy: POLICIES[policy](stage, recording.traces) for policy in options.policy}
            found.setdefault(recording.target, {})[name] = result = measured(stage, runs)
            if options.table:
                print(table(name, result), flush=True)
    if not options.table:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
