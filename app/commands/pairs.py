"""`python -m paceline.commands.pairs`: pairs of models for a program that must load neither llama.cpp nor the network.

    list            every pair, as a line of JSON
    fetch PAIR      downloads what is missing and checks it; progress and notes as lines of JSON
    choose PAIR     writes it into the configuration

What goes wrong is a line of JSON, too. May be killed at any moment: what has arrived of a download is kept.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from paceline import config as configuration
from paceline import paths
from paceline.chat import labels
from paceline.chat.models_port import Here, PairChoice
from paceline.config import Config
from paceline.errors import ConfigError, InputError, ModelError, PacelineError

if TYPE_CHECKING:
    from paceline.models.catalogue import Catalogue, ModelFile, Pair
    from paceline.models.hardware import Hardware
    from paceline.models.store import Store
    from paceline.plan import Device

EVERY = 0.1  # seconds between two reports of progress
CONTEXT = 4096  # tokens, of a pair that is just about usable
TOY = 300_000_000  # parameters below which answers are of no use
EXACT = ("Q8_0", "F16", "BF16", "F32")  # quantisations that lose next to nothing


def main(words: list[str]) -> int:
    """Run one of the three; the exit code."""
    try:
        match words:
            case ["list"]:
                for choice in choices():
                    say(pair=asdict(choice))
            case ["fetch", pair]:
                fetch(pair)
            case ["choose", pair]:
                choose(pair)
            case _:
                raise InputError("which of list, fetch PAIR, choose PAIR?")
    except PacelineError as error:
        say(error=error.message, hint=error.hint)
        return int(error.exit_code)
    return 0


def say(**facts: object) -> None:
    """A line for the program that asked."""
    print(json.dumps(facts), flush=True)


class Progress:
    """Implements `paceline.models.progress.Progress`: a line of JSON now and then."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._total = self._done = 0
        self._said = 0.0

    def start(self, total: int, done: int) -> None:
        """Begin, or begin anew."""
        self._total, self._done = total, done
        self._say()

    def advance(self, count: int) -> None:
        """So many more bytes."""
        self._done += count
        if time.monotonic() - self._said >= EVERY:
            self._say()

    def note(self, text: str) -> None:
        """A line for a person."""
        say(note=text)

    def stop(self) -> None:
        """The last state is worth a line."""
        if self._total:
            self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        say(label=self._label, done=self._done, total=self._total)


# --- what there is ----------------------------------------------------------------------------------------------------


def choices() -> Iterator[PairChoice]:
    """Every pair of the catalogue, and how it stands with this machine. Raises ConfigError."""
    from paceline.commands import setup
    from paceline.daemon import selection
    from paceline.engine import llama
    from paceline.models import catalogue, hardware

    config = configuration.load(paths.config_file())
    known, store = catalogue.load(), selection.store_of(config)
    there, devices = hardware.detect(store.root), llama.devices()
    best, _ = setup.recommend(known, store, there, devices, offline=config.models.offline)
    for pair in known.pairs.values():
        yield _choice(pair, known, store, config, (there, devices), recommended=pair.id == best)


def _choice(
    pair: "Pair",
    known: "Catalogue",
    store: "Store",
    config: Config,
    machine: "tuple[Hardware, list[Device]]",
    *,
    recommended: bool,
) -> PairChoice:
    files = known.files(pair)
    states = [store.status(file) for file in files]
    sizes = [file.size_estimate or state.bytes for file, state in zip(files, states, strict=True)]
    missing = sum(
        max(0, size - state.bytes)
        for size, state in zip(sizes, states, strict=True)
        if state.state in ("missing", "partial")
    )
    complete = all(state.state in ("ready", "unverified") for state in states)
    here: Here = "ready" if complete else "part" if any(state.bytes for state in states) else "missing"
    misfit = _misfit(files, sum(sizes), missing, machine)
    speed = 0.0
    if complete and not misfit:
        misfit, speed = _measured(files, store, config)
    notes = [pair.audience, *(f"{file.id}: {file.note}" for file in files if file.note)]
    return PairChoice(
        id=pair.id,
        target=pair.target,
        draft=pair.draft,
        bytes=sum(sizes),
        missing=missing,
        here=here,
        in_use=pair.id == config.models.pair and not config.models.target,
        recommended=recommended,
        misfit=misfit,
        barred="" if complete else _barred(config),
        speed=speed,
        licence=", ".join(dict.fromkeys(file.licence or "licence unknown" for file in files)),
        note="\n".join(filter(None, notes)),
        purpose=_purpose(pair, files[0]),
        folder=_shown(store.root),
        called=_called(store.path(files[0]), pair.target) if states[0].state in ("ready", "unverified") else "",
    )


