"""`paceline bench`: what drafting brings on this machine, measured."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from paceline.config import Config, Speculation

if TYPE_CHECKING:
    from paceline.bench.report import Report
    from paceline.bench.runner import Tell
    from paceline.daemon.assembly import Installed
    from paceline.daemon.service import Service
    from paceline.engine.engine import Engine

WORKLOADS = ("edit", "code", "prose", "completion")
MODES = tuple(mode for mode in get_args(Speculation) if mode != "off")
LABEL = 24  # characters of the bar's label


@click.command()
@click.option(
    "--workload", "names", multiple=True, type=click.Choice(WORKLOADS), help="Only this one. Repeatable. [default: all]"
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(MODES),
    default=("auto",),
    show_default=True,
    help="Who drafts, compared with plain decoding. Repeatable.",
)
@click.option(
    "--tokens", type=click.IntRange(min=2), default=400, show_default=True, help="Tokens of an answer, at most."
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Runs of each workload in each mode, in alternation.",
)
@click.option("--target", metavar="MODEL", help="Instead of the configured one: a name, or a GGUF file.")
@click.option("--draft", metavar="MODEL", help='The same for the draft model; "none" for none.')
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object instead of the tables.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.png", help="Draw it, too (needs 'paceline[plot]')."
)
def command(
    names: tuple[str, ...],
    modes: tuple[Speculation, ...],
    tokens: int,
    repetitions: int,
    target: str | None,
    draft: str | None,
    as_object: bool,
    plot: Path | None,
) -> None:
    """Measure what drafting brings on this machine.

    Runs workloads (an edit of a file, new code, prose, a completion) with the installed models, plain and with drafts
    in alternation, and prints how fast each was, whose drafts were kept, and whether the text was the same. The models
    are loaded into this process; nothing is downloaded. With the default settings it takes some minutes on a processor:
    leave the machine alone meanwhile. Ctrl-C ends it with what was measured until then.
    """
    from paceline import config as configuration
    from paceline import paths
    from paceline.bench import workloads
    from paceline.bench.report import report_of
    from paceline.bench.runner import Plan, Runner
    from paceline.console import say
    from paceline.errors import PacelineError
    from paceline.models import hardware

    if plot is not None:
        from paceline.bench import plot as plotting

        plotting.check(plot)
    config = _with_models(configuration.load(paths.config_file()), target, draft)
    warnings = list(_daemon_warnings())
    known, modes = workloads.load(), tuple(dict.fromkeys(modes))
    with _opened(config, modes) as (engine, service, installed):
        runner = Runner(engine, service, Plan(modes, tokens, repetitions), busy=hardware.busy)
        runner.prepare([known[name] for name in WORKLOADS if name in names or not names], required=bool(names))
        busy = ["other programs use the processor: what is measured beside them says little"]
        for warning in (*warnings, *(busy if hardware.busy() else ())):
            say(f"warning: {warning}")
        early: BaseException | None = None
        try:
            with _bar() as tell:
                runner.run(tell)
        except (KeyboardInterrupt, PacelineError) as error:  # what was measured until then is shown all the same
            early = error
        report = report_of(runner, installed, warnings, complete=early is None)
    if early is None or report.workloads:
        show(report, as_object=as_object)
    if plot is not None and report.workloads:
        plotting.save(report, plot)
        say(f"drawn into {plot}")
    if early is not None:
        raise early


def show(report: "Report", *, as_object: bool) -> None:
    """One object, or tables and a sentence, on stdout."""
    import json

    from paceline.console import aligned, out

    if as_object:
        out(json.dumps(report.to_json()))
        return
    for line in report.heading():
        out(line)
    for title, (headers, rows) in (("Tokens per second", report.speeds()), ("Drafted tokens", report.drafts())):
        out(f"\n{title}\n{aligned(headers, rows, right=True)}")
    out("")
    for line in (*report.notes(), report.summary):
        out(line)


def _with_models(config: Config, target: str | None, draft: str | None) -> Config:
    """The configuration with other models in it. A target of its own comes without the configured draft."""
    import msgspec

    if target is not None:
        models = msgspec.structs.replace(config.models, target=_from_here(target), draft=_from_here(draft or "none"))
    elif draft is not None:
        models = msgspec.structs.replace(config.models, draft=_from_here(draft))
    else:
        return config
    return msgspec.structs.replace(config, models=models)


def _from_here(model: str) -> str:
    """Paths on the command line begin in the folder where it is typed, not, as others, at the configuration file."""
    path = Path(model).expanduser()
    return str(path.absolute()) if path.is_file() else model


def _daemon_warnings() -> "Iterator[str]":
    """What a running daemon takes of this machine."""
    from paceline.daemon import probe
    from paceline.daemon.runtime import Runtime
    from paceline.errors import PacelineError

    try:
        found = probe.find(Runtime.open())
        report = probe.status(found) if found is not None else None
    except PacelineError as error:
        yield f"whether a daemon runs is not known: {error.message}"
        return
    if report is not None and report.models:
        doing = "and is answering right now" if report.active else "and takes the processor whenever somebody asks"
        size = f"{report.memory.resident / 2**30:.1f} GiB of memory"
        yield f"the daemon holds {size} {doing}; `paceline stop` ends it"


@contextmanager
def _opened(config: Config, modes: tuple[Speculation, ...]) -> "Iterator[tuple[Engine, Service, Installed]]":
    """The models, loaded into this process. Raises ModelError, ResourceError, ConfigError."""
    from paceline.console import say
    from paceline.daemon import assembly, selection
    from paceline.daemon.service import Service
    from paceline.errors import ModelError
    from paceline.progress import ProgressBar
    from paceline.status import Status

    if config.engine.url:
        say("engine.url is not used: the models of this machine are measured")
    files = selection.pair_files(config)
    if files is None:
        raise ModelError("no models are chosen yet", "run `paceline setup`, or name one with --target")
    found = selection.fetch(files, config, ProgressBar, offline=True)
    if "draft" in modes and len(found) < 2:
        raise ModelError("there is no draft model to be measured", "name one with --draft, or leave out --mode draft")
    with Status() as status:

        def tell(text: str) -> None:
            status.clear()
            say(text)

        status.show("loading the models …")
        installed = assembly.inspect(found[0], found[1] if len(found) > 1 else None, config)
        if "draft" in modes and installed.draft is None:
            raise ModelError("there is no memory for the draft model", "end other programs, or leave out --mode draft")
        speculation = "draft" if "draft" in modes else "auto" if "auto" in modes else "ngram"
        engine = assembly.load(installed, tell, speculation=speculation)
    service = Service(engine, config, files.target.id)
    try:
        yield engine, service, installed  # what is learned from the same texts over and over is not kept
    finally:
        service.close()


@contextmanager
def _bar() -> "Iterator[Tell]":
    """Progress on stderr: a bar on a terminal, elsewhere a line for each workload and mode.

    The bar is drawn when it is told something and not, as usual, ten times a second: that would be measured, too.
    """
    import sys

    from paceline.console import is_terminal, say

    if not is_terminal(sys.stderr):
        seen: set[str] = set()

        def mention(label: str, share: float) -> None:
            if label not in seen and share < 1.0:
                seen.add(label)
                say(label)

        yield mention
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(file=sys.stderr), auto_refresh=False) as bar:
        task = bar.add_task("starting".ljust(LABEL), total=1.0)

        def draw(label: str, share: float) -> None:
            bar.update(task, description=label.ljust(LABEL), completed=share, refresh=True)

        yield draw
