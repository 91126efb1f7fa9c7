"""`paceline models`: the model files on this machine and those that can be fetched."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline import console, paths
from paceline.errors import ModelError, PacelineError

if TYPE_CHECKING:
    from paceline.config import Config
    from paceline.models.catalogue import Catalogue, ModelFile
    from paceline.models.store import Store

NAME_HELP = "NAME is a pair or model of `paceline models list`, the path of a GGUF, or owner/repository:file.gguf."


@click.group(invoke_without_command=True)
@click.pass_context
def group(context: click.Context) -> None:
    """List, fetch, inspect, verify and remove model files."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@group.command("list")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
def list_models(as_object: bool) -> None:
    """Show the catalogue's models and pairs: sizes, licences, what is here and what is in use."""
    known, store, config = _world()
    configured = _configured(config, known)
    used = {file.id: role for role, file in configured.items()}
    files = {file.id: file for file in (*known.models.values(), *configured.values())}
    models = [_model_facts(file, store, used.get(file.id, "")) for file in files.values()]
    pairs = [
        {
            "id": pair.id,
            "target": pair.target,
            "draft": pair.draft,
            "bytes": sum(file.size_estimate or store.status(file).bytes for file in known.files(pair)),
            "roles": list(pair.roles),
            "audience": pair.audience,
            "here": all(_here(store, file) for file in known.files(pair)),
            "in_use": pair.id == config.models.pair and not config.models.target,
        }
        for pair in known.pairs.values()
    ]
    places = {store.path(file) for file in files.values()}
    other = [
        {"name": f"{each.repository}:{each.file}", "bytes": each.bytes, "state": each.state, "path": str(each.path)}
        for each in store.list()
        if each.path not in places
    ]
    if as_object:
        console.out(json.dumps({"store": str(store.root), "models": models, "pairs": pairs, "other": other}))
    else:
        _print_list(store, models, pairs, other)


@group.command(epilog=NAME_HELP)
@click.argument("name")
def pull(name: str) -> None:
    """Download a model, or both models of a pair, and print where they lie.

    An interrupted download goes on where it stopped; what is here and verified is used without any network.
    """
    from paceline.models import download, hub
    from paceline.models.progress import Once
    from paceline.progress import ProgressBar

    known, store, config = _world()
    rule = f"models.offline in {paths.config_file()}" if config.models.offline else ""
    rule = rule or ("HF_HUB_OFFLINE" if hub.offline() else "")
    said = set[str]()
    for file in _named(name, known):
        if rule and not file.path and not _here(store, file):
            raise ModelError(
                f"{file.id} is not here, and {rule} forbids downloads",
                f"lift that, or put the file at {store.path(file)}",
            )
        path = download.fetch(file, store, offline=config.models.offline, progress=Once(ProgressBar(file.id), said))
        _print_path(path)


@group.command(epilog=NAME_HELP)
@click.argument("name")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
def info(name: str, as_object: bool) -> None:
    """Show what a GGUF file says about itself. Reads its header only, within bounds, so any file may be looked at."""
    from paceline.commands import headers
    from paceline.models.gguf import read_header

    path = _path_of(name)
    facts = headers.facts(read_header(path), _licence_of(path))
    if as_object:
        console.out(json.dumps(facts))
    else:
        console.out(console.aligned(("", ""), headers.rows(facts)))


@group.command(epilog=f"{NAME_HELP} Without NAME, all files of the store are verified.")
@click.argument("name", required=False)
def verify(name: str | None) -> None:
    """Hash model files again and compare with what they should be.

    A damaged file of the store is moved aside, to a name ending in .damaged, so that it is downloaded again.
    """
    from paceline.progress import ProgressBar

    known, store, _ = _world()
    files = _stored(known, store) if name is None else _named(name, known)
    if not files:
        console.say(f"no models are here yet: {store.root}")
    damaged = []
    for file in files:
        outcome = store.verify(file, ProgressBar(file.id))
        if not outcome.ok:
            damaged.append(file.id)
            moved = f"; moved to {outcome.moved_to}" if outcome.moved_to else "; it is your own file, left where it is"
            console.out(f"{file.id}: damaged: its SHA-256 is {outcome.sha256}, not {outcome.expected}{moved}")
        elif outcome.expected:
            console.out(f"{file.id}: ok, SHA-256 {outcome.sha256}")
        else:
            console.out(f"{file.id}: nothing is known to compare with; its SHA-256 is {outcome.sha256}")
    if damaged:
        raise ModelError(f"damaged: {', '.join(damaged)}", f"get it again: paceline models pull {damaged[0]}")


@group.command(epilog=NAME_HELP)
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def rm(name: str, yes: bool) -> None:
    """Delete a model, or both models of a pair, from this machine."""
    from paceline.models.download import human

    known, store, config = _world()
    files = _named(name, known)
    for file in files:
        if file.path:
            raise ModelError(f"{file.path} is your own file, not one of the store", "delete it yourself if you want to")
    present = [file for file in files if store.status(file).state != "missing"]
    if not present:
        raise ModelError(f"{name} is not here: nothing to delete", "`paceline models list` shows what is")
    used = {file.id: role for role, file in _configured(config, known).items()}
    for file in present:
        uses = f", in use as {used[file.id]}" if file.id in used else ""
        console.say(f"{file.id}: {human(store.status(file).bytes)}{uses}, {store.path(file)}")
    if not yes and not console.can_ask():
        raise PacelineError("there is no terminal to ask on, so nothing was deleted", "add --yes to delete it")
    if not yes and not console.ask_yes_no("Delete?", default=False):
        console.say("Nothing was deleted.")
        return
    freed = sum(store.remove(file) for file in present)
    console.out(f"{human(freed)} freed ({freed} bytes)")


