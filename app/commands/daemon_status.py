"""`paceline status`: what the daemon does."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paceline.config import Config
    from paceline.daemon.protocol import StatusReport

GIB, MIB = 2**30, 2**20


@click.command()
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
def command(as_object: bool) -> None:
    """Show the daemon that holds the models: where it listens, what it has loaded, what it is doing.

    Starts none: where none runs the exit code is 1, and the JSON object says "pid": null. Where the configuration names
    a server elsewhere (engine.url), shows whether that answers, and with which models.
    """
    import msgspec

    from paceline import config as configuration
    from paceline import paths
    from paceline.console import out
    from paceline.daemon import probe
    from paceline.daemon.runtime import Runtime
    from paceline.errors import ConfigError, ExitCode

    try:
        config = configuration.load(paths.config_file())
    except ConfigError:  # the daemon has read it when it was whole; `paceline doctor` says what is wrong
        config = configuration.Config()
    if config.engine.url:
        _elsewhere(config, as_object=as_object)
        return
    runtime = Runtime.open()
    found = probe.find(runtime)
    report = probe.status(found) if found is not None else None
    if report is None:
        begins = "a daemon is starting or ending" if runtime.occupied() else "no daemon is running"
        out('{"pid": null}' if as_object else f"{begins}; the next request starts one")
        raise click.exceptions.Exit(ExitCode.FAILURE)
    if as_object:
        out(msgspec.json.encode(report).decode())
    else:
        for line in described(report):
            out(line)


def _elsewhere(config: "Config", *, as_object: bool) -> None:
    """The server that is asked instead of a daemon. Raises PacelineError when it does not answer."""
    import json

    from paceline.client.client import connect
    from paceline.console import out

    url, model = config.engine.url, config.engine.model
    with connect(config) as client:
        names = client.models()
    asked = model or next(iter(names), "")
    if as_object:
        out(json.dumps({"pid": None, "url": url, "model": asked, "models": names}))
        return
    out(f"engine      {url}, which answers; no daemon is used")
    out(f"model       {asked or 'none: name one in engine.model'}")
    if model and model not in names:
        out(f"note        it does not list that model, but {', '.join(names) or 'none'}")


def described(report: "StatusReport") -> "Iterator[str]":
    """Lines for a person."""
    yield f"daemon      Paceline {report.version}, process {report.pid}, {_state(report)}"
    if report.socket:
        yield f"socket      {report.socket}"
    if report.http.url:
        yield f"http        {report.http.url}"
        yield f"token       {report.http.token}"
    for model in report.models:
        context = f", context of {model.n_ctx} tokens" if model.n_ctx else ""
        yield f"model       {model.id or 'being loaded'}{context}"
        if model.completer:
            yield f"completions by the {model.completer_name or model.completer}: {model.completer_reason}"
        yield from (f"note        {note}" for note in model.notes)
    if not report.models:
        yield "model       none in memory; the next request loads it"
    memory = report.memory
    parked = f", {memory.parked} conversations parked in {_size(memory.parked_bytes)}" if memory.parked else ""
    yield f"memory      {_size(memory.resident)} of {_size(memory.total)}, {_size(memory.available)} available{parked}"
    if memory.cells:
        yield f"context     {memory.cells_used} of {memory.cells} tokens in use"
    empty = sum(not slot.tokens and slot.state == "idle" for slot in report.slots)
    for slot in report.slots:
        if not slot.tokens and slot.state == "idle":
            continue
        doing = slot.state if slot.state == "idle" else f"{slot.state}, {slot.priority}, {slot.produced} tokens written"
        yield f"slot {slot.id:<7}{slot.tokens} tokens, {doing}"
    if empty:
        yield f"slots       {empty} empty"
    yield from (f"note        {note}" for note in report.notes)
    yield f"log         {report.log}"


def _state(report: "StatusReport") -> str:
    if report.stopping:
        return f"ending, {_requests(report.active)} to finish"
    if report.active:
        waiting = f", {report.waiting} waiting" if report.waiting else ""
        return f"{_requests(report.active)}{waiting}"
    return f"idle for {report.idle_seconds / 60:.0f} min"


def _requests(number: int) -> str:
    return f"{number} request{'s' * (number != 1)}"


def _size(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / MIB:.0f} MiB"
