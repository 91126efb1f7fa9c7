"""The picture: speed by workload and mode, acceptance by position in the draft, the cost curve.

Needs Matplotlib (`pip install 'paceline[plot]'`). Drawn into memory, so no display is needed. Colours are those of
Okabe and Ito (2008), which people with any kind of colour vision tell apart; lines differ in their markers, too.
"""

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.bench.figures import ModeFigures, WorkloadFigures, acceptance
from paceline.bench.report import Report, Setting
from paceline.errors import InputError, PacelineError
from paceline.models.store import replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".pdf")
COLOURS = {
    "plain": "#999999",
    "auto": "#0072B2",
    "ngram": "#E69F00",
    "draft": "#009E73",
    "lookahead": "#CC79A7",
    "edit": "#D55E00",
    "target": "#000000",
}
OTHERS = ("#56B4E9", "#F0E442", "#882255")  # for drafters that have no colour of their own
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DOTS = 120  # an inch
GROUP = 0.8  # of the distance between two workloads is filled with bars
SHOWN = 24  # positions in a draft


def check(path: Path) -> None:
    """Whether a picture can be made and written there, asked before hours are spent on what it shows.

    Raises PacelineError where Matplotlib is missing; InputError for another kind of picture, or where it cannot be
    written.
    """
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path} is no picture that can be drawn", f"let its name end in {', '.join(KINDS)}")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise PacelineError(
            "a plot needs Matplotlib, which is not installed", "pip install 'paceline[plot]'"
        ) from error
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise _unwritable(path, error) from error


def save(report: Report, path: Path) -> None:
    """Draw and write, whole or not at all. Raises InputError."""
    picture = io.BytesIO()
    draw(report).savefig(picture, format=path.suffix.lower().removeprefix("."), dpi=DOTS)
    try:
        replace(path.resolve(), picture.getvalue())
    except OSError as error:
        raise _unwritable(path, error) from error


def draw(report: Report) -> "Figure":
    """Three panels in a row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15.0, 5.2), layout="constrained")
    figure.suptitle(_title(report.setting), fontsize=11)
    speeds, accepted, costs = figure.subplots(1, 3, width_ratios=(1.25, 1.0, 1.0))
    _speeds(speeds, report.workloads)
    _acceptance(accepted, report.workloads)
    _costs(costs, report.setting)
    for axes in (speeds, accepted, costs):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure


def _title(setting: Setting) -> str:
    pair = setting.target + (f" with {setting.draft}" if setting.draft else "")
    return f"{pair}\n{setting.machine}, Paceline {setting.version}"


def _speeds(axes: "Axes", workloads: Sequence[WorkloadFigures]) -> None:
    """Bars of tokens per second; above those with drafts the speed-up."""
    axes.set_title("Speed: tokens per second")
    modes = list(dict.fromkeys(mode.mode for each in workloads for mode in each.modes))
    width = GROUP / (1 + len(modes))
    for number, name in enumerate(("plain", *modes)):
        places, heights, above = [], [], []
        for at, each in enumerate(workloads):
            own: dict[str, ModeFigures] = {mode.mode: mode for mode in each.modes}
            if name != "plain" and name not in own:
                continue
            places.append(at - GROUP / 2 + (number + 0.5) * width)
            heights.append(each.plain if name == "plain" else own[name].speed)
            above.append("" if name == "plain" else f"{own[name].speed_up:.2f}x")
        bars = axes.bar(places, heights, width * 0.94, color=COLOURS.get(name, OTHERS[0]), label=name)
        axes.bar_label(bars, above, fontsize=9, padding=2, rotation=0 if len(modes) < 2 else 90)
    axes.set_xticks(range(len(workloads)), [each.name for each in workloads])
    axes.margins(y=0.12)
    if workloads:
        axes.legend(frameon=False, fontsize=9, ncols=1 + len(modes), loc="upper center", bbox_to_anchor=(0.5, -0.07))


def _acceptance(axes: "Axes", workloads: Sequence[WorkloadFigures]) -> None:
    """A line for each drafter, over everything that was measured."""
    from matplotlib.ticker import MaxNLocator

    axes.set_title("Acceptance: drafts whose n-th token was kept")
    axes.set_xlabel("n, position in the draft")
    shares = acceptance(mode for each in workloads for mode in each.modes)
    for number, (name, found) in enumerate(shares.items()):
        colour = COLOURS.get(name, OTHERS[number % len(OTHERS)])
        marker, shown = MARKERS[number % len(MARKERS)], found[:SHOWN]
        axes.plot(range(1, len(shown) + 1), shown, color=colour, marker=marker, markersize=5, label=name)
    axes.set_ylim(0, 1.05)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlim(left=0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if shares:
        axes.legend(frameon=False, fontsize=9)
    else:
        axes.text(0.5, 0.5, "nothing was drafted", transform=axes.transAxes, ha="center", color="#666666")


def _costs(axes: "Axes", setting: Setting) -> None:
    """What a pass over m tokens costs, beside m passes over one: the distance between the two is what can be won."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_title("Cost of one pass, in milliseconds")
    axes.set_xlabel("m, tokens checked in one pass")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for number, (role, curve) in enumerate(setting.curves.items()):
        colour, marker = COLOURS.get(role, OTHERS[0]), MARKERS[number]
        axes.plot(curve.sizes, curve.milliseconds, color=colour, marker=marker, markersize=5, label=role)
    target = setting.curves.get("target")
    if target is not None:
        singles = [size * target.at(1) for size in target.sizes]
        axes.plot(target.sizes, singles, color=COLOURS["plain"], linestyle="--", label="target, one by one")
        ticks = [1 << n for n in range(max(target.sizes).bit_length())]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.legend(frameon=False, fontsize=9)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write {path}: {error.strerror}", "name a file in a folder that is there and may be written"
    )
