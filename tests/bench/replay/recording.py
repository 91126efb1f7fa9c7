"""What is recorded of a prompt: enough to replay its decoding under other costs and policies, without any model."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

TRACES = Path(__file__).parent / "traces"


@dataclass(frozen=True)
class Guess:
    """The draft model's likeliest tokens at a position, likeliest first, and their probabilities."""

    tokens: Sequence[int]
    probabilities: Sequence[float]


@dataclass(frozen=True)
class Trace:
    """A prompt, the target's greedy answer to it, and what the draft model thought of each of its tokens.

    `guesses[i]`: after the prompt and answer[:i]. `astray[i]`: where the draft's own choice at i is not answer[i], what
    it would go on with behind its choice, token by token. `margins[i]`: the difference of the target's two highest
    logits at i. `original`: tokens of the file that is edited, where there is one.
    """

    name: str
    kind: str
    prompt: Sequence[int]
    answer: Sequence[int]
    guesses: Sequence[Guess] = ()
    astray: Mapping[int, Sequence[Guess]] = field(default_factory=dict)
    margins: Sequence[float] = ()
    original: Sequence[int] = ()
    wanted: int = 1 << 30  # tokens that were asked for, at most


@dataclass(frozen=True)
class Recording:
    """Traces of one pair of models."""

    target: str
    draft: str
    ends: frozenset[int]  # tokens that end an answer
    traces: Sequence[Trace]


def write(recording: Recording, path: Path) -> None:
    """As JSON, compressed; the same recording gives the same bytes."""
    data = {**asdict(recording), "ends": sorted(recording.ends)}
    text = json.dumps(data, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(path: Path) -> Recording:
    """The inverse of `write`."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    traces = [_trace(each) for each in data["traces"]]
    return Recording(data["target"], data["draft"], frozenset(data["ends"]), traces)


def read_all(folder: Path = TRACES) -> list[Recording]:
    """Every recording of a folder, by name."""
    return [read(path) for path in sorted(folder.glob("*.json.gz"))]


def _trace(data: dict) -> Trace:
    guesses = [Guess(**each) for each in data.pop("guesses")]
    astray = {int(at): [Guess(**each) for each in run] for at, run in data.pop("astray").items()}
    return Trace(**data, guesses=guesses, astray=astray)