@group.command(epilog=NAME_HELP)
@click.argument("name")
def path(name: str) -> None:
    """Print where a model lies, and nothing else; for a pair, target and draft on a line each."""
    known, store, _ = _world()
    files = _named(name, known)
    for file in files:
        _require(file, store)
    for file in files:
        _print_path(store.path(file))


# --- names ------------------------------------------------------------------------------------------------------------


def _world() -> "tuple[Catalogue, Store, Config]":
    from paceline import config as configuration
    from paceline.daemon.selection import store_of
    from paceline.models import catalogue

    config = configuration.load(paths.config_file())
    return catalogue.load(), store_of(config), config


def _named(name: str, known: "Catalogue") -> "Sequence[ModelFile]":
    """The files a person means: a pair's two, or one. Raises ModelError, naming near ones of both kinds."""
    import difflib

    if name in known.pairs and name not in known.models:
        return known.files(known.pairs[name])
    try:
        return (known.resolve(name),)
    except ModelError:
        near = difflib.get_close_matches(name, [*known.pairs, *known.models], n=3, cutoff=0.5)
        if near and "/" not in name and ":" not in name:
            hint = f"did you mean {' or '.join(near)}?"
            raise ModelError(f"no model or pair is called {name!r}", hint) from None
        raise


def _path_of(name: str) -> Path:
    """A file to look at: any path, else a model that is here. Neither configuration nor catalogue stand in the way."""
    there = paths.expanded(name)
    if there.exists():
        return there
    known, store, _ = _world()
    file = _named(name, known)[0]
    if file.path:
        return Path(file.path)  # the reader says what is wrong with it
    _require(file, store)
    return store.path(file)


def _licence_of(path: Path) -> str:
    """What the catalogue says of a file at this place; "" where it has none there, or cannot be read."""
    try:
        known, store, _ = _world()
        return next((file.licence for file in known.models.values() if _is_at(path, store.path(file))), "")
    except PacelineError:  # what is looked at may be looked at all the same
        return ""


def _is_at(path: Path, place: Path) -> bool:
    """Whether both are the same file."""
    try:
        return path.samefile(place)
    except OSError:
        return False


def _require(file: "ModelFile", store: "Store") -> None:
    if _here(store, file):
        return
    hint = "check the path" if file.path else f"paceline models pull {_spec(file)}"
    raise ModelError(f"{file.id} is not here: {store.path(file)}", hint)


def _spec(file: "ModelFile") -> str:
    """What to call it on the command line: files that the catalogue does not have are named by their place."""
    from paceline.models import catalogue

    return file.id if file.id in catalogue.load().models else f"{file.repository}:{file.file}"


def _here(store: "Store", file: "ModelFile") -> bool:
    return store.path(file).is_file()


def _stored(known: "Catalogue", store: "Store") -> "list[ModelFile]":
    """Every finished file of the store, as the catalogue knows it or as the store names it."""
    return [
        known.resolve(f"{each.repository}:{each.file}")
        for each in store.list()
        if each.state in ("ready", "unverified")
    ]


def _configured(config: "Config", known: "Catalogue") -> "dict[str, ModelFile]":
    """The configured files: {"target": ..., "draft": ...}; none, with a warning, where the configuration is wrong."""
    from paceline.daemon.selection import pair_files

    try:
        files = pair_files(config, known)
    except PacelineError as error:  # these commands are what helps to mend it
        console.say(f"warning: {error}")
        return {}
    return dict(zip(("target", "draft"), files.files, strict=False)) if files else {}


# --- showing ----------------------------------------------------------------------------------------------------------


def _print_path(found: Path) -> None:
    """The path's own bytes, whatever they are, so that a script can use it."""
    import os

    click.echo(os.fsencode(found))


def _model_facts(file: "ModelFile", store: "Store", used: str) -> dict[str, Any]:
    status = store.status(file)
    return {
        "id": file.id,
        "bytes": file.size_estimate or status.bytes,
        "bytes_exact": file.bytes is not None or bool(file.path),
        "licence": file.licence,
        "parameters": file.parameters,
        "context": file.context,
        "quantisation": file.quantisation,
        "repository": file.repository,
        "file": file.file,
        "path": str(store.path(file)),
        "state": status.state,
        "bytes_here": status.bytes,
        "in_use": used,
        "note": file.note,
    }


def _print_list(
    store: "Store", models: list[dict[str, Any]], pairs: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    from paceline.models.download import human

    def size(count: int, exact: bool = True) -> str:
        return f"{'' if exact else 'about '}{human(count)}" if count else "unknown"

    def state(fact: dict[str, Any]) -> str:
        share = f"{human(fact['bytes_here'])} of it" if "bytes_here" in fact else "in part"
        here = {"missing": "", "ready": "here", "unverified": "here, unverified", "partial": share}[fact["state"]]
        return f"{here}, {fact['in_use']}" if fact.get("in_use") else here

    console.show_table(
        ("model", "size", "licence", "here"),
        [(m["id"], size(m["bytes"], m["bytes_exact"]), m["licence"] or "unknown", state(m)) for m in models],
    )
    console.out("")
    marks = [("in use" if p["in_use"] else "here" if p["here"] else "") for p in pairs]
    console.show_table(
        ("pair", "target + draft", "size", "here", "for whom"),
        [
            (p["id"], f"{p['target']} + {p['draft'] or 'no draft'}", size(p["bytes"]), mark, p["audience"])
            for p, mark in zip(pairs, marks, strict=True)
        ],
    )
    if other:
        console.out("")
        console.show_table(
            ("not in the catalogue", "size", "here"), [(o["name"], human(o["bytes"]), state(o)) for o in other]
        )
    console.out(f"\nfiles are kept in {store.root}")
