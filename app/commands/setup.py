"""`paceline setup`: choose models for this machine, fetch, check and measure them, and remember the choice."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from paceline import console, paths
from paceline.config import Config
from paceline.errors import ConfigError, ExitCode, ModelError, ResourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paceline.daemon.assembly import Installed
    from paceline.daemon.selection import PairFiles
    from paceline.models.catalogue import Catalogue, ModelFile, Pair
    from paceline.models.hardware import Hardware
    from paceline.models.store import Store
    from paceline.plan import Device

Say = Callable[[str], None]
NEW_FILE = "# Paceline's configuration. Keys that are not here have their defaults; the README lists them all.\n"


@dataclass(frozen=True)
class Wishes:
    """What the command line asks for."""

    pair: str = ""  # id of a pair; empty: what the configuration names, or the recommended one
    yes: bool = False  # do not ask
    offline: bool = False  # use no network


@click.command()
@click.option("--pair", default="", metavar="NAME", help="Take this pair instead of the recommended one.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before downloading.")
@click.option("--offline", is_flag=True, help="Never use the network: only what is already here.")
@click.option("--measure-only", is_flag=True, help="Measure the models again, and change nothing else.")
def command(pair: str, yes: bool, offline: bool, measure_only: bool) -> None:
    """Choose models for this machine, fetch them, and measure what they cost here.

    Shows the machine and the pair that suits it, asks once before downloading, checks that both models mean the same by
    a token, measures how long it takes to decode one token and many, and writes the choice into the configuration file.
    Without a terminal it asks nothing and takes the recommended pair.
    """
    from paceline import config as configuration

    config = configuration.load(paths.config_file())
    if measure_only:
        measure_again(config, console.out)
        return
    set_up(config, console.out, Wishes(pair, yes, offline))
    console.out('\nReady. Try: paceline ask "Write a function that merges two sorted lists"')


def ensure(config: Config, say: Say, *, offline: bool = False) -> Config:
    """A configuration whose models are here; nothing is done, and no network used, when they already are.

    The first time, this is the whole set-up. Raises ConfigError, ModelError, NetworkError, ResourceError, and
    click's Exit when a person declines.
    """
    from paceline.daemon import selection
    from paceline.progress import ProgressBar

    files = selection.pair_files(config)
    if files is None:
        say("no models are chosen yet: setting up, once")
        try:
            config = set_up(config, say, Wishes(offline=offline))
        except click.exceptions.Exit as declined:  # fine for `setup`, but here somebody waits for an answer
            raise click.exceptions.Exit(ExitCode.FAILURE) from declined
        say("Ready.\n")
        return config
    store = selection.store_of(config)
    if any(store.status(file).state != "ready" for file in files.files):
        selection.fetch(files, config, ProgressBar, offline=offline)
    return config


def set_up(config: Config, say: Say, wishes: Wishes) -> Config:
    """The whole way from a bare machine to a measured pair; the configuration that names it.

    Raises ConfigError, ModelError, NetworkError, ResourceError, and click's Exit when a person declines.
    """
    from paceline.commands import describe
    from paceline.daemon import assembly, selection
    from paceline.engine import llama
    from paceline.models import catalogue, hardware, hub
    from paceline.progress import ProgressBar

    known, store = catalogue.load(), selection.store_of(config)
    if wishes.pair:
        known.pair(wishes.pair)  # a wrong name is said before anything else
    there, devices = hardware.detect(store.root), llama.devices()
    for line in describe.machine(there, devices, llama.supports_gpu()):
        say(line)
    chosen, why = choose(config, known, store, there, devices, wishes)
    files = selection.pair_files(chosen, known)
    assert files is not None, "the chosen configuration names a pair"
    say(f"\n{why}")
    say(_files_table(files, store))
    offline = wishes.offline or config.models.offline or hub.offline()
    if not offline and any(not _on_disk(store, file) for file in files.files if not file.path):
        _agree(_missing_bytes(files, store), there.disk_free, say, wishes)
    found = selection.fetch(files, chosen, ProgressBar, offline=wishes.offline)
    installed = assembly.inspect(found[0], found[1] if len(found) > 1 else None, chosen)
    say("\nThe plan:")
    for line in describe.plan(installed.plan):
        say(line)
    _check_pair(found)
    measure(installed, say)
    if chosen != config:
        remember_pair(paths.config_file(), chosen.models.pair)
        say(f"\nThe pair {chosen.models.pair} is written into {paths.config_file()}")
    return chosen


def measure_again(config: Config, say: Say) -> None:
    """Measure the configured pair. Raises ModelError when there is none or it is not here."""
    from paceline.daemon import assembly, selection
    from paceline.progress import ProgressBar

    files = selection.pair_files(config)
    if files is None:
        raise ModelError("no models are chosen yet", "run `paceline setup`")
    found = selection.fetch(files, config, ProgressBar, offline=True)
    measure(assembly.inspect(found[0], found[1] if len(found) > 1 else None, config), say)


def measure(installed: "Installed", say: Say) -> None:
    """Load and measure the models, keep the curves, and tell what follows from them."""
    from paceline.commands import describe
    from paceline.daemon import assembly

    say("\nMeasuring what a decode costs on this machine.")
    with console.share_bar() as bar:
        measured = assembly.measure_costs(installed, lambda share: bar("measuring", share))
    say(describe.curves(measured.curves))
    say("")
    for line in describe.outlook(measured.curves):
        say(line)
    if measured.doubt:
        say(
            f"warning: these figures are provisional: {measured.doubt}. They are taken again by themselves when a "
            "model is loaded on an idle machine, or with `paceline setup --measure-only`"
        )


# --- choosing ---------------------------------------------------------------------------------------------------------


def choose(
    config: Config,
    known: "Catalogue",
    store: "Store",
    there: "Hardware",
    devices: "list[Device]",
    wishes: Wishes,
) -> tuple[Config, str]:
    """The configuration with a pair in it, and why this one: asked for, configured, or recommended.

    Raises ConfigError where a pair was asked for and the configuration names a target that would win over it.
    """
    if wishes.pair:
        if config.models.target:
            raise ConfigError(
                f"{paths.config_file()} sets models.target, which wins over a pair",
                "remove models.target and models.draft there, or leave out --pair",
            )
        return _with_pair(config, wishes.pair), f"The pair {wishes.pair}, as you asked:"
    if config.models.target or config.models.pair:
        name = config.models.target or config.models.pair
        return config, f"{name}, as {paths.config_file()} says (another: paceline setup --pair NAME):"
    pair, reason = recommend(known, store, there, devices, offline=wishes.offline or config.models.offline)
    return _with_pair(config, pair), f"Recommended: {reason}"


def recommend(
    known: "Catalogue", store: "Store", there: "Hardware", devices: "list[Device]", *, offline: bool
) -> tuple[str, str]:
    """(pair, reason). Offline, of the pairs that are here, if there are any. What is here needs no more disk."""
    from paceline.models import fit, hub

    pairs = list(candidates(known))
    if offline or hub.offline():
        pairs = [pair for pair in pairs if all(_on_disk(store, file) for file in known.files(pair))] or pairs
    here = {file.id: store.status(file).bytes for pair in pairs for file in known.files(pair) if not file.path}
    free = there.disk_free + sum(here.values()) if there.disk_free else 0
    sized = []
    for pair in pairs:
        target, *draft = known.files(pair)
        sizes = [file.size_estimate or store.status(file).bytes for file in (target, *draft)]
        sized.append(fit.Candidate(pair.id, sizes[0], sum(sizes[1:]), float(target.parameters)))
    choice = fit.choose(sized, replace(there, disk_free=free), devices)
    return choice.pair_id, choice.reason


def candidates(known: "Catalogue") -> "Iterable[Pair]":
    """Pairs to recommend from: the marked ones, and for tiny machines the smaller all-rounders."""
    marked = [pair for pair in known.pairs.values() if pair.recommended]
    least = min((_pair_bytes(known, pair) for pair in marked), default=0)
    for pair in known.pairs.values():
        smaller = {"chat", "infill"} <= set(pair.roles) and _pair_bytes(known, pair) < least
        if pair.recommended or smaller or not marked:
            yield pair


def _pair_bytes(known: "Catalogue", pair: "Pair") -> int:
    return sum(file.size_estimate for file in known.files(pair))


def _with_pair(config: Config, pair: str) -> Config:
    return msgspec.structs.replace(config, models=msgspec.structs.replace(config.models, pair=pair))


# --- agreeing ---------------------------------------------------------------------------------------------------------


def _files_table(files: "PairFiles", store: "Store") -> str:
    """Role, name, size, licence and whether it is here; notes below."""
    from paceline.models.download import human

    words = {"ready": "here", "unverified": "here, not verified yet", "missing": "to be downloaded"}
    rows, notes = [], []
    for role, file in zip(("target", "draft"), files.files, strict=False):
        status = store.status(file)
        size = status.bytes if status.state in ("ready", "unverified") else file.size_estimate
        state = words.get(status.state, f"{human(status.bytes)} are here")
        state = f"there is no file {file.path}" if file.path and status.state == "missing" else state
        rows.append((role, file.id, human(size) if size else "size unknown", file.licence or "licence unknown", state))
        if file.note:
            notes.append(f"{file.id}: {file.note}")
    return "\n".join([console.aligned(("", "model", "size", "licence", ""), rows), *notes])


def _missing_bytes(files: "PairFiles", store: "Store") -> int:
    missing = 0
    for file in files.files:
        status = store.status(file)
        if status.state in ("missing", "partial") and not file.path:
            missing += max(0, file.size_estimate - status.bytes)
    return missing


def _on_disk(store: "Store", file: "ModelFile") -> bool:
    return store.path(file).is_file()


def _agree(missing: int, free: int, say: Say, wishes: Wishes) -> None:
    """Ask before downloading, where somebody can be asked. Raises ResourceError; click's Exit on a no."""
    from paceline.models.download import human

    if free and missing > free:
        raise ResourceError(
            f"{human(missing)} are to be downloaded, and {human(free)} are free on the disk",
            "free some space, set models.directory to another disk, or take a smaller pair: paceline setup --pair NAME",
        )
    amount = human(missing) if missing else "the files"
    if wishes.yes or not console.can_ask():
        why = "as --yes says" if wishes.yes else "as there is no terminal to ask on"
        console.say(f"going on without a question, {why}: downloading {amount} for this pair")
        return
    if not console.ask_yes_no(f"Download {amount} and set up?", default=True):
        say(
            "Nothing was changed. `paceline models list` shows the other pairs, `paceline setup --pair NAME` takes one."
        )
        raise click.exceptions.Exit(ExitCode.OK)


