"""Is it silent where it should be, and does what is right still show? Prints JSON.

    python tests/bench/quiet --target path/of/model.gguf
    python tests/bench/quiet --target path/of/model.gguf --holes 300 --seed 7 --answers answers.json
    python tests/bench/quiet --answers answers.json          # judge again what has been asked before

There are 50 places where nothing should be suggested (silences.toml), some more by which nothing was ever tuned
(unseen.toml), and holes cut from the standard library and from
files in other languages, whose text is known. A suggestion is right when its first line is the rest of the line that
was cut out. The rules that are ahead of any computation are asked first, then the model, through a daemon of its own,
as the language server asks it; then the rules about what comes back. `sweep` says the same for other thresholds.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.quiet import places
from paceline import config as configuration
from paceline.client.client import Client, connect
from paceline.client.events import Options
from paceline.config import EditorConfig
from paceline.lsp import quiet
from paceline.lsp.place import Place
from paceline.lsp.suggestions import BEGINNING
from paceline.prompts.lines import first_line
from paceline.prompts.shape import shape
from paceline.prompts.trim import trim

STEP = 0.25  # between the thresholds of the sweep
LOWEST = -8.0


@dataclass(frozen=True)
class Answer:
    """What the model said at a place; nothing where a rule ahead of it said why not to ask."""

    reason: str = ""
    text: str = ""
    logprobs: tuple[float, ...] = ()
    seconds: float = 0.0


def main() -> None:
    options = parse()
    silences, unseen = places.silences(), places.unseen()
    holes = places.holes(options.holes, options.seed)
    wanted = [*silences, *unseen, *holes]
    settings = EditorConfig()
    answers = read(options.answers)[: len(wanted)]
    if options.target is not None:
        answers += ask(wanted[len(answers) :], settings, options)
    holes = holes[: max(0, len(answers) - len(silences) - len(unseen))]
    quietly, answers = answers[: len(silences)], answers[len(silences) :]
    unseenly, openly = answers[: len(unseen)], answers[len(unseen) :]
    thresholds = [round(step * -STEP, 2) for step in range(int(-LOWEST / STEP) + 1)]
    report = {
        "model": options.target.stem if options.target else None,
        "threshold": settings.threshold,
        **judged(silences, quietly, holes, openly, settings),
        "said_at_silences": said(silences, quietly, settings),
        "unseen": len(unseen),
        "unseen_silent": len(unseen) - len(said(unseen, unseenly, settings)),
        "said_at_unseen": said(unseen, unseenly, settings),
        "sweep": [
            {"threshold": each, **brief(judged(silences, quietly, holes, openly, at(settings, each)))}
            for each in thresholds
        ],
    }
    print(json.dumps(report, indent=1, ensure_ascii=False))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, help="the model, a GGUF; without it, --answers are judged")
    parser.add_argument("--holes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prefix", type=int, default=192, help="tokens shown before the cursor")
    parser.add_argument("--suffix", type=int, default=64, help="and after it")
    parser.add_argument("--answers", type=Path, help="where to keep what the model said, and go on with it")
    options = parser.parse_args()
    if options.target is None and options.answers is None:
        parser.error("name a model (--target) or answers that were kept (--answers)")
    return options


def read(path: Path | None) -> list[Answer]:
    """Answers that were kept: a line each."""
    if path is None or not path.exists():
        return []
    return [msgspec.json.decode(line, type=Answer) for line in path.read_bytes().splitlines()]


def keep(answer: Answer, path: Path | None) -> None:
    """Add one to them, so that a run that was ended can be gone on with."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(answer)) + "\n")


