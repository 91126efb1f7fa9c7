"""`paceline` without a command: the terminal app, with all that it stands on."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paceline import config as configuration
from paceline import paths
from paceline.chat.database import default_path
from paceline.chat.history import History
from paceline.chat.services import Services
from paceline.chat.store import Store
from paceline.config import Config
from paceline.errors import InputError, PacelineError, ResourceError

if TYPE_CHECKING:
    from paceline.chat.edits.journal import Journal
    from paceline.chat.programs import Program
    from paceline.client.async_client import AsyncClient


NOT_KEPT = "conversations are not kept"


def open_app(*, last: bool = False, session: str = "") -> None:
    """Run the app until it is left. Raises PacelineError."""
    config = configuration.load(paths.config_file())
    root = Path.cwd()
    store = opened(default_path())
    try:
        session = wanted(store, str(root), last=last, session=session)
        from paceline.tui.app import PacelineApp

        app = PacelineApp(services(config, root, store), session)
        app.run(mouse=config.chat.mouse)
        if app.return_code:
            raise fault(kept=not store.note.startswith(NOT_KEPT))
    finally:
        store.close()


def fault(*, kept: bool) -> PacelineError:
    """What is said after the app has broken down; Textual has shown where. kept: what was said is on the disk."""
    report = "please report what is above; read it first, it may quote what you and the model wrote"
    if not kept:
        return PacelineError("the app met a fault of its own and has ended", report)
    return PacelineError(
        "the app met a fault of its own and has ended; the conversation is kept",
        f"go on with `paceline --continue`, and {report}",
    )


def wanted(store: Store, folder: str, *, last: bool, session: str) -> str:
    """The id of the session that is gone on with; "": a new one. Raises InputError where it is not there, or
    ResourceError where what is there is not what was.
    """
    if not last and not session:
        return ""
    try:
        found = store.latest(folder) if last else store.session(session)
    except InputError:
        found = None
        if not store.note:
            raise
    if found is None and store.note:
        raise ResourceError(store.note, "run `paceline` to begin anew")
    if found is None:
        raise InputError("there is no conversation in this folder yet", "run `paceline` to begin one")
    return found.id


def opened(path: Path) -> Store:
    """The conversations; where they cannot be kept, the app works all the same, and says so."""
    try:
        return Store(path)
    except ResourceError as error:
        store = Store(None)
        store.note = f"{NOT_KEPT}: {error.message}"
        return store


def services(config: Config, root: Path, store: Store) -> Services:
    """What the app stands on, for real."""
    from paceline.commands.model_choice import ModelChoice

    return Services(
        config=config,
        root=root,
        store=store,
        history=History(paths.state_dir() / "inputs"),
        journal=_journal,
        models=ModelChoice(),
        connect=_connect,
        reload=lambda: configuration.load(paths.config_file()),
        is_set_up=is_set_up,
        programs={
            "bench": lambda workload: _beside("bench", *(["--workload", workload] if workload else [])),
            "stats": lambda _: _beside("stats"),
        },
        environ=os.environ,
        cache=paths.cache_dir(),
        workloads=_workloads,
    )


def is_set_up(config: Config) -> bool:
    """Whether somebody can answer: a server elsewhere, or models that are on this disk; verified or not, as whoever
    loads them has it.
    """
    if config.engine.url:
        return True
    from paceline.daemon import selection

    files = selection.pair_files(config)
    if files is None:
        return False
    store = selection.store_of(config)
    return all(store.status(file).state in ("ready", "unverified") for file in files.files)


# What the first picture does not need is loaded afterwards.


def _journal() -> "Journal":
    from paceline.chat.edits.journal import Journal

    return Journal(paths.state_dir() / "edits")


def _workloads() -> Sequence[str]:
    from paceline.commands.bench import WORKLOADS

    return WORKLOADS


def _connect(config: Config, say: Callable[[str], None]) -> "AsyncClient":
    from paceline.client.async_client import connect

    return connect(config, say)


def _beside(*words: str) -> "Program":
    from paceline.chat.programs import OwnCommand

    return OwnCommand(*words)
