"""What came of a replay: speed-ups, the share of the oracle's gain, and where the rest of it was left."""

import statistics
from collections.abc import Mapping, Sequence

from bench.replay.gaps import KINDS, by_kind, mistakes
from bench.replay.oracle import Action, Oracle
from bench.replay.player import Run
from bench.replay.policies import Stage

ADAPTIVE = ("fresh", "warm", "hindsight")


def measured(stage: Stage, runs: Mapping[str, Sequence[Run]]) -> dict:
    """Figures of one machine, by policy. Speed-ups of a kind are of all its traces together."""
    traces = stage.recording.traces
    plain = {trace.name: stage.plain(trace) for trace in traces}
    oracles = {trace.name: stage.oracle(trace) for trace in traces}
    kinds = sorted({trace.kind for trace in traces})
    best = {name: oracle.total for name, oracle in oracles.items()}
    found = {"source": stage.machine.source, "traces": len(traces), "oracle": figures(plain, best, stage, kinds)}
    found["oracle"]["rounds"] = rounds_of([oracle.actions() for oracle in oracles.values()])
    for policy, played in runs.items():
        times = {run.trace.name: run.milliseconds for run in played}
        found[policy] = figures(plain, times, stage, kinds)
        found[policy]["of_the_oracles_gain"] = share(plain, times, best)
        if policy in ADAPTIVE:
            found[policy]["gap"] = gap(plain, best, played, oracles)
    return found


def figures(plain: Mapping[str, float], times: Mapping[str, float], stage: Stage, kinds: Sequence[str]) -> dict:
    """Speed-ups over plain decoding."""
    each = {name: plain[name] / times[name] for name in times}
    worst = min(each, key=lambda name: each[name])
    by = {}
    for kind in kinds:
        names = [trace.name for trace in stage.recording.traces if trace.kind == kind]
        by[kind] = round(sum(plain[name] for name in names) / sum(times[name] for name in names), 3)
    return {
        "speed_up": round(sum(plain.values()) / sum(times.values()), 3),
        "median": round(statistics.median(each.values()), 3),
        "kinds": by,
        "worst": {"trace": worst, "speed_up": round(each[worst], 3)},
        "slower_than_0.95": sum(value < 0.95 for value in each.values()),
    }


def rounds_of(ways: Sequence[Sequence[Action]]) -> dict[str, int]:
    """How often the oracle does what, and the tokens that it drafts by each means."""
    found = dict.fromkeys(("plain", "lookup", "draft", "lookup_tokens", "draft_tokens"), 0)
    for action in (action for way in ways for action in way):
        found[action.means] += 1
        if action.means != "plain":
            found[f"{action.means}_tokens"] += action.tokens
    return found


def share(plain: Mapping[str, float], times: Mapping[str, float], best: Mapping[str, float]) -> float:
    """Time saved over the time that the oracle saves."""
    all_plain = sum(plain.values())
    return round((all_plain - sum(times.values())) / (all_plain - sum(best.values())), 4)


def gap(
    plain: Mapping[str, float], best: Mapping[str, float], played: Sequence[Run], oracles: Mapping[str, Oracle]
) -> dict:
    """What each kind of mistake cost, as a share of the oracle's gain, and how often it was made."""
    gain = sum(plain.values()) - sum(best.values())
    made = [mistake for run in played for mistake in mistakes(run, oracles[run.trace.name])]
    found = {}
    for kind, regret in by_kind(made).items():
        found[kind] = {
            "share": round(regret / gain, 4),
            "rounds": sum(mistake.kind == kind for mistake in made),
            "meaning": KINDS[kind],
        }
    return found


def table(name: str, found: Mapping) -> str:
    """For people."""
    kinds = list(found["oracle"]["kinds"])
    lines = [
        f"{name}: {found['source']}",
        f"{'':10} {'all':>6} {'gain':>6} " + " ".join(f"{k:>6}" for k in kinds) + "  worst",
    ]
    for policy, figures in found.items():
        if not isinstance(figures, dict):
            continue
        gained = "" if policy == "oracle" else f"{figures['of_the_oracles_gain']:.1%}"
        by = " ".join(f"{figures['kinds'][kind]:6.2f}" for kind in kinds)
        worst = f"{figures['worst']['speed_up']:.3f} {figures['worst']['trace']}"
        lines.append(f"{policy:10} {figures['speed_up']:6.3f} {gained:>6} {by}  {worst}")
    for policy in ADAPTIVE:
        if policy in found:
            lost = found[policy]["gap"].items()
            lines.append(
                f"  {policy} lost: " + ", ".join(f"{kind} {one['share']:.1%} ({one['rounds']})" for kind, one in lost)
            )
    return "\n".join(lines)
