"""Answers of small models to wishes for edits, recorded by tests/bench/answers and labelled by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paceline.config import read_toml
from paceline.prompts.context import Attachment, with_files

FOLDER = Path(__file__).parents[1] / "chat" / "answers"
TASKS = Path(__file__).parents[1] / "bench" / "answers"
BATCHES = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Task:
    """A wish, and the files it goes with, exactly as they are."""

    name: str
    files: Mapping[str, str]
    wish: str
    temperature: float

    @property
    def wanted(self) -> str:
        """The file that is to be changed, where it is one."""
        return next(iter(self.files)) if len(self.files) == 1 else ""

    @property
    def original(self) -> str:
        """What the answer may repeat."""
        return "\n".join(self.files.values()).replace("\r\n", "\n")

    @property
    def prompt(self) -> str:
        """The user's message."""
        shown = [Attachment(name, text.replace("\r\n", "\n")) for name, text in self.files.items()]
        return with_files(self.wish, shown, None)


class Recorded(msgspec.Struct, omit_defaults=True):
    """An answer. `after`: what it makes of the files, by the judgement of a person who applied it by hand, in lines
    ended by newlines; files that it leaves as they are do not stand there. None: it has no edit that can be applied.
    """

    task: str
    reason: str
    answer: str
    after: dict[str, str] | None = None
    why: str = ""  # the person's remark


def tasks(batch: str) -> list[Task]:
    """All wishes of a batch."""
    data = read_toml(TASKS / f"{batch}.toml")
    texts = {each["name"]: each["text"].replace("\n", "\r\n" if each.get("ending") else "\n") for each in data["file"]}
    return [
        Task(each["name"], {name: texts[name] for name in each["files"]}, each["ask"], each.get("temperature", 0.0))
        for each in data["task"]
    ]


def read(path: Path) -> list[Recorded]:
    """The answers of one file; none where it is not there yet."""
    return msgspec.json.decode(path.read_bytes(), type=list[Recorded]) if path.exists() else []


def write(path: Path, answers: Sequence[Recorded]) -> None:
    """Keep the answers, readable for people."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(answers), indent=1) + b"\n")
