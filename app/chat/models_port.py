"""What the model picker asks for. A command implements it: the terminal app knows neither the store nor the network."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Here = Literal["ready", "part", "missing"]


@dataclass(frozen=True)
class PairChoice:
    """A pair of the catalogue, and how it stands with this machine. Sizes in bytes; 0: not known."""

    id: str
    target: str
    draft: str = ""  # "": none
    bytes: int = 0
    missing: int = 0  # still to be downloaded
    here: Here = "missing"
    in_use: bool = False
    recommended: bool = False  # the one for this machine
    misfit: str = ""  # why it does not fit this machine, in words; "": it does
    barred: str = ""  # why what is missing may not be downloaded, in words; "": it may
    speed: float = 0.0  # tokens/s, one token at a time, as measured here; 0: not measured
    licence: str = ""
    note: str = ""  # for whom it is, and what to know before
    purpose: str = ""  # what sets it apart, in a few words: "for completion only"; "": nothing
    folder: str = ""  # where its files are, or will be
    called: str = ""  # the target's name as people write it, as its file says; "": its id tells it


@dataclass(frozen=True)
class Transfer:
    """How far a download is. Bytes of one file."""

    label: str
    done: int
    total: int


@dataclass(frozen=True)
class Told:
    """A line that a person should read: a change of source, a wait, what is done now."""

    text: str


class Models(Protocol):
    """Pairs of models, fetching and choosing them."""

    async def pairs(self) -> Sequence[PairChoice]:
        """All pairs, in the catalogue's order. Takes a second. Raises PacelineError."""
        ...

    def fetch(self, pair: str) -> AsyncGenerator[Transfer | Told, None]:
        """Download what is missing of a pair, verify it and check that it can be loaded.

        Closing the generator, or cancelling whoever waits for it, stops the download at once; what has arrived is
        kept, and the next call goes on from there. Raises PacelineError.
        """
        ...

    async def choose(self, pair: str) -> None:
        """Write the pair into the configuration, which keeps everything else. Raises PacelineError."""
        ...
