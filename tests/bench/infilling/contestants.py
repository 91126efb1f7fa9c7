"""Who fills holes: Paceline, as its language server asks it, and llama.cpp's server through /infill."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from bench.infilling.holes import Hole
from bench.peers import post, running
from paceline.config import Config, EditorConfig
from paceline.daemon import assembly
from paceline.daemon.service import Overrides, Service, Wish, gather
from paceline.lsp.anchor import Budget, choose
from paceline.lsp.place import Place
from paceline.prompts.context import Attachment
from paceline.prompts.repository import Repository
from paceline.prompts.shape import extent
from paceline.prompts.trim import trim

LINE_TOKENS = 64
WINDOW = Budget(20_000, 5_000)  # characters; all of a HumanEval solution


class Filler(Protocol):
    """What fills holes."""

    def fill(self, hole: Hole, *, several: bool) -> str:
        """What to insert; several: lines."""
        ...


class Ours:
    """The service, asked in the way of the language server."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = EditorConfig()

    def fill(self, hole: Hole, *, several: bool, others: Sequence[Attachment] = ()) -> str:
        """As the language server does it, which tells by itself whether one line is wanted or several may be.

        others: parts of other files to show.
        """
        window = choose(Place("file:///hole.py", "python", 1, hole.before, hole.after, hole.path), WINDOW)
        typed = hole.before[window.anchor :]
        wanted = extent(hole.before, hole.after, "python", self._settings.max_tokens, multiline=several)
        wish = Wish(
            stop_at=wanted.stop_at,
            anchor=len(typed),
            place=Repository("", hole.path),
            extra=others,
        )
        asked = Overrides(max_tokens=wanted.max_tokens, temperature=0.0)
        infill = self._service.prepare_infill(window.prefix + typed, window.suffix, wish)
        text, end = gather(self._service.start_infill(infill, asked))
        return trim(hole.before, hole.after, infill.finish(text, unfinished=end.reason == "length"))


@contextmanager
def ours(target: Path, config: Config) -> Iterator[Ours]:
    """Paceline's engine in this process."""
    service = Service(assembly.load(assembly.inspect(target, None, config), print), config, target.stem)
    try:
        yield Ours(service)
    finally:
        service.close()


class Theirs:
    """llama.cpp's server: what it answers is inserted as it is, up to the line's end where one line is wanted."""

    def __init__(self, address: str) -> None:
        self._address = address

    def fill(self, hole: Hole, *, several: bool) -> str:
        """POST /infill as llama.vim does: with the typed part of the line as its prompt, and an end at the first line
        that is indented less.
        """
        start = hole.before.rfind("\n") + 1
        typed = hole.before[start:]
        body = {
            "input_prefix": hole.before[:start],
            "prompt": typed,
            "input_suffix": hole.after,
            "temperature": 0.0,
            "n_predict": EditorConfig().max_tokens if several else LINE_TOKENS,
            "n_indent": len(typed) - len(typed.lstrip()) if several else 0,
            "cache_prompt": True,
        }
        text = str(post(f"{self._address}/infill", body)["content"])
        return text if several else first_filled(text)


def first_filled(text: str) -> str:
    """The first line of an answer; where that is blank, the first one with text."""
    return next((line for line in text.split("\n") if line.strip()), "")


@contextmanager
def theirs(server: Path, target: Path, threads: int, context: int) -> Iterator[Theirs]:
    """llama.cpp's server, while it runs."""
    with running(server, target, ["--threads", str(threads), "--ctx-size", str(context)]) as address:
        yield Theirs(address)
