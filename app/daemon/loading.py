"""What the daemon loads: the pair that the configuration names."""

from typing import TYPE_CHECKING

from paceline.config import Config
from paceline.errors import ModelError

if TYPE_CHECKING:
    from paceline.daemon.service import Service


def load(config: Config) -> "Service":
    """The configured pair, from files that are here already. Blocks for as long as loading takes.

    llama.cpp's library is first imported here. Raises ModelError, ResourceError, ConfigError.
    """
    from paceline.daemon import assembly, selection
    from paceline.daemon.service import Service
    from paceline.models.progress import Silent

    files = selection.pair_files(config)
    if files is None:
        raise ModelError("no models are chosen yet", "choose some: paceline setup")
    found = selection.fetch(files, config, lambda _: Silent(), offline=True)
    installed = assembly.inspect(found[0], found[1] if len(found) > 1 else None, config)
    notes: list[str] = []
    shared = assembly.load_shared(installed, notes.append, config)

    def finish() -> None:
        if shared.learned is not None:
            shared.learned.close()
        assembly.review(shared.engine, installed)

    return Service(
        shared.engine,
        config,
        files.target.id,
        draft_engine=shared.draft_engine,
        draft_fault=shared.draft_fault,
        route=shared.route,
        notes=[note for note in notes if not note.startswith(assembly.MEASURING)],
        at_end=finish,
    )
