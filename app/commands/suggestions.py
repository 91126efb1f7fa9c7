"""The counts about suggestions in editors, added up for people."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from paceline.lsp.figures import quantile
from paceline.lsp.figures_store import Key
from paceline.lsp.retention import AFTER

SOURCES = ("cache", "prefetch", "flight", "engine")
SAID = {"cache": "from memory", "prefetch": "computed ahead", "flight": "on its way", "engine": "by the engine"}
HEADERS = (
    *("language", "shown", "accepted", "rejected", "whole", "line", "word", "characters", "kept 30 s", "kept 5 min"),
)


@dataclass
class Summary:
    """Counts by language; those of all languages under ""."""

    languages: dict[str, Counter[str]] = field(default_factory=dict)
    first: str = ""  # the first day with figures, as in ISO 8601

    @property
    def all(self) -> Counter[str]:
        """Over all languages."""
        return sum(self.languages.values(), Counter())

    def below(self, prefix: str) -> Counter[str]:
        """Counts whose name begins with this word, over all languages, by the rest of the name."""
        return Counter(
            {what.removeprefix(f"{prefix} "): n for what, n in self.all.items() if what.startswith(f"{prefix} ")}
        )

    @property
    def ahead(self) -> tuple[int, int]:
        """How many suggestions were computed before anybody asked, and how many of them were shown then.

        Figures of earlier versions count one of them whenever it is shown; no more than all can have been used.
        """
        computed = self.all["prefetched"]
        return computed, min(computed, self.below("from")["prefetch"])

    @property
    def silences(self) -> Counter[str]:
        """Requests without a suggestion, by reason. One that a newer one took the place of was no silence."""
        return Counter({reason: n for reason, n in self.below("silent").items() if reason != "superseded"})

    def as_object(self) -> dict[str, Any]:
        """For programs. Shares are of one; null where nothing was counted."""
        latency, sources = self.below("latency"), self.below("from")
        computed, used = self.ahead
        return {
            "languages": {name: _facts(counts) for name, counts in sorted(self.languages.items())},
            "all": _facts(self.all),
            "answers": {name: sources[name] for name in SOURCES},
            "latency_ms": {"median": quantile(latency, 0.5), "p90": quantile(latency, 0.9)},
            "prefetch": {"computed": computed, "used": used, "share": used / computed if computed else None},
            "silent": dict(self.silences.most_common()),
        }


def summary(counts: Mapping[Key, int]) -> Summary:
    """Add up the days."""
    found = Summary()
    found.first = min((day for day, _, _ in counts), default="")
    for (_, language, what), number in counts.items():
        found.languages.setdefault(language, Counter())[what] += number
    return found


def table(found: Summary) -> list[list[str]]:
    """A row for each language, the one with most suggestions first, and one for all where there are several."""
    ordered = sorted(found.languages.items(), key=lambda each: (-each[1]["shown"], each[0]))
    rows = [_row(name, counts) for name, counts in ordered if counts["shown"]]
    return [*rows, _row("all", found.all)] if len(rows) != 1 else rows


def lines(found: Summary) -> Iterator[str]:
    """What is not by language."""
    sources, silent = found.below("from"), found.silences
    answers = sum(sources.values())
    if answers:
        shares = ", ".join(f"{SAID[name]} {_percent(sources[name], answers)}" for name in SOURCES if sources[name])
        yield f"requests    {answers:,} got a suggestion, or what is left of one while it is typed: {shares}"
        latency = found.below("latency")
        middle, high = quantile(latency, 0.5), quantile(latency, 0.9)
        yield f"time        half of them within about {_ms(middle)}, nine of ten within about {_ms(high)}"
    computed, used = found.ahead
    if computed:
        share = _percent(used, computed)
        yield f"ahead       {computed:,} computed before anybody asked, {used:,} of them shown then ({share})"
    if total := sum(silent.values()):
        reasons = ", ".join(f"{_sentence(name)} {_percent(n, total)}" for name, n in silent.most_common(5))
        yield f"silent      {total:,} times: {reasons}"


def _row(name: str, counts: Counter[str]) -> list[str]:
    accepted = f"{counts['accepted']:,} ({_percent(counts['accepted'], counts['shown'])})"
    rejected = max(0, counts["rejected"])
    acts = [f"{counts[how]:,}" for how in ("whole", "line", "word")]
    kept = [_percent(counts[f"kept {seconds}"], counts[f"after {seconds}"]) for seconds in AFTER]
    return [name, f"{counts['shown']:,}", accepted, f"{rejected:,}", *acts, f"{counts['characters']:,}", *kept]


def _facts(counts: Counter[str]) -> dict[str, Any]:
    names = ("shown", "accepted", "rejected", "ignored", "whole", "line", "word", "characters")
    kept = {str(s): counts[f"kept {s}"] / counts[f"after {s}"] if counts[f"after {s}"] else None for s in AFTER}
    return {**{name: max(0, counts[name]) for name in names}, "kept": kept}  # what is taken back was counted days ago


def _percent(part: int, whole: int) -> str:
    if not whole:
        return "-"
    return "< 1 %" if 0 < part < whole / 200 else f"{100 * part / whole:.0f} %"


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def _sentence(reason: str) -> str:
    """A reason as people are told of it."""
    from paceline.lsp.quiet import REASONS

    return dict[str, str](REASONS).get(reason, reason)