def _barred(config: Config) -> str:
    """What forbids downloads, as a person would mend it; "" where nothing does."""
    from paceline.models import hub

    if config.models.offline:
        return f"models.offline in {_shown(paths.config_file())} forbids downloads"
    return "HF_HUB_OFFLINE forbids downloads" if hub.offline() else ""


def _called(path: Path, id: str) -> str:
    """What people call a model that is here."""
    from paceline.models.gguf import read_header

    try:
        return labels.model(*read_header(path).names, id)
    except ModelError:  # a damaged one
        return ""


def _purpose(pair: "Pair", target: "ModelFile") -> str:
    """What sets a pair apart from the others, in a few words."""
    if "chat" not in pair.roles:
        return "for completion only"
    if 0 < target.parameters < TOY:
        return "only for trying"
    return "more exact, slower" if target.quantisation.upper() in EXACT else ""


def _shown(path: Path) -> str:
    """A path as people write it."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return str(path)


def _misfit(files: "tuple[ModelFile, ...]", size: int, missing: int, machine: "tuple[Hardware, list[Device]]") -> str:
    """Why a pair cannot be used here, as far as its sizes tell; "" where it can."""
    from paceline.models.choose import kv_bytes_estimate
    from paceline.models.download import human

    hardware, devices = machine
    if hardware.disk_free and missing > hardware.disk_free:
        return f"{human(missing)} are to be downloaded, and {human(hardware.disk_free)} are free on the disk"
    needed = size + kv_bytes_estimate(float(files[0].parameters)) * CONTEXT
    free = hardware.memory_available + sum(device.memory_free for device in devices)
    if hardware.memory_available and needed > free:
        return f"it takes about {human(needed)} of memory, and {human(free)} are available"
    return ""


def _measured(files: "tuple[ModelFile, ...]", store: "Store", config: Config) -> tuple[str, float]:
    """(why it cannot be loaded, or "", tokens/s that were measured, or 0) of a pair that is here."""
    from paceline.daemon import assembly

    found = [store.path(file) for file in files]
    try:
        installed = assembly.inspect(found[0], found[1] if len(found) > 1 else None, config)
        curve = assembly.known_costs(installed).curves.get("target")
    except PacelineError as error:
        return error.message, 0.0
    return "", 1000 / curve.at(1) if curve else 0.0


# --- fetching and choosing --------------------------------------------------------------------------------------------


def fetch(name: str) -> None:
    """Download what is missing of a pair, and check that it can be loaded. Raises every PacelineError there is."""
    from paceline.daemon import assembly, selection

    config = with_pair(configuration.load(paths.config_file()), name)
    files = selection.pair_files(config)
    assert files is not None, "the configuration names a pair"
    found = selection.fetch(files, config, Progress)
    say(note="checking that the models can be loaded")
    draft = found[1] if len(found) > 1 else None
    installed = assembly.inspect(found[0], draft, config)
    if draft is not None:
        fault = assembly.vocabulary_fault(found[0], draft)
        if fault:
            raise ModelError(f"{draft.name} cannot draft for {found[0].name}: {fault}", "choose another pair")
    for warning in installed.plan.warnings:
        say(note=f"warning: {warning}")


def choose(name: str) -> None:
    """Write a pair into the configuration. Raises ConfigError, ModelError."""
    from paceline.commands.setup import remember_pair

    with_pair(configuration.load(paths.config_file()), name)
    remember_pair(paths.config_file(), name)


def with_pair(config: Config, name: str) -> Config:
    """The configuration with this pair. Raises ModelError for an unknown one, ConfigError where it would lose."""
    from paceline.models import catalogue

    catalogue.load().pair(name)
    if config.models.target:
        raise ConfigError(
            f"{paths.config_file()} sets models.target, which wins over a pair", "remove models.target and models.draft"
        )
    return msgspec.structs.replace(config, models=msgspec.structs.replace(config.models, pair=name, draft=""))


def read(line: str) -> dict[str, Any] | None:
    """A line of ours; None for one of somebody else's, such as a library's."""
    try:
        facts = json.loads(line)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