def _check_pair(found: list[Path]) -> None:
    """Raise ModelError where the draft cannot serve the target."""
    from paceline.daemon import assembly

    if len(found) < 2:
        return
    reason = assembly.vocabulary_fault(found[0], found[1])
    if reason:
        raise ModelError(
            f"{found[1].name} cannot draft for {found[0].name}: {reason}",
            'choose another pair (`paceline models list`), or set models.draft = "none"',
        )


# --- remembering ------------------------------------------------------------------------------------------------------


def remember_pair(path: Path, pair: str) -> None:
    """Set `models.pair` in the configuration file, and leave every other character of it alone.

    The file a link points to is written, atomically, with the mode it had. Raises ConfigError.
    """
    import tomlkit

    from paceline.config import convert
    from paceline.models.store import replace as write

    path = path.resolve()
    by_hand = f'write it yourself: [models] pair = "{pair}"'
    try:
        document = tomlkit.parse(path.read_bytes().decode("utf-8") if path.exists() else NEW_FILE)
        if "models" not in document:
            document["models"] = tomlkit.table()
        document["models"]["pair"] = pair
        text = tomlkit.dumps(document)
        if convert(tomlkit.parse(text).unwrap(), Config, path).models.pair != pair:
            raise ConfigError(f"cannot set models.pair in {path}", by_hand)
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o7777 if path.exists() else None
        write(path, text.encode("utf-8"))
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", f"mend its permissions, or {by_hand}") from error