def ask(wanted: Sequence[places.Asked], settings: EditorConfig, options: argparse.Namespace) -> list[Answer]:
    """What a daemon of our own says at all of these places."""
    answers = []
    with tempfile.TemporaryDirectory(prefix="pl") as folder:
        root = Path(folder)
        for name in ("DATA", "STATE", "CACHE", "CONFIG", "RUNTIME"):
            variable = "XDG_RUNTIME_DIR" if name == "RUNTIME" else f"XDG_{name}_HOME"
            os.environ[variable] = str(root / name.lower())
            (root / name.lower()).mkdir(mode=0o700)
        target = json.dumps(str(options.target.resolve()))
        (root / "settings.toml").write_text(f'[models]\ntarget = {target}\ndraft = "none"\n', encoding="utf-8")
        os.environ["PACELINE_CONFIG"] = str(root / "settings.toml")
        with connect(configuration.load(root / "settings.toml"), lambda line: None) as client:
            try:
                for number, each in enumerate(wanted, 1):
                    answers.append(one(client, each.place, settings, options))
                    keep(answers[-1], options.answers)
                    print(f"\r{number} of {len(wanted)}", end="", file=sys.stderr, flush=True)
            finally:
                with suppress(OSError):
                    os.kill(client.status().pid, 15)
                    time.sleep(2)
    print(file=sys.stderr)
    return answers


def one(client: Client, place: Place, settings: EditorConfig, options: argparse.Namespace) -> Answer:
    if reason := quiet.before(place, settings, asked=False, deleted=False):
        return Answer(reason)
    block = shape(place.before, place.after, place.language) == "block"
    wish = Options(
        max_tokens=64 if block else 48,
        temperature=0.0,
        stop_at="block" if block else "line",
        max_lines=3 if block else None,
        filename=place.path,
        logprobs=True,
        prefix_tokens=options.prefix,
        suffix_tokens=options.suffix,
    )
    began = time.perf_counter()
    done = client.complete(place.before, place.after, wish)
    text = trim(place.before, place.after, done.text)
    return Answer("", text, done.logprobs, round(time.perf_counter() - began, 3))


def at(settings: EditorConfig, threshold: float) -> EditorConfig:
    return msgspec.structs.replace(settings, threshold=threshold)


def reason_of(asked: places.Asked, answer: Answer, settings: EditorConfig) -> str:
    ahead = quiet.before(asked.place, settings, asked=False, deleted=False) or answer.reason
    return ahead or quiet.after(answer.text, answer.logprobs, asked.place, settings) or ""


def right(asked: places.Asked, answer: Answer) -> bool:
    return not answer.reason and first_line(answer.text).rstrip() == asked.missing.rstrip()


def judged(
    silences: Sequence[places.Asked],
    quietly: Sequence[Answer],
    holes: Sequence[places.Asked],
    openly: Sequence[Answer],
    settings: EditorConfig,
) -> dict[str, Any]:
    """Shares, and the reasons of silences."""
    reasons = [reason_of(asked, answer, settings) for asked, answer in zip(silences, quietly, strict=True)]
    silent = sum(map(bool, reasons))
    outcomes = [
        (right(asked, answer), reason_of(asked, answer, settings))
        for asked, answer in zip(holes, openly, strict=True)
        if not answer.reason
    ]
    rights = [reason for was_right, reason in outcomes if was_right]
    wrongs = [reason for was_right, reason in outcomes if not was_right]
    return {
        "silences": len(reasons),
        "silent": silent,
        "silent_share": share(silent, len(reasons)),
        "by_reason": dict(Counter(reason or "(said something)" for reason in reasons)),
        "holes": len(holes),
        "not_asked": dict(Counter(answer.reason for answer in openly if answer.reason)),
        "right": len(rights),
        "right_shown": rights.count(""),
        "right_shown_share": share(rights.count(""), len(rights)),
        "right_hidden": dict(Counter(filter(None, rights))),
        "wrong": len(wrongs),
        "wrong_shown": wrongs.count(""),
        "shown_and_right_share": share(rights.count(""), rights.count("") + wrongs.count("")),
    }


def brief(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in ("silent_share", "right_shown_share", "shown_and_right_share")}


def said(silences: Sequence[places.Asked], answers: Sequence[Answer], settings: EditorConfig) -> list[dict[str, Any]]:
    """What was suggested where nothing should have been."""
    return [
        {"why": asked.why, "path": asked.place.path, "text": answer.text, "likely": likely(answer)}
        for asked, answer in zip(silences, answers, strict=True)
        if not reason_of(asked, answer, settings)
    ]


def likely(answer: Answer) -> float:
    """What the threshold is compared with."""
    return round(sum(answer.logprobs[:BEGINNING]), 3)


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


if __name__ == "__main__":
    main()
