"""What the terminal app stands on, put together by whoever starts it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.config import Config

if TYPE_CHECKING:  # each is loaded when it is used: the first picture comes before
    from paceline.chat.edits.journal import Journal
    from paceline.chat.history import History
    from paceline.chat.models_port import Models
    from paceline.chat.programs import Program
    from paceline.chat.store import Store
    from paceline.client.async_client import AsyncClient


@dataclass(frozen=True)
class Services:
    """Everything outside of the app itself. `root`: the workspace, which relative names belong to."""

    config: Config
    root: Path
    store: "Store"
    history: "History"
    journal: Callable[[], "Journal"]  # what was written, and can be taken back
    models: "Models"
    connect: Callable[[Config, Callable[[str], None]], "AsyncClient"]  # the second is told what takes a while
    reload: Callable[[], Config]  # the configuration, read again
    is_set_up: Callable[[Config], bool]  # whether there is somebody who can answer
    programs: Mapping[str, Callable[[str], "Program"]]  # other commands by name, given their arguments
    environ: Mapping[str, str]
    cache: Path  # for files that stand in for a clipboard
    workloads: Callable[[], Sequence[str]] = tuple  # names of what `bench` can be given
